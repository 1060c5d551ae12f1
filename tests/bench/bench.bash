# shellcheck shell=bash
# Sourced by the scripts beside it, which compare or measure speed; the figures
# are of the machine they run on.
#
#	KP_BIN=build/bin tests/bench/NAME.sh
#
# Runs of what is compared alternate, so that a slow minute hits all alike, and
# medians are given.  What other programs took of the cores meanwhile is shown
# beside: figures of a busy machine mean little.

set -u
BENCH=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SHARED=$BENCH/../../../shared
: "${KP_BIN:=$BENCH/../../build/bin}"
: "${RUNS:=3}"
KP_BIN=$(cd "$KP_BIN" && pwd) || exit 1
PATH=$KP_BIN:$PATH
export LC_ALL=C PATH

skip() {
	printf '%s: skipped: %s\n' "$(basename "$0")" "$1"
	exit 0
}

WORK=$(mktemp -d "${TMPDIR:-/tmp}/kp-bench.XXXXXX") || exit 1
trap 'rm -rf "$WORK"' EXIT
cd "$WORK" || exit 1
[ -x /usr/bin/time ] || skip "no /usr/bin/time"

need_shared() {
	local f
	for f; do
		[ -e "$SHARED/$f" ] || skip "no ../shared/$f"
	done
}

# Jiffies all cores worked so far.
busy_jiffies() {
	awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8 + $9 }' /proc/stat
}

# measure NAME COMMAND...: one run.  Appends "wall_sec peak_rss_mb foreign
# cpu_sec" to NAME.runs; peak is of the largest process, foreign the cores that
# others kept busy.  Shows what the command said if it fails.
measure() {
	local name=$1 before after
	shift
	before=$(busy_jiffies)
	if ! /usr/bin/time -o time.out -f '%e %M %U %S' "$@" >said.out 2>&1; then
		cat said.out >&2
		echo "$(basename "$0"): failed: $*" >&2
		exit 1
	fi
	after=$(busy_jiffies)
	awk -v jiffies=$((after - before)) -v hz="$(getconf CLK_TCK)" '
	END {
		foreign = (jiffies / hz - $3 - $4) / ($1 > 0 ? $1 : 1)
		printf("%s %.0f %.2f %.2f\n", $1, $2 / 1024,
		    foreign > 0 ? foreign : 0, $3 + $4)
	}' time.out >>"$name.runs"
}

# median NAME COLUMN
median() {
	sort -g -k"$2,$2" "$1.runs" | awk -v c="$2" '{ v[NR] = $c }
	    END { print v[int((NR + 1) / 2)] }'
}

# report NAME [WHAT]: the medians on one line, the foreign load at its worst.
report() {
	awk -v name="$1" -v what="${2-}" -v n="$(wc -l <"$1.runs")" \
	    -v wall="$(median "$1" 1)" -v rss="$(median "$1" 2)" \
	    -v cpu="$(median "$1" 4)" '
	$3 > foreign { foreign = $3 }
	END {
		others = sprintf("  (others: %.1f cores)", foreign)
		printf("%-18s %8.2f s %8.2f cpu-s %6.0f MB  %d runs%s%s\n",
		    name, wall, cpu, rss, n, what == "" ? "" : "  " what,
		    foreign > 0.1 ? others : "")
	}' "$1.runs"
}

# logloss RUN: row-weighted hold-out log-loss of the selected models.
logloss() {
	kp-select -q "$1" | awk -F '\t' '
	    NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
	    $col["holdout_rows"] > 0 {
		n += $col["holdout_rows"]
		sum += $col["holdout_rows"] * $col["logloss"]
	    }
	    END { printf "%.9f\n", sum / n }'
}

# CSV of 100,000 groups of 20 rows; rows of a group lie far apart.
small_groups() {
	awk 'BEGIN {
		print "key,x,colour,y"
		seed = 1
		for (i = 0; i < 2000000; i++) {
			seed = (seed * 16807) % 2147483647
			x = seed / 2147483647
			printf "g%d,%.4f,%s,%d\n", (i * 7919) % 100000, x,
			    substr("rgb", 1 + i % 3, 1),
			    (seed % 1000) / 1000 < x
		}
	}'
}
