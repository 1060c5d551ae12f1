#!/usr/bin/env bats
# Units of work in the journals: what workers have done, in what order, under
# every strategy; and what that order must not change.

load helper
load run_helper

rate=(--learner logistic --param solver=sgd
    --param learning_rate=log:1e-3:1e-1)
sgd=("${rate[@]}" --search grid:6 --epochs 4)

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	PATH=${KP_BIN:-${KP_ROOT:-$BATS_TEST_DIRNAME/../..}/build/bin}:$PATH
	skewed_csv 6000 >small.csv
	featurize small.csv small
	skewed_csv 100000 >large.csv
	featurize large.csv large
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR"/{small,small.csv,large} .
}

strategies=(gl 'gl --isolate group' 'gl --group-rows 300' 'gl --capacity paper' gl-constrained gtp
    'gtp --order lpt' mtp dp sp mop 'mop --isolate group')

# train NAME STRATEGY OPTION...: the run NAME of small, its units in NAME.units.
train() {
	# shellcheck disable=SC2086
	kp-train -q -p 3 -o "$1" --strategy $2 "${@:3}" small
	units "$1" >"$1.units"
}

# once_an_epoch UNITS [sums]: every (group, pack) passes over each row of its
# group once an epoch; sums: scores are of configs that have ended, and beside
# that.  Of small whole groups epochs are not told apart, nor such scores.
once_an_epoch() {
	awk -F '[ ,]' -v sums="${2:+1}" '
	FNR == NR { n[substr($1, 2)]++; next }
	$6 == 2 { next }
	$4 > last[$2, $3] { last[$2, $3] = $4 }
	$5 > 0 { apart[$2] = 1 }
	sums && $6 == 1 { scored[$2, $3, $4] = 1; next }
	{ rows[$2, $3, $4] += $9; total[$2, $3] += $9 }
	END {
		for (k in total) {
			split(k, a, SUBSEP)
			group = a[1]
			joined = n[group] <= 2000 && !(group in apart)
			if (joined && (total[k] > last[k] * n[group] ||
			    !sums && total[k] < last[k] * n[group]))
				print k, "has", total[k], "in", last[k]
			for (e = 1; !joined && e <= last[k]; e++)
				if (rows[k, e] != n[group] &&
				    !(rows[k, e] == 0 && (k, e) in scored))
					print k, "epoch", e, "has", rows[k, e]
		}
	}' small.csv "$1"
}

# one_at_a_time UNITS: no worker has two units at once.
one_at_a_time() {
	sort -n -k 1,1 -k 7,7 -k 8,8 "$1" | awk '
	$1 == worker && $7 < end - 1e-6 { print }
	{ worker = $1; end = $8 }'
}

# out_of_turn UNITS: units that start after one of a later pack, of the same
# group or (all) of any, among groups that several workers hold.
out_of_turn() {
	awk 'FNR == NR { if ($5 > 0) shared[$2] = 1; next }
	$2 in shared' "$1" "$1" | sort -n -k 7,7 | awk -v all="$2" '
	{ g = all ? 0 : $2; turn = $2 * 1000 + $3 }
	turn < last[g] { print }
	{ last[g] = turn }'
}

@test "every pack passes over every shard once an epoch, a unit at a time" {
	local n=0
	for s in "${strategies[@]}"; do
		train sum$((++n)) "$s" "${learn[@]}"
		equal "$(once_an_epoch sum$n.units sums)" ""
		equal "$(one_at_a_time sum$n.units)" ""
		train walk$n "$s" "${sgd[@]}" --pack-width 2
		equal "$(once_an_epoch walk$n.units)" ""
		equal "$(one_at_a_time walk$n.units)" ""
		equal "$(awk '{ print $4 }' walk$n.units | sort -n | tail -1)" 4
	done
}

@test "mtp reads the rows of a group for every config, on one worker" {
	train run mtp "${sgd[@]}"
	equal "$(awk '$6 == 2' run.units | cut -d ' ' -f 2,3 | sort | uniq |
	    wc -l)" 48
	equal "$(awk '$6 == 2' run.units | wc -l)" 48
	equal "$(cut -d ' ' -f 1-3 run.units | sort -u | wc -l)" 48
	equal "$(cut -d ' ' -f 1 run.units | sort -u | tr '\n' ' ')" "0 1 2 "
	equal "$(awk -F '[ ,]' 'FNR == NR { n[substr($1, 2)]++; next }
	    $6 == 2 && $9 != n[$2]' small.csv run.units)" ""
}

@test "a unit tells the bytes for other workers, not those for kp-train" {
	for s in gtp mtp; do
		train $s $s "${sgd[@]}"
		equal "$(awk '$10 > 0' $s.units)" ""
		kp-report $s | awk '/sent_bytes/ { on = 1; next }
			on && $6 != 0 { exit 1 }'
	done
	train gl gl "${sgd[@]}"
	[ -n "$(awk '$10 > 0' gl.units)" ]
}

