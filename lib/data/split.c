#include "data/split.h"

#include <math.h>
#include <string.h>

static const char *const by_word[] = {"hash", "column", "time"};

static bool
is_share(double x)
{
	return x >= 0 && x < 1; /* NaN is none */
}

static uint32_t
buckets_of(double share)
{
	return (uint32_t)floor(SPLIT_BUCKETS * share + 0.5);
}

int
split_rule_init(struct split_rule *rule, enum split_by by, uint64_t seed,
		double holdout, double test, struct error *err)
{
	*rule = (struct split_rule){.by = by, .seed = seed};
	if (!is_share(holdout) || !is_share(test))
		return error_set(err, EXIT_USAGE,
				 "split: a share is at least 0 and below 1");
	if (by == SPLIT_BY_COLUMN)
		return 0; /* the column says it all */
	rule->holdout = holdout;
	if (by == SPLIT_BY_TIME) {
		if (test > 0)
			return error_set(err, EXIT_USAGE,
					 "split: no test share when the time "
					 "decides");
		return 0;
	}
	rule->test = test;
	rule->holdout_buckets = buckets_of(holdout);
	rule->test_buckets = buckets_of(test);
	if (rule->holdout_buckets + rule->test_buckets >= SPLIT_BUCKETS)
		return error_set(err, EXIT_USAGE,
				 "split: hold-out and test shares leave "
				 "nothing to train on");
	return 0;
}

void
split_identity_begin(struct split_identity *id, const struct split_rule *rule)
{
	id->h = hash64_seeded("", 0, rule->seed);
}

int
split_byte_of_word(const char *p, size_t n, uint8_t bucket)
{
	if (n == 5 && memcmp(p, "train", 5) == 0)
		return bucket;
	if (n == 7 && memcmp(p, "holdout", 7) == 0)
		return SPLIT_HOLDOUT;
	if (n == 4 && memcmp(p, "test", 4) == 0)
		return SPLIT_TEST;
	return -1;
}

void
split_rule_json(const struct split_rule *rule, struct jout *j)
{
	jout_object(j);
	jout_key(j, "by");
	jout_cstr(j, by_word[rule->by]);
	jout_key(j, "seed");
	jout_hex(j, rule->seed);
	jout_key(j, "holdout");
	jout_real(j, rule->holdout);
	jout_key(j, "test");
	jout_real(j, rule->test);
	jout_end_object(j);
}

static int
load_by(const struct jvalue *v, enum split_by *by, struct error *err)
{
	const char *word;
	size_t n;

	if (jsonio_get_string(v, "by", &word, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(by_word) / sizeof(*by_word); i++)
		if (strcmp(word, by_word[i]) == 0) {
			*by = (enum split_by)i;
			return 0;
		}
	return error_set(err, EXIT_CORRUPT,
			 "\"by\": not hash, column or time: \"%s\"", word);
}

int
split_rule_load(struct split_rule *rule, const struct jvalue *v,
		struct error *err)
{
	static const char *const known[] = {"by", "seed", "holdout", "test",
					    NULL};
	enum split_by by = SPLIT_BY_HASH;
	uint64_t seed;
	double holdout, test;

	if (jsonio_check_keys(v, known, err) < 0 || load_by(v, &by, err) < 0 ||
	    jsonio_get_u64(v, "seed", &seed, err) < 0 ||
	    jsonio_get_real(v, "holdout", &holdout, err) < 0 ||
	    jsonio_get_real(v, "test", &test, err) < 0)
		return -1;
	if (split_rule_init(rule, by, seed, holdout, test, err) < 0) {
		err->code = EXIT_CORRUPT;
		return -1;
	}
	return 0;
}
