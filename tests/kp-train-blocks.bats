# kp-train --blocks: several configs of all groups learn from one stream of
# kp-shuffle, and nothing that has been learnt is lost.

load helper
load run_helper

six=(--learner svm --param learning_rate=log:1e-3:1e-1 --search grid:6)
mixed=(--learner svm --param learning_rate=0.1,0.01 --param batch=1,7,300)

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	PATH=${KP_BIN:-${KP_ROOT:-$BATS_TEST_DIRNAME/..}/build/bin}:$PATH
	skewed_csv 6000 | awk -F , 'NR == 1 || $1 ~ /g[01]/' >two.csv
	featurize two.csv two
	skewed_csv 50000 >big.csv
	featurize big.csv big
	kp-shuffle --epochs 4 --seed 3 big >big.kps 2>/dev/null
	kp-train -q -o big.run "${mixed[@]}" --blocks big.kps
	kp-select -q -o big.kpm big.run >/dev/null
}

setup() {
	kp_setup
	local f
	for f in two.csv two big.csv big big.kps big.kpm; do
		ln -s "$BATS_FILE_TMPDIR/$f" $f
	done
}

# slowly FILE SEC: FILE in a hundred pieces over so many seconds.
slowly() {
	python3 - "$1" "$2" <<-'END'
	import sys, time
	b = open(sys.argv[1], "rb").read()
	n = len(b) // 100 + 1
	out = sys.stdout.buffer
	try:
	    for at in range(0, len(b), n):
	        out.write(b[at:at + n])
	        out.flush()
	        time.sleep(float(sys.argv[2]) / 100)
	except BrokenPipeError:
	    pass
	END
}

# same_models RUN BUNDLE: what RUN selects is that bundle, byte for byte.
same_models() {
	kp-select -q -o "$1.same.kpm" "$1" >/dev/null
	cmp "$1.same.kpm" "$2"
}

# --- from end to end ---

@test "six configs of two groups share one stream, and kp-predict agrees" {
	run -0 --separate-stderr pipeline "kp-shuffle --epochs 5 two |
	    kp-train ${six[*]} -o run --blocks -"
	[[ $stderr =~ ^'kp-train: 2 groups: 2 trained, 0 fallback, 0 failed; 12 models in '[0-9.]+' s'$ ]]
	run -0 kp-select -q -o m.kpm run
	equal "$(cut -f 1,5,6 <<<"$output")" $'group\tstatus\treason
g0\ttrained\tcapped
g1\ttrained\tcapped'
	kp-predict -q -m m.kpm --split holdout --metrics m.json two.csv \
	    >/dev/null
	same_metrics m.json m.kpm
	only_complete run
}

# only_complete RUN: only what a complete run has.
only_complete() {
	equal "$(ls "$1" | tr '\n' ' ')" \
	    "data journal lock plan.json summary.json "
}

@test "a stream in stored order gives the very bundle of --shuffle none" {
	local l
	for l in "svm --param batch=1,7,300" \
	    "logistic --param solver=sgd --param l1=0,0.01" \
	    "logistic --param solver=adam --param batch=16" \
	    "mlp --param hidden1=4 --param batch=32"; do
		rm -rf a b
		kp-train -q -p 1 -o a --shuffle none --epochs 3 --learner $l two
		pipeline "kp-shuffle --method none --epochs 3 two |
		    kp-train -q -o b --epochs 3 --learner $l --blocks -"
		kp-select -q -o a.kpm a >a.tsv
		kp-select -q -o b.kpm b >b.tsv
		cmp a.tsv b.tsv
		cmp a.kpm b.kpm
	done
}

@test "the models do not depend on pack width or CPU" {
	kp-train -q -o width "${mixed[@]}" --pack-width 1 --blocks big.kps
	same_models width big.kpm
	KP_ISA=base kp-train -q -o base "${mixed[@]}" --blocks big.kps
	same_models base big.kpm
}

@test "streams one behind the other are one" {
	kp-shuffle --epoch 0 two >a.kps
	kp-shuffle --epoch 1 two >b.kps
	kp-shuffle --epochs 2 two >c.kps
	cat a.kps b.kps | kp-train -q -o ab "${six[@]}" --blocks -
	kp-train -q -o c "${six[@]}" --blocks c.kps
	kp-select -q -o c.kpm c >/dev/null
	same_models ab c.kpm
}

