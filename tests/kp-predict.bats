load helper
load models

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	rows 600 >a.csv
	train a.csv run --label late --positive yes --weight w \
	    --drop delay,id --test 0.1
	kp-select -q run -o m.kpm >select.tsv
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR"/* .
}

# The records on stdin without their last two fields, line ends kept.
without_answers() {
	sed -E 's/,[^,]*,(group|prior)(\r?)$/\2/'
}

@test "every row comes back byte for byte, with prediction and level behind" {
	kp-predict -m m.kpm a.csv >s.csv
	equal "$(head -n 1 s.csv)" \
	    "id,site,x,colour,when,w,late,delay,prediction,level"
	tail -n +2 s.csv | without_answers | cmp - <(tail -n +2 a.csv)
	awk -F, 'NR > 1 && ($NF !~ /^(group|prior)$/ || !($(NF - 1) > 0 &&
	    $(NF - 1) < 1)) { exit 1 }' s.csv
}

@test "no file is written that is read, or twice" {
	local same="are the same file"
	cp m.kpm own.kpm
	cp a.csv in.csv
	fails 2 "kp-predict: -o and --metrics $same" \
	    kp-predict -m own.kpm -o out --metrics ./out in.csv
	fails 2 "kp-predict: -o and --model $same" \
	    kp-predict -m own.kpm -o own.kpm in.csv
	fails 2 "kp-predict: --metrics and --model $same" \
	    kp-predict -m own.kpm --metrics "$PWD/own.kpm" in.csv
	ln in.csv link.csv
	fails 2 "kp-predict: -o and the input $same" \
	    kp-predict -m own.kpm -o link.csv in.csv
	fails 2 "kp-predict: --metrics and the input $same" \
	    kp-predict -m own.kpm --metrics in.csv in.csv
	cmp own.kpm m.kpm
	cmp in.csv a.csv
	[ ! -e out ]
	kp-predict -q -m own.kpm -o /dev/null --metrics /dev/null in.csv
}

@test "line ends, quotes and quoted newlines are kept" {
	printf '"site",x,colour,when,note\r\nA,1,red,2024-01-02,"two\r\nlines"\r\nA,"1",red,2024-01-02,"a ""b"""' >in.csv
	kp-predict -m m.kpm in.csv >s.csv
	p=$(kp-predict -m m.kpm --only-predictions in.csv | tail -n 1)
	printf '"site",x,colour,when,note,prediction,level\r\nA,1,red,2024-01-02,"two\r\nlines",%s\r\nA,"1",red,2024-01-02,"a ""b""",%s\n' \
	    "$p" "$p" | cmp - s.csv
}

@test "the hold-out metrics of training come back bit for bit" {
	kp-predict -q -m m.kpm --split holdout --metrics m.json a.csv >h.csv
	kp-select -q --json run | grep -v '"holdout_rows":0' >want.json
	json_of m.json | cmp - <(json_of want.json)
	equal "$(json_of m.json | wc -l)" 3
	# and so do the numbers of rows
	rows=$(sed -n 's/.*"holdout_rows":\([0-9]*\).*/\1/p' want.json |
	    awk '{ n += $1 } END { print n }')
	equal "$(tail -n +2 h.csv | wc -l)" "$rows"
	head -n 1 m.json | grep -q "^{\"group\":null,\"rows\":$rows,"
}

@test "every kept row is in one part" {
	for part in train holdout test; do
		kp-predict -q -m m.kpm --split $part --keep id a.csv |
		    tail -n +2 | cut -d, -f1
	done | sort -n >ids
	# kp-featurize leaves out weight 0
	awk -F, 'NR > 1 && !/,0,(yes|no),/ { print $1 }' a.csv | cmp - ids
}

@test "a part keeps its rows when they come in another order" {
	kp-predict -q -m m.kpm --split holdout --keep id a.csv | sort >a
	{ head -n 1 a.csv; tail -n +2 a.csv | sort -r; } |
	    kp-predict -q -m m.kpm --split holdout --keep id | sort >b
	cmp a b
}

@test "columns are matched by name, in any order, others passed through" {
	awk -F, -v OFS=, '!/"/ { print "more", $5, $4, $3, $2 }' a.csv |
	    sed '1s/more/extra/' >b.csv
	grep -v '"' a.csv | kp-predict -m m.kpm --only-predictions >want
	kp-predict -m m.kpm b.csv >got
	equal "$(sed -n 2p got | cut -d, -f1-2)" "more,2024-02-02"
	cut -d, -f6- got | cmp - want
}

@test "a column that models use may not be there twice, others may" {
	sed '1s/id,/x,/' a.csv >b.csv
	fails 3 'kp-predict: b.csv:1:8: column "x" is there twice' \
	    kp-predict -m m.kpm b.csv
	sed '1s/id,/delay,/' a.csv | kp-predict -m m.kpm | tail -n +2 |
	    cmp - <(kp-predict -m m.kpm a.csv | tail -n +2)
}

