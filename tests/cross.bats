#!/usr/bin/env bats
# Crosses of categories, hashes and limits of their values: from options to
# datasets, streams, models and predictions.

load helper
load models

# Rows of three groups, with colons, backslashes and gaps in a and b, of which
# only the two together tell y; d is a date.
rows_of() {
	awk -v n="$1" 'BEGIN {
		print "g,a,b,x,d,y"
		srand(3)
		split("A:0,A\\1,A2,A3", a, ",")
		split("B0,:,\\,B3", b, ",")
		for (i = 0; i < n; i++) {
			k = int(rand() * 4)
			l = int(rand() * 4)
			printf "g%d,%s,%s,%d,2020-%02d-1%dT%02d:00,%s\n", i % 3,
			    a[k + 1], rand() < 0.05 ? "" : b[l + 1], i % 7,
			    i % 12 + 1, i % 9, i % 24,
			    ((k + l) % 2 == 0) == (rand() < 0.8) ? "yes" : "no"
		}
	}'
}

setup() {
	kp_setup
	rows_of 2000 >in.csv
}

# make DIR OPTION...: the dataset of in.csv
make() {
	local dir=$1
	shift
	kp-featurize -q --label y --positive yes -g g --datetime d "$@" \
	    in.csv -o "$dir"
}

# rejects CODE 'stderr' OPTION...: and nothing is left
rejects() {
	local code=$1 message=$2
	shift 2
	fails "$code" "kp-featurize: $message" kp-featurize -o bad --label y \
	    -g g --datetime d "$@" in.csv
	[ ! -e bad ]
}

# fit DIR OPTION...: its models to DIR.kpm, their coefficients to DIR.show
fit() {
	local dir=$1
	shift
	rm -rf "$dir.run"
	kp-train -q -p 2 --learner logistic "$@" "$dir" -o "$dir.run"
	kp-select -q --json "$dir.run" -o "$dir.kpm" >"$dir.best"
	for g in g0 g1 g2; do
		kp-select -q --json --show $g "$dir.kpm"
	done >"$dir.show"
}

# same_scores DIR [FILE]: kp-predict's hold-out metrics are kp-select's, to the
# last bit
same_scores() {
	local dir=$1 file=${2:-in.csv}
	kp-predict -q -m "$dir.kpm" --split holdout --metrics m.json "$file" \
	    >"$dir.csv"
	grep -v '"holdout_rows":0' "$dir.best" >best
	json_of best >want
	[ "$(wc -l <want)" -ge 3 ]
	json_of m.json | cmp - want
}

# features DIR: of its manifest, name and what is not usual
features() {
	python3 - "$1" <<-'EOF'
		import json, sys
		s = json.load(open(sys.argv[1] + "/manifest.json"))
		print(s["version"])
		for f in s["schema"]["features"]:
		    del f["kind"], f["column"]
		    f.pop("part", None)
		    print(*f.values(), *list(f)[1:])
	EOF
}

@test "a cross is a category of both values, after the features it is of" {
	printf 'y,a,b,d\n1,A,x:y,2020-03-02\n2,,x,2020-03-02\n3,"B\\","c,d",2020-03-03\n4,A,"",2020-03-03\n' >t.csv
	kp-featurize -q --label y --missing NA --categorical a,b --datetime d \
	    --cross a,b --cross d.weekday,a,d.month t.csv -o d
	kp-shuffle --method none --as csv d |
	    sed -E 's/,(3,[12],0,[0-9]*|d.month,.*d.day),/,/' >out
	cat >want <<-'EOF'
		y,a,b,a:b,d.weekday:a:d.month
		1,A,x:y,A:x\:y,1:A:3
		2,"",x,:x,1::3
		3,B\,"c,d","B\\:c,d",2:B\\:3
		4,A,"",A:,2:A:3
	EOF
	cmp out want
	kp-featurize -q -f --label y --categorical a,b --datetime d \
	    --cross a,b t.csv -o d
	equal "$(kp-shuffle --method none --as csv d |
	    awk -F, 'NR == 3 { print $NF }')" ""
	if command -v python3; then
		features d >out
		equal "$(tail -n 1 out)" "a:b [0, 1] cross"
		equal "$(head -n 1 out)" 3
	fi
}

