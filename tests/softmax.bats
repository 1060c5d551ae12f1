# Models of several classes, from rows to predictions.
load helper

# A CSV of N rows: group, number, category, kind.  Group a has three kinds, b
# mostly two, c only "tall", d a few rows.
kinds() {
	awk -v n="$1" '
	function uniform() {
		state = (state * 69069 + 12345) % 4294967296
		return state / 4294967296
	}
	BEGIN {
		state = 1
		print "g,x,shape,kind"
		for (i = 0; i < n; i++) {
			u = uniform()
			g = u < .5 ? "a" : u < .8 ? "b" : u < .998 ? "c" : "d"
			x = uniform() * 6 - 3
			shape = 1 + int(uniform() * 3)
			z = x + shape - 2 + (uniform() - .5) * 2
			if (g == "b")
				z += 2
			kind = z > 1 || g == "c" ? "tall" : "so, so"
			if (z < -1 && g != "c")
				kind = "low"
			printf "%s,%.4f,%s,\"%s\"\n", g, x,
			    substr("rgb", shape, 1), kind
		}
	}'
}

# A run of two configs in run, its bundle in m.kpm.
train_kinds() {
	kinds 3000 >rows.csv
	kp-featurize -q --label kind --group-by g rows.csv -o data
	kp-train -q -p 2 --learner softmax --epochs 30 --param l2=1e-4,1 \
	    --param solver=sgd --param learning_rate=0.05 --param batch=8 "$@" data -o run
	kp-select -q run -o m.kpm >selected
}

@test "a column for each class holds its probability" {
	train_kinds
	kp-predict -q -m m.kpm --keep g,kind -o scored.csv rows.csv
	equal "$(head -1 scored.csv)" 'g,kind,p_low,"p_so, so",p_tall,level'
	sed 's/"so, so"/so/' scored.csv | awk -F, '
	NR > 1 {
		sum = $3 + $4 + $5
		if (sum < 1 - 1e-12 || sum > 1 + 1e-12)
			exit bad = 1
		best = $4 > $5 ? "so" : "tall"
		if ($3 > $4 && $3 > $5)
			best = "low"
		right[$1] += best == $2
		rows[$1]++
	}
	END {
		if (bad || right["a"] < .7 * rows["a"] ||
		    right["b"] < .7 * rows["b"] || right["c"] < rows["c"]) {
			print bad, right["a"] / rows["a"],
			    right["b"] / rows["b"], right["c"] / rows["c"]
			exit 1
		}
	}'
}

@test "margins differ from log probabilities by what all classes share" {
	train_kinds
	kp-predict -q -m m.kpm --only-predictions -o p.csv rows.csv
	kp-predict -q -m m.kpm --only-predictions --raw -o z.csv rows.csv
	paste -d, p.csv z.csv | sed 's/"p_so, so"/so/g' | awk -F, '
	function far(a) {
		return a > 1e-9 || a < -1e-9
	}
	NR > 1 && $4 == "group" {
		n++
		bad += far(log($1 / $2) - ($5 - $6))
		bad += far(log($3 / $2) - ($7 - $6))
	}
	END { exit bad || n < 1000 }'
}

@test "scores of hold-out rows are those of training" {
	train_kinds
	kp-select --json run | sed -n \
	    's/^{"group":"\([ab]\)".*"metrics":\({[^}]*}\).*/\1 \2/p' >trained
	kp-predict -q -m m.kpm --split holdout --metrics got -o scored.csv \
	    rows.csv
	sed -n 's/^{"group":"\([ab]\)".*"metrics":\({[^}]*}\).*/\1 \2/p' got \
	    >scored
	equal "$(wc -l <trained)" 2
	diff trained scored
}

@test "log-loss, accuracy and Brier score are what the predictions say" {
	train_kinds
	kp-predict -q -m m.kpm --keep kind --metrics got -o scored.csv rows.csv
	sed 's/"so, so"/so/g' scored.csv | awk -F, '
	function clamp(p) {
		if (p < 1e-15)
			return 1e-15
		return p > 1 - 1e-15 ? 1 - 1e-15 : p
	}
	NR > 1 {
		y[1] = $1 == "low"; y[2] = $1 == "so"; y[3] = $1 == "tall"
		top = 1
		for (k = 1; k <= 3; k++) {
			p = $(k + 1)
			brier += (p - y[k]) ^ 2
			if (y[k])
					loss -= log(clamp(p))
			if (p > $(top + 1))
				top = k
		}
		right += y[top]
		n++
	}
	END { printf "%.12f %.12f %.12f\n", loss / n, right / n, brier / n }' \
	    >want
	read -r loss right brier <want
	near "$(head -1 got | jq .metrics.logloss)" "$loss" 1e-9
	near "$(head -1 got | jq .metrics.accuracy)" "$right" 1e-9
	near "$(head -1 got | jq .metrics.brier)" "$brier" 1e-9
}

