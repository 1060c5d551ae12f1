load helper

# lines N [LENGTH]: N numbered lines of LENGTH bytes each, line end included.
lines() {
	awk -v n="$1" -v w=$((${2-10} - 1)) 'BEGIN {
		for (i = 0; i < n; i++)
			printf "%0" w "d\n", i
	}'
}

# stat NAME OPTION...: one number of --stats
stat_of() {
	local name=$1
	shift
	kp-shuffle --stats "$@" 2>&1 >/dev/null | awk -v n="$name" \
	    '$1 == n { print $2 }'
}

# same_records GOT WANT: as multisets of lines
same_records() {
	cmp <(sort "$1") <(sort "$2")
}

@test "every record is there once an epoch, and epochs differ" {
	lines 5000 >in
	kp-shuffle --buffer 5K --block-size 50 --epochs 3 in >out
	for k in 0 1 2; do
		tail -n +$((k * 5000 + 1)) out | head -n 5000 >epoch$k
		same_records epoch$k in
		run ! cmp -s epoch$k in
	done
	run ! cmp -s epoch0 epoch1
	run ! cmp -s epoch1 epoch2
}

@test "an epoch alone has the bytes it has among others" {
	lines 5000 >in
	for m in corgipile block once epoch window mrs none; do
		kp-shuffle --method $m --buffer 8K --block-size 50 --epochs 3 \
		    in 2>/dev/null >all
		for k in 0 1 2; do
			kp-shuffle --method $m --buffer 8K --block-size 50 \
			    --epoch $k in 2>/dev/null
		done >each
		cmp all each
	done
}

@test "a buffer holds whole blocks, each once, well mixed" {
	lines 10000 >in
	kp-shuffle --stats --buffer 14K --block-size 100 in >out 2>stats
	n=$(awk '$1 == "buffer_blocks" { print $2 }' stats)
	# 14,336 bytes over 100 and 4 for each of 10 records
	equal "$n" 102
	# 1,000 blocks make ten buffers, evened out.
	awk -v n=100 '
	function check() {
		for (b in seen)
			if (seen[b] != 10)
				bad = 1
		blocks = length(seen)
		delete seen
	}
	{
		seen[int($1 / 10)]++
		together += int($1 / 10) == last
		last = int($1 / 10)
	}
	NR % (10 * n) == 0 { check(); bad = bad || blocks != n }
	END { check(); exit bad || together > NR / 40 }' out
}

@test "block keeps the records of a block together, none all of them" {
	lines 1000 >in
	kp-shuffle --method block --block-size 100 in >out
	same_records in out
	awk 'NR % 10 != 1 && $1 != last + 1 { exit 1 } { last = $1 }' out
	run ! cmp -s in out
	kp-shuffle --method none --block-size 100 --epochs 2 in >out
	cmp out <(cat in in)
}

@test "orders never change" {
	lines 3000 20 >in
	for m in corgipile none once epoch window mrs block; do
		kp-shuffle --method $m --buffer 12K --block-size 100 --seed 7 \
		    --epochs 2 in | cksum
	done >got
	cat >want <<-END
	1512061913 120000
	491776796 120000
	2564654473 120000
	2393605638 120000
	4292863288 120000
	749386608 149280
	826951713 120000
	END
	diff got want
}

@test "seeds make other orders" {
	lines 1000 >in
	run ! cmp -s <(kp-shuffle --seed 1 in) <(kp-shuffle --seed 2 in)
	cmp <(kp-shuffle in) <(kp-shuffle --seed 1 in)
}

@test "threads and the second buffer change nothing" {
	lines 30000 30 >in
	for m in corgipile block none once; do
		kp-shuffle --method $m --buffer 100K in >one
		kp-shuffle --method $m --buffer 100K -j 8 in >eight
		kp-shuffle --method $m --buffer 100K --single-buffer in >single
		cmp one eight
		cmp one single
	done
}

@test "window and mrs are the orders of order.h over lines" {
	lines 2000 >in
	kp-shuffle --method window --buffer 2800 --block-size 50 in >out
	same_records in out
	# 2,800 bytes over 14 are a window of 200
	awk '$1 + 0 >= NR - 1 + 200 { exit 1 }' out
	kp-shuffle --method mrs --buffer 2800 --block-size 50 in >out
	equal "$(wc -l <out)" 1800
	kp-shuffle --method mrs --buffer 2800 --block-size 50 --epoch 1 in >out
	equal "$(wc -l <out)" 3600
}

@test "ranks share every epoch" {
	lines 2011 >in
	for even in '' --even; do
		for m in corgipile block none once epoch; do
			for i in 0 1 2; do
				# shellcheck disable=SC2086
				kp-shuffle --method $m --rank $i/3 $even \
				    --block-size 100 --epoch 1 in >part$i
			done
			cat part? >all
			same_records all in
			[ -z "$even" ] || for i in 0 1 2; do
				n=$(wc -l <part$i)
				[ "$n" -eq 670 ] || [ "$n" -eq 671 ]
			done
		done
	done
}

@test "there may be more ranks than records" {
	lines 3 >in
	for i in 0 1 2 3 4; do
		kp-shuffle --rank $i/5 --even in
	done >all
	same_records all in
}

