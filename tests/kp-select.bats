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

# column NAME of the TSV on stdin, without the header
column() {
	awk -F'\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++)
		if ($i == name) c = i; next } { print $c }'
}

@test "one line a group, with the columns that the task has" {
	equal "$(head -n 1 select.tsv)" \
	    $'group\trows\tholdout_rows\tconfig\tstatus\treason\tlevel\tlogloss\tauc\taccuracy\tbrier\trmse\tmae\tr2'
	equal "$(column group <select.tsv | paste -sd' ')" "A B C D"
	equal "$(column status <select.tsv | paste -sd' ')" \
	    "trained trained fallback fallback"
	equal "$(column reason <select.tsv | paste -sd,)" \
	    "converged,converged,one class,too few rows"
	equal "$(column level <select.tsv | paste -sd' ')" \
	    "group group prior prior"
}

@test "rows are those of the input, hold-out rows those scored" {
	for g in A B C D; do
		grep -c "^[0-9]*,$g," a.csv
	done | cmp - <(column rows <select.tsv)
	kp-predict -q -m m.kpm --split holdout a.csv | tail -n +2 >h.csv
	for g in A B C; do
		grep -c "^[0-9]*,$g," h.csv
	done | cmp - <(column holdout_rows <select.tsv | head -n 3)
}

@test "--json has the keys, null where a metric is undefined" {
	kp-select -q --json run >j
	equal "$(wc -l <j)" 4
	equal "$(head -n 1 j | grep -o '"[a-z_0-9]*":' | paste -sd' ')" \
	    '"group": "rows": "holdout_rows": "config": "l2": "l1": "solver": "standardize": "intercept": "tolerance": "learning_rate": "schedule": "decay": "batch": "momentum": "nesterov": "average": "status": "reason": "level": "metrics": "logloss": "auc": "accuracy": "brier": "rmse": "mae": "r2": "deviance": "pinball":'
	sed -n 3p j | grep -q '"config":null,"status":"fallback","reason":"one class","level":"prior","metrics":{"logloss":0\.[0-9]*,"auc":null,'
}

@test "a bundle prints the table of its run" {
	kp-select m.kpm | cmp - select.tsv
	cmp <(kp-select --json m.kpm) <(kp-select -q --json run)
}

@test "the summary is on stderr, and -q leaves it out" {
	run --separate-stderr kp-select run
	equal "$stderr" "kp-select: 4 groups: 2 trained, 2 fallback, 0 stopped, 0 failed"
	run --separate-stderr kp-select -q run
	equal "$stderr" ""
}

@test "--by selects by another metric" {
	# Of every config, A's best AUC is at least that of the logloss choice.
	kp-select -q --by auc run >auc.tsv
	awk -v a="$(column auc <auc.tsv | head -n 1)" \
	    -v b="$(column auc <select.tsv | head -n 1)" 'BEGIN { exit !(a >= b) }'
	fails 2 'kp-select: --by: no metric "logless" (did you mean "logloss"?)' \
	    kp-select --by logless run
	LEARNER=linear train a.csv lin --label delay --task regression \
	    --drop late,id,w
	fails 2 "kp-select: --by: auc means nothing for this task" \
	    kp-select --by auc lin
	equal "$(kp-select -q lin | head -n 1 | cut -f8-)" \
	    $'rmse\tmae\tr2'
	# A deviance means little of other learners than poisson.
	equal "$(kp-select -q --by deviance lin | head -n 1 | cut -f8-)" \
	    $'rmse\tmae\tr2\tdeviance'
}

@test "a tie goes to the simpler config" {
	# By accuracy many configs are equal on a few rows.
	kp-featurize -q --group-by site --label late --positive yes \
	    --drop delay,id,w,when a.csv -o t.data
	kp-train -q -p 1 --learner logistic --param l2=1e-3,1e-2,1e-9 \
	    t.data -o t
	kp-select -q --by accuracy --json t >j
	kp-train -q -p 1 --learner logistic --param l2=1e-2,1e-9,1e-3 \
	    t.data -o u
	cmp <(kp-select -q --by accuracy --json u) j
}

