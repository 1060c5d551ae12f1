#!/usr/bin/env bats
# The whole of what ../exactness.bats takes a part of.

load ../helper
load ../exactness

@test "bundles and trials are equal over -p 1, 2, 3, 7, three strategies, three instruction sets and four widths, for every loss and solver" {
	make_hard 1500
	for c in "${exact_cases[@]}"; do
		# shellcheck disable=SC2154
		exact_same "$c" $(seq 0 $((exact_product - 1)))
	done
}
