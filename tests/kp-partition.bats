load helper

# make_data 'group rows' ...: a dataset "data" of groups of so many rows, all of
# them training rows.
make_data() {
	local pair
	rm -rf data
	echo g,x,y >in.csv
	for pair; do
		# shellcheck disable=SC2086
		set -- $pair
		awk -v g="$1" -v n="$2" 'BEGIN {
			for (i = 0; i < n; i++)
				print g "," (i * 37 % 101) / 7 "," i % 2
		}' >>in.csv
	done
	kp-featurize -q --label y --group-by g --holdout 0 -o data in.csv
}

@test "the cuts are those of wrap-around" {
	make_data 'a 5' 'c 10' 'd 3'
	kp-partition -p 3 data >partition.json
	grep -v -e fingerprint -e assignment partition.json >got
	cat >want <<-END
	{
	 "kp": "partition",
	 "version": 2,
	 "data": "$PWD/data",
	 "strategy": "gl",
	 "capacity": "exact",
	 "isolate": "none",
	 "workers": 3,
	 "rows": 18,
	 "groups": 3,
	 "cuts": [
	  [0,0],
	  [1,1],
	  [1,7],
	  [3,0]
	 ],
	}
	END
	diff got want
}

@test "the same data and workers give the same bytes" {
	make_data 'a 50' 'b 70'
	kp-partition -p 7 data >one
	kp-partition --workers=7 -o two -- data
	cmp one two
	[ "$(ls)" = "$(printf 'data\nin.csv\none\ntwo')" ]
}

@test "--explain prints rows per worker, split groups and imbalance" {
	make_data 'a 5' 'c 10' 'd 3' 'e 2'
	kp-partition -p 3 --explain data >got
	cat >want <<-END
	data         $PWD/data
	strategy     gl
	workers      3
	rows         20
	groups       4 (1 split, 0 empty)
	shards       6
	imbalance    1.050 (largest worker / mean)

	worker          rows      shards  of split groups
	     0             6           2                1
	     1             7           1                1
	     2             7           3                1

	on workers           rows  split group
	0-2                    10  c
	END
	diff got want
}

# partition OPTION...: what is left of the partition without its hashes, on one
# line.
partition() {
	kp-partition "$@" data | jq -c 'del(.kp, .version, .data, .fingerprint,
	    .assignment, .groups, .rows)'
}

@test "each strategy is told in the partition" {
	make_data 'a 5' 'b 100' 'c 10' 'd 3'
	equal "$(partition -p 2)" '{"strategy":"gl","capacity":"exact","isolate":"none","workers":2,"cuts":[[0,0],[1,54],[4,0]]}'
	equal "$(partition -p 2 --capacity exact --isolate none)" \
	    "$(partition -p 2)"
	equal "$(partition -p 3 --capacity paper --isolate group)" \
	    '{"strategy":"gl","capacity":"paper","isolate":"group","workers":3,"cuts":[[0,0],[1,95],[4,0],[4,0]]}'
	equal "$(partition -p 3 --strategy gl-constrained)" \
	    '{"strategy":"gl-constrained","isolate":"none","workers":3,"rule":"least-loaded-1","shards":[[1,0,0,34],[1,1,34,67],[1,2,67,100]]}'
	equal "$(partition -p 3 --strategy gtp)" \
	    '{"strategy":"gtp","order":"fifo","workers":3,"rule":"fifo-1"}'
	equal "$(partition -p 3 --strategy gtp --order lpt)" \
	    '{"strategy":"gtp","order":"lpt","workers":3,"rule":"lpt-1"}'
	equal "$(partition -p 3 --strategy mtp)" \
	    '{"strategy":"mtp","workers":3,"rule":"copies-1"}'
	equal "$(partition -p 3 --strategy dp)" \
	    '{"strategy":"dp","workers":3,"rule":"all-1","holders":3}'
	equal "$(partition -p 30 --strategy sp --order lpt)" \
	    '{"strategy":"sp","order":"lpt","workers":30,"rule":"all-1","holders":30}'
	equal "$(partition -p 3 --strategy mop --isolate group)" \
	    '{"strategy":"mop","isolate":"group","workers":3,"rule":"all-1","holders":3}'
}

