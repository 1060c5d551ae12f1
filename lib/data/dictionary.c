#include "data/dictionary.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "data/vocabulary.h"

void
dictionary_init(struct dictionary *d, const struct intern *values,
		const struct schema *s, size_t i)
{
	size_t n = values->nentry + 1;

	*d = (struct dictionary){.values = values, .round = 1};
	d->feature = &s->feature[i];
	d->hash_bits = schema_hash_bits(s, i);
	d->hash_mask = schema_hash_mask(s, i);
	d->slot = xcalloc(n, sizeof(*d->slot));
}

void
dictionary_release(struct dictionary *d)
{
	free(d->slot);
	free(d->rare_local);
	free(d->value);
	free(d->code);
	intern_release(&d->rare);
	*d = (struct dictionary){0};
}

void
dictionary_reset(struct dictionary *d)
{
	d->nvalue = 0;
	intern_reset(&d->rare);
	if (++d->round)
		return;
	memset(d->slot, 0, (d->values->nentry + 1) * sizeof(*d->slot));
	d->round = 1;
}

static uint32_t
add_value(struct dictionary *d, const struct intern_entry *e)
{
	uint32_t local = (uint32_t)d->nvalue;

	mem_grow(&d->value, &d->cap, d->nvalue + 1, sizeof(*d->value));
	d->value[d->nvalue++] = (struct dictionary_value){
	    .hash = e->hash & d->hash_mask,
	    .p = e->p,
	    .n = e->n,
	    .local = local,
	};
	return local;
}

uint32_t
dictionary_new_local(struct dictionary *d, uint32_t number)
{
	uint32_t local = add_value(d, &d->values->entry[number]);

	d->slot[number] = (struct dictionary_slot){d->round, local};
	return local;
}

uint32_t
dictionary_local_bytes(struct dictionary *d, const char *p, size_t n)
{
	size_t before = d->rare.nentry;
	uint32_t id = intern_add(&d->rare, p, n, hash64(p, n));

	if (d->rare.nentry == before)
		return d->rare_local[id];
	mem_grow(&d->rare_local, &d->rare_cap, d->rare.nentry,
		 sizeof(*d->rare_local));
	d->rare_local[id] = add_value(d, &d->rare.entry[id]);
	return d->rare_local[id];
}

