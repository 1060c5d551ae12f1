# kp-train and kp-gap-worker: plans and datasets, the bytes that come out, and
# how a run ends, well or badly.

load helper
load run_helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	PATH=${KP_BIN:-${KP_ROOT:-$BATS_TEST_DIRNAME/..}/build/bin}:$PATH
	skewed_csv 4000 >small.csv
	skewed_csv 40000 >big.csv
	featurize small.csv small
	featurize big.csv big
	kp-train -q -p 2 -o small.run "${learn[@]}" small
	kp-select -q -o small.kpm small.run >/dev/null
}

setup() {
	kp_setup
	cp -r "$BATS_FILE_TMPDIR"/small "$BATS_FILE_TMPDIR"/small.kpm .
	ln -s "$BATS_FILE_TMPDIR"/big big
}

# same_models RUN BUNDLE: what RUN selects is that bundle, byte for byte.
same_models() {
	kp-select -q -o "$1.same.kpm" "$1" >/dev/null
	cmp "$1.same.kpm" "$2"
}

# many_csv: a large group and many small ones.
many_csv() {
	awk 'BEGIN {
		print "g,x,y"
		for (i = 0; i < 4320; i++)
			print (i < 3000 ? "a" : "g" 1000 + int(i / 12)) "," \
			    i * 37 % 101 / 7 "," i * 7 % 5 % 2
	}'
}

# --- use ---

@test "kp-train --help names every option, and exits 0" {
	local o
	run -0 --separate-stderr kp-train --help
	equal "$stderr" ""
	equal "${lines[0]}" "Usage: kp-train [OPTION...] -o RUN PLAN"
	for o in output trials memory no-spill checkpoint blocks data strict quiet workers \
	    learner param search seed epochs pack-width min-rows print-plan \
	    strategy order capacity isolate group-rows \
	    help version; do
		[[ $output == *"--$o"* ]]
	done
}

@test "kp-train and kp-gap-worker say their version" {
	run -0 kp-train --version
	equal "$output" "kp-train (kp) 0.1.0"
	run -0 kp-gap-worker --version
	equal "$output" "kp-gap-worker (kp) 0.1.0"
}

@test "kp-train used wrongly exits 2 and says how" {
	local p='kp-train: '
	fails 2 "${p}--output is needed (try --help)" kp-train "${learn[@]}" small
	fails 2 "${p}unknown option \"--serch\" (did you mean --search?)" \
	    kp-train -o run --serch grid small
	local o
	for o in -j --jobs; do
		fails 2 "${p}unknown option \"$o\" (processes: -p N)" \
		    kp-train -o run $o 2 "${learn[@]}" small
	done
	fails 2 "${p}--learner is needed to train on a dataset (try --help)" \
	    kp-train -o run small
	fails 2 "${p}--learner logstic: no such learner (did you mean logistic?)" \
	    kp-train -o run --learner logstic small
	fails 2 "${p}--workers: not a whole number from 1 to 4096: \"0\"" \
	    kp-train -o run -p 0 "${learn[@]}" small
	fails 2 "${p}--data goes with a plan, and small is a dataset" \
	    kp-train -o run --data small "${learn[@]}" small
	[ ! -e run ]
}

@test "options that a plan would ignore are refused" {
	kp-train --print-plan -q "${learn[@]}" small >plan.json
	local o
	for o in "--workers 3" "--learner linear" "--param l2=1" \
	    "--search grid:2" "--seed 2" "--epochs 3" "--pack-width 2" \
	    "--min-rows 2" "--print-plan" "--strategy gtp" "--order lpt" \
	    "--capacity paper" "--isolate group" "--group-rows 0"; do
		# shellcheck disable=SC2086
		fails 2 "kp-train: ${o% *} goes with a dataset, and plan.json is a plan" \
		    kp-train -o run $o plan.json
	done
	fails 2 "kp-train: --epochs goes with a dataset, and standard input is a plan" \
	    kp-train -o run --epochs 3 - <plan.json
	[ ! -e run ]
}