@test "--explain tells the strategy, and workers that do not follow each other" {
	make_data 'a 4' 'b 3' 'c 9' 'd 2'
	kp-partition -p 4 --strategy sp --order lpt --explain data >got
	cat >want <<-END
	data         $PWD/data
	strategy     sp, order lpt
	workers      4
	rows         18
	groups       4 (2 split, 0 empty)
	shards       10
	imbalance    1.333 (largest worker / mean)

	worker          rows      shards  of split groups
	     0             4           2                2
	     1             6           3                2
	     2             5           3                2
	     3             3           2                2

	on workers           rows  split group
	0-3                     4  a
	0-3                     9  c
	END
	diff got want
	make_data 'a 1' 'b 6' 'c 2'
	kp-partition -p 5 --strategy mop --explain data | tail -n 3 >got
	cat >want <<-END
	on workers           rows  split group
	0-4                     6  b
	2-3                     2  c
	END
	diff got want
	make_data 'a 4' 'b 4' 'c 1'
	kp-partition -p 5 --strategy mop --explain data | tail -n 2 >got
	cat >want <<-END
	0-3                     4  a
	0-2,4                   4  b
	END
	diff got want
	kp-partition -p 2 --strategy mtp --explain data | tail -n 1 >got
	equal "$(<got)" "shards       none: any worker reads any group whole"
}

@test "--explain shows the first split groups and how many more there are" {
	{
		echo g,x,y
		seq 100 149 | sed 's/.*/&,1,0\n&,2,1/'
	} >in.csv
	kp-featurize -q --label y --group-by g --holdout 0 -o data in.csv
	kp-partition -p 2 --strategy dp --explain data >got
	equal "$(sed -n '/^on workers/,$p' got | wc -l)" 22
	equal "$(tail -n 1 got)" "...          and 30 more"
}

@test "options that do not go with a strategy are refused by name" {
	local p='kp-partition: '
	fails 2 "${p}--strategy gpt: no such strategy (did you mean gtp?)" \
	    kp-partition --strategy gpt data
	fails 2 "${p}--strategy ring: no such strategy (there is gl, gl-constrained, gtp, mtp, dp, sp, mop, auto)" \
	    kp-partition --strategy ring data
	fails 2 "${p}--order big: not fifo or lpt" \
	    kp-partition --strategy gtp --order big data
	fails 2 "${p}--capacity even: not exact or paper" \
	    kp-partition --capacity even data
	fails 2 "${p}--group-rows: not a whole number from 0 to 1000000000000000: \"-1\"" \
	    kp-partition --group-rows -1 data
	fails 2 "${p}--group-rows does not go with --capacity paper" \
	    kp-partition --group-rows 1 --capacity paper data
	fails 2 "${p}--isolate config: not none or group" \
	    kp-partition --isolate config data
	fails 2 "${p}--strategy aut: no such strategy (did you mean auto?)" \
	    kp-partition --strategy aut data
	local s
	for s in gl gl-constrained mtp dp mop; do
		fails 2 "${p}--order goes with --strategy gtp or sp, not $s" \
		    kp-partition --strategy $s --order fifo data
	done
	for s in gl-constrained gtp mtp dp sp mop; do
		fails 2 "${p}--capacity goes with --strategy gl, not $s" \
		    kp-partition --strategy $s --capacity paper data
		fails 2 "${p}--group-rows goes with --strategy gl, not $s" \
		    kp-partition --strategy $s --group-rows 0 data
	done
	for s in gtp mtp dp sp; do
		fails 2 "${p}--isolate goes with --strategy gl, gl-constrained or mop, not $s" \
		    kp-partition --strategy $s --isolate group data
	done
}

