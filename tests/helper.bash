# shellcheck shell=bash
# Sourced by every bats file, first line: load helper (or ../helper).
#
# Each test runs in its own empty folder with the built programs first on
# PATH, in the C locale.  $ROOT is the project, $SHARED the folder of big data
# sets beside it, which may be absent.

bats_require_minimum_version 1.5.0

ROOT=${KP_ROOT:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
SHARED=$ROOT/../shared
# shellcheck disable=SC2034
DATA=$ROOT/tests/data
: "${KP_BIN:=$ROOT/build/bin}"
PATH=$KP_BIN:$PATH
export LC_ALL=C PATH
unset NO_COLOR COLUMNS

# A file with a setup() of its own calls this first in it.
kp_setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

setup() {
	kp_setup
}

# need_shared data/flights-500k.csv ...: skips the test, by name, without them.
need_shared() {
	local f
	for f; do
		[ -e "$SHARED/$f" ] || skip "no ../shared/$f"
	done
}

# need COMMAND...: skips the test if a program of somebody else's is absent.
need() {
	local c
	for c; do
		command -v "$c" >/dev/null || skip "no $c"
	done
}

# pipeline 'a | b | c': a shell line under pipefail, for use with run.
pipeline() {
	bash -o pipefail -c "$1"
}

# fails CODE 'exact stderr' COMMAND...: runs it and checks both, and that it
# wrote nothing on stdout.
fails() {
	local code=$1 text=$2
	shift 2
	run --separate-stderr "$@"
	# shellcheck disable=SC2154
	if [ "$status" -ne "$code" ] || [ "$stderr" != "$text" ] ||
	    [ -n "$output" ]; then
		printf 'command: %s\n' "$*"
		printf 'status: %s, not %s\n' "$status" "$code"
		printf 'stderr: %s\nwanted: %s\n' "$stderr" "$text"
		printf 'stdout: %s\n' "$output"
		return 1
	fi
}

# equal GOT WANT
equal() {
	if [ "$1" != "$2" ]; then
		printf 'got:    %s\nwanted: %s\n' "$1" "$2"
		return 1
	fi
}

# same_metrics FILE BUNDLE: FILE, written by kp-predict --metrics, has for every
# group of BUNDLE with hold-out rows just the metrics that BUNDLE has, of which
# some are numbers.
same_metrics() {
	local of='[.group, .metrics]' got
	got=$(jq -c "select(.group != null) | $of" "$1")
	jq -e -s 'length > 1 and
	    all(.[].metrics; any(.[]; type == "number"))' "$1" >/dev/null ||
		equal "$(cat "$1")" "metrics that are numbers" || return 1
	equal "$got" "$(kp-select --json "$2" |
	    jq -c "select(.holdout_rows > 0) | $of")"
}

# near GOT WANT TOL: |GOT - WANT| <= TOL * max(1, |WANT|).
near() {
	awk -v g="$1" -v w="$2" -v t="$3" 'BEGIN {
		a = w < 0 ? -w : w
		d = g - w
		if (g !~ /^[-+]?[0-9.]/ || d != d ||
		    (d < 0 ? -d : d) > t * (a > 1 ? a : 1)) {
			printf "%s is not within %s of %s\n", g, t, w
			exit 1
		}
	}'
}