@test "crosses, hashes and limits are refused with the reason" {
	rejects 3 '--cross: no column "bb" in in.csv (did you mean "b"?)' \
	    --cross a,bb
	rejects 3 '--cross: no column "d.weekdy" in in.csv (did you mean "d.weekday"?)' \
	    --cross a,d.weekdy
	rejects 3 '--cross: no column "zebra" in in.csv' --cross zebra,a
	rejects 3 '--cross: no column "" in in.csv' --cross a,
	rejects 2 '--cross: "a" is one column: a cross is of two or more, as A,B' \
	    --cross a
	rejects 2 '--cross: "a" twice in "a,b,a"' --cross a,b,a
	rejects 2 '--cross: "a:b" twice' --cross a,b --cross a,b
	rejects 2 '--cross: "a:b" twice, as b:a' --cross a,b --cross b,a
	rejects 2 '--cross: "x" is a number, no category (see --categorical)' \
	    --cross a,x
	rejects 2 '--cross: "d.day" is a number, no category' --cross a,d.day
	rejects 2 '--cross: "d" is a date, no category, but "d.month", "d.weekday" and "d.hour" are' \
	    --cross d,a
	rejects 2 '--cross: "g" is a grouping column: all of a group have one value' \
	    --cross g,a
	rejects 2 '--cross: "y" is the label, no feature' --cross a,y
	rejects 2 '--cross: "b" is no feature' --drop b --cross a,b
	rejects 2 '--hash-bits: not a whole number from 0 to 64: "65"' \
	    --hash-bits 65
	rejects 2 '--hash-bits: not a whole number from 0 to 64: "many"' \
	    --hash-bits a=many
	rejects 2 '--max-values: not a whole number from 0 to 4294967279: "-1"' \
	    --max-values -1
	rejects 3 '--max-values: no column "a:d" in in.csv (did you mean "a:b"?)' \
	    --cross a,b --max-values a:d=5
	rejects 2 '--min-count: "x" is a number, no category (see --categorical)' \
	    --min-count x=3
	for it in '--cross a,b' '--max-values 3' '--min-count 2' \
	    '--hash-bits 8'; do
		# shellcheck disable=SC2086
		fails 2 "kp-featurize: ${it% *} has no meaning under --format libsvm" \
		    kp-featurize -o bad --format libsvm $it in.svm
	done
	make d --cross a,b
	# shellcheck disable=SC2086
	fails 2 'kp-featurize: --cross: --schema has said it' \
	    kp-featurize -o bad --schema d --cross a,b in.csv
	printf 'y,a,b,a:b\n1,p,q,r\n2,q,p,r\n' >t.csv
	fails 2 'kp-featurize: --cross: there is a feature "a:b" already' \
	    kp-featurize -o bad --label y --cross a,b t.csv
	printf 'y,"a,b",c\n1,p,q\n2,q,p\n' >t.csv
	kp-featurize -q -o commas --holdout 0 --label y --cross 'a,b,c' t.csv
	equal "$(kp-shuffle --method none --as csv commas | head -n 1)" \
	    'y,"a,b",c,"a,b:c"'
}

@test "numbers are crossed only as categories" {
	make d --categorical x --cross a,x
	equal "$(kp-shuffle --method none --as csv d | head -n 1)" \
	    "g,y,a,b,x,d.month,d.weekday,d.hour,d.day,a:x"
	# a column of numbers whose first word comes late
	awk 'BEGIN { print "y,a,c"
		for (i = 0; i < 200000; i++)
			print i % 2 ",k" i % 3 "," i % 50
		print "1,k0,word" }' >late.csv
	kp-featurize -q --label y --cross a,c late.csv -o late
	sed '$d' late.csv >never.csv
	fails 2 'kp-featurize: --cross: "c" is a number, no category (see --categorical)' \
	    kp-featurize --label y --cross a,c never.csv -o never
}