@test "a group without hold-out rows takes what is best for the others" {
	awk -F, -v OFS=, 'NR == 1 { print $0, "part"; next }
	    { print $0, $2 != "B" && NR % 3 == 0 ? "holdout" : "train" }' \
	    a.csv >p.csv
	train p.csv sh --label late --positive yes --split part \
	    --drop delay,id,w
	kp-select -q sh >t.tsv
	equal "$(column level <t.tsv | paste -sd' ')" "group shared prior prior"
	equal "$(column holdout_rows <t.tsv | sed -n 2p)" 0
	# A alone has a value, so B follows it.
	equal "$(column config <t.tsv | sed -n 2p)" \
	    "$(column config <t.tsv | sed -n 1p)"
}

@test "groups chosen on few hold-out rows are counted, --min-holdout shares them" {
	awk -F, -v OFS=, 'NR == 1 { print $0, "part"; next }
	    { held = $2 == "B" ? ++n <= 9 : NR % 3 == 0
	      print $0, held ? "holdout" : "train" }' a.csv >p.csv
	train p.csv few --label late --positive yes --split part \
	    --drop delay,id,w
	run --separate-stderr kp-select few
	equal "$stderr" \
	    "kp-select: 1 of 4 groups was chosen on fewer than 10 hold-out rows (see --min-holdout)
kp-select: 4 groups: 2 trained, 2 fallback, 0 stopped, 0 failed"
	equal "$(column level <<<"$output" | paste -sd' ')" \
	    "group group prior prior"
	run --separate-stderr kp-select --min-holdout 10 few
	equal "$stderr" \
	    "kp-select: 4 groups: 2 trained, 2 fallback, 0 stopped, 0 failed"
	equal "$(column level <<<"$output" | paste -sd' ')" \
	    "group shared prior prior"
	run --separate-stderr kp-select -q few
	equal "$stderr" ""
	# With one config there was no choice.
	kp-train -q -p 1 --learner logistic few.data -o one
	run --separate-stderr kp-select one
	equal "$stderr" \
	    "kp-select: 4 groups: 2 trained, 2 fallback, 0 stopped, 0 failed"
}

@test "without any hold-out rows the training objective selects, said once" {
	train a.csv none --label late --positive yes --holdout 0 \
	    --drop delay,id,w
	run --separate-stderr kp-select none
	equal "$stderr" \
	    "kp-select: no group has a hold-out value of logloss: selected by the training objective
kp-select: 4 groups: 2 trained, 2 fallback, 0 stopped, 0 failed"
	equal "$(column level <<<"$output" | paste -sd' ')" \
	    "objective objective prior prior"
	equal "$(column config <<<"$output" | sed -n 1p)" "l2=1e-06"
}

# Labels of the sites named become too large to square.
overflow() {
	awk -F, -v OFS=, -v site="$1" 'NR > 1 && index(site, $2) {
		$NF = NR "e90" } { print }' a.csv >huge.csv
}

@test "a group in which every config diverges has failed: exit 4, bundle all the same" {
	overflow B
	LEARNER=linear train huge.csv big --label delay --task regression \
	    --drop late,id,w || true
	run --separate-stderr kp-select big -o big.kpm
	equal "$status" 4
	equal "$(column status <<<"$output" | sed -n 2p)" failed
	equal "$(column reason <<<"$output" | sed -n 2p)" "not finite"
	kp-predict -q -m big.kpm a.csv | grep ',A,' | grep -q ',group$'
	kp-predict -q -m big.kpm a.csv | grep ',B,' | grep -q ',prior$'
}

@test "fallback groups are no failure, but under --strict" {
	run kp-select -q run
	equal "$status" 0
	run kp-select -q --strict run
	equal "$status" 4
}