@test "columns renamed for training are renamed again" {
	sed '1s/id,/x,/' a.csv >b.csv
	train b.csv re --rename-headers --label late --positive yes \
	    --drop delay,x,w
	kp-select -q re -o re.kpm >/dev/null
	kp-predict -q -m re.kpm --split holdout --metrics r.json b.csv >s.csv
	equal "$(head -n 1 s.csv | cut -d, -f1-3)" x,site,x
	json_of r.json |
	    cmp - <(kp-select -q --json re | grep -v '"holdout_rows":0' | json_of /dev/stdin)
}

@test "a feature column that is missing is an error" {
	cut -d, -f1,2,3 a.csv >b.csv
	fails 3 'kp-predict: b.csv: no columns "colour", "when"' \
	    kp-predict -m m.kpm b.csv
	cut -d, -f1,2,3,4 a.csv >b.csv
	fails 3 'kp-predict: b.csv: no column "when"' \
	    kp-predict -m m.kpm b.csv
	sed '1s/when/wheN/' a.csv >b.csv
	fails 3 'kp-predict: b.csv: no column "when" (did you mean "wheN"?)' \
	    kp-predict -m m.kpm b.csv
	tr , ';' <a.csv >b.csv
	run --separate-stderr kp-predict -m m.kpm b.csv
	equal "$status" 3
	equal "$stderr" 'kp-predict: b.csv: no columns "site", "x", "colour", "when" (one column "id;site;x;colour;when;w;late;delay", where the delimiter is ",")'
}

@test "the label may be absent, but --metrics needs it" {
	grep -v '"' a.csv | cut -d, -f1-5 >b.csv
	kp-predict -m m.kpm b.csv >s.csv
	fails 3 'kp-predict: b.csv: no column "late", the label, which --metrics needs' \
	    kp-predict -m m.kpm --metrics m.json b.csv
	[ ! -e m.json ]
}

@test "label, weight, part and time are not looked at unless they matter" {
	# scored TEXT: a bad word in the last column of in.csv is passed by
	# when rows are scored, and an error where it matters.
	scored() {
		local at text=$1
		at=$(awk -F, 'NR == 3 { print length($0) - length($9) + 1 }' in.csv)
		awk -F, 'NR > 1 { print $1 }' in.csv >want
		kp-predict -q -m b.kpm --keep id in.csv >s.csv
		tail -n +2 s.csv | cut -d, -f1 | cmp - want
		kp-predict -q -m b.kpm --split all --keep id in.csv | cmp - s.csv
		fails 3 "kp-predict: in.csv:3:$at: $text" \
		    kp-predict -m b.kpm --metrics m.json -o o.csv in.csv
		fails 3 "kp-predict: in.csv:3:$at: $text" \
		    kp-predict -m b.kpm --split holdout -o o.csv in.csv
		[ ! -e m.json ] && [ ! -e o.csv ]
	}
	# last WORD: b.csv with a bad word in its ninth column, as in.csv.
	last() {
		awk -F, -v OFS=, -v bad="$1" 'NR == 3 { $9 = bad } NR < 9' \
		    b.csv >in.csv
	}
	model() {
		train b.csv b "$@"
		kp-select -q b -o b.kpm >/dev/null
	}
	grep -v '"' a.csv >plain.csv
	awk -F, -v OFS=, '{ print $0, NR == 1 ? "weight" : 1 + NR % 2 }' \
	    plain.csv >b.csv
	model --label late --positive yes --weight weight --drop id,delay,w
	last ''
	scored '"weight": the weight is missing'
	rm -r b b.data
	awk -F, -v OFS=, 'NR == 1 { print $0, "part"; next }
	    { print $0, NR % 5 ? "train" : "holdout" }' plain.csv >b.csv
	model --label late --positive yes --split part --drop id,delay,w
	last later
	scored '"part": not train, holdout or test: "later"'
	rm -r b b.data
	awk -F, -v OFS=, '{ print $0, NR == 1 ? "minutes" : $8 }' \
	    plain.csv >b.csv
	model --label minutes --positive-if '> 15' --drop id,delay,w,late
	last tbd
	scored '"minutes": not a number: "tbd" (see --positive for words, or --bad-number)'
	rm -r b b.data
	awk -F, -v OFS=, '{ print $0, NR == 1 ? "at" : $5 }' plain.csv >b.csv
	model --label late --positive yes --time at --holdout-last 0.2 \
	    --drop id,delay,w
	last tbd
	scored '"at": not a date: "tbd" (see --bad-number)'
}