@test "a cross learns what its parts together do" {
	make plain
	make cross --cross a,b
	fit plain --param l2=log:1e-4:1 --search grid:3
	fit cross --param l2=log:1e-4:1 --search grid:3
	for it in plain cross; do
		kp-predict -q -m $it.kpm --split holdout --metrics $it.json \
		    in.csv >/dev/null
		sed -n '1s/.*"logloss":\([^,]*\),.*/\1/p' $it.json
	done >loss
	awk 'NR == 1 { a = $1 } END { exit !($1 < a - 0.1) }' loss
}

@test "a cross written by hand gives the same weights to the last bit" {
	need python3
	python3 - <<-'EOF'
		import csv
		rows = list(csv.DictReader(open("in.csv")))
		def part(v):
		    return v.replace("\\", "\\\\").replace(":", "\\:")
		out = csv.writer(open("hand.csv", "w"), lineterminator="\n")
		out.writerow([*rows[0], "id", "a:b"])
		for i, r in enumerate(rows):
		    both = part(r["a"]) + ":" + part(r["b"])
		    out.writerow([*r.values(), i, both if r["a"] and r["b"] else ""])
	EOF
	local way=(-q --label y --positive yes -g g --datetime d --id id)
	kp-featurize "${way[@]}" hand.csv -o hand
	kp-featurize "${way[@]}" --drop a:b hand.csv -o plain
	cut -d, -f1-7 hand.csv >own.csv
	kp-featurize "${way[@]}" --cross a,b own.csv -o own
	cmp hand/groups.kpg own/groups.kpg
	cmp hand/blocks-00000.kpb own/blocks-00000.kpb
	fit hand --param l2=0.001
	fit own --param l2=0.001
	cmp hand.show own.show
	run cmp -s <(kp-shuffle --as csv plain) <(kp-shuffle --as csv own)
	equal "$status" 1
	kp-predict -q -m hand.kpm --only-predictions hand.csv >a
	kp-predict -q -m own.kpm --only-predictions own.csv | cmp - a
	# the crossed column is not looked for; the parts are
	cut -d, -f1,2,4- own.csv >short.csv
	fails 3 'kp-predict: short.csv: no column "b"' \
	    kp-predict -m own.kpm --only-predictions short.csv
}

@test "crosses, hashes and limits score as in training" {
	make d --cross a,b --cross a,d.hour,b --cross b,d.weekday \
	    --hash-bits 6 --hash-bits a:b=0 --hash-bits b=3 \
	    --max-values b:d.weekday=9 --min-count a:d.hour:b=4 \
	    --max-values d.hour=20
	fit d --param l2=log:1e-5:1 --search grid:4
	same_scores d
	# values nobody saw are among the others
	grep -q '"value":null,"missing":false,"other":true' d.show
	sed '1!s/^\(g.\),[^,]*/\1,new/' in.csv >new.csv
	same=$(kp-predict -q -m d.kpm --only-predictions new.csv |
	    tail -n +2 | sort -u | wc -l)
	[ "$same" -gt 20 ]
}

