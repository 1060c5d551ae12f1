# kp-shuffle --diagnose and --measure on data of which the answer is known.
load helper

gendata() {
	"$KP_BIN/../bench/gendata" "$@"
}

# The value of a key of a JSON object on one line, without quotes.
key() {
	sed 's/.*"'"$1"'":\("\([^"]*\)"\|[^,}]*\).*/\1/; s/^"//; s/"$//' "$2"
}

# above FILE KEY BOUND, below FILE KEY BOUND
above() {
	awk -v v="$(key "$2" "$1")" -v b="$3" -v k="$2" \
	    'BEGIN { if (!(v > b + 0)) { print k, v, "<=", b; exit 1 } }'
}
below() {
	awk -v v="$(key "$2" "$1")" -v b="$3" -v k="$2" \
	    'BEGIN { if (!(v < b + 0)) { print k, v, ">=", b; exit 1 } }'
}

diagnose() {
	kp-shuffle --diagnose --json --format csv --header --label y "$@"
}

# csv ORDER: 40,000 rows of 10 features.
csv() {
	gendata dense --rows 40000 --features 10 --order "$1" >"$1.csv"
}

@test "rows in random order are not clustered" {
	csv none
	diagnose none.csv >d
	equal "$(key stored_order d)" safe
	equal "$(key classes d)" 2
	above d label_icc -0.005
	below d label_icc 0.005
	below d feature_icc 0.01
	above d gradient_effect 0.8
	below d gradient_effect 1.2
	above d lag1 -0.3
	below d lag1 0.3
	equal "$(key want_blocks d)" 1
}

@test "rows sorted by label are pure in it" {
	csv label
	diagnose label.csv >d
	above d label_icc 0.99
	below d feature_icc 0.5
	above d lag1 0.9
	above d gradient_effect 2
	equal "$(key stored_order d)" unsafe
	equal "$(key want_blocks d)" 100
}

@test "the feature by which rows are sorted is named" {
	csv feature
	diagnose feature.csv >d
	equal "$(key feature d)" x1
	above d feature_icc 0.99
	below d label_icc 0.2
	above d lag1 0.5
}

@test "blocks pure in label and feature ask for a thousand in a buffer" {
	csv label
	awk -F, -v OFS=, 'NR == 1 { print $0, "when"; next } { print $0, NR }' \
	    label.csv >both.csv
	diagnose both.csv >d
	equal "$(key feature d)" when
	equal "$(key want_blocks d)" 1000
}

# 100 lines a block: the label of line i is (i / 100) mod 5 and some noise.
noisy() {
	awk 'BEGIN {
		srand(7)
		print "y,x"
		for (i = 0; i < 6000; i++) {
			b = int(i / 100) % 5
			printf "%09.5f,%05d\n", b + 3 * rand(), rand() * 9999
		}
	}'
}

@test "the ICC is that of another program" {
	need python3
	noisy >n.csv
	equal "$(wc -c <n.csv)" 96004
	diagnose --block-size 1600 n.csv >d
	python3 - n.csv >want <<-'END'
		import csv, sys
		rows = list(csv.DictReader(open(sys.argv[1])))
		for name in "y", "x":
		    v = [float(r[name]) for r in rows]
		    blocks = [v[i:i + 100] for i in range(0, len(v), 100)]
		    k, n, mean = len(blocks), len(v), sum(v) / len(v)
		    means = [sum(b) / len(b) for b in blocks]
		    ssb = sum(100 * (m - mean) ** 2 for m in means)
		    ssw = sum((x - m) ** 2
		              for b, m in zip(blocks, means) for x in b)
		    msb, msw = ssb / (k - 1), ssw / (n - k)
		    print((msb - msw) / (msb + 99 * msw))
		    if name == "y":
		        var = sum((m - mean) ** 2 for m in means) / k
		        print(sum((a - mean) * (b - mean) for a, b in
		                  zip(means, means[1:])) / (k - 1) / var)
	END
	equal "$(key blocks_read d)" 60
	equal "$(key block_rows d)" 100
	near "$(key label_icc d)" "$(sed -n 1p want)" 1e-9
	near "$(key lag1 d)" "$(sed -n 2p want)" 1e-9
	near "$(key feature_icc d)" "$(sed -n 3p want)" 1e-9
	near "$(key label_effect d)" \
	    "$(awk -v i="$(sed -n 1p want)" 'BEGIN { print 1 + 99 * i }')" 1e-5
}

