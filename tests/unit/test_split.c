#include "data/split.h"

#include <stdlib.h>
#include "check.h"

static struct split_rule
rule_of(enum split_by by, uint64_t seed, double holdout, double test)
{
	struct split_rule rule;
	struct error err = ERROR_NONE;

	CHECK_OK(split_rule_init(&rule, by, seed, holdout, test, &err), err);
	return rule;
}

static struct split_identity
identity(uint64_t seed, const char *const *field, size_t n)
{
	struct split_rule rule = rule_of(SPLIT_BY_HASH, seed, 0.1, 0);
	struct split_identity id;

	split_identity_begin(&id, &rule);
	for (size_t i = 0; i < n; i++)
		split_identity_add(&id, field[i], strlen(field[i]));
	return id;
}

/* These are part of the format: a change would move rows between training
 * and hold-out in everybody's data. */
static void
golden(void)
{
	const char *row[] = {"2013-01-01", "IAH", "", "n\xc3\xa9", "1400"};
	struct split_identity id;

	id = identity(0, NULL, 0);
	CHECK_INT(id.h, 3244421341483603138);
	id = identity(1, row, 1);
	CHECK_INT(id.h, -9163922323522976861);
	id = identity(1, row, 5);
	CHECK_INT(id.h, -240321484537276633);
	CHECK_INT(split_identity_bucket(&id), 183);
	id = identity(UINT64_MAX, row, 5);
	CHECK_INT(id.h, -4897751165614727655);
	CHECK_INT(split_identity_bucket(&id), 121);
}

static void
borders(void)
{
	struct split_identity a = identity(1, (const char *[]){"a", "bc"}, 2);
	struct split_identity b = identity(1, (const char *[]){"ab", "c"}, 2);
	struct split_identity c = identity(1, (const char *[]){"abc", ""}, 2);
	struct split_identity d = identity(1, (const char *[]){"abc"}, 1);

	CHECK(a.h != b.h && a.h != c.h && a.h != d.h && b.h != c.h &&
	      b.h != d.h && c.h != d.h);
}

static void
even(void)
{
	size_t count[SPLIT_BUCKETS] = {0};
	double chi2 = 0;
	char text[32];

	for (int i = 0; i < 240000; i++) {
		const char *field[] = {text, "same"};
		struct split_identity id;

		snprintf(text, sizeof(text), "%d", i);
		id = identity(7, field, 2);
		count[split_identity_bucket(&id)]++;
	}
	for (int i = 0; i < SPLIT_BUCKETS; i++)
		chi2 += ((double)count[i] - 1000) * ((double)count[i] - 1000) /
			1000;
	/* 239 degrees of freedom: mean 239, standard deviation 22 */
	CHECK(chi2 > 239 - 5 * 22 && chi2 < 239 + 5 * 22);
}

static void
parts(void)
{
	struct split_rule rule = rule_of(SPLIT_BY_HASH, 0, 0.1, 0.05);

	CHECK_INT(rule.holdout_buckets, 24);
	CHECK_INT(rule.test_buckets, 12);
	CHECK_INT(split_part(&rule, 0, false), PART_HOLDOUT);
	CHECK_INT(split_part(&rule, 23, false), PART_HOLDOUT);
	CHECK_INT(split_part(&rule, 24, false), PART_TEST);
	CHECK_INT(split_part(&rule, 35, false), PART_TEST);
	CHECK_INT(split_part(&rule, 36, false), PART_TRAIN);
	CHECK_INT(split_part(&rule, 239, false), PART_TRAIN);
	CHECK_INT(split_part(&rule, SPLIT_HOLDOUT, false), PART_HOLDOUT);
	CHECK_INT(split_part(&rule, SPLIT_TEST, false), PART_TEST);
	for (int b = 0; b <= SPLIT_TEST; b++)
		CHECK_INT(split_part(&rule, (uint8_t)b, true), PART_TRAIN);
}

static void
no_holdout(void)
{
	struct split_rule rule = rule_of(SPLIT_BY_HASH, 0, 0, 0);

	for (int b = 0; b < SPLIT_BUCKETS; b++)
		CHECK_INT(split_part(&rule, (uint8_t)b, false), PART_TRAIN);
}

