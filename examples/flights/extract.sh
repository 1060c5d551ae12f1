#!/bin/sh
# Makes flights.csv.gz from a larger file with the same columns: every 9th
# row of the 30 busiest origins, and all rows of origins with less than 120.
#
#	extract.sh flights-3m.csv.gz > flights.csv.gz
set -eu

counts=$(mktemp)
trap 'rm -f "$counts"' EXIT

gzip -dc "$1" | awk -F, 'NR > 1 { n[$4]++ }
    END { for (o in n) print n[o], o }' | LC_ALL=C sort -k1,1nr -k2 >"$counts"

gzip -dc "$1" | awk -F, '
    NR == FNR { split($0, f, " "); keep[f[2]] = NR <= 30 ? 9 : f[1] < 120; next }
    FNR == 1 || keep[$4] && seen[$4]++ % keep[$4] == 0' "$counts" - |
    gzip -n -9
