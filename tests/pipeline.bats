#!/usr/bin/env bats
# From CSV to predictions, every program in its turn.

load helper

# Keys that other tools confuse, one a line in the bytes order of keys, as
# kp-select shows them and as CSV has them (\n is a newline, \t a tab).
long=$(printf 'é%.0s' {1..150})
shown=('' '../x' '0' 'A' 'NA' 'a' 'a/b' 'line\nbreak' 'nan' 'quo"te' 'tab\tkey'
    "$long")
written=('' '../x' '0' 'A' 'NA' 'a' 'a/b' '"line\nbreak"' 'nan' '"quo""te"'
    "tab\\tkey" "$long")

# rows N KEY...: N rows and one more for every further key, of each its own
# truth; key,x,colour,y.
rows() {
	local key keys=()
	for key in "${@:2}"; do
		keys+=("$(printf '%b' "$key")")
	done
	awk -v n="$1" 'BEGIN {
		seed = 12345
		print "key,x,colour,y"
		for (k = 1; k < ARGC; k++)
			for (i = 0; i < n + k; i++) {
				x = random() * 6 - 3
				c = substr("rgb", 1 + int(random() * 3), 1)
				z = x * (k % 5 - 2) + (c == "r") + k / 9
				y = random() < 1 / (1 + exp(-z)) ? "yes" : "no"
				printf "%s,%.4f,%s,%s\n", ARGV[k], x, c, y
			}
	}
	function random() {
		seed = (seed * 16807) % 2147483647
		return seed / 2147483647
	}' "${keys[@]}"
}

featurize() {
	kp-featurize -q --label y --positive yes --group-by key --holdout 0.25 "$@"
}

space=(--learner logistic --param l2=log:1e-6:1 --param intercept=1
    --search grid:4)

# One dataset, run and bundle for most of the tests: data, run, models.kpm.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	rows 80 "${written[@]}" >rows.csv
	featurize rows.csv -o data
	kp-train -q -p 2 "${space[@]}" data -o run
	kp-select -q -o models.kpm run >selected.tsv
	kp-select --json models.kpm >selected.json
	kp-predict -q -m models.kpm rows.csv >scored.csv
}

setup() {
	kp_setup
	F=$BATS_FILE_TMPDIR
}

# A run of the shared dataset and its bundle, with more options of kp-train.
bundle() {
	local out=$1
	shift
	kp-train -q "$@" "${space[@]}" "$F/data" -o "$out.run"
	kp-select -q -o "$out" "$out.run" >"$out.tsv"
}

same_bundle() {
	cmp "$1" "$F/models.kpm"
	cmp "$1.tsv" "$F/selected.tsv"
}

@test "keys that other tools confuse are groups of their own in kp-select" {
	local i n=81
	for i in "${!shown[@]}"; do
		# Their place in the input tells their number of rows.
		printf '%s\t%d\ttrained\tgroup\n' "${shown[i]}" $((n + i))
	done >wanted
	awk -F '\t' -v OFS='\t' 'NR > 1 { print $1, $2, $5, $7 }' \
	    "$F/selected.tsv" >got
	diff got wanted
}

@test "keys that other tools confuse are answered by their own models" {
	{
		echo key,x,colour
		printf '%b,1.25,g\n' "${written[@]}"
	} >one.csv
	kp-predict --only-predictions -m "$F/models.kpm" one.csv >got
	equal "$(tail -n +2 got | cut -d, -f2 | sort | uniq -c | tr -s ' ')" \
	    " 12 group"
	equal "$(tail -n +2 got | sort -u | wc -l)" 12
}

@test "a key is not trimmed, folded, cut or normalised: its likes are unseen" {
	{
		echo key,x,colour
		printf '%s,1.25,g\n' ' 0' '0 ' 00 0.0 Nan na B ../X ./a/b "${long}é" \
		    "${long%é}" 'tab key' "${long%é}e"
	} >one.csv
	run --separate-stderr kp-predict --only-predictions -m "$F/models.kpm" \
	    one.csv
	equal "$status" 0
	equal "$(printf '%s\n' "${lines[@]:1}" | cut -d, -f2 | sort -u)" prior
}

@test "coefficients are shown for every such key" {
	local key
	for key in "${shown[@]}"; do
		key=$(printf '%b' "$key")
		kp-select --show "$key" "$F/models.kpm" >>all
		kp-select --show "$key" "$F/models.kpm" | head -1 >>heads
	done
	equal "$(sort -u heads)" "$(printf 'feature\tvalue\tcoefficient')"
	equal "$(grep '(intercept)' all | sort -u | wc -l)" 12
}

