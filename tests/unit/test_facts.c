#include "data/facts.h"

#include "check.h"
#include "sample.h"

#define NROW 200

static struct schema schema;
static struct sample_row row[NROW];
static struct group_facts facts;
static struct strbuf bytes = STRBUF_INIT;

static void
set_up(void)
{
	sample_schema(&schema);
	sample_rows(row, NROW, 3);
	sample_facts(&facts, &schema, "JFK", row, NROW);
	strbuf_reset(&bytes);
	facts_put(&facts, &schema, &bytes);
}

static void
tear_down(void)
{
	facts_release(&facts);
	schema_release(&schema);
	strbuf_release(&bytes);
}

static void
trip(void)
{
	struct group_facts back;
	struct strbuf again = STRBUF_INIT;
	struct error err = ERROR_NONE;
	size_t n;

	set_up();
	CHECK_OK(facts_get(&back, &schema, bytes.buf, bytes.len, &err), err);
	CHECK_INT(facts_rows(&back), NROW);
	CHECK_INT(back.key_bytes, 7);
	CHECK_BITS(back.time_cutoff, NAN);
	CHECK_BITS(back.feature[SAMPLE_Y].m2, facts.feature[SAMPLE_Y].m2);
	CHECK_INT(back.feature[SAMPLE_CARRIER].nvalue, 6);
	for (uint32_t i = 0; i < 6; i++) {
		const struct feature_facts *f = &back.feature[SAMPLE_CARRIER];
		const char *value = facts_value(f, i, &n);

		CHECK_INT(facts_code(f, hash64(value, n), value, n), i);
		CHECK(f->hash[i] == facts.feature[SAMPLE_CARRIER].hash[i]);
	}
	facts_put(&back, &schema, &again);
	CHECK_INT(again.len, bytes.len);
	CHECK_MEM(again.buf, bytes.buf, bytes.len);
	strbuf_release(&again);
	facts_release(&back);
	tear_down();
}

static void
unseen(void)
{
	const struct feature_facts *f;
	size_t n;

	set_up();
	f = &facts.feature[SAMPLE_CARRIER];
	CHECK_INT(facts_code(f, hash64("7", 1), "7", 1), CODE_UNSEEN);
	CHECK(facts_code(f, hash64("", 0), "", 0) < f->nvalue);
	/* an equal hash does not make an equal value */
	CHECK_INT(facts_code(f, hash64("007", 3), "7", 1), CODE_UNSEEN);
	facts_value(f, f->nvalue, &n);
	CHECK_INT(n, 0);
	tear_down();
}

static void
same_hash(void)
{
	/* three values, two of one hash, ordered by bytes */
	uint64_t hash[] = {5, 9, 9}, end[] = {1, 2, 4};
	struct feature_facts f = {
	    .nvalue = 3, .hash = hash, .value_end = end, .value = "xabc"};

	CHECK_INT(facts_code(&f, 5, "x", 1), 0);
	CHECK_INT(facts_code(&f, 9, "a", 1), 1);
	CHECK_INT(facts_code(&f, 9, "bc", 2), 2);
	CHECK_INT(facts_code(&f, 9, "b", 1), CODE_UNSEEN);
	CHECK_INT(facts_code(&f, 9, "x", 1), CODE_UNSEEN);
}

static void
hashes_only(void)
{
	struct group_facts back;
	struct error err = ERROR_NONE;
	uint64_t hash[] = {3, 7, 900};

	set_up();
	schema.hash_bits = 10;
	for (int f = SAMPLE_CARRIER; f <= SAMPLE_MONTH; f++) {
		facts.feature[f].nvalue = 3;
		facts.feature[f].hash = hash;
		facts.feature[f].value_end = NULL;
		facts.feature[f].value = NULL;
	}
	strbuf_reset(&bytes);
	facts_put(&facts, &schema, &bytes);
	CHECK_OK(facts_get(&back, &schema, bytes.buf, bytes.len, &err), err);
	CHECK_INT(facts_code(&back.feature[SAMPLE_CARRIER], 7, "any", 3), 1);
	CHECK_INT(facts_code(&back.feature[SAMPLE_CARRIER], 8, "any", 3),
		  CODE_UNSEEN);
	facts_release(&back);
	/* the same bytes read as if there were values */
	schema.hash_bits = 0;
	CHECK_ERROR(facts_get(&back, &schema, bytes.buf, bytes.len, &err), err,
		    EXIT_CORRUPT, "facts of a group: damaged");
	tear_down();
}

/* The last code of a limited category is that of all other values. */
static void
others(void)
{
	struct schema_feature feature[SAMPLE_DAY + 1];
	struct feature_facts *c;
	struct group_facts back;
	struct error err = ERROR_NONE;
	const char *value;
	uint32_t last;
	size_t n;

	set_up();
	c = &facts.feature[SAMPLE_CARRIER];
	last = c->nvalue - 1;
	memcpy(feature, schema.feature, sizeof(feature));
	feature[SAMPLE_CARRIER].max_values = last;
	schema.feature = feature;
	value = facts_value(c, last, &n);
	CHECK_INT(facts_code(c, c->hash[last], value, n), last);
	c->other = true;
	strbuf_reset(&bytes);
	facts_put(&facts, &schema, &bytes);
	CHECK_OK(facts_get(&back, &schema, bytes.buf, bytes.len, &err), err);
	c = &back.feature[SAMPLE_CARRIER];
	CHECK(c->other);
	CHECK_INT(c->nvalue, last + 1);
	CHECK_INT(c->count[last], facts.feature[SAMPLE_CARRIER].count[last]);
	CHECK_INT(facts_code(c, hash64("never", 5), "never", 5), last);
	facts_value(c, last, &n);
	CHECK_INT(n, 0);
	value = facts_value(c, 0, &n);
	CHECK_INT(facts_code(c, hash64(value, n), value, n), 0);
	facts_release(&back);
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.buf[i] ^= (char)0xff;
		if (facts_get(&back, &schema, bytes.buf, bytes.len, &err) == 0)
			facts_release(&back);
		bytes.buf[i] ^= (char)0xff;
	}
	tear_down();
}

