load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	awk 'BEGIN {
		print "g,x,y"
		for (i = 0; i < 300; i++)
			print (i % 10 < 7 ? "big" : i % 10 < 9 ? "mid" : "ill") \
			    "," (i * 37 % 101) / 7 "," (i % 10 < 9 && i % 2)
		for (i = 0; i < 5; i++)
			print "tiny," i "," i % 2
	}' >in.csv
	kp-featurize -q --label y --positive 1 --group-by g --holdout 0 -o data in.csv
	kp-partition -p 2 data >partition.json
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR/data" "$BATS_FILE_TMPDIR/partition.json" .
}

plan() {
	kp-plan --learner logistic "$@" partition.json
}

# A profile in which everything has a round cost: a row 1 us a config, a unit,
# an update and a message nothing; 10 passes.
round_profile() {
	awk 'function many(name, n) {
		printf "\"%s\":[", name
		for (w = 1; w <= 16; w++)
			printf "%s%s", (w > 1 ? "," : ""), n * w
		printf "],"
	}
	BEGIN {
		printf "{\"kp\":\"profile\",\"version\":1,\"load_row_sec\":1e-6,"
		printf "\"row_bytes\":100,\"latency_sec\":0,\"bytes_per_sec\":1e9,"
		printf "\"entries\":[{\"learner\":\"logistic\","
		printf "\"pattern\":\"algebraic\",\"variant\":\"\",\"batch\":0,"
		printf "\"features\":1,\"unit_sec\":0,\"passes\":10,"
		many("row_sec", 1e-6); many("score_sec", 0)
		many("update_sec", 0); many("partial_bytes", 100)
		many("state_bytes", 100)
		printf "\"row\":0}]}\n"
	}' | sed 's/,"row":0//'
}

# The values of l2 in a plan on stdin, on one line.
l2_values() {
	sed -n 's/^ *{"l2":\([^,]*\),.*/\1/p' | paste -s -d ' ' -
}

@test "a log grid of decades is written as decades" {
	equal "$(plan --param l2=log:1e-8:1e-1 --search grid:8 | l2_values)" \
	    '1e-08 1e-07 1e-06 1e-05 0.0001 0.001 0.01 0.1'
}

@test "a list keeps its order, equal values are kept once" {
	equal "$(plan --param l2=1,0.5,1.0,5e-1,2 | l2_values)" '1 0.5 2'
}

@test "random draws do not depend on how many there are or what else is drawn" {
	plan --param l2=log:1e-8:1 --search random:20 | l2_values >many
	plan --param l2=log:1e-8:1 --search random:5 | l2_values >few
	plan --param l1=lin:0:1 --param l2=log:1e-8:1 --search random:20 |
	    l2_values >both
	equal "$(cut -d ' ' -f 1-5 many)" "$(cat few)"
	cmp many both
	equal "$(tr ' ' '\n' <many | sort -u | wc -l)" 20
	plan --param l2=log:1e-8:1 --search random:20 --seed 2 | l2_values >other
	run ! cmp -s many other
}

@test "random draws that would all be equal are refused" {
	local why='needs a range (log:, lin:, int:) or more than one value'
	fails 2 "kp-plan: --search random:5 $why" plan --search random:5
	fails 2 "kp-plan: --search random:5 $why" \
	    plan --param l2=1 --param l1=lin:0:0 --search random:5
	fails 2 "kp-plan: --search halving:9:2 $why" plan --search halving:9:2
	equal "$(plan --param l2=1,2 --search random:20 | l2_values | wc -w)" 2
}

@test "the same options give the same plan, from a file or a pipe" {
	plan --param l2=1,2 >one
	kp-partition -p 2 data | kp-plan --learner=logistic --param l2=1,2 >two
	kp-plan --learner logistic --param l2=1,2 -o three - <partition.json
	cmp one two
	cmp one three
}

