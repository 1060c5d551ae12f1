# Nets, from rows to predictions.
load helper

# A CSV of N rows: group, two numbers, category, and a label that no line
# explains: of three kinds, a bit, or a number.
rings() {
	awk -v n="$1" -v label="$2" '
	function uniform() {
		state = (state * 69069 + 12345) % 4294967296
		return state / 4294967296
	}
	BEGIN {
		state = 1
		print "g,x,y,shape,label"
		for (i = 0; i < n; i++) {
			g = uniform() < .6 ? "a" : "b"
			x = uniform() * 4 - 2
			y = uniform() * 4 - 2
			shape = uniform() < .5 ? "in" : "out"
			r = x * x + y * y + (shape == "out")
			kind = r < 1 ? "low" : r < 3 ? "mid" : "high"
			if (uniform() < .1)
				x = ""
			if (label == "bit")
				kind = r > 2 ? "far" : "near"
			if (label == "number")
				kind = exp(-r)
			printf "%s,%s,%.4f,%s,%s\n", g, x, y, shape, kind
		}
	}'
}

# train LABEL [OPTION...]: a run of two configs, its bundle in m.kpm.
train() {
	local label=$1 positive=
	shift
	[ "$label" = bit ] && positive='--positive far'
	rings 2000 "$label" >rows.csv
	rm -rf data run
	# shellcheck disable=SC2086
	kp-featurize -q --label label --group-by g $positive rows.csv -o data
	kp-train -q -p 1 --learner mlp --epochs 15 --param hidden1=16,24 \
	    --param learning_rate=0.01 --param batch=16 "$@" data -o run
	kp-select -q run -o m.kpm >selected
}

# The metrics of groups a and b, of kp-select or kp-predict.
metrics() {
	sed -n 's/^{"group":"\([ab]\)".*"metrics":\({[^}]*}\).*/\1 \2/p' "$1"
}

@test "a label of each kind is learnt, and scored as in training" {
	for label in kind:accuracy:0.85 bit:auc:0.95 number:r2:0.8; do
		IFS=: read -r label metric least <<<"$label"
		train "$label"
		kp-select --json run >all
		metrics all >trained
		kp-predict -q -m m.kpm --split holdout --metrics got \
		    -o scored.csv rows.csv
		metrics got | diff trained -
		equal "$(sed "s/.*\"$metric\":\([-0-9.e]*\).*/\1/" trained |
		    awk -v l="$least" '$1 > l { n++ } END { print n }')" 2
	done
}

@test "each solver and activation learns" {
	for how in "solver=sgd --param momentum=0.9 --param nesterov=1" \
	    solver=adamw activation=tanh average=epoch \
	    "hidden2=8 --param hidden3=4"; do
		# shellcheck disable=SC2086
		train bit --param $how
		awk -F'\t' 'NR > 1 && $9 > .95 { n++ } END { exit n != 2 }' \
		    selected
	done
}

@test "bytes do not depend on packs, nor predictions on the CPU" {
	train bit --pack-width 1
	kp-train -q -p 1 --learner mlp --epochs 15 --param hidden1=16,24 \
	    --param learning_rate=0.01 --param batch=16 data -o again
	kp-select -q again -o again.kpm >/dev/null
	cmp m.kpm again.kpm
	for isa in base avx2 avx512; do
		KP_ISA=$isa kp-predict -q -m m.kpm -o $isa.csv rows.csv
		cmp base.csv $isa.csv
	done
}

@test "predicting needs no OpenBLAS, training does and says so" {
	train bit
	mkdir lib
	: >lib/libopenblas.so.0
	rm -r run
	run -1 --separate-stderr env LD_LIBRARY_PATH=lib kp-train -q -p 1 \
	    --learner mlp data -o run
	[[ $stderr == *'no OpenBLAS: lib/libopenblas.so.0: file too short (install the package libopenblas0)'* ]]
	LD_LIBRARY_PATH=lib kp-predict -q -m m.kpm -o scored rows.csv
	LD_LIBRARY_PATH=lib kp-train -q --learner logistic data -o other
}

@test "a net has no coefficients" {
	train bit
	fails 2 'kp-select: --show: the learner "mlp" has no coefficients' \
	    kp-select -q --show a m.kpm
}

@test "hidden3 without hidden2 is refused" {
	train bit
	run -2 kp-train -q --learner mlp --param hidden3=4 data -o other
	[[ $output == *': hidden3 needs hidden2 above 0' ]]
}

@test "a run goes on by the same kernel only" {
	rings 20000 bit >rows.csv
	kp-featurize -q --label label --positive far rows.csv -o data
	set -- kp-train -q -p 1 --checkpoint 0.01 --learner mlp --epochs 300 \
	    data -o run
	"$@" &
	until [ -n "$(find run/journal -size +64k 2>/dev/null)" ]; do
		kill -0 $!
	done
	kill -KILL $!
	wait $! || true
	OPENBLAS_CORETYPE=Prescott fails 6 \
	    'kp-train: worker 0: run: state of group 0, config 0 is not of this program' \
	    "$@"
	[ ! -e run/summary.json ]
	"$@"
	[ -e run/summary.json ]
}
