#include "data/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "data/groupkey.h"
#include "data/narrow.h"

#define FACTS_VERSION 1

void
facts_release(struct group_facts *f)
{
	arena_release(&f->arena);
	*f = (struct group_facts){0};
}

const char *
facts_value(const struct feature_facts *f, uint32_t code, size_t *n)
{
	uint64_t start, end;

	if (!f->value_end || code >= f->nvalue) {
		*n = 0;
		return "";
	}
	start = code ? f->value_end[code - 1] : 0;
	end = f->value_end[code];
	*n = (size_t)(end - start);
	return f->value + start;
}

static int
compare_bytes(const char *a, size_t na, const char *b, size_t nb)
{
	size_t n = na < nb ? na : nb;
	int order = n ? memcmp(a, b, n) : 0;

	return order ? order : (na > nb) - (na < nb);
}

/* Order of dictionary entry `code` against a value. */
static int
compare_entry(const struct feature_facts *f, uint32_t code, uint64_t hash,
	      const char *p, size_t n)
{
	const char *value;
	size_t len;

	if (f->hash[code] != hash)
		return f->hash[code] < hash ? -1 : 1;
	if (!f->value_end)
		return 0;
	value = facts_value(f, code, &len);
	return compare_bytes(value, len, p, n);
}

uint32_t
facts_code(const struct feature_facts *f, uint64_t hash, const char *p,
	   size_t n)
{
	uint32_t low = 0, high = f->nvalue - f->other;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int order = compare_entry(f, mid, hash, p, n);

		if (order == 0)
			return mid;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return f->other ? f->nvalue - 1 : CODE_UNSEEN;
}

uint32_t
facts_sparse_code(const struct feature_facts *f, uint32_t index)
{
	uint32_t low = 0, high = f->nvalue;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (f->index[mid] == index)
			return mid;
		if (f->index[mid] < index)
			low = mid + 1;
		else
			high = mid;
	}
	return CODE_UNSEEN;
}

/* --- writing --- */

/* How the dictionary of feature i is stored. */
struct storing {
	bool hashed, limited;
};

static struct storing
storing_of(const struct schema *s, size_t i)
{
	return (struct storing){schema_hash_bits(s, i) != 0,
				schema_is_limited(&s->feature[i])};
}

static void
put_category(struct strbuf *sb, const struct feature_facts *f,
	     struct storing how)
{
	uint32_t n = f->nvalue - f->other;
	uint64_t *length, bytes = 0;

	put_u64(sb, f->nvalue);
	if (how.limited)
		put_u8(sb, f->other);
	narrow_put(sb, f->count, f->nvalue);
	if (how.hashed) {
		put_u64s(sb, f->hash, n);
		return;
	}
	length = xmalloc(n * sizeof(*length));
	for (uint32_t i = 0; i < n; i++) {
		length[i] = f->value_end[i] - bytes;
		bytes = f->value_end[i];
	}
	narrow_put(sb, length, n);
	strbuf_add(sb, f->value, (size_t)bytes);
	free(length);
}

static void
put_feature(struct strbuf *sb, const struct feature_facts *f,
	    enum feature_kind kind, struct storing how)
{
	put_u8(sb, (uint8_t)kind);
	put_u64(sb, f->present);
	put_u64(sb, f->missing);
	switch (kind) {
	case FEATURE_F32:
	case FEATURE_F64:
		put_f64(sb, f->mean);
		put_f64(sb, f->m2);
		put_f64(sb, f->min);
		put_f64(sb, f->max);
		break;
	case FEATURE_CATEGORY:
		put_category(sb, f, how);
		break;
	case FEATURE_SPARSE:
		put_u64(sb, f->nvalue);
		narrow_put(sb, f->count, f->nvalue);
		put_u32s(sb, f->index, f->nvalue);
		put_f64s(sb, f->smean, f->nvalue);
		put_f64s(sb, f->sm2, f->nvalue);
		put_f64s(sb, f->smin, f->nvalue);
		put_f64s(sb, f->smax, f->nvalue);
		break;
	}
}

