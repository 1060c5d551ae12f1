#!/bin/bash
# The tables of what orders of rows do to models trained on clustered data:
# first orders against one full shuffle, for five learners; then all methods;
# then small buffers against large ones; features, sparse rows, flights.
#
#	KP_BENCH_ROWS=4000000 tests/bench/shuffle.sh [TABLE...]
#
# TABLEs are learners, methods, buffers, feature, sparse, flights, and those of
# speed, which have scripts of their own beside this one: text (kp-shuffle.sh),
# packs (sgd.sh), nets (mlp.sh), disk (epoch-io.sh).  The default is all.
# KP_BENCH_ROWS rows are generated (default 1,000,000; see gendata.c); what is
# claimed is of 4,000,000.  SEED is of data and orders (default 1).
#
# A figure is the mean over the last five of 20 epochs (10 for flights) on
# hold-out rows, with the worst of them in brackets: one epoch's flatters or
# damns by luck.  n is how many blocks a buffer holds.
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"
: "${KP_BENCH_ROWS:=1000000}"
: "${SEED:=1}"
PATH=$KP_BIN/../bench:$PATH
command -v jq >/dev/null || skip "no jq"
command -v gendata >/dev/null || skip "no gendata (make build/bench/gendata)"
ROWS=$KP_BENCH_ROWS
FEATURES=28
EPOCHS=20

# --- data ---

# dataset NAME BLOCKS ROWS ROW-BYTES OPTION...: a dataset of stdin, of about so
# many blocks; how many they are is in NAME.blocks.
dataset() {
	local name=$1 blocks=$2 rows=$3 bytes=$4
	shift 4
	kp-featurize -f --seed "$SEED" "$@" -o "$name" \
	    --block-size $((rows * bytes / blocks)) - 2>said || {
		cat said >&2
		exit 1
	}
	sed -n 's/,//g; s/.* \([0-9]*\) blocks*$/\1/p' said | head -1 \
	    >"$name.blocks"
}

# dense NAME BLOCKS GENDATA-OPTION... -- FEATURIZE-OPTION...
dense() {
	local name=$1 blocks=$2 make=()
	shift 2
	while [ "$1" != -- ]; do
		make+=("$1")
		shift
	done
	shift
	gendata dense --rows "$ROWS" --features $FEATURES --seed "$SEED" \
	    "${make[@]}" | dataset "$name" "$blocks" "$ROWS" \
	    $((4 * FEATURES + 2)) "$@"
}

# --- figures ---

# fit RECORDS EPOCHS DATA METHOD BUFFER OPTION...: trial records of one config,
# one after another if there are several.
fit() {
	local records=$1 epochs=$2 data=$3 method=$4 buffer=$5
	shift 5
	rm -rf run
	kp-train -q -p 1 --seed "$SEED" --trials "$records" \
	    --epochs "$epochs" --shuffle "$method" --buffer "$buffer" "$@" \
	    "$data" -o run || exit 1
}

# losses DATA METHOD BUFFER OPTION...: "MEAN WORST" log-loss of the last five
# epochs.
losses() {
	rm -f trials
	fit trials $EPOCHS "$@"
	# The last epoch's is in the record of the end; null is not finite.
	jq -rs '[group_by(.epoch)[] | map(.metrics.logloss) | max // 1e9] |
	    .[-5:] | "\(add / length) \(max)"' trials
}

# points METRIC DATA METHOD BUFFER OPTION...: the same of accuracy or
# r2, which is known of final models only: as a step
# size does not depend on how many epochs are to come, models of five runs.
points() {
	local metric=$1 epoch
	shift
	for ((epoch = EPOCHS - 4; epoch <= EPOCHS; epoch++)); do
		fit trials.$epoch $epoch "$@"
	done
	jq -rs --arg m "$metric" '[.[] | select(.status != "step") |
	    .metrics[$m] // -1e9 | . * 100] | "\(add / length) \(min)"' trials.*
	rm trials.*
}

# n_of DATA SHARE: blocks in a buffer of so many per cent, all buffers of an
# epoch being of about one size.
n_of() {
	awk -v share="$2" '{
		n = int($1 * share / 100)
		n = n > 0 ? n : 1
		buffers = int(($1 + n - 1) / n)
		print int($1 / buffers)
	}' "$1.blocks"
}

# gap "MEAN WORST" "MEAN WORST" [FORMAT]: how much the second mean is worse.
gap() {
	awk -v a="${1% *}" -v b="${2% *}" -v f="${3:-%.2f}" \
	    'BEGIN { printf f, a - b }'
}

