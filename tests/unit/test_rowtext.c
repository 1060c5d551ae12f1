#include "data/rowtext.h"

#include "check.h"
#include "sample.h"

static struct schema schema;
static struct group_facts facts;
static struct block block;

static void
set_up(const char *key, const struct sample_row *row)
{
	sample_schema(&schema);
	sample_facts(&facts, &schema, key, row, 1);
	sample_block(&block, &schema, &facts, row, 1);
}

static void
tear_down(void)
{
	block_release(&block);
	facts_release(&facts);
	schema_release(&schema);
}

static void
check_text(const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	rowtext_row(&schema, &block, 0, &facts, &sb);
	CHECK_STR(sb.buf, want);
	strbuf_release(&sb);
}

static void
header(void)
{
	struct strbuf sb = STRBUF_INIT;
	struct schema_column column[6];

	sample_schema(&schema);
	rowtext_header(&schema, &sb);
	CHECK_STR(sb.buf, "origin,late,x,y,carrier,when.month,when.day\n");
	memcpy(column, schema.column, sizeof(column));
	column[0].name = "from, \"where\"";
	column[1].roles = ROLE_WEIGHT;
	schema.column = column;
	strbuf_reset(&sb);
	rowtext_header(&schema, &sb);
	CHECK_STR(sb.buf, "\"from, \"\"where\"\"\",late,x,x,y,carrier,"
			  "when.month,when.day\n");
	strbuf_release(&sb);
	schema_release(&schema);
}

static void
values(void)
{
	struct sample_row row = {.has_x = true,
				 .has_y = true,
				 .x = 0.1f,
				 .y = 0.1,
				 .carrier = "AA",
				 .month = "12",
				 .day = 18000.25,
				 .label = 1,
				 .weight = 1};

	set_up("JFK", &row);
	check_text("JFK,yes,0.1,0.1,AA,12,18000.25\n");
	block.column[SAMPLE_Y].f64[0] = -0.0;
	block.column[SAMPLE_X].f32[0] = 3e9f;
	block.column[SAMPLE_DAY].f64[0] = 4e9;
	check_text("JFK,yes,3e+09,-0,AA,12,4000000000\n");
	schema.task = TASK_REGRESSION;
	block.label[0] = -1.5;
	check_text("JFK,-1.5,3e+09,-0,AA,12,4000000000\n");
	schema.hash_bits = 64;
	facts.feature[SAMPLE_CARRIER].hash[0] = 18446744073709551615u;
	facts.feature[SAMPLE_MONTH].hash[0] = 7;
	check_text("JFK,-1.5,3e+09,-0,18446744073709551615,7,4000000000\n");
	tear_down();
}

static void
missing(void)
{
	struct sample_row row = {.has_y = true, .weight = 1};

	set_up("JFK", &row);
	check_text("JFK,no,,0,,,\n");
	tear_down();
	row.carrier = "";
	set_up("", &row);
	check_text("\"\",no,,0,\"\",,\n");
	tear_down();
}

static void
quotes(void)
{
	static const struct {
		const char *value, *want;
	} t[] = {
	    {"a,b", "\"a,b\""},	  {"a\"b", "\"a\"\"b\""}, {"\"", "\"\"\"\""},
	    {"a\nb", "\"a\nb\""}, {"a\rb", "\"a\rb\""},	  {" a", "\" a\""},
	    {"a ", "\"a \""},	  {"a b", "a b"},	  {"\xff", "\xff"},
	    {"'", "'"},		  {"a\tb", "a\tb"},
	};
	struct sample_row row = {.has_y = true, .weight = 1};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		char want[100];

		row.carrier = t[i].value;
		set_up(t[i].value, &row);
		snprintf(want, sizeof(want), "%s,no,,0,%s,,\n", t[i].want,
			 t[i].want);
		check_text(want);
		tear_down();
	}
}

int
main(void)
{
	check_run("the header names key, label, weight and features", header);
	check_run("values are written as short as they read back", values);
	check_run("missing is empty, and unlike a value of no bytes", missing);
	check_run("fields are quoted where they need it", quotes);
	return check_done();
}
