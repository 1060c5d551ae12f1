load helper

# kp-featurize -j N: the dataset, the messages and the status of -j 1.  Under
# --memory 1M a chunk has 4096 bytes, so that small files have many.

# alike FILE... -- OPTION...: the same dataset whatever -j is
alike() {
	local files=() j
	while [ "$1" != -- ]; do
		files+=("$1")
		shift
	done
	shift
	for j in 1 2 3 7; do
		kp-featurize -q -f -j "$j" --label y "$@" -o "data$j" \
			"${files[@]}" || return 1
		diff -r data1 "data$j" || return 1
	done
}

# same_failure CODE 'stderr' OPTION...: whatever -j is
same_failure() {
	local code=$1 message=$2 j
	shift 2
	for j in 1 2 3 7; do
		fails "$code" "$message" kp-featurize -q -j "$j" -o data \
			--memory 1M --label y "$@"
		equal "$(find . -name 'data' -o -name 'data.*')" ""
	done
}

# rows N [SCRIPT]: a table of N rows with columns y, g, x, c and t; the script
# may change the fields of row i
rows() {
	awk -v n="$1" "BEGIN {
		print \"y,g,x,c,t\"
		for (i = 1; i <= n; i++) {
			y = i % 3; g = \"g\" i * 7 % 23; x = i * 31 % 1000
			c = \"c\" i * i % 57; t = \"2001-0\" i % 9 + 1 \"-01\"
			${2-}
			printf \"%s,%s,%s,%s,%s\n\", y, g, x, c, t
		}
	}"
}

# total DIR KEY: a number of its totals
total() {
	python3 -c 'import json, sys
print(json.load(open(sys.argv[1] + "/manifest.json"))["totals"][sys.argv[2]])' \
		"$@"
}

@test "a plain file makes the same dataset on any number of threads" {
	rows 20000 >t.csv
	alike t.csv -- -g g --datetime t
	equal "$(total data7 rows)" 20000
	alike t.csv -- -g g --datetime t --memory 1M
	diff -r data1 data7
	alike t.csv -- --memory 1M
}

@test "the dataset does not depend on the memory that cuts the chunks" {
	rows 30000 >t.csv
	alike t.csv -- -g g
	mv data1 whole
	alike t.csv -- -g g --memory 1M
	diff -r whole data1
	alike t.csv -- -g g --memory 3M
	diff -r whole data1
}

@test "line ends in quotes, over the ends of chunks too, stay in their field" {
	rows 9000 '
		if (i % 5 == 0) c = "\"a\nb" i % 11 "\n\""
		if (i % 7 == 0) g = "\"" g "\"\"\n,\r\n\""
		if (i % 501 == 0) {
			c = "\""
			for (k = 0; k < 900; k++) c = c "line " k ",\n\"\"\n"
			c = c "\""
		}' >t.csv
	alike t.csv -- -g g --memory 1M
	equal "$(total data7 rows)" 9000
	mv data1 small
	alike t.csv -- -g g
	diff -r small data1
	python3 - <<-'EOF' >want
		import csv
		print(sum(1 for row in csv.reader(open("t.csv", newline=""))) - 1)
	EOF
	equal "$(cat want)" 9000
}

@test "quoted fields are read as others are" {
	rows 9000 >plain.csv
	rows 9000 'c = "\"" c "\""; x = "\"" x "\""; g = "\"" g "\""' >t.csv
	alike t.csv -- -g g --memory 1M
	mv data1 quoted
	kp-featurize -q --label y -g g -o plain plain.csv
	diff plain/blocks-00000.kpb quoted/blocks-00000.kpb
	diff plain/groups.kpg quoted/groups.kpg
}

@test "CR LF and bare CR end lines wherever chunks end" {
	rows 9000 >lf.csv
	kp-featurize -q --label y -g g -o lf lf.csv
	sed 's/$/\r/' lf.csv >crlf.csv
	alike crlf.csv -- -g g --memory 1M
	diff lf/blocks-00000.kpb data1/blocks-00000.kpb
	tr '\n' '\r' <lf.csv >cr.csv
	alike cr.csv -- -g g --memory 1M
	diff lf/blocks-00000.kpb data1/blocks-00000.kpb
}