@test "a partition that its rule does not make is refused" {
	make_data 'a 5' 'b 100' 'c 10' 'd 3'
	refused() {
		kp-partition -p 3 --strategy "$1" data | sed "$2" >p.json
		fails 6 "kp-plan: p.json: $3" kp-plan --learner logistic p.json
	}
	refused gtp 's/"assignment": "0x./"assignment": "0x/' \
	    '"assignment": not that of the rule'
	refused gtp 's/fifo/lpt/' '"assignment": not that of the rule'
	refused dp 's/"holders": 3/"holders": 2/' \
	    '"holders": 2, but the rule makes 3'
	refused dp 's/"all-1"/"all-2"/' '"rule": not "all-1": "all-2"'
	refused gl-constrained 's/\[1,0,0,34\]/[1,0,0,33]/; s/\[1,1,34/[1,1,33/' \
	    '"shards": 0: not as the rule makes it'
	refused gl-constrained 's/\[1,1,34,67\],/[1,1,34,67]/; /\[1,2,67/d' \
	    '"shards": 2, but the rule makes 3'
}

@test "a partition of format version 1 is read" {
	make_data 'a 50' 'b 70'
	kp-partition -p 3 data >two
	sed -e 's/"version": 2/"version": 1/' -e '/"capacity"/d' \
	    -e '/"isolate"/d' two >one
	kp-plan --learner linear two >want
	kp-plan --learner linear one >got
	cmp got want
}

@test "more workers than rows leave some without" {
	make_data 'a 2' 'b 1'
	kp-partition -p 64 data >partition.json
	run kp-partition -p 64 --explain data
	[[ $output == *$'\nshards       3\n'* ]]
	[[ $output == *"imbalance    21.333 "* ]]
}

@test "without -p there is a worker for each core" {
	make_data 'a 2'
	run kp-partition data
	[[ $output == *"\"workers\": $(nproc),"* ]]
	run taskset -c 0 kp-partition data
	[[ $output == *'"workers": 1,'* ]]
}

@test "wrong use of kp-partition is exit 2 and one line" {
	fails 2 'kp-partition: missing operand; usage: kp-partition [-p N] [--strategy NAME] [OPTION...] DATA' \
	    kp-partition -p 3
	fails 2 'kp-partition: extra operand "b"' kp-partition a b
	fails 2 'kp-partition: --workers: not a whole number from 1 to 4096: "0"' \
	    kp-partition -p 0 data
	fails 2 'kp-partition: --workers: not a whole number from 1 to 4096: "many"' \
	    kp-partition --workers many data
	fails 2 'kp-partition: unknown option "--explian" (did you mean --explain?)' \
	    kp-partition --explian data
}

@test "no dataset is exit 1, a damaged one exit 6" {
	run --separate-stderr kp-partition -p 2 nothing
	[ "$status" -eq 1 ]
	[[ $stderr == "kp-partition: nothing"* ]]
	[ -z "$output" ]
	make_data 'a 2'
	echo '{' >data/manifest.json
	run --separate-stderr kp-partition -p 2 data
	[ "$status" -eq 6 ]
	[[ $stderr == "kp-partition: "*"data/manifest.json:"* ]]
	[ -z "$output" ]
}

@test "a full disk is exit 1, a closed pipe is quiet" {
	make_data 'a 2'
	run --separate-stderr bash -c 'kp-partition -p 2 data >/dev/full'
	[ "$status" -eq 1 ]
	equal "$stderr" 'kp-partition: standard output: No space left on device'
	run --separate-stderr pipeline 'kp-partition -p 4096 data | head -1'
	equal "$output" '{'
	equal "$stderr" ''
}

@test "a file that cannot be made is named" {
	make_data 'a 2'
	fails 1 'kp-partition: none/p.json: No such file or directory' \
	    kp-partition -p 2 -o none/p.json data
}