@test "under isolation the packs of a shared group follow one another" {
	local n=0
	for s in 'gl --isolate group' 'mop --isolate group'; do
		train sum$((++n)) "$s" "${learn[@]}" --pack-width 2
		equal "$(out_of_turn sum$n.units)" ""
		train walk$n "$s" "${sgd[@]}" --pack-width 2
		equal "$(out_of_turn walk$n.units)" ""
	done
	train free mop "${learn[@]}" --pack-width 2
	[ -n "$(out_of_turn free.units)" ]
}

@test "dp and sp train one pack of one shared group at a time, in order" {
	for s in dp sp; do
		train sum$s $s "${learn[@]}" --pack-width 2
		equal "$(out_of_turn sum$s.units all)" ""
		train walk$s $s "${sgd[@]}" --pack-width 2
		equal "$(out_of_turn walk$s.units all)" ""
	done
	# Whole groups come after.
	equal "$(awk 'FNR == NR { if ($5 > 0) shared[$2] = 1; next }
	    $2 in shared && $7 > last { last = $7 }
	    !($2 in shared) && (!first || $7 < first) { first = $7 }
	    END { print (first > last) }' sumsp.units sumsp.units)" 1
}

# whole_models RUN UNITS: what kp-select says of the groups whole in UNITS.
whole_models() {
	kp-select -q --json "$1" | jq -c --arg shared "$(awk '$5 > 0 { print "g" $2 }
	    ' "$2" | sort -u)" '
	    select(.group as $g | $shared | split("\n") | index($g) | not) |
	    [.group, .config, .metrics]'
}

@test "whole groups make way for shared ones, and their models do not change" {
	local opts=("${rate[@]}" --search grid:16 --epochs 4 --pack-width 8)
	kp-train -q -p 2 -o two "${opts[@]}" large
	kp-train -q -p 1 -o one "${opts[@]}" large
	units two >two.units
	equal "$(one_at_a_time two.units)" ""
	# Some pass over a whole group is cut in two.
	awk '$5 > 0 { shared[$2] = 1 }
	$6 == 0 { n[$2 " " $3 " " $4 " " $5]++ }
	END {
		for (k in n) {
			split(k, a, " ")
			if (n[k] > 1 && !(a[1] in shared))
				print k, n[k]
		}
	}' two.units >cut
	[ -s cut ]
	whole_models one two.units >want
	whole_models two two.units >got
	[ "$(wc -l <want)" -ge 5 ]
	cmp want got
}

@test "a streamed pass makes way as well" {
	local opts=("${sgd[@]}" --pack-width 2 --buffer 5%)
	kp-train -q -p 2 -o two "${opts[@]}" large
	kp-train -q -p 2 -o few --memory 200K "${opts[@]}" large
	units few >few.units
	equal "$(one_at_a_time few.units)" ""
	kp-select -q -o two.kpm two >/dev/null
	kp-select -q -o few.kpm few >/dev/null
	cmp two.kpm few.kpm
}

@test "a run killed by kill -9 goes on under mtp, dp, sp and mop" {
	kp-train -q -p 1 -o want "${many[@]}" large
	kp-select -q -o want.kpm want >/dev/null
	for s in mtp dp sp mop; do
		kill_when 40000 kp-train -q -p 3 -o run --strategy $s \
		    "${slow[@]}" large
		units run >before
		kp-train -q -p 3 -o run --strategy $s "${many[@]}" large
		units run >after
		# The clock of the run goes on.
		equal "$(one_at_a_time after)" ""
		equal "$(head -n "$(wc -l <before)" after | cmp - before)" ""
		kp-select -q -o run.kpm run >/dev/null
		cmp want.kpm run.kpm
		rm -r run
	done
}

@test "a killed run of Sequential configs goes on under every strategy" {
	local opts
	for s in gl 'gl --isolate group' mtp dp sp mop; do
		opts=("${rate[@]}" --search grid:6 --buffer 10%)
		# A message for every row, or but for every epoch.
		[[ $s == [ds]p ]] && opts+=(--epochs 60) || opts+=(--epochs 200)
		train want "$s" "${opts[@]}"
		kp-select -q -o want.kpm want >/dev/null
		# shellcheck disable=SC2086
		kill_when 15000 kp-train -q -p 3 -o run --strategy $s \
		    "${opts[@]}" --checkpoint 0.01 --memory 16K small
		train run "$s" "${opts[@]}"
		kp-select -q -o run.kpm run >/dev/null
		cmp want.kpm run.kpm
		rm -r want run
	done
}