static void
by_column(void)
{
	struct split_rule rule = rule_of(SPLIT_BY_COLUMN, 0, 0.1, 0);

	CHECK_INT(split_part(&rule, 0, false), PART_TRAIN);
	CHECK_INT(split_byte_of_word("train", 5, 17), 17);
	CHECK_INT(split_byte_of_word("holdout", 7, 17), SPLIT_HOLDOUT);
	CHECK_INT(split_byte_of_word("test", 4, 17), SPLIT_TEST);
	CHECK_INT(split_byte_of_word("Train", 5, 17), -1);
	CHECK_INT(split_byte_of_word("tes", 3, 17), -1);
	CHECK_INT(split_byte_of_word("", 0, 17), -1);
}

static void
refusals(void)
{
	struct split_rule rule;
	struct error err;

	CHECK_ERROR(split_rule_init(&rule, SPLIT_BY_HASH, 0, 1, 0, &err), err,
		    EXIT_USAGE, "split: a share is at least 0 and below 1");
	CHECK_ERROR(split_rule_init(&rule, SPLIT_BY_HASH, 0, -0.1, 0, &err),
		    err, EXIT_USAGE,
		    "split: a share is at least 0 and below 1");
	CHECK_ERROR(split_rule_init(&rule, SPLIT_BY_HASH, 0, 0, NAN, &err), err,
		    EXIT_USAGE, "split: a share is at least 0 and below 1");
	CHECK_ERROR(
	    split_rule_init(&rule, SPLIT_BY_HASH, 0, 0.5, 0.4999, &err), err,
	    EXIT_USAGE,
	    "split: hold-out and test shares leave nothing to train on");
	CHECK_ERROR(split_rule_init(&rule, SPLIT_BY_TIME, 0, 0.5, 0.1, &err),
		    err, EXIT_USAGE,
		    "split: no test share when the time decides");
}

/* The rule read from JSON text; -1 and err as split_rule_load(). */
static int
load(const char *text, struct split_rule *rule, struct error *err)
{
	struct jvalue *v = jsonio_parse(text, strlen(text), "rule", err);
	int ret = v ? split_rule_load(rule, v, err) : -1;

	jsonio_free(v);
	return ret;
}

static void
json(void)
{
	struct split_rule rule[] = {
	    rule_of(SPLIT_BY_HASH, UINT64_MAX, 0.1, 1.0 / 3),
	    rule_of(SPLIT_BY_COLUMN, 0, 0, 0),
	    rule_of(SPLIT_BY_TIME, 5, 0.25, 0)};

	for (size_t i = 0; i < 3; i++) {
		struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
		struct split_rule back;
		struct error err = ERROR_NONE;
		struct jout j;

		jout_begin(&j, &a, 0);
		split_rule_json(&rule[i], &j);
		CHECK_OK(load(a.buf, &back, &err), err);
		jout_begin(&j, &b, 0);
		split_rule_json(&back, &j);
		CHECK_STR(b.buf, a.buf);
		CHECK_INT(back.holdout_buckets, rule[i].holdout_buckets);
		CHECK_INT(back.test_buckets, rule[i].test_buckets);
		strbuf_release(&a);
		strbuf_release(&b);
	}
}

static void
json_refusals(void)
{
	struct split_rule rule;
	struct error err;

	CHECK_ERROR(load("{\"by\":\"luck\",\"seed\":0,\"holdout\":0,"
			 "\"test\":0}",
			 &rule, &err),
		    err, EXIT_CORRUPT,
		    "\"by\": not hash, column or time: \"luck\"");
	CHECK_ERROR(load("{\"by\":\"hash\",\"seed\":0,\"holdout\":2,"
			 "\"test\":0}",
			 &rule, &err),
		    err, EXIT_CORRUPT,
		    "split: a share is at least 0 and below 1");
	CHECK_ERROR(load("{\"by\":\"hash\",\"seed\":0,\"holdout\":0,"
			 "\"test\":0,\"x\":1}",
			 &rule, &err),
		    err, EXIT_CORRUPT, "unknown key \"x\"");
}

int
main(void)
{
	check_run("the hash of a row never changes", golden);
	check_run("borders between fields are part of the identity", borders);
	check_run("buckets are evenly filled", even);
	check_run("lowest buckets are held out, the next are test", parts);
	check_run("no hold-out is legal", no_holdout);
	check_run("a split column's words decide", by_column);
	check_run("shares that leave no training rows are refused", refusals);
	check_run("a rule survives JSON", json);
	check_run("a rule is checked when loaded", json_refusals);
	return check_done();
}
