#!/usr/bin/env bats
# How far from the optimum the batch solvers end: at a tight stop, and at that
# of the logistic learner's default tolerance, in single precision.  Beside
# reference values; against Newton's method in long double: unit/test_losses.c
# and unit/test_softmax_batch.c.

load helper

# data_of CASE: the dataset "data" of a case of glm.json.
data_of() {
	local task=(--positive +1) file=$SHARED/data/libsvm/heart_scale
	case $1 in
	letter*)
		awk -F, -v OFS=, 'NR > 1 { for (i = 2; i <= 17; i++)
		    $i = sprintf("%.17g", $i / 15) } 1' \
		    "$SHARED/data/letter/letter.csv" >letter.csv
		kp-featurize -q -f --holdout 0 --float64 all --label lettr \
		    letter.csv -o data
		return
		;;
	a9a*)
		gzip -dc "$SHARED/data/libsvm/a9a.gz" >rows
		;;
	*poisson*)
		sed 's/^-1/0/' "$file" >rows
		task=(--task regression)
		;;
	*squared)
		cp "$file" rows
		task=(--task regression)
		;;
	*)
		cp "$file" rows
		;;
	esac
	kp-featurize -q -f --holdout 0 --format libsvm "${task[@]}" rows -o data
}

learner_of() {
	case $1 in
	squared) echo linear ;;
	squared_hinge) echo svm --param loss=squared_hinge ;;
	*) echo "$1" ;;
	esac
}

@test "at a tight stop every objective is within 1e-8 of its reference" {
	local name loss l1 l2 best solver got n=0
	need_shared oracles/glm.json data/libsvm/a9a.gz data/letter/letter.csv
	jq -r '.cases[] | [.name, .loss, .l1, .l2, .objective] | @tsv' \
	    "$SHARED/oracles/glm.json" >cases
	while IFS=$'\t' read -r name loss l1 l2 best; do
		data_of "$name"
		solver=lbfgs
		[ "$l1" = 0 ] || [ "$l1" = 0.0 ] || solver=owlqn
		# shellcheck disable=SC2046
		kp-train -q -p 2 --learner $(learner_of "$loss") \
		    --param solver=$solver --param standardize=0 \
		    --param tolerance=1e-12 --param "l1=$l1" --param "l2=$l2" \
		    --epochs 20000 --trials trials data -o run
		got=$(jq -r 'select(.status == "converged") | .objective' trials)
		awk -v g="$got" -v b="$best" -v name="$name" 'BEGIN {
			gap = (g - b) / b
			printf "%s: %.2g\n", name, gap
			exit !(g != "" && gap <= 1e-8 && gap >= -1e-8)
		}'
		rm -r run trials
		n=$((n + 1))
	done <cases
	[ "$n" -ge 14 ]
}

# gap CSV OPTION...: by origin, 12 l2 from 1e-8 to 1e-1.
gap() {
	kp-featurize -q --label delay --positive-if '> 15' --datetime date \
	    --group-by origin --categorical destination "$1" -o data
	"$KP_BIN/../bench/glm_gap" data
}

@test "by default every model of flights.csv.gz ends within 1e-6 of its optimum" {
	gzip -dc "$ROOT/examples/flights/flights.csv.gz" >flights.csv
	gap flights.csv | tee out
	equal "$(sed -n 's/^models //p' out)" 432
	equal "$(grep -c '^group' out)" 0
}

@test "so does every model of 500,000 flights by origin" {
	need_shared data/flights/flights-500k.csv.gz
	gzip -dc "$SHARED/data/flights/flights-500k.csv.gz" >flights.csv
	gap flights.csv | tee out
	[ "$(sed -n 's/^models //p' out)" -ge 2556 ]
	equal "$(grep -c '^group' out)" 0
}

# flights ROWS LABEL: "data", rows of flights.csv.gz by origin: the delay, late
# or not, quarters of an hour that it is above -1, or which of four it is.
flights() {
	gzip -dc "$ROOT/examples/flights/flights.csv.gz" | head -n "$1" |
	    awk -F, -v OFS=, -v label="$2" '
	NR == 1 { $2 = label }
	NR > 1 && label == "late" { $2 = $2 > 15 ? "yes" : "no" }
	NR > 1 && label == "quarters" { $2 = $2 < -60 ? 0 : int($2 / 15 + 4) }
	NR > 1 && label == "kind" {
		$2 = $2 < 0 ? "a" : $2 <= 15 ? "b" : $2 <= 60 ? "c" : "d" }
	1' >rows.csv
	case $2 in
	late) set -- late --positive yes ;;
	kind) set -- kind ;;
	*) set -- "$2" --task regression ;;
	esac
	kp-featurize -q -f --label "$@" --datetime date --group-by origin \
	    --categorical destination rows.csv -o data
}