@test "an unfinished run is refused, --partial takes what is there" {
	cp -r run/ part
	rm part/summary.json
	fails 7 "kp-select: part: not finished (resume it with kp-train)" \
	    kp-select part
	kp-select -q --partial part | cmp - select.tsv
	rm -r part/journal
	kp-select -q --partial part >t.tsv
	equal "$(column status <t.tsv | paste -sd' ')" \
	    "stopped stopped fallback fallback"
	equal "$(column reason <t.tsv | head -n 1)" "0 of 4 configs finished"
}

@test "the dataset may move, but must be the same" {
	cp -r run/ moved
	cp -r run.data/ elsewhere
	sed -i 's,"[^"]*run.data","/nonexistent",' moved/plan.json
	fails 1 "kp-select: the dataset (see --data): /nonexistent: No such file or directory" \
	    kp-select moved
	kp-select -q --data elsewhere moved | cmp - select.tsv
	rows 500 2 >b.csv
	kp-featurize -q --group-by site --datetime when --label late \
	    --positive yes --drop delay,id,w b.csv -o other
	fails 6 "kp-select: run: was trained on other data than other: that has been made anew since, or is another dataset" \
	    kp-select --data other run
}

@test "--show prints the coefficients on the raw scale, largest first" {
	awk -v OFS=, 'BEGIN { print "site,x,y,k,out"
		for (i = 0; i < 300; i++) {
			x = (i * 37) % 101; y = (i * 53) % 97 / 1000
			print "only", x, y, (i % 2 ? "odd" : "even"),
			    2 + 3 * x - 40 * y + (i % 2 ? 5 : 0) } }' >e.csv
	kp-featurize -q --group-by site --label out --task regression \
	    --holdout 0 --float64 all e.csv -o e.data
	kp-train -q -p 1 --learner linear --param l2=0 \
	    --param tolerance=1e-12 e.data -o e
	kp-select -q e -o e.kpm >/dev/null
	kp-select --show only e.kpm >show
	kp-select --show only e | cmp - show
	equal "$(cut -f1,2 show | paste -sd' ')" \
	    $'feature\tvalue (intercept)\t y\t x\t k\teven k\todd' ||
	    equal "$(cut -f1,2 show | paste -sd' ')" \
	        $'feature\tvalue (intercept)\t y\t x\t k\todd k\teven'
	near "$(awk -F'\t' '$1 == "x" { print $3 }' show)" 3 1e-4
	near "$(awk -F'\t' '$1 == "y" { print $3 }' show)" -40 1e-4
	near "$(awk -F'\t' '$2 == "odd" { o = $3 } $2 == "even" { e = $3 }
	    END { print o - e }' show)" 5 1e-4
	kp-select --show only --json e.kpm | grep -q \
	    '^{"feature":"k","value":"odd","missing":false,"coefficient":'
	kp-select --show A m.kpm | grep -q $'^x\t\\\\N\t'
}

@test "--show of a group that is not there, or has no model" {
	fails 2 'kp-select: --show: no group "Z"' kp-select --show Z run
	fails 2 'kp-select: --show: no group "Z"' kp-select --show Z m.kpm
	fails 2 'kp-select: --show: no group "a" (did you mean "A"?)' \
	    kp-select --show a run
	fails 2 'kp-select: --show: no group "a" (did you mean "A"?)' \
	    kp-select --show a m.kpm
	for from in run m.kpm; do
		run --separate-stderr kp-select --show C $from
		equal "$status" 0
		equal "$stderr" \
		    'kp-select: "C" has no model of its own (fallback: one class), but answers a constant'
		equal "${lines[0]}" $'feature\tvalue\tcoefficient'
		equal "${#lines[@]}" 2
		equal "${lines[1]%%0.*}" $'(constant)\t\t'
		answer=$(printf 'site,x,colour,when\nC,1,red,2024-01-02\n' |
		    kp-predict -q -m m.kpm --only-predictions |
		    sed -n '2s/,.*//p')
		equal "${lines[1]##*$'\t'}" "$answer"
	done
	kp-select -q --json --show C m.kpm | grep -q \
	    '^{"feature":"(constant)","value":null,"missing":false,"coefficient":0'
}

