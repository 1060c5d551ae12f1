load helper

# make_data 'group rows' ...: a dataset "data" of groups of so many rows, all of
# them training rows.
make_data() {
	local pair
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