@test "labels of which none is known are an error where they matter" {
	kp-featurize -q --group-by site --datetime when --label late \
	    --drop delay,id,w a.csv -o t.data
	kp-train -q -p 1 --learner logistic t.data -o t
	kp-select -q t -o t.kpm >/dev/null
	sed 's/,yes,/,yes.,/; s/,no,/,no.,/' a.csv >dots.csv
	first=$(sed -n 2p dots.csv | cut -d, -f7)
	why="no row has a known label (first: \"$first\", classes are \"no\" and \"yes\")"
	fails 3 "kp-predict: dots.csv: $why" \
	    kp-predict -m t.kpm --metrics m.json -o o.csv dots.csv
	[ ! -e m.json ] && [ ! -e o.csv ]
	fails 3 "kp-predict: dots.csv: $why" \
	    kp-predict -m t.kpm --split holdout --only-predictions -o o.csv dots.csv
	run -0 kp-predict -q -m t.kpm dots.csv
	# A threshold has no classes to name.
	kp-featurize -q --group-by site --label delay --positive-if '> 15' \
	    --drop late,id,w,when a.csv -o n.data
	kp-train -q -p 1 --learner logistic n.data -o n
	kp-select -q n -o n.kpm >/dev/null
	sed 's/[^,]*$/NA/; 1s/NA/delay/' a.csv >na.csv
	fails 3 'kp-predict: na.csv: no row has a known label (first: "NA")' \
	    kp-predict -m n.kpm --metrics m.json -o o.csv na.csv
	fails 3 'kp-predict: standard input: no row has a known label (first: "NA")' \
	    kp-predict -m n.kpm --metrics m.json -o o.csv <na.csv
}

@test "rows without a known label are counted, with the first as an example" {
	kp-featurize -q --group-by site --label late --drop delay,id,w,when \
	    a.csv -o t.data
	kp-train -q -p 1 --learner logistic t.data -o t
	kp-select -q t -o t.kpm >/dev/null
	printf 'id,site,x,colour,when,w,late,delay
1,A,1,red,x,1,yes,1\n2,A,1,red,x,1,maybe,1\n3,A,1,red,x,1,,1\n' >some.csv
	run --separate-stderr kp-predict -m t.kpm --metrics m.json some.csv
	equal "$status" 0
	equal "$stderr" \
	    'kp-predict: 2 rows without a known label are not in the metrics (first: "maybe")'
}

@test "a column of the input named like one that is added is an error" {
	kp-predict -m m.kpm a.csv >s.csv
	fails 3 'kp-predict: s.csv:1:36: there is a column "prediction" already (see --prefix, --keep)' \
	    kp-predict -m m.kpm s.csv
	fails 3 'kp-predict: s.csv:1:47: there is a column "level" already (see --prefix, --keep)' \
	    kp-predict -m m.kpm --keep id,level s.csv
	kp-predict -m m.kpm --keep id s.csv |
	    cmp - <(kp-predict -m m.kpm --keep id a.csv)
	kp-predict -m m.kpm --only-predictions s.csv |
	    cmp - <(kp-predict -m m.kpm --only-predictions a.csv)
	equal "$(kp-predict -m m.kpm --prefix new_ s.csv | head -n 1)" \
	    "id,site,x,colour,when,w,late,delay,prediction,level,new_prediction,new_level"
}

@test "a part cannot be told without the columns that decide it" {
	grep -v '"' a.csv | cut -d, -f1-5 >b.csv
	fails 3 'kp-predict: b.csv: no column "w", by which --split tells a row'\''s part' \
	    kp-predict -m m.kpm --split train b.csv
}

@test "a row of an unseen group is answered by the prior, counted" {
	printf 'site,x,colour,when\nZ,1,red,2024-01-02\nA,1,red,2024-01-02\n' >in.csv
	run --separate-stderr kp-predict -m m.kpm in.csv
	equal "$stderr" "kp-predict: 1 row of a group not seen in training: answered by the prior"
	[[ ${lines[1]} == Z,1,red,2024-01-02,0.*,prior ]]
	[[ ${lines[2]} == A,1,red,2024-01-02,0.*,group ]]
}

@test "a row of an unseen group may be an error, or left out" {
	printf 'site,x,colour,when\nA,1,red,2024-01-02\n"Z\t",1,red,2024-01-02\n' >in.csv
	run --separate-stderr kp-predict -m m.kpm --unseen-group=error in.csv
	equal "$status" 3
	equal "$stderr" 'kp-predict: in.csv:3:1: group "Z\t" was not seen in training (see --unseen-group)'
	equal "${#lines[@]}" 2
	run --separate-stderr kp-predict -m m.kpm --unseen-group=skip in.csv
	equal "$status" 0
	equal "$stderr" "kp-predict: 1 row of a group not seen in training: left out"
	equal "${#lines[@]}" 2
}