@test "composite keys whose joined bytes are equal stay apart" {
	{
		echo 'k1,k2,x,y'
		rows 60 'a,b/c' 'a/b,c' '"a,b",' 'a,"b,"' ',ab' 'ab,' '"[""a"",",b]' |
		    tail -n +2 | sed 's/,[rgb],/,/'
	} >rows.csv
	kp-featurize -q --label y --positive yes --group-by k1 --group-by k2 \
	    rows.csv -o data
	kp-train -q "${space[@]}" data -o run
	kp-select -q -o m.kpm run | awk -F '\t' 'NR > 1 { print $2, $1 }' |
	    sort -n >got
	cat >wanted <<-'EOF'
	61 ["a","b/c"]
	62 ["a/b","c"]
	63 ["a,b",""]
	64 ["a","b,"]
	65 ["","ab"]
	66 ["ab",""]
	67 ["[\"a\",","b]"]
	EOF
	diff got wanted
	kp-predict -q -m m.kpm --only-predictions rows.csv | grep -c group >got
	equal "$(cat got)" 448
	kp-select --show '["a","b,"]' m.kpm >shown
	equal "$(sed -n 2p shown | cut -f1)" '(intercept)'
}

@test "a bundle has the same bytes for 1, 2, 3 and 7 workers" {
	local p
	for p in 1 2 3 7; do
		bundle p$p -p $p
		same_bundle p$p
	done
}

@test "a bundle has the same bytes for packs of 1 to 16 configs" {
	local w
	kp-train -q -p 3 --learner logistic --param l2=log:1e-6:1 \
	    --param l1=0,1e-4,1e-3 --search grid:6 "$F/data" -o all
	kp-select -q -o all.kpm all >all.tsv
	for w in {1..15}; do
		kp-train -q -p 2 --pack-width "$w" --learner logistic \
		    --param l2=log:1e-6:1 --param l1=0,1e-4,1e-3 \
		    --search grid:6 "$F/data" -o w
		kp-select -q -o w.kpm w >w.tsv
		cmp w.kpm all.kpm
		cmp w.tsv all.tsv
		rm -r w
	done
}

@test "a bundle has the same bytes whatever vector instructions are used" {
	local isa
	for isa in base avx2 avx512; do
		case $isa in
		base) ;;
		avx2) grep -qw avx2 /proc/cpuinfo || continue ;;
		avx512) grep -qw avx512bw /proc/cpuinfo || continue ;;
		esac
		KP_ISA=$isa bundle $isa -p 2
		same_bundle $isa
	done
}

@test "vector instructions of an unknown name are refused" {
	local why='KP_ISA: not base, avx2 or avx512: "sse9"'
	run -2 env KP_ISA=sse9 kp-predict -m "$F/models.kpm" "$F/rows.csv"
	[[ $output == "kp-predict: "*": $why" ]]
	run -2 env KP_ISA=sse9 kp-train -q -p 2 "${space[@]}" "$F/data" -o run
	[[ $output == "kp-train: "*": $why" ]]
}

@test "a bundle has the same bytes through the pipe of three programs" {
	kp-partition -p 3 "$F/data" | kp-plan "${space[@]}" |
	    kp-train -q -o run -
	kp-select -q -o piped run >piped.tsv
	same_bundle piped
}

@test "a dataset of the same input has the same bytes, whatever the memory" {
	rows 5000 "${written[@]}" >rows.csv
	featurize --memory 1M --tmpdir . rows.csv -o spilled
	featurize rows.csv -o data
	diff -r spilled data
	equal "$(ls)" "$(printf '%s\n' data rows.csv spilled)"
}

@test "kp-predict repeats the hold-out metrics of training bit for bit" {
	kp-predict -q -m "$F/models.kpm" --split holdout --metrics m.json \
	    "$F/rows.csv" >/dev/null
	sed 1d m.json | sed 's/"rows":\([0-9]*\).*"metrics"/\1/' >got
	sed 's/"rows".*"holdout_rows":\([0-9]*\).*"metrics"/\1/' \
	    "$F/selected.json" >wanted
	equal "$(wc -l <got)" 12
	diff got wanted
}

