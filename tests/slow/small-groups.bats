#!/usr/bin/env bats
# Many groups of few rows.

load ../helper

# 100,000 groups of 20 rows, those of a group far apart.
many_rows() {
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

@test "100,000 groups are trained and scored with 64 files open and 1G" {
	ulimit -n 64
	many_rows >rows.csv
	kp-featurize -q --memory 1G --tmpdir . --label y --positive 1 \
	    --group-by key --holdout 0.2 rows.csv -o data
	# Groups of one class fall back: that is no failure.
	kp-train -q -p 2 --memory 1G --learner logistic \
	    --param l2=0.01,1 data -o run
	kp-select -q run -o models.kpm >selected.tsv
	kp-predict -q -m models.kpm --memory 1G --split holdout \
	    --metrics m.json -o scored.csv rows.csv

	equal "$(tail -n +2 selected.tsv | cut -f 1 | sort -u | wc -l)" 100000
	equal "$(awk -F '\t' 'NR > 1 { print $2 }' selected.tsv | sort -u)" 20
	equal "$(awk -F '\t' 'NR > 1 { n += $3 } END { print n + 1 }' \
	    selected.tsv)" "$(wc -l <scored.csv)"

	# Both programs compute the metrics of a group bit for bit.
	kp-select -q --json models.kpm |
	    sed -n '/"status":"trained"/s/.*"group":\("[^"]*"\).*"metrics":\({[^}]*}\).*/\1 \2/p' |
	    sort >selected
	sed -n 's/.*"group":\("[^"]*"\).*"metrics":\({[^}]*}\).*/\1 \2/p' \
	    m.json | sort >scored
	[ "$(wc -l <scored)" -gt 50000 ]
	# A group without hold-out rows is only in one.
	join -j 1 selected scored | awk '$2 != $3 { print; exit 1 }'
	[ "$(join -j 1 selected scored | wc -l)" -gt 50000 ]
}