@test "quoted line ends stay in their record" {
	awk 'BEGIN {
		for (i = 0; i < 2000; i++)
			printf "%d,\"a\n\n%d,\"\"\n\",z\n", i, i
	}' >in
	for m in corgipile block once window; do
		kp-shuffle --method $m --format csv --buffer 20K \
		    --block-size 100 --epochs 2 in |
		awk 'NR % 4 == 1 { split($0, a, ","); id = a[1]; n[id]++ }
		     NR % 4 == 2 && $0 != "" { exit 1 }
		     NR % 4 == 3 && $0 != id ",\"\"" { exit 1 }
		     NR % 4 == 0 && $0 != "\",z" { exit 1 }
		     END {
			for (i = 0; i < 2000; i++)
				if (n[i] != 2)
					exit 1
		     }'
	done
}

@test "a missing line end is supplied, as the file has them" {
	printf 'a\nb' >lf
	printf 'a\r\nb' >crlf
	printf 'x' >one
	equal "$(kp-shuffle lf | sort | od -An -c | tr -d ' ')" 'a\nb\n'
	equal "$(kp-shuffle crlf | sort | od -An -c | tr -d ' ')" \
	    'a\r\nb\r\n'
	equal "$(kp-shuffle one | od -An -c | tr -d ' ')" 'x\n'
}

@test "NUL and other bytes are kept" {
	printf 'a\0b\n\0\n\377\376\n\n\rz\n' >in
	for m in corgipile once window block; do
		cmp <(kp-shuffle --method $m in | sort -z) <(sort -z in) ||
		    same_records <(kp-shuffle --method $m in) in
	done
}

@test "the header stays first, once" {
	{
		echo head
		lines 500
	} >in
	for m in corgipile none once epoch window mrs block; do
		kp-shuffle --method $m --header --epochs 3 in >out
		equal "$(head -n 1 out)" head
		equal "$(grep -c head out)" 1
	done
	kp-shuffle --header --rank 1/2 in >out
	equal "$(head -n 1 out)" head
	printf '"a\n",b\n1,2\n' >in
	equal "$(kp-shuffle --header --format csv in)" "$(cat in)"
	printf head >in
	equal "$(kp-shuffle --header in)" head
}

@test "nothing in, nothing out" {
	: >empty
	for m in corgipile none once epoch window mrs block; do
		for f in lines csv libsvm; do
			equal "$(kp-shuffle --method $m --format $f \
			    --epochs 2 empty 2>&1)" ''
			equal "$(kp-shuffle --method $m --format $f \
			    --header </dev/null 2>&1)" ''
		done
	done
	equal "$(kp-shuffle --rank 1/2 --even empty 2>&1)" ''
}

@test "one record is its own shuffle" {
	echo only >in
	for m in corgipile none once epoch window block; do
		equal "$(kp-shuffle --method $m in)" only
	done
}

@test "standard input may be a file or a pipe" {
	lines 20000 >in
	kp-shuffle in >want
	kp-shuffle <in | cmp - want
	kp-shuffle - <in | cmp - want
	# shellcheck disable=SC2002
	cat in | kp-shuffle | cmp - want
	mkfifo pipe
	cat in >pipe &
	kp-shuffle pipe | cmp - want
	kp-shuffle /proc/self/limits | grep -q 'Max cpu time'
	{
		read -r first
		equal "$first" 000000000
		kp-shuffle --seed 3 | cmp - <(tail -n +2 in | kp-shuffle --seed 3)
	} < <(cat in)
}

@test "a copy of a pipe goes to --tmpdir and leaves nothing" {
	mkdir tmp
	lines 2000 | kp-shuffle --tmpdir tmp --method once >/dev/null
	equal "$(ls tmp)" ''
	fails 1 "kp-shuffle: none: cannot make a temporary file: \
No such file or directory" \
	    bash -c 'echo a | kp-shuffle --tmpdir none'
}

@test "memory is two buffers and 64 MB, short lines or long" {
	[[ $KP_BIN != *build-san* ]] || skip "sanitizers take more"
	awk 'BEGIN { for (i = 0; i < 12000000; i++) print i % 10 }' >short
	awk 'BEGIN { for (i = 0; i < 800000; i++)
		printf "%029d\n", i }' >long
	for f in short long; do
		for j in 1 4; do
			got=$(stat_of resident_bytes -j $j --buffer 8M $f)
			echo "$f $j $got"
			[ "$got" -le $((2 * 8388608 + 67108864)) ]
		done
	done
	# of which the buffers, with the index that is larger than the text of
	# short lines, are no more than their share
	less=$(stat_of resident_bytes --buffer 1M short)
	got=$(stat_of resident_bytes --buffer 8M short)
	echo "$less $got"
	[ $((got - less)) -le $((2 * 7 * 1048576 + 4194304)) ]
}

@test "memory is that of window and mrs, too, and of many small blocks" {
	[[ $KP_BIN != *build-san* ]] || skip "sanitizers take more"
	within() {
		local b
		kp-shuffle --stats "$@" 2>stats >/dev/null
		b=$(awk '$1 == "buffer_bytes" { print $2 }' stats)
		got=$(awk '$1 == "resident_bytes" { print $2 }' stats)
		echo "$*: $got"
		[ "$got" -le $((2 * b + 67108864)) ]
	}

	yes '' | head -c 60000000 >short
	{ lines 200000 200; yes 1 | head -n 15000000; } >mixed
	within --method window short
	within --method mrs --epochs 2 short
	within --method window --buffer 5M mixed
	within --method mrs --epochs 2 --buffer 5M mixed
	within --method window --buffer 30M mixed
	lines 2000000 4 >in
	within --block-size 30 --buffer 1M --skip 1000 in
}

