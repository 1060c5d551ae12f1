#include "data/vocabulary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/utf8.h"
#include "data/facts.h"
#include "data/featurename.h"

/* --- options --- */

struct setting {
	struct schema *s;
	const char *option;
	const char *file;
	int64_t least, most;
	void (*set)(struct schema *s, struct schema_feature *f, uint32_t n);
	struct error *err;
};

/* f NULL: all categories. */
static void
set_bits(struct schema *s, struct schema_feature *f, uint32_t n)
{
	if (f) {
		f->own_bits = true;
		f->hash_bits = n;
	} else {
		s->hash_bits = n;
	}
}

static void
set_max(struct schema *s, struct schema_feature *f, uint32_t n)
{
	for (size_t i = 0; !f && i < s->nfeature; i++)
		if (s->feature[i].kind == FEATURE_CATEGORY)
			s->feature[i].max_values = n;
	if (f)
		f->max_values = n;
}

static void
set_min(struct schema *s, struct schema_feature *f, uint32_t n)
{
	for (size_t i = 0; !f && i < s->nfeature; i++)
		if (s->feature[i].kind == FEATURE_CATEGORY)
			s->feature[i].min_count = n;
	if (f)
		f->min_count = n;
}

static int
read_number(const struct setting *t, const char *text, uint32_t *n)
{
	char shown[UTF8_QUOTE_SIZE];
	int64_t v;

	if (opt_parse_int(text, &v) < 0 || v < t->least || v > t->most)
		return error_set(t->err, EXIT_USAGE,
				 "%s: not a whole number from %lld to %lld: "
				 "\"%s\"",
				 t->option, (long long)t->least,
				 (long long)t->most,
				 utf8_quote(text, strlen(text), shown));
	*n = (uint32_t)v;
	return 0;
}

/* The items for all categories, or those that name one. */
static int
set_some(const struct setting *t, const struct opt_list *items, bool named)
{
	const struct featurename in = {t->s, t->option, t->file, t->s->nfeature,
				       t->err};

	for (size_t i = 0; i < items->n; i++) {
		const char *item = items->item[i];
		const char *equals = strrchr(item, '=');
		uint32_t n;
		int at;

		if (named != (equals != NULL))
			continue;
		if (!named) {
			if (read_number(t, item, &n) < 0)
				return -1;
			t->set(t->s, NULL, n);
			continue;
		}
		at = featurename_category(&in, item, (size_t)(equals - item));
		if (at < 0 || read_number(t, equals + 1, &n) < 0)
			return -1;
		t->set(t->s, &t->s->feature[at], n);
	}
	return 0;
}

int
vocabulary_set(struct schema *s, const struct vocabulary_options *o,
	       const char *file, struct error *err)
{
	const struct {
		struct setting t;
		const struct opt_list *items;
	} all[] = {
	    {{s, "--hash-bits", file, 0, 64, set_bits, err}, o->hash_bits},
	    {{s, "--max-values", file, 0, CODE_LIMIT - 1, set_max, err},
	     o->max_values},
	    {{s, "--min-count", file, 0, CODE_LIMIT - 1, set_min, err},
	     o->min_count},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (set_some(&all[i].t, all[i].items, false) < 0 ||
		    set_some(&all[i].t, all[i].items, true) < 0)
			return -1;
	return 0;
}

/* --- values --- */

struct ranked {
	uint64_t count;
	uint32_t code;
};

static int
compare_ranked(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->code < b->code ? -1 : a->code > b->code;
}

uint32_t
vocabulary_keep(const struct schema_feature *f, const uint64_t *count,
		uint32_t n, uint32_t *to)
{
	struct ranked *rank = xcalloc(n + 1, sizeof(*rank));
	uint64_t least = f->min_count ? f->min_count : 1;
	uint32_t candidates = 0, kept, code = 0;
	const uint32_t out = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++)
		if (count[i] >= least)
			rank[candidates++] = (struct ranked){count[i], i};
	kept = candidates;
	if (f->max_values && f->max_values < candidates) {
		kept = f->max_values;
		qsort(rank, candidates, sizeof(*rank), compare_ranked);
	}
	for (uint32_t i = 0; i < n; i++)
		to[i] = out;
	for (uint32_t k = 0; k < kept; k++)
		to[rank[k].code] = 0;
	for (uint32_t i = 0; i < n; i++)
		to[i] = to[i] == out ? kept : code++;
	free(rank);
	return kept;
}

double
vocabulary_expected(uint64_t n, uint32_t bits)
{
	double m = ldexp(1, (int)bits);

	return -m * expm1((double)n * log1p(-1 / m));
}
