load helper
load models

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	rows 600 >a.csv
	train a.csv run --label late --positive yes --drop delay,id,w
	kp-select -q run -o m.kpm >select.tsv
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR"/* .
}

@test "groups are counted by status, with reasons" {
	kp-report run >r
	grep -qx "groups      4" r
	grep -qx "  trained   2  (2 converged)" r
	grep -qx "  fallback  2  (1 one class, 1 too few rows)" r
	grep -qx "  failed    0" r
}

@test "--text is the default" {
	cmp <(kp-report --text run) <(kp-report run)
}

@test "the counts of selected configs add up to the groups with a model" {
	kp-report run >r
	equal "$(awk '/^configs/ { on = 1; next } on && /^$/ { exit }
	    on && /l2=/ { n += $1 } END { print n }' r)" 2
	equal "$(grep -c '^ *0  l2=' r)" 0
	never=$(grep -c '^ *[0-9]*  l2=' r)
	grep -qx "     never  $((4 - never)) of them" r
}

@test "a config selected most at the edge of what was tried is noted" {
	# Groups of pure noise: the more penalty the better.
	awk -v OFS=, 'BEGIN { s = 5; print "site,x,y,late"
		for (i = 0; i < 900; i++) {
			for (k = 0; k < 3; k++) {
				s = (s * 69069 + 12345) % 4294967296
				v[k] = s / 4294967296
			}
			print "G" i % 3, v[0], v[1], (v[2] > .5 ? "yes" : "no")
		} }' >n.csv
	kp-featurize -q --group-by site --label late --positive yes \
	    --holdout 0.5 n.csv -o n.data
	kp-train -q -p 1 --learner logistic --param l2=0,0.001,0.1 n.data \
	    -o n
	kp-report n | grep -qx "  note      2 of 3 groups chose the largest l2 tried"
	# Of what makes no model simpler, too.
	kp-train -q -p 1 --learner svm --param learning_rate=1e-7,1e-6,1e-5 \
	    n.data -o rate
	kp-report rate | grep -q "^  note      [23] of 3 groups chose the [a-z]* learning_rate tried$"
	# Less than none is not to be had.
	kp-train -q -p 1 --learner logistic --param l2=0 n.data -o zero
	equal "$(kp-report zero | grep -c note)" 0
	# Nor is the edge of two values a range.
	kp-train -q -p 1 --learner logistic --param l2=0,0.1 n.data -o two
	equal "$(kp-report two | grep -c note)" 0
}

@test "quality comes before the workers" {
	equal "$(kp-report run | grep -o '^[a-z]*' | paste -sd' ')" \
	    "run data rows groups configs logloss workers"
}

@test "what is no mean over rows is called the mean of groups' values" {
	kp-report run | grep -q "^logloss     row-weighted mean of [23] groups, [0-9]* hold-out rows$"
	kp-report --by auc run | grep -q "^auc         row-weighted mean of the values of 2 groups, [0-9]* hold-out rows$"
}

@test "groups of few hold-out rows are not ranked where others are enough" {
	# P, Q and R hold out 20 rows, S two.
	awk -v OFS=, 'BEGIN { print "g,x,late,part"
		for (i = 0; i < 320; i++)
			print substr("PQRS", 1 + i % 4, 1), i * 37 % 101,
			    (i * 61 % 97 + i * 37 % 101 > 99 ? "yes" : "no"),
			    (i % 4 < 3 ? i >= 240 : i > 312) ? "holdout" : "train"
	}' >r.csv
	kp-featurize -q --group-by g --label late --positive yes --split part \
	    r.csv -o r.data
	kp-train -q -p 1 --learner logistic r.data -o r
	kp-report r >text
	grep -q "^  rank  *logloss  holdout_rows  group  (1 of fewer than 20 hold-out rows left out)$" text
	equal "$(awk '$1 ~ /^(best|median|worst)$/ { print $(NF - 1) }' text |
	    sort | paste -sd' ')" "P Q R"
	# With two groups of enough rows all are ranked.
	grep -v '^R' r.csv >q.csv
	kp-featurize -q --group-by g --label late --positive yes --split part \
	    q.csv -o q.data
	kp-train -q -p 1 --learner logistic q.data -o q
	kp-report q >text
	grep -q "^  rank  *logloss  holdout_rows  group$" text
	equal "$(awk '$1 ~ /^(best|median|worst)$/ { print $(NF - 1) }' text |
	    sort | paste -sd' ')" "P Q S"
}

