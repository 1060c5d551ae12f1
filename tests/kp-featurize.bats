load helper

# flights FILE: a small, well-formed file
flights() {
	cat >flights.csv <<-'EOF'
		date,delay,distance,origin
		2001-01-01 00:01,33,2176,LAS
		2001-01-01 00:05,19,215,ATL
		2001-01-02 10:00,2,215,LAS
		2001-01-03 11:00,-4,900,LAS
	EOF
}

# text TEXT: writes t.csv, \n and all
text() {
	# shellcheck disable=SC2059
	printf "$1" >t.csv
}

# rejects CODE 'stderr' OPTION...: featurizing t.csv fails so, leaving nothing
rejects() {
	local code=$1 message=$2
	shift 2
	fails "$code" "$message" kp-featurize -o data "$@" t.csv
	[ ! -e data ]
	equal "$(find . -name 'data*' | head -1)" ""
}

# manifest DIR KEY...: a value of its manifest
manifest() {
	python3 - "$@" <<-'EOF'
		import json, sys
		value = json.load(open(sys.argv[1] + "/manifest.json"))
		for key in sys.argv[2:]:
		    value = value[int(key) if key.isdigit() else key]
		print(json.dumps(value))
	EOF
}

@test "flights become a dataset, with a summary on stderr" {
	flights
	run --separate-stderr kp-featurize -o data --label delay \
		--positive-if '> 15' --group-by origin --datetime date \
		--holdout 0 flights.csv
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	# shellcheck disable=SC2154
	equal "${stderr%  time *}" "$(
		cat <<-'EOF'
			data: 4 rows, 2 groups, 2 blocks
			  groups    1 / 1 / 3 rows (min / median / max)
			  label     delay: binary, "> 15" is positive: 50.0 %
			  split     train 100.00 %, hold-out 0.00 %, test 0.00 %
			  features  date.month               category   0.00 % missing, up to 1 value a group
			            date.weekday             category   0.00 % missing, up to 3 values a group
			            date.hour                category   0.00 % missing, up to 3 values a group
			            date.day                 float64    0.00 % missing
			            distance                 float32    0.00 % missing
		EOF
	)"$'\n'
	[[ ${stderr##*$'\n'} =~ ^'  time      '[0-9.]+' s, 0.0 MB, '[0-9]+' MB/s'$ ]]
}

@test "-q says nothing" {
	flights
	run --separate-stderr kp-featurize -q -o data --label delay flights.csv
	[ "$status" -eq 0 ]
	[ -z "$stderr$output" ]
}

@test "a file and the same bytes from a pipe give the same dataset" {
	flights
	kp-featurize -q -o a --label delay --group-by origin flights.csv
	kp-featurize -q -o b --label delay --group-by origin <flights.csv
	tee <flights.csv | kp-featurize -q -o c --label delay --group-by origin -
	diff -r a b
	diff -r a c
}

@test "standard input is read once" {
	flights
	fails 2 'kp-featurize: - (standard input) is given twice' \
		kp-featurize -o data --label delay - flights.csv - <flights.csv
}

@test "several files with equal headers are one input" {
	flights
	head -3 flights.csv >1.csv
	{ head -1 flights.csv && tail -n +4 flights.csv; } >2.csv
	kp-featurize -q -o a --label delay --group-by origin flights.csv
	kp-featurize -q -o b --label delay --group-by origin 1.csv 2.csv
	cmp a/blocks-00000.kpb b/blocks-00000.kpb
	cmp a/groups.kpg b/groups.kpg
}

@test "files whose headers differ are refused, naming the file" {
	text 'a,b\n1,2\n'
	printf 'a,c\n1,2\n' >u.csv
	fails 3 'kp-featurize: u.csv:1:3: column "c", where t.csv has "b"' \
		kp-featurize -o data --label a t.csv u.csv
	printf 'a\n1\n' >u.csv
	fails 3 'kp-featurize: u.csv:1:1: 1 column, t.csv has 2' \
		kp-featurize -o data --label a t.csv u.csv
	[ ! -e data ]
}

# --- errors with their places ---

@test "a bad number is told with file, line and column" {
	text 'delay,distance\n1,2\n3,n/a\n'
	rejects 3 'kp-featurize: t.csv:3:3: "distance": not a number: "n/a" (see --bad-number)' \
		--label delay --numeric distance
	text 'delay,distance\n1,2\nx,3\n'
	rejects 3 'kp-featurize: t.csv:3:1: "delay": not a number: "x" (see --bad-number)' \
		--label delay --task regression
}

@test "a category most of whose values are numbers is told" {
	{
		echo y,x,code
		for i in {1..588}; do echo "$i,$i.5,$i"; done
		for i in {1..12}; do echo "$i,none$i,AB$((i % 2))"; done
		for i in {1..12}; do echo "$i,1.5,AB$i"; done
	} >t.csv
	run kp-featurize -o data --label y --categorical code t.csv
	equal "$status" 0
	[[ $output == *" x "*"600 values (12 of 600 are not numbers: see --numeric, --bad-number)"* ]]
	equal "$(grep -c 'are not numbers' <<<"$output")" 1
	run kp-featurize -o most --label y --drop code \
		--missing "$(echo ,none{1..12} | tr ' ' ,)" t.csv
	[[ $output != *"are not numbers"* ]]
}

@test "a bad number may count as missing" {
	text 'y,x\n1,2\n3,n/a\n4,5\n'
	run kp-featurize -o data --label y --numeric x --bad-number missing t.csv
	[ "$status" -eq 0 ]
	[[ $output == *"x                        float32   33.33 % missing"* ]]
}

@test "numbers that are not finite are refused, or missing" {
	text 'y,x\n1,2\n3,inf\n'
	rejects 3 'kp-featurize: t.csv:3:3: "x": not finite: "inf" (see --inf)' \
		--label y
	run kp-featurize -o data --label y --inf missing t.csv
	[ "$status" -eq 0 ]
	[[ $output == *"x                        float32   50.00 % missing"* ]]
}

@test "numbers beyond 1e140 count as not finite" {
	text 'y,x\n1,1e160\n3,-1e139\n4,-1e999\n'
	rejects 3 'kp-featurize: t.csv:2:3: "x": beyond 1e140: "1e160" (see --inf)' \
		--label y --float64 x
	run kp-featurize -o data --label y --float64 x --inf missing t.csv
	equal "$status" 0
	[[ $output == *"x                        float64   66.67 % missing"* ]]
	rm -r data
	text 'y,x\n1,2\n-2e140,3\n'
	rejects 3 'kp-featurize: t.csv:3:1: "y": beyond 1e140: "-2e140" (see --inf)' \
		--label y
	run kp-featurize -o label --label y --inf missing t.csv
	equal "$status" 0
	[[ $output == *"left out  1 row without a label"* ]]
}

@test "a weight, a time, a value of libsvm beyond 1e140 are refused" {
	text 'y,x,w\n1,2,1e150\n3,3,1\n'
	rejects 3 'kp-featurize: t.csv:2:5: "w": beyond 1e140: "1e150"' \
		--label y --weight w
	rejects 3 'kp-featurize: t.csv:2:5: "w": beyond 1e140: "1e150" (see --inf)' \
		--label y --time w --holdout-last 0.5
	text '1 1:2\n2 1:3 4:1e150\n'
	rejects 3 'kp-featurize: t.csv:2:7: beyond 1e140: "4:1e150"' \
		--format libsvm
	text '1 1:2\n-1e150 1:3\n'
	rejects 3 'kp-featurize: t.csv:2:1: the label is beyond 1e140 (see --inf)' \
		--format libsvm
}

@test "a number that float32 cannot hold asks for --float64" {
	text 'y,x\n1,2\n3,1e200\n'
	rejects 3 'kp-featurize: t.csv:3:3: "x": too large for float32: "1e200" (see --float64)' \
		--label y
	run kp-featurize -o data --label y --inf missing t.csv
	equal "$status" 0
	[[ $output == *"x                        float32   50.00 % missing"* ]]
}

@test "ragged rows are refused, padded or skipped" {
	text 'y,x,z\n1,2,3\n4,5\n6,7,8\n'
	rejects 3 'kp-featurize: t.csv:3:3: 2 fields, the header has 3 (see --ragged)' \
		--label y
	run kp-featurize -o data --label y --ragged skip t.csv
	[ "$status" -eq 0 ]
	[[ $output == *"left out  1 row ragged"* ]]
	run kp-featurize -f -o data --label y --ragged pad t.csv
	[ "$status" -eq 0 ]
	[[ $output == *"z                        float32   33.33 % missing"* ]]
	text 'y,x\n1,2\n4,5,6\n'
	rm -r data
	rejects 3 'kp-featurize: t.csv:3:5: 3 fields, the header has 2 (see --ragged)' \
		--label y --ragged pad
	text '1,2\n4\n'
	rejects 3 'kp-featurize: t.csv:2:1: 1 field, the first row has 2 (see --ragged)' \
		--label 1 --no-header
}

@test "duplicate and blank header names are refused, or numbered" {
	text 'y,x,y\n1,2,3\n'
	rejects 3 'kp-featurize: t.csv:1:5: duplicate column name "y" (see --rename-headers)' \
		--label y
	text 'y,,x\n1,2,3\n'
	rejects 3 'kp-featurize: t.csv:1:3: blank column name (see --rename-headers)' \
		--label y
	text 'y,x,y,,y_2,y\n1,2,3,4,5,6\n'
	kp-featurize -q -o data --label y --rename-headers t.csv
	equal "$(manifest data schema columns | grep -o '"name": "[^"]*"' | tr -d '\n')" \
		'"name": "y""name": "x""name": "y_3""name": "column_4""name": "y_2""name": "y_4"'
}

@test "a date that is none is told" {
	text 'y,d\n1,2001-02-29\n'
	rejects 3 'kp-featurize: t.csv:2:3: "d": not a date: "2001-02-29" (see --bad-number)' \
		--label y --datetime d
	rejects 3 'kp-featurize: t.csv:2:3: "d": not a date of the form "%d/%m/%Y": "2001-02-29" (see --bad-number)' \
		--label y --datetime d=%d/%m/%Y
	rejects 2 'kp-featurize: --datetime d: not a date format: "%Q"' \
		--label y --datetime d=%Q
}

@test "weights must be there and not below 0" {
	text 'y,w\n1,-2\n'
	rejects 3 'kp-featurize: t.csv:2:3: "w": not a weight: "-2"' \
		--label y --weight w
	text 'y,w\n1,\n'
	rejects 3 'kp-featurize: t.csv:2:3: "w": the weight is missing' \
		--label y --weight w
}

@test "rows without a label are left out and counted, or an error" {
	text 'y,x\n1,2\nNA,3\n,4\n'
	run kp-featurize -o data --label y t.csv
	[ "$status" -eq 0 ]
	[[ $output == *"left out  2 rows without a label"* ]]
	rm -r data
	rejects 3 'kp-featurize: t.csv:3:1: the label is missing (see --missing-label)' \
		--label y --missing-label error
}

@test "an unclosed quote is an error with its place" {
	text 'y,x\n1,"2\n'
	run --separate-stderr kp-featurize -o data --label y t.csv
	[ "$status" -eq 3 ]
	[[ $stderr == 'kp-featurize: t.csv:2:3: '* ]]
	[ ! -e data ]
}

@test "empty input and a header alone are no rows" {
	text ''
	rejects 3 'kp-featurize: t.csv: no rows' --label y
	text 'y,x\n'
	rejects 3 'kp-featurize: t.csv: no rows' --label y
	text '\xef\xbb\xbf'
	rejects 3 'kp-featurize: t.csv: no rows' --label y
	fails 3 'kp-featurize: standard input: no rows' kp-featurize -o data --label y </dev/null
	text 'y,x\n,1\n'
	rejects 3 'kp-featurize: t.csv: no rows left: 1 without a label, 0 of weight 0, 0 ragged' \
		--label y
}

@test "a compressed file is told, with what unpacks it" {
	printf 'y,x\n1,2\n' | gzip -c >'my t.csv.gz'
	fails 3 "kp-featurize: my t.csv.gz: gzip-compressed (use: gzip -dc 'my t.csv.gz' | ...)" \
		kp-featurize -o data --label y 'my t.csv.gz'
	fails 3 'kp-featurize: standard input: gzip-compressed (use: gzip -dc | ...)' \
		kp-featurize -o data --format libsvm <'my t.csv.gz'
	printf 'BZh91AY&SY' >t.csv
	rejects 3 'kp-featurize: t.csv: bzip2-compressed (use: bzip2 -dc t.csv | ...)' \
		--label y
}

@test "messages show no control bytes, no broken UTF-8, and no long fields" {
	text 'y,x\n1,\x1b[2J\xe9\xff\n'
	rejects 3 'kp-featurize: t.csv:2:3: "x": not a number: "\x1b[2J\xe9\xff" (see --bad-number)' \
		--label y --numeric x
	text 'y,x\n1,0123456789012345678901234567890123456789a\n'
	rejects 3 'kp-featurize: t.csv:2:3: "x": not a number: "0123456789012345678901234567890123456789..." (see --bad-number)' \
		--label y --numeric x
	text 'y,x\n1,a\xc3\xa9\n'
	rejects 3 $'kp-featurize: t.csv:2:3: "x": not a number: "a\xc3\xa9" (see --bad-number)' \
		--label y --numeric x
}

@test "a file that is not there is told" {
	fails 1 'kp-featurize: gone.csv: No such file or directory' \
		kp-featurize -o data --label y gone.csv
}

# --- names and options ---

@test "an unknown column is told with the one that was meant" {
	text 'delay,distance\n1,2\n'
	rejects 3 'kp-featurize: --label: no column "delai" in t.csv (did you mean "delay"?)' \
		--label delai
	rejects 3 'kp-featurize: --numeric: no column "zzz" in t.csv' \
		--label delay --numeric distance,zzz
	rejects 3 'kp-featurize: --time: no column "year,month" in t.csv (it takes one column)' \
		--label delay --time year,month --holdout-last 0.2
	rejects 3 'kp-featurize: --group-by: no column "delay,distance" in t.csv (repeat it for more columns)' \
		--label delay --group-by delay,distance
}

@test "a file of another delimiter is told" {
	text 'd;g;x;y\n1;2;3;4\n'
	rejects 3 'kp-featurize: --label: no column "y" in t.csv (one column "d;g;x;y": see --delimiter)' \
		--label y
	fails 3 'kp-featurize: --label: no column "y" in standard input (one column "d;g;x;y": see --delimiter)' \
		kp-featurize -o data --label y <t.csv
}

@test "--positive-if on words names --positive" {
	text 'y,x\nYes,1\n'
	rejects 3 'kp-featurize: t.csv:2:1: "y": not a number: "Yes" (see --positive for words, or --bad-number)' \
		--label y --positive-if '> 0'
	text 'Yes 1:1\n'
	rejects 3 'kp-featurize: t.csv:1:1: the label is not a number: "Yes" (see --positive for words, or --bad-number)' \
		--format libsvm --positive-if '> 0'
}

@test "options that contradict each other are refused" {
	text 'y,x,t\n1,2,3\n'
	rejects 2 'kp-featurize: "y": both --label and --group-by' \
		--label y --group-by y
	rejects 2 'kp-featurize: "x": both --numeric and --categorical' \
		--label y --numeric x --categorical x
	rejects 2 'kp-featurize: "x": --group-by twice' \
		--label y --group-by x --group-by x
	rejects 2 'kp-featurize: --positive and --positive-if: one of them' \
		--label y --positive 1 --positive-if '> 0'
	rejects 2 'kp-featurize: --task regression has no positive class (see --positive)' \
		--label y --positive 1 --task regression
	rejects 2 'kp-featurize: --holdout-last and --time go together' \
		--label y --time t
	rejects 2 'kp-featurize: --split: the column decides; no --holdout, --test or --holdout-last' \
		--label y --split x --holdout 0.2
	rejects 2 'kp-featurize: --positive-if: not a comparison with a number, such as "> 15": "15"' \
		--label y --positive-if 15
	rejects 2 'kp-featurize: --task: not binary, multiclass or regression: "rank"' \
		--label y --task rank
	rejects 2 'kp-featurize: --ragged: not error, pad or skip: "drop"' \
		--label y --ragged drop
	rejects 2 'kp-featurize: --inf: not error or missing: "clip"' \
		--label y --inf clip
	rejects 2 'kp-featurize: --delimiter: not one character: "ab"' \
		--label y --delimiter ab
	rejects 2 'kp-featurize: --label is given twice' --label y --label x
	rejects 2 'kp-featurize: --holdout: not at least 0 and below 1: 1.5' \
		--label y --holdout 1.5
	rejects 2 'kp-featurize: --test: not at least 0 and below 1: -0.1' \
		--label y --test -0.1
	rejects 2 'kp-featurize: --holdout-last: not at least 0 and below 1: 1' \
		--label y --holdout-last 1 --time t
	rejects 2 'kp-featurize: --memory: at least 1M' --label y --memory 4K
	rejects 2 'kp-featurize: --label is needed (try --help)' -q
	fails 2 'kp-featurize: --output is needed (try --help)' kp-featurize --label y t.csv
	rejects 2 'kp-featurize: --format libsvm has no columns to name but in --group-by' \
		--format libsvm --label y
	rejects 2 'kp-featurize: --holdout and --test leave nothing to train on' \
		--label y --holdout 0.5 --test 0.5
}

@test "--help and --version go to stdout" {
	run --separate-stderr kp-featurize --help
	[ "$status" -eq 0 ]
	[[ $output == "Usage: kp-featurize "* ]]
	[ -z "$stderr" ]
	run kp-featurize --version
	[ "$output" = "kp-featurize (kp) 0.1.0" ]
}

@test "no line of --help is wider than 80 columns, of any command" {
	local bin
	for bin in "$KP_BIN"/kp-*; do
		"$bin" --help >help
		awk -v p="${bin##*/}" 'length($0) > 80 { print p ": " $0; n++ }
			END { exit n > 0 }' help
	done
}

@test "--help to a full disk fails" {
	run bash -c 'kp-featurize --help >/dev/full'
	[ "$status" -eq 1 ]
}

# --- output ---

@test "what exists is kept unless it is a dataset and --force is given" {
	flights
	kp-featurize -q -o data --label delay flights.csv
	cp -r data before
	fails 1 'kp-featurize: data: exists (--force replaces a dataset)' \
		kp-featurize -o data --label delay flights.csv
	diff -r data before
	kp-featurize -q -f -o data/ --label distance flights.csv
	run ! cmp -s data/manifest.json before/manifest.json
	equal "$(echo data*)" data
	mkdir other
	echo precious >other/file
	fails 1 'kp-featurize: other: exists and is no dataset' \
		kp-featurize -f -o other --label delay flights.csv
	[ -e other/file ]
	fails 1 'kp-featurize: /dev/full: exists (--force replaces a dataset)' \
		kp-featurize -o /dev/full --label delay flights.csv
}

@test "a failure under --force leaves the old dataset as it was" {
	flights
	kp-featurize -q -o data --label delay flights.csv
	cp -r data before
	text 'y,x\n1,2\n2,z,3\n'
	run kp-featurize -f -o data --label y t.csv
	[ "$status" -eq 3 ]
	diff -r data before
	equal "$(echo data*)" data
}

@test "a folder that is not there is told, and left so" {
	flights
	run --separate-stderr kp-featurize -o no/data --label delay flights.csv
	[ "$status" -eq 1 ]
	[[ $stderr == 'kp-featurize: no/data'*': No such file or directory' ]]
	[ ! -e no ]
	fails 1 'kp-featurize: gone: No such file or directory' \
		kp-featurize -o data --tmpdir gone --label delay flights.csv
}

# big N: N rows in 1,000 groups, as big.csv
big() {
	awk -v n="$1" 'BEGIN {
		print "g,y,x,id"
		for (i = 0; i < n; i++)
			printf "g%d,%d,%d,user%d\n", i * 7919 % 1000,
			    i * 31 % 2, i % 97, i
	}' >big.csv
}

@test "a temporary file that cannot be written ends it, nothing is left" {
	big 100000
	mkdir tmp
	run --separate-stderr bash -c "trap '' XFSZ; ulimit -f 300
		kp-featurize -o data --label y --group-by g --memory 1M \
			--tmpdir tmp big.csv"
	[ "$status" -eq 1 ]
	equal "$stderr" "kp-featurize: tmp: File too large"
	[ ! -e data ]
	[ -z "$(ls tmp)" ]
}

@test "a dataset that cannot be written ends it, nothing is left" {
	big 100000
	run --separate-stderr bash -c "trap '' XFSZ; ulimit -f 300
		kp-featurize -o data --label y --group-by g big.csv"
	[ "$status" -eq 1 ]
	[[ $stderr == "kp-featurize: "*": File too large" ]]
	equal "$(echo data*)" 'data*'
}

@test "an interrupt leaves nothing" {
	mkfifo pipe
	kp-featurize -o data --label y pipe 2>err &
	local pid=$! status=0
	{
		echo y,x
		echo 1,2
		kill -INT "$pid"
		sleep 0.2
		echo 3,4
	} >pipe
	wait "$pid" || status=$?
	[ "$status" -eq 7 ]
	equal "$(<err)" "kp-featurize: interrupted"
	equal "$(echo data*)" 'data*'
}

@test "the dataset does not depend on --memory" {
	big 100000
	kp-featurize -q -o a --label y --group-by g big.csv
	kp-featurize -q -o b --label y --group-by g --memory 1M big.csv
	diff -r a b
}

@test "100,000 groups of 20 rows need few open files" {
	awk 'BEGIN {
		print "g,y,x"
		for (i = 0; i < 2000000; i++)
			printf "k%d,%d,%d\n", i * 7919 % 100000, i % 2, i % 13
	}' >many.csv
	run --separate-stderr bash -c 'ulimit -n 64
		kp-featurize -o data --label y --task binary --group-by g \
			--memory 1G many.csv'
	[ "$status" -eq 0 ]
	[[ $stderr == "data: 2,000,000 rows, 100,000 groups, 100,000 blocks"* ]]
	[[ $stderr == *"groups    20 / 20 / 20 rows"* ]]
	run --separate-stderr bash -c 'ulimit -n 64
		kp-featurize -q -o small --label y --task binary --group-by g \
			--memory 8M many.csv'
	[ "$status" -eq 0 ]
	diff -r data small
}

# --- keys, types, labels ---

@test "keys are bytes: empty, NA, nan, 0, a/b, ../x and 300 bytes differ" {
	long=$(printf 'é%.0s' {1..150})
	{
		echo key,y
		for k in '' NA nan 0 00 0.0 a/b ../x . A a "$long" "${long}x" '"a,b"' '" "'; do
			echo "$k,1"
		done
	} >t.csv
	run kp-featurize -o data --label y --group-by key t.csv
	[ "$status" -eq 0 ]
	[[ $output == "data: 15 rows, 15 groups, 15 blocks"* ]]
	equal "$(find data -type f | wc -l)" 4
}

@test "composite keys do not run into each other" {
	text 'a,b,y\nx,yz,1\nxy,z,1\n,xyz,1\nxyz,,1\n'
	run kp-featurize -o data --label y --group-by a --group-by b t.csv
	[ "$status" -eq 0 ]
	[[ $output == "data: 4 rows, 4 groups, 4 blocks"* ]]
}

@test "types follow from the values, or from options" {
	text 'y,n,i,c,z,e,d\n1,1.5,16777217,a,007,,2001-01-01\n2,-2,1,b,08,,2001-01-02\n'
	run kp-featurize -o data --label y --categorical z t.csv
	[ "$status" -eq 0 ]
	equal "$(grep -o '[a-z] *\(float..\|category\) .*' <<<"$output" | tr -s ' ')" "$(
		cat <<-'EOF'
			n float32 0.00 % missing
			i float64 0.00 % missing
			c category 0.00 % missing, up to 2 values
			z category 0.00 % missing, up to 2 values
			e float32 100.00 % missing
			d category 0.00 % missing, up to 2 values (dates: see --datetime)
		EOF
	)"
	run kp-featurize -f -o data --label y --float64 all --drop c,z,e,d t.csv
	[[ $output == *"n                        float64"* ]]
	run kp-featurize -f -o data --label y --float64 n,i --drop c,z,e,d t.csv
	[[ $output == *"n                        float64"* ]]
}