@test "only the groups that are streamed are trained" {
	kp-shuffle --epochs 2 --group g1 two |
	    kp-train -q -o one "${six[@]}" --blocks -
	run -0 kp-select -q one
	equal "$(cut -f 1,5 <<<"$output")" $'group\tstatus\ng1\ttrained'
	kp-shuffle --epochs 2 --method none two |
	    kp-train -q -o both "${six[@]}" --blocks -
	kp-shuffle --epochs 2 --method none --group g1 two |
	    kp-train -q -o one.again "${six[@]}" --blocks -
	equal "$(kp-select -q both | tail -n 1)" \
	    "$(kp-select -q one.again | tail -n 1)"
}

@test "--epochs is a cap: the rest of the stream is read and ignored" {
	kp-shuffle --epochs 2 two | kp-train -q -o two.run --epochs 2 \
	    "${six[@]}" --blocks -
	run -0 pipeline "kp-shuffle --epochs 6 two |
	    kp-train -q -o six.run --epochs 2 ${six[*]} --blocks -"
	kp-select -q -o two.kpm two.run >/dev/null
	same_models six.run two.kpm
	# And whatever comes behind.
	run -0 pipeline "{ kp-shuffle --epochs 2 two; cat two.csv; } |
	    kp-train -q -o csv.run --epochs 2 ${six[*]} --blocks -"
	same_models csv.run two.kpm
}

@test "a run that is complete already says so, and its stream ends well" {
	kp-shuffle two | kp-train -q -o run "${six[@]}" --blocks -
	run -0 --separate-stderr pipeline "kp-shuffle --epochs 40 two |
	    kp-train -o run ${six[*]} --blocks -"
	equal "$stderr" "kp-train: run: complete already: 2 groups: 2 trained, 0 fallback, 0 failed; nothing to do"
}

@test "the slice of one rank is learnt from, with a warning" {
	featurize two.csv blocks --block-size 2K
	run -0 --separate-stderr pipeline "kp-shuffle --rank 0/2 blocks |
	    kp-train ${six[*]} -o run --blocks - 2>&1 |
	    sed 's/ has [0-9]* training/ has N training/'"
	equal "${lines[1]}" "kp-train: an epoch of the stream has N training rows of groups that have $(jq .totals.train two/manifest.json)"
}

# --- records and reports ---

@test "trial records tell every epoch of every config, then its end" {
	kp-shuffle --epochs 3 two |
	    kp-train -q -o run "${six[@]}" --trials - --blocks - >t.jsonl
	equal "$(jq -r .group t.jsonl | sort | uniq -c | tr -s ' \n' ' ')" \
	    " 24 g0 6 g1 "
	equal "$(jq -c 'select(.status == "step" and .group == "g0" and
	    .config == 2) | .epoch' t.jsonl | tr '\n' ' ')" "1 2 3 "
	equal "$(jq -r 'select(.status != "step") |
	    "\(.status), \(.reason), \(.epoch)"' t.jsonl | sort -u)" \
	    "capped, stream ended, 3"
	# The metric of the last epoch is that of the finished config.
	equal "$(jq -c 'select(.status == "step" and .epoch == 3) |
	    .metrics.accuracy' t.jsonl | sort)" \
	    "$(jq -c 'select(.status != "step" and .group == "g0") |
	        .metrics.accuracy' t.jsonl | sort)"
	kp-report --text run >report
	grep -q 'prior     unknown, the rows came through a stream' report
	grep -q '^workers     1, makespan' report
}

@test "what is kept of the data is no dataset to train on" {
	kp-shuffle two | kp-train -q -o run "${six[@]}" --blocks -
	local no=": has no rows: it was made from a stream"
	fails 6 "kp-train: $PWD/run/data$no" kp-train -o again run/plan.json
	fails 6 "kp-train: run/data$no" kp-train -o again "${six[@]}" run/data
	fails 6 "kp-partition: run/data$no" kp-partition run/data
	fails 6 "kp-shuffle: run/data$no" kp-shuffle run/data
	equal "$(jq -r .fingerprint run/data/manifest.json)" \
	    "$(jq -r .fingerprint two/manifest.json)"
}

