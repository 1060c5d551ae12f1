#!/bin/bash
# Megabytes of CSV a second that kp-featurize takes, on one thread and on two.
# Aim: 400 MB/s on two cores.
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"

need_shared data/flights/flights-3m.csv.gz
gzip -dc "$SHARED/data/flights/flights-3m.csv.gz" >flights.csv

for ((i = 0; i < RUNS; i++)); do
	for j in 1 2; do
		measure "featurize-j$j" kp-featurize -q -f -j "$j" \
		    --label delay --positive-if '> 15' --group-by origin \
		    --datetime date flights.csv -o "data$j"
	done
	measure wc wc flights.csv
done
diff -r data1 data2 || exit 1
for j in 1 2; do
	rate=$(awk -v b="$(stat -c %s flights.csv)" \
	    -v s="$(median "featurize-j$j" 1)" \
	    'BEGIN { printf "%.0f MB/s", b / s / 1e6 }')
	report "featurize-j$j" "$rate"
done
report wc "words of the same file counted, for scale"
