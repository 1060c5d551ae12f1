#!/usr/bin/env bats
# Configs that end early by their hold-out values: patience, and successive
# halving.

load helper
load run_helper

lbfgs=(--learner logistic --param l2=log:1e-6:1e-1 --search grid:6)
sgd=(--learner logistic --param solver=sgd --param learning_rate=0.03,0.3,1,3)

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	PATH=${KP_BIN:-${KP_ROOT:-$BATS_TEST_DIRNAME/../..}/build/bin}:$PATH
	skewed_csv 12000 >small.csv
	kp-featurize -q --label y --positive 1 --group-by g --block-size 2K \
	    small.csv -o small
}

setup() {
	kp_setup
	ln -s "$BATS_FILE_TMPDIR"/small small
}

# plan NAME P STRATEGY OPTION...: NAME.json
plan() {
	kp-partition -p "$2" --strategy "$3" small >"$1.part"
	kp-plan "${@:4}" "$1.part" >"$1.json"
}

# bundle NAME P STRATEGY OPTION...: NAME.kpm, NAME.tsv, NAME.jsonl
bundle() {
	plan "$@"
	timeout 60 kp-train -q -o "$1" --trials "$1.jsonl" "$1.json"
	kp-select -q -o "$1.kpm" "$1" >"$1.tsv"
}

# struck NAME P STRATEGY OPTION...: as bundle, but killed over and over at
# first
struck() {
	local i
	plan "$@"
	for i in 05 08 11 14 17 20; do
		timeout -s KILL "0.$i" kp-train -q \
		    --checkpoint 0.01 -o "$1" "$1.json" 2>/dev/null || true
	done 2>/dev/null
	timeout 60 kp-train -q -o "$1" "$1.json"
	kp-select -q -o "$1.kpm" "$1" >"$1.tsv"
}

# patient NAME N: every config of NAME.jsonl ended when it had to under
# --patience N, and with the first of its best epochs
patient() {
	cat >check.py <<-'END'
	import json, sys
	patience, tried, early = int(sys.argv[2]), {}, 0
	for line in open(sys.argv[1]):
	    t = json.loads(line)
	    epochs = tried.setdefault((t["group"], t["config"]), [])
	    if t["status"] == "step":
	        epochs.append((t["metrics"]["logloss"], t["loss"]))
	        continue
	    values = [e[0] for e in epochs]
	    if not values:
	        continue  # a small group: no records of its epochs
	    best = values.index(min(values))
	    for k in range(1, len(values)):
	        since = k - values.index(min(values[:k + 1]))
	        assert since < patience or k == len(values) - 1, t
	    if t["status"] == "early":
	        early += 1
	        assert t["reason"] == "no better for %d epochs" % patience, t
	        assert len(values) - 1 - best == patience, t
	    assert t["metrics"]["logloss"] == values[best], t
	    assert t["loss"] == epochs[best][1], t
	assert early > 0
	END
	python3 check.py "$1.jsonl" "$2"
}

@test "patience ends a config that gets no better, with its best epoch's model" {
	need python3
	bundle l 2 gl "${lbfgs[@]}" --patience 2
	patient l 2
	bundle s 2 gl "${sgd[@]}" --patience 2
	patient s 2
	grep -q early s.tsv
}

@test "under patience, models are the same however many workers there are" {
	bundle l1 1 gl "${lbfgs[@]}" --patience 2
	for strategy in gl mop dp mtp; do
		bundle "l$strategy" 3 "$strategy" "${lbfgs[@]}" --patience 2
		cmp l1.kpm "l$strategy.kpm"
	done
	bundle s1 1 gtp "${sgd[@]}" --patience 2
	for strategy in gtp mtp; do
		bundle "s$strategy" 3 "$strategy" "${sgd[@]}" --patience 2
		cmp s1.kpm "s$strategy.kpm"
	done
}