@test "a group without a model answers with ten rows of the prior added" {
	# C: all its training rows are late.
	prior=$(printf 'site,x,colour,when\nZ,1,red,2024-01-02\n' |
	    kp-predict -q -m m.kpm --only-predictions | sed -n '2s/,.*//p')
	n=$(kp-predict -q -m m.kpm --split train --keep site a.csv |
	    grep -c '^C,')
	got=$(printf 'site,x,colour,when\nC,1,red,2024-01-02\n' |
	    kp-predict -q -m m.kpm --only-predictions | sed -n '2s/,.*//p')
	near "$got" "$(awk -v p="$prior" -v n="$n" \
	    'BEGIN { printf "%.17g", (n + 10 * p) / (n + 10) }')" 1e-12
	yes=$(kp-predict -q -m m.kpm --split train --keep late a.csv |
	    grep -c '^yes,')
	all=$(kp-predict -q -m m.kpm --split train --keep late a.csv |
	    grep -c '^[yn]')
	near "$prior" "$(awk -v y="$yes" -v n="$all" \
	    'BEGIN { printf "%.17g", y / n }')" 1e-12
}

@test "values of a category that training has not seen add nothing" {
	printf 'site,x,colour,when\nA,1,mauve,2024-01-02\nA,1,puce,2024-01-02\nA,1,red,2024-01-02\n' >in.csv
	kp-predict -m m.kpm --only-predictions in.csv >s.csv
	equal "$(sed -n 2p s.csv)" "$(sed -n 3p s.csv)"
	[ "$(sed -n 2p s.csv)" != "$(sed -n 4p s.csv)" ]
}

@test "--keep writes only the columns named, quoted where they must be" {
	kp-predict -m m.kpm --keep colour,id a.csv >s.csv
	equal "$(head -n 1 s.csv)" "colour,id,prediction,level"
	equal "$(grep -c '^"blue,teal",' s.csv)" "$(grep -c '"blue,teal"' a.csv)"
	kp-predict -m m.kpm a.csv | sed 's/.*,\([^,]*,[^,]*\)$/\1/' >want
	sed 's/.*,\([^,]*,[^,]*\)$/\1/' s.csv | cmp - want
	kp-predict -m m.kpm --keep colour --keep id a.csv | cmp - s.csv
	fails 3 'kp-predict: a.csv: no column "color" (did you mean "colour"?) (see --keep)' \
	    kp-predict -m m.kpm --keep color a.csv
}

@test "--only-predictions writes nothing of the input" {
	kp-predict -m m.kpm --only-predictions a.csv >s.csv
	equal "$(head -n 1 s.csv)" "prediction,level"
	kp-predict -m m.kpm a.csv | sed 's/.*,\([^,]*,[^,]*\)$/\1/' | cmp - s.csv
}

@test "--raw gives log-odds" {
	paste -d, <(kp-predict -m m.kpm --only-predictions a.csv) \
	    <(kp-predict -m m.kpm --only-predictions --raw a.csv) >s.csv
	awk -F, 'NR > 1 { d = $3 - log($1 / (1 - $1))
		if (d > 1e-9 || d < -1e-9) exit 1 }' s.csv
}

@test "--raw of a constant 0 or 1 is finite" {
	for above in 1000 -1000; do
		rm -rf one one.data
		train a.csv one --label delay --positive-if "> $above" \
		    --drop late,id,w
		kp-select -q one -o one.kpm >/dev/null
		kp-predict -q -m one.kpm --only-predictions a.csv |
		    tail -n +2 | sort -u
		kp-predict -q -m one.kpm --only-predictions --raw a.csv |
		    tail -n +2 | sort -u
	done >answers
	equal "$(<answers)" "0,prior
-34.538776394910684,prior
1,prior
34.53957599234088,prior"
}

@test "metrics do not depend on --raw" {
	kp-predict -q -m m.kpm --metrics a.json a.csv >/dev/null
	kp-predict -q -m m.kpm --raw --metrics b.json a.csv >/dev/null
	cmp a.json b.json
}

@test "scores do not depend on how much memory models may use" {
	kp-predict -m m.kpm a.csv >a
	kp-predict -m m.kpm --memory 1 a.csv | cmp - a
}

@test "many more rows than a batch are scored in order" {
	for _ in $(seq 40); do tail -n +2 a.csv; done |
	    cat <(head -n 1 a.csv) - >big.csv
	kp-predict -m m.kpm big.csv | tail -n +2 | split -l 600 - part-
	kp-predict -m m.kpm a.csv | tail -n +2 >one
	equal "$(ls part-* | wc -l)" 40
	for f in part-*; do cmp "$f" one; done
}