@test "a value that contradicts the first 64 MB names the option to use" {
	{
		echo y,x,note
		yes "1,2,$(printf '%0200d' 0)" | head -c 68000000
		echo
	} | sed '$d' >t.csv
	last=$(wc -l <t.csv)
	echo 1,oops, >>t.csv
	rejects 3 "kp-featurize: t.csv:$((last + 1)):3: \"x\": not a number, as all before it: \"oops\" (declare it with --categorical, or see --bad-number)" \
		--label y --drop note
	sed -i '$d' t.csv
	echo 1,16777217, >>t.csv
	rejects 3 "kp-featurize: t.csv:$((last + 1)):3: \"x\": float32 would not hold \"16777217\" (declare it with --float64)" \
		--label y --drop note
	sed -i '$d' t.csv
	echo late,1, >>t.csv
	rejects 3 "kp-featurize: t.csv:$((last + 1)):1: \"y\": not a number, as all before it: \"late\" (--task binary or multiclass makes it a class, or see --bad-number)" \
		--label y --drop note
}

@test "a type that shows late is as if it had been named" {
	# 3 MB, beyond what the first guess sees
	awk 'BEGIN {
		print "y,x,n,z,t,w"
		for (i = 0; i < 100000; i++)
			printf "%d,%d,%d,%s,%d,1\n", i % 7, i % 10, i % 5,
			    i % 3 ? i : "", i % 9
		print "3,one,16777217,1,2,1"
		print ",5,5,word,2,1"
	}' >t.csv
	kp-featurize -q -o named --label y --categorical x,z --float64 n t.csv
	kp-featurize -q -o file --label y t.csv
	tee <t.csv | kp-featurize -q -o pipe --label y --tmpdir . --memory 1M
	kp-featurize -q -o lenient --label y --bad-number missing t.csv
	diff -r named file
	diff -r named pipe
	cmp named/blocks-00000.kpb lenient/blocks-00000.kpb
	echo late,1,1,1,1,1 >>t.csv
	run kp-featurize -o label --label y t.csv
	[[ $output == *"label     y: 8 classes"* ]]
	{
		seq 300000 | sed 's/.*/& 1:&/'
		echo a 1:1
	} >t.svm
	tail -n 100000 t.svm | sed 's/^[0-9][0-9]*/1/' >u.svm
	run kp-featurize -o svm --format libsvm u.svm
	[[ $output == *'label     binary, "a" is positive'* ]]
}