@test "a plan holds options and packs" {
	plan --param l2=1,2,3 --epochs 7 --min-rows 3 --pack-width 2 --seed 9 |
	    sed -n '/"seed"/p; /"epochs"/,/"profile"/p' >got
	cat >want <<-END
	  "seed": 9,
	 "epochs": 7,
	 "min_rows": 3,
	 "pack_width": 2,
	 "packs": [
	  [
	   [0,1],
	   [2]
	  ]
	 ],
	 "split": {
	  "packs": 0,
	  "groups": [
	   [0,0]
	  ]
	 },
	 "schedule": {
	  "order": "spread",
	  "priority": "even"
	 },
	 "profile": {
	END
	sed 's/^\t*//' want | diff got -
}

@test "a split group has a pack for each holder, and more, where a whole one has one" {
	round_profile >profile.json
	plan --param l2=1,2,3 --profile profile.json |
	    sed -n '/"packs"/,/"schedule"/p' |
	    tr -d ' \n' >got
	equal "$(cat got)" \
	    '"packs":[[[0,1,2]],[[0],[1],[2]]],"split":{"packs":0,"groups":[[0,1]]},"schedule":{'
}

@test "configs of different solvers or views do not share a pack" {
	plan --param l2=1,2 --param standardize=0,1 |
	    sed -n '/"packs"/,$p' | tr -d ' \n' >got
	[[ $(cat got) == '"packs":[[[0,2],[1,3]]],'* ]]
}

@test "--explain tells configs, groups, packs, work and bound" {
	round_profile >profile.json
	plan --param l2=log:1e-3:1e-1 --search grid:3 --profile profile.json \
	    --explain >got
	sed -i '/^by default/d; s/^\(learner  *logistic\) .*/\1/; /^strategy/,$d' got
	cat >want <<-END
	data         $(readlink -f data)
	learner      logistic
	search       grid:3, seed 1
	configs      3
	epochs       at most 1000
	groups       4: 2 trained, 2 fall back: 1 too few rows, 1 one class
	workers      2
	packs        1: 0-2
	split packs  3: 0 1 2
	work units   7 an epoch (group, pack, shard)
	work         810 rows x configs an epoch
	lower bound  405 (work / workers 405, longest job 180)
	busiest      456 rows x configs on one worker (x1.126)

	config                  l2
	     0               0.001
	     1                0.01
	     2                 0.1

	END
	diff got want
}

@test "--explain compares all strategies and gives the command of the best" {
	round_profile >profile.json
	plan --param l2=1,2 --profile profile.json --explain |
	    sed -n '/^strategy/,$p' >got
	equal "$(awk '/^kp-/ { next } NF > 10 { print NF, $2 == "lpt" ? $1 " " $2 : $1 }' got)" \
	    "$(cat <<-END
		11 strategy
		12 gl
		11 gl-constrained
		11 gtp
		12 gtp lpt
		11 mtp
		12 dp
		11 sp
		11 mop
	END
	)"
	# Whole groups, 210 and 60 rows, 2 configs, 10 passes; read once.
	grep -q '^gtp  *0\.004410 .* 0\.005400  0\.000270 .* 0  *0  *21\.0K' got
	tail -1 got >command
	grep -q "^kp-partition --strategy [a-z]* -p 2 $(readlink -f data) | kp-plan --learner logistic --param l2=1,2 .* | kp-train -o RUN -\$" command
	sh -e command 2>/dev/null
	grep -q '"packs"' RUN/plan.json
	[ -e RUN/summary.json ]
}

@test "options that would be ignored are refused" {
	local p='kp-plan: ' pilot=(kp-plan --pilot data) o
	fails 2 "${p}--simulate does not go with --explain" \
	    plan --explain --simulate
	fails 2 "${p}--cost does not go with --explain" \
	    plan --explain --cost paper
	fails 2 "${p}--cost does not go with --simulate" \
	    plan --simulate --cost=paper
	for o in --explain --simulate '--cost paper' --no-spill '--memory 1M' \
	    '--data data' '--profile p' '--emit-lp lp'; do
		# shellcheck disable=SC2086
		fails 2 "$p${o% *} does not go with --pilot" "${pilot[@]}" $o
	done
	fails 2 "${p}--pilot-sec goes with --pilot" plan --pilot-sec 1
}

