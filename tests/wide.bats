#!/usr/bin/env bats
# Groups with more features than second moments are kept of, which the batch
# solver of logistic loss trains by truncated Newton.

load helper

# Two groups of four columns of 400 values, most of them rare: one that can be
# separated, one that cannot.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	PATH=${KP_BIN:-${KP_ROOT:-$BATS_TEST_DIRNAME/../..}/build/bin}:$PATH
	awk '
	function u() { x = x * 16807 % 2147483647; return x / 2147483647 }
	function normal(k, s) { for (k = 0; k < 12; k++) s += u(); return s - 6 }
	function group(name, n, noise, i, k, s, v, line) {
		for (i = 0; i < n; i++) {
			s = int(4096 * normal()) / 4096
			line = name "," s
			for (k = 0; k < 4; k++) {
				v = int(400 * u() ^ 2)
				s += v % 3 - 1
				line = line ",v" v
			}
			print line "," (s + noise * normal() > 0)
		}
	}
	BEGIN {
		x = 5
		print "g,x,a,b,c,d,y"
		group("sep", 6000, 0)
		group("noisy", 3000, 1)
	}' >wide.csv
	kp-featurize -q --label y --positive 1 --group-by g --holdout 0.1 \
	    --block-size 4K wide.csv -o wide
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR/wide" .
}

# train RUN OPTION...: its trial records in RUN.trials.
train() {
	kp-train -q --learner logistic --trials "$1.trials" -o "$1" "${@:2}" wide
}

# ends RUN FIELD: what ended trials have in it, by group and config.
ends() {
	jq -r 'select(.status != "step") |
	    "\(.group) \(.config) \(.'"$2"')"' "$1.trials" | sort -k 1,1 -k 2n
}

@test "the same models come of any number of holders, also as lanes begin anew" {
	local k=0 how
	train one -p 1 --param l2=0,1e-8,1e-6,1e-4
	kp-select -q -o one.kpm one >/dev/null
	for how in '-p 2 --strategy dp' '-p 3 --strategy dp --pack-width 3' \
	    '-p 5 --strategy gl --group-rows 0' '-p 7 --strategy gl-constrained'; do
		# shellcheck disable=SC2086
		train "run$((++k))" $how --param l2=0,1e-8,1e-6,1e-4
		kp-select -q -o run.kpm run$k >/dev/null
		cmp one.kpm run.kpm
		equal "$(ends run$k epoch)" "$(ends one epoch)"
	done
	# Epochs count on: the second beginning was in double precision.
	train other -p 1 --param l2=0,1e-8,1e-6,1e-4 --param solver=lbfgs
	[ "$(paste -d' ' <(ends one epoch) <(ends other epoch) |
	    awk '$3 != $6' | wc -l)" -ge 6 ]
}

@test "it ends near the optimum" {
	train run --param l2=log:1e-8:1e-1 --search grid:8
	train tight --param l2=log:1e-8:1e-1 --search grid:8 \
	    --param solver=lbfgs --param tolerance=1e-11 --epochs 5000
	paste -d' ' <(ends run objective) <(ends tight objective) |
	    awk '{ gap = ($3 - $6) / $6; at_start = ($3 - $6) / 0.69
		print $1, $2, gap, at_start, $6 }' >gaps
	# Of what it was at the start; and of itself, where it is much of that.
	equal "$(awk '!($4 < 1e-5 && $4 > -1e-6)' gaps)" ""
	equal "$(awk '$5 > 0.05 && !($3 < 1e-5)' gaps)" ""
	[ "$(awk '$5 > 0.05' gaps | wc -l)" -ge 6 ]
	equal "$(wc -l <gaps)" 16
	equal "$(ends run status | cut -d ' ' -f 3 | sort -u)" converged
	# By other steps than those of L-BFGS.
	train other --param l2=log:1e-8:1e-1 --search grid:8 --param solver=lbfgs
	[ "$(paste -d' ' <(ends run epoch) <(ends other epoch) |
	    awk '$3 != $6' | wc -l)" -ge 12 ]
}

@test "hold-out values of its epochs are those of the models there" {
	train run --param l2=1e-3
	jq -r 'select(.status == "step" and .group == "noisy") |
	    .metrics.logloss' run.trials >steps
	[ "$(uniq steps | wc -l)" -ge 4 ]
	awk -v end="$(jq -r 'select(.status != "step" and .group == "noisy") |
	    .metrics.logloss' run.trials)" '
	    { last = $1 }
	    END { exit !(last < end * 1.001 && last > end * 0.999) }' steps
}

# worth RUN: the log-loss of what is selected, by group.
worth() {
	kp-select -q --json "$1" | jq -r '"\(.group) \(.metrics.logloss)"' | sort
}

@test "patience and halving choose as they do of L-BFGS" {
	local how
	for how in '--param l2=1e-3 --patience 3' \
	    '--epochs 60 --param l2=log:1e-6:1 --search halving:grid:9'; do
		rm -rf auto lbfgs
		# shellcheck disable=SC2086
		train auto $how
		# shellcheck disable=SC2086
		train lbfgs $how --param solver=lbfgs
		paste -d' ' <(worth auto) <(worth lbfgs) >both
		equal "$(wc -l <both)" 2
		equal "$(awk '!($2 < $4 * 1.01)' both)" ""
	done
}
