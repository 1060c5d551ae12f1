#!/usr/bin/env bats
# Models and metrics against independent.py, which computes them anew from
# what the man pages say, in plain python.

load helper

check() {
	python3 "$ROOT/tests/independent.py" "$@"
}

setup() {
	need python3
	kp_setup
	check rows >shops.csv
}

# models LEARNER FEATURIZE-OPTION... -- TRAIN-OPTION...: of shops.csv to m.kpm,
# trials, selected, and a file show.SHOP of coefficients for each shop.
models() {
	local learner=$1 featurize=()
	shift
	while [ "$1" != -- ]; do
		featurize+=("$1")
		shift
	done
	shift
	if [ "$learner" = logistic ]; then
		featurize+=(--label late --positive yes --drop amount)
	else
		featurize+=(--label amount --drop late)
	fi
	rm -rf run
	kp-featurize -q -f -g shop --id id --weight w --float64 all \
	    "${featurize[@]}" shops.csv -o data
	kp-train -q -p 2 --learner "$learner" --param tolerance=1e-10 \
	    --trials trials "$@" data -o run
	kp-select -q -o m.kpm --json run >selected
	shows
}

shows() {
	local shop
	for shop in $(tail -n +2 shops.csv | cut -d, -f2 | sort -u); do
		kp-select --json --show "$shop" m.kpm >"show.$shop"
	done
}

# score PART...: PART.csv, what kp-predict makes of these parts of shops.csv.
score() {
	local part
	for part; do
		kp-predict -q -m m.kpm --split "$part" \
		    --keep id,shop,age,income,colour,w,late,amount shops.csv \
		    >"$part.csv"
	done
}

# lone PATTERN: the rows of shop L in a CSV whose line matches.
lone() {
	grep -c "^[0-9]*,L,.*$1" "$2"
}

@test "a logistic model under l2 is the minimum, and predicts as shown" {
	models logistic --holdout 0.2 -- --param l2=0.01
	score train holdout
	check optimum logistic trials 0.01 0
	check predictions logistic train.csv
	check predictions logistic holdout.csv
}

@test "a logistic model under l1 is the minimum, and predicts as shown" {
	models logistic --holdout 0.2 -- --param l2=0 --param l1=0.003
	score train holdout
	check optimum logistic trials 0 0.003
	check predictions logistic train.csv
	check predictions logistic holdout.csv
}

@test "values that training lacked add nothing, or are the mean" {
	models logistic --holdout 0.2 -- --param l2=0.01
	score train
	cat >new.csv <<-'EOF'
	id,shop,age,income,colour
	1,A,33.5,2500,mauve
	2,B,NA,,
	3,C,NA,1e4,red
	4,C,,,"blue, dark"
	EOF
	kp-predict -q -m m.kpm new.csv >scored.csv
	equal "$(wc -l <scored.csv)" 5
	check predictions logistic scored.csv
}

@test "metrics of a binary label are the weighted ones of the hold-out rows" {
	models logistic --holdout 0.3 -- --param l2=0.01
	score holdout
	check metrics logistic selected
}

@test "metrics of a value are the weighted ones of the hold-out rows" {
	models linear --holdout 0.3 -- --param l2=0.01
	score holdout
	check metrics linear selected
}

@test "a linear model solves the weighted normal equations" {
	models linear --holdout 0.2 -- --param l2=0.05
	score train
	check normal-equations 0.05
	check optimum linear trials 0.05 0
	check predictions linear train.csv
}

@test "a linear model without a penalty is weighted least squares" {
	models linear --holdout 0.2 --drop colour -- --param l2=0
	score train
	check normal-equations 0
}

@test "rows of weight 0 are in no part" {
	models logistic --holdout 0.2 --test 0.2 -- --param l2=0.01
	score train holdout test
	tail -qn +2 train.csv holdout.csv test.csv | cut -d, -f1 | sort >got
	python3 -c 'import csv; [print(r["id"]) for r in
	    csv.DictReader(open("shops.csv")) if float(r["w"]) > 0]' |
	    sort | cmp got -
}

# A late row in 30 of shop L goes to one part.  L trains on all its rows if
# that is not the training part; whichever it is, the bundle must agree.
@test "a group that would train on one class trains on all its rows" {
	local seed all=0 some=0
	for i in {1001..1030}; do
		late=no
		[ "$i" -ne 1007 ] || late=yes
		echo "$i,L,$((20 + i % 7 * 5)),$((i % 3))000,red,1.5,$late,$i"
	done >>shops.csv
	for seed in {1..8}; do
		models logistic --holdout 0.2 --test 0.3 --seed "$seed" -- \
		    --param l2=0.01
		score train holdout test
		equal "$(lone ,yes, train.csv)" 1
		check optimum logistic trials 0.01 0
		if [ "$(lone , train.csv)" -eq 30 ]; then
			all=$((all + 1))
			equal "$(lone , holdout.csv) $(lone , test.csv)" "0 0"
		else
			some=$((some + 1))
			[ "$(lone , holdout.csv)" -gt 0 ]
			[ "$(lone , test.csv)" -gt 0 ]
		fi
	done
	[ "$all" -gt 0 ]
	[ "$some" -gt 0 ]
}

@test "a group whose one late row is held out or tests trains on all rows" {
	local part i
	mv shops.csv whole.csv
	for part in holdout test; do
		{
			awk 'NR == 1 { print $0 ",part"; next }
			    { print $0 "," (NR % 5 ? "train" : "holdout") }' \
			    whole.csv
			for i in {1001..1030}; do
				echo "$i,L,$((i % 7)),$((i % 3)),red,2,no,1,train"
			done
			echo "1031,L,5,2,green,1,yes,1,$part"
		} >shops.csv
		models logistic --split part -- --param l2=0.01
		score train holdout test
		equal "$(lone , train.csv)" 31
		equal "$(lone , holdout.csv) $(lone , test.csv)" "0 0"
		check optimum logistic trials 0.01 0
	done
}

@test "a label that is constant is learnt, and gains nothing" {
	sed -i '2,$s/[^,]*$/5/' shops.csv
	models linear --holdout 0.2 -- --param l2=0,0.1
	score holdout
	awk -F, '!/^id/ { p = $(NF - 1); if (p < 5 - 1e-9 || p > 5 + 1e-9) {
		print; exit 1 } }' holdout.csv
	kp-select -q run >tsv
	cut -f8,9 tsv | sed 1d | sort -u | cmp - <(printf '0\t0\n')
	kp-report --text run >report
	grep -Eqx '  gain      n/a' report
	run ! grep -iw nan report
}