@test "the label decides the task" {
	text 'y,x\n1,1\n2,2\n'
	run kp-featurize -o data --holdout 0 --label y t.csv
	[[ $output == *"label     y: regression, mean 1.5"* ]]
	run kp-featurize -f -o data --holdout 0 --label y --task binary t.csv
	[[ $output == *'label     y: binary, "2" is positive'* ]]
	text 'y,x\nno,1\nyes,2\n'
	run kp-featurize -f -o data --holdout 0 --label y t.csv
	[[ $output == *'label     y: binary, "yes" is positive'* ]]
	text 'y,x\na,1\nb,2\nc,3\n'
	run kp-featurize -f -o data --holdout 0 --label y t.csv
	[[ $output == *'label     y: 3 classes'* ]]
	text 'y,x\n0,1\n1,2\n'
	run kp-featurize -f -o data --holdout 0 --label y t.csv
	[[ $output == *'(only 0 and 1: see --task)'* ]]
}

@test "classes that do not fit the task are refused" {
	text 'y,x\na,1\nb,2\nc,3\n'
	rejects 3 'kp-featurize: --task binary: the label has 3 classes: "a", "b", "c" (see --positive)' \
		--label y --task binary
	text 'y,x\na,1\na,2\n'
	rejects 3 'kp-featurize: every label is "a": nothing to tell apart (see --positive)' \
		--label y
	text 'y,x\nYes,1\nNo,2\n'
	rejects 3 'kp-featurize: --positive: no row has the label "Yess" (did you mean "Yes"? --task binary accepts it)' \
		--label y --positive Yess
	kp-featurize -q -o data --label y --positive Yess --task binary t.csv
}