@test "mrs with a buffer for all has every record or its like" {
	lines 101 >in
	kp-shuffle --method mrs --epoch 0 in >out
	equal "$(wc -l <out)" 51
	equal "$(sort -u out | wc -l)" 51
	equal "$(kp-shuffle --method mrs --epoch 1 in | wc -l)" 102
	echo 1 >in
	equal "$(kp-shuffle --method mrs --epochs 3 in | wc -l)" 3
}

@test "SIGTERM while the input is awaited is a stop" {
	mkfifo pipe
	kp-shuffle --state place - <pipe >out 2>err &
	pid=$!
	{
		echo 1
		sleep .5
		kill $pid
	} >pipe
	status=0
	wait $pid || status=$?
	equal "$status" 7
	equal "$(cat err)" 'kp-shuffle: stopped'
	[ ! -s out ]
}

@test "epochs are skipped without walking through them" {
	lines 20000 >in
	set -- --epochs 1000000000
	for o in '--rank 0/2' '--rank 1/2 --even' '--method mrs' \
	    '--rank 0/2 --method once' ''; do
		equal "$(timeout 20 kp-shuffle "$@" $o \
		    --skip 1000000000000000000 in | wc -c)" 0
	done
	# a rank's slice of once is the same in every epoch
	timeout 20 kp-shuffle "$@" --rank 0/2 --method once \
	    --skip 9999999990000 in >out
	kp-shuffle --rank 0/2 --method once in | cmp - out
}

@test "default blocks are as small as a hundred in a buffer need" {
	lines 300000 20 >in
	equal "$(stat_of buffer_blocks in)" 100
	equal "$(stat_of buffer_bytes in)" 1048576
	equal "$(stat_of block_bytes in)" 8738
	equal "$(stat_of buffer_bytes --buffer 50% in)" 3000000
	equal "$(stat_of buffer_bytes --buffer 50% --rank 0/2 in)" 1500000
	equal "$(kp-shuffle in 2>&1 >/dev/null)" ''
}

@test "few blocks in a buffer are warned of" {
	lines 10000 >in
	warns='kp-shuffle: a buffer holds 7 blocks, too few to mix well; --block-size 520 --buffer 72K gives 100'
	equal "$(kp-shuffle --buffer 10K --block-size 1K in 2>&1 >/dev/null)" \
	    "$warns"
	equal "$(kp-shuffle --buffer 72K --block-size 520 in 2>&1 >/dev/null)" \
	    ''
	equal "$(kp-shuffle --buffer 80000 --block-size 1K in \
	    2>&1 >/dev/null)" "${warns/7 blocks*/55 blocks, too few to mix well; --block-size 570 gives 100}"
	equal "$(kp-shuffle --buffer 80000 --block-size 570 in \
	    2>&1 >/dev/null)" ''
	# never less than a record
	head -c 100000 /dev/zero | tr '\0' x | fold -w 2000 >long
	equal "$(kp-shuffle --buffer 10K long 2>&1 >/dev/null)" \
	    'kp-shuffle: a buffer holds 19 blocks, too few to mix well; --buffer 110K holds all'
	# all of it in one buffer is a full shuffle
	equal "$(kp-shuffle --buffer 1M --block-size 50K in 2>&1 >/dev/null)" ''
	equal "$(kp-shuffle --buffer 10K --block-size 1K --method block in \
	    2>&1 >/dev/null)" ''
	equal "$(kp-shuffle --buffer 10K --block-size 1K --method none in \
	    2>&1 >/dev/null)" ''
}

@test "a buffer smaller than a block says what works" {
	lines 1000 >in
	fails 2 'kp-shuffle: --buffer: 1000 bytes are less than a block of 2000 and the index of its records; at least 2801' \
	    kp-shuffle --buffer 1000 --block-size 2000 in
	kp-shuffle --buffer 2801 --block-size 2000 in >out 2>/dev/null
	same_records in out
	fails 2 'kp-shuffle: --buffer: 1400 bytes a rank are less than a block of 2000 and the index of its records; at least 5602' \
	    kp-shuffle --buffer 2801 --block-size 2000 --rank 1/2 in
	kp-shuffle --buffer 5602 --block-size 2000 --rank 1/2 in >out \
	    2>/dev/null
}

@test "a record longer than the buffer is told by byte" {
	{
		lines 100
		head -c 5000 /dev/zero | tr '\0' x
		echo
		lines 100
	} >in
	wants='in: the record at byte 1000 has 5001 bytes, more than a buffer: give --buffer'
	fails 3 "kp-shuffle: $wants 5K at least" \
	    kp-shuffle --buffer 4K --block-size 400 --format csv in
	fails 3 "kp-shuffle: $wants 10K at least" \
	    kp-shuffle --buffer 8K --block-size 400 --format csv \
	    --rank 0/2 in
	run --separate-stderr kp-shuffle --buffer 4K --block-size 400 in
	equal "$status" 3
	[[ $stderr == *": $wants 5K at least" ]]
	for f in lines csv; do
		kp-shuffle --buffer 5K --block-size 400 --format $f in \
		    2>/dev/null >out
		same_records in out
		for m in none block once epoch window; do
			kp-shuffle --buffer 4K --block-size 400 --method $m \
			    --format $f in >out
			same_records in out
		done
	done
	kp-shuffle --buffer 8K --block-size 400 in >out 2>/dev/null
	same_records in out
}

# long N BYTES: N records of so many bytes behind their number
long() {
	head -c "$2" /dev/zero | tr '\0' q >q
	for ((i = 0; i < $1; i++)); do
		echo "$i$(<q)"
	done
}