@test "a mark, blank lines and a last line without its end change nothing" {
	rows 6000 >lf.csv
	kp-featurize -q --label y -g g -o lf lf.csv
	{
		printf '\xef\xbb\xbf'
		awk '{ print; if (NR % 50 == 0) print "\n\r" }' lf.csv |
			head -c -1
		yes '' | head -9000
	} >t.csv
	printf '%s' "$(cat t.csv)" >u.csv
	for f in t.csv u.csv; do
		alike "$f" -- -g g --memory 1M
		diff lf/blocks-00000.kpb data1/blocks-00000.kpb
	done
}

@test "several files are read in turn, headers and all" {
	rows 5000 >a.csv
	rows 1 >b.csv
	yes '' | head -20000 >c.csv
	rows 5000 'c = "d" i % 1000' >>c.csv
	head -1 a.csv >d.csv
	alike a.csv b.csv c.csv d.csv -- -g g --memory 1M
	equal "$(total data7 rows)" 10001
	printf 'y,g,z,c,t\n1,2,3,4,5\n' >e.csv
	same_failure 3 'kp-featurize: e.csv:1:5: column "z", where a.csv has "x"' \
		a.csv e.csv a.csv
	same_failure 1 'kp-featurize: f.csv: No such file or directory' \
		a.csv f.csv e.csv
}

@test "standard input and pipes are read as files are" {
	rows 20000 'if (i % 3 == 0) c = "\"a\nb\""' >t.csv
	kp-featurize -q --label y -g g -o file t.csv
	for j in 1 2 7; do
		kp-featurize -q -f -j "$j" --memory 1M --label y -g g \
			-o data <t.csv
		diff -r file data
		cat t.csv | kp-featurize -q -f -j "$j" --label y -g g -o data
		diff -r file data
		mkfifo "pipe$j"
		cat t.csv >"pipe$j" &
		kp-featurize -q -f -j "$j" --memory 1M --label y -g g \
			-o data "pipe$j"
		diff -r file data
	done
}

@test "a type that a later row changes is found on any number of threads" {
	rows 90000 'if (i == 85000) c = x; else c = i % 100
		if (i == 80000) c = "no number"' >t.csv
	alike t.csv -- -g g --memory 1M
	for j in 1 7; do
		cat t.csv | kp-featurize -q -f -j "$j" --label y -g g \
			--memory 1M -o data
		diff -r data1 data
	done
	kp-featurize -q --categorical c --label y -g g -o named t.csv
	diff named/groups.kpg data/groups.kpg
}

@test "labels become the same classes, thresholds and rows left out" {
	rows 20000 'y = "k" (i * 13 + int(i / 4000) * 3) % 29
		if (i % 17 == 0) y = "NA"' >t.csv
	alike t.csv -- -g g --memory 1M
	equal "$(total data7 rows)" 18824
	rows 20000 'if (i % 17 == 0) y = ""' >t.csv
	alike t.csv -- -g g --memory 1M --positive-if '> 1'
	alike t.csv -- -g g --memory 1M --positive 2
	alike t.csv -- -g g -g c --memory 1M --task multiclass
	alike t.csv -- -g g --memory 1M --weight x
	alike t.csv -- -g g --datetime t --time t --holdout-last 0.2
	alike t.csv -- -g g --cross t,c --memory 1M
}

@test "values too many for the memory are kept in their rows alike" {
	rows 60000 'c = "a value that is rather long for one so that memory ends " i' \
		>t.csv
	alike t.csv -- -g g --memory 1M
	mv data1 small
	alike t.csv -- -g g
	diff -r small data1
}