@test "--positive is literal and others are negative" {
	text 'y,x\n1,1\n1.0,2\n01,3\n2,4\n'
	run kp-featurize -o data --holdout 0 --label y --positive 1 t.csv
	[[ $output == *'"1" is positive: 25.0 %'* ]]
	run kp-featurize -f -o data --holdout 0 --label y --positive-if '<=1' t.csv
	[[ $output == *'"<= 1" is positive: 75.0 %'* ]]
}

@test "missing tokens are a list to set" {
	text 'y,x\n1,-\n2,NA\n3,\n4,5\n'
	run kp-featurize -o data --label y --missing '-,' --categorical x t.csv
	[[ $output == *"x                        category  50.00 % missing, up to 2 values"* ]]
}

@test "BOM, CRLF, TSV, unquoted and trimmed files are read" {
	text '\xef\xbb\xbfy,x\r\n1,2\r\n'
	kp-featurize -q -o bom --label y t.csv
	text '\xef\xbb\xbf"y",x\n1,2\n'
	kp-featurize -q -o quoted --label y t.csv
	text 'y\tx\n1\t2\n'
	kp-featurize -q -o tsv -d tab --label y t.csv
	text 'y;x\n1;2\n'
	kp-featurize -q -o none -d ';' --quote none --label y t.csv
	text 'y , x\n1 , 2\n'
	kp-featurize -q -o trim --trim --label y t.csv
	for d in quoted tsv none trim; do
		cmp bom/blocks-00000.kpb $d/blocks-00000.kpb
	done
}

