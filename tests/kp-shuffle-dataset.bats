load helper

# make_csv [ROWS]: in.csv, its rows told apart by x and sorted by label; keys
# hold commas, quotes and blanks, and one is empty.
make_csv() {
	awk -v n="${1:-6000}" 'BEGIN {
		split("ATL|\"J,FK\"|\"S\"\"FO\"|| LAX", key, "|")
		split("AA|B6|\"a,b\"|WN|", carrier, "|")
		print "g,x,y,c,w"
		for (i = 0; i < n; i++)
			print key[1 + i * 7 % 11 % 5] "," i "," \
			    (i * 2 >= n) "," carrier[1 + i % 5] "," \
			    1 + i % 4 / 2
	}' >in.csv
}

# make_data [OPTION...]: the dataset "data" of in.csv.
make_data() {
	kp-featurize -q --label y --weight w --group-by g --block-size 4K \
	    --test 0.1 "$@" -o data in.csv
}

# body [OPTION...]: the rows of data as CSV without the header.
body() {
	kp-shuffle --as csv "$@" data 2>/dev/null | tail -n +2
}

# frames FILE: the frames of a stream, a line "TYPE BYTES HASH" for each.
frames() {
	python3 - "$1" <<-'END'
	import hashlib, struct, sys
	b = open(sys.argv[1], "rb").read()
	at = 0
	while at < len(b):
	    magic, kind, n = struct.unpack_from("<4sIQ", b, at)
	    assert magic == b"kpF1" and at + 24 + n <= len(b), at
	    p = b[at + 24:at + 24 + n]
	    print(kind, n, hashlib.md5(p).hexdigest())
	    at += 24 + n
	END
}

@test "--method none --as csv is the way to look inside a dataset" {
	cat >in.csv <<-'END'
	where,kind,when,x,late
	JFK,"a,b",2024-02-29,1.5,yes
	JFK,,2024-03-01,,no
	ATL,"say ""hi""",,0.1,no
	ATL,plain,2024-01-01,1e10,yes
	END
	kp-featurize -q --label late --group-by where --datetime when \
	    --holdout 0 -o data in.csv
	kp-shuffle --method none --as csv data >got
	cat >want <<-'END'
	where,late,kind,when.month,when.weekday,when.hour,when.day,x
	ATL,no,"say ""hi""",,,,,0.1
	ATL,yes,plain,1,1,0,19723,1e+10
	JFK,yes,"a,b",2,4,0,19782,1.5
	JFK,no,,3,5,0,19783,
	END
	diff got want
}

@test "libsvm rows are one field of index:value pairs" {
	printf '1 3:0.5 7:2\n-1\n1 1:-1.25\n' >in.svm
	kp-featurize -q --format libsvm --holdout 0 -o data in.svm
	kp-shuffle --method none --as csv data >got
	printf 'label,x\n1,3:0.5 7:2\n-1,\n1,1:-1.25\n' >want
	diff got want
}

@test "every row comes exactly once in each epoch, whatever the method" {
	make_csv
	make_data
	body --method none >stored
	[ "$(wc -l <stored)" -eq 6000 ]
	sort stored >sorted
	for m in corgipile block once epoch window; do
		body --method $m --epoch 2 --buffer 40K >got
		! cmp -s got stored
		sort got | cmp - sorted
	done
	body --epochs 3 --buffer 40K | sort >got
	sort stored stored stored | cmp - got
}

@test "epochs differ, and the same options give the same bytes" {
	make_csv
	make_data
	kp-shuffle --buffer 40K --epochs 2 data >one
	kp-shuffle --buffer 40K --epochs 2 --single-buffer data >two
	cmp one two
	body --buffer 40K --epoch 0 >zero
	body --buffer 40K --epoch 1 >first
	body --buffer 40K --epochs 2 | cmp - <(cat zero first)
	! cmp -s zero first
	body --buffer 40K --seed 2 >other
	! cmp -s zero other
}