@test "a flipped or missing byte of the bundle is exit 6 before the first line" {
	size=$(stat -c %s -L m.kpm)
	for at in 3 200 $((size / 2)) $((size - 300)) $((size - 5)); do
		cp -L m.kpm bad.kpm
		byte=$(od -An -tu1 -j "$at" -N 1 bad.kpm)
		printf '%b' "\\x$(printf %x $((byte ^ 16)))" |
		    dd of=bad.kpm bs=1 seek="$at" conv=notrunc status=none
		run --separate-stderr kp-predict -m bad.kpm a.csv
		equal "$status" 6
		equal "$output" ""
		[[ $stderr == "kp-predict: bad.kpm: "* ]]
		equal "$(wc -l <<<"$stderr")" 1
	done
	for n in 0 10 100 $((size / 2)) $((size - 1)); do
		head -c "$n" m.kpm >short.kpm
		run --separate-stderr kp-predict -m short.kpm a.csv
		equal "$status" 6
		equal "$output" ""
	done
}

@test "--verify=lazy meets damage only in the model it needs" {
	cp -L m.kpm bad.kpm
	# The last model is that of D.
	at=$(grep -abo 'kpF1"' bad.kpm | tail -n 1 | cut -d: -f1)
	printf 'X' | dd of=bad.kpm bs=1 seek=$((at - 9)) conv=notrunc status=none
	grep -v ',D,' a.csv >b.csv
	kp-predict -m bad.kpm --verify=lazy b.csv >s.csv
	run --separate-stderr kp-predict -m bad.kpm --verify=lazy a.csv
	equal "$status" 6
	run --separate-stderr kp-predict -m bad.kpm b.csv
	equal "$status" 6
	equal "$output" ""
}

@test "another file is told from a bundle" {
	fails 6 "kp-predict: a.csv: not a kp bundle" kp-predict -m a.csv a.csv
	fails 6 "kp-predict: run: a run; kp-select run -o FILE makes its bundle" \
	    kp-predict -m run a.csv
	fails 6 "kp-predict: run.data: a dataset, not a bundle (kp-select -o makes one)" \
	    kp-predict -m run.data a.csv
	fails 1 "kp-predict: none.kpm: No such file or directory" \
	    kp-predict -m none.kpm a.csv
}

@test "empty input has no header, a header alone no rows" {
	fails 3 "kp-predict: standard input: empty: no header line" \
	    kp-predict -m m.kpm </dev/null
	equal "$(printf 'when,site,x,colour' | kp-predict -m m.kpm)" \
	    "when,site,x,colour,prediction,level"
}

@test "rows before a bad one are written, the bad one is named" {
	printf 'site,x,colour,when\nA,1,red,2024-01-02\nA,1x,red,2024-01-02\n' >in.csv
	run --separate-stderr kp-predict -m m.kpm in.csv
	equal "$status" 3
	equal "$stderr" 'kp-predict: in.csv:3:3: "x": not a number: "1x" (see --bad-number)'
	equal "${#lines[@]}" 2
}

@test "with -o the output is whole or absent" {
	kp-predict -m m.kpm a.csv >want
	kp-predict -m m.kpm -o out.csv a.csv
	cmp out.csv want
	printf 'site,x,colour,when\nA,1,red,2024-01-02\nA,1x,red,2024-01-02\n' >in.csv
	run kp-predict -m m.kpm -o other.csv in.csv
	equal "$status" 3
	equal "$(ls other* 2>/dev/null)" ""
}

@test "output and metrics are both there or neither" {
	local bad='kp-predict: no/such/m: No such file or directory'
	fails 1 "$bad" kp-predict -m m.kpm --metrics no/such/m -o out a.csv
	# before any row is scored
	fails 1 "$bad" kp-predict -m m.kpm --metrics no/such/m a.csv
	fails 1 'kp-predict: no/such/o: No such file or directory' \
	    kp-predict -m m.kpm --metrics m.json -o no/such/o a.csv
	fails 1 'kp-predict: /dev/full: No space left on device' \
	    kp-predict -m m.kpm --metrics m.json -o /dev/full a.csv
	fails 1 'kp-predict: /dev/full: No space left on device' \
	    kp-predict -m m.kpm --metrics /dev/full -o out a.csv
	run bash -c 'kp-predict -m m.kpm -o out --metrics - a.csv >/dev/full'
	equal "$status" 1
	equal "$output" "kp-predict: standard output: No space left on device"
	sed '$s/.*/1,A,1x,red,2024-01-02,1,yes,1/' a.csv >in.csv
	run kp-predict -m m.kpm --metrics m.json -o out in.csv
	equal "$status" 3
	equal "$(ls out* m.json* 2>/dev/null)" ""
	kp-predict -q -m m.kpm --metrics m.json -o out a.csv
	[ -s out ] && [ -s m.json ]
}

