#!/bin/bash
# What recording the timeline costs a run of two workers, of 12 configs: of
# 500,000 flights in 228 groups, and of GROUPS_SMALL groups of 20 rows (20,000; what
# is claimed is of 100,000).  Aim: below 1 % of the run's CPU seconds.
#
# The units of a real run are counted, and as many are then recorded alone,
# in journals and timeline.jsonl (timeline.c), for the difference of two runs
# with and without would be lost in noise.
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"

: "${GROUPS_SMALL:=20000}"
TIMELINE=$BENCH/../../build/bench/timeline
[ -x "$TIMELINE" ] || skip "no build/bench/timeline (make bench makes it)"

# share DATA [OPTION...]
share() {
	local name=$1 n
	shift
	for ((i = 0; i < RUNS; i++)); do
		rm -rf run
		measure "$name" kp-train -q -p 2 --learner logistic \
		    --search grid:12 "$@" -o run "$name.data"
	done
	n=$(wc -l <run/timeline.jsonl)
	rm -rf run
	"$TIMELINE" "$n" >cost || exit 1
	report "$name"
	awk -v n="$n" -v cpu="$(median "$name" 4)" '{
		printf("  %d units: records %.4f, timeline.jsonl %.4f cpu-s, " \
		    "%.2f %% of the run; with syncs %.3f s\n", n, $1, $2,
		    100 * ($1 + $2) / cpu, $3)
	}' cost
}

awk -v groups="$GROUPS_SMALL" 'BEGIN {
	print "key,x,colour,y"
	s = 1
	for (i = 0; i < 20 * groups; i++) {
		s = (s * 16807) % 2147483647
		x = s / 2147483647
		printf "g%d,%.4f,%s,%d\n", i % groups, x,
		    substr("rgb", 1 + i % 3, 1), (s % 1000) / 1000 < x
	}
}' | kp-featurize -q --label y --positive 1 --group-by key - \
    -o small-groups.data || exit 1
share small-groups --param l2=log:1e-8:1e-1

if [ -e "$SHARED/data/flights/flights-500k.csv.gz" ]; then
	gzip -dc "$SHARED/data/flights/flights-500k.csv.gz" |
	    kp-featurize -q --label delay --positive-if '> 15' \
		--group-by origin --datetime date - -o flights.data || exit 1
	share flights --param l2=log:1e-8:1e-1
	mv flights.data flights-sgd.data
	share flights-sgd --param solver=sgd --epochs 5 \
	    --param learning_rate=log:1e-3:1e-1
else
	skip "no ../shared/data/flights/flights-500k.csv.gz"
fi