@test "categories and classes count by their values" {
	awk 'BEGIN {
		srand(3)
		print "id,colour,\"the, label\""
		for (i = 0; i < 20000; i++)
			printf "%d,%s,%s\n", rand() * 1e6,
			    i < 7000 ? "red" : i < 15000 ? "green" : "\"b\"\"lue\"",
			    rand() < 0.4 ? "yes" : rand() < 0.5 ? "no" : "perhaps"
	}' >c.csv
	kp-shuffle --diagnose --json --format csv --header --label 'the, label' \
	    c.csv >d
	equal "$(key classes d)" 3
	equal "$(key feature d)" colour
	above d feature_icc 0.98
	below d label_icc 0.01
	kp-shuffle --diagnose --json --format csv --header --label 2 c.csv >d
	above d label_icc 0.98
	equal "$(key label d)" 2
}

@test "libsvm has its label first and features by number" {
	gendata sparse --rows 20000 --dim 1000 --order label >s.svm
	kp-shuffle --diagnose --json --format libsvm s.svm >d
	above d label_icc 0.99
	equal "$(key label d)" label
	equal "$(key stored_order d)" unsafe
	gendata sparse --rows 20000 --dim 1000 --order none >s.svm
	kp-shuffle --diagnose --json --format libsvm s.svm >d
	equal "$(key stored_order d)" safe
}

@test "a dataset needs nothing said of it" {
	csv label
	kp-featurize -q -o ds --label y --block-size 64K label.csv
	kp-shuffle --diagnose --json ds >d
	above d label_icc 0.95
	equal "$(key label d)" y
	kp-shuffle --diagnose --split train ds >text
	grep -q '^Plain stored order is not safe: blocks are all but pure in the label\.$' text
	grep -q ' kp-featurize --block-size [0-9]*K\?\(, or --buffer [0-9]*%\)\?\.$' text
}

@test "the same options give the same report, from a pipe too" {
	csv label
	diagnose label.csv | sed 's/"data":"[^"]*"//' >a
	pipeline 'cat label.csv | kp-shuffle --diagnose --json --format csv --header --label y' |
	    sed 's/"data":"[^"]*"//' >b
	cmp a b
}

@test "the report says what a buffer should be" {
	csv label
	kp-shuffle --diagnose --format csv --header --label y \
	    --block-size 100K --buffer 20% label.csv >text
	grep -q '^label ICC   *[01]\.[0-9]*  *y, 2 classes: design effect' text
	grep -q '^A buffer should hold 100 blocks or more, not [0-9]*: --block-size [0-9]*K\?\.$' text
	awk 'NR % 100 == 1' label.csv >few.csv
	kp-shuffle --diagnose --format csv --header --label y \
	    --block-size 1K --buffer 20% few.csv >text
	grep -q '^A buffer should hold 100 blocks or more, not [0-9]*: for an input so small --method once\.$' text
}

@test "flights by date drift, sorted by label they are pure" {
	need_shared data/flights/flights-500k.csv.gz
	zcat "$SHARED/data/flights/flights-500k.csv.gz" |
	    awk -F, -v OFS=, 'NR == 1 { print "y", $0; next }
	        { print ($2 > 15), $1, $3, $4, $5 }' |
	    sed '1s/.*/y,date,distance,origin,destination/' >f.csv
	diagnose f.csv >d
	below d label_icc 0.2
	above d label_effect 3
	equal "$(key feature d)" date
	above d feature_icc 0.99
	{ head -1 f.csv; tail -n +2 f.csv | sort -s -t, -k1,1; } >s.csv
	diagnose s.csv >d
	above d label_icc 0.99
	equal "$(key stored_order d)" unsafe
	equal "$(key feature d)" date
	equal "$(key want_blocks d)" 1000
}

@test "adult lies in random order" {
	need_shared data/adult/adult.data.gz
	zcat "$SHARED/data/adult/adult.data.gz" | sed '/^$/d' >a.csv
	kp-shuffle --diagnose --json --format csv --label 15 a.csv >d
	equal "$(key classes d)" 2
	equal "$(key stored_order d)" safe
}

# --- --measure ---

measure() {
	kp-shuffle --measure --json --format csv --header --label y \
	    --block-size 20K --buffer 10% --epochs 2 "$@"
}

@test "methods are as good as they are meant to be" {
	csv label
	for m in none block window mrs corgipile once epoch; do
		measure --method $m label.csv >$m
	done
	equal "$(key neighbours none)" 1
	equal "$(key neighbours_kept once)" 1
	near "$(key rank_correlation none)" 1 1e-9
	near "$(key distinct_blocks once)" "$(key distinct_blocks_random once)" \
	    0.01
	above none batch_effect 120
	above block batch_effect 100
	above window batch_effect 50
	below corgipile batch_effect 30
	above corgipile batch_effect 3
	below once batch_effect 1.3
	below epoch batch_effect 1.3
	above epoch batch_effect 0.7
	below epoch neighbours_kept 0.001
	below corgipile rank_correlation 0.3
	above window rank_correlation 0.8
	equal "$(key steps mrs)" "$(awk -v n=40000 'BEGIN {
		print 2 * (n - int(n * '"$(key blocks mrs)"' / 10 / '"$(key blocks mrs)"')) }')" ||
	    above mrs steps 70000
}