@test "kp-predict repeats the hold-out metrics of a regression bit for bit" {
	kp-featurize -q --label x --task regression --group-by key \
	    --categorical colour,y "$F/rows.csv" -o data
	kp-train -q --learner linear --param l2=log:1e-6:1 --search grid:3 \
	    data -o run
	kp-select -q -o m.kpm run >/dev/null
	kp-predict -q -m m.kpm --split holdout --metrics m.json "$F/rows.csv" \
	    >/dev/null
	sed 1d m.json | sed 's/"rows":\([0-9]*\).*"metrics"/\1/' >got
	kp-select --json m.kpm |
	    sed 's/"rows".*"holdout_rows":\([0-9]*\).*"metrics"/\1/' >wanted
	grep -q '"rmse":[0-9]' got
	diff got wanted
}

@test "training, hold-out and test rows are each row once" {
	local part
	featurize --test 0.2 "$F/rows.csv" -o data
	kp-train -q "${space[@]}" data -o run
	kp-select -q -o m.kpm run >/dev/null
	for part in train holdout test; do
		kp-predict -q -m m.kpm --split $part "$F/rows.csv" | tail -n +2 |
		    tee $part.csv
	done | sort >parts.csv
	kp-predict -q -m m.kpm "$F/rows.csv" | tail -n +2 | sort >all.csv
	diff parts.csv all.csv
	# One key is of two lines, the first without a comma.
	equal "$(grep -c , holdout.csv)" \
	    "$(awk -F '\t' 'NR > 1 { n += $3 } END { print n }' \
	        <(kp-select m.kpm))"
	[ -s test.csv ]
}

@test "data in another order, quoted otherwise, keep their split" {
	awk -F, 'NF == 4 && !/"/' "$F/rows.csv" >rows.csv
	{
		head -n 1 rows.csv
		sed '1d; s/^/"/; s/,/","/g; s/$/"/' rows.csv | tac
	} >back.csv
	kp-predict -q -m "$F/models.kpm" --split holdout --keep key,x,colour,y \
	    back.csv | tail -n +2 | sort >got
	kp-predict -q -m "$F/models.kpm" --split holdout --keep key,x,colour,y \
	    rows.csv | tail -n +2 | sort >wanted
	[ -s got ]
	diff got wanted
	featurize back.csv -o data
	kp-train -q "${space[@]}" data -o run
	kp-select -q run | cut -f 1-3 >got
	grep -F -x -f got <(cut -f 1-3 "$F/selected.tsv") >wanted
	diff got wanted
}

@test "groups and one pooled group hold out the same rows with equal --id" {
	featurize --id key,x,colour,y --numeric x --categorical colour \
	    "$F/rows.csv" -o data
	kp-featurize -q --label y --positive yes --holdout 0.25 \
	    --id key,x,colour,y --numeric x --categorical key,colour \
	    "$F/rows.csv" -o pooled
	for d in data pooled; do
		kp-train -q "${space[@]}" $d -o $d.run
		kp-select -q -o $d.kpm $d.run >/dev/null
		kp-predict -q -m $d.kpm --split holdout --keep key,x,colour,y \
		    "$F/rows.csv" | sed 's/,[^,]*,[^,]*$//' >$d.rows
	done
	[ "$(wc -l <data.rows)" -gt 100 ]
	diff data.rows pooled.rows
}

@test "a part of the rows gets the predictions it has among all" {
	awk 'NR == 1 || (NR % 7 == 3 && /^[0-9A-Za]/ && !/break|"/)' \
	    "$F/rows.csv" >some.csv
	kp-predict -q -m "$F/models.kpm" some.csv >got
	[ "$(wc -l <got)" -gt 50 ]
	grep -F -x -f got "$F/scored.csv" | diff got -
}

@test "columns in another order, and others between, change no prediction" {
	awk -F, 'NF == 4 && !/"/' "$F/rows.csv" >rows.csv
	awk -F, -v OFS=, '{ print $3, "?" NR, $4, $1, $2 }' rows.csv >columns.csv
	kp-predict -q --only-predictions -m "$F/models.kpm" rows.csv >wanted
	kp-predict -q --only-predictions -m "$F/models.kpm" columns.csv >got
	[ "$(wc -l <got)" -gt 500 ]
	diff got wanted
}

@test "a missing column is bad data" {
	cut -d, -f 1,3,4 "$F/rows.csv" >less.csv
	run --separate-stderr kp-predict -m "$F/models.kpm" less.csv
	equal "$status" 3
	[[ $stderr == "kp-predict: less.csv: "*'"x"'* ]]
	equal "$output" ""
}

