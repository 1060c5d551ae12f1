#!/usr/bin/env bats
# Models of a pack of configs, by every loss, solver and kernel of the batch
# solvers: no byte depends on workers, strategy, instruction set or pack width.
# Here a part of the product in which each pair of these occurs; all of it in
# slow/exactness.bats.  That plain sums would not do on such data, and sums in
# the kernels do: unit/test_exact_sums.c.

load helper
load exactness

# The numbers of 16 runs: each pair of workers and width, and of each with a
# strategy and an instruction set.
covering() {
	local p w
	for p in 0 1 2 3; do
		for w in 0 1 2 3; do
			echo $((p + 4 * ((p + w) % 3) +
			    12 * ((p + 2 * w) % 3) + 36 * w))
		done
	done
}

@test "models depend on neither workers, strategy, instruction set nor width" {
	local runs at=0 c
	mapfile -t runs < <(covering)
	make_hard 1500
	for c in "${exact_cases[@]}"; do
		exact_same "$c" "${runs[at % 16]}" "${runs[(at + 5) % 16]}" \
		    "${runs[(at + 10) % 16]}" "${runs[(at + 15) % 16]}"
		at=$((at + 1))
	done
}

# If not, runs could agree for want of work.
@test "the dominating group is cut over workers, and most of its models converge" {
	local p
	make_hard 1500
	for p in 2 3 7; do
		kp-partition -p $p late |
		    jq -e '.cuts | any(.[0] == 1 and .[1] > 0)' >/dev/null
		kp-partition -p $p --strategy dp late |
		    jq -e ".holders == $p" >/dev/null
	done
	kp-partition -p 7 --strategy gl-constrained late |
	    jq -e '.shards | length > 2' >/dev/null
	exact_run late logistic want 7 gl avx2 16
	equal "$(jq -r .group want.told | sort -u | tr '\n' ' ')" \
	    "few most other some test "
	[ "$(grep -c '"most".*"status":"converged"' want.told)" -ge 10 ]
}

@test "the dominating group of sparse rows is cut too, and trained in single precision" {
	local p
	make_hard 1500
	for p in 2 3 7; do
		kp-partition -p $p --group-rows 0 sparse-late |
		    jq -e '.cuts | any(.[0] == 3 and .[1] > 0)' >/dev/null
	done
	exact_run sparse-moderate logistic single 7 gl avx2 16
	equal "$(jq -r .group single.told | sort -u | tr '\n' ' ')" "0 1 3 4 "
	[ "$(grep -c '"3".*"status":"converged"' single.told)" -ge 10 ]
	# Beside the stop, what 1e-5 decides is the precision.
	exact_run sparse-moderate "logistic --param tolerance=1e-5" at 7 gl \
	    avx2 16
	exact_run sparse-moderate "logistic --param tolerance=9.999999999e-6" \
	    below 7 gl avx2 16
	! cmp -s <(grep '"group":"3"' at.told | jq .objective) \
	    <(grep '"group":"3"' below.told | jq .objective)
}

@test "groups of many rare values are trained by truncated Newton, and converge" {
	make_hard 1500
	exact_run rare logistic want 7 gl avx2 16
	[ "$(grep -c '"status":"converged"' want.told)" -ge 12 ]
	exact_run rare "logistic --param solver=lbfgs" other 7 gl avx2 16
	! cmp -s <(grep '"group":"most"' want.told | jq .epoch) \
	    <(grep '"group":"most"' other.told | jq .epoch)
}