# early NAME: the configs that ended early are counted, by the run NAME all, by
# kp-report those that were selected
early() {
	equal "$(jq .early "$1/summary.json")" \
	    "$(grep -c '"status":"early"' "$1.jsonl")"
	kp-report "$1" >"$1.txt"
	equal "$(sed -n 's/^  trained .*[ (]\([0-9]*\) early.*/\1/p' "$1.txt")" \
	    "$(awk '$6 == "early"' "$1.tsv" | wc -l)"
	kp-report --timeline -o "$1.tl" "$1"
	kp-report --against "$1.tl" "$1" >"$1.txt"
	equal "$(sed -n 's/^run .*%, //p' "$1.txt")" \
	    "$(sed -n 's/^against .*%, //p' "$1.txt")"
}

@test "configs that ended early are counted" {
	bundle patient 2 gl "${sgd[@]}" --patience 2
	early patient
	bundle half 2 gl --learner logistic --param solver=sgd \
	    --param learning_rate=log:0.001:3 --search halving:12
	early half
	run --separate-stderr kp-train -o again half.json
	# 12 configs of 8 groups, of which one each gets to the end
	[[ $stderr =~ ^"kp-train: 8 groups: 8 trained, 0 fallback, 0 failed; 96 models (88 early) in "[0-9.]+" s"$ ]]
	run --separate-stderr kp-train -o again half.json
	equal "$stderr" "kp-train: again: complete already: 8 groups: 8 trained, 0 fallback, 0 failed; nothing to do"
	jq 'del(.early)' again/summary.json >old
	cp old again/summary.json
	kp-train -q -o again half.json
}

@test "patience works for models that hop and for those trained together" {
	need python3
	for strategy in mop dp; do
		bundle "$strategy" 3 "$strategy" "${sgd[@]}" --patience 3
		patient "$strategy" 3
	done
}

@test "a run under patience that is killed goes on to the same bytes" {
	bundle l 3 gl "${lbfgs[@]}" --patience 2 --pack-width 2
	struck lk 3 gl "${lbfgs[@]}" --patience 2 --pack-width 2
	cmp l.kpm lk.kpm
	for strategy in gl dp; do
		bundle "$strategy" 3 "$strategy" "${sgd[@]}" --patience 3
		struck "k$strategy" 3 "$strategy" "${sgd[@]}" --patience 3
		cmp "$strategy.kpm" "k$strategy.kpm"
	done
}

@test "a group without hold-out rows has no patience to lose" {
	kp-featurize -q --label y --positive 1 --group-by g --holdout 0 \
	    "$BATS_FILE_TMPDIR"/small.csv -o none
	kp-train -q -p 2 -o with "${sgd[@]}" --patience 1 --epochs 4 none
	kp-train -q -p 2 -o without "${sgd[@]}" --epochs 4 none
	kp-select -q -o with.kpm with >/dev/null
	kp-select -q -o without.kpm without >/dev/null
	cmp with.kpm without.kpm
}

@test "a plan tells its patience, and is another plan by it" {
	plan two 1 gl "${lbfgs[@]}" --patience 2
	plan none 1 gl "${lbfgs[@]}"
	grep -q '"patience": 2' two.json
	! grep -q patience none.json
	kp-train -q -o run two.json
	run -2 --separate-stderr kp-train -q -o run none.json
	[ "$stderr" = "kp-train: run: holds a run of another plan (patience 2 there, 0 here); remove it or choose another -o" ]
}

@test "patience is refused where it means nothing" {
	run -2 --separate-stderr kp-train --blocks - -o run "${sgd[@]}" \
	    --patience 2 </dev/null
	# shellcheck disable=SC2154
	[ "$stderr" = "kp-train: --patience does not go with --blocks: a stream is learnt from as it comes" ]
	run -2 --separate-stderr kp-plan "${lbfgs[@]}" --patience 0 x
	[ "${stderr_lines[0]}" = "kp-plan: --patience: not a whole number from 1 to 1000000: \"0\"" ]
}

# --- successive halving ---

halved=("${lbfgs[@]:0:2}" --param l2=log:1e-6:1e-1 --param l1=log:1e-6:1e-1
    --epochs 27)
walked=(--learner logistic --param solver=sgd
    --param learning_rate=log:0.001:3 --param l2=log:1e-6:1e-1)

