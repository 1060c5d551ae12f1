# kill -9 at random moments: whatever is killed whenever, the run says so,
# leaves nobody behind, and goes on to the bytes of an undisturbed run.
#
# KP_KILLS is how often (20), KP_SEED the seed of the moments (now).

load ../helper
load ../run_helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	PATH=${KP_BIN:-${KP_ROOT:-$BATS_TEST_DIRNAME/../..}/build/bin}:$PATH
	skewed_csv 40000 >big.csv
	featurize big.csv big
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR"/big big
	RANDOM=${KP_SEED:=$((${EPOCHSECONDS:-1} % 32768))}
	echo "KP_SEED=$KP_SEED"
}

# sleep_random_ms N: for less than N.
sleep_random_ms() {
	sleep "$(printf '0.%03d' $((RANDOM % $1)))"
}

# check_named PID...: the run of which one of them was killed ended named,
# unless it had ended well before that.
check_named() {
	[ "$status" -ne 0 ] || return 0
	equal "$status" 1
	cat err
	[[ $(cat err) =~ ^"kp-train: worker "[0-9]+" (process "[0-9]+") was killed by signal 9 (Killed)"$ ]]
}

# kills HOW: until KP_KILLS kills have been made, runs, kills, resumes; then
# lets the run end.  Each finished run is checked and a new one begun.
kills() {
	local n made=0 run=0
	while [ "$made" -lt "${KP_KILLS:-20}" ]; do
		start kp-train -q -p $((RANDOM % 7 + 1)) -o run "${slow[@]}" big
		sleep_random_ms 600
		n=$("kill_$1")
		made=$((made + n))
		ended_within 5
		"check_$1"
		no_workers_left
		if [ -e run/summary.json ]; then
			check_models
			run=$((run + 1))
			rm -r run
		elif [ -e run ]; then
			nothing_half_written run
		fi
	done
	kp-train -q -p 3 -o run "${slow[@]}" big
	check_models
	echo "$made kills, $run runs ended between them"
}

check_models() {
	undisturbed
	kp-select -q -o run.kpm run >/dev/null
	cmp run.kpm undisturbed.kpm
}

# Kills and prints how many.
kill_worker() {
	local all
	mapfile -t all < <(workers)
	if [ "${#all[@]}" -eq 0 ]; then
		echo 0
	elif kill -9 "${all[RANDOM % ${#all[@]}]}" 2>/dev/null; then
		echo 1
	else
		echo 0
	fi
}

check_worker() {
	check_named
}

kill_train() {
	kill -9 "$started" 2>/dev/null && echo 1 || echo 0
}

check_train() {
	[ "$status" -eq 137 ] || equal "$status" 0
}

@test "a run whose workers are killed at random ends in the same models" {
	kills worker
}

@test "a run whose kp-train is killed at random ends in the same models" {
	kills train
}

# Models that walk: the plan belongs to the run, so its workers stay three.
@test "walking models, killed at random, end in the same models" {
	local made=0 n
	kp-featurize -q --label y --positive 1 --group-by g --block-size 4K \
	    "$BATS_FILE_TMPDIR"/big.csv -o blocks
	walk=(--learner logistic --param solver=sgd --search grid:6 --epochs 40
	    --param learning_rate=log:1e-3:1e-1 --buffer 10% --pack-width 2)
	kp-train -q -p 3 -o calm "${walk[@]}" blocks
	kp-select -q -o calm.kpm calm >/dev/null
	while [ "$made" -lt "${KP_KILLS:-20}" ]; do
		start kp-train -q -p 3 -o run "${walk[@]}" --memory 100K \
		    --checkpoint 0.05 blocks
		sleep_random_ms 900
		n=$(if [ $((RANDOM % 2)) = 0 ]; then kill_worker; else
		    kill_train; fi)
		made=$((made + n))
		ended_within 5
		no_workers_left
		[ -e run/summary.json ] || continue
		kp-select -q -o run.kpm run >/dev/null
		cmp run.kpm calm.kpm
		rm -r run
	done
	kp-train -q -p 3 -o run "${walk[@]}" blocks
	kp-select -q -o run.kpm run >/dev/null
	cmp run.kpm calm.kpm
}

@test "a stopped holder of RUN is named after 10 seconds" {
	start kp-train -q -p 2 -o run "${slow[@]}" big
	journal_bytes 10000
	kill -STOP "$started"
	fails 1 "kp-train: run: in use by another run (process $started)" \
	    kp-train -q -p 2 -o run "${slow[@]}" big
	kill -CONT "$started"
	ended_within 120
	equal "$status" 0
	check_models
}