static int
compare_values(const void *a, const void *b)
{
	const struct dictionary_value *x = a, *y = b;
	size_t n = x->n < y->n ? x->n : y->n;
	int c;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	c = n ? memcmp(x->p, y->p, n) : 0;
	return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* Gives codes in order; under hash_bits equal hashes get one code. */
static uint32_t
give_codes(struct dictionary *d, uint64_t *collided)
{
	bool hashed = d->hash_bits > 0;
	uint32_t ncode = 0;
	bool shared = false;

	for (size_t i = 0; i < d->nvalue; i++) {
		bool same =
		    hashed && i > 0 && d->value[i].hash == d->value[i - 1].hash;

		if (same)
			*collided += shared ? 1 : 2;
		else
			ncode++;
		shared = same;
		d->code[d->value[i].local] = ncode - 1;
	}
	return ncode;
}

/* Gives codes anew to ncode values or hashes, of which not all may stay; how
 * many do. */
static uint32_t
limit_codes(struct dictionary *d, uint32_t ncode)
{
	uint64_t *count;
	uint32_t *to, kept;

	if (!schema_is_limited(d->feature))
		return ncode;
	count = xcalloc(ncode + 1, sizeof(*count));
	to = xcalloc(ncode + 1, sizeof(*to));
	for (size_t i = 0; i < d->nvalue; i++)
		count[d->code[d->value[i].local]] += d->value[i].count;
	kept = vocabulary_keep(d->feature, count, ncode, to);
	for (size_t i = 0; i < d->nvalue; i++)
		d->code[i] = to[d->code[i]];
	free(count);
	free(to);
	return kept;
}

/* The values of the first `kept` codes, one each. */
static void
put_values(const struct dictionary *d, uint32_t kept, struct feature_facts *f,
	   struct arena *a)
{
	uint64_t end = 0;
	char *value;

	for (size_t i = 0; i < d->nvalue; i++)
		if (d->code[d->value[i].local] < kept)
			end += d->value[i].n;
	f->value_end = arena_alloc(a, f->nvalue * sizeof(*f->value_end));
	f->value = value = arena_alloc(a, (size_t)end + 1);
	end = 0;
	for (size_t i = 0; i < d->nvalue; i++) {
		const struct dictionary_value *v = &d->value[i];
		uint32_t code = d->code[v->local];

		if (code >= kept)
			continue;
		if (v->n)
			memcpy(value + end, v->p, v->n);
		end += v->n;
		f->value_end[code] = end;
	}
	if (f->other)
		f->value_end[kept] = end;
	value[end] = '\0';
}

static void
add_to_tally(const struct dictionary *d, const struct feature_facts *f,
	     uint32_t ncode, struct value_tally *t)
{
	uint32_t kept = f->nvalue - f->other;

	t->values += d->nvalue;
	t->kept += kept;
	for (uint32_t i = 0; i < f->nvalue; i++)
		t->rows += f->count[i];
	t->other_rows += f->other ? f->count[kept] : 0;
	if (d->hash_bits == 0)
		return;
	t->buckets += ncode;
	t->expected +=
	    (uint64_t)(vocabulary_expected(d->nvalue, d->hash_bits) * 1024 +
		       0.5);
}

void
dictionary_finish(struct dictionary *d, struct feature_facts *f,
		  struct arena *a, struct value_tally *t)
{
	uint32_t ncode, kept;

	if (d->nvalue > 1)
		qsort(d->value, d->nvalue, sizeof(*d->value), compare_values);
	mem_grow(&d->code, &d->code_cap, d->nvalue + 1, sizeof(*d->code));
	ncode = give_codes(d, &t->collided);
	kept = limit_codes(d, ncode);
	f->other = kept < ncode;
	f->nvalue = kept + f->other;
	f->count = arena_calloc(a, f->nvalue, sizeof(*f->count));
	f->hash = arena_calloc(a, f->nvalue, sizeof(*f->hash));
	for (size_t i = 0; i < d->nvalue; i++) {
		uint32_t code = d->code[d->value[i].local];

		f->count[code] += d->value[i].count;
		f->hash[code] = d->value[i].hash;
	}
	if (f->other)
		f->hash[kept] = UINT64_MAX;
	if (d->hash_bits == 0)
		put_values(d, kept, f, a);
	add_to_tally(d, f, ncode, t);
}

/* --- sparse --- */

void
sparse_release(struct sparse_dictionary *d)
{
	free(d->slot);
	free(d->value);
	*d = (struct sparse_dictionary){0};
}

void
sparse_reset(struct sparse_dictionary *d)
{
	d->nvalue = 0;
	if (++d->round)
		return;
	memset(d->slot, 0, d->nslot * sizeof(*d->slot));
	d->round = 1;
}

/* The slot of an index, or the free one where it would go. */
static struct sparse_slot *
sparse_probe(const struct sparse_dictionary *d, uint32_t index)
{
	size_t mask = d->nslot - 1;
	size_t i = (size_t)(index * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;

	while (d->slot[i].round == d->round && d->slot[i].index != index)
		i = (i + 1) & mask;
	return &d->slot[i];
}

static void
sparse_grow(struct sparse_dictionary *d)
{
	free(d->slot);
	d->nslot = d->nslot ? d->nslot * 2 : 256;
	d->slot = xcalloc(d->nslot, sizeof(*d->slot));
	for (size_t i = 0; i < d->nvalue; i++)
		*sparse_probe(d, d->value[i].index) = (struct sparse_slot){
		    d->value[i].index, d->round, (uint32_t)i};
}

static struct sparse_value *
sparse_find(struct sparse_dictionary *d, uint32_t index)
{
	struct sparse_slot *slot;

	if ((d->nvalue + 1) * 2 > d->nslot)
		sparse_grow(d);
	slot = sparse_probe(d, index);
	if (slot->round != d->round) {
		*slot =
		    (struct sparse_slot){index, d->round, (uint32_t)d->nvalue};
		mem_grow(&d->value, &d->cap, d->nvalue + 1, sizeof(*d->value));
		d->value[d->nvalue++] = (struct sparse_value){.index = index};
	}
	return &d->value[slot->local];
}

void
sparse_add(struct sparse_dictionary *d, uint32_t index, double v, bool train)
{
	struct sparse_value *e = sparse_find(d, index);
	double delta = v - e->mean;

	if (!train)
		return;
	if (e->count == 0 || v < e->min)
		e->min = v;
	if (e->count == 0 || v > e->max)
		e->max = v;
	e->count++;
	e->mean += delta / (double)e->count;
	e->m2 += delta * (v - e->mean);
}

static int
compare_sparse(const void *a, const void *b)
{
	const struct sparse_value *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* Adds (rows - count) zeros to the moments of the entries (Chan, Golub and
 * LeVeque 1979). */
static void
add_zeros(struct sparse_value *e, uint64_t rows)
{
	double n = (double)rows, have = (double)e->count;
	double mean = e->mean;

	if (e->count == rows)
		return;
	e->mean = mean * (have / n);
	e->m2 += mean * mean * (have * ((n - have) / n));
	if (e->count == 0 || e->min > 0)
		e->min = 0;
	if (e->count == 0 || e->max < 0)
		e->max = 0;
}

void
sparse_finish(struct sparse_dictionary *d, struct feature_facts *f,
	      uint64_t train_rows, struct arena *a)
{
	size_t n = d->nvalue;

	if (n > 1)
		qsort(d->value, n, sizeof(*d->value), compare_sparse);
	f->nvalue = (uint32_t)n;
	f->count = arena_alloc(a, n * sizeof(*f->count));
	f->index = arena_alloc(a, n * sizeof(*f->index));
	f->smean = arena_alloc(a, n * sizeof(*f->smean));
	f->sm2 = arena_alloc(a, n * sizeof(*f->sm2));
	f->smin = arena_alloc(a, n * sizeof(*f->smin));
	f->smax = arena_alloc(a, n * sizeof(*f->smax));
	for (size_t i = 0; i < n; i++) {
		struct sparse_value *e = &d->value[i];

		add_zeros(e, train_rows);
		f->index[i] = e->index;
		f->count[i] = e->count;
		f->smean[i] = e->mean;
		f->sm2[i] = e->m2;
		f->smin[i] = e->min;
		f->smax[i] = e->max;
	}
}
