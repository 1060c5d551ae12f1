# Learners of the losses beside logistic and squared: poisson, huber, quantile,
# and svm by the batch solvers; offsets.
load helper

# A CSV of two groups: counts whose rate is exposure * exp(x - (shape g)), the
# log of the exposure, and an amount with outliers.
claims() {
	awk -v n="$1" '
	function uniform() {
		state = (state * 69069 + 12345) % 4294967296
		return state / 4294967296
	}
	BEGIN {
		state = 1
		print "g,x,shape,logexp,claims,amount,late"
		for (i = 0; i < n; i++) {
			g = uniform() < .7 ? "a" : "b"
			x = uniform() * 2 - 1
			shape = 1 + int(uniform() * 3)
			exposure = exp(4 * uniform() - 2)
			rate = exposure * exp(x - (shape == 2))
			k = -1
			for (p = 1; p > exp(-rate); p *= uniform())
				k++
			amount = 3 * x - 2 * (shape == 1) + uniform() - .5
			if (uniform() < .05)
				amount += 1000
			printf "%s,%.4f,%s,%.17g,%d,%.4f,%s\n", g, x,
			    substr("rgb", shape, 1), log(exposure), k, amount,
			    (x + uniform() > .5 ? "yes" : "no")
		}
	}'
}

counts() {
	claims 3000 >rows.csv
	kp-featurize -q --label claims --task regression --offset logexp \
	    --group-by g --drop amount,late rows.csv -o data
}

# weight SHOWN NAME: of a coefficient without value.
weight() {
	awk -F'\t' -v name="$2" '$1 == name { print $NF; exit }' "$1"
}

@test "poisson finds the rates that made the counts, given the exposure" {
	counts
	kp-train -q -p 1 --learner poisson --param standardize=0 data -o run
	kp-select -q run -o m.kpm >selected
	kp-select -q --show a m.kpm >show
	near "$(weight show x)" 1 0.1
	! grep -q logexp show
	near "$(awk -F'\t' '$2 == "g" { g = $NF } $2 == "r" { r = $NF }
	    END { print g - r }' show)" -1 0.15
}

@test "poisson with an offset alone gives the ratio of sums" {
	counts
	cut -d, -f 1,4,5 rows.csv >few.csv
	kp-featurize -q --holdout 0 --label claims --task regression \
	    --offset logexp --group-by g few.csv -o few
	kp-train -q -p 1 --learner poisson --param tolerance=1e-12 few -o run
	kp-select -q run -o m.kpm >selected
	kp-predict -q -m m.kpm few.csv >scored
	awk -F, 'NR > 1 { y[$1] += $3; mu[$1] += $4; n++
	    if ($4 <= 0) exit bad = 1 }
	END {
		for (g in y)
			if ((y[g] - mu[g]) ^ 2 > 1e-14 * y[g] ^ 2)
				bad = 1
		exit bad || n != 3000
	}' scored
	kp-predict -q -m m.kpm --raw few.csv | awk -F, 'NR > 1 {
	    d = $4 - $2; if (!($1 in c)) c[$1] = d
	    if ((d - c[$1]) ^ 2 > 1e-24) exit 1 }'
}

@test "a prediction needs the offset, and scores as the hold-out rows did" {
	counts
	for learner in poisson linear huber "quantile --epochs 2" \
	    "linear --param solver=sgd --epochs 2"; do
		# shellcheck disable=SC2086
		kp-train -q -p 2 --learner $learner data -o run
		kp-select -q run -o m.kpm >selected
		kp-predict -q -m m.kpm --split holdout --metrics got rows.csv \
		    >scored
		same_metrics got m.kpm
		rm -r run
	done
	cut -d, -f 1-3 rows.csv >lacking.csv
	fails 3 'kp-predict: lacking.csv: no column "logexp"' \
	    kp-predict -m m.kpm lacking.csv
	printf 'g,x,shape,logexp\na,1,r,\n' >empty.csv
	fails 3 'kp-predict: empty.csv:2:7: "logexp": the offset is missing' \
	    kp-predict -m m.kpm -o scored empty.csv
}