@test "a colon in a field does not make it libsvm" {
	text 'y,t\n1,05:25:00\n2,06:00:00\n'
	run kp-featurize -o data --label y t.csv
	[ "$status" -eq 0 ]
	[[ $output == *"t                        category"* ]]
}

@test "numbers do not depend on the locale" {
	text 'y,x\n1.5,2.25\n'
	LC_ALL=C kp-featurize -q -o a --label y t.csv
	LC_ALL=de_DE.UTF-8 kp-featurize -q -o b --label y t.csv
	diff -r a b
}

# summary OPTION...: what kp-featurize says of t.csv, one line for each fact
summary() {
	rm -rf data
	kp-featurize -o data "$@" t.csv 2>&1
}

@test "nine tokens mean missing unless --missing says which" {
	text 'y,x\n1,\n2,NA\n3,NaN\n4,nan\n5,null\n6,NULL\n7,None\n8,?\n9,-nan(ind)\n0,5\n'
	[[ $(summary --label y) == *"x                        float32   90.00 % missing"$'\n'* ]]
	[[ $(summary --label y --missing '?') == *"x                        category  10.00 % missing, "* ]]
	equal "$(summary --label y >/dev/null && manifest data schema missing)" \
		'["", "NA", "NaN", "nan", "null", "NULL", "None", "?", "-nan(ind)"]'
}

