#!/bin/bash
# A text file of short lines shuffled by kp-shuffle with a buffer of 10 %, beside
# shuf and sort -R, which hold all of it in memory, and kp-shuffle's own full
# shuffle, --method once: to /dev/null and into a pipe, and what each does when
# memory is less than the file.
#
#	SIZE=1500M LENGTH=32 RUNS=3
#	SORT=64M	the size for sort -R, which takes minutes of that
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"

: "${SIZE:=1500M}" "${LENGTH:=32}" "${SORT:=64M}"
export TMPDIR=$WORK

for size in "$SIZE" "$SORT"; do
	"$KP_BIN/../bench/gendata" lines --bytes "$size" --length "$LENGTH" \
	    >"in.$size" || exit 1
	# one reading, so that all have it in memory
	printf '%s: %s lines of %s bytes\n' "$size" "$(wc -l <"in.$size")" \
	    "$LENGTH"
done
ln "in.$SIZE" in

# each NAME COMMAND: to /dev/null, and NAME-pipe: into a pipe
each() {
	measure "$1" sh -c "$2 >/dev/null"
	measure "$1-pipe" sh -c "$2 | cat >/dev/null"
}

for ((i = 0; i < RUNS; i++)); do
	each corgipile 'kp-shuffle in'
	each once 'kp-shuffle --method once in'
	each shuf 'shuf in'
	measure corgipile-sort sh -c "kp-shuffle in.$SORT >/dev/null"
	measure corgipile-j2 sh -c 'kp-shuffle -j 2 in >/dev/null'
	measure single sh -c 'kp-shuffle --single-buffer in >/dev/null'
	measure block sh -c 'kp-shuffle --method block in >/dev/null'
	measure none sh -c 'kp-shuffle --method none in >/dev/null'
done
measure sort-R sh -c "sort -R in.$SORT >/dev/null"
echo
for name in corgipile once shuf; do
	report $name
	report $name-pipe
done
for name in corgipile-j2 single block none; do
	report $name
done
report sort-R "of $SORT"
report corgipile-sort "of $SORT"

# ratio NAME BESIDE AIM: times over that of corgipile
ratio() {
	local column
	printf '%-12s' "$1"
	for column in 1 4; do
		awk -v a="$(median "$1" $column)" \
		    -v b="$(median "$2" $column)" \
		    'BEGIN { printf "%8.1f", a / b }'
	done
	printf '%8s\n' "$3"
}
printf '\ntimes those of corgipile\n%-12s%8s%8s%8s\n' '' wall cpu aim
ratio shuf corgipile 10
ratio shuf-pipe corgipile-pipe 6
ratio sort-R corgipile-sort 50
ratio once corgipile 1.5

limit=$(($(wc -c <in) * 2 / 5 / 1024))
printf '\nunder ulimit -v %d KB, two fifths of the file\n' "$limit"
for command in 'kp-shuffle in' 'kp-shuffle --method once in' 'shuf in'; do
	(
		ulimit -v "$limit"
		$command 2>said | wc -l >lines.out
		printf '%-28s %s lines %s\n' "$command" "$(cat lines.out)" \
		    "$(head -n 1 said)"
	)
done
