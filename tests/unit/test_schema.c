#include "data/schema.h"

#include <stdlib.h>
#include "check.h"
#include "sample.h"

static int
load(const char *text, struct schema *s, struct error *err)
{
	struct jvalue *v = jsonio_parse(text, strlen(text), "schema", err);
	int ret = v ? schema_load(s, v, err) : -1;

	jsonio_free(v);
	return ret;
}

static struct strbuf
json_of(const struct schema *s, int indent)
{
	struct strbuf sb = STRBUF_INIT;
	struct jout j;

	jout_begin(&j, &sb, indent);
	schema_json(s, &j);
	return sb;
}

/* s is as it was after a trip through JSON. */
static void
check_trip(const struct schema *s)
{
	struct strbuf a = json_of(s, 0), b = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct schema back;

	if (load(a.buf, &back, &err) < 0) {
		check_fail(__FILE__, __LINE__);
		printf("%s\n# %s\n", err.text, a.buf);
	} else {
		b = json_of(&back, 0);
		CHECK_STR(b.buf, a.buf);
		CHECK(schema_fingerprint(&back) == schema_fingerprint(s));
		schema_release(&back);
	}
	strbuf_release(&a);
	strbuf_release(&b);
}

static void
defaults(void)
{
	struct schema s;

	schema_init(&s);
	CHECK_INT(s.format.delimiter, ',');
	CHECK(s.format.quoted && s.header && !s.format.trim);
	CHECK(schema_is_missing(&s, "", 0));
	CHECK(schema_is_missing(&s, "NA", 2));
	CHECK(schema_is_missing(&s, "nanx", 3));
	CHECK(!schema_is_missing(&s, "nanx", 4));
	CHECK(!schema_is_missing(&s, "n", 1));
	CHECK(!schema_is_missing(&s, "0", 1));
	CHECK(!schema_is_missing(&s, "n/a", 3));
	CHECK(!schema_is_missing(&s, "NA\0", 3));
	schema_release(&s);
}

static void
columns(void)
{
	struct schema s;

	sample_schema(&s);
	CHECK_INT(schema_find_column(&s, "origin"), 0);
	CHECK_INT(schema_find_column(&s, "late"), 5);
	CHECK_INT(schema_find_column(&s, "Late"), -1);
	schema_release(&s);
}

static void
trip(void)
{
	struct schema s;

	sample_schema(&s);
	check_trip(&s);
	schema_release(&s);
}

static uint64_t state = 1;

static uint32_t
below(uint32_t n)
{
	return sample_random(&state) % n;
}

/* A string of any bytes but NUL, not empty, not like the last. */
static char *
random_text(struct arena *a, size_t serial)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%zu", serial);

	for (int extra = (int)below(12); extra > 0; extra--)
		text[n++] = (char)(1 + below(255));
	return arena_memdup(a, text, (size_t)n);
}

static void
random_column(struct schema *s, size_t i)
{
	struct schema_column *c = &s->column[i];

	c->name = random_text(&s->arena, i);
	c->type = (enum column_type)below(3);
	c->f64 = c->type == COLUMN_NUMERIC && below(2);
	if (c->type == COLUMN_DATETIME && below(2))
		c->datetime_format = random_text(&s->arena, i);
	c->roles = below(2) ? ROLE_FEATURE : 0;
	if (below(4) == 0)
		c->roles |= ROLE_ID;
	if (!c->roles)
		c->roles = ROLE_DROP;
}

static void
random_features(struct schema *s)
{
	s->feature =
	    arena_calloc(&s->arena, s->ncolumn + 1, sizeof(*s->feature));
	for (size_t i = 0; i < s->ncolumn; i++) {
		const struct schema_column *c = &s->column[i];
		struct schema_feature *f = &s->feature[s->nfeature];

		if (!(c->roles & ROLE_FEATURE))
			continue;
		s->nfeature++;
		f->name = c->name;
		f->column = (uint32_t)i;
		if (c->type == COLUMN_DATETIME)
			f->part = (enum datetime_part)(1 + below(4));
		f->kind = c->type == COLUMN_NUMERIC
			      ? (c->f64 ? FEATURE_F64 : FEATURE_F32)
			  : f->part == DT_DAY ? FEATURE_F64
					      : FEATURE_CATEGORY;
	}
}

