#include "data/featurize.h"

#include <stdlib.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "check.h"
#include "data/groupkey.h"

static char dir[] = "/tmp/kp-test-XXXXXX";
static struct strbuf input_path = STRBUF_INIT, output_path = STRBUF_INIT;

/* What a test says; column lists are one argument each. */
struct setup {
	const char *text;
	size_t bytes; /* 0: strlen(text) */
	const char *label, *group, *group2, *weight, *time, *categorical;
	const char *datetime, *positive;
	enum task task; /* 0: not given */
	enum split_by by;
	double holdout;
	uint64_t memory_bytes, block_bytes;
	uint32_t hash_bits;
	bool libsvm;
};

static struct schema schema;
static struct featurize_report report;
static struct dataset *data;

static void
list(struct opt_list *l, const char *item)
{
	if (!item)
		return;
	l->item = xreallocarray(l->item, l->n + 1, sizeof(*l->item));
	l->item[l->n++] = item;
}

static void
set_schema(const struct setup *t)
{
	struct error err = ERROR_NONE;

	schema_init(&schema);
	CHECK_OK(split_rule_init(&schema.split, t->by, 1, t->holdout, 0, &err),
		 err);
	schema.hash_bits = t->hash_bits;
	if (t->positive)
		schema.positive = arena_memdup(&schema.arena, t->positive,
					       strlen(t->positive));
	if (t->task)
		schema.task = t->task;
	if (t->libsvm) {
		schema.input = INPUT_LIBSVM;
		schema.header = false;
		schema.format.whole_line = true;
	}
}

/* Featurizes the text; the dataset is open as `data` if all went well. */
static int
make(const struct setup *t, const char *name, struct error *err)
{
	const char *file = io_join(&input_path, dir, "in.csv");
	struct featurize_options o = {
	    .jobs = 2,
	    .output = io_join(&output_path, dir, name),
	    .files = &file,
	    .nfile = 1,
	    .memory_bytes =
		t->memory_bytes ? t->memory_bytes : (uint64_t)1 << 30,
	    .block_bytes = t->block_bytes,
	    .tmpdir = dir,
	    .task_given = t->task != 0,
	    .columns = {.label = t->label,
			.weight = t->weight,
			.time = t->time},
	};
	struct outfile *f = outfile_open(file, err);
	int ret;

	CHECK(f != NULL);
	CHECK_OK(outfile_write(f, t->text,
			       t->bytes ? t->bytes : strlen(t->text), err),
		 *err);
	CHECK_OK(outfile_commit(f, err), *err);
	list(&o.columns.group_by, t->group);
	list(&o.columns.group_by, t->group2);
	list(&o.columns.categorical, t->categorical);
	list(&o.columns.datetime, t->datetime);
	set_schema(t);
	ret = featurize(&schema, &o, &report, err);
	if (ret == 0) {
		data = dataset_open(o.output, err);
		CHECK(data != NULL);
	}
	opt_list_release(&o.columns.group_by);
	opt_list_release(&o.columns.categorical);
	opt_list_release(&o.columns.datetime);
	return ret;
}

static void
drop(void)
{
	dataset_free(data);
	data = NULL;
	io_remove_tree(output_path.buf);
	featurize_report_release(&report);
	schema_release(&schema);
}

static int64_t
group_of(const char *name)
{
	struct strbuf key = STRBUF_INIT;
	int64_t g;

	groupkey_add(&key, name, strlen(name));
	g = dataset_find_group(data, key.buf, key.len);
	strbuf_release(&key);
	return g;
}

static struct group_facts
facts_of(size_t g)
{
	struct group_facts f = {0};
	struct error err = ERROR_NONE;

	CHECK_OK(dataset_read_facts(data, g, &f, &err), err);
	return f;
}

static struct block
block_of(size_t i, const struct group_facts *f)
{
	struct block b = {0};
	struct error err = ERROR_NONE;

	CHECK_OK(dataset_read_block(data, i, f, &b, &err), err);
	return b;
}

