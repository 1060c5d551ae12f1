#!/bin/bash
# From a CSV of three million flights to the bundle: 12 configs, 2 workers.
# Aim: 15 s and 1.5 GB in any process.
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"

need_shared data/flights/flights-3m.csv.gz
gzip -dc "$SHARED/data/flights/flights-3m.csv.gz" >flights.csv

for ((i = 0; i < RUNS; i++)); do
	rm -rf run
	measure featurize kp-featurize -q -f --label delay \
	    --positive-if '> 15' --group-by origin --datetime date \
	    flights.csv -o data
	measure train kp-train -q -p 2 --learner logistic \
	    --param l2=log:1e-8:1e-1 --search grid:12 data -o run
	measure select kp-select -q -o models.kpm run
	measure predict kp-predict -q -m models.kpm -o scored.csv flights.csv
done
for step in featurize train select; do
	report $step
done
paste -d ' ' featurize.runs train.runs select.runs | awk '{
	print $1 + $5 + $9, max($2, max($6, $10)), max($3, max($7, $11)), \
	    $4 + $8 + $12
}
function max(a, b) {
	return a > b ? a : b
}' >csv-to-bundle.runs
report csv-to-bundle "log-loss $(logloss run)"
report predict
