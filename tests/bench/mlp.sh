#!/bin/bash
# Nanoseconds of CPU a row of the learner mlp, one thread, batch 128: one
# config, 12 configs of a pack, and PyTorch with the same net and solver.
# Aims: one config twice as fast as PyTorch at 28-256-64-1, 15 times at
# 28-64-1; 12 configs in one pass no slower than 12 passes.
#
# PEER_PYTHON is a python3 with PyTorch (default: python3); without one its
# figures are left out.
# shellcheck source=tests/bench/bench.bash
. "$(dirname "$0")/bench.bash"

: "${PEER_PYTHON:=python3}"
: "${ROWS:=64000}"
MLP=$BENCH/../../build/bench/mlp
[ -x "$MLP" ] || skip "no build/bench/mlp (make bench makes it)"
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
torch=yes
"$PEER_PYTHON" -c 'import torch' 2>/dev/null || torch=

# of NAME COLUMN: the median of a column of NAME.said.
of() {
	sort -g -k"$2,$2" "$1.said" | awk -v c="$2" '{ v[NR] = $c }
	    END { print v[int((NR + 1) / 2)] }'
}

compare() {
	local net=$1 solver=$2 name=$1-$2 h1 h2 i line
	IFS=- read -r _ h1 h2 _ <<<"$net"
	[ "$h2" = 1 ] && h2=0
	for ((i = 0; i < RUNS; i++)); do
		"$MLP" "$h1" "$h2" "$solver" "$ROWS" 3 >>"$name.said" || exit 1
		"$MLP" "$h1" "$h2" "$solver" "$ROWS" 3 12 >>"$name-12.said" ||
		    exit 1
		[ -z "$torch" ] || "$PEER_PYTHON" "$BENCH/mlp_torch.py" "$h1" \
		    "$h2" "$solver" $((ROWS / 2)) 3 >>"$name-torch.said" ||
		    exit 1
	done
	line=$(printf '%-11s %-4s  one %5s ns/row, predict %5s' "$net" \
	    "$solver" "$(of "$name" 1)" "$(of "$name" 2)")
	line+=$(awk -v a="$(of "$name" 1)" -v b="$(of "$name-12" 1)" 'BEGIN {
		printf(", of 12 %5d (%.2f x)", b, a / b) }')
	[ -z "$torch" ] ||
	    line+=$(awk -v a="$(of "$name-torch" 1)" -v b="$(of "$name" 1)" \
	        'BEGIN { printf(", PyTorch %5d (%.1f x)", a, a / b) }')
	echo "$line"
}

for solver in sgd adam; do
	compare 28-64-1 $solver
	compare 28-256-64-1 $solver
done
[ -n "$torch" ] || skip "PyTorch (see PEER_PYTHON)"