@test "the bundle is whole or absent, an older one stays" {
	fails 1 "kp-select: nowhere/m.kpm: No such file or directory" \
	    kp-select run -o nowhere/m.kpm
	fails 1 "kp-select: /dev/full: No space left on device" \
	    kp-select run -o /dev/full
	cp -L m.kpm old.kpm
	run kp-select part-that-is-not -o old.kpm
	equal "$status" 1
	cmp old.kpm m.kpm
}

@test "the bytes of a bundle do not depend on the number of workers" {
	for p in 1 2 3; do
		kp-train -q -p $p --learner logistic --param l2=log:1e-6:1 \
		    --search grid:4 run.data -o run$p
		kp-select -q run$p -o $p.kpm >/dev/null
		cmp $p.kpm m.kpm
	done
}

@test "what is neither run nor bundle is told" {
	fails 6 "kp-select: a.csv: a file, not a run (kp-train makes one)" \
	    kp-select a.csv
	fails 6 "kp-select: run.data: a dataset, not a run (kp-train makes one)" \
	    kp-select run.data
	fails 1 "kp-select: none: No such file or directory" kp-select none
	fails 2 "kp-select: m.kpm: is a bundle: only --show, --json and -q apply" \
	    kp-select m.kpm --by auc
	head -c 1000 m.kpm >short.kpm
	run --separate-stderr kp-select short.kpm
	equal "$status" 6
}

@test "a full disk is exit 1, a reader that leaves early is none" {
	run bash -c 'kp-select -q run >/dev/full'
	equal "$status" 1
	equal "$output" "kp-select: standard output: No space left on device"
	run --separate-stderr bash -c 'kp-select -q run | head -n 1'
	equal "$status" 0
	equal "$stderr" ""
}

@test "composite keys are arrays" {
	kp-featurize -q --group-by site --group-by colour --label late \
	    --positive yes --drop delay,id,w,when a.csv -o c.data
	kp-train -q -p 2 --learner logistic c.data -o c
	kp-select -q c -o c.kpm >c.tsv
	grep -q '^\["A","blue,teal"\]	' c.tsv
	kp-select -q --json c | grep -q '^{"group":\["A","blue,teal"\],'
	kp-select --show '["A","red"]' c.kpm | grep -q '^(intercept)'
	for from in c c.kpm; do
		fails 2 "kp-select: --show: not a JSON array of 2 strings, such as '[\"A\",\"blue,teal\"]': \"A\"" \
		    kp-select --show A $from
		fails 2 'kp-select: --show: no group "["A","rad"]" (did you mean "["A","red"]"?)' \
		    kp-select --show '["A","rad"]' $from
	done
}

@test "a metric undefined in most groups is warned of" {
	awk 'BEGIN {
		print "g,x,y"
		for (g = 0; g < 7; g++)
			for (i = 0; i < 40; i++)
				print "g" g "," i % 7 "," i % 5 - (g < 5)
	}' >counts.csv
	kp-featurize -q --label y --task regression --group-by g counts.csv \
	    -o counts
	kp-train -q -p 1 --learner linear counts -o amounts
	run -0 --separate-stderr kp-select --by deviance amounts
	equal "$stderr" "kp-select: deviance is undefined on the hold-out rows of 5 of 7 groups (see --by)
kp-select: 7 groups: 7 trained, 0 fallback, 0 stopped, 0 failed"
	run -0 --separate-stderr kp-select --by mae amounts
	equal "$stderr" \
	    "kp-select: 7 groups: 7 trained, 0 fallback, 0 stopped, 0 failed"
	# Of fewer than half of the groups it is as usual.
	grep -v '^g[0-3]' counts.csv >fewer.csv
	kp-featurize -q --label y --task regression --group-by g fewer.csv \
	    -o fewer
	kp-train -q -p 1 --learner linear fewer -o few-amounts
	run -0 --separate-stderr kp-select --by deviance few-amounts
	equal "$stderr" \
	    "kp-select: 3 groups: 3 trained, 0 fallback, 0 stopped, 0 failed"
}