@test "an offset is no feature, a number, and in every row" {
	claims 100 >rows.csv
	kp-featurize --label claims --task regression --offset logexp rows.csv \
	    -o data 2>log
	grep -q 'logexp .* float64 .*, the offset' log
	fails 2 'kp-featurize: "logexp": both --offset and --drop' \
	    kp-featurize --label claims --offset logexp --drop logexp rows.csv \
	    -o no
	fails 3 'kp-featurize: rows.csv:2:11: "shape": not a number: "b" (see --bad-number)' \
	    kp-featurize -q --label claims --offset shape rows.csv -o no
	sed '5s/^\([^,]*,[^,]*,[^,]*,\)[^,]*/\1/' rows.csv >hole.csv
	fails 3 'kp-featurize: hole.csv:5:13: "logexp": the offset is missing' \
	    kp-featurize -q --label claims --offset logexp hole.csv -o no
	fails 2 'kp-train: --learner mlp: mlp cannot use an offset (see --offset of kp-featurize)' \
	    kp-train --learner mlp data -o run
}

@test "huber is not moved by outliers that move least squares" {
	claims 3000 >rows.csv
	kp-featurize -q --label amount --drop g,logexp,claims,late rows.csv \
	    -o data
	for learner in huber linear; do
		kp-train -q -p 1 --learner $learner --param standardize=0 data \
		    -o $learner
		kp-select -q --show all $learner >$learner.show
	done
	near "$(weight huber.show x)" 3 0.1
	! near "$(weight linear.show x)" 3 0.1
}

@test "quantile gives the share of labels that was asked for" {
	claims 3000 >rows.csv
	kp-featurize -q --label x --drop g,logexp,claims,late,amount rows.csv \
	    -o data
	for tau in 0.1 0.5 0.9; do
		kp-train -q -p 1 --learner quantile --param tau=$tau data -o run
		kp-select -q run -o m.kpm >selected
		near "$(kp-predict -q -m m.kpm rows.csv | awk -F, '
		    NR > 1 { n++; below += $2 < $8 } END { print below / n }')" \
		    $tau 0.02
		rm -r run
	done
}

# held_value NAME: of all hold-out rows, by kp-predict and m.kpm.
held_value() {
	kp-predict -q -m m.kpm --split holdout --metrics - -o scored rows.csv |
	    jq -r "select(.group == null).metrics.$1"
}

@test "poisson is selected by deviance, and the deviance is that of a Poisson law" {
	counts
	kp-train -q -p 2 --learner poisson --param l2=1e-4,10 --trials trials \
	    data -o run
	jq -r 'select(.status == "step").metrics | keys[]' trials | sort -u |
	    cmp - <(echo deviance)
	kp-select -q run -o m.kpm >selected
	equal "$(cut -f 4 selected | sort -u)" $'config\nl2=0.0001'
	cmp selected <(kp-select -q --by deviance run)
	jq -s 'map(.metrics.deviance)' <(kp-select --json m.kpm) >one
	for group in a b; do
		kp-select -q --json run | jq -r "select(.group == \"$group\")
		    .metrics.deviance"
	done | jq -s . | cmp - one
	near "$(held_value deviance)" "$(awk -F, 'NR > 1 {
		sum += $5 > 0 ? $5 * log($5 / $8) - $5 + $8 : $8; n++
	} END { printf "%.17g", 2 * sum / n }' scored)" 1e-13
}

@test "quantile is selected by the pinball loss at its own tau" {
	claims 3000 >rows.csv
	kp-featurize -q --label x --group-by g --drop logexp,claims,late rows.csv \
	    -o data
	for tau in 0.2 0.9; do
		kp-train -q -p 2 --learner quantile --param tau=$tau \
		    --param l2=1e-4,10 data -o run
		kp-select -q run -o m.kpm >selected
		cmp selected <(kp-select -q --by pinball run)
		near "$(held_value pinball)" "$(awk -F, -v tau=$tau 'NR > 1 {
			e = $2 - $8; n++
			sum += e > 0 ? tau * e : (tau - 1) * e
		} END { printf "%.17g", sum / n }' scored)" 1e-13
		rm -r run
	done
	kp-train -q -p 1 --learner quantile --param tau=0.2,0.9 data -o run
	kp-select -q run -o m.kpm >selected
	kp-predict -q -m m.kpm --split holdout --metrics got rows.csv >scored
	same_metrics got m.kpm
	rm -r run
	kp-train -q -p 1 --learner linear data -o run
	fails 2 'kp-select: --by: pinball means nothing for this learner' \
	    kp-select --by pinball run
	fails 2 'kp-select: --by: no metric "pinbal" (did you mean "pinball"?)' \
	    kp-select --by pinbal run
}

