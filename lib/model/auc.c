#include "model/auc.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/dd.h"
#include "base/exactsum.h"
#include "base/mem.h"

/* Up to this many rows are sorted by insertion. */
#define FEW 48

/* A row ready for sorting: keys are ordered as the numbers are. */
struct ranked {
	uint64_t score, weight;
};

void
auc_init(struct auc *a)
{
	memset(a, 0, sizeof(*a));
}

void
auc_release(struct auc *a)
{
	for (size_t k = 0; k < 2; k++) {
		free(a->side[k].score);
		free(a->side[k].weight);
	}
	auc_init(a);
}

void
auc_reset(struct auc *a)
{
	for (size_t k = 0; k < 2; k++) {
		struct auc_side *s = &a->side[k];
		free(s->weight);
		s->weight = NULL;
		s->n = 0;
	}
}

/* Makes room for n rows in all, with weights if asked to. */
static void
side_reserve(struct auc_side *s, size_t n, bool weighted)
{
	size_t cap = s->cap;
	mem_grow(&s->score, &s->cap, n, sizeof(*s->score));
	if (s->weight && s->cap != cap)
		s->weight =
		    xreallocarray(s->weight, s->cap, sizeof(*s->weight));
	if (weighted && !s->weight) {
		s->weight = xreallocarray(NULL, s->cap, sizeof(*s->weight));
		for (size_t i = 0; i < s->n; i++)
			s->weight[i] = 1;
	}
}

void
auc_add(struct auc *a, bool positive, double weight, double score)
{
	struct auc_side *s = &a->side[positive];
	if (s->n == s->cap || (weight != 1 && !s->weight))
		side_reserve(s, s->n + 1, weight != 1);
	s->score[s->n] = score;
	if (s->weight)
		s->weight[s->n] = weight;
	s->n++;
}

void
auc_merge(struct auc *into, const struct auc *from)
{
	for (size_t k = 0; k < 2; k++) {
		struct auc_side *s = &into->side[k];
		const struct auc_side *f = &from->side[k];
		if (f->n == 0)
			continue;
		side_reserve(s, s->n + f->n, f->weight != NULL);
		memcpy(s->score + s->n, f->score, f->n * sizeof(*f->score));
		for (size_t i = 0; s->weight && i < f->n; i++)
			s->weight[s->n + i] = f->weight ? f->weight[i] : 1;
		s->n += f->n;
	}
}

#define SIGN_BIT 0x8000000000000000

static uint64_t
key_of(double x)
{
	uint64_t b;
	x += 0.0; /* -0 ties with 0 */
	memcpy(&b, &x, sizeof(b));
	return b & SIGN_BIT ? ~b : b | SIGN_BIT;
}

static bool
comes_before(struct ranked a, struct ranked b)
{
	return a.score < b.score || (a.score == b.score && a.weight < b.weight);
}

static void
sort_few(struct ranked *r, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct ranked x = r[i];
		size_t j = i;
		for (; j > 0 && comes_before(x, r[j - 1]); j--)
			r[j] = r[j - 1];
		r[j] = x;
	}
}

/* Stable radix sort of r by the u64 at byte `offset` of each row, through as
 * much scratch; returns where the result is, r or scratch. */
static struct ranked *
sort_by(struct ranked *r, struct ranked *scratch, size_t n, size_t offset)
{
	size_t count[8][256] = {{0}};
	uint64_t key;
	for (size_t i = 0; i < n; i++) {
		memcpy(&key, (char *)&r[i] + offset, sizeof(key));
		for (size_t d = 0; d < 8; d++)
			count[d][key >> 8 * d & 0xff]++;
	}
	for (size_t d = 0; d < 8; d++) {
		memcpy(&key, (char *)&r[0] + offset, sizeof(key));
		if (count[d][key >> 8 * d & 0xff] == n)
			continue; /* one value for all */
		for (size_t b = 0, at = 0; b < 256; b++) {
			size_t here = count[d][b];
			count[d][b] = at;
			at += here;
		}
		for (size_t i = 0; i < n; i++) {
			memcpy(&key, (char *)&r[i] + offset, sizeof(key));
			scratch[count[d][key >> 8 * d & 0xff]++] = r[i];
		}
		struct ranked *t = r;
		r = scratch;
		scratch = t;
	}
	return r;
}