@test "ranks together have every row once; --even ones differ by one row" {
	make_csv
	make_data
	body --method none | sort >sorted
	for i in 0 1 2 3; do
		body --buffer 80K --epoch 1 --rank $i/4 >rank$i
	done
	sort rank? | cmp - sorted
	for i in 0 1 2 3; do
		body --buffer 80K --epoch 1 --rank $i/4 --even >rank$i
		[ "$(wc -l <rank$i)" -eq 1500 ]
	done
	sort rank? | cmp - sorted
	for i in 0 1 2 3; do
		body --buffer 80K --rank $i/4 --even --split train >rank$i
	done
	body --method none --split train | sort >sorted
	sort rank? | cmp - sorted
	wc -l rank? | awk '$2 != "total" {
		if (!n || $1 < low) low = $1
		if ($1 > high) high = $1
		n++
	} END { exit high - low > 1 }'
}

@test "--split gives the rows of one part, with their weights" {
	make_csv
	make_data
	for p in train holdout test; do
		body --split $p >$p
		[ -s $p ]
	done
	body --method none | sort >sorted
	sort train holdout test | cmp - sorted
	kp-shuffle --as csv --split test data 2>/dev/null | head -1 >got
	echo g,y,w,x,c | diff got -
	[ "$(cut -d, -f2- test | awk -F, '$(NF - 2) > 1' | wc -l)" -gt 0 ]
}

@test "--group gives the rows of one group, whatever its key" {
	make_csv
	make_data
	for key in ATL J,FK 'S"FO' '' ' LAX'; do
		body --method none --group "$key" >got
		[ "$(wc -l <got)" -gt 1000 ]
		cat got
	done >groups
	sort groups >got
	body --method none | sort | cmp - got
	fails 2 'kp-shuffle: --group: no group "atl" (did you mean "ATL"?)' \
	    kp-shuffle --group atl data
}

@test "a group of several columns is named by a JSON array" {
	make_csv
	kp-featurize -q --label y --group-by g --group-by c -o data in.csv
	body --group '["J,FK","a,b"]' >got
	[ -s got ]
	[ "$(grep -c '^"J,FK","a,b",' got)" -eq "$(wc -l <got)" ]
	fails 2 'kp-shuffle: --group: group JFK: not a JSON array of 2 strings' \
	    kp-shuffle --group JFK data
}

@test "a run killed in the middle is resumed to the same bytes" {
	make_csv 60000
	make_data
	kp-shuffle --as csv --epochs 20 --buffer 100K data >whole 2>/dev/null
	# the reader is slow, so that the state is behind the output
	kp-shuffle --as csv --epochs 20 --buffer 100K --state state data \
	    2>/dev/null > >(head -c 3000000 >part; exec sleep 3) &
	pid=$!
	for _ in $(seq 100); do
		sleep 0.1
		[ "$(stat -c %s part)" -lt 3000000 ] || break
	done
	sleep 1.2
	kill -KILL $pid
	wait $pid || true
	bytes=$(sed -n 's/.*"bytes": *\([0-9]*\).*/\1/p' state)
	[ "$bytes" -gt 100000 ] && [ "$bytes" -lt "$(stat -c %s whole)" ]
	kp-shuffle --as csv --epochs 20 --buffer 100K --resume state data \
	    2>/dev/null | cat >rest
	head -c "$bytes" whole | cat - rest | cmp - whole
}

@test "a stream is resumed too, with its header and groups again" {
	need python3
	make_csv
	make_data
	kp-shuffle --buffer 40K --epochs 3 data >whole 2>/dev/null
	kp-shuffle --buffer 40K --epochs 2 --state state data >first \
	    2>/dev/null
	kp-shuffle --buffer 40K --epochs 3 --resume state data 2>/dev/null |
	    cat >rest
	frames whole | grep '^[34]' >want
	cat first rest >both
	frames both | grep '^[34]' | diff - want
	[ "$(frames both | grep -c '^1 ')" -eq 2 ]
	[ "$(frames both | grep '^1 ' | sort -u | wc -l)" -eq 1 ]
	[ "$(frames both | grep '^2 ' | sort | uniq -c | awk '$1 != 2')" = "" ]
	[ "$(frames whole | grep -c '^4 ')" -eq 3 ]
}

