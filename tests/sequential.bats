#!/usr/bin/env bats
# Sequential solvers in kp-train: shuffled passes, models that walk along the
# holders of a group, streamed shards.

load helper
load run_helper

sgd=(--learner logistic --param solver=sgd --param learning_rate=log:1e-3:1e-1
    --search grid:6 --epochs 4)

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	PATH=${KP_BIN:-${KP_ROOT:-$BATS_TEST_DIRNAME/../..}/build/bin}:$PATH
	skewed_csv 6000 >small.csv
	kp-featurize -q --label y --positive 1 --group-by g --block-size 2K \
	    small.csv -o small
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR"/small small
	ln -s "$BATS_FILE_TMPDIR"/small.csv small.csv
}

# bundle NAME OPTION...: NAME.kpm, trained on small.
bundle() {
	local name=$1
	shift
	kp-train -q -o "$name" "${sgd[@]}" "$@" small
	kp-select -q -o "$name.kpm" "$name" >"$name.tsv"
}

@test "sgd trains every group, and kp-predict finds the same hold-out metrics" {
	bundle run -p 2 --buffer 10%
	equal "$(awk -F '\t' 'NR > 1 { print $5 }' run.tsv | sort -u)" trained
	kp-predict -q -m run.kpm --split holdout --metrics m.json small.csv \
	    >/dev/null
	same_metrics m.json run.kpm
}

@test "models of whole groups do not depend on pack width, CPU or memory" {
	bundle one -p 1 --buffer 10%
	bundle width -p 1 --buffer 10% --pack-width 1
	bundle five -p 1 --buffer 10% --pack-width 5
	bundle memory -p 1 --buffer 10% --memory 30K
	KP_ISA=base bundle base -p 1 --buffer 10%
	for other in width five memory base; do
		cmp one.kpm $other.kpm
	done
}

@test "models of split groups are a function of the plan" {
	bundle one -p 3 --buffer 10%
	bundle again -p 3 --buffer 10%
	bundle streamed -p 3 --buffer 10% --memory 30K
	KP_ISA=base bundle base -p 3 --buffer 10%
	for other in again streamed base; do
		cmp one.kpm $other.kpm
	done
	bundle other -p 5 --buffer 10%
	! cmp -s one.kpm other.kpm
}

@test "many workers, few rows: every config of every group is trained" {
	bundle many -p 40 --buffer 10%
	equal "$(awk -F '\t' 'NR > 1 { print $5 }' many.tsv | sort -u)" trained
}

@test "trials tell every epoch of every config, once" {
	kp-train -q -p 3 -o run "${sgd[@]}" --trials t.json small
	# Groups of 1000 training rows and more have a record for each epoch.
	jq -r 'select(.status == "step") | [.group, .config, .epoch] | @tsv' \
	    t.json | sort >steps
	equal "$(uniq -d steps)" ""
	equal "$(cut -f 2,3 steps | sort | uniq -c |
	    awk '{ print $1 }' | sort -u | wc -l)" 1
	equal "$(cut -f 3 steps | sort -u | tr '\n' ' ')" "1 2 3 4 "
	equal "$(jq -r 'select(.status == "step") |
	    select(.metrics.logloss == null)' t.json)" ""
	equal "$(jq -r 'select(.status == "capped") | .reason' t.json |
	    sort -u)" "epochs used up"
	equal "$(jq -r 'select(.status == "capped") | .config' t.json |
	    sort | uniq -c | awk '{ print $1 }' | sort -u)" 8
}

# unit_rows RUN: lines "group pack rows" of the journals' units, summed.
unit_rows() {
	units "$1" | awk '{ n[$2 " " $3] += $9 }
	    END { for (k in n) print k, n[k] }' | sort -n -k 1 -k 2
}

@test "every pack passes over every row of a group once an epoch" {
	awk -F, 'NR > 1 { n[substr($1, 2)]++ }
	    END { for (g in n) print g, 4 * n[g] }' small.csv | sort >want
	for p in 1 3 7; do
		kp-train -q -p "$p" -o run$p "${sgd[@]}" --pack-width 2 small
		unit_rows run$p | tee units
		cut -d' ' -f 1,3 units | sort -u >got
		cmp want got
		equal "$(wc -l <units)" 24
	done
}

@test "a run with split groups goes on with its own plan only" {
	kp-train -q -p 3 -o run "${sgd[@]}" small
	fails 2 'kp-train: run: holds a run of another plan (3 workers there, 2 here, and Sequential models of groups cut over workers depend on it); remove it or choose another -o' \
	    kp-train -q -p 2 -o run "${sgd[@]}" small
	fails 2 'kp-train: run: holds a run of another plan (buffer 536870912 there, 100% here); remove it or choose another -o' \
	    kp-train -q -p 3 -o run "${sgd[@]}" --buffer 100% small
	fails 2 'kp-train: run: holds a run of another plan (shuffle corgipile there, none here); remove it or choose another -o' \
	    kp-train -q -p 3 -o run "${sgd[@]}" --shuffle none small
}

@test "the order of rows is an option of Sequential solvers" {
	for method in none once epoch window mrs block corgipile; do
		bundle "$method" -p 1 --shuffle "$method" --buffer 10%
	done
	# a buffer of all leaves epoch 0 the half that its reservoir passes by
	bundle mrs-all -p 1 --shuffle mrs --buffer 100%
	! cmp -s mrs.kpm mrs-all.kpm
	! cmp -s none.kpm corgipile.kpm
	! cmp -s once.kpm epoch.kpm
	fails 2 'kp-train: --shuffle goes with solver=sgd or adam: other solvers do not care for the order of rows' \
	    kp-train -q -o run "${learn[@]}" --shuffle none small
	fails 2 'kp-train: --buffer goes with solver=sgd or adam: other solvers do not care for the order of rows' \
	    kp-train -q -o run "${learn[@]}" --buffer 1M small
}

