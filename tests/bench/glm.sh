#!/bin/bash
# Grids of logistic regressions, one model for each group and value of l2:
# kp against LIBLINEAR's library called from C (liblinear_peer, two forked
# processes, features numbered within the group) and scikit-learn.
#
#	KP_BENCH=full RUNS=7 PEER_PYTHON=python3 tests/bench/glm.sh [TABLE...]
#
#	flights-500k   500,000 flights by origin, 12 values of l2; the default
#	flights-3m     3,000,000 of them; and how time grows with rows
#	clicks         made up (gendata clicks): 14 categories, 2 numbers,
#	               ROWS (5,000,000) rows, 280 groups of skewed sizes
#	a9a            one group, 12 values of C, one process
#	small-groups   100,000 groups of 20 rows, one config, CSV to bundle
#	width          16 configs in one pack against 16 packs of one
#	roofline       what the passes reach of what the machine can do
#
# The small version, which is the default, is flights-500k once; KP_BENCH=full
# all tables, RUNS=7 times, with scikit-learn where PEER_PYTHON has it.
#
# The 12 penalties are those of C from 10^-4 to 10^1.5, sums of losses as
# LIBLINEAR has them, at a group of mean size (l2 = 1 / (C rows)); "weak" is
# fitting once more with l2 from 1e-8 to 1e-1, that is C to some 10^4, where both
# take longer.
#
# LIBLINEAR is its trust region method; DUAL=1 adds its dual coordinate descent,
# which takes many times as long at weak penalties.
#
# For each table: "fit", seconds of fitting alone, rows in memory, two processes
# (glm_fit and its peers); and the whole job from plain CSV to models, two
# workers, to which the peer's is kp-featurize's time and its own of conversion
# and fitting.  loss is the log-loss of hold-out rows; kp's may be worse by
# 0.0003.
#
# Runs of what is compared alternate.  A run in which others took more than 5 %
# of the cores' time is spoilt: that is told, and it is done again, up to TRIES
# (3) times in all; then it counts, and the figures are those of a busy machine.
: "${KP_BENCH:=small}"
if [ "$KP_BENCH" = full ]; then
	: "${RUNS:=7}"
	DEFAULT_TABLES="flights-500k flights-3m clicks a9a small-groups width
	    roofline"
else
	: "${RUNS:=1}"
	DEFAULT_TABLES=flights-500k
fi
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"
: "${DUAL:=0}" "${TRIES:=3}" "${ROWS:=5000000}" "${PEER_PYTHON:=python3}"
BUILT=$KP_BIN/../bench
[ -x "$BUILT/glm_fit" ] || skip "no build/bench/glm_fit (make bench makes it)"
CORES=$(nproc)
P=2
WEAK=(--param l2=log:1e-8:1e-1 --search grid:12)
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
spoilt=0

# --- runs ---

# What others had of the cores' time in the last run, in percent if more than 5;
# counters tick every 10 ms, which short runs must be forgiven.
foreign() {
	tail -n 1 "$1.runs" | awk -v cores="$CORES" '
	$3 * $1 > 0.05 * cores * $1 + 0.02 * cores + 0.02 {
		share = 100 * $3 / cores
		printf "%.0f", share < 100 ? share : 100
	}'
}

# alone NAME COMMAND...: measure, again if the run was spoilt.  What the command
# printed is added to NAME.said.
alone() {
	local name=$1 try share
	for ((try = 1; ; try++)); do
		measure "$@"
		share=$(foreign "$name")
		[ -n "$share" ] || break
		echo "$name: spoilt: others took $share % of the cores" >&2
		if ((try >= TRIES)); then
			((++spoilt))
			break
		fi
		sed -i '$d' "$name.runs"
	done
	cat said.out >>"$name.said"
}

# said NAME KEY: the median of what it printed under that name.
said() {
	awk -v key="$2" '$1 == key { print $2 }' "$1.said" | sort -g |
	    awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# --- tables ---

# row WHAT SECONDS [LOSS [THAN [AIM]]]: a line, with how many times as long as
# THAN it took.
row() {
	awk -v what="$1" -v sec="$2" -v loss="${3-}" -v than="${4-}" \
	    -v aim="${5-}" 'BEGIN {
		printf "  %-24s %9.3f s", what, sec
		if (loss != "")
			printf "  loss %.6f", loss
		times = than > 0 ? sec / than : 0
		if (times > 0)
			printf "  %6.*f x kp%s", times < 10 ? 2 : 1, times,
			    aim == "" ? "" : " (aim " aim ")"
		print ""
	}'
}

sum() {
	awk 'BEGIN { for (i = 1; i < ARGC; i++) s += ARGV[i]; print s }' "$@"
}

heading() {
	echo "$1 (runs: $RUNS; medians)"
}

has() {
	[ -x "$BUILT/$1" ]
}

# peers NAME DATASET OPTION...: LIBLINEAR's fitting.
peers() {
	local name=$1
	shift
	has liblinear_peer || return 0
	alone "$name-primal" "$BUILT/liblinear_peer" "$@"
	[ "$DUAL" = 0 ] ||
	    alone "$name-dual" "$BUILT/liblinear_peer" --solver dual "$@"
}

