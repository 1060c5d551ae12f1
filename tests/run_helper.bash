# shellcheck shell=bash
# For tests of runs: made-up data, runs in the background, and what they leave
# behind.  Sourced after helper.

# Options of a quick run, of one with 40 configs, and of the same made slow:
# one config at a time, every epoch read from disk, checkpoints all the time.
# shellcheck disable=SC2034
learn=(--learner logistic --param l2=log:1e-6:1e-1 --search grid:6)
many=(--learner logistic --param l2=log:1e-8:1e-1 --search grid:40)
slow=("${many[@]}" --pack-width 1 --memory 1 --checkpoint 0.05)

# skewed_csv ROWS: group, two numbers, a category and a noisy label; the first
# of 8 groups has a third of the rows.
skewed_csv() {
	awk -v rows="$1" '
	function random() {
		s = (s * 69069 + 12345) % 4294967296
		return s / 4294967296
	}
	BEGIN {
		print "g,x,z,c,y"
		for (i = 0; i < rows; i++) {
			u = random()
			x = random() * 4 - 2
			z = (i * 7919 % 1000) / 100
			y = x + i % 3 - z / 5 + 4 * random() - 2.5 > 0
			printf "g%d,%.4f,%.2f,c%d,%d\n", 8 * u * u, x, z,
			    i % 3, y
		}
	}'
}

# featurize CSV DATASET [OPTION...]
featurize() {
	kp-featurize -q --label y --positive 1 --group-by g "$1" -o "$2" \
	    "${@:3}"
}

# undisturbed: undisturbed.kpm, what "${many[@]}" gives on big.
undisturbed() {
	local f=$BATS_FILE_TMPDIR/undisturbed
	if [ ! -e "$f.kpm" ]; then
		kp-train -q -p 1 -o "$f.$$" "${many[@]}" big
		kp-select -q -o "$f.kpm" "$f.$$" >/dev/null
	fi
	cp "$f.kpm" undisturbed.kpm
}

# start COMMAND...: in the background, stderr to the file err; $started.
start() {
	"$@" 2>err 3>&- &
	started=$!
}

# ended_within SEC: waits for it, $status; fails (and kills it) if it has not
# ended by then.
ended_within() {
	local i
	for ((i = 0; i < $1 * 50; i++)); do
		if ! kill -0 "$started" 2>/dev/null; then
			status=0
			wait "$started" || status=$?
			return 0
		fi
		sleep 0.02
	done
	echo "process $started has not ended within $1 s"
	kill -9 "$started"
	return 1
}

# The processes that $started has as children.
workers() {
	local f pid parent
	for f in /proc/[0-9]*/stat; do
		read -r pid _ _ parent _ 2>/dev/null <"$f" || continue
		[ "$parent" != "$started" ] || echo "$pid"
	done 2>/dev/null
}

# The kp-gap-worker processes whose working directory is the test's.
workers_here() {
	local p
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" != kp-gap-worker ] ||
		    [ "$(readlink "$p/cwd")" != "$PWD" ] || echo "${p#/proc/}"
	done
}

# no_workers_left: none within 5 s.
no_workers_left() {
	local i
	for ((i = 0; i < 100; i++)); do
		[ -n "$(workers_here)" ] || return 0
		sleep 0.05
	done
	echo "workers left: $(workers_here)"
	return 1
}

# journal_until N WHAT...: waits until WHAT, given the journals of run, prints
# at least N, while $started is at work.
journal_until() {
	local n=0 want=$1
	shift
	while [ "$n" -lt "$want" ]; do
		if ! kill -0 "$started" 2>/dev/null; then
			echo "ended at $n of $want"
			cat err
			return 1
		fi
		n=$(cat run/journal/* 2>/dev/null | "$@" || :)
		sleep 0.01
	done
}

journal_bytes() {
	journal_until "$1" wc -c
}

# So many finished models, known by why they ended.
journal_models() {
	journal_until "$1" grep -a -c 'gradient is small\|no longer falls'
}

# kill_when N COMMAND...: kill -9 of kp-train when run's journals have N bytes.
kill_when() {
	local n=$1
	shift
	start "$@"
	journal_bytes "$n"
	kill -9 "$started"
	ended_within 5
	no_workers_left
}

# nothing_half_written RUN: only files of a run, and those in JSON whole.
nothing_half_written() {
	local f
	for f in "$1"/*; do
		case ${f##*/} in
		plan.json | summary.json) jq -e . "$f" >/dev/null || return 1 ;;
		lock | journal | timeline.jsonl) ;;
		*)
			echo "left behind: $f"
			return 1
			;;
		esac
	done
}

# units RUN: the journals' units of work, one a line in order of end: worker,
# group, pack, epoch, shard, kind (0 train, 1 score, 2 load), start, end, rows,
# bytes sent.  The last frame of a worker that was killed may be torn.
units() {
	python3 - "$1"/journal/* <<'END'
import struct, sys

found = []
for name in sys.argv[1:]:
    b = open(name, "rb").read()
    at = 0
    while at + 24 <= len(b):
        _, kind, size, _ = struct.unpack_from("<4sIQQ", b, at)
        at += 24
        if at + size > len(b):
            break
        for k in range(at, at + size if kind == 20 else at, 56):
            found.append(struct.unpack_from("<IIIIddQQII", b, k))
        at += size
for w, g, p, e, start, end, rows, sent, shard, kind in sorted(
        found, key=lambda u: u[5]):
    print(w, g, p, e, shard, kind, "%.9f %.9f" % (start, end), rows, sent)
END
}