@test "the most frequent values stay, the others are one" {
	awk 'BEGIN { print "g,y,c"
		for (i = 0; i < 60; i++) {
			c = i < 30 ? "often" : i < 45 ? "half" : i < 53 ? "some" : "v" i
			print "k," i % 2 "," c } }' >t.csv
	local way=(-q -f --task binary --holdout 0 --label y -g g t.csv -o d)
	kp-featurize "${way[@]}" --max-values 2
	kp-shuffle --method none --as csv d | tail -n +2 | cut -d, -f3 |
	    sort | uniq -c | awk '{ print $2, $1 }' >got
	printf '%s\n' '(other) 15' 'half 15' 'often 30' | cmp got -
	kp-featurize "${way[@]}" --min-count c=8
	kp-shuffle --method none --as csv d | tail -n +2 | cut -d, -f3 |
	    sort | uniq -c | awk '{ print $2, $1 }' >got
	printf '%s\n' '(other) 7' 'half 15' 'often 30' 'some 8' | cmp got -
	# 0 is no limit, and the one of a name is the stronger
	kp-featurize "${way[@]}"
	cp -r d none
	kp-featurize "${way[@]}" --max-values 2 --max-values c=0
	diff -r d none
	kp-featurize "${way[@]}" --max-values 10 --min-count 1
	equal "$(kp-shuffle --method none --as csv d | grep -c other)" 0
	# of values as frequent, the same ones wherever they are
	kp-featurize "${way[@]}" --max-values 6
	kp-shuffle --method none --as csv d | cut -d, -f3 | sort -u >a
	(head -n 1 t.csv && tail -n +2 t.csv | sort -r) >u.csv
	kp-featurize -q --task binary --holdout 0 --label y -g g \
	    --max-values 6 u.csv -o u
	kp-shuffle --method none --as csv u | cut -d, -f3 | sort -u | cmp - a
	kp-train -q -p 1 --learner logistic d -o run
	kp-select -q run -o m.kpm >/dev/null
	kp-select --show k m.kpm | grep -q '^c	\\other	'
	kp-select --json --show k m.kpm |
	    grep -q '^{"feature":"c","value":null,"missing":false,"other":true,"coefficient":'
	# a value never seen is answered as the others
	printf 'g,c\nk,v59\nk,never\nk,often\n' |
	    kp-predict -q -m m.kpm --only-predictions 2>err | tail -n +2 >p
	equal "$(sed -n 1p p)" "$(sed -n 2p p)"
	[ "$(sed -n 3p p)" != "$(sed -n 1p p)" ]
}

@test "the same bytes come out, whatever the memory and threads" {
	awk 'BEGIN { print "g,y,u,v,w"
		for (i = 0; i < 60000; i++)
			printf "g%d,%d,user-%d,item%d,%d\n", i * 7919 % 10, i * 31 % 2,
			    i * 104729 % 20011, i * 613 % 3001, i % 9 }' >big.csv
	local way=(--task binary --label y -g g --categorical w --cross "u,v"
	    --cross "v,w" --max-values u:v=500 --min-count v:w=2
	    --hash-bits v=8 big.csv)
	kp-featurize -q "${way[@]}" -o a
	kp-featurize --memory 1M "${way[@]}" -o b 2>log
	grep -q '^  spilled ' log
	diff -r a b
	kp-featurize -q --schema a big.csv -o c
	diff -r a c
	kp-featurize -q "${way[@]/big.csv/-}" -o d <big.csv
	diff -r a d
	for j in 1 2 5; do
		kp-featurize -q -f -j $j --json "${way[@]}" -o e >json.$j
		diff -r a e
	done
	cmp json.1 json.2
	cmp json.1 json.5
}

@test "streams carry crosses, hashes and limits" {
	make d --cross a,b --cross a,d.hour --max-values a:d.hour=20 \
	    --hash-bits d.month=2 --hash-bits a:b=4
	kp-train -q --epochs 2 --learner logistic --param solver=sgd d -o one
	kp-shuffle --method none d | kp-train -q --epochs 2 \
	    --learner logistic --param solver=sgd -o two --blocks -
	kp-select -q one -o one.kpm >/dev/null
	kp-select -q two -o two.kpm >/dev/null
	kp-predict -q -m two.kpm in.csv >two.csv
	[ "$(wc -l <two.csv)" -eq 2001 ]
	if command -v python3; then
		cp -r two/data facts
		features facts >got
		equal "$(head -n 1 got)" 3
		grep -q '^a:d.hour \[0, 5\] 20 cross max_values$' got
	fi
	kp-report --text two >/dev/null
}