@test "a state of other data or options is refused" {
	make_csv
	make_data
	kp-shuffle --as csv --state state data >/dev/null 2>&1
	fails 2 'kp-shuffle: state: made with --seed 1, not 2' \
	    kp-shuffle --as csv --seed 2 --resume state data
	rm -r data
	make_csv 5000
	make_data
	fails 6 'kp-shuffle: state: data has changed since, or is another' \
	    kp-shuffle --as csv --resume state data
	# nothing is left to do, so nothing is written
	kp-shuffle --as csv --state state data >/dev/null 2>&1
	run kp-shuffle --as csv --resume state data
	[ "$status" -eq 0 ] && [ -z "$output" ]
}

@test "a reader that is gone before the first byte ends it as SIGPIPE does" {
	make_csv
	make_data
	for o in '--as csv' '--as stream' '--as stream --state state'; do
		run pipeline \
		    "(sleep .3; exec kp-shuffle --epochs 2 $o data) | true"
		equal "$status" 141
	done
}

@test "an altered state is refused" {
	make_csv
	make_data
	kp-shuffle --as csv --state state data >/dev/null 2>&1
	for e in .tuples=999999999 .buffer=1000 .epoch=1000; do
		jq "$e" state >bad
		fails 6 'kp-shuffle: bad: altered: no place in this order' \
		    kp-shuffle --as csv --resume bad data
	done
}

@test "a damaged block is told by file and number" {
	make_csv
	make_data
	size=$(stat -c %s data/blocks-00000.kpb)
	printf 'XXXX' | dd of=data/blocks-00000.kpb bs=1 \
	    seek=$((size - 100)) conv=notrunc status=none
	for m in none corgipile once; do
		run --separate-stderr kp-shuffle --method $m --as csv data
		[ "$status" -eq 6 ]
		[[ $stderr == *"$PWD/data/blocks-00000.kpb: block "*": damaged"* ]]
	done
	truncate -s 1000 data/blocks-00000.kpb
	run --separate-stderr kp-shuffle --as csv data
	[ "$status" -eq 6 ]
	[[ $stderr == *"/blocks-00000.kpb: block "*": truncated"* ]]
}

@test "the state is of where the reader stopped" {
	make_csv 60000
	make_data
	for o in '--as csv' '--as stream' '--as csv --single-buffer' \
	    '--as csv --method once'; do
		set -- --epochs 5 $o
		kp-shuffle "$@" data 2>/dev/null >want
		run --separate-stderr pipeline \
		    "kp-shuffle $* --state state data | head -c 2000000 >part"
		equal "$status" 141
		at=$(jq .bytes state)
		# a whole pipe and a piece may be written and not be read
		[ "$at" -ge 900000 ]
		[ "$at" -le 4000000 ]
		[[ $o != *csv* ]] || {
			head -c "$at" want
			kp-shuffle "$@" --resume state data 2>/dev/null
		} | cmp - want
	done
}

@test "a block file that is gone or unreadable is told" {
	make_csv
	make_data
	rm data/blocks-00000.kpb
	for o in '--method none' '--method corgipile' '--method once' \
	    --diagnose --measure; do
		# shellcheck disable=SC2086
		run --separate-stderr kp-shuffle $o data
		equal "$status" 6
		[[ $stderr == "kp-shuffle: $PWD/data/blocks-00000.kpb: No such file or directory" ]]
	done
	mkdir data/blocks-00000.kpb
	run --separate-stderr kp-shuffle --as csv data
	equal "$status" 6
	[[ $stderr == *"/blocks-00000.kpb: block "* ]]
}