@test "numbers behind blanks are told, words and missing ones are not" {
	text 'y,a,b,c,d\n1, 5, 5, ,x\n2, 6,x, ,y\n3, ?, 7,,z\n'
	out=$(summary --label y)
	equal "$(grep -o '.(numbers.*' <<<"$out")" ' (numbers behind blanks: see --trim)'
	[[ $out == *"a                        category   0.00 % missing, up to 3 values (numbers behind blanks: see --trim)"$'\n'* ]]
	[[ $(summary --label y --trim) != *"(numbers"* ]]
	[[ $(summary --label y --categorical a) != *"(numbers"* ]]
	# the word comes late
	{ echo y,a; yes '1, 5' | head -n 900; echo 1,word; } >t.csv
	[[ $(summary --label y) != *"(numbers"* ]]
	{ echo y,a; yes '1,5' | head -n 90000; yes '1, 5' | head -n 90000; } >t.csv
	[[ $(summary --label y) == *"(numbers behind blanks: see --trim)"* ]]
}

@test "a few words among the numbers of a label are told" {
	{ echo y,x; for i in {1..40}; do echo "$i.5,$i"; done
	    echo '?!,3'; } >t.csv
	[[ $(summary --label y) == *'label     y: 41 classes (1 is not a number, "?!": see --task, --bad-number)'$'\n'* ]]
	echo n.d.,4 >>t.csv
	[[ $(summary --label y) == *': 42 classes (2 are not numbers, such as '*': see --task, --bad-number)'$'\n'* ]]
	[[ $(summary --label y --task regression --bad-number missing) == *'label     y: regression'* ]]
	text 'y,x\na,1\nb,2\n3,3\n4,4\n'
	[[ $(summary --label y) == *': 4 classes'$'\n'* ]]
}

@test "classes with blanks around them are told" {
	text 'y,x\n yes,1\n no,2\n'
	[[ $(summary --label y) == *'label     y: binary, " yes" is positive: 50.0 % (blanks around classes: see --trim)'$'\n'* ]]
	[[ $(summary --label y --trim) == *'"yes" is positive: 50.0 %'$'\n'* ]]
}

@test "a number of two values taken for a quantity is told" {
	text 'y,x\n1,1\n-1,2\n1,3\n'
	[[ $(summary --label y) == *"regression, mean "*" (only -1 and 1: see --task)"$'\n'* ]]
	[[ $(summary --label y --task regression) != *"(only"* ]]
	text 'y,x\n1,1\n-1,2\n2,3\n'
	[[ $(summary --label y) != *"(only"* ]]
	text 'y,x\n1,1\n1,2\n'
	[[ $(summary --label y) != *"(only"* ]]
	text '2 1:1\n0.5 1:2\n'
	[[ $(summary --format libsvm) == *"mean "*" (only 0.5 and 2: see --task)"$'\n'* ]]
}