@test "an operand that is neither plan nor dataset is named" {
	mkdir empty
	echo a,b >some.csv
	ln -s "$BATS_FILE_TMPDIR"/small.run .
	echo '{"kp": "partition"}' >part.json
	fails 1 "kp-train: nosuch: No such file or directory" \
	    kp-train -o run "${learn[@]}" nosuch
	local k
	for k in empty small.run small.kpm some.csv; do
		fails 6 "kp-train: $k: neither a plan nor a dataset (kp-featurize makes one)" \
		    kp-train -o run "${learn[@]}" $k
	done
	local why='a partition, not a plan (kp-plan PARTITION ... | kp-train ... -)'
	fails 6 "kp-train: part.json: $why" kp-train -o run part.json
	fails 6 "kp-train: part.json: $why" \
	    kp-train -o run -p 2 --learner logistic part.json
	fails 6 "kp-train: standard input: $why" \
	    kp-train -o run --learner logistic - <part.json
	fails 2 'kp-train: --strategy auto: only kp-partition chooses (kp-partition ... | kp-plan ... | kp-train ... -)' \
	    kp-train -o run --strategy auto "${learn[@]}" "$BATS_FILE_TMPDIR/small"
	fails 6 "kp-train: standard input: not a plan" kp-train -o run - <<<'{}'
	[ ! -e run ]
}

@test "a kp-gap-worker started by hand exits 2" {
	fails 2 "kp-gap-worker: started by hand; kp-train starts it" \
	    kp-gap-worker run
}

# --- plans ---

@test "a dataset with options is the spelt-out pipe" {
	pipeline 'kp-partition -p 3 small | kp-plan --learner logistic \
	    --param l2=log:1e-6:1e-1 --search grid:6 | kp-train -q -o run -'
	same_models run small.kpm
}

