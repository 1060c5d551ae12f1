#include "data/rowparse.h"

#include <stdlib.h>
#include "check.h"
#include "data/groupkey.h"

static struct schema schema;
static struct record_reader *reader;
static struct rowparse *parse;
static struct typed_row row;
static struct record rec;
static enum row_fate fate;

enum { COUNTRY, LABEL, X, COLOUR, DAY, WEIGHT, NCOLUMN };

/* country,y,x,colour,day,w as a file has them; features x, colour, day.* */
static void
make_schema(void)
{
	static struct schema_column column[NCOLUMN] = {
	    {"country", ROLE_GROUP, COLUMN_CATEGORY, NULL, false},
	    {"y", ROLE_LABEL, COLUMN_CATEGORY, NULL, false},
	    {"x", ROLE_FEATURE, COLUMN_NUMERIC, NULL, false},
	    {"colour", ROLE_FEATURE, COLUMN_CATEGORY, NULL, false},
	    {"day", ROLE_FEATURE, COLUMN_DATETIME, NULL, false},
	    {"w", ROLE_WEIGHT, COLUMN_NUMERIC, NULL, true}};
	static struct schema_feature feature[] = {
	    {.name = "x", .kind = FEATURE_F32, .column = X},
	    {.name = "colour", .kind = FEATURE_CATEGORY, .column = COLOUR},
	    {.name = "day.month",
	     .kind = FEATURE_CATEGORY,
	     .column = DAY,
	     .part = DT_MONTH},
	    {.name = "day.day",
	     .kind = FEATURE_F64,
	     .column = DAY,
	     .part = DT_DAY}};
	static uint32_t group[] = {COUNTRY};
	static const char *class_name[] = {"no", "yes"};
	struct error err = ERROR_NONE;

	schema_init(&schema);
	schema.column = column;
	schema.ncolumn = NCOLUMN;
	schema.feature = feature;
	schema.nfeature = 4;
	schema.group_column = group;
	schema.ngroup_column = 1;
	schema.class_name = class_name;
	schema.nclass = 2;
	CHECK_OK(split_rule_init(&schema.split, SPLIT_BY_HASH, 1, 0.1, 0, &err),
		 err);
}

static int
begin(const char *text, enum rowparse_need need, struct error *err)
{
	make_schema();
	reader = record_reader_of(&schema.format, text, strlen(text), "t.csv");
	CHECK_INT(record_next(reader, &rec, err), 1);
	parse = rowparse_new(&schema, &rec, need, err);
	return parse ? 0 : -1;
}

static int
next(struct error *err)
{
	CHECK_INT(record_next(reader, &rec, err), 1);
	return rowparse_row(parse, &rec, &row, &fate, err);
}

static void
end(void)
{
	rowparse_free(parse);
	record_reader_free(reader);
	typed_row_release(&row);
	schema_release(&schema);
}

static void
typed(void)
{
	struct error err = ERROR_NONE;
	const char *field;
	size_t n;

	CHECK_OK(begin("country,y,x,colour,day,w\n"
		       "dk,yes,0.1,007,2001-07-02,2\n"
		       "NA,no,NA,NA,,1\n",
		       ROWPARSE_ALL, &err),
		 err);
	CHECK_OK(next(&err), err);
	CHECK_INT(fate, ROW_KEPT);
	field = groupkey_field(row.key.buf, row.key.len, 0, &n);
	CHECK_INT(n, 2);
	CHECK_MEM(field, "dk", 2);
	CHECK_BITS(row.label, 1);
	CHECK_BITS(row.weight, 2);
	CHECK_BITS(row.value[0].number, 0.1f);
	CHECK_INT(row.value[1].n, 3);
	CHECK_MEM(row.value[1].p, "007", 3);
	CHECK_MEM(row.value[2].p, "7", 1);
	CHECK_BITS(row.value[3].number, 11505);
	CHECK_OK(next(&err), err);
	field = groupkey_field(row.key.buf, row.key.len, 0, &n);
	CHECK_MEM(field, "NA", 2); /* a key is never missing */
	for (int i = 0; i < 4; i++)
		CHECK(row.value[i].missing);
	end();
}

static void
by_name(void)
{
	struct error err = ERROR_NONE;
	uint8_t split;

	CHECK_OK(begin("country,y,x,colour,day,w\ndk,yes,1,red,2001-07-02,2\n",
		       ROWPARSE_ALL, &err),
		 err);
	CHECK_OK(next(&err), err);
	split = row.split;
	end();
	CHECK_OK(begin("w,more,day,colour,x,y,country,more\n"
		       "2,?,2001-07-02,red,1,yes,dk,?\n",
		       ROWPARSE_FEATURES, &err),
		 err);
	CHECK(rowparse_has_label(parse) && rowparse_has_split(parse));
	CHECK_OK(next(&err), err);
	CHECK_BITS(row.label, 1);
	CHECK_INT(row.split, split);
	CHECK_BITS(row.value[0].number, 1);
	end();
}