@test "halving of a single config is refused" {
	local why='of a single config there is nothing to halve'
	fails 2 "kp-plan: --search halving:grid: $why" \
	    plan --search halving:grid
	fails 2 "kp-plan: --search halving:1: $why" \
	    plan --param l2=log:1e-3:1 --search halving:1
	plan --param l2=log:1e-3:1 --search halving:2 >two.json
}

@test "--cost=paper prints the closed forms" {
	round_profile >profile.json
	plan --param l2=1,2 --profile profile.json --cost=paper >got
	# 270 rows, of them 210 in one group, 2 configs, 10 passes.
	cat >want <<-END
	strategy           total   compute        io   network      idle
	gl              0.002837  0.005400         0  0.000274         0
	gtp             0.004935  0.005400         0  0.000270  0.002100
	mtp             0.005280  0.005400         0  0.000540  0.002310
	dp              0.002839  0.005400         0  0.000278         0
	END
	diff got want
	fails 2 'kp-plan: --cost magic: not simulation or paper' \
	    plan --cost magic
}

@test "--simulate prints the plan's units of work, and a summary on stderr" {
	round_profile >profile.json
	plan --param l2=1,2 --profile profile.json --simulate >got 2>said
	grep -c '"kind":"train"' got >count
	[ "$(cat count)" -ge 20 ]
	run ! grep -v '^{"worker":[01],"group":[0-9]*,"pack":[0-9]*,"epoch":' got
	grep -q '^makespan     0\.00[0-9]* s$' said
	grep -q '^units        [1-9]' said
}

@test "steps of dp are of the configs' batch, or of one of each worker" {
	kp-partition -p 2 --strategy dp data >dp.json
	messages() {
		kp-plan --learner logistic --param solver=sgd \
		    --param batch=10 --epochs 1 "$@" --simulate dp.json \
		    2>&1 >units | sed -n 's/^messages  *\([0-9]*\) .*/\1/p'
	}
	# Of 210 and 60 rows, two messages for each step; no hold-out rows.
	equal "$(messages)" 54
	equal "$(messages --dp-batch local)" 28
}

@test "the units that --simulate prints add up to its summary" {
	for strategy in gl gtp mtp dp sp mop; do
		kp-partition -p 3 --strategy $strategy data >p.json
		for solver in lbfgs sgd; do
			kp-plan --learner logistic --param solver=$solver \
			    --param l2=1,2,3 --epochs 3 --simulate p.json \
			    >units 2>said
			awk -F '[:,}]' '{ sent += $(NF - 1) }
			END { printf "%d\n", sent }' units >sent
			equal "$(sed -n 's/^messages.*(\([0-9]*\) bytes)/\1/p' said)" \
			    "$(cat sent)"
		done
	done
}

@test "--pilot measures a profile that --profile takes" {
	kp-plan --pilot data --pilot-sec 1 --learner logistic \
	    --param solver=lbfgs,sgd -o profile.json
	equal "$(grep -c '"learner"' profile.json)" 2
	equal "$(grep -c '"pattern": "algebraic"' profile.json)" 1
	grep -q '"variant": "solver=sgd"' profile.json
	run ! grep -q -E '"(load_row_sec|row_bytes|latency_sec|passes)": 0\.?0*$' \
	    <(sed -n '/algebraic/,/passes/p' profile.json)
	plan --param l2=1,2 --profile profile.json >plan.json
	kp-plan --pilot data --pilot-sec 1 >all.json
	[ "$(grep -c '"learner"' all.json)" -ge 3 ]
}

@test "what cannot be measured is told" {
	printf 'g,x,y\na,1,1\na,2,1\n' >one.csv
	kp-featurize -q --label y --positive 1 --group-by g -o one one.csv
	fails 3 'kp-plan: no group has training rows of two classes' \
	    kp-plan --pilot one
	fails 2 'kp-plan: --pilot takes no partition: "partition.json"' \
	    kp-plan --pilot data partition.json
	fails 1 'kp-plan: nothing: not a dataset (no manifest.json)' kp-plan --pilot nothing
}

