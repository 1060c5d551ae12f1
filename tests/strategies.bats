#!/usr/bin/env bats
# Training under every strategy: what must not depend on it, does not.

load helper
load run_helper

sgd=(--learner logistic --param solver=sgd --param learning_rate=log:1e-3:1e-1
    --search grid:4 --epochs 3 --buffer 10%)

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	PATH=${KP_BIN:-${KP_ROOT:-$BATS_TEST_DIRNAME/../..}/build/bin}:$PATH
	skewed_csv 6000 >small.csv
	featurize small.csv small --block-size 2K
	bundle batch "${learn[@]}" -p 1
	bundle sequential "${sgd[@]}" -p 1
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR"/small small
	ln -s "$BATS_FILE_TMPDIR"/*.kpm .
}

# bundle NAME OPTION...: NAME.kpm, trained on small.
bundle() {
	local name=$1
	shift
	kp-train -q -o "$name" "$@" small
	kp-select -q -o "$name.kpm" "$name" >"$name.tsv"
}

# same_as NAME OPTION...: trains with them and compares with NAME.kpm.
same_as() {
	local want=$1 n=run$((++runs))
	shift
	bundle $n "$@"
	cmp "$want.kpm" $n.kpm
	equal "$(awk -F '\t' 'NR > 1 { print $5 }' $n.tsv | sort -u)" trained
}

@test "gl gives the models of one worker, with either capacity, whatever groups count for" {
	same_as batch "${learn[@]}" -p 3 --strategy gl
	same_as batch "${learn[@]}" -p 3 --capacity paper
	same_as batch "${learn[@]}" -p 3 --isolate group
	same_as batch "${learn[@]}" -p 3 --group-rows 100
	same_as batch "${learn[@]}" -p 7 --group-rows 100000
}

@test "gl-constrained gives the models of gl" {
	same_as batch "${learn[@]}" -p 3 --strategy gl-constrained
	# Four workers and more split the largest group.
	kp-partition -p 5 --strategy gl-constrained small >p.json
	[ "$(jq '.shards | length' p.json)" -ge 2 ]
	same_as batch "${learn[@]}" -p 5 --strategy gl-constrained
}

@test "gtp gives the models of gl, in either order" {
	same_as batch "${learn[@]}" -p 3 --strategy gtp
	same_as batch "${learn[@]}" -p 3 --strategy gtp --order lpt
}

@test "mop, dp and sp give the models of gl" {
	same_as batch "${learn[@]}" -p 3 --strategy mop
	same_as batch "${learn[@]}" -p 3 --strategy dp
	same_as batch "${learn[@]}" -p 3 --strategy sp
	same_as batch "${learn[@]}" -p 2 --strategy sp --order lpt
}

@test "more workers than groups, or than rows of one, change no model" {
	same_as batch "${learn[@]}" -p 12 --strategy gtp
	same_as batch "${learn[@]}" -p 12 --strategy gl-constrained
	printf '%s\n' g,x,y a,1,0 a,2,1 a,3,0 b,1,1 b,2,0 >few.csv
	featurize few.csv few --holdout 0
	for o in '-p 1' '-p 4 --strategy mop' '-p 9 --strategy dp' \
	    '-p 9 --strategy sp' '-p 9 --strategy gl-constrained'; do
		# shellcheck disable=SC2086
		kp-train -q -o "few${o// /}" --learner logistic --min-rows 2 $o few
		kp-select -q -o "few${o// /}.kpm" "few${o// /}" >/dev/null
		cmp few-p1.kpm "few${o// /}.kpm"
	done
}

@test "a plan made by hand trains as kp-train would" {
	kp-partition -p 3 --strategy sp --order lpt small |
	    kp-plan "${learn[@]}" | kp-train -q -o piped -
	kp-select -q -o piped.kpm piped >/dev/null
	cmp batch.kpm piped.kpm
	kp-select -q -o again.kpm piped >/dev/null
	cmp batch.kpm again.kpm
}

@test "Sequential models of whole groups are those of one worker" {
	same_as sequential "${sgd[@]}" -p 3 --strategy gtp
	same_as sequential "${sgd[@]}" -p 3 --strategy gtp --order lpt
}

@test "Sequential models that hop are a function of the plan" {
	bundle one "${sgd[@]}" -p 3 --strategy mop
	same_as one "${sgd[@]}" -p 3 --strategy mop --memory 30K
	! cmp -s one.kpm sequential.kpm
	bundle two "${sgd[@]}" -p 5 --strategy gl-constrained
	same_as two "${sgd[@]}" -p 5 --strategy gl-constrained
}

@test "a run goes on under another strategy if its models may not differ" {
	kp-train -q -o run -p 3 --strategy mop "${learn[@]}" small
	kp-train -o run -p 2 --strategy gtp "${learn[@]}" small 2>err
	[[ $(<err) == *"complete already"* ]]
	kp-train -q -o hop -p 3 --strategy mop "${sgd[@]}" small
	run --separate-stderr kp-train -q -o hop -p 3 --strategy gtp \
	    "${sgd[@]}" small
	[ "$status" -ne 0 ]
}