# cut FULL HALVED H ETA: in HALVED.jsonl those configs ended at rungs that must
# have by the values in FULL.jsonl, of the same configs without halving
cut() {
	cat >cut.py <<-'END'
	import json, sys
	cap, eta = int(sys.argv[3]), int(sys.argv[4])
	def read(name):
	    steps, done = {}, {}
	    for line in open(name):
	        t = json.loads(line)
	        key = t["group"], t["config"]
	        if t["status"] == "step":
	            steps.setdefault(key, {})[t["epoch"]] = t["metrics"]["logloss"]
	        else:
	            done[key] = t
	    return steps, done
	steps, full = read(sys.argv[1])
	_, halved = read(sys.argv[2])
	lost = 0
	for group in sorted({g for g, _ in steps}):
	    left = sorted(c for g, c in full if g == group)
	    n, k = len(left), 0
	    while n > 1:
	        n, k = -(-n // eta), k + 1
	    rung = max(1, cap // eta ** k)
	    while len(left) > 1 and rung < cap:
	        def worth(c):
	            t = full[group, c]
	            return t["metrics"]["logloss"] if t["epoch"] <= rung \
	                else steps[group, c][rung]
	        order = sorted(left, key=lambda c: (worth(c), c))
	        keep = -(-len(left) // eta)
	        for c in order[keep:]:
	            if full[group, c]["epoch"] <= rung:
	                continue
	            t = halved[group, c]
	            assert (t["status"], t["reason"]) == ("early", "halving"), t
	            assert t["epoch"] == rung, (t, rung)
	            assert t["metrics"]["logloss"] == worth(c), t
	            lost += 1
	        left, rung = order[:keep], rung * eta
	    for c in left:
	        assert halved[group, c]["metrics"] == full[group, c]["metrics"]
	assert lost > 0
	END
	python3 cut.py "$1.jsonl" "$2.jsonl" "$3" "$4"
}

@test "at every rung those go on that are the best on the hold-out rows" {
	need python3
	bundle full 2 gl "${halved[@]}" --search random:9
	bundle half 2 gl "${halved[@]}" --search halving:9
	cut full half 27 3
	bundle all 1 gl "${walked[@]}" --search random:10
	bundle some 1 gl "${walked[@]}" --search halving:10:2
	cut all some 20 2
	kp-select half >/dev/null
}

@test "halving gives the same models however many workers there are" {
	bundle l1 1 gl "${halved[@]}" --search halving:grid:3
	for strategy in gl mop dp; do
		bundle "l$strategy" 3 "$strategy" "${halved[@]}" \
		    --search halving:grid:3
		cmp l1.kpm "l$strategy.kpm"
	done
	bundle s1 1 gtp "${walked[@]}" --search halving:12
	bundle s3 3 gtp "${walked[@]}" --search halving:12
	cmp s1.kpm s3.kpm
}

@test "models that hop or are trained together are halved too" {
	for strategy in gl mop dp; do
		bundle "$strategy" 3 "$strategy" "${walked[@]}" \
		    --search halving:12
		[ "$(grep -c '"reason":"halving"' "$strategy.jsonl")" = 88 ]
		[ "$(grep -c '"reason":"epochs used up"' "$strategy.jsonl")" = 8 ]
	done
}

@test "a halved run that is killed goes on to the same bytes" {
	bundle l 3 gl "${halved[@]}" --search halving:30 --pack-width 2
	struck lk 3 gl "${halved[@]}" --search halving:30 --pack-width 2
	cmp l.kpm lk.kpm
	for strategy in gl dp gtp; do
		bundle "$strategy" 3 "$strategy" "${walked[@]}" \
		    --search halving:12 --epochs 40
		struck "k$strategy" 3 "$strategy" "${walked[@]}" \
		    --search halving:12 --epochs 40
		cmp "$strategy.kpm" "k$strategy.kpm"
	done
}

@test "halving and patience go together" {
	bundle s 1 gtp "${walked[@]}" --search halving:12 --patience 2
	struck k 3 gtp "${walked[@]}" --search halving:12 --patience 2
	cmp s.kpm k.kpm
	grep -q '"reason":"halving"' s.jsonl
	grep -q '"reason":"no better for 2 epochs"' s.jsonl
}

@test "halving does a part of the work" {
	bundle full 2 gl "${walked[@]}" --search random:12
	bundle half 2 gl "${walked[@]}" --search halving:12
	full=$(grep -c '"step"' full.jsonl)
	half=$(grep -c '"step"' half.jsonl)
	echo "$half of $full epochs"
	[ $((half * 3)) -lt "$full" ]
}

# foreseen NAME P STRATEGY OPTION...: the simulation of NAME.json has the units
# that the run has, of the groups whose passes are units of their own
foreseen() {
	bundle "$@"
	kp-plan "${@:4}" --simulate "$1.part" >"$1.sim" 2>/dev/null
	cat >units.py <<-'END'
	import collections, json, sys
	def read(name):
	    rows = collections.Counter()
	    for line in open(name):
	        u = json.loads(line)
	        if u["group"] < 4:
	            rows[tuple(u[k] for k in ("kind", "group", "pack", "epoch",
	                                      "shard", "worker"))] += u["rows"]
	    return rows
	sim, real = read(sys.argv[1]), read(sys.argv[2])
	print(sorted(sim.keys() ^ real.keys())[:10])
	assert sim and sim.keys() == real.keys()
	# which rows of a worker are for training is guessed
	for k in sim:
	    assert abs(sim[k] - real[k]) < 20 + 0.02 * real[k], (k, real[k])
	END
	python3 units.py "$1.sim" "$1/timeline.jsonl"
}

@test "the units of a halved run are those of its simulation" {
	need python3
	for strategy in gl gtp; do
		foreseen "one$strategy" 1 "$strategy" "${walked[@]}" \
		    --search halving:12
		foreseen "two$strategy" 2 "$strategy" "${walked[@]}" \
		    --search halving:30:2 --pack-width 4
	done
	run ! foreseen full 2 gtp "${walked[@]}" --search random:12 \
	    --patience 1
}

@test "kp-plan tells the rungs, and what they save" {
	plan half 2 gl "${walked[@]}" --search halving:12
	plan full 2 gl "${walked[@]}" --search random:12
	kp-plan "${walked[@]}" --search halving:12 --explain half.part >half.txt
	grep -qx 'rungs        12 configs to epoch 1, 4 to 3, 2 to 9, 1 to 20' half.txt
	kp-plan "${walked[@]}" --search random:12 --explain full.part >full.txt
	! grep -q rungs full.txt
	# makespan, both bounds, compute; what is read is read either way
	paste <(grep '^gl ' half.txt) <(grep '^gl ' full.txt) | awk '{
		for (i = 2; i <= 5; i++)
			if ($i > 0.6 * $(i + NF / 2))
				exit 1
	}'
	# mtp does not go with it, so is never best
	grep -q '^mtp .*  no halving$' half.txt
	! grep -q 'strategy mtp' half.txt
}

@test "halving is refused where it means nothing" {
	kp-partition -p 2 --strategy mtp small >mtp.part
	run -2 --separate-stderr kp-plan "${walked[@]}" --search halving:9 \
	    mtp.part
	[ "$stderr" = "kp-plan: --search halving:9 does not go with --strategy mtp: there no worker has all configs of a group to compare" ]
	run -2 --separate-stderr kp-train --blocks - -o run "${walked[@]}" \
	    --search halving:9 </dev/null
	[ "$stderr" = "kp-train: --search halving:9 does not go with --blocks: a stream is learnt from as it comes" ]
	kp-partition -p 2 small >gl.part
	run -2 --separate-stderr kp-plan "${walked[@]}" --search halving gl.part
	[ "$stderr" = "kp-plan: --search halving: of what? (halving:N, halving:grid)" ]
	run -2 --separate-stderr kp-plan "${walked[@]}" --search halving:9:1 \
	    gl.part
	[ "$stderr" = "kp-plan: --search halving:9:1: not a whole number from 2 to 1000: \"1\"" ]
	run -2 --separate-stderr kp-plan "${walked[@]}" --search halving:x \
	    gl.part
	[ "$stderr" = "kp-plan: --search halving:x: not a whole number from 1 to 100000: \"x\"" ]
}