# scikit NAME TRAIN HOLDOUT: both solvers.
scikit() {
	local solver
	"$PEER_PYTHON" -c 'import sklearn, pandas' 2>/dev/null || return 0
	for solver in liblinear lbfgs; do
		alone "$1-sk-$solver" "$PEER_PYTHON" "$BENCH/peer_sklearn.py" \
		    --processes $P --solver $solver "$2" "$3"
	done
}

# fit_table NAME AIM SK_AIM: what was measured of fitting.
fit_table() {
	local kp peer
	kp=$(said "$1-fit" fit_sec)
	printf '  %s groups, %s training rows, %s models; %s passes, %s %s\n' \
	    "$(said "$1-fit" groups)" "$(said "$1-fit" train_rows)" \
	    "$(said "$1-fit" models)" "$(said "$1-fit" passes)" \
	    "$(said "$1-fit" evaluations)" evaluations
	row "fit: kp" "$kp" "$(said "$1-fit" loss)"
	for peer in primal dual; do
		[ -e "$1-$peer.said" ] || continue
		row "fit: LIBLINEAR $peer" "$(said "$1-$peer" fit_sec)" \
		    "$(said "$1-$peer" loss)" "$kp" \
		    "$([ $peer = dual ] || echo "${2-}")"
	done
	[ ! -e "$1-primal.said" ] ||
	    awk -v a="$(said "$1-fit" fit_cpu_sec)" \
		-v b="$(said "$1-primal" fit_cpu_sec)" 'BEGIN {
		printf "  fit, CPU seconds: kp %.3f, LIBLINEAR %.3f, %.2f x\n",
		    a, b, b / a }'
	has liblinear_peer ||
	    echo "  fit: LIBLINEAR skipped: no linear.h (liblinear-dev)"
	for peer in liblinear lbfgs; do
		[ -e "$1-sk-$peer.said" ] || continue
		row "fit: scikit-learn $peer" "$(said "$1-sk-$peer" fit_sec)" \
		    "$(said "$1-sk-$peer" logloss)" "$kp" \
		    "$([ $peer = lbfgs ] || echo "${3-}")"
	done
}

# job_table NAME AIM: of the whole job.
job_table() {
	local kp parse peer
	parse=$(median "$1-featurize" 1)
	kp=$(sum "$parse" "$(median "$1-train" 1)" "$(median "$1-select" 1)")
	row "job: kp-featurize -j $P" "$parse"
	row "job: kp-train -p $P" "$(median "$1-train" 1)"
	row "job: kp-select" "$(median "$1-select" 1)"
	row "job: kp, all" "$kp" "$(logloss "$1-run")"
	for peer in primal dual; do
		[ -e "$1-$peer.said" ] || continue
		row "job: LIBLINEAR $peer" \
		    "$(sum "$parse" "$(said "$1-$peer" convert_sec)" \
			"$(said "$1-$peer" fit_sec)")" "" "$kp" \
		    "$([ $peer = dual ] || echo "${2-}")"
	done
	awk -v b="$(stat -c %s "$1.csv")" -v s="$parse" 'BEGIN {
		printf "  kp-featurize: %.0f MB/s\n", b / s / 1e6 }'
	awk -v rss="$(median "$1-train" 2)" -v n=$P \
	    -v decoded="$(said "$1-fit" decoded_mb)" 'BEGIN {
		printf "  memory: %d workers of %.0f MB, %.2f times the %s",
		    n, rss, n * rss / decoded, "decoded columns\n" }'
}

# penalties ROWS [CONFIGS]: of groups of so many training rows.
penalties() {
	SPACE=(--param "l2=log:$(awk -v n="$1" 'BEGIN {
		printf "%.3g:%.3g", 1 / (10 ^ 1.5 * n), 1 / (1e-4 * n) }')"
	    --search "grid:${2-12}")
}

# weak NAME AIM: fitting with weaker penalties.
weak() {
	local i
	for ((i = 0; i < RUNS; i++)); do
		alone "$1-weak-fit" "$BUILT/glm_fit" -p $P "${WEAK[@]}" "$1"
		peers "$1-weak" -p $P "${WEAK[@]}" "$1"
	done
	echo " l2 1e-8 to 1e-1"
	fit_table "$1-weak" "$2"
}

# grid NAME OPTION...: everything on NAME.csv, which kp-featurize reads by the
# options.
grid() {
	local name=$1 i
	shift
	for ((i = 0; i < RUNS; i++)); do
		rm -rf "$name-run"
		alone "$name-featurize" kp-featurize -q -f -j $P "$@" \
		    "$name.csv" -o "$name"
		alone "$name-train" kp-train -q -p $P --learner logistic \
		    "${SPACE[@]}" "$name" -o "$name-run"
		alone "$name-select" kp-select -q -o models.kpm "$name-run"
		alone "$name-fit" "$BUILT/glm_fit" -p $P "${SPACE[@]}" "$name"
		peers "$name" -p $P "${SPACE[@]}" "$name"
		if [ "$KP_BENCH" = full ] && [[ $name == flights-* ]]; then
			split_flights "$name"
			scikit "$name" train.csv holdout.csv
		fi
	done
}