/* A cross of the first two categories, if there are two; bits and limits. */
static void
random_vocabularies(struct schema *s)
{
	struct schema_feature cross = {.name = "cross",
				       .kind = FEATURE_CATEGORY};

	for (uint32_t i = 0; i < s->nfeature; i++) {
		struct schema_feature *f = &s->feature[i];

		if (f->kind != FEATURE_CATEGORY)
			continue;
		if (cross.ncross < 2)
			cross.cross[cross.ncross++] = i;
		f->own_bits = below(2);
		f->hash_bits = f->own_bits ? below(65) : 0;
		f->max_values = below(2) ? below(1000) : 0;
		f->min_count = below(2) ? below(1000) : 0;
	}
	if (cross.ncross < 2 || below(2))
		return;
	cross.column = s->feature[cross.cross[0]].column;
	s->feature[s->nfeature++] = cross;
}

static void
random_task(struct schema *s)
{
	s->task = (enum task)(1 + below(3));
	s->nclass = s->task == TASK_BINARY	 ? 2
		    : s->task == TASK_REGRESSION ? 0
						 : 1 + below(5);
	s->class_name =
	    arena_calloc(&s->arena, s->nclass, sizeof(*s->class_name));
	for (size_t i = 0; i < s->nclass; i++)
		s->class_name[i] = random_text(&s->arena, i);
	if (s->task != TASK_BINARY)
		return;
	if (below(3) == 0) {
		s->positive_op = (enum threshold_op)(1 + below(6));
		s->positive_number =
		    ((double)sample_random(&state) - 1e9) / 3e5;
	} else if (below(2)) {
		s->positive = s->class_name[1];
	}
}

static void
random_schema(struct schema *s)
{
	struct error err;
	size_t label;

	schema_init(s);
	s->format.delimiter = (char)below(2) ? '\t' : (char)0xfe;
	s->format.quoted = below(2);
	s->format.trim = below(2);
	s->header = below(2);
	s->ragged = (enum on_ragged)below(3);
	s->bad_number = (enum on_bad)below(2);
	s->inf = (enum on_bad)below(2);
	s->missing_label_error = below(2);
	s->nmissing = below(7);
	s->hash_bits = below(65);
	s->ncolumn = 3 + below(10);
	s->column = arena_calloc(&s->arena, s->ncolumn, sizeof(*s->column));
	for (size_t i = 0; i < s->ncolumn; i++)
		random_column(s, i);
	label = below((uint32_t)s->ncolumn);
	s->column[label].roles = ROLE_LABEL;
	s->ngroup_column = below(3);
	s->group_column = arena_calloc(&s->arena, 2, sizeof(uint32_t));
	for (uint32_t i = 0; i < s->ngroup_column; i++) {
		s->group_column[i] = (uint32_t)((label + 1 + i) % s->ncolumn);
		s->column[s->group_column[i]].roles |= ROLE_GROUP;
	}
	random_features(s);
	random_vocabularies(s);
	random_task(s);
	split_rule_init(&s->split, SPLIT_BY_HASH, sample_random(&state),
			below(100) / 200.0, below(100) / 210.0, &err);
}

static void
random_trips(void)
{
	for (int i = 0; i < 2000 && !check_failed; i++) {
		struct schema s;

		random_schema(&s);
		check_trip(&s);
		schema_release(&s);
	}
}

static void
libsvm(void)
{
	static struct schema_feature x = {.name = "x", .kind = FEATURE_SPARSE};
	struct schema s;

	schema_init(&s);
	s.input = INPUT_LIBSVM;
	s.format.whole_line = true;
	s.feature = &x;
	s.nfeature = 1;
	s.task = TASK_REGRESSION;
	CHECK_INT(schema_key_fields(&s), 1);
	check_trip(&s);
	schema_release(&s);
}

static void
indentation(void)
{
	struct schema s, t;
	struct strbuf pretty;
	struct error err = ERROR_NONE;

	sample_schema(&s);
	pretty = json_of(&s, 2);
	CHECK_OK(load(pretty.buf, &t, &err), err);
	CHECK(schema_fingerprint(&s) == schema_fingerprint(&t));
	t.hash_bits = 3;
	CHECK(schema_fingerprint(&s) != schema_fingerprint(&t));
	strbuf_release(&pretty);
	schema_release(&s);
	schema_release(&t);
}