@test "a profile that is none is exit 6" {
	echo '{"kp":"profile","version":1}' >p.json
	fails 6 'kp-plan: p.json: "load_row_sec": missing' \
	    plan --profile p.json --explain
	fails 6 'kp-plan: partition.json: not a profile but a "partition"' \
	    plan --profile partition.json --explain
}

@test "--explain shows twenty configs" {
	run plan --param l2=log:1e-3:1e-1 --search grid:25 --explain
	[[ $output == *$'\n    19 '*$'\n   ...  and 5 more\n'* ]]
}

@test "--data says where the dataset has gone" {
	cp -R "$BATS_FILE_TMPDIR/data" moved
	kp-partition -p 2 moved >p.json
	mv moved gone
	run kp-plan --learner logistic p.json
	[ "$status" -eq 1 ]
	run kp-plan --learner logistic --data gone p.json
	[ "$status" -eq 0 ]
	[[ $output == *"\"data\": \"$PWD/gone\""* ]]
}

@test "unknown names and values out of range are exit 2 and one line" {
	fails 2 'kp-plan: --learner is needed (there is logistic, linear, poisson, huber, quantile, svm, softmax, mlp)' \
	    kp-plan partition.json
	fails 2 'kp-plan: --learner logistics: no such learner (did you mean logistic?)' \
	    kp-plan --learner logistics partition.json
	fails 2 'kp-plan: --param lr=0.1: logistic has no parameter "lr" (did you mean "learning_rate"?)' \
	    plan --param lr=0.1
	fails 2 'kp-plan: --param slover=lbfgs: logistic has no parameter "slover" (did you mean "solver"?)' \
	    plan --param slover=lbfgs
	fails 2 'kp-plan: --param solver=lbfsg: no "lbfsg" (did you mean "lbfgs"?)' \
	    plan --param solver=lbfsg
	fails 2 'kp-plan: --param l2=-1: -1 is not from 0 to 1e12' \
	    plan --param l2=-1
	fails 2 'kp-plan: --param l2=2: l2 is given twice' \
	    plan --param l2=1 --param l2=2
	fails 2 'kp-plan: unknown option "--l2" (a parameter: --param l2=...)' \
	    plan --l2 0.1
	fails 2 'kp-plan: --seed is given twice' plan --seed 1 --seed 2
	fails 6 'kp-plan: data: a dataset, not a partition (kp-partition data | kp-plan ...)' \
	    kp-plan --learner logistic data
	fails 2 'kp-plan: --search gird: no such search (did you mean grid?)' \
	    plan --search gird
	fails 2 'kp-plan: --epochs: not a whole number from 1 to 1000000: "0"' \
	    plan --epochs 0
	fails 2 'kp-plan: --pack-width: not a whole number from 1 to 16: "17"' \
	    plan --pack-width 17
	fails 2 'kp-plan: unknown option "--serch" (did you mean --search?)' \
	    plan --serch grid
}

@test "a learner that does not fit the label is exit 2" {
	kp-featurize -q --label y -o numbers "$BATS_FILE_TMPDIR/in.csv"
	fails 2 'kp-plan: --learner logistic: logistic needs a binary label (see --task, --positive and --positive-if of kp-featurize)' \
	    pipeline 'kp-partition -p 1 numbers | kp-plan --learner logistic'
	run --separate-stderr kp-plan --learner linear partition.json
	[ "$status" -eq 2 ]
	[[ $stderr == 'kp-plan: --learner linear: '* ]]
	[ -z "$output" ]
}

@test "solver and penalty that make no sense together are named" {
	fails 2 'kp-plan: config l1=1,solver=lbfgs: solver=lbfgs cannot do l1 > 0: use solver=owlqn or auto' \
	    plan --param l1=0,1 --param solver=lbfgs
}