@test "records longer than blocks fill a buffer as far as they fit" {
	long 60 100000 >long
	{ cat long; lines 3000; } >mixed
	for f in long mixed; do
		cat $f $f $f >want
		for b in 98K 300K 1M 30%; do
			kp-shuffle --epochs 3 --buffer $b $f 2>/dev/null >out
			same_records out want
		done
	done
	# what lies in a buffer by chance is more than memory is set aside for
	long 40 4000000 >long
	for f in lines csv; do
		kp-shuffle --epochs 3 --format $f --stats long 2>stats |
		    cut -b 1-3 | sort | uniq -c | awk '{ print $1 }' |
		    uniq -c >n
		equal "$(awk '{ print $1, $2 }' n)" '40 3'
		b=$(awk '$1 == "buffer_bytes" { print $2 }' stats)
		[[ $KP_BIN == *build-san* ]] ||
			[ "$(awk '$1 == "resident_bytes" { print $2 }' stats)" \
			    -le $((2 * b + 67108864)) ]
	done
}

@test "a block that its last record makes too large says what works" {
	{ lines 1500000; long 1 14999998; lines 200000; } >in
	set -- --block-size 15M in
	fails 2 'kp-shuffle: --buffer: 19200000 bytes are less than block 0, which has 30000000 with its last record: at least 19514240, or a smaller --block-size' \
	    kp-shuffle --buffer 19200000 "$@"
	equal "$(kp-shuffle --buffer 19514240 "$@" 2>/dev/null | wc -c)" 32000000
}

@test "records of megabytes are written whole" {
	for i in 1 2 3 4 5; do
		head -c ${i}000000 /dev/zero | tr '\0' $i
		echo
	done >in
	for m in corgipile block once; do
		kp-shuffle --method $m --buffer 6M in >out 2>/dev/null
		same_records in out
	done
}

@test "bad options are usage errors" {
	echo a >in
	fails 2 'kp-shuffle: --method: unknown method "full" (there are corgipile, none, once, epoch, window, mrs, block)' \
	    kp-shuffle --method full in
	fails 2 'kp-shuffle: --format: unknown format "tsv" (there are lines, csv, libsvm)' \
	    kp-shuffle --format tsv in
	fails 2 'kp-shuffle: --buffer: neither a share up to 100% nor a size: "0"' \
	    kp-shuffle --buffer 0 in
	for s in 0 0M x; do
		fails 2 "kp-shuffle: --block-size: not a size: \"$s\"" \
		    kp-shuffle --block-size $s in
	done
	fails 2 'kp-shuffle: --buffer: at most 4080M' \
	    kp-shuffle --buffer 5G in
	for r in 1 1/1 2/2 -1/2 a/b 0/0 /2 0/ 0/2/3; do
		fails 2 "kp-shuffle: --rank: not I/P with 0 <= I < P <= 65535: \"$r\"" \
		    kp-shuffle --rank=$r in
	done
	fails 2 'kp-shuffle: --even needs --rank' kp-shuffle --even in
	fails 2 'kp-shuffle: --rank: not with --method mrs' \
	    kp-shuffle --rank 0/2 --method mrs in
	fails 2 'kp-shuffle: --epoch is one, --epochs all up to it: give one of them' \
	    kp-shuffle --epoch 1 --epochs 2 in
	fails 2 'kp-shuffle: extra operand "b"' kp-shuffle in b
}

@test "bad input is told by name" {
	fails 1 'kp-shuffle: none: No such file or directory' kp-shuffle none
	gzip -c /dev/null >in.gz
	fails 3 'kp-shuffle: in.gz: gzip-compressed (use: gzip -dc in.gz | ...)' \
	    kp-shuffle in.gz
	run --separate-stderr kp-shuffle - <in.gz
	equal "$stderr" 'kp-shuffle: standard input: gzip-compressed (use: gzip -dc | ...)'
	printf '1,"a\n2,b\n' >in
	fails 3 'kp-shuffle: in: a quote is not closed in the record at byte 0' \
	    kp-shuffle --format csv in
	printf '1,"a\n2,b\n' >in
	same_records <(kp-shuffle in) in
	lines 3000000 >in
	fails 2 'kp-shuffle: --block-size: 10 bytes are more than 524288 blocks; at least 58' \
	    kp-shuffle --block-size 10 in
}

@test "a full disk is an error, a reader that goes is not" {
	lines 100000 >in
	for o in '' '--state s' '--method once' '--method window'; do
		# shellcheck disable=SC2086
		run --separate-stderr bash -c "kp-shuffle $o in >/dev/full"
		equal "$status" 1
		# shellcheck disable=SC2154
		equal "$stderr" \
		    'kp-shuffle: standard output: No space left on device'
		run --separate-stderr pipeline "kp-shuffle $o in | head -n 1"
		equal "$status" 141
		equal "$stderr" ''
		equal "${#output}" 9
	done
	fails 1 'kp-shuffle: /dev/full: No space left on device' \
	    kp-shuffle --state /dev/full in
}

@test "a file that shrinks meanwhile is told with the block" {
	lines 400000 >in
	mkfifo pipe
	kp-shuffle --buffer 200K --method block in >pipe 2>err &
	pid=$!
	exec 5<pipe
	head -c 1000 <&5 >/dev/null
	truncate -s 1000 in
	cat <&5 >/dev/null
	exec 5<&-
	status=0
	wait $pid || status=$?
	equal "$status" 6
	grep -qxE 'kp-shuffle: block [0-9]+: in: truncated at byte [0-9]+' err
}