@test "a group with one class, or with few rows, answers a constant" {
	train_kinds
	awk -F'\t' '{ print $1, $5 }' selected >got
	printf '%s\n' 'group status' 'a trained' 'b trained' 'c fallback' \
	    'd fallback' | diff - got
	kp-predict -q -m m.kpm --keep g -o scored.csv rows.csv
	# The class it has, nearly: every other keeps a small share.
	sed -n 's/^c,//p' scored.csv | sort -u >constant
	awk -F, '{ if ($1 > .01 || $2 > .01 || $1 <= 0 || $3 < .98) exit 1 }' \
	    constant
	equal "$(wc -l <constant)" 1
	equal "$(sed -n 's/^d,//p' scored.csv | sort -u | wc -l)" 1
	kp-select -q --show c run | cut -f 1,2,4 >got
	{
		printf '%s\t%s\t%s\n' class feature coefficient
		IFS=, read -r low so tall _ <constant
		printf '%s\t(constant)\t%s\n' low "$low" 'so, so' "$so" \
		    tall "$tall"
	} | diff - got
}

@test "a group not seen in training gets the shares of all classes" {
	train_kinds
	printf 'g,x,shape,kind\nnew,1,r,low\n' |
	    kp-predict -q -m m.kpm --only-predictions -o got
	tail -1 got | awk -F, '
	$4 != "prior" || $1 < .1 || $2 < .1 || $3 < .1 ||
	    $1 + $2 + $3 < 1 - 1e-12 || $1 + $2 + $3 > 1 + 1e-12 {
		print
		exit 1
	}'
}

@test "coefficients are shown by class" {
	train_kinds
	kp-select --show a run >got
	kp-select --show a m.kpm | diff - got
	equal "$(head -1 got)" $'class\tfeature\tvalue\tcoefficient'
	equal "$(cut -f 1 got | sed 1d | uniq | paste -sd/)" 'low/so, so/tall'
	equal "$(grep -c '(intercept)' got)" 3
	# What is tall has a large x, and what is low a small one.
	awk -F'\t' '$2 == "x" { x[$1] = $4 }
	    END { exit !(x["tall"] > .5 && x["low"] < -.5) }' got
	kp-select --show a --json run | head -1 | grep -q \
	    '^{"class":"low","feature":"(intercept)","value":null,'
}

@test "a report of a run has the metrics of several classes" {
	train_kinds
	kp-report run >got
	grep -q '^configs  *2 of softmax$' got
	grep -q 'logloss' got
	grep -q '^groups  *4$' got
	kp-report --by accuracy run | grep -q accuracy
	fails 2 'kp-report: --by: auc means nothing for this task' \
	    kp-report --by auc run
}

@test "the bytes of a bundle do not depend on packs or the CPU" {
	train_kinds
	for how in "--pack-width 1" "--pack-width 2"; do
		for isa in base avx2 avx512; do
			# shellcheck disable=SC2086
			KP_ISA=$isa kp-train -q -p 2 --learner softmax \
			    --epochs 30 --param l2=1e-4,1 --param solver=sgd \
			    --param learning_rate=0.05 --param batch=8 $how \
			    data -o again
			kp-select -q again -o again.kpm >got
			diff got selected
			kp-predict -q -m m.kpm rows.csv -o a.csv
			KP_ISA=$isa kp-predict -q -m again.kpm rows.csv -o b.csv
			cmp a.csv b.csv
			rm -r again
		done
	done
}

@test "momentum and adam learn too" {
	kinds 3000 >rows.csv
	kp-featurize -q --label kind rows.csv -o data
	for how in solver=adam 'solver=sgd --param momentum=0.9'; do
		# shellcheck disable=SC2086
		kp-train -q -p 1 --learner softmax --epochs 10 --param $how \
		    --param batch=8 data -o run
		kp-select -q run >got
		equal "$(cut -f 9 got | head -1)" accuracy
		near "$(awk -F'\t' 'NR == 2 { print $9 }' got)" 0.88 0.02
		rm -r run
	done
}