@test "bad partitions are exit 6 and say what is wrong" {
	printf '' | fails 6 'kp-plan: standard input: empty' \
	    kp-plan --learner logistic
	: >nothing
	fails 6 'kp-plan: nothing: empty' kp-plan --learner logistic nothing
	plan >plan.json
	fails 6 'kp-plan: plan.json: not a partition but a "plan"' \
	    kp-plan --learner logistic plan.json
	sed 's/"rows": /"row": /' partition.json >p.json
	fails 6 'kp-plan: p.json: "rows": missing' \
	    kp-plan --learner logistic p.json
	sed 's/"rows": .*/& "row": 1,/' partition.json >p.json
	fails 6 'kp-plan: p.json: unknown key "row" (did you mean "rows"?)' \
	    kp-plan --learner logistic p.json
	sed 's/"assignment": "0x./"assignment": "0x/' partition.json >p.json
	fails 6 'kp-plan: p.json: "assignment": not that of the cuts' \
	    kp-plan --learner logistic p.json
	sed 's/\[0,[1-9][0-9]*\]/[0,9999]/' partition.json >p.json
	fails 6 'kp-plan: p.json: "cuts": 1: outside its group' \
	    kp-plan --learner logistic p.json
}

@test "a partition of other data is exit 6" {
	sed 300d "$BATS_FILE_TMPDIR/in.csv" >in.csv
	kp-featurize -q --label y --positive 1 --group-by g --holdout 0 -o other in.csv
	fails 6 "kp-plan: partition.json: partition of other data than $PWD/other" \
	    plan --data other
}

@test "a missing file is exit 1" {
	fails 1 'kp-plan: none.json: No such file or directory' \
	    kp-plan --learner logistic none.json
}

@test "a terminal as input gets a short help and exit 2" {
	need script
	run script -qec 'kp-plan --learner logistic' /dev/null </dev/null
	[ "$status" -eq 2 ]
	[[ $output == 'Usage: kp-plan --learner NAME'*'See kp-plan --help.'* ]]
}

@test "kp-plan on a full disk is exit 1, on a closed pipe quiet" {
	run --separate-stderr bash -c \
	    'kp-plan --learner logistic partition.json >/dev/full'
	[ "$status" -eq 1 ]
	equal "$stderr" 'kp-plan: standard output: No space left on device'
	run --separate-stderr pipeline 'kp-plan --learner logistic \
	    --param l2=lin:0:1 --search grid:1000 partition.json | head -1'
	equal "$output" '{'
	equal "$stderr" ''
}

@test "kp-plan has --help and --version" {
	run kp-plan --help
	[ "$status" -eq 0 ]
	[[ $output == *'--param NAME=VALUES'* ]]
	run kp-plan --version
	[ "$status" -eq 0 ]
	[[ $output == 'kp-plan (kp) '* ]]
}

@test "the examples of kp-partition(1) and kp-plan(1) run" {
	local page
	for page in kp-partition kp-plan; do
		sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$ROOT/man/$page.1" |
		    sed -n '/^\.Bd/,/^\.Ed/p' | sed '/^\.[BE]d/d; s/\\e/\\/g' \
		    >examples
		[ -s examples ]
		bash -e -o pipefail examples >/dev/null
	done
	[ -s plan.json ]
}

@test "a parameter that no config looks at is refused, and what does is named" {
	fails 2 'kp-plan: --param learning_rate does nothing under solver=auto: add --param solver=sgd or adam' \
	    plan --param learning_rate=log:1e-4:1e-1 --search grid:6
	fails 2 'kp-plan: --param tolerance does nothing under solver=sgd: it goes with solver=auto or lbfgs or owlqn or newton' \
	    plan --param solver=sgd --param tolerance=1e-4
	fails 2 'kp-plan: --param nesterov does nothing under solver=adam: it goes with solver=sgd' \
	    plan --param solver=adam --param nesterov=0
	fails 2 'kp-plan: --param decay does nothing under schedule=constant: it goes with schedule=exponential or inverse' \
	    plan --param solver=sgd --param schedule=constant --param decay=0.5
	# One that looks is enough.
	plan --epochs 3 --param solver=auto,sgd --param learning_rate=0.1 \
	    >plan.json
	[ -s plan.json ]
}