# resumes_at BYTES OPTION...: stopped by a reader after so many bytes, the rest
# follows on what had been written
resumes_at() {
	local bytes=$1 at
	shift
	kp-shuffle "$@" --state place in 2>/dev/null | head -c "$bytes" >/dev/null
	at=$(jq .bytes place)
	{
		head -c "$at" want
		kp-shuffle "$@" --resume place in 2>/dev/null
	} | cmp - want
	[ "$at" -gt 0 ]
}

@test "a resumed shuffle gives the same rest" {
	{
		echo head
		lines 60000 20
	} >in
	for m in corgipile none once epoch window mrs block; do
		set -- --method $m --buffer 100K --block-size 500 --epochs 3
		kp-shuffle "$@" in 2>/dev/null >want
		resumes_at 1 "$@"
		resumes_at 700001 "$@"
		resumes_at 2000000 "$@"
	done
	set -- --header --rank 1/3 --even --epochs 4 --buffer 100K
	kp-shuffle "$@" in >want 2>/dev/null
	resumes_at 1 "$@"
	resumes_at 1000003 "$@"
	set -- --method block --rank 1/3 --even --epochs 4 --buffer 100K
	kp-shuffle "$@" in >want 2>/dev/null
	resumes_at 1000003 "$@"
}

@test "a resumed csv begins with a whole record" {
	awk 'BEGIN {
		for (i = 0; i < 30000; i++)
			printf "%d,\"a\n\n%d,\"\"\n\",z\n", i, i
	}' >in
	for m in corgipile block once; do
		set -- --method $m --format csv --header --buffer 100K \
		    --epochs 3
		kp-shuffle "$@" in 2>/dev/null >want
		resumes_at 1 "$@"
		resumes_at 900001 "$@"
	done
}

@test "resuming reads no more than a buffer again" {
	lines 200000 >in
	set -- --buffer 100K --epochs 20
	kp-shuffle "$@" --state place in >want
	equal "$(jq .bytes place)" 40000000
	equal "$(kp-shuffle "$@" --resume place in | wc -c)" 0
	kp-shuffle "$@" --state place in | head -c 39900000 >/dev/null
	[ "$(stat_of bytes_read "$@" --resume place in)" -lt 2000000 ]
}

@test "killed at any moment, cut and resumed, the output is whole" {
	lines 100000 >in
	set -- --buffer 100K --epochs 8
	kp-shuffle "$@" in >want
	for signal in KILL TERM INT; do
		rm -f place out pipe
		mkfifo pipe
		# a slow reader
		while [ "$(head -c 100000 | tee -a out | wc -c)" -gt 0 ]; do
			sleep .1
		done <pipe &
		# (a shell lets its children in the background ignore INT)
		env --default-signal=INT \
		    kp-shuffle "$@" --state place in >pipe 2>said &
		pid=$!
		sleep 1.5
		kill -s $signal $pid
		status=0
		wait $pid || status=$?
		wait
		at=$(jq .bytes place)
		if [ $signal = KILL ]; then
			equal "$status" 137
		else
			# what the reader took is whole records, and no more
			equal "$status" 7
			equal "$(cat said)" 'kp-shuffle: stopped; the same command with --resume place goes on from here, its output appended (>>)'
			equal "$(wc -c <out)" "$at"
		fi
		[ "$at" -gt 0 ]
		[ "$at" -lt "$(wc -c <want)" ]
		truncate -s "$at" out
		cmp -n "$at" out want
		kp-shuffle "$@" --resume place in >>out
		cmp out want
	done
}

# skips OPTION...: however many records are left out, the rest is the same;
# records have $height lines
skips() {
	local n k
	kp-shuffle "$@" in >want 2>/dev/null
	n=$(($(wc -l <want) / height))
	for k in 1 17 $((n / 3 - 1)) $((n / 3)) $((n / 2)) $((n - 1)) $n; do
		{
			head -n $((k * height)) want
			kp-shuffle "$@" --skip $k in 2>/dev/null
		} | cmp - want
	done
}

@test "records that a trainer has taken are left out" {
	lines 3000 >in
	height=1
	for m in corgipile none once epoch window mrs block; do
		set -- --method $m --buffer 8K --block-size 100 --epochs 3
		skips "$@"
		case $m in
		window | mrs) continue ;;
		esac
		skips "$@" --rank 1/3
		skips "$@" --rank 2/3 --even
	done
	skips --buffer 8K --epoch 2
	awk 'BEGIN {
		for (i = 0; i < 3000; i++)
			printf "%d,\"a\n\n%d\n\",z\n", i, i
	}' >in
	height=4
	for m in corgipile none once; do
		skips --method $m --format csv --buffer 8K --epochs 2
	done
}

@test "a header does not count as left out, and comes first" {
	{
		echo head
		lines 1000
	} >in
	kp-shuffle --header --epochs 2 in >want
	kp-shuffle --header --epochs 2 --skip 1300 in >got
	{
		echo head
		tail -n 700 want
	} | cmp - got
	fails 2 'kp-shuffle: --resume says where to go on: not with --skip' \
	    kp-shuffle --skip 3 --resume place in
	# a state counts from there
	kp-shuffle --header --epochs 2 --skip 1300 --state place in |
	    cmp - got
	equal "$(jq .bytes place)" "$(wc -c <got)"
}