@test "--print-plan shows the pipe, which makes the same plan" {
	run -0 --separate-stderr kp-train --print-plan -p 3 -o 'a run' \
	    --group-rows 9 "${learn[@]}" small
	equal "$stderr" "kp-train: kp-partition -p 3 --strategy gl --group-rows 9 small | kp-plan \
--learner logistic --param l2=log:1e-6:1e-1 --search grid:6 --seed 1 \
--epochs 1000 --pack-width 16 --min-rows 10 | kp-train -o 'a run' -"
	[ ! -e 'a run' ]
	echo "$output" >plan.json
	local pipe=${stderr#kp-train: }
	pipeline "${pipe%| kp-train*}" >piped.json
	cmp plan.json piped.json
	kp-train -q -o run plan.json
	same_models run small.kpm
}

@test "groups count for what they cost besides their rows, unless told" {
	many_csv >many.csv
	featurize many.csv many
	kp-train --print-plan -p 3 "${learn[@]}" many >plan.json 2>err
	[[ $(<err) == *" --group-rows "* ]]
	local pipe
	pipe=$(sed 's/kp-train: //; s/| kp-train.*//' err)
	pipeline "$pipe" >piped.json
	cmp plan.json piped.json
	kp-train --print-plan -p 3 --group-rows 0 "${learn[@]}" many >plan.json 2>err
	[[ $(<err) != *group-rows* ]]
	kp-train --print-plan -p 3 --capacity paper "${learn[@]}" many >plan.json 2>err
	[[ $(<err) != *group-rows* ]]
	kp-train -q -p 3 -o run "${learn[@]}" many
	kp-train -q -p 3 -o zero --group-rows 0 "${learn[@]}" many
	kp-select -q -o run.kpm run >/dev/null
	same_models zero run.kpm
	# the same choice when it goes on
	kp-train -p 3 -o run "${learn[@]}" many 2>err
	grep -q 'complete already' err
}

@test "workers without rows are at peace" {
	many_csv | head -n 14 >few.csv
	featurize few.csv few
	kp-train -q -p 1 -o one --learner logistic few
	kp-select -q -o one.kpm one >/dev/null
	local more
	for more in 1 100 1000000; do
		kp-train -q -p 8 --group-rows $more -o run$more \
		    --learner logistic few
		same_models run$more one.kpm
		kp-train -q -p 8 --group-rows $more -o sgd$more \
		    --learner logistic --param solver=sgd --epochs 2 few
	done
}

@test "--print-plan tells the strategy" {
	kp-train --print-plan -p 3 --strategy gtp --order lpt "${learn[@]}" \
	    small >plan.json 2>err
	[[ $(<err) == "kp-train: kp-partition -p 3 --strategy gtp --order lpt small | "* ]]
	local pipe
	pipe=$(sed 's/kp-train: //; s/| kp-train.*//' err)
	pipeline "$pipe" >piped.json
	cmp plan.json piped.json
	kp-train --print-plan -p 3 --capacity paper --isolate group "${learn[@]}" \
	    small >plan.json 2>err
	[[ $(<err) == "kp-train: kp-partition -p 3 --strategy gl --capacity paper --isolate group small | "* ]]
	fails 2 "kp-train: --order goes with --strategy gtp or sp, not gl" \
	    kp-train -o run --order lpt "${learn[@]}" small
}

@test "--print-plan into a full disk exits 1" {
	[ -e /dev/full ] || skip "no /dev/full"
	run -1 bash -c 'kp-train -q --print-plan --learner logistic "$0" \
	    >/dev/full' small
	equal "$output" "kp-train: standard output: No space left on device"
}

@test "a dataset that has moved is found by --data" {
	kp-train --print-plan -q -p 2 "${learn[@]}" small >plan.json
	mv small moved
	fails 1 "kp-train: the dataset (see --data): $PWD/small: No such file or directory" \
	    kp-train -o run plan.json
	kp-train -q -o run --data moved plan.json
	kp-select -q --data moved -o run.kpm run >/dev/null
	cmp run.kpm small.kpm
}

# --- the same bytes ---

@test "models are the same bytes for 1, 2, 3 and 7 workers" {
	local p
	for p in 1 2 3 7; do
		kp-train -q -p $p -o run$p "${learn[@]}" small
		same_models run$p small.kpm
	done
}

@test "models are the same bytes for every pack width" {
	local w
	for w in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		kp-train -q -p 3 --pack-width $w -o run$w "${many[@]}" small
		kp-select -q -o run$w.kpm run$w >/dev/null
		cmp run$w.kpm run1.kpm
	done
}

@test "models are the same bytes with nothing held in memory" {
	kp-train -q -p 3 --memory 1 -o run "${learn[@]}" small
	same_models run small.kpm
}

@test "more workers than groups and than rows give the same bytes" {
	kp-train -q -p 40 -o run "${learn[@]}" small
	same_models run small.kpm
	head -7 "$BATS_FILE_TMPDIR"/small.csv >tiny.csv
	kp-featurize -q --label y --positive 1 --group-by g --holdout 0 \
	    tiny.csv -o tiny
	kp-train -q -p 1 --min-rows 1 -o one "${learn[@]}" tiny
	kp-train -q -p 30 --min-rows 1 -o thirty "${learn[@]}" tiny
	kp-select -q -o one.kpm one >/dev/null
	same_models thirty one.kpm
}

@test "regression and OWL-QN give the same bytes for any workers" {
	kp-featurize -q --label x --task regression --group-by g \
	    "$BATS_FILE_TMPDIR"/small.csv -o reg
	local p
	for p in 1 3; do
		kp-train -q -p $p -o reg$p --learner linear \
		    --param l1=0,0.01 --param l2=0,0.1 reg
		kp-select -q -o reg$p.kpm reg$p >/dev/null
		kp-train -q -p $p -o owl$p --learner logistic \
		    --param l1=0.001,0.01 small
		kp-select -q -o owl$p.kpm owl$p >/dev/null
	done
	cmp reg1.kpm reg3.kpm
	cmp owl1.kpm owl3.kpm
}

# --- what it says ---

@test "a run ends with one line on stderr, and none under -q" {
	run -0 --separate-stderr kp-train -p 2 -o run "${learn[@]}" small
	equal "$output" ""
	[[ $stderr =~ ^"kp-train: 8 groups: 8 trained, 0 fallback, 0 failed; 48 models in "[0-9.]+" s"$ ]]
	run -0 --separate-stderr kp-train -q -p 2 -o run2 "${learn[@]}" small
	equal "$output$stderr" ""
}

@test "--trials - writes a JSON line for every epoch and finished config" {
	need jq
	kp-train -q -p 3 -o run --trials - "${learn[@]}" small >trials
	jq -e . trials >/dev/null
	equal "$(jq -r 'select(.status != "step") | keys_unsorted | join(" ")' \
	    trials | sort -u)" \
	    "group config epoch loss status reason objective holdout_rows metrics sec"
	equal "$(jq -r 'select(.status == "step") | keys_unsorted | join(" ")' \
	    trials | sort -u)" \
	    "group config epoch loss status metrics sec"
	equal "$(jq -r 'select(.status != "step") | "\(.group) \(.config)"' \
	    trials | sort -u | wc -l)" 48
	equal "$(jq -r 'select(.status != "step").metrics | keys | join(" ")' \
	    trials | sort -u)" "accuracy auc brier deviance logloss mae pinball r2 rmse"
	# The largest group is recorded epoch by epoch; losses, where the
	# solver wanted them, do not rise: of the first and the last.
	jq -se '[.[] | select(.group == "g0" and .config == 0)] |
	    length > 4 and .[0].loss != null and .[-1].loss != null and
	    (map(.loss | select(. != null)) | . == (sort | reverse))' \
	    trials >/dev/null
}

@test "--trials FILE writes to a file" {
	need jq
	kp-train -q -p 2 -o run --trials trials.jsonl "${learn[@]}" small
	[ "$(jq -c 'select(.status != "step")' trials.jsonl | wc -l)" -eq 48 ]
	fails 1 "kp-train: no/trials: No such file or directory" \
	    kp-train -o run2 --trials no/trials "${learn[@]}" small
	[ ! -e run2 ]
}

@test "a run that goes on cuts the torn last line of its trials" {
	need jq
	kill_when 20000 kp-train -q -p 2 -o run --trials trials "${slow[@]}" big
	cp trials whole
	# Longer than what is read at once to find the last newline.
	printf '{"group":"%9000s","con' g >>trials
	kp-train -q -p 2 -o run --trials trials "${many[@]}" big
	jq -e . trials >/dev/null
	sed '$d' whole >before # its own last line may be torn
	cmp before <(head -n "$(wc -l <before)" trials)
	[ "$(wc -l <trials)" -gt "$(wc -l <whole)" ]
	# Without a newline nothing is whole.
	rm run/summary.json
	rm run/journal/0.*
	printf '{"gro' >trials
	kp-train -q -p 2 -o run --trials trials "${many[@]}" big
	jq -e . trials >/dev/null
}

@test "finished models are written a second later, whatever --checkpoint says" {
	# A worker alone, so that no other depends on what it has journalled,
	# and fewer than 4 MB of records.
	start kp-train -q -p 1 -o run "${many[@]}" --param solver=sgd \
	    --epochs 60 --pack-width 1 --checkpoint 600 big
	journal_until 1 grep -a -c 'epochs used up'
	kill -9 "$started"
	ended_within 5
	no_workers_left
	# Not those of the end of the run, which is when all come.
	[ "$(cat run/journal/* | grep -a -o 'epochs used up' | wc -l)" -lt 320 ]
}

@test "trials that cannot be written are an error, and the run resumes" {
	[ -e /dev/full ] || skip "no /dev/full"
	run -1 --separate-stderr kp-train -q -p 2 -o run --trials /dev/full \
	    "${learn[@]}" small
	equal "$stderr" "kp-train: trial records could not be written"
	kp-train -q -p 2 -o run "${learn[@]}" small
	same_models run small.kpm
}

@test "a reader of --trials that leaves ends the run quietly" {
	run -0 --separate-stderr bash -c 'kp-train -q -p 2 -o run --trials - \
	    --learner logistic --param l2=log:1e-8:1e-1 --search grid:40 big |
	    head -1'
	equal "$stderr" ""
	equal "${#lines[@]}" 1
}

# --- groups that cannot be trained ---

@test "groups of one class or too few rows fall back; --strict makes it 4" {
	{
		cat "$BATS_FILE_TMPDIR"/small.csv
		awk 'BEGIN { for (i = 0; i < 50; i++)
			printf "one,%d,%d,c%d,1\n", i, i, i % 3 }'
		printf 'few,%d,1,c0,%d\n' 1 0 2 1 3 0
	} >mixed.csv
	featurize mixed.csv mixed
	run -0 --separate-stderr kp-train -p 3 -o run "${learn[@]}" mixed
	[[ $stderr == "kp-train: 10 groups: 8 trained, 2 fallback, 0 failed; 48 models in "* ]]
	run -4 kp-train -q --strict -p 3 -o run "${learn[@]}" mixed
	run -4 kp-train -q --strict -p 2 -o run2 "${learn[@]}" mixed
}