@test "what cannot be streamed is refused, not left out" {
	fails 2 "kp-train: group \"g0\": --shuffle once needs a group's rows in memory, 72 KB: give more --memory" \
	    kp-train -q -p 1 -o run "${sgd[@]}" --shuffle once --memory 1K \
	    small
	fails 2 'kp-train: group "g0": a shuffle buffer of 72 KB is more than the --memory of 1 KB: give more, or --buffer 512' \
	    kp-train -q -p 1 -o run2 "${sgd[@]}" --buffer 100% --memory 1K small
	[ ! -e run ] && [ ! -e run2 ]
}

@test "a dataset without one of its files is refused before a run is made" {
	for file in blocks-00000.kpb groups.kpg; do
		cp -r small/ part
		rm part/$file
		fails 6 "kp-train: $PWD/part/$file: No such file or directory" \
		    kp-train -q -p 1 -o run "${sgd[@]}" part
		[ ! -e run ]
		rm -r part
	done
}

# walks_warned DATASET LEARNER OPTION...: the warning of an epoch on it.
walks_warned() {
	rm -rf walk
	kp-train -q -o walk --learner "$2" --param solver=sgd --epochs 1 \
	    "${@:3}" "$1" 2>&1
}

@test "kp-train warns if the shards of a group hold other labels" {
	(head -1 small.csv; tail -n +2 small.csv | sort -s -t, -k5,5n) >by.csv
	featurize by.csv by --block-size 2K
	helps='each epoch on one kind; --strategy gtp or -p 1 cuts no group, kp-shuffle DATA | kp-train --blocks - mixes all rows, and so does a dataset made of kp-shuffle --method once FILE'
	equal "$(walks_warned by logistic -p 3)" \
	    "kp-train: rows of 2 groups cut over workers are sorted by label, the largest of them \"g0\": their models end $helps"
	grep '^g[,0]' by.csv >one.csv
	featurize one.csv one --block-size 2K
	equal "$(walks_warned one svm -p 2)" \
	    "kp-train: rows of group \"g0\", cut over workers, are sorted by label: its models end $helps"
	equal "$(walks_warned by logistic -p 2 --strategy mop | cut -d, -f 1)" \
	    'kp-train: rows of 8 groups cut over workers are sorted by label'
	for other in '-p 1' '-p 3 --strategy gtp' '-p 2 --strategy dp'; do
		# shellcheck disable=SC2086
		equal "$(walks_warned by logistic $other)" ''
	done
	equal "$(walks_warned small logistic -p 3)" ''
	equal "$(kp-train -q -o other --learner logistic -p 3 by 2>&1)" ''
}

@test "kp-train warns of one group of many classes, and of numbers, too" {
	awk 'BEGIN { print "x,y"; for (i = 0; i < 3000; i++)
		print i * 7919 % 1000 ",k" int(i / 150) }' >classes.csv
	awk 'BEGIN { print "x,y"; for (i = 0; i < 3000; i++)
		print i * 7919 % 1000 "," i + i * 31 % 17 / 10 }' >numbers.csv
	(head -1 classes.csv; tail -n +2 classes.csv |
	    sort -t, -k1,1n) >mixed.csv
	for name in classes numbers mixed; do
		kp-featurize -q --label y --block-size 2K $name.csv -o $name
	done
	warns='kp-train: rows, cut over workers, are sorted by label: models end each epoch on one kind'
	for p in 2 3; do
		equal "$(walks_warned numbers linear -p $p | cut -d\; -f 1)" \
		    "$warns"
		for learner in softmax mlp; do
			equal "$(walks_warned classes $learner -p $p |
			    cut -d\; -f 1)" "$warns"
		done
		equal "$(walks_warned mixed softmax -p $p)" ''
	done
}

@test "kp-train warns of buffers that hold few blocks" {
	kp-train -q -p 1 -o run "${sgd[@]}" --buffer 10% small 2>err
	grep 'a shuffle buffer holds 1 of the [0-9]* blocks of a group.s rows, too few to mix well (.*): kp-featurize --block-size [0-9]*K\? gives 100, or --buffer 100% holds all$' err
	kp-train -q -p 1 -o run2 "${sgd[@]}" small 2>err
	[ ! -s err ]
	# where there are no shards, the groups are looked at
	kp-train -q -p 2 --strategy mtp -o run3 "${sgd[@]}" --buffer 10% small \
	    2>err
	grep 'a shuffle buffer holds 1 of the [0-9]* blocks of a group.s rows' err
	# and those that fall back are not
	kp-train -q -p 1 -o run4 "${sgd[@]}" --buffer 10% --min-rows 100000 \
	    small 2>err
	! grep 'a shuffle buffer' err
}

@test "the plan spells out shuffle and buffer" {
	kp-train -p 1 --print-plan "${sgd[@]}" --buffer 10% small \
	    >plan.json 2>pipe
	equal "$(jq -c .shuffle plan.json)" \
	    '{"method":"corgipile","buffer":"10%"}'
	grep -e '--shuffle corgipile --buffer 10%' pipe
	kp-train -q -o run plan.json
	bundle other -p 1 --buffer 10%
	kp-select -q -o run.kpm run >/dev/null
	cmp run.kpm other.kpm
	jq 'del(.shuffle)' plan.json >without.json
	fails 6 'kp-train: without.json: "shuffle": missing' \
	    kp-train -q -o run3 without.json
}
