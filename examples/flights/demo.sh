#!/bin/sh
# The whole pipeline on flights.csv.gz: a model of late arrivals for every
# airport, and what that gains over one model for all of them.
set -eu

cd "$(dirname "$0")"
PATH=${KP_BIN:-$(cd ../../build/bin && pwd)}:$PATH
LC_ALL=C
export PATH LC_ALL
rm -rf out
mkdir out
cd out

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ] && [ "${TERM-dumb}" != dumb ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[m')
fi

title() {
	printf '\n%s%s%s\n\n' "$bold" "$1" "$plain"
}

# Shows a command line, indented, and runs it.
run() {
	printf '%s\n' "$1" | sed '1s/^/  $ /; 2,$s/^/    /'
	eval "$1" >said.txt 2>&1 || {
		cat said.txt
		exit 1
	}
	sed 's/^/    /' said.txt
	echo
}

# The same fields decide the split of both datasets, so that they hold out the
# same rows.
options="--label delay --positive-if '> 15' --datetime date --test 0.1 \\
    --id date,delay,origin,destination"
space="--learner logistic --param l2=log:1e-8:1e-1 --search grid:12"

title "221,081 flights of 2001: which arrive more than 15 minutes late?"
gzip -dc ../flights.csv.gz >flights.csv
run "head -n 4 flights.csv"

title "1. A model for every origin airport: 12 configs of each, the best kept"
run "kp-featurize $options \\
    --group-by origin --categorical destination flights.csv -o data"
run "kp-train $space data -o run"
run "kp-select run -o models.kpm > selected.tsv"

title "2. New rows, scored"
run "head -n 6 flights.csv | cut -d, -f1,3- > tomorrow.csv
kp-predict -m models.kpm tomorrow.csv"

title "3. The run in figures"
run "kp-report --text run"

title "4. For comparison: one pooled model, the origin one of its features"
run "kp-featurize -q $options \\
    --categorical origin,destination flights.csv -o pooled"
run "kp-train $space pooled -o pooled-run"
run "kp-select pooled-run -o pooled.kpm > pooled.tsv"

title "5. What came out"

# logloss BUNDLE PART: over all rows of the part.
logloss() {
	kp-predict -q -m "$1" --split "$2" --only-predictions --metrics m.json \
	    -o scored.csv flights.csv
	sed -n '1s/.*"logloss":\([^,}]*\).*/\1/p' m.json
}

# Without any group that is large enough, every airport answers its prior.
{
	kp-train -q --learner logistic --min-rows 1000000 data -o prior-run
	kp-select -q prior-run -o prior.kpm
} >said.txt 2>&1

awk -v prior="$(logloss prior.kpm test)" \
    -v pooled="$(logloss pooled.kpm test)" \
    -v groups="$(logloss models.kpm test)" \
    -v prior_held="$(logloss prior.kpm holdout)" \
    -v pooled_held="$(logloss pooled.kpm holdout)" \
    -v groups_held="$(logloss models.kpm holdout)" 'BEGIN {
	print "  Log-loss, the mean over all rows of a part:\n"
	printf "  %-28s %8s %9s\n", "", "test", "hold-out"
	line = "  %-28s %8.4f %9.4f\n"
	printf line, "the prior of each airport", prior, prior_held
	printf line, "one pooled model", pooled, pooled_held
	printf line, "a model for every airport", groups, groups_held
	print "\n  Gain of a model for every airport:\n"
	line = "  %-28s %6.2f %% %7.2f %%\n"
	printf line, "over the prior", 100 * (1 - groups / prior),
	    100 * (1 - groups_held / prior_held)
	printf line, "over one pooled model", 100 * (1 - groups / pooled),
	    100 * (1 - groups_held / pooled_held)
	print "\n  Believe the test rows: the hold-out rows have chosen the" \
	    " configs, so they flatter."
}'

# Airports by hold-out log-loss; those with few rows say little.
awk -F '\t' '
NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
$col["holdout_rows"] >= 100 {
	printf "%s %s %s %s %.4f %.3f\n", $col["group"], $col["rows"],
	    $col["holdout_rows"], $col["config"], $col["logloss"], $col["auc"]
}' selected.tsv | sort -k5,5n | awk '
function line(s, f) {
	split(s, f, " ")
	sub(/^l2=/, "", f[4])
	printf "  %-8s %7d %9d %9.1e %9s %6s\n", f[1], f[2], f[3], f[4], f[5], f[6]
}
{ row[NR] = $0 }
END {
	print "\n  Airports with 100 hold-out rows or more, best and worst:\n"
	printf "  %-8s %7s %9s %9s %9s %6s\n", "origin", "rows", "hold-out",
	    "l2", "log-loss", "AUC"
	for (i = 1; i <= 5; i++)
		line(row[i])
	print "  ..."
	for (i = NR - 4; i <= NR; i++)
		line(row[i])
}'

title "Try next, in examples/flights/out"
cat <<'EOF'
  Put the programs on PATH:
    PATH=$(cd ../../../build/bin && pwd):$PATH
  What makes flights from one airport late:
    kp-select --show ORD models.kpm | head -n 20
  Rank by another metric, groups of 100 hold-out rows or more:
    kp-select --by auc run | awk -F '\t' '$3 >= 100' |
        sort -t "$(printf '\t')" -k9,9gr | head
  A wider search, drawn at random, with L1 as well:
    kp-train --learner logistic --param l2=log:1e-8:1 --param l1=log:1e-7:1e-2 \
        --search random:16 data -o wide && kp-report wide
  How rows would be spread over 8 workers:
    kp-partition -p 8 --explain data
EOF