FLIGHTS=(--label delay --positive-if '> 15' --group-by origin --datetime date)

# scikit-learn has the same training and hold-out rows.
split_flights() {
	local part
	[ -e train.csv ] && [ train.csv -nt "$1.csv" ] && return
	for part in train holdout; do
		kp-predict -q -m models.kpm --split $part \
		    --keep date,delay,distance,origin,destination "$1.csv" \
		    -o $part.csv || exit 1
	done
}

flights() {
	need_shared "data/flights/$1.csv.gz"
	rm -f train.csv
	gzip -dc "$SHARED/data/flights/$1.csv.gz" >"$1.csv"
	penalties "$2"
	grid "$1" "${FLIGHTS[@]}"
	heading "$1"
	fit_table "$1" 25 70
	job_table "$1" 15
	[ "$KP_BENCH" != full ] || weak "$1" 25
}

table_flights-500k() {
	flights flights-500k 2000
}

table_flights-3m() {
	flights flights-3m 12000
	[ -e flights-500k-fit.said ] || return 0
	awk -v a="$(said flights-500k-fit fit_sec)" \
	    -v b="$(said flights-3m-fit fit_sec)" \
	    -v m="$(said flights-500k-fit train_rows)" \
	    -v n="$(said flights-3m-fit train_rows)" 'BEGIN {
		printf "  time grew %.2f times as fast as rows (aim 1.2)\n",
		    b / a * m / n }'
}

table_clicks() {
	"$BUILT/gendata" clicks --rows "$ROWS" >clicks.csv || exit 1
	penalties $((ROWS * 9 / 10 / 280))
	grid clicks --label y --positive 1 --group-by partner
	heading "clicks, $ROWS rows"
	fit_table clicks 10
	job_table clicks
}

table_a9a() {
	local i
	need_shared data/libsvm/a9a.gz
	gzip -dc "$SHARED/data/libsvm/a9a.gz" >a9a.txt
	kp-featurize -q -f --format libsvm --positive +1 a9a.txt -o a9a ||
	    exit 1
	penalties 32561
	for ((i = 0; i < RUNS; i++)); do
		alone a9a-fit "$BUILT/glm_fit" -p 1 "${SPACE[@]}" \
		    --param standardize=0 a9a
		peers a9a -p 1 "${SPACE[@]}" --param standardize=0 a9a
	done
	heading "a9a, one process"
	fit_table a9a 8
}

table_small-groups() {
	local i
	small_groups >rows.csv
	for ((i = 0; i < RUNS; i++)); do
		rm -rf small-run
		alone small-featurize kp-featurize -q -f -j $P --label y \
		    --positive 1 --group-by key rows.csv -o small
		alone small-train kp-train -q -p $P --learner logistic \
		    --param l2=0.01 small -o small-run
		alone small-select kp-select -q -o models.kpm small-run
	done
	heading "100,000 groups of 20 rows, one config (aim 10 s, 1500 MB)"
	for i in small-featurize small-train small-select; do
		printf '  '
		report $i
	done
	row "CSV to bundle" "$(sum "$(median small-featurize 1)" \
	    "$(median small-train 1)" "$(median small-select 1)")"
}

# A dataset of flights for the tables that have none of their own.
some_flights() {
	[ -e flights-500k ] && return
	need_shared data/flights/flights-500k.csv.gz
	gzip -dc "$SHARED/data/flights/flights-500k.csv.gz" >flights-500k.csv
	kp-featurize -q -f "${FLIGHTS[@]}" flights-500k.csv -o flights-500k ||
	    exit 1
}

table_width() {
	local i w
	some_flights
	penalties 2000 16
	for ((i = 0; i < RUNS; i++)); do
		for w in 1 16; do
			alone width-$w "$BUILT/glm_fit" -p $P --width $w \
			    "${SPACE[@]}" flights-500k
		done
	done
	heading "flights-500k, 16 configs, CPU seconds of fitting"
	row "16 packs of one" "$(said width-1 fit_cpu_sec)"
	row "one pack of 16" "$(said width-16 fit_cpu_sec)"
	awk -v a="$(said width-1 fit_cpu_sec)" \
	    -v b="$(said width-16 fit_cpu_sec)" 'BEGIN {
		printf "  for a row and config: 1/%.1f (aim 1/6)\n", a / b }'
}

table_roofline() {
	some_flights
	echo "roofline, flights-500k"
	alone roofline "$BUILT/roofline" flights-500k
	cat said.out
}

[ $# -gt 0 ] || eval "set -- $DEFAULT_TABLES"
for table; do
	declare -F "table_$table" >/dev/null || {
		echo "$(basename "$0"): there is no table $table" >&2
		exit 2
	}
	"table_$table"
done
((spoilt == 0)) || echo "$spoilt runs that count were spoilt by other programs"