# shown "MEAN WORST" FORMAT
shown() {
	awk -v m="${1% *}" -v w="${1#* }" -v f="$2" \
	    'BEGIN { printf f " (" f ")", m, w }'
}

# --- tables ---

# The options of a learner at a batch, and its step size.
learner_options() {
	case $1-$2 in
	linear-1) echo --learner linear --param solver=sgd \
	    --param learning_rate=0.001 ;;
	linear-*) echo --learner linear --param solver=sgd \
	    --param learning_rate=0.1 ;;
	mlp-1) echo --learner mlp --param solver=sgd \
	    --param learning_rate=0.01 ;;
	mlp-*) echo --learner mlp --param solver=sgd \
	    --param learning_rate=0.1 ;;
	logistic-1) echo --learner logistic --param solver=sgd \
	    --param learning_rate=0.01 ;;
	logistic-*) echo --learner logistic --param solver=sgd \
	    --param learning_rate=0.5 ;;
	svm-1) echo --learner svm --param learning_rate=0.01 ;;
	softmax-1) echo --learner softmax --param solver=sgd \
	    --param learning_rate=0.01 ;;
	svm-*) echo --learner svm --param learning_rate=0.1 ;;
	softmax-*) echo --learner softmax --param solver=sgd \
	    --param learning_rate=0.5 ;;
	esac
	echo --param l2=0 --param "batch=$2"
}

# learner_line LEARNER BATCH METRIC DATA: gap in points of the last iterate at
# n = 100, and in log-loss of the mean of an epoch's iterates at n = 300.
learner_line() {
	local learner=$1 batch=$2 metric=$3 data=$4 once got options
	local loss=- line
	read -ra options < <(learner_options "$learner" "$batch" |
	    paste -sd' ')
	once=$(points "$metric" "${data}1000" once 10% "${options[@]}" \
	    --param average=last)
	got=$(points "$metric" "${data}1000" corgipile 10% "${options[@]}" \
	    --param average=last)
	line=$(printf '%-9s %5s  %-8s %16s %16s %7s' "$learner" "$batch" \
	    "$metric" "$(shown "$once" %.2f)" "$(shown "$got" %.2f)" \
	    "$(gap "$once" "$got")")
	# A squared loss has no log-loss, nor has a margin of svm.
	if [ "$metric" = accuracy ] && [ "$learner" != svm ]; then
		once=$(losses "${data}1000" once 10% "${options[@]}" \
		    --param average=epoch)
		got=$(losses "${data}3000" corgipile 10% "${options[@]}" \
		    --param average=epoch)
		loss=$(printf '%.4f %.4f %8s' "${once% *}" "${got% *}" \
		    "$(gap "$got" "$once" %.4f)")
	fi
	printf '%s   %s\n' "$line" "$loss"
}

# Datasets NAME1000 and NAME3000, of which 10 % are 100 and 300 blocks or more.
two_sizes() {
	local name=$1
	shift
	dense "${name}1000" 1000 "$@"
	dense "${name}3000" 3400 "$@"
}

table_learners() {
	local batch
	two_sizes two --order label -- --label y --positive 1
	two_sizes many --order label --classes 7 -- --label y
	two_sizes real --order label --regression -- --label y \
	    --task regression
	printf '\nGap to one full shuffle, dense, sorted by label, buffer 10 %%'
	printf ' (%% points; n = %s; log-loss n = %s)\n' "$(n_of two1000 10)" \
	    "$(n_of two3000 10)"
	printf '%-9s %5s  %-8s %16s %16s %7s   %s\n' learner batch metric \
	    'once, last' 'corgipile, last' gap \
	    'log-loss of average=epoch: once, corgipile, gap'
	for batch in 1 128; do
		learner_line logistic $batch accuracy two
		learner_line svm $batch accuracy two
		learner_line softmax $batch accuracy many
		learner_line mlp $batch accuracy two
		learner_line linear $batch r2 real
	done
}

table_methods() {
	local method options got
	[ -d two1000 ] || dense two1000 1000 --order label -- --label y \
	    --positive 1
	read -ra options < <(learner_options logistic 1 | paste -sd' ')
	printf '\nMethods, dense, sorted by label, logistic, batch 1, '
	printf 'step 0.01, %s blocks, n = %s: log-loss\n' \
	    "$(cat two1000.blocks)" "$(n_of two1000 10)"
	for method in once epoch corgipile mrs window block none; do
		got=$(losses two1000 $method 10% "${options[@]}" \
		    --param average=last)
		printf '%-10s last %s' $method "$(shown "$got" %.4f)"
		got=$(losses two1000 $method 10% "${options[@]}" \
		    --param average=epoch)
		printf '   epoch %s\n' "$(shown "$got" %.4f)"
	done
}