@test "a dataset of which every group falls back trains nothing, and says so" {
	run -0 --separate-stderr kp-train -p 3 --min-rows 100000 -o run \
	    "${learn[@]}" small
	[[ ${stderr_lines[0]} == "kp-train: 8 groups: 0 trained, 8 fallback, 0 failed; 0 models in "* ]]
	equal "${stderr_lines[1]}" "kp-train: nothing was trained: every group fell back (one class, or too few rows: see --min-rows)"
	run -5 kp-train -q --strict -p 3 --min-rows 100000 -o run \
	    "${learn[@]}" small
}

@test "a run in which every group fails exits 5, some 4" {
	local huge='{ $NF = NR "e90" } { print }'
	awk -F, -v OFS=, "NR > 1 $huge" "$BATS_FILE_TMPDIR"/small.csv >all.csv
	awk -F, -v OFS=, "/^g0/ $huge" "$BATS_FILE_TMPDIR"/small.csv >one.csv
	local f
	for f in all one; do
		kp-featurize -q --label y --task regression --group-by g \
		    $f.csv -o $f
	done
	local why='not finite'
	run -5 --separate-stderr kp-train -p 2 -o all.run --learner linear all
	[[ $stderr == "kp-train: 8 groups: 0 trained, 0 fallback, 8 failed ($why); 8 models in "* ]]
	run -5 kp-select -q all.run
	run -4 kp-train -q -p 2 -o one.run --learner linear one
	run -4 kp-select -q one.run
	# So it is when it is complete already.
	run -5 kp-train -q -p 2 -o all.run --learner linear all
}