# --- split ---

@test "a split column decides" {
	text 'y,x,part\n1,1,train\n2,2,holdout\n3,3,test\n4,4,train\n'
	run kp-featurize -o data --label y --split part t.csv
	[[ $output == *"train 50.00 %, hold-out 25.00 %, test 25.00 %"* ]]
	text 'y,x,part\n1,1,train\n2,2,dev\n'
	rm -r data
	rejects 3 'kp-featurize: t.csv:3:5: "part": not train, holdout or test: "dev"' \
		--label y --split part
}

@test "the last rows by time are held out" {
	text 'y,t\n1,2001-01-01\n2,2001-01-04\n3,2001-01-02\n4,2001-01-03\n'
	run kp-featurize -o data --label y --time t --holdout-last 0.25 t.csv
	[ "$status" -eq 0 ]
	[[ $output == *"train 75.00 %, hold-out 25.00 %, test 0.00 %"* ]]
	text 'y,t\n1,2001-01-01\n2,\n'
	rm -r data
	rejects 3 'kp-featurize: t.csv:3:3: "t": the time is missing' \
		--label y --time t --holdout-last 0.25
}

@test "a hold-out share that equal times make smaller is told" {
	text 'y,t\n1,1\n2,1\n3,2\n4,3\n5,3\n6,3\n7,3\n8,3\n9,3\n10,4\n'
	[[ $(summary --label y --time t --holdout-last 0.3) == *"train 90.00 %, hold-out 10.00 %, test 0.00 % (asked 30 %, ties went to training)"$'\n'* ]]
	[[ $(summary --label y --time t --holdout-last 0.1) == *"test 0.00 %"$'\n'* ]]
	# rounding is no tie
	text 'y,t\n1,1\n2,2\n3,3\n'
	[[ $(summary --label y --time t --holdout-last 0.1) == *"hold-out 0.00 %, test 0.00 %"$'\n'* ]]
}

@test "equal rows are on one side, whatever their order" {
	big 2000
	run kp-featurize -o a --label y --id id --group-by g big.csv
	part=$(grep split <<<"$output")
	{ head -1 big.csv && tail -n +2 big.csv | tac; } >tac.csv
	run kp-featurize -o b --label y --id id --group-by g tac.csv
	equal "$(grep split <<<"$output")" "$part"
}

# --- libsvm, hashes, schema ---

@test "libsvm refuses the options that would do nothing" {
	local option
	text '1 1:2\n'
	for option in '--delimiter ;' '--quote none' --trim --no-header \
	    --rename-headers '--ragged skip' '--hash-bits 8'; do
		# shellcheck disable=SC2086
		rejects 2 "kp-featurize: ${option%% *} has no meaning under --format libsvm" \
			--format libsvm $option
	done
}

@test "libsvm skips qid and comments, and knows missing labels" {
	printf '1 qid:3 1:2 # 2:5\n2 1:3\n3 qid:1 1:4#x\n' >a.svm
	printf '1 1:2\n2 1:3\n3 1:4\n? 1:5\n' >b.svm
	kp-featurize -q -o a --format libsvm a.svm
	run kp-featurize -o b --format libsvm --missing '?' b.svm
	equal "$status" 0
	[[ $output == *"left out  1 row"* ]]
	cmp a/blocks-00000.kpb b/blocks-00000.kpb
}

@test "libsvm rows are grouped by a feature" {
	printf '+1 1:1 3:2\n-1 1:2\n+1 2:4 3:2\n' >t.svm
	run kp-featurize -o data --format libsvm --task binary --group-by 3 t.svm
	[ "$status" -eq 0 ]
	[[ $output == "data: 3 rows, 2 groups, 2 blocks"* ]]
	[[ $output == *'label     binary, "+1" is positive'* ]]
	fails 2 'kp-featurize: --group-by: not the number of a feature: "x"' \
		kp-featurize -o d --format libsvm --group-by x t.svm
	printf '+1 1:1\n-1 3:nan\n' >t.svm
	run --separate-stderr kp-featurize -o d --format libsvm t.svm
	[ "$status" -eq 3 ]
	[[ $stderr == "kp-featurize: t.svm:2:"* ]]
	[ ! -e d ]
}

@test "a part of a date is dropped by its name" {
	text 'y,d,d.hour\n1,2024-02-03,1\n2,2024-03-05,7\n3,2024-03-06,2\n'
	kp-featurize -q -o data --label y --datetime d --drop d.day,d.month t.csv
	equal "$(jq -c '[.schema.features[].name]' data/manifest.json)" \
	    '["d.weekday","d.hour","d.hour"]'
	# A column of the name comes first.
	kp-featurize -q -o two --label y --datetime d --drop d.hour t.csv
	equal "$(jq -c '[.schema.features[].name]' two/manifest.json)" \
	    '["d.month","d.weekday","d.hour","d.day"]'
	fails 3 'kp-featurize: --drop: no column "d.minute" in t.csv' \
	    kp-featurize -q -o no --label y --datetime d --drop d.minute t.csv
	fails 3 'kp-featurize: --drop: no column "d.day" in t.csv' \
	    kp-featurize -q -o no --label y --drop d.day t.csv
	# What was learnt from it is predicted from whole rows.
	kp-train -q -p 1 --learner linear --min-rows 1 -o run data
	kp-select -q -o m.kpm run
	equal "$(kp-predict -q -m m.kpm --only-predictions t.csv | wc -l)" 4
	# Nothing is left of a date without its parts.
	cut -d, -f1,2 t.csv | sed 's/$/,4/; 1s/4$/x/' >u.csv
	kp-featurize -q -o none --label y --datetime d \
	    --drop d.day,d.month --drop d.weekday,d.hour u.csv
	equal "$(jq -c '[.schema.features[].name]' none/manifest.json)" '["x"]'
	kp-featurize -q -o as --schema none u.csv
	cmp none/manifest.json as/manifest.json
}