@test "groups that fall back are counted, and have no metrics" {
	awk -F , -v OFS=, '$1 == "g0" { $1 = "one"; $5 = 1; print }' two.csv |
	    cat two.csv - >three.csv
	featurize three.csv three
	kp-shuffle three >three.kps
	run -0 --separate-stderr kp-train -o run "${six[@]}" --blocks three.kps
	[[ $stderr == "kp-train: 3 groups: 2 trained, 1 fallback, 0 failed; "* ]]
	equal "$(kp-select -q run | awk -F '\t' '$1 == "one" {
	    print $3, $5, $6, $8 }')" "0 fallback one class nan"
	rm -r run
	run -4 kp-train -q --strict -o run "${six[@]}" --blocks three.kps
}

# --- progressive validation ---

# A small group, its rows in stored order, and what logistic regression by plain
# stochastic gradient descent, from the log-odds of the label on, says of each
# row before it has seen it.
@test "without hold-out rows each row is predicted before it is learnt from" {
	need python3
	awk 'BEGIN {
		print "x,z,y"
		for (i = 0; i < 1200; i++)
			print i * 37 % 101 / 50 - 1 "," i * 53 % 89 / 40 - 1 \
			    "," (i * 71 % 97 / 40 - 1 > i * 37 % 101 / 50 - 1)
	}' >tiny.csv
	kp-featurize -q --label y --positive 1 --holdout 0 tiny.csv -o tiny
	kp-shuffle --method none --epochs 3 tiny |
	    kp-train -q -o run --learner logistic --param solver=sgd \
	        --param learning_rate=0.05,0.2 --param schedule=constant \
	        --param standardize=0 --param l2=0.01 --trials t.jsonl \
	        --blocks -
	python3 - tiny.csv t.jsonl <<-'END'
	import csv, json, math, sys
	rows = [(float(r["x"]), float(r["z"]), float(r["y"]))
	        for r in csv.DictReader(open(sys.argv[1]))]
	def epochs(rate):
	    ones = sum(y for x, z, y in rows)
	    w = [0.0, 0.0, math.log(ones / (len(rows) - ones))]
	    for epoch in range(3):
	        loss = brier = right = 0
	        for x, z, y in rows:
	            p = 1 / (1 + math.exp(-(w[0] * x + w[1] * z + w[2])))
	            loss -= math.log(p if y else 1 - p)
	            brier += (p - y) ** 2
	            right += (p >= 0.5) == (y == 1)
	            w[0] -= rate * ((p - y) * x + 0.01 * w[0])
	            w[1] -= rate * ((p - y) * z + 0.01 * w[1])
	            w[2] -= rate * (p - y)
	        n = len(rows)
	        yield loss / n, brier / n, right / n
	want = [list(epochs(0.05)), list(epochs(0.2))]
	steps = done = 0
	for line in open(sys.argv[2]):
	    t = json.loads(line)
	    loss, brier, right = want[t["config"]][t["epoch"] - 1]
	    if t["status"] == "step":
	        assert abs(t["metrics"]["logloss"] - loss) < 1e-6, (t, loss)
	        steps += 1
	        continue
	    # A finished config has the metrics of the first epoch.
	    loss, brier, right = want[t["config"]][0]
	    m = t["metrics"]
	    assert abs(m["logloss"] - loss) < 1e-6, (m, loss)
	    assert abs(m["brier"] - brier) < 1e-6, (m, brier)
	    assert abs(m["accuracy"] - right) < 2 / len(rows), (m, right)
	    assert m["auc"] is None and t["holdout_rows"] == len(rows), t
	    done += 1
	assert (steps, done) == (6, 2), (steps, done)
	END
}

@test "a stream of training rows alone is scored as it goes" {
	kp-shuffle --split train --epochs 2 two |
	    kp-train -q -o run "${six[@]}" --blocks -
	equal "$(kp-select -q run | awk -F '\t' '{ n += $3 } END { print n }')" \
	    "$(jq .totals.train two/manifest.json)"
	equal "$(kp-select -q run | awk -F '\t' 'NR > 1 { print $7 }' | uniq)" \
	    progressive
	kp-select -q -o m.kpm run >/dev/null
	equal "$(kp-select m.kpm | awk -F '\t' 'NR > 1 { print $7 }' | uniq)" \
	    progressive
	kp-report run | grep -q '^accuracy .* rows, each before it was learnt from$'
}