@test "the summary says why groups failed, of several reasons the commonest" {
	awk 'BEGIN {
		print "g,x,o,y"
		for (g = 0; g < 6; g++) {
			e = g == 5 ? "e139" : ""
			for (i = 0; i < 40; i++)
				print "g" g "," i % 7 "," i % 2 e "," \
				    i % 5 - (g < 3) e
		}
	}' >counts.csv
	kp-featurize -q --label y --task regression --offset o --group-by g \
	    counts.csv -o counts
	kp-train -p 2 -o half --learner poisson counts 2>err || equal $? 4
	grep '^kp-train: 6 groups: 2 trained, 0 fallback, 4 failed (3: a label is below 0); 6 models in ' err
	kp-train -p 2 -o half --learner poisson counts 2>err || equal $? 4
	equal "$(cat err)" "kp-train: half: complete already: 6 groups: 2 trained, 0 fallback, 4 failed (3: a label is below 0); nothing to do"
}

# --- again, and otherwise ---

@test "a finished run is left alone" {
	kp-train -q -p 2 -o run "${learn[@]}" small
	find run -type f -exec cksum {} + | sort >before
	run -0 --separate-stderr kp-train -p 2 -o run "${learn[@]}" small
	equal "$stderr" "kp-train: run: complete already: 8 groups: 8 trained, 0 fallback, 0 failed; nothing to do"
	equal "$(ls run/journal)" $'0.0\n1.0'
	find run -type f -name '[0-9st]*' -exec cksum {} + | sort >after
	equal "$(grep -v -e lock before | grep -v plan.json)" "$(cat after)"
}

@test "another plan in the same RUN is refused, naming the difference" {
	kp-train -q -p 2 -o run "${learn[@]}" small
	cp run/plan.json before
	local p='kp-train: run: holds a run of another plan '
	local end='; remove it or choose another -o'
	fails 2 "$p(6 configs there, 5 here)$end" kp-train -q -o run \
	    --learner logistic --param l2=log:1e-6:1e-1 --search grid:5 small
	fails 2 "$p(config 1 has another l2)$end" kp-train -q -o run \
	    --learner logistic --param l2=log:1e-6:1 --search grid:6 small
	fails 2 "$p(epochs 1000 there, 7 here)$end" kp-train -q -o run --epochs 7 \
	    "${learn[@]}" small
	fails 2 "$p(min-rows 10 there, 20 here)$end" kp-train -q -o run \
	    --min-rows 20 "${learn[@]}" small
	fails 2 "$p(seed 1 there, 2 here)$end" kp-train -q -o run --seed 2 \
	    "${learn[@]}" small
	cmp run/plan.json before
	same_models run small.kpm
}

@test "another dataset in the same RUN is refused, naming both" {
	kp-train -q -p 2 -o run "${learn[@]}" small
	run -2 --separate-stderr kp-train -q -p 2 -o run "${learn[@]}" big
	[[ $stderr =~ ^"kp-train: run: holds a run of another plan (data 0x"[0-9a-f]{16}" there, 0x"[0-9a-f]{16}" here); remove it or choose another -o"$ ]]
}

@test "a folder that is no run directory is left alone" {
	mkdir precious
	echo x >precious/file
	fails 1 "kp-train: precious: exists and is not a run directory" \
	    kp-train -q -o precious "${learn[@]}" small
	equal "$(ls -A precious)" file
}