@test "the locale makes no difference" {
	need localedef
	localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 2>/dev/null ||
	    skip "no locale de_DE"
	export LOCPATH=$PWD LC_ALL=de_DE.UTF-8
	equal "$(locale decimal_point)" ,
	featurize "$F/rows.csv" -o data
	diff -r data "$F/data"
	kp-train -q "${space[@]}" data -o run
	kp-select -q -o m.kpm run >m.tsv
	kp-predict -q -m m.kpm "$F/rows.csv" >scored.csv
	cmp m.kpm "$F/models.kpm"
	cmp m.tsv "$F/selected.tsv"
	cmp scored.csv "$F/scored.csv"
}

@test "what README tells to run runs" {
	ln -s "$ROOT/examples" examples
	awk '/^```$/ { on = 0 } on; /^```sh$/ { on = 1 }' "$ROOT/README.md" >readme.sh
	grep -q kp-report readme.sh
	bash -e -o pipefail readme.sh >out 2>err
	! grep 'too few to mix' err
	equal "$(wc -l <scored.csv)" "$(wc -l <flights.csv)"
	[ "$(wc -l <selected.tsv)" -gt 30 ]
	# The pipe and the short form make the same models.
	kp-select -q -o models2.kpm run2 >/dev/null
	cmp models2.kpm models.kpm
	for program in "$KP_BIN"/kp-*; do
		grep -q "^| \`$(basename "$program")\` |" "$ROOT/README.md"
	done
}

@test "the demo runs anywhere, and its gains are gains" {
	mkdir flights
	cp "$ROOT"/examples/flights/demo.sh "$ROOT"/examples/flights/*.gz flights
	KP_BIN=$(cd "$KP_BIN" && pwd) flights/demo.sh >out 2>err
	equal "$(cat err)" ""
	! grep -qi -e '[^a-z]nan' -e inf out
	# On test and on hold-out rows.
	equal "$(awk '/^  over / && $(NF - 1) > 0 && $(NF - 3) > 0' out |
	    wc -l)" 2
}

@test "the makefile of the examples makes what is old, and no more" {
	local make=(make -s -f "$ROOT/examples/makefile/Makefile")
	"${make[@]}" 2>err
	equal "$(wc -l <scored.csv)" 101
	equal "$("${make[@]}" 2>&1)" ""
	cp models.kpm before.kpm
	touch flights.csv
	"${make[@]}" 2>err
	cmp models.kpm before.kpm
	[ models.kpm -nt flights.csv ]
}

@test "the cron example trains once for the same rows, and scores" {
	local cron=$ROOT/examples/cron
	need flock sha256sum
	fails 2 "usage: retrain.sh FLIGHTS.CSV DIR" "$cron/retrain.sh" rows.csv
	fails 2 "usage: score.sh DIR < tomorrow.csv > scored.csv" \
	    "$cron/score.sh"
	cp "$F/rows.csv" . # other columns: nothing must be published
	run "$cron/retrain.sh" "$PWD/rows.csv" models
	equal "$status" 3
	[ ! -e models/models.kpm ]
	gzip -dc "$ROOT/examples/flights/flights.csv.gz" | head -3000 >flights.csv
	"$cron/retrain.sh" flights.csv models
	stat -c '%n %y' models/run-*/summary.json models/run-*/journal/* >before
	"$cron/retrain.sh" "$PWD/flights.csv" models
	stat -c '%n %y' models/run-*/summary.json models/run-*/journal/* |
	    diff before -
	head -20 flights.csv | "$cron/score.sh" models >scored.csv
	equal "$(wc -l <scored.csv)" 20
}

@test "beyond a file size limit every program fails by name, leaving nothing" {
	ulimit -f 1
	mkdir work
	cd work
	fails 1 "kp-select: m.kpm: File too large" \
	    kp-select -q -o m.kpm "$F/run"
	fails 1 "kp-predict: out.csv: File too large" \
	    kp-predict -q -m "$F/models.kpm" -o out.csv "$F/rows.csv"
	run kp-featurize -q --label y -o d "$F/rows.csv"
	equal "$status" 1
	[[ $output == "kp-featurize: d.tmp."*": File too large" ]]
	equal "$(ls -A)" ""
}

@test "a closed standard stream is no file that the program opens" {
	fails 1 "kp-predict: standard input: Bad file descriptor" \
	    bash -c "kp-predict -m $F/models.kpm <&-"
	fails 1 "kp-select: standard output: Bad file descriptor" \
	    bash -c "kp-select -q $F/run -o m.kpm >&-"
	cmp m.kpm "$F/models.kpm"
	kp-predict -m "$F/models.kpm" -o out.csv "$F/rows.csv" 2>&-
	cmp out.csv "$F/scored.csv"
}
