#!/bin/sh
# Scores new rows with the models of DIR: a filter.
#
#	score.sh DIR < tomorrow.csv > scored.csv
set -eu

exec kp-predict -q -m "$1/models.kpm"
