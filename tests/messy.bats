# Every file of ../shared/data/messy comes out right: the rows it has by
# another reader of CSV (those without a label counted apart), or the error
# that its oddity is, with its place.

load helper

# FILE|OPTIONS, words of the shell|rows|without a label, or FILE|OPTIONS|error
outcomes() {
	cat <<-'EOT'
		comma_in_quotes.csv|--label zip|1|0
		empty.csv|--label a|2|0
		empty.csv|--label b|1|1
		empty_crlf.csv|--label c|1|1
		escaped_quotes.csv|--label a|2|0
		json.csv|--label key|1|0
		location_coordinates.csv|--label Cities|:2:24: a quote inside an unquoted field
		location_coordinates.csv|--label 'Contact Phone Number' --quote none|1|0
		newlines.csv|--label b|3|0
		newlines_crlf.csv|--label b|3|0
		newlines.csv|--label b --quote none|:3:1: 1 field, the header has 3 (see --ragged)
		quotes_and_newlines.csv|--label a|2|0
		simple.csv|--label a|1|0
		simple_crlf.csv|--label c|1|0
		utf8.csv|--label a --group-by c|2|0
		avengers_avengers.csv|--label Appearances --group-by Gender|173|0
		bechdel_movies.csv|--label year --group-by clean_test|1,794|0
		flying-etiquette-survey_flying-etiquette.csv|--label Gender|1,007|33
		food-world-cup_food-world-cup-data.csv|--label RespondentID|1,373|0
		masculinity-survey_masculinity-survey.csv|--label 'AMONG ADULT MEN'|:1:17: blank column name (see --rename-headers)
		masculinity-survey_masculinity-survey.csv|--label 'AMONG ADULT MEN' --rename-headers|35|197
		partisan-lean_2018_fivethirtyeight_partisan_lean_STATES.csv|--label 2018 --id state|50|0
		poll-of-pollsters_poll-of-pollsters-4.tsv|-d tab --label column_2|:1:133: blank column name (see --rename-headers)
		poll-of-pollsters_poll-of-pollsters-4.tsv|-d tab --label column_2 --rename-headers|18|0
		poll-of-pollsters_poll-of-pollsters-7.tsv|-d tab --label column_2|:1:145: blank column name (see --rename-headers)
		poll-of-pollsters_poll-of-pollsters-7.tsv|-d tab --label column_2 --rename-headers|34|0
		pollster-ratings_2019_pollster-ratings.csv|--label Pollster|:1:413: duplicate column name "Mean-Reverted Bias" (see --rename-headers)
		pollster-ratings_2019_pollster-ratings.csv|--label 'Pollster Rating ID' --rename-headers|430|0
		region-survey_SOUTH.csv|--label RespondentID|:1:163: blank column name (see --rename-headers)
		region-survey_SOUTH.csv|--label RespondentID --rename-headers|2,528|1
		riddler-castles_castle-solutions.csv|--label 'Castle 1'|1,349|0
		riddler-pick-lowest_low_numbers.csv|--label 'Your Number'|3,660|0
		sleeping-alone-data_sleeping-alone-data.csv|--label StartDate|:1:418: blank column name (see --rename-headers)
		sleeping-alone-data_sleeping-alone-data.csv|--label StartDate --rename-headers|1,093|1
		star-wars-survey_StarWars.csv|--label RespondentID|:1:229: blank column name (see --rename-headers)
		star-wars-survey_StarWars.csv|--label RespondentID --rename-headers|1,186|1
		state-of-the-polls-2024_2024_polls.csv|--label pollster_rating_id --group-by state|1,700|0
	EOT
}

# outcome FILE OPTIONS ROWS LEFT-OUT | outcome FILE OPTIONS ERROR
outcome() {
	local said
	declare -a words="($2)"
	rm -rf data
	if [ $# -eq 3 ]; then
		fails 3 "kp-featurize: $1$3" \
			kp-featurize -o data "${words[@]}" "$1"
		return
	fi
	run kp-featurize -o data "${words[@]}" "$1"
	said=0
	[[ $output =~ 'left out  '([0-9,]+)' row' ]] && said=${BASH_REMATCH[1]}
	equal "$1 $2: $status, $(sed -n '1s/data: \(.*\) rows\{0,1\},.*group.*/\1/p' \
		<<<"$output") rows, $said left out" \
		"$1 $2: 0, $3 rows, $4 left out"
}

@test "every messy file of ../shared/data comes out right" {
	need_shared data/messy
	find "$SHARED/data/messy" -name '*.[ct]sv' -exec ln -s {} . \;
	outcomes >table
	equal "$(cut -d'|' -f1 table | sort -u)" "$(printf '%s\n' *.?sv | sort)"
	while IFS='|' read -r -a line; do
		outcome "${line[@]}"
	done <table
}
