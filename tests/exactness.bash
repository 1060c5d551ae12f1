# shellcheck shell=bash
# Bundles and trial records of one space under many ways to compute it, which
# must not differ by a byte.  Sourced after helper.

# hard_csv ROWS EXPONENT: groups, one with most of the rows, one of 14, one of 4,
# which is too few, one with no row in training, so that it trains on all, and
# one of weight 0, which has none; numbers and weights of sizes 2^-EXPONENT to
# 2^EXPONENT, so that sums in plain doubles depend on their order; missing
# values; labels of every task.
hard_csv() {
	awk -v rows="$1" -v wide="$2" '
	function random() {
		s = (s * 69069 + 12345) % 4294967296
		return s / 4294967296
	}
	# Of either sign, and of any size up to 2^by.
	function number(by) {
		return (2 * random() - 1) * 2 ^ int((2 * by + 1) * random() - by)
	}
	BEGIN {
		print "g,x,z,c,d,off,w,part,late,amount,count,kind"
		for (i = 0; i < rows; i++) {
			u = random()
			g = i % 40 == 7 && i < 560 ? "few" : \
			    i % 41 == 3 && i < 500 ? "test" : \
			    i % 41 == 4 && i < 200 ? "tiny" : \
			    i % 41 == 5 && i < 500 ? "nothing" : \
			    u < .7 ? "most" : u < .9 ? "some" : "other"
			part = g == "test" ? "test" : \
			    random() < .1 ? "holdout" : "train"
			x = number(wide)
			z = number(wide)
			c = int(30 * random() ^ 3)
			d = int(4 * random())
			near = x > 1 ? 1 : x < -1 ? -1 : x
			score = near + c / 15 - d / 2 + 2 * random() - 1
			w = 1 + random()
			if (wide > 4)
				w *= 2 ^ int((2 * wide + 1) * random() - wide)
			if (g == "nothing")
				w = 0
			amount = score + number(wide > 8 ? 8 : 1)
			x = random() < .1 ? "NA" : sprintf("%.17g", x)
			z = random() < .05 ? "" : sprintf("%.17g", z)
			printf("%s,%s,%s,v%d,%s,%.17g,%.17g,%s,%d,%.17g,%d,k%d\n",
			    g, x, z, c, d ? "u" d : "", random() - .5, w, part,
			    score > 0, amount, score < 0 ? 0 : 3 * score,
			    (score > -.5) + (score > .5))
		}
	}'
}

# hard_libsvm ROWS EXPONENT LABEL: the same of sparse rows, by feature 1: groups
# as above but for weights and parts, which libsvm has not.  Rows of none to a
# dozen of 60 features, of which the first 4 are in most rows and the last in
# next to none; no feature 30.  LABEL: late or amount.
hard_libsvm() {
	awk -v rows="$1" -v wide="$2" -v label="$3" '
	function random() {
		s = (s * 69069 + 12345) % 4294967296
		return s / 4294967296
	}
	function number(by) {
		return (2 * random() - 1) * 2 ^ int((2 * by + 1) * random() - by)
	}
	BEGIN {
		for (i = 0; i < rows; i++) {
			u = random()
			g = i % 40 == 7 && i < 560 ? 1 : i % 41 == 4 && i < 200 ? 2 : \
			    u < .7 ? 3 : u < .9 ? 4 : 0
			row = g ? " 1:" g : ""
			score = 2 * random() - 1
			for (k = 2; k <= 61; k++) {
				if (random() > (k < 6 ? .8 : 3 / k ^ 1.3) || k == 30 ||
				    i % 50 == 9)
					continue
				x = k == 3 ? 1 : number(wide)
				score += (k % 2 ? 1 : -1) * (x > 1 ? 1 : x < -1 ? -1 : x)
				row = row sprintf(" %d:%.17g", k, x)
			}
			printf "%.17g%s\n", \
			    label == "late" ? (score > 0) : score + number(8), \
			    row
		}
	}'
}

# rare_csv ROWS: groups as above of rows with a missing value here and there, an
# offset and weights, and four columns whose values are mostly rare ones: far
# more features than second moments are kept of.
rare_csv() {
	awk -v rows="$1" '
	function random() {
		s = (s * 69069 + 12345) % 4294967296
		return s / 4294967296
	}
	BEGIN {
		print "g,x,a,b,c,d,off,w,part,late"
		for (i = 0; i < rows; i++) {
			u = random()
			g = u < .7 ? "most" : u < .9 ? "some" : "other"
			x = 4 * random() - 2
			score = x + 2 * random() - 1
			line = random() < .1 ? "NA" : sprintf("%.17g", x)
			for (k = 0; k < 4; k++) {
				v = int(400 * random() ^ 3)
				score += v % 3 - 1
				line = line (v == 7 ? "," : ",v" v)
			}
			printf("%s,%s,%.17g,%.17g,%s,%d\n", g, line,
			    random() - .5, 1 + random(),
			    random() < .1 ? "holdout" : "train", score > 0)
		}
	}'
}

# hard_data CSV DATASET LABEL OPTION...
hard_data() {
	kp-featurize -q --label "$3" --group-by g --weight w --split part \
	    --float64 x,z "${@:4}" --block-size 4K "$1" -o "$2"
}