@test "kp-partition has --help and --version" {
	run kp-partition --help
	[ "$status" -eq 0 ]
	[[ $output == *"-p, --workers N"* ]]
	run kp-partition --version
	[ "$status" -eq 0 ]
	[[ $output == "kp-partition (kp) "* ]]
}

@test "--group-rows shares what groups cost besides their rows" {
	make_data 'a 100' 'b 10' 'c 10' 'd 10' 'e 10'
	equal "$(partition -p 2)" \
	    '{"strategy":"gl","capacity":"exact","isolate":"none","workers":2,"cuts":[[0,0],[0,70],[5,0]]}'
	equal "$(partition -p 2 --group-rows 40)" \
	    '{"strategy":"gl","capacity":"exact","isolate":"none","group_rows":40,"workers":2,"cuts":[[0,0],[2,0],[5,0]]}'
	kp-partition -p 2 data >plain.json
	kp-partition -p 2 --group-rows 0 data >zero.json
	cmp plain.json zero.json
	kp-partition -p 2 --group-rows 40 --explain data >got
	grep -qx 'strategy     gl, group-rows 40' got
	# as it is in the plan
	kp-partition -p 2 --group-rows 40 data >p.json
	kp-plan --learner linear p.json >plan.json
	equal "$(jq .partition.group_rows plan.json)" 40
	sed 's/"group_rows": 40/"group_rows": 1e30/' p.json >bad.json
	fails 6 'kp-plan: bad.json: "group_rows": not a whole number from 0' \
	    kp-plan --learner linear bad.json
	sed 's/"exact"/"paper"/' p.json >bad.json
	fails 6 'kp-plan: bad.json: "group_rows": does not go with "capacity": "paper"' \
	    kp-plan --learner linear bad.json
}

# many_small: a large group and many small ones; in "data".
many_small() {
	local groups=('a 3000')
	for g in {100..219}; do
		groups+=("g$g 12")
	done
	make_data "${groups[@]}"
}

@test "kp-plan finds --group-rows, and --strategy auto takes it" {
	many_small
	kp-partition -p 3 data >p.json
	kp-plan --learner linear --param l2=log:1e-6:1e-1 --search grid:6 \
	    --explain p.json >got
	awk '/^gl\+[0-9]+ / { more = $2 }
	    /^gl .* chosen$/ { plain = $2 }
	    END { exit !(more > 0 && more < 0.99 * plain) }' got
	local n
	n=$(sed -n 's/^gl+\([0-9]*\) .*/\1/p' got)
	kp-partition -p 3 --strategy auto --configs 6 data >auto.json
	equal "$(jq -r '.strategy, .group_rows // 0 | tostring' auto.json |
	    head -1)" "$(tail -n 1 got | sed 's/.*--strategy \([a-z-]*\).*/\1/')"
	# given, it is the one that is chosen
	kp-partition -p 3 --group-rows "$n" data >p.json
	kp-plan --learner linear --param l2=log:1e-6:1e-1 --search grid:6 \
	    --explain p.json >got
	grep -q "^gl+$n .* chosen" got
	! grep -q '^gl ' got
}

@test "--strategy auto chooses by the groups, configs and costs" {
	make_data 'a 50' 'c 100' 'd 30'
	kp-partition -p 2 --strategy auto --configs 12 data >auto.json
	grep -q '"strategy": "[a-z-]*"' auto.json
	kp-plan --learner linear auto.json >plan.json
	fails 2 'kp-partition: --strategy auto needs --configs' \
	    kp-partition --strategy auto data
	fails 2 'kp-partition: --configs goes with --strategy auto' \
	    kp-partition --strategy gtp --configs 2 data
	fails 2 'kp-partition: --order goes with a strategy, not with auto' \
	    kp-partition --strategy auto --configs 2 --order lpt data
	fails 2 'kp-partition: --learner nothing: no such learner (there is logistic, linear, poisson, huber, quantile, svm, softmax, mlp)' \
	    kp-partition --strategy auto --configs 2 --learner nothing data
}