@test "lines without labels are measured by their places" {
	seq 20000 >n
	kp-shuffle --measure --json --method none n >d
	equal "$(key effect_of d)" position
	equal "$(key records d)" 20000
	above d batch_effect 127
	kp-shuffle --measure --method epoch n >text
	grep -q '^design effect of batches  *[01]\.[0-9]*  *of the position' text
}

@test "the order that is measured is the one that is written" {
	seq 20000 >n
	opts=(--block-size 1K --buffer 10K --seed 4 --method corgipile)
	kp-shuffle -q "${opts[@]}" n >out 2>/dev/null ||
	    kp-shuffle "${opts[@]}" n >out
	kp-shuffle --measure --json "${opts[@]}" n >d
	awk '{ if (NR > 1 && ($1 - p == 1 || p - $1 == 1)) c++
	       p = $1; n = NR
	       xy += (NR - 10000.5) * ($1 - 10000.5)
	       xx += (NR - 10000.5) ^ 2 }
	     END { printf "%.12f %.12f\n", c / (n - 1), xy / xx }' out >want
	near "$(key neighbours d)" "$(cut -d ' ' -f 1 want)" 1e-9
	near "$(key rank_correlation d)" "$(cut -d ' ' -f 2 want)" 1e-9
}

@test "a dataset is measured, by group too" {
	csv label
	awk -F, -v OFS=, 'NR == 1 { print $0, "g"; next }
	    { print $0, "g" NR % 3 }' label.csv >g.csv
	kp-featurize -q -o ds --label y -g g --block-size 16K g.csv
	kp-shuffle --measure --json --method epoch ds >d
	equal "$(key records d)" 40000
	below d batch_effect 1.4
	kp-shuffle --measure --json --group g1 --method none ds >d
	above d batch_effect 100
}

# --- wrong use ---

@test "what is needed and not given is told" {
	csv none
	seq 100 >n
	fails 2 "kp-shuffle: lines have no label: give --format csv --label NAME, or --format libsvm" \
	    kp-shuffle --diagnose n
	fails 2 "kp-shuffle: --label is needed: the column to look at" \
	    kp-shuffle --diagnose --format csv n
	fails 2 'kp-shuffle: --label: none.csv has no column "z"' \
	    kp-shuffle --diagnose --format csv --header --label z none.csv
	fails 2 'kp-shuffle: --label: none.csv has no column "y" (no --header: columns are 1, 2, ...)' \
	    kp-shuffle --diagnose --format csv --label y none.csv
	fails 2 "kp-shuffle: --label is for --format csv" \
	    kp-shuffle --diagnose --format libsvm --label y none.csv
	fails 2 "kp-shuffle: --label needs --diagnose or --measure" \
	    kp-shuffle --label y none.csv
	fails 2 "kp-shuffle: give one of --diagnose and --measure" \
	    kp-shuffle --diagnose --measure n
	fails 3 "kp-shuffle: 100 records do not fill a batch of 128" \
	    kp-shuffle --measure n
}

@test "data that cannot be looked at are told" {
	printf '1 1:2\n0 1:x\n' >bad
	fails 3 'kp-shuffle: bad:2:5: not a finite number: "x"' \
	    kp-shuffle --diagnose --format libsvm --block-size 6 bad ||
	    { run kp-shuffle --diagnose --format libsvm --block-size 6 bad; [[ $status = 3 && $output = *bad:2:* ]]; }
	seq 1000 >n
	fails 3 "kp-shuffle: n: rows without any feature (is this their format?)" \
	    kp-shuffle --diagnose --format libsvm n
	printf 'y,x\n1,2\n' >one
	fails 3 "kp-shuffle: one: all in one block: nothing to compare (make blocks smaller)" \
	    kp-shuffle --diagnose --format csv --header --label y one
}

@test "a feature that blocks are sorted by does not pass for a little" {
	awk 'BEGIN { seed = 1; print "y,t"
		for (i = 0; i < 50000; i++) {
			seed = seed * 16807 % 2147483647
			print (seed < 1073741824) "," i
		}
	}' >in.csv
	kp-shuffle --diagnose --format csv --header --label y in.csv >text
	grep -qx 'Plain stored order is nearly safe: blocks differ in t, but the label and what is learnt of it only a little (less than 1 % of the variance).' text
}