@test "batch solvers: the same bundle over any workers, strategy and CPU" {
	kinds 3000 >rows.csv
	kp-featurize -q --label kind --group-by g rows.csv -o data
	train=(kp-train -q --learner softmax --param l2=1e-4,1e-2 --param l1=0,0.01)
	"${train[@]}" -p 1 data -o run
	kp-select -q run -o m.kpm >selected
	equal "$(awk -F'\t' 'NR == 2 { print $6 }' selected)" converged
	rm -r run
	for how in "-p 2" "-p 3 --pack-width 1" "-p 7 --strategy gl-constrained" \
	    "-p 2 --strategy dp" "-p 3 --strategy gtp"; do
		for isa in base avx2 avx512; do
			# shellcheck disable=SC2086
			KP_ISA=$isa "${train[@]}" $how data -o run
			kp-select -q run -o again.kpm >got
			cmp m.kpm again.kpm
			rm -r run
		done
	done
}

@test "batch solvers: predictions score as the hold-out rows did" {
	kinds 3000 >rows.csv
	kp-featurize -q --label kind --group-by g rows.csv -o data
	kp-train -q -p 2 --learner softmax data -o run
	kp-select -q run -o m.kpm >selected
	kp-predict -q -m m.kpm --split holdout --metrics got rows.csv >scored
	jq -c 'select(.group and .metrics.logloss) |
	    [.group, .metrics.logloss]' got >scores
	grep -q '"a",[0-9]' scores
	kp-select --json m.kpm | jq -c 'select(.metrics.logloss) |
	    [.group, .metrics.logloss]' >told
	diff scores told
	kp-select -q --show a m.kpm >show
	grep -q intercept show
}

@test "letter: batch solvers find the optimum" {
	need_shared data/letter oracles/glm.json
	awk -F, -v OFS=, 'NR > 1 { for (i = 2; i <= 17; i++)
	    $i = sprintf("%.17g", $i / 15) } 1' \
	    "$SHARED/data/letter/letter.csv" >letter.csv
	kp-featurize -q --holdout 0 --float64 all --label lettr letter.csv -o data
	kp-train -q -p 1 --learner softmax --param standardize=0 \
	    --param l2=1e-4 --trials trials data -o run
	jq -n --slurpfile t trials --slurpfile o "$SHARED/oracles/glm.json" '
	    ($o[0].cases[] | select(.loss == "softmax")).objective as $best |
	    ($t[-1].objective - $best) / $best | [., fabs < 1e-8]' >out
	cat out
	jq -e '.[1]' out
}

@test "a binary label or l1 under adam is refused" {
	printf 'x,y\n1,a\n2,b\n3,a\n4,b\n' >two.csv
	kp-featurize -q --label y --positive a two.csv -o two
	fails 2 'kp-train: --learner softmax: softmax needs a label of several classes (see --task multiclass of kp-featurize)' \
	    kp-train --learner softmax two -o run
	kinds 100 >rows.csv
	kp-featurize -q --label kind rows.csv -o data
	run -2 kp-train --learner softmax --param solver=adam \
	    --param l1=0.1 data -o run
	[[ $output == *': l1 > 0 is not for solver=adam or momentum' ]]
}

@test "letter: many epochs come near the optimum from above" {
	need_shared data/letter oracles/glm.json
	awk -F, -v OFS=, 'NR > 1 { for (i = 2; i <= 17; i++) $i /= 15 } 1' \
	    "$SHARED/data/letter/letter.csv" >letter.csv
	kp-featurize -q --holdout 0 --label lettr letter.csv -o data
	kp-train -q -p 1 --learner softmax --param standardize=0 \
	    --param solver=sgd --param l2=1e-4 --param learning_rate=1,2 \
	    --param batch=16 \
	    --epochs 100 data -o run
	kp-select -q run -o m.kpm
	kp-predict -q -m m.kpm --metrics got -o scored letter.csv
	jq -n --slurpfile m <(head -1 got) --rawfile w <(kp-select -q --show all \
	    run | awk -F'\t' '$2 != "(intercept)" { s += $4 * $4 }
	    END { print 1e-4 / 2 * s }') \
	    --slurpfile o "$SHARED/oracles/glm.json" '
	    ($o[0].cases[] | select(.loss == "softmax")) as $best |
	    ($m[0].metrics.logloss + ($w | tonumber) - $best.objective) as $off |
	    [$off, ($off > 0 and $off < 1e-4),
	    ($m[0].metrics.accuracy - $best.train_accuracy | fabs < 0.002)]' >out
	cat out
	jq -e '.[1] and .[2]' out
}