@test "numbers that are missing, long or odd come out the same" {
	rows 9000 'if (i % 4 == 0) x = ""; if (i % 9 == 0) x = "NA"
		if (i % 5 == 0) x = i / 7; if (i % 11 == 0) x = "-" i
		if (i % 13 == 0) x = "+" i; if (i % 19 == 0) x = "-0"
		if (i % 23 == 0) x = i "e-3"; if (i % 29 == 0) x = "12345678"
		if (i % 31 == 0) x = ".5"; if (i % 37 == 0) x = "00000007"' \
		>t.csv
	alike t.csv -- -g g --memory 1M
	alike t.csv -- -g g --memory 1M --float64 x
	alike t.csv -- -g g --memory 1M --missing 'NA,12345678,-0,'
	# blanks to drop, of which there are none, make rows less plain
	kp-featurize -q --trim --label y -g g --missing 'NA,12345678,-0,' \
		-o trimmed t.csv
	diff trimmed/blocks-00000.kpb data1/blocks-00000.kpb
	diff trimmed/groups.kpg data1/groups.kpg
}

@test "libsvm lines are cut into chunks too" {
	awk 'BEGIN { for (i = 0; i < 20000; i++)
		print i % 2, "1:" i % 7, "2:" i % 100 / 8, 3 + i % 90 ":1" }' \
		>t.svm
	for j in 1 2 7; do
		kp-featurize -q -j "$j" --memory 1M --format libsvm -g 1 \
			-o "svm$j" t.svm
		diff -r svm1 "svm$j"
	done
}

@test "the first error of the input is told, at its line" {
	rows 60000 'if (i == 21000) x = "n/a"; if (i == 21001) x = "none"
		if (i == 59000) x = "\"a\"b"
		if (i % 10 == 0) c = "\"two\nlines\""' >t.csv
	same_failure 3 'kp-featurize: t.csv:23100:6: "x": not a number: "n/a" (see --bad-number)' \
		-g g --numeric x t.csv
	rows 30000 'if (i == 21000) x = "1,2"
		if (i == 20000) c = "\"two\nlines\""' >t.csv
	same_failure 3 'kp-featurize: t.csv:21002:13: 6 fields, the header has 5 (see --ragged)' \
		-g g t.csv
	rows 20000 'if (i == 12345) c = "\"a\"b"' >t.csv
	same_failure 3 'kp-featurize: t.csv:12346:13: text after a closing quote' \
		-g g t.csv
	rows 20000 'if (i == 12345) c = "a\"b"' >t.csv
	same_failure 3 'kp-featurize: t.csv:12346:11: a quote inside an unquoted field' \
		-g g t.csv
	rows 20000 'if (i == 12345) c = "\"a"' >t.csv
	same_failure 3 'kp-featurize: t.csv:12346:10: this quote is never closed' \
		-g g t.csv
}

@test "rows spilled are gathered as those in memory" {
	rows 120000 'g = "g" (i * 7919) % 5003' >t.csv
	alike t.csv -- -g g --memory 64M
	mv data1 whole
	alike t.csv -- -g g --memory 1M
	diff -r whole data1
}

@test "but for time and spilled, the summary does not depend on threads" {
	rows 120000 'g = "g" (i * 7919) % 5003' >t.csv
	local n
	for n in 1 2 4; do
		kp-featurize -j $n --memory 1M --label y -g g -f -o data t.csv \
		    2>log$n
		grep -q '^  spilled ' log$n
		sed '/^  time /d; /^  spilled /d' log$n >same$n
		cmp same$n same1
	done
	[ "$(wc -l <same1)" -gt 3 ]
}

@test "a large group is packed by several threads" {
	rows 150000 'if (i % 10) g = "large"' >t.csv
	alike t.csv -- -g g --memory 64M
	mv data1 whole
	alike t.csv -- -g g --memory 4M
	diff -r whole data1
}

@test "an interrupted run on many threads leaves nothing" {
	mkfifo pipe
	{
		rows 3000
		sleep 2
		rows 200000 | tail -n +2
	} >pipe &
	kp-featurize -q -j 3 --label y -g g -o data pipe 2>err &
	pid=$!
	sleep 1
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	equal "$status" 7
	equal "$(cat err)" "kp-featurize: interrupted"
	equal "$(find . -name 'data*')" ""
}

@test "-j takes a number of threads" {
	rows 10 >t.csv
	fails 2 'kp-featurize: --jobs: not a whole number from 1 to 256: "0"' \
		kp-featurize -o data --label y -j 0 t.csv
}