@test "a full disk is exit 1" {
	run bash -c 'kp-predict -m m.kpm a.csv >/dev/full'
	equal "$status" 1
	equal "$output" "kp-predict: standard output: No space left on device"
}

@test "a reader that leaves early is no error to speak of" {
	for _ in $(seq 100); do tail -n +2 a.csv; done |
	    cat <(head -n 1 a.csv) - >big.csv
	run --separate-stderr bash -c 'kp-predict -m m.kpm big.csv | head -n 1'
	equal "$status" 0
	equal "$stderr" ""
}

@test "a compressed file is told, with what unpacks it" {
	gzip -c a.csv >a.csv.gz
	fails 3 "kp-predict: a.csv.gz: gzip-compressed (use: gzip -dc a.csv.gz | ...)" \
	    kp-predict -m m.kpm a.csv.gz
	fails 3 "kp-predict: standard input: gzip-compressed (use: gzip -dc | ...)" \
	    kp-predict -m m.kpm - <a.csv.gz
}

@test "wrong use is told" {
	fails 2 "kp-predict: --model is needed (try --help)" kp-predict a.csv
	fails 2 'kp-predict: --split: "hold-out" (did you mean "holdout"?)' \
	    kp-predict -m m.kpm --split hold-out a.csv
	fails 2 'kp-predict: --unseen-group: not prior, error or skip: "x"' \
	    kp-predict -m m.kpm --unseen-group x a.csv
	fails 2 "kp-predict: --keep and --only-predictions exclude each other" \
	    kp-predict -m m.kpm --keep id --only-predictions a.csv
	fails 2 "kp-predict: --keep: no column named" \
	    kp-predict -m m.kpm --keep , a.csv
}

@test "TSV without a header and with --ragged pad" {
	grep -v '"' a.csv | tail -n +2 | cut -d, -f2,3,4,7 | tr , '\t' >t.tsv
	kp-featurize -q --delimiter $'\t' --no-header --ragged pad \
	    --group-by 1 --label 4 --positive yes t.tsv -o t.data
	kp-train -q -p 1 --learner logistic t.data -o t
	kp-select -q t -o t.kpm >/dev/null
	kp-predict -m t.kpm t.tsv >s.tsv
	cut -f1-4 s.tsv | cmp - t.tsv
	printf 'A\t1\n' | kp-predict -m t.kpm | grep -q $'^A\t1\t\t\t0\..*\tgroup$'
	kp-predict -m t.kpm --keep 2 t.tsv | cut -f1 | cmp - <(cut -f2 t.tsv)
}

@test "regression predicts values" {
	LEARNER=linear train a.csv lin --label delay --task regression \
	    --drop late,id,w
	kp-select -q lin -o lin.kpm >/dev/null
	kp-predict -q -m lin.kpm --split holdout --metrics l.json a.csv >s.csv
	json_of l.json |
	    cmp - <(kp-select -q --json lin | grep -v '"holdout_rows":0' | json_of /dev/stdin)
	awk -F, 'NR > 1 { n++; e += ($8 - $(NF - 1)) ^ 2; m += $8; q += $8 ^ 2 }
	    END { exit !(e < (q - m * m / n) / 2) }' <(grep -v '"' s.csv)
}

@test "libsvm lines get their answer as a comment" {
	awk 'BEGIN { for (i = 1; i <= 200; i++) { x = (i * 37) % 100
		printf "%s 1:%s 3:1%s\n", (x + (i * 61) % 40 > 70 ? "+1" : "-1"),
		    x / 100, i % 9 ? "" : " # note" } }' >a.svm
	kp-featurize -q --format libsvm --positive +1 a.svm -o s.data
	kp-train -q -p 1 --learner logistic s.data -o s
	kp-select -q s -o s.kpm >/dev/null
	kp-predict -m s.kpm a.svm >out.svm
	sed -E 's/ # [^ ]* group$//' out.svm | cmp - a.svm
	# the answers can be read again, and are the same
	kp-predict -m s.kpm out.svm | sed -E 's/ # [^ ]* group$//' | cmp - out.svm
	# features beyond those of training add nothing
	equal "$(echo '+1 1:0.5 3:1' | kp-predict -m s.kpm --only-predictions)" \
	    "$(echo '+1 1:0.5 3:1 7:100' | kp-predict -m s.kpm --only-predictions)"
	fails 2 "kp-predict: --keep: libsvm input has no columns" \
	    kp-predict -m s.kpm --keep 1 a.svm
}

