#!/bin/bash
# What an epoch in CorgiPile's order costs over one in stored order when rows
# come from a disk, and what the second buffer saves: kp-train with rows
# streamed, its reads paced (preload/pace.c) to 500 MB/s and 0.1 ms a jump.
#
#	KP_BENCH_ROWS=2000000 tests/bench/epoch-io.sh
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"
: "${KP_BENCH_ROWS:=2000000}"
PATH=$KP_BIN/../bench:$PATH
command -v gendata >/dev/null || skip "no gendata (make build/bench/gendata)"
cc -shared -fPIC -O2 -o pace.so "$BENCH/preload/pace.c" ||
    skip "no compiler for preload/pace.c"

EPOCHS=6
gendata dense --rows "$KP_BENCH_ROWS" --features 28 --order label --seed 1 \
    >rows.csv
for size in 1M 10M; do
	kp-featurize -q --label y --positive 1 --holdout 0.02 \
	    --block-size $size rows.csv -o blocks-$size || exit 1
done
rm rows.csv
SHARD=$((KP_BENCH_ROWS * 28 * 8))

# train NAME DATA METHOD MEMORY RATE WIDTH: one timed run.
train() {
	rm -rf run
	LD_PRELOAD=$PWD/pace.so PACE_RATE=$5 PACE_SEEK=1e-4 measure "$1" \
	    kp-train -q -p 1 --learner logistic --param solver=sgd \
	    --param learning_rate=log:1e-3:1e-1 --search grid:"$6" \
	    --epochs $EPOCHS --shuffle "$3" --buffer 10% --memory "$4" \
	    -o run "$2"
}

echo "$KP_BENCH_ROWS rows x 28, buffer 10 %, $EPOCHS epochs"
for size in 1M 10M; do
	for ((i = 0; i < RUNS; i++)); do
		train none-$size blocks-$size none $((SHARD / 3)) 500e6 2
		train corgipile-$size blocks-$size corgipile $((SHARD / 3)) \
		    500e6 2
	done
done
# I/O and compute of about one size: a slower disk, a wider pack.
for ((i = 0; i < RUNS; i++)); do
	train double blocks-1M corgipile $((SHARD / 3)) 250e6 12
	train single blocks-1M corgipile $((SHARD * 3 / 20)) 250e6 12
done
summary() {
	sort -n "$1.runs" | awk '{ w[NR] = $1 } END { print w[int((NR + 1) / 2)] }'
}
for size in 1M 10M; do
	awk -v a="$(summary none-$size)" -v b="$(summary corgipile-$size)" \
	    -v size=$size 'BEGIN {
		printf "blocks of %s: none %.2f s, corgipile %.2f s: %+.1f %%\n",
		    size, a, b, 100 * (b / a - 1)
	}'
done
awk -v a="$(summary single)" -v b="$(summary double)" 'BEGIN {
	printf "one buffer %.2f s, two %.2f s: saves %.0f %%\n", a, b,
	    100 * (1 - b / a)
}'