# A buffer of 2 % that holds as many blocks as one of 10 %.
table_buffers() {
	local options small large share got
	local make=(--order label -- --label y --positive 1)
	dense b2 17000 "${make[@]}"
	dense b10 3400 "${make[@]}"
	read -ra options < <(learner_options logistic 1 | paste -sd' ')
	small=$(points accuracy b2 corgipile 2% "${options[@]}" \
	    --param average=last)
	large=$(points accuracy b10 corgipile 10% "${options[@]}" \
	    --param average=last)
	printf '\nBuffers of one n, dense, sorted by label, logistic: accuracy\n'
	for share in 2 10; do
		[ $share = 2 ] && got=$small || got=$large
		printf '%2s %%  n = %-4s %s\n' $share "$(n_of b$share $share)" \
		    "$(shown "$got" %.2f)"
	done
	printf 'gap %s\n' "$(gap "$large" "$small")"
}

# three_lines DATA OPTION...: once, corgipile and none.
three_lines() {
	local data=$1 method average
	shift
	for method in once corgipile none; do
		printf '%-10s' $method
		for average in last epoch; do
			printf '   %s %s' $average "$(shown "$(losses "$data" \
			    $method 10% "$@" --param "average=$average")" \
			    %.4f)"
		done
		printf '\n'
	done
}

table_feature() {
	local options
	dense feature 1000 --order feature -- --label y --positive 1
	read -ra options < <(learner_options logistic 1 | paste -sd' ')
	printf '\nSorted by the first feature, dense, logistic, n = %s: ' \
	    "$(n_of feature 10)"
	printf 'log-loss\n'
	three_lines feature "${options[@]}"
}

table_sparse() {
	gendata sparse --rows "$ROWS" --dim 1000000 --order label \
	    --seed "$SEED" | dataset sparse 1000 "$ROWS" 138 --format libsvm \
	    --task binary
	printf '\nSorted by label, sparse, 1,000,000 dimensions, logistic, '
	printf 'n = %s: log-loss\n' "$(n_of sparse 10)"
	three_lines sparse --learner logistic --param solver=sgd \
	    --param standardize=0 --param learning_rate=0.05 --param l2=0
}

# flights_lines BATCH: of datasets flights1000, 3000 and 10500.
flights_lines() {
	local batch=$1 average blocks once got options
	read -ra options < <(learner_options logistic "$batch" | paste -sd' ')
	for average in last epoch; do
		once=$(losses flights1000 once 10% "${options[@]}" \
		    --param average=$average)
		printf '%5s  %-6s once      %s\n' "$batch" $average \
		    "$(shown "$once" %.4f)"
		for blocks in 1000 3000 10500; do
			got=$(losses flights$blocks corgipile 10% \
			    "${options[@]}" --param average=$average)
			printf '%5s  %-6s n = %-5s %s  gap %s\n' "$batch" \
			    $average "$(n_of flights$blocks 10)" \
			    "$(shown "$got" %.4f)" \
			    "$(gap "$got" "$once" %.4f)"
		done
	done
}

# Blocks are pure in time as well as in the label.
table_flights() {
	local blocks
	[ -e "$SHARED/data/flights/flights-3m.csv.gz" ] || {
		printf '\nflights: left out: no ../shared/data/flights\n'
		return
	}
	EPOCHS=10
	gzip -dc "$SHARED/data/flights/flights-3m.csv.gz" >flights.csv
	awk -F, 'NR == 1 || $2 <= 15' flights.csv >sorted.csv
	awk -F, 'NR > 1 && $2 > 15' flights.csv >>sorted.csv
	for blocks in 1000 3000 10500; do
		dataset flights$blocks $blocks 3000000 18 --label delay \
		    --positive-if '> 15' --datetime date <sorted.csv
	done
	rm flights.csv sorted.csv
	printf '\nflights-3m sorted by label, logistic, 10 epochs: log-loss\n'
	flights_lines 1
	flights_lines 128
}

table_text() { "$BENCH/kp-shuffle.sh"; }
table_packs() { "$BENCH/sgd.sh"; }
table_nets() { "$BENCH/mlp.sh"; }
table_disk() { "$BENCH/epoch-io.sh"; }

printf '%s rows, seed %s; means of the last five epochs (worst of them)\n' \
    "$ROWS" "$SEED"
for table in "${@:-learners methods buffers feature sparse flights text packs nets disk}"; do
	for t in $table; do
		"table_$t"
	done
done
