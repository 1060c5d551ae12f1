#include "model/glm_coefficients.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* Name and value of slot j, and its weight on the raw scale.  A missing
 * numeric is seen as its mean: on the raw scale that is the indicator's. */
static struct coefficient
describe(const struct view *v, const double *w, uint32_t j, struct arena *a)
{
	struct view_slot of = v->of[j];
	const struct view_feature *vf = &v->feature[of.feature];
	const struct feature_facts *f = &v->facts->feature[of.feature];
	struct coefficient c = {.name = v->schema->feature[of.feature].name,
				.weight = w[j]};
	enum feature_kind kind = v->schema->feature[of.feature].kind;
	char text[32];

	if (kind == FEATURE_SPARSE) {
		snprintf(text, sizeof text, "%u", f->index[of.code]);
		c.name = arena_memdup(a, text, strlen(text));
		c.weight *= vf->sscale[of.code];
	} else if (of.code == CODE_MISSING) {
		c.missing = true;
		if (kind != FEATURE_CATEGORY)
			c.weight += w[vf->first] * vf->scale * vf->impute;
	} else if (kind != FEATURE_CATEGORY) {
		c.weight *= vf->scale;
	} else if (f->other && of.code == f->nvalue - 1) {
		c.other = true;
	} else if (schema_hash_bits(v->schema, of.feature) > 0) {
		snprintf(text, sizeof text, "#%llx",
			 (unsigned long long)f->hash[of.code]);
		c.value = arena_memdup(a, text, strlen(text));
		c.value_bytes = strlen(text);
	} else {
		c.value = facts_value(f, of.code, &c.value_bytes);
	}
	return c;
}

struct sorted {
	struct coefficient c;
	uint32_t slot;
};

static int
compare_sorted(const void *pa, const void *pb)
{
	const struct sorted *a = pa, *b = pb;
	double x = fabs(a->c.weight), y = fabs(b->c.weight);

	if (x != y)
		return x > y ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

struct coefficient *
glm_coefficients(const struct view *v, const double *w, struct arena *a,
		 size_t *n)
{
	struct sorted *s = xcalloc(v->d, sizeof *s);
	double intercept = w[glm_view_intercept(v)];
	struct coefficient *out;
	size_t first;

	for (uint32_t j = 0; j < v->d; j++)
		s[j] = (struct sorted){describe(v, w, j, a), j};
	for (uint32_t k = 0; k < v->nnum; k++) {
		const struct view_feature *vf =
		    &v->feature[v->of[v->num[k]].feature];

		intercept -= w[v->num[k]] * vf->mean * vf->scale;
	}
	qsort(s, v->d, sizeof *s, compare_sorted);
	/* Centring makes one on the raw scale even where the model has none. */
	first = v->intercept || intercept != 0;
	*n = v->d + first;
	out = arena_calloc(a, *n, sizeof *out);
	if (first)
		out[0] = (struct coefficient){.name = "(intercept)",
					      .weight = intercept};
	for (uint32_t j = 0; j < v->d; j++)
		out[first + j] = s[j].c;
	free(s);
	return out;
}
