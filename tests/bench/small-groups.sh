#!/bin/bash
# 100,000 groups of 20 rows, with 64 open files and --memory 1G.
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"

small_groups >rows.csv

ulimit -n 64
for ((i = 0; i < RUNS; i++)); do
	rm -rf run1 run12
	measure featurize kp-featurize -q -f --memory 1G --tmpdir . --label y \
	    --positive 1 --group-by key rows.csv -o data
	measure train-1-config kp-train -q -p 2 --memory 1G \
	    --learner logistic --param l2=0.01 data -o run1
	measure train-12-configs kp-train -q -p 2 --memory 1G \
	    --learner logistic --param l2=log:1e-8:1e-1 --search grid:12 \
	    data -o run12
	measure select kp-select -q -o models.kpm run12
	measure predict kp-predict -q -m models.kpm -o scored.csv rows.csv
done
for step in featurize train-1-config train-12-configs select predict; do
	report $step
done