@test "huber is selected by mae, svm by accuracy, linear by rmse" {
	claims 1000 >rows.csv
	kp-featurize -q --label amount --drop g,logexp,claims,late rows.csv \
	    -o data
	kp-featurize -q --label late --positive yes --drop g,logexp,claims \
	    rows.csv -o late
	while read -r learner by folder; do
		kp-train -q -p 1 --learner "$learner" --param l2=1e-4,1,100 \
		    "$folder" -o run
		cmp <(kp-select -q run) <(kp-select -q --by "$by" run)
		kp-select -q run -o m.kpm >selected
		head -c 2000 m.kpm | grep -aq "\"by\":\"$by\""
		kp-report --text run | grep -q "^$by "
		rm -r run
	done <<-END
		huber mae data
		linear rmse data
		svm accuracy late
		logistic logloss late
	END
}

@test "runs and bundles from before deviance and pinball are read" {
	kp-featurize -q --label visits --task regression --group-by shop \
	    "$DATA/golden-run-v3.csv" -o data
	kp-select -q --data data "$DATA/golden-run-v3" -o m.kpm >selected
	equal "$(cut -f 1,4,8,11 selected)" "$(printf '%s\n' \
	    $'group\tconfig\trmse\tdeviance' \
	    $'north\tl2=1\t2.5122127096034386\tnan' \
	    $'south\tl2=1\t1.067056477665518\tnan')"
	cmp selected <(kp-select -q "$DATA/golden-run-v3.kpm")
	cmp selected <(kp-select -q m.kpm)
	cmp <(kp-predict -q -m m.kpm "$DATA/golden-run-v3.csv") \
	    <(kp-predict -q -m "$DATA/golden-run-v3.kpm" \
	    "$DATA/golden-run-v3.csv")
	kp-report --text --data data "$DATA/golden-run-v3" | grep -q '^rmse '
	kp-predict -q -m "$DATA/golden-run-v3.kpm" --metrics - -o scored \
	    "$DATA/golden-run-v3.csv" | head -n 1 | grep -q '"deviance":1.1022'
}

@test "losses and solvers that do not go together are refused" {
	counts
	fails 2 'kp-train: --param solver=sgd: no "sgd" (there is auto, lbfgs, owlqn, newton)' \
	    kp-train --learner poisson --param solver=sgd data -o run
	fails 2 'kp-train: --param solver=lbfgs: no "lbfgs" (there is sgd, adam)' \
	    kp-train --learner quantile --param solver=lbfgs data -o run
	run -2 kp-train --learner huber --param solver=lbfgs --param l1=1 data \
	    -o run
	[[ $output == *': solver=lbfgs cannot do l1 > 0: use solver=owlqn or auto' ]]
	for learner in poisson huber quantile; do
		kp-featurize -q --force --label late --positive yes rows.csv \
		    -o two
		fails 2 "kp-train: --learner $learner: $learner needs a numeric label (see --task regression of kp-featurize)" \
		    kp-train --learner $learner two -o run
	done
	kp-shuffle --epochs 1 data >blocks
	fails 2 'kp-train: poisson goes through all rows at once for each step, but a stream is learnt from row by row' \
	    kp-train --learner poisson --blocks blocks -o run
}

@test "poisson names the group with a label below 0, and trains the others" {
	counts
	awk -F, -v OFS=, 'NR > 1 && !n && $1 == "b" { $5 = -1; n = 1 } 1' \
	    rows.csv >below.csv
	kp-featurize -q --holdout 0 --label claims --task regression \
	    --group-by g below.csv -o below
	run -4 kp-train -q -p 1 --learner poisson below -o run
	kp-select -q run >got || true
	equal "$(awk -F'\t' '$1 == "a" { print $5 }' got)" trained
	grep -q 'a label is below 0' got
}