/* The rows of a side in order, to be freed with *memory; NULL if a score is
 * NaN. */
static struct ranked *
side_ranked(const struct auc_side *s, struct ranked **memory)
{
	struct ranked *r = xreallocarray(NULL, s->n, 2 * sizeof(*r));
	*memory = r;
	for (size_t i = 0; i < s->n; i++) {
		if (isnan(s->score[i]))
			return NULL;
		r[i].score = key_of(s->score[i]);
		r[i].weight = key_of(s->weight ? s->weight[i] : 1);
	}
	if (s->n <= FEW) {
		sort_few(r, s->n);
		return r;
	}
	struct ranked *by_weight = r, *scratch = r + s->n;
	if (s->weight)
		by_weight =
		    sort_by(r, scratch, s->n, offsetof(struct ranked, weight));
	scratch = by_weight == r ? r + s->n : r;
	return sort_by(by_weight, scratch, s->n,
		       offsetof(struct ranked, score));
}

/* A cursor over sorted rows. */
struct run {
	const struct ranked *r, *end;
};

/* The weight of the next rows that score below (or, if equal_too, at) a key,
 * in sorted order. */
static struct dd
run_take(struct run *run, uint64_t score, bool equal_too)
{
	struct dd sum = {0, 0};
	for (; run->r < run->end; run->r++) {
		if (run->r->score > score ||
		    (run->r->score == score && !equal_too))
			break;
		double w;
		uint64_t b = run->r->weight & ~SIGN_BIT;
		memcpy(&w, &b, sizeof(w));
		sum = dd_add(sum, (struct dd){w, 0});
	}
	return sum;
}

/* Twice the weight of pairs won, over twice the weight of all pairs. */
static double
share_won(struct run neg, struct run pos)
{
	struct exactsum won;
	struct dd below = {0, 0}, all_pos = {0, 0};
	exactsum_init(&won);
	while (pos.r < pos.end) {
		uint64_t score = pos.r->score;
		below = dd_add(below, run_take(&neg, score, false));
		struct dd tie = run_take(&neg, score, true);
		struct dd here = run_take(&pos, score, true);
		struct dd twice = dd_add(dd_add(below, below), tie);
		struct dd pairs = dd_mul(here, twice);
		exactsum_add(&won, pairs.hi);
		exactsum_add(&won, pairs.lo);
		below = dd_add(below, tie);
		all_pos = dd_add(all_pos, here);
	}
	struct dd all_neg = dd_add(below, run_take(&neg, UINT64_MAX, true));
	struct dd all = dd_mul(all_pos, all_neg);
	return fmin(exactsum_value(&won) / (2 * all.hi), 1);
}

double
auc_value(const struct auc *a)
{
	const struct auc_side *neg = &a->side[0], *pos = &a->side[1];
	if (neg->n == 0 || pos->n == 0)
		return NAN;
	struct ranked *neg_memory, *pos_memory;
	struct ranked *n = side_ranked(neg, &neg_memory);
	struct ranked *p = side_ranked(pos, &pos_memory);
	double value = NAN;
	if (n && p)
		value = share_won((struct run){n, n + neg->n},
				  (struct run){p, p + pos->n});
	free(neg_memory);
	free(pos_memory);
	return value;
}

/* For each side: u8 weighted, u64 count, the scores, the weights if any. */
void
auc_put(const struct auc *a, struct strbuf *sb)
{
	for (size_t k = 0; k < 2; k++) {
		const struct auc_side *s = &a->side[k];
		put_u8(sb, s->weight != NULL);
		put_u64(sb, s->n);
		put_f64s(sb, s->score, s->n);
		if (s->weight)
			put_f64s(sb, s->weight, s->n);
	}
}

void
auc_get(struct auc *a, struct cursor *c)
{
	for (size_t k = 0; k < 2; k++) {
		struct auc_side *s = &a->side[k];
		uint8_t weighted = get_u8(c);
		size_t n = get_count(c, weighted ? 16 : 8);
		if (weighted > 1)
			c->bad = true;
		if (!cursor_ok(c))
			return;
		side_reserve(s, n, weighted);
		get_f64s(c, s->score, n);
		if (weighted)
			get_f64s(c, s->weight, n);
		s->n = n;
		for (size_t i = 0; weighted && i < n; i++)
			if (!(s->weight[i] > 0))
				c->bad = true;
	}
}