@test "a group scored as it goes is not compared with those on hold-out rows" {
	# Equal rows are in one part: groups of two different rows often have
	# none to hold out.
	head -1 two.csv >three.csv
	awk -F , -v OFS=, 'NR > 1 { print } NR > 1 && NR < 32 {
		$1 = "few" int(NR / 2); $5 = NR % 2
		for (i = 0; i < 12; i++) print }' two.csv >>three.csv
	featurize three.csv three
	kp-shuffle three >three.kps
	kp-train -q -o run "${six[@]}" --blocks three.kps
	kp-select -q run >table
	awk -F '\t' '$7 == "progressive" { print $1 }' table >seen
	[ -s seen ]
	equal "$(grep -c '^g' seen)" 0
	kp-report run >report
	grep -q "note      $(wc -l <seen) groups without hold-out rows left out" \
	    report
	equal "$(sed -n '/^  rank/,/^$/p' report | grep -cwFf seen)" 0
}

# --- interruptions ---

@test "kill -9 at any moment and the same pipe give the same models" {
	need python3
	local i
	for ((i = 0; i < 8; i++)); do
		slowly big.kps 1.5 | timeout -s KILL "0.$((RANDOM % 8 + 2))" \
		    kp-train -q -o run "${mixed[@]}" --checkpoint 0.01 \
		    --blocks - || true
	done 2>/dev/null
	kp-train -q -o run "${mixed[@]}" --blocks big.kps
	same_models run big.kpm
	only_complete run
}

@test "a stream run that goes on cuts the torn last line of its trials" {
	need jq
	head -c "$(($(wc -c <big.kps) / 2))" big.kps >cut.kps
	kp-train -q -o run "${mixed[@]}" --trials t.jsonl --blocks cut.kps || true
	cp t.jsonl before
	printf '{"group":"g' >>t.jsonl
	kp-train -q -o run "${mixed[@]}" --trials t.jsonl --blocks big.kps
	jq -e . t.jsonl >/dev/null
	cmp before <(head -n "$(wc -l <before)" t.jsonl)
	[ "$(wc -l <t.jsonl)" -gt "$(wc -l <before)" ]
}

@test "kill -9 while rows are predicted before they are learnt from, too" {
	need python3
	local i
	kp-shuffle --split train --epochs 3 big >train.kps
	kp-train -q -o whole "${mixed[@]}" --blocks train.kps
	kp-select -q -o whole.kpm whole >/dev/null
	for ((i = 0; i < 5; i++)); do
		slowly train.kps 1.5 | timeout -s KILL "0.$((RANDOM % 8 + 2))" \
		    kp-train -q -o run "${mixed[@]}" --checkpoint 0.01 \
		    --blocks - || true
	done 2>/dev/null
	kp-train -q -o run "${mixed[@]}" --blocks train.kps
	same_models run whole.kpm
}

@test "a stream that is cut short exits 6, saves, and says how to go on" {
	local n
	n=$(($(wc -c <big.kps) * 2 / 3))
	head -c "$n" big.kps >cut.kps
	run -6 --separate-stderr kp-train -o run "${mixed[@]}" --blocks cut.kps
	[[ $stderr =~ ^'kp-train: cut.kps: frame '[0-9]+' at byte '[0-9]+': cut short (what came before is saved: the same command goes on from there)'$ ]]
	[ -e run/stream.state ]
	fails 7 "kp-select: run: not finished (resume it with kp-train)" \
	    kp-select run
	kp-train -q -o run "${mixed[@]}" --blocks big.kps
	same_models run big.kpm
}

@test "what a resumed kp-shuffle gives is enough to go on" {
	kp-shuffle --seed 3 --state state big >first.kps
	equal "$(jq .epoch state)" 1
	head -c "$(($(wc -c <big.kps) / 3))" big.kps >part.kps
	run -6 kp-train -q -o run "${mixed[@]}" --blocks part.kps
	kp-shuffle --epochs 4 --seed 3 --resume state big | cat >rest.kps
	[ "$(wc -c <rest.kps)" -lt "$(wc -c <big.kps)" ]
	kp-train -q -o run "${mixed[@]}" --blocks rest.kps
	same_models run big.kpm
}

