# shellcheck shell=bash
# Sourced by the tests of kp-select, kp-predict and kp-report: made-up rows,
# and runs over them.

# rows N [SEED]: a CSV of N rows with the columns id, site, x, colour, when, w,
# late, delay.  Site A has half of the rows, B a third; C has one class, D a
# few rows.
rows() {
	awk -v n="$1" -v seed="${2:-1}" '
	function uniform() {
		state = (state * 1103515245 + 12345) % 2147483648
		return state / 2147483648
	}
	BEGIN {
		state = seed
		split("red green blue,teal", colour, " ")
		print "id,site,x,colour,when,w,late,delay"
		for (i = 1; i <= n; i++) {
			u = uniform()
			site = u < .5 ? "A" : u < .85 ? "B" : "C"
			if (i % 70 == 7)
				site = "D"
			x = int(uniform() * 1000) / 100
			c = 1 + int(uniform() * 3)
			z = x - 5 + (c - 2) * 2 + (uniform() - .5) * 8
			if (site == "B")
				z = -z
			late = site == "C" || z > 0 ? "yes" : "no"
			name = colour[c] ~ /,/ ? "\"" colour[c] "\"" : colour[c]
			printf "%d,%s,%s,%s,2024-%02d-%02d,%d,%s,%.3f\n", i, site,
			    (i % 13 ? x : "NA"), name, 1 + i % 12, 1 + i % 28,
			    (i % 17 > 0), late, 3 * x + z
		}
	}'
}

# train CSV RUN FEATURIZE-OPTION...: a dataset beside RUN, and a finished run.
train() {
	local csv=$1 run=$2
	shift 2
	kp-featurize -q --group-by site --datetime when "$@" "$csv" \
	    -o "$run.data" &&
	    kp-train -q -p 2 --learner "${LEARNER:-logistic}" \
	        --param l2=log:1e-6:1 --search "grid:${POINTS:-4}" \
	        "$run.data" -o "$run"
}

# json_of FILE: "GROUP METRICS" of every line with a group, for comparisons.
json_of() {
	sed -n 's/^{"group":\("[^"]*"\),.*"metrics":\({[^}]*}\).*/\1 \2/p' "$1"
}