@test "what skipping passes over is not read" {
	lines 200000 >in
	set -- --buffer 100K --epochs 20
	# once to count, and a buffer or two
	[ "$(stat_of bytes_read "$@" --skip 3999000 in)" -lt 6000000 ]
}

@test "without a state, too, SIGTERM waits for the end of the record" {
	lines 3000 40001 >in
	mkfifo pipe
	kp-shuffle --epochs 2 in >pipe &
	pid=$!
	{
		head -c 100000
		sleep 1
		cat
	} <pipe >out &
	sleep .5
	kill $pid
	status=0
	wait $pid || status=$?
	equal "$status" 143
	wait
	equal "$(($(wc -c <out) % 40001))" 0
	[ -s out ]
}

@test "a resumed shuffle may have more epochs" {
	lines 1000 >in
	kp-shuffle --epochs 2 --state place in >out
	kp-shuffle --epochs 3 --resume place in >>out
	kp-shuffle --epochs 3 in | cmp - out
}

@test "a resumed shuffle of fewer epochs leaves the place where it is" {
	lines 1000 >in
	kp-shuffle --epochs 3 --state place in >out
	kp-shuffle --epochs 1 --state place --resume place in >>out
	kp-shuffle --epochs 3 --state place --resume place in >>out
	kp-shuffle --epochs 3 in | cmp - out
	# in the middle of an epoch
	for m in corgipile once window; do
		set -- --method $m --buffer 2K
		run pipeline "kp-shuffle $* --epoch 3 --state place in |
		    head -c 3000 >/dev/null"
		cp place before
		equal "$(kp-shuffle "$@" --epoch 2 --state place \
		    --resume place in | wc -c)" 0
		cmp place before
	done
}

@test "an output that does not block is waited for" {
	lines 200000 >in
	cat >slow.py <<-'END'
		import os, subprocess, sys, time
		r, w = os.pipe()
		os.set_blocking(w, False)
		p = subprocess.Popen(sys.argv[1:], stdout=w)
		os.close(w)
		time.sleep(.3)
		while b := os.read(r, 1 << 20):
		    sys.stdout.buffer.write(b)
		sys.exit(p.wait())
	END
	need python3
	for o in '' '--method once' '--state place'; do
		python3 slow.py kp-shuffle $o in >out
		same_records out in
	done
}

@test "lines of a .csv that end inside quotes are warned of" {
	printf 'a,"b\nc"\nd,e\n' >in.csv
	equal "$(kp-shuffle in.csv 2>&1 >/dev/null)" \
	    'kp-shuffle: in.csv: a quoted field goes on over a line end: give --format csv'
	equal "$(kp-shuffle --format csv in.csv 2>&1 >/dev/null)" ''
	equal "$(kp-shuffle --format lines in.csv 2>&1 >/dev/null)" ''
	printf '"a","b ""c"""\nd,e\n' >in.csv
	equal "$(kp-shuffle in.csv 2>&1 >/dev/null)" ''
}

@test "a write that is cut short leaves a state to go on from" {
	lines 100000 12 >in
	set -- --buffer 100K --epochs 2
	kp-shuffle "$@" in >want
	# the limit is no multiple of what is written at once, nor of a record
	run --separate-stderr bash -c \
	    "ulimit -f 777; exec kp-shuffle $* --state place in >out"
	equal "$status" 1
	equal "$stderr" 'kp-shuffle: standard output: File too large'
	at=$(jq .bytes place)
	equal "$at" $((777 * 1024 / 12 * 12))
	truncate -s "$at" out
	kp-shuffle "$@" --resume place in >>out
	cmp out want
}

@test "a state that was altered is refused" {
	lines 1000 >in
	for o in '' '--method once' '--method none'; do
		kp-shuffle $o --epochs 3 --state place in |
		    head -c 15000 >/dev/null
		for e in .tuples=999999999 .buffer=1000 .epoch=1000 .rows=1 \
		    .bytes=7 .check=1; do
			jq "$e" place >bad
			fails 6 'kp-shuffle: bad: altered: no place in this order' \
			    kp-shuffle $o --epochs 3 --resume bad in
		done
		jq '.options.colour="red"' place >bad
		run --separate-stderr kp-shuffle $o --epochs 3 --resume bad in
		equal "$status" 6
		[[ $stderr == 'kp-shuffle: bad: unknown key "colour"'* ]]
	done
}

@test "a state is refused with other data or other options" {
	lines 1000 >in
	kp-shuffle --state place in >/dev/null
	fails 2 'kp-shuffle: place: made with --seed 1, not 2' \
	    kp-shuffle --resume place --seed 2 in
	fails 2 'kp-shuffle: place: made with --format lines, not csv' \
	    kp-shuffle --resume place --format csv in
	fails 2 'kp-shuffle: place: made with --header no, not yes' \
	    kp-shuffle --resume place --header in
	sed '5s/0/1/' in >other
	touch -r in other
	fails 6 'kp-shuffle: place: other has changed since, or is another' \
	    kp-shuffle --resume place other
	cp -p in copy
	equal "$(kp-shuffle --resume place copy 2>&1)" ''
	touch in
	fails 6 'kp-shuffle: place: in has changed since, or is another' \
	    kp-shuffle --resume place in
	echo '{}' >place
	run --separate-stderr kp-shuffle --resume place in
	equal "$status" 6
	fails 1 'kp-shuffle: none: No such file or directory' \
	    kp-shuffle --resume none in
}