@test "the label of a libsvm line is not looked at unless it matters" {
	awk 'BEGIN { for (i = 1; i <= 200; i++)
		print 3 * i % 70, "1:" i % 70 / 70, "2:" i % 3 }' >a.svm
	kp-featurize -q --format libsvm --task regression a.svm -o v.data
	kp-train -q -p 1 --learner linear v.data -o v
	kp-select -q v -o v.kpm >/dev/null
	kp-predict -m v.kpm --only-predictions a.svm >want
	sed 's/^[0-9]*/tbd/' a.svm >tbd.svm
	kp-predict -m v.kpm --only-predictions tbd.svm | cmp - want
	fails 3 'kp-predict: tbd.svm:1:1: the label is not a number: "tbd" (see --bad-number)' \
	    kp-predict -m v.kpm --metrics m.json tbd.svm
}

@test "lines that are no pairs and begin with no number are not libsvm" {
	awk 'BEGIN { for (i = 1; i <= 200; i++)
		print (i % 3 ? "+1" : "-1"), "1:" i % 70 / 70, "2:" i % 5 }' >a.svm
	sed 's/^.1/word&/' a.svm >words.svm
	printf 'a,b,c\n1,2,3\n' >a-b-c.csv
	printf '%s\n' '1 1:0.5' '1,0.5,3' >after.csv
	local p='the label is not a number'
	local o
	for o in '--task binary' '--positive +1' '--task regression'; do
		# shellcheck disable=SC2086
		kp-featurize -q -f --format libsvm $o a.svm -o n.data
		rm -rf n
		if [ "$o" = '--task regression' ]; then
			kp-train -q -p 1 --learner linear n.data -o n
		else
			kp-train -q -p 1 --learner logistic n.data -o n
		fi
		kp-select -q n -o n.kpm >/dev/null
		fails 3 "kp-predict: a-b-c.csv:1:1: $p: \"a,b,c\"" \
		    kp-predict -m n.kpm a-b-c.csv
		run --separate-stderr kp-predict -m n.kpm after.csv
		equal "$status $stderr" \
		    "3 kp-predict: after.csv:2:1: $p: \"1,0.5,3\""
		# A row without features has a label, or a word for none.
		equal "$(printf '%s\n' +1 7 '?' NA | sed 's/?/NaN/' |
		    kp-predict -m n.kpm | wc -l)" 4
	done
	kp-featurize -q --format libsvm --task binary words.svm -o w.data
	kp-train -q -p 1 --learner logistic w.data -o w
	kp-select -q w -o w.kpm >/dev/null
	equal "$(echo tbd | kp-predict -m w.kpm | wc -l)" 1
}

@test "rows held out by time are told again" {
	train a.csv tm --label late --positive yes --holdout-last 0.2 \
	    --time when --drop delay,id
	kp-select -q tm -o tm.kpm >/dev/null
	kp-predict -q -m tm.kpm --split holdout --metrics t.json a.csv >/dev/null
	json_of t.json |
	    cmp - <(kp-select -q --json tm | grep -v '"holdout_rows":0' | json_of /dev/stdin)
}

@test "rows held out by a column are told again" {
	awk -F, -v OFS=, 'NR == 1 { print $0, "part"; next }
	    { print $0, NR % 5 ? "train" : NR % 2 ? "test" : "holdout" }' \
	    a.csv >p.csv
	train p.csv cl --label late --positive yes --split part \
	    --drop delay,id
	kp-select -q cl -o cl.kpm >/dev/null
	kp-predict -q -m cl.kpm --split holdout --metrics t.json p.csv >h.csv
	equal "$(tail -n +2 h.csv | grep -vc ',D,.*holdout\|,holdout,')" 0
	json_of t.json |
	    cmp - <(kp-select -q --json cl | grep -v '"holdout_rows":0' | json_of /dev/stdin)
}

# same_holdout FILE FEATURIZE-OPTION...: trains h.kpm on FILE, and checks that
# kp-predict gives the hold-out metrics and number of rows of kp-select; the
# hold-out rows are left in h.csv.
same_holdout() {
	local file=$1
	shift
	rm -rf h h.data
	kp-featurize -q "$@" "$file" -o h.data
	kp-train -q -p 2 --learner logistic --param l2=log:1e-6:1 \
	    --search grid:4 h.data -o h
	kp-select -q h -o h.kpm >/dev/null
	kp-select -q --json h | grep -v '"holdout_rows":0' >want.json
	kp-predict -q -m h.kpm --split holdout --metrics m.json "$file" >h.csv
	json_of want.json >want
	[ "$(wc -l <want)" -ge 3 ]
	json_of m.json | cmp - want
	head -n 1 m.json | grep -q "^{\"group\":null,\"rows\":$(
		sed -n 's/.*"holdout_rows":\([0-9]*\).*/\1/p' want.json |
		    awk '{ n += $1 } END { print n }'),"
}

