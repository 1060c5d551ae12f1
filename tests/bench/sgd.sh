#!/bin/bash
# CPU nanoseconds a row of the Sequential packs of linear predictors, beside a
# plain loop and as one pass of 12 configs against 12 passes.  Aims: one config
# at most 1.3 times the loop in stored order, 1.5 times through a permuted
# index; 12 configs in one pass over 12 passes: batch 1 6 times dense, 8 times
# sparse to 20,000 features, 4.5 times at 200,000; batch 128 4, 6 and 4.5.
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"

: "${ROWS:=400000}"
SGD=$BENCH/../../build/bench/sgd
[ -x "$SGD" ] || skip "no build/bench/sgd (make bench makes it)"
before=$(busy_jiffies)
start=$(date +%s%N)
"$SGD" "$ROWS" >said || exit 1
cat said
awk -v jiffies=$(($(busy_jiffies) - before)) -v hz="$(getconf CLK_TCK)" \
    -v ns=$(($(date +%s%N) - start)) 'BEGIN {
	printf("others kept %.1f cores busy\n", jiffies / hz / ns * 1e9 - 1) }'