# sparse_data LIBSVM DATASET OPTION...
sparse_data() {
	kp-featurize -q --format libsvm --group-by 1 "${@:3}" --block-size 4K \
	    "$1" -o "$2"
}

# make_hard ROWS: the datasets that exact_cases names.
make_hard() {
	hard_csv "$1" 30 >wide.csv
	hard_csv "$1" 6 >narrow.csv
	hard_csv "$1" 1 >moderate.csv
	hard_data wide.csv late late --positive 1 --offset off \
	    --drop amount,count,kind
	hard_data moderate.csv moderate late --positive 1 --offset off \
	    --drop amount,count,kind
	hard_data wide.csv amount amount --offset off --drop late,count,kind
	# exp() of wider ones would only overflow.
	hard_data narrow.csv count count --task regression --offset off \
	    --drop late,amount,kind
	hard_data wide.csv kind kind --task multiclass \
	    --drop "off,late,amount,count"
	rare_csv "$1" >rare.csv
	kp-featurize -q --label late --positive 1 --group-by g --weight w \
	    --offset off --split part --block-size 4K rare.csv -o rare
	hard_libsvm "$1" 30 late >wide.late
	hard_libsvm "$1" 9 late >moderate.late
	hard_libsvm "$1" 30 amount >wide.amount
	sparse_data wide.late sparse-late --positive 1
	sparse_data moderate.late sparse-moderate --positive 1
	sparse_data wide.amount sparse-amount --task regression
}

# name|dataset|learner and its parameters.  The default tolerance of logistic
# asks for single precision, on moderate data only.
# shellcheck disable=SC2034
exact_cases=(
	'logistic|late|logistic'
	'single|moderate|logistic'
	'newton-single|moderate|logistic --param solver=newton'
	'newton|late|logistic --param solver=newton'
	'l1|late|logistic --param l1=0.003'
	'linear|amount|linear --param tolerance=1e-8'
	'linear-l1|amount|linear --param l1=0.01'
	'svm|late|svm --param loss=squared_hinge --param solver=lbfgs'
	'svm-l1|late|svm --param loss=squared_hinge --param solver=owlqn --param l1=0.003'
	'poisson|count|poisson'
	'poisson-l1|count|poisson --param l1=0.003'
	'huber|amount|huber --param delta=0.5'
	'huber-newton|amount|huber --param delta=0.5 --param solver=newton'
	'softmax|kind|softmax'
	'softmax-l1|kind|softmax --param l1=0.003'
	'rare|rare|logistic'
	'rare-mixed|rare|logistic --param l1=0,0.003'
	'sparse|sparse-late|logistic --param tolerance=1e-8'
	'sparse-wide|sparse-late|logistic --param standardize=0'
	'sparse-single|sparse-moderate|logistic'
	'sparse-single-newton|sparse-moderate|logistic --param solver=newton'
	'sparse-raw|sparse-moderate|logistic --param standardize=0'
	'sparse-l1|sparse-late|logistic --param l1=0.003'
	'sparse-linear|sparse-amount|linear --param tolerance=1e-8'
	'sparse-svm|sparse-late|svm --param loss=squared_hinge --param solver=lbfgs'
)

# exact_run DATASET LEARNER NAME P STRATEGY ISA WIDTH: NAME.kpm, and what the
# trials of NAME tell beside times; nothing else is left.
exact_run() {
	local cuts=()
	# Or gl leaves groups as small as these whole.
	[ "$5" != gl ] || cuts=(--group-rows 0)
	# shellcheck disable=SC2086
	KP_ISA=$6 kp-train -q -p "$4" --strategy "$5" "${cuts[@]}" \
	    --pack-width "$7" \
	    --learner $2 --param l2=log:1e-6:1 --search grid:12 --epochs 40 \
	    --trials "$3.trials" "$1" -o "$3.run" &&
	    kp-select -q "$3.run" -o "$3.kpm" >/dev/null &&
	    jq -c 'del(.sec)' "$3.trials" | sort >"$3.told" &&
	    rm -r "$3.run" "$3.trials"
}

# exact_same CASE NUMBER...: the reference of a case, and the runs of these
# numbers of the product, of which there are $exact_product: two at a time.
# shellcheck disable=SC2034
exact_product=144
exact_same() {
	local name data learner
	IFS='|' read -r name data learner <<<"$1"
	shift
	exact_run "$data" "$learner" want 1 gl avx512 16 || return 1
	export -f exact_run exact_one
	export learner data
	printf '%s\n' "$@" | xargs -P 2 -I N bash -c 'exact_one N' >differ ||
	    return 1
	if [ -s differ ]; then
		sed "s/^/$name: /" differ
		return 1
	fi
	rm want.kpm want.told
}

exact_one() {
	local p=(1 2 3 7) isa=(base avx2 avx512) width=(1 4 8 16)
	local strategy=(gl gl-constrained dp) n=$1 s
	s="${p[n % 4]} ${strategy[n / 4 % 3]} ${isa[n / 12 % 3]}"
	s+=" ${width[n / 36]}"
	# shellcheck disable=SC2086
	if ! exact_run "$data" "$learner" "try$n" $s; then
		echo "$s: fails"
	elif ! cmp -s want.kpm "try$n.kpm"; then
		echo "$s: another bundle"
	elif ! cmp -s want.told "try$n.told"; then
		echo "$s: other trials"
	fi
	rm -rf "try$n".*
}