@test "the same plan with other workers goes on from where it was" {
	kill_when 20000 kp-train -q -p 3 -o run "${slow[@]}" big
	kp-train -q -p 2 --memory 1G -o run "${many[@]}" big
	undisturbed
	same_models run undisturbed.kpm
}

# --- ended by force ---

@test "a worker killed by kill -9 ends the run within 5 s, named" {
	local worker k n
	start kp-train -q -p 3 -o run "${slow[@]}" big
	journal_bytes 20000
	worker=$(workers | sed -n 2p)
	kill -9 "$worker"
	ended_within 5
	equal "$status" 1
	n=$(cat err)
	k=${n#kp-train: worker }
	equal "$n" "kp-train: worker ${k%% *} (process $worker) was killed by signal 9 (Killed)"
	no_workers_left
	nothing_half_written run
	kp-train -q -p 3 -o run "${slow[@]}" big
	undisturbed
	same_models run undisturbed.kpm
}

@test "kp-train killed by kill -9 takes its workers along, and resumes" {
	start kp-train -q -p 3 -o run "${slow[@]}" big
	journal_bytes 20000
	kill -9 "$started"
	ended_within 5
	no_workers_left
	nothing_half_written run
	[ ! -e run/summary.json ]
	kp-train -q -p 3 -o run "${slow[@]}" big
	[ -e run/summary.json ]
	undisturbed
	same_models run undisturbed.kpm
}

@test "Ctrl-C stops a run with exit 7, and the same command goes on" {
	start env --default-signal=INT kp-train -q -p 3 -o run "${slow[@]}" big
	journal_bytes 20000
	kill -INT "$started"
	ended_within 5
	equal "$status" 7
	equal "$(cat err)" \
	    "kp-train: stopped; the same command goes on from here"
	no_workers_left
	cmp run/timeline.jsonl <(kp-report --timeline run)
	[ ! -e run/summary.json ]
	kp-train -q -p 3 -o run --trials trials "${slow[@]}" big
	undisturbed
	same_models run undisturbed.kpm
	# Some config went on from the middle, not from its first epoch.
	need jq
	jq -se 'group_by([.group, .config]) | map(map(.epoch) | min) |
	    max > 1' trials >/dev/null
}

@test "SIGTERM stops a run with exit 7" {
	start kp-train -q -p 2 -o run "${slow[@]}" big
	journal_bytes 10000
	kill -TERM "$started"
	ended_within 5
	equal "$status" 7
	no_workers_left
}

@test "a run under nohup is not stopped by a hang-up" {
	start nohup kp-train -q -p 2 -o run "${learn[@]}" big
	while [ ! -e run/journal ] && kill -0 "$started"; do :; done
	kill -HUP "$started" || true
	ended_within 30
	equal "$status" 0
}

@test "a resumed run does only what is left" {
	need jq
	start kp-train -q -p 3 -o run "${slow[@]}" big
	journal_models 5
	kill -9 "$started"
	ended_within 5
	no_workers_left
	kp-train -p 3 --trials - -o run "${slow[@]}" big >trials 2>err
	[[ $(cat err) =~ "; 320 models in "[0-9.]+" s ("([0-9]+)" of 320 models were done before)"$ ]]
	[ "${BASH_REMATCH[1]}" -ge 5 ]
	[ "$(jq -c 'select(.status != "step")' trials | wc -l)" -lt 320 ]
	equal "$(jq .trials run/summary.json)" 320
}

@test "a second kp-train waits for the first and finds its work done" {
	start kp-train -q -p 2 -o run --pack-width 1 "${many[@]}" big
	while [ ! -s run/lock ] && kill -0 "$started"; do :; done
	run -0 --separate-stderr kp-train -p 2 -o run "${many[@]}" big
	equal "${stderr_lines[0]}" "kp-train: run: waiting for process $started"
	equal "${stderr_lines[1]}" "kp-train: run: complete already: 8 groups: 8 trained, 0 fallback, 0 failed; nothing to do"
	ended_within 5
	equal "$status" 0
	equal "$(ls run/journal)" $'0.0\n1.0'
}

# --- damage and want ---

@test "a damaged journal is refused by name, exit 6" {
	kp-train -q -p 2 -o run "${learn[@]}" small
	rm run/summary.json
	printf 'X' | dd of=run/journal/0.0 bs=1 seek=60 conv=notrunc status=none
	fails 6 "kp-train: run/journal/0.0: damaged at byte 40" \
	    kp-train -q -p 1 -o run "${learn[@]}" small
	[ ! -e run/summary.json ]
}

@test "a torn tail of a journal is cut, and its work done again" {
	kp-train -q -p 2 -o run "${learn[@]}" small
	rm run/summary.json
	truncate -s -300 run/journal/1.0
	kp-train -q -p 2 -o run "${learn[@]}" small
	same_models run small.kpm
}

@test "a damaged block is named, exit 6" {
	printf 'XXXX' | dd of=small/blocks-00000.kpb bs=1 seek=2000 \
	    conv=notrunc status=none
	fails 6 "kp-train: worker 0: $PWD/small/blocks-00000.kpb: block 0: damaged frame at byte 0" \
	    kp-train -q -p 2 -o run "${learn[@]}" small
	no_workers_left
}

@test "a block file that is gone or unreadable is named, exit 6" {
	mv small/blocks-00000.kpb kept
	run -6 --separate-stderr kp-train -q -p 2 -o run "${learn[@]}" small
	equal "$stderr" \
	    "kp-train: $PWD/small/blocks-00000.kpb: No such file or directory"
	[ ! -e run ]
	mkdir small/blocks-00000.kpb
	run -6 --separate-stderr kp-train -q -p 2 -o run "${learn[@]}" small
	[[ $stderr =~ ^"kp-train: worker "[01]": $PWD/small/blocks-00000.kpb: block "[0-9]+": " ]]
	no_workers_left
}

@test "a file size limit ends the run with a named error, and it resumes" {
	run -1 --separate-stderr bash -c 'ulimit -f 4; exec kp-train -q -p 2 \
	    -o run --learner logistic --param l2=log:1e-6:1e-1 \
	    --search grid:6 "$0"' small
	[[ $stderr =~ ^"kp-train: worker "[01]": run/journal/"[01]".0: File too large"$ ]]
	[ ! -e run/summary.json ]
	kp-train -q -p 2 -o run "${learn[@]}" small
	same_models run small.kpm
}

@test "a full disk ends the run with a named error, and it resumes" {
	[ "$(id -u)" -eq 0 ] || skip "not root"
	mkdir disk
	mount -t tmpfs -o size=32k tmpfs disk 2>/dev/null ||
	    skip "no mount allowed"
	full_disk && umount disk || { umount disk; false; }
}

full_disk() {
	run -1 --separate-stderr kp-train -q -p 2 -o disk/run "${many[@]}" big &&
	    [[ $stderr =~ ^"kp-train: "(worker [01]: )?disk/run/.*"No space left on device"$ ]] &&
	    no_workers_left &&
	    mount -o remount,size=10m disk &&
	    kp-train -q -p 2 -o disk/run "${many[@]}" big &&
	    undisturbed && same_models disk/run undisturbed.kpm
}

@test "64 open files are enough for 7 workers" {
	bash -c 'ulimit -n 64; exec kp-train -q -p 7 -o run \
	    --learner logistic --param l2=log:1e-6:1e-1 --search grid:6 small'
	same_models run small.kpm
}

@test "too few open files for the workers is an error that says so" {
	run -1 --separate-stderr bash -c 'ulimit -n 64; exec kp-train -q \
	    -p 60 -o run --learner logistic small'
	equal "$stderr" "kp-train: too many open files for this many workers (see ulimit -n)"
	no_workers_left
}

# --- manuals ---

# examples PAGE: the commands of its EXAMPLES, into the file examples.
examples() {
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$ROOT/man/$1" |
	    sed -n '/^\.Bd/,/^\.Ed/p' | sed '/^\.[BE]d/d; s/\\e/\\/g' >examples
	[ -s examples ]
}

@test "the examples of kp-train(1) run" {
	need jq
	mv small data
	examples kp-train.1
	bash -e -o pipefail examples >out
	[ -s models.kpm ]
	equal "$(grep -c "^g0	[012]	[0-9]*$" out)" 3
}

@test "the example of kp-journal(5) lists the frames of a journal" {
	need python3
	kp-train -q -p 1 -o run "${learn[@]}" small
	examples kp-journal.5
	bash -e examples >out
	equal "$(head -1 out)" "16 16"
	equal "$(grep -c '^19 ' out)" 48
	equal "$(awk '{ n += 24 + $2 } END { print n }' out)" \
	    "$(wc -c <run/journal/0.0)"
}

# --- a finished run ---

@test "a finished run that has lost its journal is trained again" {
	kp-train -q -p 2 -o run "${learn[@]}" small
	truncate -s 60 run/journal/*
	run -6 --separate-stderr kp-select -o lost.kpm run
	[[ $stderr == "kp-select: run: the journal has lost finished models, "* ]]
	[ ! -e lost.kpm ]
	run -0 --separate-stderr kp-train -p 2 -o run "${learn[@]}" small
	[[ $stderr == *"finished models lost from the journal, trained again: "* ]]
	same_models run small.kpm
}

@test "a finished run leaves its trial records and its plan alone" {
	kp-train -q -p 2 -o run --trials trials "${learn[@]}" small
	cp trials before
	stat -c %i run/plan.json >inode
	run -0 --separate-stderr kp-train -p 3 -o run --trials trials \
	    "${learn[@]}" small
	[[ $stderr == "kp-train: run: complete already: "* ]]
	cmp trials before
	equal "$(stat -c %i run/plan.json)" "$(cat inode)"
}

@test "a run that is refused leaves the trial records of another alone" {
	kp-train -q -p 2 -o run --trials trials "${learn[@]}" small
	cp trials before
	run -2 kp-train -p 2 -o run --trials trials --epochs 3 "${learn[@]}" \
	    small
	cmp trials before
}

@test "a memory bound holds for all views of a split group together" {
	local views=(--param standardize=0,1 --param intercept=0,1)
	kp-train -q -p 2 -o all "${learn[@]}" "${views[@]}" small
	kp-train -q -p 2 -o few --memory 100K "${learn[@]}" "${views[@]}" small
	kp-select -q -o all.kpm all >/dev/null
	same_models few all.kpm
}

@test "--no-spill refuses what does not fit before anything starts, exit 1" {
	local spill=(--no-spill --learner logistic small) s
	fails 1 'kp-train: group "g0": 44.3 KB of rows on worker 0, --memory is 20.0 KB (--no-spill)' \
	    kp-train -p 3 -o run --memory 20K "${spill[@]}"
	fails 1 'kp-train: group "g0": 48.2 KB of rows on worker 0, --memory is 20.0 KB (--no-spill)' \
	    kp-train -p 3 -o run --memory 20K --strategy mtp "${spill[@]}"
	fails 1 'kp-train: group "g7": with what is held beside it, 44.3 KB of rows on worker 0, --memory is 20.0 KB (--no-spill)' \
	    kp-train -p 3 -o run --memory 20K --strategy mop "${spill[@]}"
	fails 1 'kp-train: group "g0": 48.2 KB of rows on worker 0, --memory is 47.0 KB (--no-spill)' \
	    kp-train -p 3 --print-plan --memory 47K --strategy gtp "${spill[@]}"
	kp-partition -p 3 --strategy gtp small >p.json
	fails 1 'kp-plan: group "g0": 48.2 KB of rows on worker 0, --memory is 47.0 KB (--no-spill)' \
	    kp-plan --no-spill --learner logistic --memory 47K p.json
	fails 2 "kp-plan: --no-spill needs --memory" \
	    kp-plan --no-spill --learner logistic p.json
	# A byte less than it takes: in a unit in which the two differ.
	fails 1 'kp-plan: group "g0": 49368 bytes of rows on worker 0, --memory is 49367 bytes (--no-spill)' \
	    kp-plan --no-spill --learner logistic --memory 49367 p.json
	kp-plan --no-spill --learner logistic --memory 49368 p.json >plan.json
	[ ! -e run ]
	# One group at a time; and all of them with more memory.
	kp-train -q -p 3 -o dp --memory 20K --strategy dp "${spill[@]}"
	for s in gl gtp mtp mop; do
		kp-train -q -p 3 -o $s --memory 54K --strategy $s "${spill[@]}"
	done
	# Without it, rows are read again in every pass.
	kp-train -q -p 3 -o run --memory 20K --learner logistic small
}

@test "a summary that is not one is refused by name, exit 6" {
	kp-train -q -p 2 -o run "${learn[@]}" small
	sed 's/"version": 1/"version": 9/' run/summary.json >other
	cp other run/summary.json
	fails 6 "kp-train: run/summary.json: summary of version 9, not 1: made by another kp" \
	    kp-train -q -p 2 -o run "${learn[@]}" small
	echo '[]' >run/summary.json
	fails 6 "kp-select: run/summary.json: not a summary" kp-select -q run
}
