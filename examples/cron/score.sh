#!/bin/sh
# Scores new rows with the models of DIR: a filter.
#
#	score.sh DIR < tomorrow.csv > scored.csv
set -eu

if [ $# -ne 1 ]; then
	echo "usage: score.sh DIR < tomorrow.csv > scored.csv" >&2
	exit 2
fi
exec kp-predict -q -m "$1/models.kpm"
