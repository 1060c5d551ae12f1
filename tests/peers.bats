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
	kp-featurize -q --force -o data --group-by g --holdout 0.25 "$@" t.csv
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