@test "hashed categories score as in training" {
	# 400 values, 256 hashes
	rows 1500 | awk -F, -v OFS=, '!/"/ {
		print $1, $2, $3, NR == 1 ? $4 : $4 NR % 200, $6, $7, $8 }' >in.csv
	same_holdout in.csv --hash-bits 8 --label late --positive yes \
	    --group-by site --drop id,delay --weight w
	sed '1!s/,\(red\|green\)/,new-\1/' in.csv >new.csv
	kp-predict -q -m h.kpm --only-predictions in.csv >a
	kp-predict -q -m h.kpm --only-predictions new.csv >b
	run cmp -s a b
	equal "$status" 1
}

@test "fields are trimmed as in training" {
	rows 600 | grep -v '"' | cut -d, -f1-4,6- >tight.csv
	awk -F, -v OFS=, 'NR == 1 { print $1, " " $2, $3 "\t", $4, $5, $6, $7 }
	    NR > 1 { print $1 " ", " " $2, "\t" $3, NR % 3 ? $4 : " " $4 "  ",
	        " " $5, $6 " ", $7 }' tight.csv >in.csv
	same_holdout in.csv --trim --label late --positive yes --group-by site \
	    --drop id,delay --weight w
	# and so are the answers to what needs no trimming
	kp-predict -q -m h.kpm --only-predictions in.csv >a
	kp-predict -q -m h.kpm --only-predictions tight.csv | cmp - a
	kp-predict -q -m h.kpm --split holdout tight.csv |
	    sed 's/.*,\([^,]*,[^,]*\)$/\1/' >b
	sed 's/.*,\([^,]*,[^,]*\)$/\1/' h.csv | cmp - b
}

@test "CSV without a header scores as in training" {
	rows 600 | tail -n +2 >in.csv
	same_holdout in.csv --no-header --label 7 --positive yes --group-by 2 \
	    --datetime 5 --weight 6 --drop 1,8
	# no header in, none out
	[ "$(wc -l <h.csv)" -gt 30 ]
	equal "$(grep -vc '^[0-9]' h.csv)" 0
	kp-predict -q -m h.kpm in.csv | without_answers | cmp - in.csv
	# all at once
	sed 's/,/ , /; s/$/ /' in.csv >spaced.csv
	same_holdout spaced.csv --no-header --trim --hash-bits 12 --label 7 \
	    --positive yes --group-by 2 --datetime 5 --weight 6 --drop 1,8
}

@test "group keys that look alike are told apart" {
	awk 'BEGIN { print "site,x,late"
		n = split("|NA|nan|0|a/b|../x", key, "|")
		for (i = 0; i < 240; i++) {
			k = 1 + i % n
			x = (i * 37) % 100
			print key[k] "," x "," ((i * 61) % 100 < 10 * k + x / 3) } }' \
	    >k.csv
	kp-featurize -q --label late --positive 1 --group-by site --holdout 0 \
	    k.csv -o k.data
	kp-train -q -p 2 --learner logistic k.data -o k
	kp-select -q k -o k.kpm >/dev/null
	for key in '' NA nan 0 a/b ../x; do
		printf 'site,x\n%s,50\n' "$key" |
		    kp-predict -m k.kpm --only-predictions | tail -n 1
	done >answers
	equal "$(sort -u answers | grep -c ',group$')" 6
}

@test "a hyphen is standard output, for the rows or for the metrics" {
	kp-predict -q -m m.kpm -o - a.csv >rows.out
	kp-predict -q -m m.kpm -o rows.file --metrics - a.csv >metrics
	kp-predict -q -m m.kpm --metrics m.json a.csv >rows.same
	cmp rows.out rows.file
	cmp metrics m.json
	[ ! -e ./- ]
	fails 2 "kp-predict: --metrics - needs -o FILE: rows go to standard output" \
	    kp-predict -m m.kpm --metrics - a.csv
}

@test "the examples in the manuals of kp-select, kp-predict and kp-report run" {
	need jq
	rows 400 | sed '1s/.*/id,origin,distance,colour,date,w,late,delay/
	    s/,A,/,ATL,/' >flights.csv
	kp-featurize -q --label late --positive yes --group-by origin \
	    --datetime date --drop id,w flights.csv -o data
	rm run
	kp-train -q -p 2 --learner logistic data -o run
	head -n 20 flights.csv >tomorrow.csv
	for page in kp-select kp-predict kp-report; do
		sed -n 's/^\.Dl \$ //p' "$ROOT/man/$page.1"
	done >examples
	equal "$(wc -l <examples)" 9
	while read -r line; do
		bash -eo pipefail -c "$line" >out || { echo "$line"; false; }
		equal "$([ -s out ] || [ "${line##* -o }" != "$line" ] ||
		    [ "${line##*>}" != "$line" ] || echo "no output: $line")" ""
	done <examples
	[ -s scored.csv ] && [ -s m.json ] && [ -s train.csv ] &&
	    [ -s report.txt ]
}