void
facts_put(const struct group_facts *f, const struct schema *s,
	  struct strbuf *sb)
{
	put_u8(sb, FACTS_VERSION);
	put_u32(sb, f->ordinal);
	put_bytes(sb, f->key, f->key_bytes);
	put_u64s(sb, f->rows, PART_COUNT);
	put_u8(sb, f->all_train);
	put_f64(sb, f->time_cutoff);
	put_f64(sb, f->weight_sum);
	put_f64(sb, f->weight_max);
	put_f64(sb, f->label_max_abs);
	put_f64(sb, f->label_sum);
	put_u64s(sb, f->class_rows, s->nclass);
	put_f64s(sb, f->class_weight, s->nclass);
	for (size_t i = 0; i < s->nfeature; i++)
		put_feature(sb, &f->feature[i], s->feature[i].kind,
			    storing_of(s, i));
}

/* --- reading --- */

/* A dictionary is ascending and holds no value twice. */
static bool
is_ascending(const struct feature_facts *f)
{
	for (uint32_t i = 1; i < f->nvalue - f->other; i++) {
		size_t n;
		const char *value = facts_value(f, i, &n);

		if (compare_entry(f, i - 1, f->hash[i], value, n) >= 0)
			return false;
	}
	return true;
}

/* Lengths to ends, bytes copied, hashes taken. */
static bool
get_values(struct cursor *c, struct arena *a, struct feature_facts *f)
{
	uint32_t nvalue = f->nvalue - f->other;
	uint64_t end = 0;
	const char *bytes;

	f->value_end = arena_alloc(a, f->nvalue * sizeof(*f->value_end));
	narrow_get(c, f->value_end, nvalue);
	for (uint32_t i = 0; i < nvalue; i++) {
		if (f->value_end[i] > cursor_left(c) - end)
			return false;
		end += f->value_end[i];
		f->value_end[i] = end;
	}
	bytes = get_raw(c, (size_t)end);
	if (!bytes)
		return false;
	if (f->other)
		f->value_end[nvalue] = end;
	f->value = arena_memdup(a, bytes, (size_t)end);
	for (uint32_t i = 0; i < nvalue; i++) {
		size_t n;
		const char *value = facts_value(f, i, &n);

		f->hash[i] = hash64(value, n);
	}
	return true;
}

static bool
get_category(struct cursor *c, struct arena *a, struct feature_facts *f,
	     struct storing how)
{
	uint8_t other = how.limited ? get_u8(c) : 0;

	if (other > 1 || other > f->nvalue)
		return false;
	f->other = other != 0;
	f->count = arena_alloc(a, f->nvalue * sizeof(*f->count));
	f->hash = arena_alloc(a, f->nvalue * sizeof(*f->hash));
	narrow_get(c, f->count, f->nvalue);
	if (f->other)
		f->hash[f->nvalue - 1] = UINT64_MAX;
	if (how.hashed)
		get_u64s(c, f->hash, f->nvalue - f->other);
	else if (!get_values(c, a, f))
		return false;
	return cursor_ok(c) && is_ascending(f);
}

static bool
get_sparse(struct cursor *c, struct arena *a, struct feature_facts *f)
{
	double **moment[] = {&f->smean, &f->sm2, &f->smin, &f->smax};

	f->count = arena_alloc(a, f->nvalue * sizeof(*f->count));
	f->index = arena_alloc(a, f->nvalue * sizeof(*f->index));
	narrow_get(c, f->count, f->nvalue);
	get_u32s(c, f->index, f->nvalue);
	for (size_t m = 0; m < 4; m++) {
		*moment[m] = arena_alloc(a, f->nvalue * sizeof(double));
		get_f64s(c, *moment[m], f->nvalue);
		for (uint32_t i = 0; i < f->nvalue; i++)
			if (!isfinite((*moment[m])[i]))
				return false;
	}
	for (uint32_t i = 1; i < f->nvalue; i++)
		if (f->index[i - 1] >= f->index[i])
			return false;
	return cursor_ok(c);
}

static bool
get_numeric(struct cursor *c, struct feature_facts *f)
{
	f->mean = get_f64(c);
	f->m2 = get_f64(c);
	f->min = get_f64(c);
	f->max = get_f64(c);
	return cursor_ok(c) && isfinite(f->mean) && f->m2 >= 0 &&
	       isfinite(f->m2) && isfinite(f->min) && isfinite(f->max) &&
	       f->min <= f->max;
}

