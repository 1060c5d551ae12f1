#!/bin/bash
# kp against scikit-learn's lbfgs in a loop over groups: the same training and
# hold-out rows, the same grid.  Row-weighted hold-out log-losses must agree
# within 0.0005.
#
# PEER_PYTHON is a python3 with scikit-learn (default: python3).  DATA may be
# another file with the columns of flights.
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"

: "${PEER_PYTHON:=python3}"
: "${DATA:=$SHARED/data/flights/flights-500k.csv.gz}"
[ -e "$DATA" ] || skip "no ${DATA#"$BENCH/../../"}"
"$PEER_PYTHON" -c 'import sklearn' 2>/dev/null ||
    skip "no scikit-learn (see PEER_PYTHON)"
gzip -dc "$DATA" >flights.csv

# With one CPU each, so that it is the method that is compared.
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
rm -rf run
measure featurize kp-featurize -q -f --label delay --positive-if '> 15' \
    --group-by origin --datetime date flights.csv -o data
measure train kp-train -q -p 1 --learner logistic \
    --param l2=log:1e-8:1e-1 --search grid:12 data -o run
measure select kp-select -q -o models.kpm run
for part in train holdout; do
	kp-predict -q -m models.kpm --split $part \
	    --keep date,delay,distance,origin,destination \
	    flights.csv -o $part.csv
done
measure sklearn "$PEER_PYTHON" "$BENCH/peer_sklearn.py" --tol 1e-6 \
    train.csv holdout.csv
cp said.out sklearn.out

kp-select --json -q run >selected.json
kp=$(awk '{
	match($0, /"holdout_rows":[0-9]+/)
	n = substr($0, RSTART + 15, RLENGTH - 15)
	if (n == 0 || !/"status":"trained"/)
		next
	match($0, /"logloss":[-0-9.e]+/)
	sum += n * substr($0, RSTART + 10, RLENGTH - 10)
	rows += n
} END { printf "%.6f %d", sum / rows, rows }' selected.json)
peer=$(awk '$1 == "logloss" { printf "%.6f %d", $2, $3 }' sklearn.out)

for step in featurize train select sklearn; do
	report $step
done
echo "log-loss and hold-out rows: kp $kp, scikit-learn $peer"
awk -v a="$kp" -v b="$peer" 'BEGIN {
	split(a, x, " ")
	split(b, y, " ")
	d = x[1] - y[1]
	near = d < 0.0005 && d > -0.0005 && x[2] == y[2]
	printf("difference %+.6f (%s)\n", d,
	    near ? "within 0.0005" : "too much")
	exit !near
}'