/* The sample's JSON with `from` replaced by `to` is refused so. */
static void
refused(const char *from, const char *to, const char *text)
{
	struct strbuf json, edited = STRBUF_INIT;
	struct schema s, back;
	struct error err = ERROR_NONE;
	const char *at;

	sample_schema(&s);
	json = json_of(&s, 0);
	at = strstr(json.buf, from);
	CHECK(at != NULL);
	if (!at)
		return;
	strbuf_add(&edited, json.buf, (size_t)(at - json.buf));
	strbuf_addstr(&edited, to);
	strbuf_addstr(&edited, at + strlen(from));
	CHECK_ERROR(load(edited.buf, &back, &err), err, EXIT_CORRUPT, text);
	strbuf_release(&edited);
	strbuf_release(&json);
	schema_release(&s);
}

static void
hostile(void)
{
	refused("\"trim\"", "\"trims\"",
		"schema: unknown key \"trims\" (did you mean \"trim\"?)");
	refused("\"trim\":false,", "", "schema: \"trim\": missing");
	refused("\"input\":\"delimited\"", "\"input\":\"tarot\"",
		"schema: \"input\": unknown word \"tarot\"");
	refused("\"delimiter\":\",\"", "\"delimiter\":\"\"",
		"schema: \"delimiter\": not one byte");
	refused("\"delimiter\":\",\"", "\"delimiter\":\"\\n\"",
		"schema: a delimiter that cannot be one");
	refused("\"hash_bits\":0", "\"hash_bits\":65",
		"schema: \"hash_bits\": out of range");
	refused("\"missing\":[\"\"", "\"missing\":[7",
		"schema: \"missing\": not a string");
	refused("\"name\":\"late\"", "\"name\":\"origin\"",
		"schema: column \"origin\" occurs twice");
	refused("\"name\":\"late\"", "\"name\":\"\"",
		"schema: a column without a name");
	refused("\"name\":\"late\"", "\"name\":\"a\\u0000b\"",
		"schema: column 5: a NUL byte in \"a\"");
	refused("[\"label\"]", "[\"labels\"]",
		"schema: column 5: \"roles\": unknown or twice: \"labels\"");
	refused("[\"label\"]", "[\"id\"]", "schema: not one label column");
	refused("[\"label\"]", "[\"label\",\"split\"]",
		"schema: split column and split rule disagree");
	refused("[\"group\"]", "[]",
		"schema: group columns and roles disagree");
	refused("\"group_columns\":[0]", "\"group_columns\":[6]",
		"schema: \"group_columns\": out of range");
	refused("\"group_columns\":[0]", "\"group_columns\":[1]",
		"schema: a group column that is none");
	refused("\"group_columns\":[0]", "\"group_columns\":[-1]",
		"schema: \"group_columns\": not a whole number from 0");
	refused("\"kind\":\"float32\",\"column\":1",
		"\"kind\":\"float32\",\"column\":6",
		"schema: feature \"x\" does not fit its column");
	refused("\"kind\":\"float32\"", "\"kind\":\"sparse\"",
		"schema: feature \"x\" does not fit its column");
	refused("\"part\":\"day\"", "\"part\":\"hour\"",
		"schema: feature \"when.day\" does not fit its column");
	refused("\"task\":\"binary\"", "\"task\":\"regression\"",
		"schema: number of classes and task disagree");
	refused("\"classes\":[\"no\",\"yes\"]", "\"classes\":[\"no\",\"no\"]",
		"schema: class \"no\" occurs twice");
	refused("\"classes\"",
		"\"positive_if\":{\"op\":\"=\",\"number\":1},\"classes\"",
		"schema: \"positive_if\": \"op\": unknown word \"=\"");
	refused("\"classes\"",
		"\"positive\":\"yes\",\"positive_if\":{\"op\":\">\","
		"\"number\":1},\"classes\"",
		"schema: two rules for the positive class");
	refused("\"holdout\":0.1", "\"holdout\":1",
		"schema: \"split\": split: a share is at least 0 and below 1");
}