@test "a change that no sample has is found all the same" {
	lines 400000 >in
	kp-shuffle --state place in >/dev/null
	printf X | dd of=in bs=1 seek=100000 conv=notrunc status=none
	fails 6 'kp-shuffle: place: in has changed since, or is another' \
	    kp-shuffle --resume place in
	# of a pipe, all bytes count, and no time
	cat in | kp-shuffle --state place >/dev/null
	equal "$(cat in | kp-shuffle --resume place 2>&1)" ''
	printf Y | dd of=in bs=1 seek=100000 conv=notrunc status=none
	run --separate-stderr pipeline "cat in | kp-shuffle --resume place"
	equal "$status" 6
	equal "$stderr" 'kp-shuffle: place: standard input has changed since, or is another'
}

@test "a file that is altered meanwhile is told, one that grows is not" {
	lines 100000 >want
	for m in corgipile none epoch window; do
		for change in alter grow; do
			cat want >in
			rm -f pipe
			mkfifo pipe
			kp-shuffle --buffer 200K --epochs 3 --method $m in \
			    >pipe 2>err &
			pid=$!
			exec 5<pipe
			head -c 1000 <&5 >/dev/null
			if [ $change = alter ]; then
				printf X | dd of=in bs=1 seek=500 \
				    conv=notrunc status=none
			else
				echo more >>in
			fi
			cat <&5 >rest
			exec 5<&-
			status=0
			wait $pid || status=$?
			if [ $change = alter ]; then
				equal "$status" 6
				equal "$(cat err)" \
				    'kp-shuffle: in: changed while it was read'
			else
				equal "$status" 0
				equal "$(grep -c more rest)" 0
			fi
		done
	done
}

# sorted_csv N: a label, sorted, a feature that follows it and one that does not
sorted_csv() {
	awk -v n="$1" 'BEGIN {
		print "y,x,z"
		seed = 1
		for (i = 0; i < n; i++) {
			seed = seed * 16807 % 2147483647
			u = seed / 2147483647
			seed = seed * 16807 % 2147483647
			y = i >= n / 2
			printf "%d,%.3f,%.3f\n", y, y + u, seed / 2147483647
		}
	}'
}

# json NAME: a value of the JSON object on stdin
json() {
	python3 -c 'import json, sys
print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

@test "--diagnose tells sorted data from mixed" {
	sorted_csv 100000 >in.csv
	set -- --diagnose --format csv --header --label y
	kp-shuffle "$@" in.csv >text
	grep -q 'not safe: blocks are all but pure in the label' text
	kp-shuffle "$@" --json in.csv >json
	equal "$(json stored_order <json)" unsafe
	equal "$(json feature <json)" x
	equal "$(json buffer_blocks <json)" 100
	near "$(json label_icc <json)" 1 0.02
	kp-shuffle --format csv --header --method once in.csv >mixed.csv
	kp-shuffle "$@" --json mixed.csv >json
	equal "$(json stored_order <json)" safe
	near "$(json label_icc <json)" 0 0.02
	kp-featurize -q --label y --positive 1 --block-size 16K -o data in.csv
	kp-shuffle --diagnose --json data >json
	equal "$(json stored_order <json)" unsafe
	near "$(json label_icc <json)" 1 0.02
}

@test "--measure tells the orders of methods apart" {
	sorted_csv 100000 >in.csv
	set -- --measure --json --format csv --header --label y
	effect() {
		kp-shuffle "${args[@]}" --method "$1" in.csv | json batch_effect
	}
	args=("$@")
	near "$(effect none)" 128 0.01
	near "$(effect once)" 1 0.1
	awk -v c="$(effect corgipile)" -v b="$(effect block)" \
	    'BEGIN { exit !(c < 3 && b > 60) }'
	equal "$(kp-shuffle "$@" --batch 10 in.csv | json batch)" 10
	equal "$(kp-shuffle --measure --json in.csv | json effect_of)" position
	near "$(kp-shuffle --measure --json in.csv | json neighbours)" 0 0.001
}

@test "--diagnose and --measure have options of their own" {
	sorted_csv 10 >in
	fails 2 'kp-shuffle: give one of --diagnose and --measure' \
	    kp-shuffle --diagnose --measure in
	fails 2 'kp-shuffle: --label needs --diagnose or --measure' \
	    kp-shuffle --label y in
	fails 2 'kp-shuffle: --json needs --diagnose or --measure' \
	    kp-shuffle --json in
	fails 2 'kp-shuffle: --batch needs --measure' \
	    kp-shuffle --diagnose --batch 2 in
	fails 2 'kp-shuffle: --state: not with --measure' \
	    kp-shuffle --measure --state s in
	fails 2 'kp-shuffle: lines have no label: give --format csv --label NAME, or --format libsvm' \
	    kp-shuffle --diagnose in
	fails 2 'kp-shuffle: --label: in has no column "w"' \
	    kp-shuffle --diagnose --format csv --header --label w in
	fails 3 'kp-shuffle: in: all in one block: nothing to compare (make blocks smaller)' \
	    kp-shuffle --diagnose --format csv --header --label y in
}

@test "the examples of the man page run" {
	awk 'BEGIN { for (i = 0; i < 2000; i++)
		print int(i / 1000), "1:" i, "2:1" }' >big.svm
	awk 'BEGIN { print "a,b"; for (i = 0; i < 3000; i++) print i "," i }' \
	    >big.csv
	kp-featurize -q --label b -o data <(head -n 9 big.csv)
	mkdir bin
	printf '#!/bin/sh\nwc -l >trained\n' >bin/trainer
	chmod +x bin/trainer
	PATH=$PWD/bin:$PATH
	need jq
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$ROOT/man/kp-shuffle.1" |
	    awk '/^\.Bd/ { on = 1; next } /^\.Ed/ { on = 0 } on' >examples
	grep -q kp-shuffle examples
	bash -e -o pipefail examples
	equal "$(cat trained)" 10000
	same_records mixed.csv big.csv
	cat part0 part1 >both
	same_records both big.svm
	equal "$(wc -l <out)" 10000
}