static void
sparse(void)
{
	static struct schema_feature x = {.name = "x", .kind = FEATURE_SPARSE};
	uint64_t count[] = {2, 0, 1};
	uint32_t index[] = {1, 7, 4000000000u};
	double moment[] = {0.5, 1, 2};
	struct feature_facts f = {.present = 2,
				  .nvalue = 3,
				  .count = count,
				  .index = index,
				  .smean = moment,
				  .sm2 = moment,
				  .smin = moment,
				  .smax = moment};
	struct group_facts g, back;
	struct error err = ERROR_NONE;

	set_up();
	g = facts;
	g.feature = &f;
	schema.input = INPUT_LIBSVM;
	schema.feature = &x;
	schema.nfeature = 1;
	strbuf_reset(&bytes);
	facts_put(&g, &schema, &bytes);
	CHECK_OK(facts_get(&back, &schema, bytes.buf, bytes.len, &err), err);
	CHECK_INT(facts_sparse_code(&back.feature[0], 1), 0);
	CHECK_INT(facts_sparse_code(&back.feature[0], 4000000000u), 2);
	CHECK_INT(facts_sparse_code(&back.feature[0], 8), CODE_UNSEEN);
	CHECK_BITS(back.feature[0].smax[2], 2);
	facts_release(&back);
	index[1] = 1; /* not ascending */
	strbuf_reset(&bytes);
	facts_put(&g, &schema, &bytes);
	CHECK_INT(facts_get(&back, &schema, bytes.buf, bytes.len, &err), -1);
	tear_down();
}

static void
refused(void)
{
	struct group_facts back;
	struct error err = ERROR_NONE;

	strbuf_reset(&bytes);
	facts_put(&facts, &schema, &bytes);
	CHECK_ERROR(facts_get(&back, &schema, bytes.buf, bytes.len, &err), err,
		    EXIT_CORRUPT, "facts of a group: damaged");
	CHECK(back.arena.chunk == NULL);
}

static void
contradictions(void)
{
	struct feature_facts *f;
	uint64_t hold;

	set_up();
	facts.all_train = true;
	refused();
	facts.all_train = false;
	facts.weight_sum = NAN;
	refused();
	facts.weight_sum = 1;
	facts.class_rows[0] += 1000;
	refused();
	facts.class_rows[0] -= 1000;
	f = &facts.feature[SAMPLE_X];
	f->present = UINT64_MAX;
	refused();
	f->present = 1;
	f->m2 = -1;
	refused();
	f->m2 = 0;
	f->min = f->max + 1;
	refused();
	f->min = f->max;
	f = &facts.feature[SAMPLE_CARRIER];
	hold = f->count[2];
	f->count[2] = 1000;
	refused();
	f->count[2] = hold;
	f->value_end[0] += 1; /* values move, so hashes lose their order */
	refused();
	f->value_end[0] -= 1;
	facts.key_bytes--;
	refused();
	tear_down();
}

static void
damage(void)
{
	struct group_facts back;
	struct error err;

	set_up();
	for (size_t n = 0; n < bytes.len; n++) {
		/* a copy of its own, so that reading on would be seen */
		void *cut = xmemdup(bytes.buf, n);

		err = ERROR_NONE;
		CHECK_INT(facts_get(&back, &schema, cut, n, &err), -1);
		CHECK_INT(err.code, EXIT_CORRUPT);
		free(cut);
	}
	strbuf_addch(&bytes, 0);
	CHECK_INT(facts_get(&back, &schema, bytes.buf, bytes.len, &err), -1);
	strbuf_truncate(&bytes, bytes.len - 1);
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.buf[i] ^= (char)0xff;
		if (facts_get(&back, &schema, bytes.buf, bytes.len, &err) == 0)
			facts_release(&back);
		bytes.buf[i] ^= (char)0xff;
	}
	bytes.buf[0] = 2;
	CHECK_ERROR(facts_get(&back, &schema, bytes.buf, bytes.len, &err), err,
		    EXIT_CORRUPT, "facts of a group: version 2, not 1");
	tear_down();
}

static void
huge_count(void)
{
	struct group_facts back;
	struct error err;
	size_t at;

	set_up();
	/* the dictionary of the last category has 3 values: its count is the
	 * last 3 in a u64 before it */
	for (at = bytes.len - 8; bytes.buf[at] != 3 || bytes.buf[at + 1]; at--)
		;
	memset(bytes.buf + at, 0xff, 7);
	CHECK_INT(facts_get(&back, &schema, bytes.buf, bytes.len, &err), -1);
	tear_down();
}

int
main(void)
{
	check_run("facts survive their bytes", trip);
	check_run("a value not in the dictionary has no code", unseen);
	check_run("values of one hash are told apart by bytes", same_hash);
	check_run("under hash bits a hash is the value", hashes_only);
	check_run("under limits there is a code for all other values", others);
	check_run("a sparse dictionary is found by index", sparse);
	check_run("facts that contradict themselves are refused",
		  contradictions);
	check_run("cut or altered facts are never read past", damage);
	check_run("a huge count allocates nothing", huge_count);
	return check_done();
}