# bundles LABEL LEARNER OPTION...: the same whatever the workers, CPU and packs.
bundles() {
	local how isa
	train=(kp-train -q --learner "$@" --param l2=1e-4,1e-2 --param l1=0,0.01
	    data)
	"${train[@]}" -p 1 -o run
	kp-select -q run -o m.kpm >selected
	! grep -q failed selected
	rm -r run
	for how in "-p 2" "-p 3 --pack-width 1" "-p 7 --strategy gl-constrained" \
	    "-p 7" "-p 3 --strategy dp"; do
		for isa in base avx2 avx512; do
			# shellcheck disable=SC2086
			KP_ISA=$isa "${train[@]}" $how -o run
			kp-select -q run -o again.kpm >got
			cmp m.kpm again.kpm
			rm -r run
		done
	done
}

@test "the same bundle over any workers, strategy, CPU and pack" {
	claims 2000 >rows.csv
	kp-featurize -q --label claims --task regression --offset logexp \
	    --weight amount --group-by g --drop late \
	    <(awk -F, -v OFS=, 'NR > 1 { $6 = $6 < 0 ? -$6 : $6 } 1' rows.csv) \
	    -o data
	bundles poisson
	bundles huber
	bundles linear
	kp-featurize -q --force --label late --positive yes --offset logexp \
	    --group-by g --drop amount rows.csv -o data
	bundles svm --param loss=squared_hinge
	bundles logistic
}

@test "separable, constant, equal, missing and huge: an end with finite weights" {
	awk 'BEGIN {
		print "x,twice,same,none,huge,yes,count"
		for (i = 0; i < 200; i++)
			printf "%g,%g,1,,%s,%s,%d\n", i % 10, i % 10,
			    (i == 77 ? "1e140" : i == 78 ? "1e30" : i % 3),
			    (i % 10 > 4 ? "yes" : "no"), (i % 10 > 4 ? i % 4 : 0)
	}' >odd.csv
	for label in yes count; do
		kp-featurize -q --force --numeric none,huge --float64 huge \
		    --label $label \
		    --drop "$([ $label = yes ] && echo count || echo yes)" \
		    $([ $label = yes ] && echo --positive yes) \
		    $([ $label = count ] && echo --task regression) \
		    odd.csv -o data
		for learner in $([ $label = yes ] && echo logistic \
		    svm:--param:loss=squared_hinge || echo linear poisson \
		    huber); do
			# shellcheck disable=SC2086
			kp-train -q -p 1 --learner ${learner//:/ } \
			    --param l2=0,1e-4 --param standardize=0,1 data -o run
			kp-select -q run -o m.kpm >selected
			equal "$(awk -F'\t' 'NR == 2 { print $5 }' selected)" \
			    trained
			kp-select -q --show all m.kpm >show
			! grep -qiE 'nan|inf' show
			rm -r run
		done
	done
}

@test "poisson gets down from offsets that are far apart" {
	awk 'BEGIN {
		srand(3)
		print "g,x,off,n"
		for (i = 0; i < 300; i++)
			printf "a,%.17g,%.17g,%d\n", rand(),
			    -250 + 40 * (rand() + rand() - 1), 1 + 4 * rand()
	}' >rows.csv
	kp-featurize -q --label n --task regression --group-by g --offset off \
	    --holdout 0 rows.csv -o data
	# Under such a penalty the constant is all there is.
	kp-train -q --learner poisson --param l2=1e9 --trials trials data -o run
	jq -r 'select(.status != "step") | .reason, .objective' trials >ended
	equal "$(head -n 1 ended)" "gradient is small"
	awk -F, 'NR == FNR { got = $1; next }
	FNR > 1 { n++; y += $4; e += exp($3 + 250); yo += $4 * ($3 + 250) }
	END {
		b = log(y / e)
		want = (y - b * y - yo) / n
		gap = (got - want) / want
		print got, want
		exit !(gap <= 1e-7 && gap >= -1e-7)
	}' <(tail -n 1 ended) rows.csv
}