@test "SIGTERM exits 7 even while no input comes" {
	mkfifo pipe
	{
		head -c 2000000 big.kps
		sleep 5
	} >pipe 3>&- &
	start kp-train -o run "${mixed[@]}" --blocks pipe
	local i
	for ((i = 0; i < 300; i++)); do
		[ -s run/stream.held ] && break
		sleep 0.02
	done
	sleep 0.3
	kill -TERM "$started"
	ended_within 3
	equal "$status" 7
	equal "$(cat err)" "kp-train: stopped; the same command goes on from here"
	kp-train -q -o run "${mixed[@]}" --blocks big.kps
	same_models run big.kpm
}

@test "so it does when the signal ends the writer of the stream too" {
	mkfifo pipe
	bash -c 'head -c 2000000 big.kps; exec sleep 5' >pipe 3>&- &
	local writer=$! i
	start kp-train -o run "${mixed[@]}" --blocks pipe
	for ((i = 0; i < 300; i++)); do
		[ -s run/stream.held ] && break
		sleep 0.02
	done
	kill -TERM "$started" "$writer"
	ended_within 3
	equal "$status" 7
	equal "$(cat err)" "kp-train: stopped; the same command goes on from here"
}

# --- wrong use and bad input ---

@test "--blocks used wrongly exits 2 and says how" {
	kp-shuffle two >two.kps
	local p='kp-train: ' q=' does not go with --blocks'
	fails 2 "${p}--blocks stands for the dataset or plan: extra operand \"two\"" \
	    kp-train -o run "${six[@]}" --blocks two.kps two
	fails 2 "${p}--workers$q: one process learns from a stream" \
	    kp-train -o run -p 2 "${six[@]}" --blocks two.kps
	fails 2 "${p}--strategy$q: one process learns from a stream" \
	    kp-train -o run --strategy gtp "${six[@]}" --blocks two.kps
	fails 2 "${p}--data$q" \
	    kp-train -o run --data two "${six[@]}" --blocks two.kps
	fails 2 "${p}--print-plan$q" \
	    kp-train --print-plan "${six[@]}" --blocks two.kps
	fails 2 "${p}--shuffle$q: a stream has its order from kp-shuffle" \
	    kp-train -o run --shuffle once "${six[@]}" --blocks two.kps
	fails 2 "${p}--buffer$q: a stream has its order from kp-shuffle" \
	    kp-train -o run --buffer 10% "${six[@]}" --blocks two.kps
	fails 2 "${p}--learner is needed to train on a stream (try --help)" \
	    kp-train -o run --blocks two.kps
	fails 2 "${p}--output is needed (try --help)" \
	    kp-train "${six[@]}" --blocks two.kps
	fails 2 "${p}logistic goes through all rows at once for each step, but a stream is learnt from row by row: give --param solver=sgd" \
	    kp-train -o run --learner logistic --blocks two.kps
	fails 2 "${p}missing operand; usage: kp-train [OPTION...] -o RUN PLAN" \
	    kp-train -o run "${six[@]}"
	[ ! -e run ]
	kp-train -q -p 1 -o run "${six[@]}" --blocks two.kps
}

@test "a terminal is no stream" {
	need script
	run script -qec 'kp-train -o run --learner svm --blocks -' /dev/null \
	    </dev/null
	[[ $output == "Usage: kp-train"* ]]
	equal "$status" 2
}

@test "what is no block stream is named" {
	kp-shuffle two | kp-train -q -o some.run "${six[@]}" --blocks -
	mkdir folder
	local no="not a block stream"
	fails 6 "kp-train: two: a dataset, $no (kp-shuffle makes one)" \
	    kp-train -o run "${six[@]}" --blocks two
	fails 6 "kp-train: some.run: a run, $no (kp-shuffle makes one)" \
	    kp-train -o run "${six[@]}" --blocks some.run
	fails 6 "kp-train: big.kpm: a bundle, $no (kp-shuffle makes one)" \
	    kp-train -o run "${six[@]}" --blocks big.kpm
	fails 6 "kp-train: some.run/plan.json: a JSON file, $no (kp-shuffle makes one)" \
	    kp-train -o run "${six[@]}" --blocks some.run/plan.json
	fails 6 "kp-train: folder: a folder, $no (kp-shuffle makes one)" \
	    kp-train -o run "${six[@]}" --blocks folder
	fails 6 "kp-train: two.csv: $no" \
	    kp-train -o run "${six[@]}" --blocks two.csv
	fails 1 "kp-train: nosuch: No such file or directory" \
	    kp-train -o run "${six[@]}" --blocks nosuch
	fails 6 "kp-train: standard input: $no (it is empty)" \
	    kp-train -o run "${six[@]}" --blocks - </dev/null
	fails 6 "kp-train: standard input: $no" \
	    kp-train -o run "${six[@]}" --blocks - <two.csv
	[ ! -e run ]
}

