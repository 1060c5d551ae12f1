#!/usr/bin/env bats
# What users of other programs complained of, by the number in the list of such
# complaints that the design was checked against.

load helper

# table COLUMNS 'AWK EXPRESSIONS': t.csv of 200 rows of two groups, with i the number of
# the row, u uniform and g the group.
table() {
	awk -v OFS=, -v columns="$1" 'BEGIN {
		state = 7
		print columns
		for (i = 1; i <= 200; i++) {
			state = (state * 16807) % 2147483647
			u = state / 2147483647
			g = i % 2 ? "A" : "B"
			print '"$2"'
		}
	}' >t.csv
}

# models OPTION...: t.csv by group g to the bundle m.kpm.
models() {
	kp-featurize -q --force -o data --group-by g "$@" t.csv
	rm -rf run m.kpm
	kp-train -q --learner "${LEARNER:-logistic}" --param l2=1e-3 data -o run
	kp-select -q -o m.kpm run >selected.tsv
}

# numbers FILE COLUMN: of a CSV with a header, fails at one that is not finite.
numbers() {
	awk -F, -v name="$2" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
	$c !~ /^-?[0-9.]+(e[-+][0-9]+)?$/ { print "not a number: " $0; exit 1 }
	END { if (NR < 2 || !c) exit 1 }' "$1"
}

# 68: one huge value silently stops learning, or makes weights NaN.
@test "huge values are learnt from, and no prediction is NaN" {
	table g,x,yes,amount 'g, (u < .5 ? -1 : 1) * u * 1e139,
	    (u < .5 ? "no" : "yes"), u * 8 - 3'
	models --label yes --positive yes --float64 x --drop amount
	kp-predict -m m.kpm t.csv >got
	numbers got prediction
	awk -F, 'NR > 1 && ($5 > .5) != ($3 == "yes")' got >wrong
	[ "$(wc -l <wrong)" -lt 20 ]
	LEARNER=linear models --label amount --float64 x --drop yes
	kp-predict -m m.kpm t.csv >got
	numbers got prediction
}

# 68
@test "a value too huge to learn from is named, in training and prediction" {
	table g,x,y 'g, u, (u < .5 ? "no" : "yes")'
	models --label y --positive yes --float64 x
	printf 'g,x\nA,1e139\nB,1e160\n' >new.csv
	fails 3 'kp-predict: new.csv:3:3: "x": beyond 1e140: "1e160" (see --inf)' \
	    kp-predict -m m.kpm --verify lazy -o out new.csv
	models --label y --positive yes --float64 x --inf missing
	kp-predict -m m.kpm new.csv >got
	numbers got prediction
}

# 23: all features constant is a fatal error.
@test "a group whose features are all constant trains to its mean" {
	local mean
	table g,x,c,y 'g, 3, "red", (u < .3 ? "yes" : "no")'
	models --label y --positive yes --holdout 0
	equal "$(awk -F '\t' '{ print $5 }' selected.tsv | sort | uniq -c | tr -s ' ')" \
	    "$(printf ' 1 status\n 2 trained')"
	kp-predict -m m.kpm t.csv >got
	for g in A B; do
		mean=$(awk -F, -v g=$g '$1 == g { n++; k += $4 == "yes" }
		    END { printf "%.17g", k / n }' t.csv)
		near "$(awk -F, -v g=$g '$1 == g { print $5; exit }' got)" "$mean" 1e-6
	done
}

# 24: one class gives NaN probabilities, or two columns.
@test "a group of one class answers a finite prior" {
	table g,x,y 'g, u, (g == "B" || u < .5 ? "yes" : "no")'
	models --label y --positive yes
	equal "$(awk -F '\t' '$1 == "B" { print $5 }' selected.tsv)" fallback
	kp-predict -m m.kpm t.csv >got
	numbers got prediction
	equal "$(head -1 got)" g,x,y,prediction,level
	awk -F, '$1 == "B" && !($4 > .5 && $4 < 1) { exit 1 }' got
}

# 26: AUC on one class ends the process.
@test "the AUC of hold-out rows of one class is null, and ends nothing" {
	table g,x,s,y 'g, u, (i % 4 < 2 || g == "B" && u < .5 ? "train" : "holdout"),
	    (u < .5 ? "no" : "yes")'
	models --label y --positive yes --split s
	equal "$(awk -F '\t' '{ print $5 }' selected.tsv | sort | uniq -c | tr -s ' ')" \
	    "$(printf ' 1 status\n 2 trained')"
	kp-select -q --by auc -o auc.kpm run >/dev/null
	kp-predict -q -m m.kpm --split holdout --metrics m.json t.csv >got
	grep -q '"group":"B".*"auc":null' m.json
	grep -q '"group":"A".*"auc":[01]' m.json
	kp-select -q --json m.kpm | grep -q '"B".*"auc":null'
}

# 50: codes of categories shift between training and use.
@test "rows are answered alike alone, in part, and in another order" {
	table g,x,c,y 'g, u, substr("qzkbm", 1 + i * 7 % 5, 1),
	    (u + i % 5 / 9 < .6 ? "no" : "yes")'
	models --label y --positive yes
	kp-predict -m m.kpm t.csv >got
	{ head -1 t.csv && grep ',m,' t.csv | tac; } >part.csv
	{ head -1 got && grep ',m,' got | tac; } >want
	kp-predict -m m.kpm part.csv | cmp - want
	{ head -1 t.csv && tail -1 t.csv; } | kp-predict -m m.kpm |
	    tail -1 | cmp - <(tail -1 got)
}

# 51: a category not seen before is an error, or silently another one.
@test "a category not seen in training adds nothing, and is counted" {
	table g,x,c,y 'g, u, substr("qzkbm", 1 + i * 7 % 5, 1),
	    (u + i % 5 / 9 < .6 ? "no" : "yes")'
	models --label y --positive yes
	printf 'g,x,c\nA,0.5,new\nB,0.5,q\nA,0.5,other\nA,0.5,q\n' >new.csv
	run --separate-stderr kp-predict -m m.kpm --only-predictions new.csv
	equal "$status" 0
	# shellcheck disable=SC2154
	equal "$stderr" "kp-predict: 2 rows have a category not seen in training"
	equal "${lines[1]}" "${lines[3]}"
	[ "${lines[1]}" != "${lines[4]}" ]
	run --separate-stderr kp-predict -m m.kpm t.csv
	equal "$stderr" ""
}

# 68, and separable data: weights that grow for ever are no failure.
@test "a separable group without penalty on raw features is trained" {
	kp-featurize -q -o d --label y --task binary --weight wt --drop rid \
	    --float64 all --holdout 0.2 "$ROOT/tests/data/separable.csv"
	run -0 kp-train -q -p 2 -o run --learner logistic --param l2=0,1e-9 \
	    --param standardize=0,1 --trials trials d
	[ "$(grep -c '"status":"diverged"' trials)" -eq 0 ]
	kp-select -q -o m.kpm run >table
	[[ $(kp-predict -q -m m.kpm "$ROOT/tests/data/separable.csv") != *nan* ]]
}
