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
	equal "$(grep -c '^ *[0-9]*  l2=' r)" 4
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