@test "a run takes no stream of other data, seed or order" {
	head -c 1500000 big.kps >cut.kps
	run -6 kp-train -q -o run "${mixed[@]}" --blocks cut.kps
	kp-shuffle two >two.kps
	run -2 --separate-stderr kp-train -o run "${mixed[@]}" --blocks two.kps
	[[ $stderr =~ ^'kp-train: run: holds a run of another plan (data 0x'[0-9a-f]+' there, 0x'[0-9a-f]+' here); remove it or choose another -o'$ ]]
	fails 2 "kp-train: run: holds a run of another plan (seed 1 there, 7 here); remove it or choose another -o" \
	    kp-train -o run --seed 7 "${mixed[@]}" --blocks big.kps
	kp-shuffle --epochs 4 --seed 4 big >other.kps
	fails 6 "kp-train: other.kps: not the stream of this run: other rows, or in another order" \
	    kp-train -o run "${mixed[@]}" --blocks other.kps
	kp-train -q -o run "${mixed[@]}" --blocks big.kps
	same_models run big.kpm
}

@test "hold-out rows beyond --memory end the run, and more memory mends it" {
	fails 2 "kp-train: big.kps: its hold-out rows need more memory than --memory 2048: give more, or stream only training rows (kp-shuffle --split train)" \
	    kp-train -o run --memory 2K "${mixed[@]}" --blocks big.kps
	kp-train -q -o run --memory 100M "${mixed[@]}" --blocks big.kps
	same_models run big.kpm
}

@test "damage in a stream is told, and what came before is kept" {
	need python3
	python3 - <<-'END'
	b = bytearray(open("big.kps", "rb").read())
	b[len(b) * 3 // 4] ^= 1
	open("bad.kps", "wb").write(b)
	END
	run -6 --separate-stderr kp-train -o run "${mixed[@]}" --blocks bad.kps
	[[ $stderr =~ ^'kp-train: bad.kps: frame '[0-9]+' at byte '[0-9]+': damaged (what came before is saved: the same command goes on from there)'$ ]]
	kp-train -q -o run "${mixed[@]}" --blocks big.kps
	same_models run big.kpm
}

@test "a damaged state is told, and does no harm" {
	need python3
	head -c 2000000 big.kps >cut.kps
	run -6 kp-train -q -o run "${mixed[@]}" --blocks cut.kps
	python3 - <<-'END'
	b = bytearray(open("run/stream.state", "rb").read())
	b[len(b) // 2] ^= 1
	open("run/stream.state", "wb").write(b)
	END
	fails 6 "kp-train: run/stream.state: damaged (without it, the run learns from the start of the stream)" \
	    kp-train -o run "${mixed[@]}" --blocks big.kps
	rm run/stream.state
	kp-train -q -o run "${mixed[@]}" --blocks big.kps
	same_models run big.kpm
}

@test "trial records into a full disk exit 1" {
	[ -e /dev/full ] || skip "no /dev/full"
	kp-shuffle two >two.kps
	fails 1 "kp-train: trial records could not be written" \
	    kp-train -q -o run "${six[@]}" --trials /dev/full --blocks two.kps
}

@test "a stream of a header alone has no rows" {
	kp-shuffle --skip 100000000 two 2>/dev/null >none.kps
	fails 3 'kp-train: standard input: has no rows' \
	    kp-train -q -o run "${six[@]}" --blocks - <none.kps
}

@test "SIGTERM while a stream is awaited is a stop" {
	mkfifo pipe
	kp-train -q -o run "${six[@]}" --blocks pipe 2>err &
	started=$!
	sleep .5
	kill -TERM "$started"
	status=0
	wait "$started" || status=$?
	equal "$status" 7
	equal "$(cat err)" 'kp-train: stopped'
	sleep 5 >pipe &
	kp-train -q -o run "${six[@]}" --blocks - <pipe 2>err &
	started=$!
	sleep .5
	kill -TERM "$started"
	status=0
	wait "$started" || status=$?
	equal "$status" 7
	equal "$(cat err)" 'kp-train: stopped'
}