@test "a run of one group has one line of ranking" {
	kp-featurize -q --label late --positive yes --drop delay,id,w,when \
	    a.csv -o o.data
	kp-train -q -p 1 --learner logistic o.data -o o
	kp-report o >text
	equal "$(sed -n '/^  rank/,/^$/p' text | grep -c .)" 2
	grep -q "^  only .* all  defaults$" text
}

@test "every worker has a line, no busier than the makespan" {
	kp-report run >r
	grep -Eq '^workers     2, makespan [0-9.]+ s, busy [0-9.]+ %$' r
	awk '/^  worker / { on = 1; next } on && /^$/ { exit }
	    on { n++; if ($3 > 100.1) exit 1 } END { exit n != 2 }' r
}

@test "the models' mean is the row-weighted mean of kp-select" {
	kp-report run >r
	want=$(awk -F'\t' 'NR > 1 && $8 != "nan" { s += $3 * $8; n += $3 }
	    END { printf "%.10g", s / n }' select.tsv)
	near "$(awk '$1 == "models" { print $2 }' r)" "$want" 1e-5
}

@test "the prior is the group's smoothed share, scored on the same rows" {
	want=$(for part in train holdout; do
		kp-predict -q -m m.kpm --split $part --keep site,late a.csv |
		    sed "1d; s/^/$part,/"
	done | awk -F, '
	    $1 == "train" { n[$2]++; y[$2] += $3 == "yes"; N++; Y += $3 == "yes" }
	    $1 == "holdout" { h[++k] = $2; l[k] = $3 == "yes" }
	    END { for (i = 1; i <= k; i++) {
		p = (y[h[i]] + 10 * Y / N) / (n[h[i]] + 10)
		s -= log(l[i] ? p : 1 - p) }
		printf "%.10g", s / k }')
	near "$(kp-report run | awk '$1 == "prior" { print $2; exit }')" \
	    "$want" 1e-5
	kp-report run | awk '$1 == "models" { m = $2 } $1 == "prior" { p = $2 }
	    $1 == "gain" { g = $2 } END { d = g - 100 * (p - m) / p
		exit !(d < .01 && d > -.01) }'
}

@test "the best, median and worst groups are named" {
	kp-report run >r
	best=$(awk -F'\t' 'NR > 1 && $8 != "nan" { print $8 "\t" $1 }' \
	    select.tsv | sort -g | head -n 1 | cut -f2)
	worst=$(awk -F'\t' 'NR > 1 && $8 != "nan" { print $8 "\t" $1 }' \
	    select.tsv | sort -g | tail -n 1 | cut -f2)
	equal "$(awk '$1 == "best" { print $4 }' r)" "$best"
	equal "$(awk '$1 == "worst" { print $4; exit }' r)" "$worst"
}

@test "without hold-out rows there is no gain to tell" {
	train a.csv none --label late --positive yes --holdout 0 \
	    --drop delay,id,w
	kp-report none | grep -qx "logloss     no group has a hold-out value"
}

@test "an unfinished run is refused, but with --partial" {
	cp -r run/ part
	rm part/summary.json
	fails 7 "kp-report: part: not finished (resume it with kp-train)" \
	    kp-report part
	kp-report --partial part | grep -qx "run         part (not finished)"
}

@test "what is no run is told" {
	fails 6 "kp-report: a.csv: a file, not a run (kp-train makes one)" \
	    kp-report a.csv
	fails 6 "kp-report: m.kpm: a bundle, not a run (kp-train makes one)" \
	    kp-report m.kpm
	fails 6 "kp-report: run.data: a dataset, not a run (kp-train makes one)" \
	    kp-report run.data
	fails 1 "kp-report: none: No such file or directory" kp-report none
	fails 2 'kp-report: --by: no metric "x"' kp-report --by x run
}

@test "a full disk is exit 1, -o leaves a whole file or none" {
	run bash -c 'kp-report run >/dev/full'
	equal "$status" 1
	equal "$output" "kp-report: standard output: No space left on device"
	kp-report -o r.txt run
	cmp r.txt <(kp-report run)
}

# Units of the timeline on stdin, as columns.
units() {
	jq -r '[.start, .worker, .end, .rows, .kind, .shard] | @tsv'
}

@test "--timeline gives the units in order, one at a time on each worker" {
	kp-report --timeline run >t
	units <t >u
	sort -c -k1,1g -k2,2g u
	awk '$3 < $1 || $1 < last[$2] - 2e-6 { bad++ } { last[$2] = $3 }
	    END { exit bad || !NR }' u
	# Rows of all units are those that --text counts.
	equal "$(awk '{ n += $4 } END { print n, NR }' u)" \
	    "$(kp-report run | awk '/worker  / { on = 1; next }
		on { rows += $5; n += $4 } END { print rows, n }')"
}

@test "a run leaves its timeline behind, which is what --timeline gives" {
	cmp run/timeline.jsonl <(kp-report --timeline run)
	kp-report --timeline -o t run
	cmp t run/timeline.jsonl
	run bash -c 'kp-report --timeline run >/dev/full'
	equal "$status" 1
	equal "$output" "kp-report: standard output: No space left on device"
	kp-report --timeline run | head -1 | jq -e 'keys_unsorted ==
	    ["worker", "group", "pack", "epoch", "shard", "kind", "start",
	     "end", "rows", "bytes"]'
}

@test "--timeline and --against do not need a finished run or its data" {
	cp -r run/ part
	rm part/summary.json
	sed -i 's|"data": ".*"|"data": "/gone"|' part/plan.json
	cmp <(kp-report --timeline part) run/timeline.jsonl
	kp-report --against run/timeline.jsonl part >laid
	# The file has microseconds, of a run of one or two milliseconds.
	near "$(awk '$1 == "ratio" { print $2 }' laid)" 1 0.005
}

@test "--against lays a run beside a timeline, worker by worker" {
	cat >sim <<-'END'
	{"worker":0,"group":0,"pack":0,"epoch":1,"shard":0,"kind":"train","start":1.5,"end":2.5,"rows":10,"bytes":4}
	{"worker":2,"group":1,"pack":0,"epoch":1,"shard":0,"kind":"train","start":0.5,"end":4.5,"rows":30,"bytes":0}
	{"worker":0,"group":2,"pack":0,"epoch":1,"shard":0,"kind":"score","start":2.5,"end":3,"rows":5,"bytes":1}
	END
	kp-report --against sim run >r
	grep -qx "against  makespan 4.000 s, busy 45.8 %, 3 units, 45 rows, 5 bytes" r
	# The run's part of each line is 43 columns.
	equal "$(cut -c 52- r | tail -3)" \
"      1.500      2.500         2      2.500
      0.000      4.000         0      0.000
      4.000      0.000         1      4.000"
	want=$(units <run/timeline.jsonl | awk 'NR == 1 { start = $1 }
	    { end = $3 > end ? $3 : end } END { print (end - start) / 4 }')
	near "$(awk '$1 == "ratio" { print $2 }' r)" "$want" 1e-4
	kp-report --against - -o s run <sim
	cmp r s
}

@test "--against takes a run, and refuses what is of other data" {
	kp-report --against run/timeline.jsonl run >file
	kp-report --against run run >folder
	# The file has microseconds.
	diff <(grep -o 'units.*bytes' file) <(grep -o 'units.*bytes' folder)
	near "$(awk '$1 == "ratio" { print $2 }' folder)" 1 1e-9
	rows 500 >b.csv
	train b.csv less --label late --positive yes --drop delay,id,w
	fails 6 'kp-report: less: of other data than run' \
	    kp-report --against less run
	sed '1s/"group":[0-9]*/"group":4/' run/timeline.jsonl >more
	fails 6 'kp-report: more: of other data than run: has group 4, not one of 4' \
	    kp-report --against more run
	sed '1s/"group":[0-9]*/"group":3/' run/timeline.jsonl >same
	kp-report --against same run >laid
}

@test "what is no timeline, and options that do not go with one, are told" {
	echo '{"worker":0}' >bad
	fails 6 'kp-report: bad:1: "group": missing' \
	    kp-report --against bad run
	fails 1 "kp-report: none: No such file or directory" \
	    kp-report --against none run
	: >empty
	fails 6 'kp-report: empty: no units of work' \
	    kp-report --against empty run
	fails 6 'kp-report: standard input: no units of work' \
	    kp-report --against - run </dev/null
	fails 2 "kp-report: --by does not go with --timeline" \
	    kp-report --by auc --timeline run
	fails 2 "kp-report: --against does not go with --timeline" \
	    kp-report --against bad --timeline run
	fails 2 "kp-report: --partial does not go with --against" \
	    kp-report --against bad --partial run
}