@test "long names widen their column of the summary, up to 40" {
	local long=scheduled_departure_time_zone
	{ echo "y,x,$long"; for i in {1..50}; do echo "$i,$i,v$i"; done; } >t.csv
	run kp-featurize -o data --label y --hash-bits "$long=8" t.csv
	[ "$status" -eq 0 ]
	[[ $output == *"  features  x                             float32 "* ]]
	[[ $output == *"            $long category"* ]]
	[[ $output == *"  hashes    $long 8 bits: "* ]]
	sed -i "1s/.*/y,x,$long$long/" t.csv
	run kp-featurize -o wide --label y t.csv
	[[ $output == *"  features  x                                        float32 "* ]]
	[[ $output == *"            ${long}scheduled_d... category"* ]]
}

@test "collisions are told under --hash-bits" {
	big 3000
	run kp-featurize -o data --label y --group-by g --hash-bits 8 big.csv
	[ "$status" -eq 0 ]
	[[ $output == *"  hashes    id                       8 bits: 3,000 values, "*" hashes ("*" expected), "*" share theirs ("*" %)"* ]]
}

@test "--schema reads a new file as the first was read" {
	flights
	kp-featurize -q -o a --label delay --positive-if '> 15' \
		--group-by origin --datetime date --seed 7 flights.csv
	kp-featurize -q -o b --schema a flights.csv
	diff -r a b
	# other columns, another order
	awk -F, -v OFS=, '{ print $4, "z", $3, $1, $2 }' flights.csv >t.csv
	kp-featurize -q -o c --schema a/manifest.json t.csv
	cmp a/blocks-00000.kpb c/blocks-00000.kpb
	rm -r c
	printf 'date,delay,origin\n2001-01-01,3,LAS\n' >t.csv
	rejects 3 'kp-featurize: t.csv: no column "distance"' --schema a
	printf 'date\n2001-01-01\n' >t.csv
	rejects 3 'kp-featurize: t.csv: no columns "delay", "distance", "origin" (one column "date", where the delimiter is ",")' \
		--schema a
	rejects 2 'kp-featurize: --label: --schema has said it' \
		--schema a --label x
}

@test "another thing is told from a schema" {
	local not='not a dataset or its manifest.json'
	flights
	kp-featurize -q -o a --label delay --group-by origin flights.csv
	kp-train -q -p 1 --learner linear a -o run
	kp-select -q run -o models.kpm >/dev/null
	mkdir empty
	cp flights.csv t.csv
	for it in "models.kpm: a bundle" "run: a run" "empty: a folder" \
		"flights.csv: a file"; do
		rejects 6 "kp-featurize: --schema: $it, $not" --schema "${it%%:*}"
	done
	rejects 1 'kp-featurize: none: No such file or directory' --schema none
	kp-featurize -q -o b --schema <(cat a/manifest.json) flights.csv
	diff -r a b
}

@test "--schema refuses a class that training did not have" {
	text 'y,x\na,1\nb,2\n'
	kp-featurize -q -o first --label y t.csv
	text 'y,x\na,1\nc,2\n'
	rejects 3 'kp-featurize: t.csv:3:1: the label is none of the 2 classes: "c"' \
		--schema first
}

# --- real data ---

@test "weather: NA up to half, quoted fields" {
	need_shared data/weather/weatherAUS.csv.gz
	gunzip -c "$SHARED/data/weather/weatherAUS.csv.gz" >w.csv
	run kp-featurize -o data --positive Yes --label RainTomorrow \
		--group-by Location w.csv
	[[ $output == "data: 142,193 rows, 49 groups"* ]]
	[[ $output == *"1,521 / 2,990 / 3,418 rows"* ]]
	[[ $output == *"Sunshine                 float32   47.69 % missing"* ]]
}

@test "adult: no header, blanks, question marks" {
	need_shared data/adult/adult.data.gz
	gunzip -c "$SHARED/data/adult/adult.data.gz" >a.csv
	run kp-featurize -o data --no-header --trim --missing '?' --label 15 \
		--group-by 14 a.csv
	[[ $output == "data: 32,561 rows, 42 groups"* ]]
	[[ $output == *"1 / 51 / 29,170 rows"* ]]
}

@test "the examples of the man page run" {
	flights
	sed -i '1s/$/,destination/; 1!s/$/,LAX/' flights.csv
	{
		echo day,country,store,sales
		printf '2001-01-0%d,dk,%d,7\n' 1 1 2 1 3 2
	} >sales.csv
	for i in 1 2; do
		printf '%d, ?, a, b, c, d, e, f, g, h, i, j, k, US, >%dK\n' \
			30 $i 40 $i
	done >adult.data
	printf '+1 1:1\n-1 2:1\n' >a9a
	gzip -c flights.csv >july.csv.gz
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$ROOT/man/kp-featurize.1" |
		sed -n '/^\.Bd/,/^\.Ed/p' | sed 's/\\e$/\\/' >examples
	n=0
	mv_data() {
		[ ! -d data ] || mv data data.$((n += 1))
	}
	while IFS= read -r line; do
		case $line in
		.Bd*) command= ;;
		.Ed)
			[ "$n" -eq 0 ] || [[ $command != *--schema* ]] ||
				cp -r data.1 data
			bash -c "$command"
			mv_data
			;;
		*) command+=$line$'\n' ;;
		esac
	done <examples
	[ "$n" -eq 6 ]
	[ -d july ]
}