static int
feature(const char *name)
{
	for (size_t i = 0; i < schema.nfeature; i++)
		if (strcmp(schema.feature[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void
check_value(const struct feature_facts *f, uint32_t code, const char *want)
{
	size_t n;
	const char *p = facts_value(f, code, &n);

	CHECK_INT(n, strlen(want));
	CHECK_MEM(p, want, n);
}

/* --- tests --- */

static void
rows_by_group(void)
{
	struct setup t = {
	    .text = "g,y,x,c\n"
		    "b,1.5,10,red\n"
		    "a,2.5,,blue\n"
		    "b,-3,20,\n"
		    "b,4,NA,red\n",
	    .label = "y",
	    .group = "g",
	};
	struct error err = ERROR_NONE;
	struct group_facts f;
	struct block b;
	int x, c;

	CHECK_OK(make(&t, "d", &err), err);
	CHECK_INT(schema.task, TASK_REGRESSION);
	CHECK_INT(dataset_index(data)->ngroup, 2);
	CHECK_INT(group_of("a"), 0);
	CHECK_INT(group_of("b"), 1);
	f = facts_of(1);
	b = block_of(dataset_index(data)->group[1].first_block, &f);
	x = feature("x");
	c = feature("c");
	CHECK_INT(schema.feature[x].kind, FEATURE_F32);
	CHECK_INT(schema.feature[c].kind, FEATURE_CATEGORY);
	CHECK_INT(b.nrow, 3);
	CHECK_BITS(b.label[0], 1.5);
	CHECK_BITS(b.label[1], -3);
	CHECK_BITS(b.label[2], 4);
	CHECK_BITS(b.column[x].f32[0], 10);
	CHECK_BITS(b.column[x].f32[1], 20);
	CHECK_INT(b.column[x].missing[0], 4);
	check_value(&f.feature[c], b.column[c].code[0], "red");
	CHECK_INT(b.column[c].code[1], CODE_MISSING);
	CHECK_INT(b.column[c].code[2], b.column[c].code[0]);
	CHECK_BITS(f.label_max_abs, 4);
	CHECK_BITS(f.label_sum, 2.5);
	CHECK_INT(f.feature[x].present, 2);
	CHECK_INT(f.feature[x].missing, 1);
	CHECK_BITS(f.feature[x].mean, 15);
	CHECK_BITS(f.feature[x].m2, 50);
	CHECK_BITS(f.feature[x].min, 10);
	CHECK_BITS(f.feature[x].max, 20);
	CHECK_INT(f.feature[c].count[0], 2);
	CHECK_INT(report.missing[x], 2);
	block_release(&b);
	facts_release(&f);
	drop();
}

static void
classes_are_ordered(void)
{
	struct setup t = {
	    .text = "y,x\n10,1\n9,2\n-1,3\n9,4\n",
	    .label = "y",
	    .task = TASK_MULTICLASS,
	};
	struct error err = ERROR_NONE;
	struct group_facts f;
	struct block b;

	CHECK_OK(make(&t, "d", &err), err);
	CHECK_INT(schema.nclass, 3);
	CHECK_STR(schema.class_name[0], "-1");
	CHECK_STR(schema.class_name[1], "9");
	CHECK_STR(schema.class_name[2], "10");
	f = facts_of(0);
	CHECK_INT(f.class_rows[1], 2);
	b = block_of(0, &f);
	CHECK_BITS(b.label[0], 2);
	CHECK_BITS(b.label[1], 1);
	CHECK_BITS(b.label[2], 0);
	block_release(&b);
	facts_release(&f);
	drop();
}

static void
text_classes(void)
{
	struct setup two = {.text = "y,x\nb,1\na,2\n", .label = "y"};
	struct setup one = {.text = "y,x\nb,1\nb,2\n", .label = "y"};
	struct error err = ERROR_NONE;

	CHECK_OK(make(&two, "d", &err), err);
	CHECK_INT(schema.task, TASK_BINARY);
	CHECK_STR(schema.class_name[1], "b");
	drop();
	CHECK_ERROR(make(&one, "d", &err), err, EXIT_DATA,
		    "every label is \"b\": nothing to tell apart (see "
		    "--positive)");
	drop();
}

static void
weights(void)
{
	struct setup t = {
	    .text = "y,x,w\n2,1,0.5\n4,2,0\n6,3,1.5\n,4,1\n",
	    .label = "y",
	    .weight = "w",
	};
	struct error err = ERROR_NONE;
	struct group_facts f;
	struct block b;

	CHECK_OK(make(&t, "d", &err), err);
	CHECK_INT(report.totals.rows, 2);
	CHECK_INT(report.totals.left_out_weight, 1);
	CHECK_INT(report.totals.left_out_label, 1);
	CHECK_BITS(report.totals.label_mean, 5);
	f = facts_of(0);
	CHECK_BITS(f.weight_sum, 2);
	CHECK_BITS(f.weight_max, 1.5);
	CHECK_BITS(f.label_sum, 10);
	CHECK_BITS(f.feature[0].mean, 2); /* moments are unweighted */
	b = block_of(0, &f);
	CHECK_BITS(b.weight[0], 0.5);
	CHECK_BITS(b.weight[1], 1.5);
	CHECK_INT(schema.nfeature, 1);
	block_release(&b);
	facts_release(&f);
	drop();
}

/* Ties stay together, on the training side. */
static void
last_by_time(void)
{
	struct setup t = {
	    .text = "g,y,t\n"
		    "a,1,3\na,2,9\na,3,1\na,4,7\na,5,7\n"
		    "b,1,5\nb,2,5\n",
	    .label = "y",
	    .group = "g",
	    .time = "t",
	    .by = SPLIT_BY_TIME,
	    .holdout = 0.4,
	};
	struct error err = ERROR_NONE;
	struct group_facts f;
	struct block b;

	CHECK_OK(make(&t, "d", &err), err);
	CHECK_INT(schema.nfeature, 0);
	f = facts_of(0);
	CHECK_BITS(f.time_cutoff, 7);
	CHECK_INT(f.rows[PART_TRAIN], 4);
	CHECK_INT(f.rows[PART_HOLDOUT], 1);
	b = block_of(0, &f);
	CHECK_INT(b.split[1], SPLIT_HOLDOUT);
	CHECK(b.split[3] < SPLIT_BUCKETS);
	block_release(&b);
	facts_release(&f);
	f = facts_of(1);
	CHECK_INT(f.rows[PART_TRAIN], 2);
	CHECK(!f.all_train);
	facts_release(&f);
	drop();
}

/* With most rows held out some groups have no class to tell apart left. */
static void
trains_on_all(void)
{
	struct strbuf text = STRBUF_INIT;
	struct setup t = {
	    .label = "y", .group = "g", .positive = "1", .holdout = 0.9};
	struct error err = ERROR_NONE;
	uint64_t all = 0;

	strbuf_addstr(&text, "g,y,x\n");
	for (int i = 0; i < 200; i++)
		strbuf_addf(&text, "g%d,%d,%d\n", i / 4, i % 4 == 0, i);
	t.text = text.buf;
	CHECK_OK(make(&t, "d", &err), err);
	for (size_t g = 0; g < 50; g++) {
		struct group_facts f = facts_of(g);

		CHECK_INT(facts_rows(&f), 4);
		CHECK(f.class_rows[0] > 0 && f.class_rows[1] > 0);
		if (f.all_train)
			CHECK_INT(f.rows[PART_TRAIN], 4);
		all += f.all_train;
		facts_release(&f);
	}
	CHECK_INT(report.groups_all_train, all);
	CHECK(all > 25);
	strbuf_release(&text);
	drop();
}

static void
dates(void)
{
	struct setup t = {
	    .text = "y,d\n1,2001-07-02 13:45\n2,\n3,1970-01-02\n",
	    .label = "y",
	    .datetime = "d",
	};
	struct error err = ERROR_NONE;
	struct group_facts f;
	struct block b;
	int month, day;

	CHECK_OK(make(&t, "d", &err), err);
	month = feature("d.month");
	day = feature("d.day");
	f = facts_of(0);
	b = block_of(0, &f);
	check_value(&f.feature[month], b.column[month].code[0], "7");
	CHECK_INT(b.column[month].code[1], CODE_MISSING);
	check_value(&f.feature[month], b.column[month].code[2], "1");
	check_value(&f.feature[feature("d.weekday")],
		    b.column[feature("d.weekday")].code[0], "1");
	check_value(&f.feature[feature("d.hour")],
		    b.column[feature("d.hour")].code[0], "13");
	CHECK_NEAR(b.column[day].f64[0], 11505 + 13.75 / 24, 1e-12);
	CHECK_BITS(b.column[day].f64[2], 1);
	CHECK_INT(b.column[day].missing[0], 2);
	block_release(&b);
	facts_release(&f);
	drop();
}

static void
sparse_rows(void)
{
	struct setup t = {
	    .text = "+1 1:2 7:1\n-1 1:4\n+1 3:5 # x\n-1 7:3\n",
	    .libsvm = true,
	    .task = TASK_BINARY,
	};
	struct error err = ERROR_NONE;
	struct group_facts f;
	struct block b;

	CHECK_OK(make(&t, "d", &err), err);
	CHECK_STR(schema.class_name[0], "-1");
	CHECK_STR(schema.class_name[1], "+1");
	CHECK_INT(group_of("all"), 0);
	f = facts_of(0);
	CHECK_INT(f.feature[0].nvalue, 3);
	CHECK_INT(f.feature[0].index[2], 7);
	CHECK_INT(f.feature[0].count[0], 2);
	CHECK_NEAR(f.feature[0].smean[0], 1.5, 1e-15);
	CHECK_NEAR(f.feature[0].sm2[0], 11, 1e-15);
	CHECK_BITS(f.feature[0].smin[0], 0);
	CHECK_BITS(f.feature[0].smax[0], 4);
	b = block_of(0, &f);
	CHECK_INT(b.column[0].start[4], 5);
	CHECK_INT(b.column[0].entry_code[1], 2);
	CHECK_BITS(b.column[0].entry_value[3], 5);
	block_release(&b);
	facts_release(&f);
	drop();
}

static void
grouped_by_sparse(void)
{
	struct setup t = {
	    .text = "1 1:2 7:1\n-1 1:4\n1 3:5 7:0.5\n-1 7:1\n",
	    .libsvm = true,
	    .group = "7",
	};
	struct error err = ERROR_NONE;
	struct group_facts f;

	CHECK_OK(make(&t, "d", &err), err);
	CHECK_INT(dataset_index(data)->ngroup, 3);
	CHECK_INT(group_of("0"), 0);
	CHECK_INT(group_of("0.5"), 1);
	CHECK_INT(group_of("1"), 2);
	f = facts_of(2);
	CHECK_INT(f.feature[0].nvalue, 1); /* 7 is no feature any more */
	CHECK_INT(facts_rows(&f), 2);
	facts_release(&f);
	drop();
}

static void
hashes_only(void)
{
	struct strbuf text = STRBUF_INIT;
	struct setup t = {.label = "y", .categorical = "c", .hash_bits = 4};
	struct error err = ERROR_NONE;
	struct group_facts f;
	uint64_t rows = 0;

	strbuf_addstr(&text, "y,c\n");
	for (int i = 0; i < 100; i++)
		strbuf_addf(&text, "%d,v%d\n", i, i % 50);
	t.text = text.buf;
	CHECK_OK(make(&t, "d", &err), err);
	f = facts_of(0);
	CHECK(f.feature[0].nvalue <= 16);
	for (uint32_t i = 0; i < f.feature[0].nvalue; i++) {
		CHECK(f.feature[0].hash[i] < 16);
		rows += f.feature[0].count[i];
	}
	CHECK_INT(rows, 100);
	CHECK_INT(report.tally[0].values, 50);
	CHECK(report.tally[0].collided >= 34 && report.tally[0].collided <= 50);
	facts_release(&f);
	strbuf_release(&text);
	drop();
}

/* --- memory --- */

/* Rows of all kinds of cells, of values that fill any table of names. */
static void
many_rows(struct strbuf *text, size_t n)
{
	strbuf_addstr(text, "g,y,x,id,c,w,d\n");
	for (size_t i = 0; i < n; i++) {
		uint64_t r = rng_u64(5, i, 0, 0);

		strbuf_addf(
		    text, "g%d,%s,%g,user-%d,%c,%g,2020-0%d-1%d\n",
		    (int)(r % 997 * (r >> 60) / 16), r >> 40 & 1 ? "yes" : "no",
		    (double)(r >> 20 & 1023) / 8, (int)(r >> 8 & 0xffff),
		    (int)('a' + (r & 7)), 0.25 * (double)(1 + (r & 3)),
		    1 + (int)(r >> 12 & 7), (int)(r >> 16 & 7));
	}
}

static void
check_same(const char *a, const char *b)
{
	static const char *const file[] = {"manifest.json", "index.kpi",
					   "groups.kpg", "blocks-00000.kpb"};
	struct strbuf path = STRBUF_INIT, x = STRBUF_INIT, y = STRBUF_INIT;
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < 4; i++) {
		strbuf_reset(&x);
		strbuf_reset(&y);
		strbuf_reset(&path);
		strbuf_addf(&path, "%s/%s/%s", dir, a, file[i]);
		CHECK_OK(io_read_file(path.buf, 0, &x, &err), err);
		strbuf_reset(&path);
		strbuf_addf(&path, "%s/%s/%s", dir, b, file[i]);
		CHECK_OK(io_read_file(path.buf, 0, &y, &err), err);
		CHECK_INT(x.len, y.len);
		CHECK(x.len == y.len && memcmp(x.buf, y.buf, x.len) == 0);
	}
	strbuf_release(&path);
	strbuf_release(&x);
	strbuf_release(&y);
}

static void
any_memory(void)
{
	static const char *const name[] = {"m0", "m1", "m2"};
	static const uint64_t memory[] = {(uint64_t)1 << 30, 1 << 20, 3 << 20};
	struct strbuf text = STRBUF_INIT;
	struct setup t = {.label = "y",
			  .group = "g",
			  .weight = "w",
			  .datetime = "d",
			  .holdout = 0.1};
	struct error err = ERROR_NONE;

	many_rows(&text, 400000);
	t.text = text.buf;
	for (int i = 0; i < 3; i++) {
		t.memory_bytes = memory[i];
		CHECK_OK(make(&t, name[i], &err), err);
		/* More than 32 runs of half a megabyte. */
		CHECK((report.spilled_bytes > (uint64_t)17 << 20) == (i > 0));
		CHECK_INT(report.totals.rows, 400000);
		dataset_free(data);
		featurize_report_release(&report);
		schema_release(&schema);
	}
	check_same("m0", "m1");
	check_same("m0", "m2");
	strbuf_release(&text);
}

static void
sparse_memory(void)
{
	struct strbuf text = STRBUF_INIT;
	struct setup t = {.libsvm = true, .group = "3"};
	struct error err = ERROR_NONE;

	for (int i = 0; i < 60000; i++) {
		strbuf_addf(&text, "%d 3:%d", i & 1, i % 7);
		for (int k = 4; k < 4 + i % 20; k++)
			strbuf_addf(&text, " %d:%d", k * 9 + i % 8, i % 10);
		strbuf_addch(&text, '\n');
	}
	t.text = text.buf;
	CHECK_OK(make(&t, "s0", &err), err);
	CHECK_INT(report.spilled_bytes, 0);
	dataset_free(data);
	featurize_report_release(&report);
	schema_release(&schema);
	t.memory_bytes = 1 << 20;
	CHECK_OK(make(&t, "s1", &err), err);
	CHECK(report.spilled_bytes > 0);
	check_same("s0", "s1");
	strbuf_release(&text);
	drop();
}

/* Every row is in some block once, in order; moments by two passes. */
static void
blocks_hold_all(void)
{
	struct strbuf text = STRBUF_INIT;
	struct setup t = {.label = "y", .block_bytes = 2000};
	struct error err = ERROR_NONE;
	const struct index *ix;
	struct group_facts f;
	double sum = 0, square = 0, mean;
	uint64_t at = 0, train = 0;

	strbuf_addstr(&text, "y,x\n");
	for (int i = 0; i < 5000; i++)
		strbuf_addf(&text, "%d,%d\n", i, 1000 + i * i % 1237);
	t.text = text.buf;
	t.holdout = 0.25;
	CHECK_OK(make(&t, "d", &err), err);
	ix = dataset_index(data);
	CHECK(ix->nblock > 20);
	f = facts_of(0);
	for (int pass = 0; pass < 2; pass++) {
		mean = train ? sum / (double)train : 0;
		at = 0;
		for (size_t k = 0; k < ix->nblock; k++) {
			struct block b = block_of(k, &f);

			CHECK_INT(b.first_row, at);
			for (uint32_t r = 0; r < b.nrow; r++, at++) {
				double x = b.column[0].f32[r];

				CHECK_BITS(b.label[r], (double)at);
				if (split_part(&schema.split, b.split[r],
					       false) != PART_TRAIN)
					continue;
				train += pass == 0;
				sum += pass == 0 ? x : 0;
				square +=
				    pass == 1 ? (x - mean) * (x - mean) : 0;
			}
			block_release(&b);
		}
	}
	CHECK_INT(at, 5000);
	CHECK_INT(f.rows[PART_TRAIN], train);
	CHECK_NEAR(f.feature[0].mean, mean, 1e-13);
	CHECK_NEAR(f.feature[0].m2, square, 1e-12);
	facts_release(&f);
	strbuf_release(&text);
	drop();
}

int
main(void)
{
	if (!mkdtemp(dir))
		return 1;
	check_run("rows are gathered by group, in order, typed", rows_by_group);
	check_run("class names that are numbers are ordered as numbers",
		  classes_are_ordered);
	check_run("a label of two words is a binary task", text_classes);
	check_run("weights are kept, rows of weight 0 and without a label are "
		  "not",
		  weights);
	check_run("the last rows by time are held out, ties are not",
		  last_by_time);
	check_run("a group trains on all its rows where training would lack a "
		  "class",
		  trains_on_all);
	check_run("a date gives month, weekday, hour and day", dates);
	check_run("libsvm rows are sparse, absent counts as zero", sparse_rows);
	check_run("libsvm rows are grouped by the value of a feature",
		  grouped_by_sparse);
	check_run("hash bits keep hashes and count what shares one",
		  hashes_only);
	check_run("any memory gives the same dataset", any_memory);
	check_run("any memory gives the same sparse dataset", sparse_memory);
	check_run("blocks hold every row once, moments are those of training "
		  "rows",
		  blocks_hold_all);
	io_remove_tree(dir);
	return check_done();
}
