#!/bin/sh
# Trains on a CSV and replaces DIR/models.kpm, if all went well or only some
# groups failed.
#
#	retrain.sh FLIGHTS.CSV DIR
#
# Until then the old bundle stays, whole: readers never see half of a new one.
# A run that was cut short by a reboot or the deadline goes on where it was
# when the same rows come again; other rows make a new run.
set -u

if [ $# -ne 2 ]; then
	echo "usage: retrain.sh FLIGHTS.CSV DIR" >&2
	exit 2
fi
case $1 in
/*) csv=$1 ;;
*) csv=$PWD/$1 ;;
esac
dir=$2
mkdir -p "$dir" && cd "$dir" || exit 1

# Only one at a time.
exec 9>lock
flock -n 9 || { echo "retrain: another is running in $dir" >&2; exit 1; }

kp-featurize -q -f -o data --label delay --positive-if '> 15' \
    --group-by origin --datetime date "$csv" || exit

# A run belongs to the data it began with.
print=$(sha256sum <data/manifest.json | cut -c 1-16)
run=run-$print
for old in run-*; do
	[ "$old" = "$run" ] || rm -rf "$old"
done

timeout -s INT 6h kp-train -q --learner logistic \
    --param l2=log:1e-8:1e-1 --search grid:12 -o "$run" data
code=$?
case $code in
0 | 4) ;;
*) exit "$code" ;;
esac

kp-select -q -o models.kpm "$run" >selected.tsv
code=$?
[ "$code" -eq 0 ] || [ "$code" -eq 4 ] || exit "$code"
kp-report -q -o report.txt "$run"