@test "what would not go behind the bytes of the state is refused" {
	lines 3000 >in
	set -- --epochs 3 --buffer 8K
	kp-shuffle "$@" in >want 2>/dev/null
	resumes_at 20000 "$@"
	at=$(jq .bytes place)
	head -c "$((at + 5))" want >out
	head -c "$at" want >kept
	fails 2 "kp-shuffle: standard output has $((at + 5)) bytes, and place goes on behind $at: truncate -s $at it, and append (>>)" \
	    appended out "$@" --resume place in
	equal "$(wc -c <out)" "$((at + 5))"
	run --separate-stderr bash -c \
	    "kp-shuffle $* --resume place in >lost 2>err; echo \$?"
	equal "$output" 2
	equal "$(tail -n 1 err)" "kp-shuffle: standard output has 0 bytes, and place goes on behind $at: append to what was written (>>), or for the rest alone give | cat"
	truncate -s "$at" out
	kp-shuffle "$@" --resume place in 2>/dev/null >>out
	cmp out want
	kp-shuffle "$@" --resume place in 2>/dev/null | cat >>kept
	cmp kept want
}

# appended FILE OPTION...: kp-shuffle, its output behind FILE, its errors as of
# the order without advice.
appended() {
	local out=$1
	shift
	kp-shuffle "$@" 2>err >>"$out" && return
	status=$?
	tail -n 1 err >&2
	return $status
}

@test "an input that is the output is refused" {
	lines 100 >in
	cp in kept
	fails 2 'kp-shuffle: in: input file is output file' \
	    bash -c 'kp-shuffle in >>in'
	fails 2 'kp-shuffle: standard input: input file is output file' \
	    bash -c 'kp-shuffle <in >>in'
	cmp in kept
	ln in other
	fails 2 'kp-shuffle: in: input file is output file' \
	    bash -c 'kp-shuffle in >other'
	kp-shuffle kept >in
	same_records in kept
}

@test "what is neither text nor a dataset is told" {
	printf 'x,y\n1,a\n2,b\n3,a\n4,b\n' >t.csv
	kp-featurize -q --label y --holdout 0 t.csv -o data
	kp-train -q -o run --learner logistic --min-rows 2 data
	kp-select -q run -o m.kpm >/dev/null
	kp-shuffle data >s.kps
	fails 6 'kp-shuffle: run: a run, neither text nor a dataset' \
	    kp-shuffle run
	fails 6 'kp-shuffle: m.kpm: a bundle, neither text nor a dataset' \
	    kp-shuffle m.kpm
	for f in s.kps data/blocks-00000.kpb; do
		fails 6 "kp-shuffle: $f: a block stream or a part of a dataset, neither text nor a dataset" \
		    kp-shuffle $f
	done
	fails 6 'kp-shuffle: t.csv: not a state of kp-shuffle' \
	    kp-shuffle --resume t.csv t.csv
}

@test "leaving out more than there is is warned of" {
	lines 10 >in
	equal "$(kp-shuffle --skip 20 --epochs 2 in 2>&1)" ''
	equal "$(kp-shuffle --skip 21 --epochs 2 in 2>&1)" \
	    'kp-shuffle: --skip 21: the output has not so many records: nothing is left of it'
	equal "$(kp-shuffle --skip 21 --rank 0/2 in 2>&1)" \
	    'kp-shuffle: --skip 21: the output has not so many records: nothing is left of it'
	equal "$(kp-shuffle --seed x in 2>&1)" \
	    'kp-shuffle: --seed: not a whole number from 0 to 9007199254740992: "x"'
}

@test "--diagnose prefers smaller blocks, and says what batches are like" {
	awk 'BEGIN { print "x,y"; for (i = 0; i < 50000; i++)
		print i * 7919 % 1000 ",k" int(i / 25000) }' >in.csv
	set -- --format csv --header --label y --buffer 100K
	kp-shuffle --diagnose "$@" --block-size 10K in.csv >text
	advice=$(sed -n 's/^A buffer should hold 100 blocks or more, not [0-9]*: \(--block-size [0-9]*K\?\)\.$/\1/p' text)
	[ -n "$advice" ]
	# shellcheck disable=SC2086
	kp-shuffle --diagnose "$@" $advice in.csv >text
	grep '^A buffer should hold 100 blocks or more: it holds 1[0-9][0-9]\.$' text
	grep 'its label mean is off by .* sd: batches of 128 have a design effect of [12]' text
	kp-shuffle --measure "$@" --method once in.csv | tail -n 1 >text
	equal "$(cat text)" 'Batches are as good as random ones.'
	kp-shuffle --measure "$@" --method none in.csv | tail -n 1 >text
	equal "$(cat text)" 'Batches differ much: a design effect above 3.56 costs quality.'
	kp-shuffle --measure "$@" --epochs 20 in.csv |
	    tail -n 1 >text
	equal "$(cat text)" 'Good enough: batches of a buffer of 100 blocks pure in the label have a design effect of about 2.28.'
}