static void
to_predict(void)
{
	struct error err = ERROR_NONE;

	CHECK_OK(begin("x,colour,day,country\n1,red,2001-07-02,dk\n",
		       ROWPARSE_FEATURES, &err),
		 err);
	CHECK(!rowparse_has_label(parse) && !rowparse_has_split(parse));
	CHECK_OK(next(&err), err);
	CHECK_INT(fate, ROW_KEPT);
	CHECK(isnan(row.label) && row.label_text == NULL);
	CHECK_BITS(row.weight, 1);
	end();
	CHECK_OK(begin("x,colour,day,country,y\n1,a,2001-07-02,dk,\n"
		       "2,a,2001-07-02,dk,maybe\n",
		       ROWPARSE_FEATURES, &err),
		 err);
	CHECK_OK(next(&err), err);
	CHECK_INT(fate, ROW_NO_LABEL);
	CHECK_BITS(row.value[0].number, 1); /* filled all the same */
	CHECK_OK(next(&err), err);
	CHECK_INT(fate, ROW_KEPT);
	CHECK(isnan(row.label));
	end();
}

static void
to_score(void)
{
	struct error err = ERROR_NONE;

	CHECK_OK(begin("x,colour,day,country,y,w\n1,red,2001-07-02,dk,yes,x\n"
		       "2,red,2001-07-02,dk,,\n3,red,tbd,dk,yes,1\n",
		       ROWPARSE_SCORE, &err),
		 err);
	CHECK(!rowparse_has_label(parse) && !rowparse_has_split(parse));
	for (int i = 1; i <= 2; i++) {
		CHECK_OK(next(&err), err);
		CHECK_INT(fate, ROW_KEPT);
		CHECK(isnan(row.label) && row.label_text == NULL);
		CHECK_BITS(row.weight, 1);
		CHECK_BITS(row.value[0].number, i);
	}
	CHECK_ERROR(next(&err), err, EXIT_DATA,
		    "t.csv:4:7: \"day\": not a date: \"tbd\" (see "
		    "--bad-number)"); /* a feature */
	end();
}

static void
lacking(void)
{
	struct schema_column *weight; /* every schema here has the same */
	struct error err = ERROR_NONE;

	CHECK_ERROR(begin("x,color,day,country\n", ROWPARSE_FEATURES, &err),
		    err, EXIT_DATA,
		    "t.csv: no column \"colour\" (did you mean \"color\"?)");
	end();
	CHECK_ERROR(begin("x,colour,day,country,w\n", ROWPARSE_ALL, &err), err,
		    EXIT_DATA, "t.csv: no column \"y\"");
	end();
	CHECK_ERROR(begin("x,color,country\n", ROWPARSE_ALL, &err), err,
		    EXIT_DATA,
		    "t.csv: no columns \"y\", \"colour\", \"day\", \"w\"");
	end();
	CHECK_ERROR(begin("x;colour;day\n", ROWPARSE_FEATURES, &err), err,
		    EXIT_DATA,
		    "t.csv: no columns \"country\", \"x\", \"colour\", \"day\" "
		    "(one column \"x;colour;day\", where the delimiter is "
		    "\",\")");
	end();
	/* a column in use is not what was meant */
	make_schema();
	weight = &schema.column[WEIGHT];
	schema_release(&schema);
	weight->name = "colours";
	CHECK_ERROR(begin("x,colours,day,country\n", ROWPARSE_FEATURES, &err),
		    err, EXIT_DATA, "t.csv: no column \"colour\"");
	weight->name = "w";
	end();
}

static void
padded(void)
{
	struct error err = ERROR_NONE;
	size_t n;

	CHECK_OK(
	    begin("w,y,x,colour,day,country\n1,no,2\n", ROWPARSE_ALL, &err),
	    err);
	schema.ragged = RAGGED_PAD;
	schema.nmissing = 0; /* not even the empty field */
	CHECK_OK(next(&err), err);
	CHECK(!row.value[0].missing && row.value[1].missing);
	CHECK(row.value[2].missing && row.value[3].missing);
	groupkey_field(row.key.buf, row.key.len, 0, &n);
	CHECK_INT(n, 0);
	end();
}

static void
unknown_class(void)
{
	struct error err = ERROR_NONE;

	CHECK_OK(begin("country,y,x,colour,day,w\ndk,maybe,1,a,2001-01-01,1\n",
		       ROWPARSE_ALL, &err),
		 err);
	CHECK_ERROR(next(&err), err, EXIT_DATA,
		    "t.csv:2:4: the label is none of the 2 classes: "
		    "\"maybe\"");
	end();
}

int
main(void)
{
	check_run("fields become typed values, missing ones a flag", typed);
	check_run("columns are matched by name, rows keep their split",
		  by_name);
	check_run("to predict, only features and group are needed", to_predict);
	check_run("to score, nothing else is looked at", to_score);
	check_run("a column that lacks is named", lacking);
	check_run("padded fields are missing whatever the tokens", padded);
	check_run("a class nobody knows is an error when training",
		  unknown_class);
	return check_done();
}