# gaps OPTION...: for each model of 12 l2 by default and its like at a tight
# stop: how far the objective is above, its group, its number, its end.
gaps() {
	local stop
	for stop in loose tight; do
		rm -rf run
		[ $stop = loose ] || set -- "$@" --param tolerance=1e-12 \
		    --epochs 5000
		kp-train -q -p 2 "$@" --param l2=log:1e-8:1e-1 \
		    --search grid:12 --trials $stop data -o run
		jq -r 'select(.status != "step") |
		    [.group, .config, .objective, .status] | @tsv' $stop |
		    sort -k 1,1 -k 2,2n >$stop.tsv
	done
	paste loose.tsv tight.tsv | awk -F'\t' '
	$1 != $5 || $2 != $6 || $3 == "" || $7 == "" {
		print "nan", $1, $2, $4; next }
	{ printf "%.17g %s %s %s\n",
	    ($3 - $7) / ($7 < 0 ? -$7 : $7), $1, $2, $4 }' >gaps
	sort -g gaps | awk -v of="$*" '{ n++ } END { print of ": " n, $0 }'
}

# far [MOST]: those of gaps() that are not within 1e-6, above or below.
far() {
	awk -v most="${1-1e-6}" \
	    '!($1 <= most && $1 >= -most) || $1 == "nan"' gaps
}

@test "every model of squared, poisson and huber loss ends within 1e-6 by default" {
	flights 300000 delay
	gaps --learner linear
	equal "$(far)" ""
	gaps --learner huber
	equal "$(far)" ""
	gaps --learner huber --param delta=20
	equal "$(far)" ""
	equal "$(wc -l <gaps)" 432
	flights 300000 quarters
	gaps --learner poisson
	equal "$(far)" ""
	equal "$(wc -l <gaps)" 432
}

@test "so does every model of squared hinge" {
	flights 300000 late
	gaps --learner svm --param loss=squared_hinge
	equal "$(far)" ""
	equal "$(wc -l <gaps)" 432
}

# hard: "data" of hard.csv, all rows for training: 2 of 40,000, so that the
# residuals of most are small beside the largest; 60 small groups that can be
# separated, or nearly; an outlier that leaves all other values alike.
hard() {
	awk 'BEGIN {
		srand(7)
		print "g,x,z,c,y"
		for (i = 0; i < 40000; i++)
			printf "rare,%.17g,%.17g,%s,%d\n", rand(), rand(),
			    substr("abc", 1 + int(3 * rand()), 1), i % 20000 == 9
		for (k = 0; k < 60; k++)
			for (i = 0; i < 10 + k % 25; i++) {
				x = 4 * rand() - 2
				z = 2 * rand() - 1
				c = int(4 * rand())
				printf "s%d,%.17g,%.17g,%s,%d\n", k, x, z,
				    substr("abcd", 1 + c, 1),
				    (x - z + c - 1.5 + k % 3 * rand() > 0)
			}
		for (i = 0; i < 900; i++)
			printf "out,%.17g,%.17g,%s,%d\n", i ? rand() : 1e10,
			    rand(), substr("abcd", 1 + int(4 * rand()), 1),
			    (rand() < 0.45)
	}' >hard.csv
	kp-featurize -q -f --label y --positive 1 --group-by g --categorical c \
	    --holdout 0 hard.csv -o data
}

@test "so do rare labels, outliers and groups that can be separated, nearly" {
	local solver
	hard
	for solver in auto newton; do
		gaps --learner logistic --param solver=$solver
		equal "$(far 1e-5)" ""
		equal "$(far | grep -E ' (rare|out) ')" ""
		[ "$(far | wc -l)" -le 12 ]
		# A group may have labels of one kind alone.
		[ "$(wc -l <gaps)" -ge 720 ]
	done
}

@test "losses told are those of the models' margins" {
	local l2
	hard
	for l2 in 0 1e-8 1e-3; do
		rm -rf run
		kp-train -q --learner logistic --param l2=$l2 --trials trials \
		    data -o run
		kp-select -q -o models.kpm run >/dev/null
		kp-predict -q --raw -m models.kpm hard.csv >margins
		jq -r 'select(.status != "step") | [.group, .loss] | @tsv' \
		    trials >told
		awk -F, '
		function loss(m) {
			return m < 0 ? log(1 + exp(m)) - m : log(1 + exp(-m))
		}
		NR == FNR { split($0, f, "\t"); told[f[1]] = f[2]; next }
		FNR > 1 { n[$1]++; sum[$1] += loss($5 == 1 ? $6 : -$6) }
		END { for (k in told) { bad = told[k] - sum[k] / n[k]
			limit = 1e-5 * told[k] + 1e-9
			if (!(bad <= limit && bad >= -limit))
				print k, told[k], sum[k] / n[k] } }' \
		    told margins >wrong
		[ "$(wc -l <told)" -ge 60 ]
		equal "$(cat wrong)" ""
	done
}

@test "so does every model of softmax that has epochs enough" {
	flights 30000 kind
	gaps --learner softmax
	equal "$(far | grep -v capped)" ""
	[ "$(grep -vc capped gaps)" -ge 350 ]
}
