#!/usr/bin/env bats
# Strategy dp for Sequential solvers: all holders of a group take its steps
# together.

load helper
load run_helper

sgd=(--learner logistic --param solver=sgd --param learning_rate=0.03,0.1,0.3)

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	PATH=${KP_BIN:-${KP_ROOT:-$BATS_TEST_DIRNAME/../..}/build/bin}:$PATH
	skewed_csv 6000 >small.csv
	kp-featurize -q --label y --positive 1 --group-by g --block-size 2K \
	    small.csv -o small
	{
		head -1 small.csv
		grep ^g3 small.csv | head -11
	} >eleven.csv
	kp-featurize -q --label y --positive 1 --group-by g eleven.csv \
	    -o eleven
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR"/small small
	ln -s "$BATS_FILE_TMPDIR"/eleven eleven
}

# plan NAME P STRATEGY DATA OPTION...: NAME.json
plan() {
	kp-partition -p "$2" --strategy "$3" "$4" >"$1.part"
	kp-plan "${@:5}" "$1.part" >"$1.json"
}

# bundle NAME P STRATEGY DATA OPTION...: NAME.kpm, NAME.tsv
bundle() {
	plan "$@"
	timeout 60 kp-train -q -o "$1" "$1.json"
	kp-select -q -o "$1.kpm" "$1" >"$1.tsv"
}

# loss NAME: the mean hold-out log-loss of its groups
loss() {
	awk -F '\t' 'NR > 1 { sum += $8; n++ } END { print sum / n }' "$1.tsv"
}

# near A B TOLERANCE
near() {
	awk -v a="$1" -v b="$2" -v t="$3" \
	    'BEGIN {
		if (a - b <= t && b - a <= t)
			exit 0
		print a " is not " b " +- " t
		exit 1
	    }'
}

@test "dp is as good as gl at an equal global batch" {
	bundle dp 3 dp small "${sgd[@]}" --param batch=128 --epochs 15
	bundle gl 1 gl small "${sgd[@]}" --param batch=128 --epochs 15
	equal "$(awk -F '\t' 'NR > 1 { print $5 }' dp.tsv | sort -u)" trained
	near "$(loss dp)" "$(loss gl)" 0.01
}

@test "models of dp are a function of the plan" {
	sgd+=(--param batch=16 --buffer 20%)
	bundle one 3 dp small "${sgd[@]}"
	bundle again 3 dp small "${sgd[@]}"
	KP_ISA=base bundle base 3 dp small "${sgd[@]}"
	plan memory 3 dp small "${sgd[@]}"
	kp-train -q --memory 60K -o memory memory.json
	kp-select -q -o memory.kpm memory >memory.tsv
	for other in again base memory; do
		cmp one.kpm $other.kpm
	done
}

@test "dp on one worker is gl on one worker" {
	bundle dp 1 dp small "${sgd[@]}"
	bundle gl 1 gl small "${sgd[@]}"
	cmp dp.kpm gl.kpm
}

@test "a batch of one row goes from worker to worker" {
	bundle dp 3 dp small "${sgd[@]}" --param batch=1 --epochs 2
	bundle gl 1 gl small "${sgd[@]}" --param batch=1 --epochs 2
	near "$(loss dp)" "$(loss gl)" 0.02
}

@test "--dp-batch local is a step of B rows on every worker" {
	bundle local 3 dp small "${sgd[@]}" --param batch=16 --dp-batch local
	bundle large 3 dp small "${sgd[@]}" --param batch=48
	grep -q '"dp_batch": "local"' local.json
	near "$(loss local)" "$(loss large)" 1e-6
	plan global 3 dp small "${sgd[@]}" --param batch=16 --dp-batch global
	fails 2 'kp-train: local: holds a run of another plan (--dp-batch local there, global here); remove it or choose another -o' \
	    kp-train -q -o local global.json
}

@test "--dp-batch is for dp and sp, and global or local" {
	kp-partition -p 2 small >gl.part
	fails 2 'kp-plan: --dp-batch goes with --strategy dp or sp and solver=sgd or adam' \
	    kp-plan "${sgd[@]}" --dp-batch local gl.part
	kp-partition -p 2 --strategy dp small >dp.part
	fails 2 'kp-plan: --dp-batch: "all" is neither global nor local' \
	    kp-plan "${sgd[@]}" --dp-batch all dp.part
}