@test "hashes and limits are told, by column" {
	need python3
	rows_of 3000 >in.csv
	kp-featurize --label y --positive yes -g g --datetime d --holdout 0 \
	    --cross a,d.hour,b --hash-bits a:d.hour:b=6 --hash-bits b=2 \
	    --max-values d.month=3 --json -o d in.csv >json 2>err
	[ ! -s err ]
	python3 - <<-'EOF'
		import csv, json
		told = json.loads(open("json").read())
		assert told["rows"] == 3000 and told["groups"] == 3
		of = {f["name"]: f for f in told["features"]}
		rows = list(csv.DictReader(open("in.csv")))
		keys = {
		    "b": lambda r: r["b"],
		    "a:d.hour:b": lambda r: r["b"] and (r["a"], r["d"][11:13], r["b"]),
		}
		for name, key in keys.items():
		    f, m = of[name], 2 ** of[name]["hash_bits"]
		    groups = [len({key(r) for r in rows if r["g"] == g} - {""})
		              for g in ("g0", "g1", "g2")]
		    assert f["values"] == sum(groups), (f, groups)
		    expected = sum(m * (1 - (1 - 1 / m) ** n) for n in groups)
		    assert abs(f["hashes_expected"] - expected) < 3 / 2048 + 1e-9
		    assert f["hashes"] <= 3 * m
		    assert m == 4 or abs(f["hashes"] - expected) < 0.25 * expected
		    assert f["values"] - f["collided"] <= f["hashes"]
		    assert f["missing"] == sum(not key(r) for r in rows)
		f = of["d.month"]
		# a group has every third month, as often as the others
		assert (f["values"], f["kept"], f["train"]) == (12, 9, 3000), f
		assert 700 < f["train_other"] < 800, f
		assert of["a:d.hour:b"]["cross"] == ["a", "d.hour", "b"]
		assert "hash_bits" not in of["a"]
	EOF
	run kp-featurize -f --label y --positive yes -g g --datetime d \
	    --cross a,b --max-values d.hour=2 --hash-bits d.hour=3 -o d in.csv
	[[ $output == *"  hashes    d.hour                   3 bits: 24 values, "*" hashes ("*" expected), "*" share theirs ("*" %)"* ]]
	[[ $output == *"  limits    d.hour                   6 of "*" hashes kept, "*" % of the rows that train have others"* ]]
	if [ -e /dev/full ]; then
		run bash -c 'kp-featurize -f --json --label y --positive yes -g g -o d in.csv >/dev/full'
		equal "$status" 1
	fi
}

@test "a dataset without them is what it was" {
	make d
	grep -q '"version": 1,' d/manifest.json
	equal "$(grep -c 'cross\|max_values\|min_count' d/manifest.json)" 0
	make e --cross a,b
	grep -q '"version": 3,' e/manifest.json
	sed -i 's/"version": 3,/"version": 1,/' e/manifest.json
	fails 6 "kp-train: $PWD/e/manifest.json: \"version\": not that of such a schema" \
	    kp-train -q --learner logistic e -o run
}

@test "the golden dataset and bundle with crosses are read, and the bytes are those written today" {
	local golden=$DATA/golden-dataset-v3
	kp-featurize -q --label y --positive yes -g g --datetime d \
	    --cross a,b --cross a,d.hour --max-values a:d.hour=5 \
	    --min-count a=2 --hash-bits a:b=3 "$golden.csv" -o d
	diff -r d "$golden"
	kp-predict -q -m "$DATA/golden-bundle-v2.kpm" "$golden.csv" >p.csv
	cmp p.csv "$DATA/golden-bundle-v2.csv"
}

@test "flights: what a destination does at an hour is worth more than both" {
	need_shared data/flights/flights-500k.csv.gz
	gzip -dc "$SHARED/data/flights/flights-500k.csv.gz" | head -n 200001 >in.csv
	local way=(-q --label delay --positive-if '> 15' -g origin
	    --datetime date in.csv)
	kp-featurize "${way[@]}" -o plain
	kp-featurize "${way[@]}" --cross destination,date.hour \
	    --hash-bits destination:date.hour=10 -o cross
	for it in plain cross; do
		kp-train -q -p 2 --learner logistic --param l2=log:1e-5:1e-1 \
		    --search grid:3 $it -o $it.run
		kp-select -q --json $it.run -o $it.kpm >$it.best
		same_scores $it
		sed -n '1s/.*"logloss":\([^,]*\),.*/\1/p' m.json
	done >loss
	echo "# hold-out log-loss: plain $(sed -n 1p loss), crossed $(sed -n 2p loss)" >&3
	awk 'NR == 1 { a = $1 } END { exit !($1 < a - 0.005) }' loss
}