/* The sample with a cross, and hashes and limits of a feature, edited so. */
static void
refused_cross(const char *from, const char *to, const char *text)
{
	static struct schema_feature feature[6];
	struct schema s, back;
	struct strbuf json, edited = STRBUF_INIT;
	struct error err = ERROR_NONE;
	const char *at;

	sample_schema(&s);
	memcpy(feature, s.feature, 5 * sizeof(*feature));
	feature[5] = (struct schema_feature){.name = "carrier:when.month",
					     .kind = FEATURE_CATEGORY,
					     .column = 3,
					     .cross = {2, 3},
					     .ncross = 2,
					     .own_bits = true,
					     .hash_bits = 12,
					     .max_values = 100,
					     .min_count = 3};
	s.feature = feature;
	s.nfeature = 6;
	CHECK(!schema_is_plain(&s));
	check_trip(&s);
	json = json_of(&s, 0);
	at = strstr(json.buf, from);
	CHECK(at != NULL);
	if (!at)
		return;
	strbuf_add(&edited, json.buf, (size_t)(at - json.buf));
	strbuf_addstr(&edited, to);
	strbuf_addstr(&edited, at + strlen(from));
	CHECK_ERROR(load(edited.buf, &back, &err), err, EXIT_CORRUPT, text);
	strbuf_release(&edited);
	strbuf_release(&json);
	schema_release(&s);
}

static void
hostile_crosses(void)
{
#define NO_CROSS                                                               \
	"schema: feature \"carrier:when.month\" is no cross of categories "    \
	"before it"
#define NO_PLACE                                                               \
	"schema: feature \"x\": hash_bits, max_values or min_count out of "    \
	"place"
	refused_cross("[2,3]", "[2]",
		      "schema: feature 5: \"cross\": not 2 to 8 features");
	refused_cross("[2,3]", "[2,3,3,3,3,3,3,3,3]",
		      "schema: feature 5: \"cross\": not 2 to 8 features");
	refused_cross("[2,3]", "2",
		      "schema: feature 5: \"cross\": not an array");
	refused_cross(
	    "[2,3]", "[2,-3]",
	    "schema: feature 5: \"cross\": not a whole number from 0");
	refused_cross("[2,3]", "[2,4294967295]",
		      "schema: feature 5: \"cross\": out of range");
	refused_cross("[2,3]", "[2,4294967294]", NO_CROSS);
	refused_cross("[2,3]", "[2,5]", NO_CROSS);
	refused_cross("[2,3]", "[2,2]", NO_CROSS);
	refused_cross("[2,3]", "[2,0]", NO_CROSS);
	refused_cross("[2,3]", "[3,2]", NO_CROSS);
	refused_cross("\"column\":3,\"cross\"", "\"column\":9,\"cross\"",
		      NO_CROSS);
	refused_cross("\"column\":3,\"cross\"",
		      "\"column\":3,\"part\":\"month\",\"cross\"", NO_CROSS);
	refused_cross("\"hash_bits\":12", "\"hash_bits\":65",
		      "schema: feature 5: \"hash_bits\": out of range");
	refused_cross("\"max_values\":100", "\"max_values\":0",
		      "schema: feature 5: \"max_values\": out of range");
	refused_cross("\"min_count\":3", "\"min_count\":4294967295",
		      "schema: feature 5: \"min_count\": out of range");
	refused_cross("\"column\":1}", "\"column\":1,\"hash_bits\":0}",
		      NO_PLACE);
	refused_cross("\"column\":1}", "\"column\":1,\"max_values\":1}",
		      NO_PLACE);
}

static void
not_object(void)
{
	struct schema s;
	struct error err;

	CHECK_ERROR(load("[]", &s, &err), err, EXIT_CORRUPT,
		    "schema: not an object");
	CHECK_INT(s.ncolumn, 0);
}

int
main(void)
{
	check_run("defaults are those of the manual", defaults);
	check_run("a column is found by name", columns);
	check_run("a schema survives JSON", trip);
	check_run("any schema's JSON is byte-identical after loading",
		  random_trips);
	check_run("a libsvm schema survives JSON", libsvm);
	check_run("the fingerprint is of the content, not of white space",
		  indentation);
	check_run("a schema that contradicts itself is refused", hostile);
	check_run("a cross, bits or limit out of place is refused",
		  hostile_crosses);
	check_run("a schema that is no object is refused", not_object);
	return check_done();
}