static bool
get_feature(struct cursor *c, struct group_facts *g, size_t i,
	    const struct schema *s)
{
	struct feature_facts *f = &g->feature[i];
	enum feature_kind kind = s->feature[i].kind;
	uint64_t train = g->rows[PART_TRAIN];

	if (get_u8(c) != kind)
		return false;
	f->present = get_u64(c);
	f->missing = get_u64(c);
	if (f->present > train || f->missing > train - f->present)
		return false;
	if (kind == FEATURE_F32 || kind == FEATURE_F64)
		return get_numeric(c, f);
	/* Each entry takes a count and a length, hash or moments, but that of
	 * others has a count only. */
	size_t n = get_count(c, kind == FEATURE_SPARSE		    ? 37
				: schema_is_limited(&s->feature[i]) ? 1
								    : 2);

	if (n > CODE_LIMIT)
		return false;
	f->nvalue = (uint32_t)n;
	if (kind == FEATURE_SPARSE
		? !get_sparse(c, &g->arena, f)
		: !get_category(c, &g->arena, f, storing_of(s, i)))
		return false;
	for (size_t v = 0; v < n; v++)
		if (f->count[v] > train)
			return false;
	return true;
}

static bool
is_amount(double x)
{
	return x >= 0 && isfinite(x);
}

static bool
get_rows(struct cursor *c, struct group_facts *f)
{
	uint8_t all_train;

	get_u64s(c, f->rows, PART_COUNT);
	for (int p = 0; p < PART_COUNT; p++)
		if (f->rows[p] > UINT64_MAX / 8)
			return false;
	all_train = get_u8(c);
	f->all_train = all_train != 0;
	if (all_train > 1 ||
	    (f->all_train && f->rows[PART_TRAIN] != facts_rows(f)))
		return false;
	f->time_cutoff = get_f64(c);
	f->weight_sum = get_f64(c);
	f->weight_max = get_f64(c);
	f->label_max_abs = get_f64(c);
	f->label_sum = get_f64(c);
	return !isinf(f->time_cutoff) && is_amount(f->weight_sum) &&
	       is_amount(f->weight_max) && is_amount(f->label_max_abs) &&
	       isfinite(f->label_sum);
}

static bool
get_classes(struct cursor *c, struct group_facts *f, size_t nclass)
{
	uint64_t sum = 0;

	if (nclass > cursor_left(c) / 16)
		return false;
	f->class_rows = arena_alloc(&f->arena, nclass * sizeof(uint64_t));
	f->class_weight = arena_alloc(&f->arena, nclass * sizeof(double));
	get_u64s(c, f->class_rows, nclass);
	get_f64s(c, f->class_weight, nclass);
	for (size_t i = 0; i < nclass; i++) {
		if (f->class_rows[i] > f->rows[PART_TRAIN] - sum ||
		    !is_amount(f->class_weight[i]))
			return false;
		sum += f->class_rows[i];
	}
	return true;
}

static bool
get_all(struct cursor *c, struct group_facts *f, const struct schema *s)
{
	const void *key;

	f->ordinal = get_u32(c);
	key = get_bytes(c, &f->key_bytes);
	if (!key || groupkey_check(key, f->key_bytes, schema_key_fields(s)) < 0)
		return false;
	f->key = arena_memdup(&f->arena, key, f->key_bytes);
	if (!get_rows(c, f) || !get_classes(c, f, s->nclass))
		return false;
	f->feature = arena_calloc(&f->arena, s->nfeature, sizeof(*f->feature));
	for (size_t i = 0; i < s->nfeature; i++)
		if (!get_feature(c, f, i, s))
			return false;
	return cursor_done(c);
}

int
facts_get(struct group_facts *f, const struct schema *s, const void *p,
	  size_t n, struct error *err)
{
	struct cursor c = cursor_of(p, n);
	uint8_t version = get_u8(&c);

	*f = (struct group_facts){0};
	if (cursor_ok(&c) && version != FACTS_VERSION)
		return error_set(err, EXIT_CORRUPT,
				 "facts of a group: version %u, not %u",
				 version, FACTS_VERSION);
	if (get_all(&c, f, s))
		return 0;
	facts_release(f);
	return error_set(err, EXIT_CORRUPT, "facts of a group: damaged");
}
