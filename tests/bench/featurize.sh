#!/bin/bash
# Megabytes of CSV a second that kp-featurize takes, on one core.
# Aim: 100 MB/s.
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"

need_shared data/flights/flights-3m.csv.gz
gzip -dc "$SHARED/data/flights/flights-3m.csv.gz" >flights.csv

for ((i = 0; i < RUNS; i++)); do
	measure featurize kp-featurize -q -f --label delay \
	    --positive-if '> 15' --group-by origin --datetime date \
	    flights.csv -o data
	measure wc wc flights.csv
done
rate=$(awk -v b="$(stat -c %s flights.csv)" -v s="$(median featurize 1)" \
    'BEGIN { printf "%.0f MB/s", b / s / 1e6 }')
report featurize "$rate"
report wc "words of the same file counted, for scale"