@test "more workers than a group has rows, and uneven slices, end" {
	for p in 2 7 12; do
		bundle "p$p" $p dp eleven "${sgd[@]}" --param batch=4 \
		    --min-rows 1
		equal "$(awk -F '\t' 'NR > 1 { print $5 }' p$p.tsv)" trained
	done
}

@test "every method of shuffling, learner and optimiser goes under dp" {
	local how
	for how in none once epoch window mrs block; do
		bundle $how 3 dp small "${sgd[@]}" --shuffle $how \
		    --buffer 20% --epochs 2
		near "$(loss $how)" 0.5 0.2
	done
	for how in solver=sgd:momentum=0.9 solver=adam:batch=32 \
	    solver=sgd:l1=0.001,0.01; do
		bundle "$how" 3 dp small --learner logistic \
		    --param "${how%:*}" --param "${how#*:}" --epochs 3
		near "$(loss "$how")" 0.5 0.2
	done
	bundle svm 2 dp small --learner svm --epochs 2
	for how in dp gl; do
		bundle mlp-$how 2 $how small --learner mlp --param hidden1=8 \
		    --epochs 5
	done
	near "$(loss mlp-dp)" "$(loss mlp-gl)" 0.05
}

@test "sp takes the large groups together and the others whole" {
	bundle sp 3 sp small "${sgd[@]}" --param batch=64
	equal "$(awk -F '\t' 'NR > 1 { print $5 }' sp.tsv | sort -u)" trained
	bundle gl 1 gl small "${sgd[@]}" --param batch=64
	near "$(loss sp)" "$(loss gl)" 0.01
}

@test "units on the timeline count every row once per epoch" {
	plan dp 3 dp small "${sgd[@]}" --param batch=16 --epochs 3
	kp-train -q -o dp dp.json
	kp-select -q dp | awk -F '\t' 'NR > 1 {
		for (e = 1; e <= 3; e++)
			print NR - 2, e, $2 - $3, $3
	}' >want
	# Kind 0 is training, 1 scoring.
	units dp | awk '{
		n[$2 " " $4] = 1
		rows[$2 " " $4, $6] += $9
	}
	END {
		for (k in n)
			print k, rows[k, 0], rows[k, 1]
	}' | sort -n >got
	cmp want got
}

@test "a run of dp that is killed and resumed gives the same bytes" {
	local i
	sgd+=(--param batch=4 --epochs 40 --buffer 20%)
	bundle whole 3 dp small "${sgd[@]}"
	plan run 3 dp small "${sgd[@]}"
	for i in 1 2 3 4; do
		start kp-train -q --checkpoint 0.05 -o run run.json
		sleep "0.$((2 * i))"
		kill -9 "$started" 2>/dev/null || true
		wait "$started" || true
	done
	timeout 60 kp-train -q -o run run.json
	kp-select -q -o run.kpm run >/dev/null
	cmp whole.kpm run.kpm
}

@test "a lane that diverges leaves, and the others do not notice" {
	svm=(--learner svm --param loss=squared_hinge --param solver=sgd
		--epochs 6)
	bundle alone 3 dp small "${svm[@]}" --param learning_rate=0.001,0.002
	plan beside 3 dp small "${svm[@]}" \
	    --param learning_rate=0.001,1e6,0.002
	kp-train -q --trials t -o beside beside.json
	kp-select -q beside >beside.tsv
	cmp alone.tsv beside.tsv
	equal "$(jq -r 'select(.status == "diverged") | .reason' t |
	    sort -u)" "not finite"
}

@test "a run of dp that is stopped goes on where its last epoch ended" {
	sgd+=(--param batch=4 --epochs 40 --buffer 20%)
	bundle whole 3 dp small "${sgd[@]}"
	plan run 3 dp small "${sgd[@]}"
	for i in 1 2; do
		start kp-train -q -o run run.json
		sleep 0.4
		kill -TERM "$started" 2>/dev/null || true
		wait "$started" || true
	done
	timeout 60 kp-train -q -o run run.json
	kp-select -q -o run.kpm run >/dev/null
	cmp whole.kpm run.kpm
}

@test "--no-spill counts the whole group on each worker" {
	plan dp 3 dp small "${sgd[@]}"
	kp-train -q --no-spill --memory 200K -o run dp.json
	fails 1 'kp-train: group "g0": 71.9 KB of rows on worker 0, --memory is 60.0 KB (--no-spill)' \
	    kp-train -q --no-spill --memory 60K -o other dp.json
}