@test "a reader that stops early stops it silently" {
	make_csv 60000
	make_data
	run --separate-stderr bash -o pipefail -c \
	    'kp-shuffle --as csv --epochs 1000 --buffer 2M data | head -1'
	[ "$status" -eq 141 ]
	equal "$stderr" ''
	equal "$output" g,y,w,x,c
}

@test "a full disk is an error" {
	make_csv
	make_data
	run --separate-stderr bash -c \
	    'kp-shuffle --buffer 2M data >/dev/full'
	[ "$status" -eq 1 ]
	equal "$stderr" 'kp-shuffle: standard output: No space left on device'
	run --separate-stderr bash -c \
	    'kp-shuffle --as csv --method once data >/dev/full'
	[ "$status" -eq 1 ]
	equal "$stderr" 'kp-shuffle: standard output: No space left on device'
}

@test "too small a buffer or memory is refused, telling what would do" {
	make_csv
	make_data
	run --separate-stderr kp-shuffle --as csv --buffer 100 data
	[ "$status" -eq 2 ]
	[[ $stderr == 'kp-shuffle: --buffer 100 does not hold a block of data: the least is '* ]]
	least=${stderr##* }
	kp-shuffle --as csv --buffer "$least" data >/dev/null 2>&1
	run --separate-stderr kp-shuffle --as csv --method once --memory 1K data
	[ "$status" -eq 2 ]
	[[ $stderr == 'kp-shuffle: --method once holds all rows: they take '*' bytes of memory, and --memory is 1024' ]]
}

@test "the block size that is advised makes the warning go away" {
	make_csv 60000
	kp-featurize -q --label y -o data in.csv
	run --separate-stderr kp-shuffle --buffer 10% --as csv data
	[[ $stderr == *'a buffer holds about '*' of the '*' blocks of data, too few to mix well; kp-featurize --block-size '*' gives 100' ]]
	size=${stderr##*--block-size }
	rm -r data
	kp-featurize -q --label y --block-size "${size%% *}" -o data in.csv
	run --separate-stderr kp-shuffle --buffer 10% --as csv data
	equal "$stderr" ''
}

@test "where blocks of a row are too large, the advice is of as many as fit" {
	make_csv 20000
	kp-featurize -q --label y --block-size 2K -o data in.csv
	run --separate-stderr kp-shuffle --buffer 20K --as csv data
	[[ $stderr == *' --block-size '*' gives about '*', a larger --buffer more' ]]
	size=${stderr##*--block-size }
	n=${stderr##*gives about }
	rm -r data
	kp-featurize -q --label y --block-size "${size%% *}" -o data in.csv
	run --separate-stderr kp-shuffle --buffer 20K --as csv data
	[[ $stderr == *"a buffer holds about ${n%%,*} of "* ]]
}

@test "rows that a trainer has taken are left out" {
	make_csv
	make_data
	for o in '' '--split train' '--rank 1/3' '--rank 1/3 --even' \
	    '--method once --rank 1/3' '--method mrs' '--method window'; do
		# shellcheck disable=SC2086 # options
		set -- --as csv --epochs 3 --buffer 40K $o
		kp-shuffle "$@" data >want 2>/dev/null
		n=$(($(wc -l <want) - 1))
		for k in 1 $((n / 3)) $((n / 2)) $((n - 1)); do
			{
				head -n $((k + 1)) want
				kp-shuffle "$@" --skip $k data 2>/dev/null |
				    tail -n +2
			} | cmp - want
			equal "$(kp-shuffle "$@" --skip $k data 2>/dev/null |
			    head -n 1)" "$(head -n 1 want)"
		done
	done
	# of no rows there is a header
	equal "$(kp-shuffle --as csv --skip 1000000 data 2>/dev/null)" \
	    "$(kp-shuffle --as csv data 2>/dev/null | head -n 1)"
	kp-shuffle --skip 1000000 data >stream 2>/dev/null
	equal "$(frames stream | cut -c 1)" 1
}

# signal_stops SIGNAL STATUS OPTION...: what a reader gets before, and at, the
# end of a run by a signal is `out`
signal_stops() {
	local signal=$1 want=$2 pid status=0
	shift 2
	rm -f pipe
	mkfifo pipe
	while [ "$(head -c 50000 | tee -a out | wc -c)" -gt 0 ]; do
		sleep .05
	done <pipe &
	kp-shuffle "$@" data >pipe 2>/dev/null &
	pid=$!
	sleep 1
	kill -s "$signal" $pid
	wait $pid || status=$?
	wait
	equal "$status" "$want"
}

@test "SIGTERM ends the csv of a dataset with a whole row" {
	make_csv 60000
	make_data
	set -- --as csv --epochs 5 --buffer 100K
	kp-shuffle "$@" data >want 2>/dev/null
	rm -f out
	signal_stops TERM 7 "$@" --state place
	equal "$(wc -c <out)" "$(jq .bytes place)"
	cmp -n "$(wc -c <out)" out want
	kp-shuffle "$@" --resume place data >>out 2>/dev/null
	cmp out want
	rm -f out
	signal_stops TERM 143 "$@"
	equal "$(tail -c 1 out | od -An -c | tr -d ' ')" '\n'
	cmp -n "$(wc -c <out)" out want
}

@test "options for the other kind of input are refused" {
	make_csv 100
	make_data
	fails 2 'kp-shuffle: --block-size: data is a dataset' \
	    kp-shuffle --block-size 1M data
	fails 2 'kp-shuffle: --header: data is a dataset' \
	    kp-shuffle --header data
	fails 2 'kp-shuffle: --as: in.csv is no dataset' \
	    kp-shuffle --as csv in.csv
	fails 2 'kp-shuffle: --group: in.csv is no dataset' \
	    kp-shuffle --group ATL in.csv
	fails 2 'kp-shuffle: --split: not train, holdout or test: "dev"' \
	    kp-shuffle --split dev data
	fails 2 'kp-shuffle: --as: not stream or csv: "tsv"' \
	    kp-shuffle --as tsv data
	fails 2 'kp-shuffle: --method mrs cannot be shared by ranks' \
	    kp-shuffle --method mrs --rank 0/2 data
}

@test "memory stays within two buffers and 64 MB" {
	[[ $KP_BIN != *build-san* ]] || skip "sanitizers take more"
	make_csv 1000000
	kp-featurize -q --label y --group-by g --group-by c --block-size 64K \
	    -o data in.csv
	kp-shuffle --stats --buffer 4M --epochs 2 data 2>stats >/dev/null
	awk '$1 == "buffer_bytes" { b = $2 }
	    $1 == "resident_bytes" { r = $2 }
	    END { exit !(b == 4194304 && r <= 2 * b + 67108864) }' stats
}

@test "a part without rows gives a header and epochs of no rows" {
	make_csv 100
	kp-featurize -q --label y --holdout 0 -o data in.csv
	run kp-shuffle --as csv --split test data
	[ "$status" -eq 0 ]
	equal "$output" y,g,x,c,w
	need python3
	kp-shuffle --split test --epochs 2 data >stream
	equal "$(frames stream | cut -d' ' -f1 | tr '\n' ' ')" '1 4 4 '
}

@test "streams one behind the other are learnt from as one" {
	make_csv
	make_data
	learn() {
		kp-train -q --learner linear --param solver=sgd --blocks - \
		    -o run-"$1"
		kp-select -q run-"$1" -o "$1".kpm
	}
	kp-shuffle --buffer 2M --epochs 2 data | learn one
	{
		kp-shuffle --buffer 2M --epoch 0 data
		kp-shuffle --buffer 2M --epoch 1 data
	} | learn two
	cmp one.kpm two.kpm
	# one that is cut short is refused
	kp-shuffle --buffer 2M --epochs 2 data >stream
	head -c -60 stream >short
	run --separate-stderr kp-train -q --learner linear \
	    --param solver=sgd --blocks short -o run-short
	[ "$status" -eq 6 ]
	[[ $stderr == *'short: frame '*' at byte '*': cut short'* ]]
}
