#include "model/glm_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

#define SLOTS_MAX (1u << 30)

/* --- view --- */

static bool
is_numeric(enum feature_kind k)
{
	return k == FEATURE_F32 || k == FEATURE_F64;
}

/* Slots that a feature takes. */
static uint64_t
count_slots(enum feature_kind kind, const struct feature_facts *f)
{
	uint64_t n = 0;

	if (is_numeric(kind))
		return 1 + (f->missing > 0);
	for (uint32_t i = 0; i < f->nvalue; i++)
		n += f->count[i] > 0;
	return n + (kind == FEATURE_CATEGORY && f->missing > 0);
}

static double
inverse_sd(double m2, double n)
{
	double sd = n > 0 ? sqrt(m2 / n) : 0;

	return sd > 0 && isfinite(sd) && isfinite(1 / sd) ? 1 / sd : 1;
}

static void
set_slot(struct view *v, uint32_t j, struct view_slot of, double mean)
{
	v->of[j] = of;
	v->bound[j] = 1;
	v->mean[j] = v->square[j] = mean;
}

/* The one-hot of "missing", if training rows miss the feature. */
static void
add_missing(struct view *v, uint32_t i, const struct feature_facts *f, double n)
{
	struct view_feature *vf = &v->feature[i];

	vf->missing = glm_view_null(v);
	if (f->missing == 0)
		return;
	vf->missing = v->next++;
	set_slot(v, vf->missing, (struct view_slot){i, CODE_MISSING},
		 (double)f->missing / n);
}

static void
add_numeric(struct view *v, uint32_t i, const struct feature_facts *f, double n)
{
	struct view_feature *vf = &v->feature[i];
	uint32_t j = v->next++;
	double low, high;

	vf->first = j;
	vf->impute = f->mean;
	vf->mean = v->standardize ? f->mean : 0;
	vf->scale = v->standardize ? inverse_sd(f->m2, (double)f->present) : 1;
	v->num[v->nnum++] = j;
	v->of[j] = (struct view_slot){i, 0};
	/* x to (x - mean) * scale is monotone, rounding included. */
	low = fabs((f->min - vf->mean) * vf->scale);
	high = fabs((f->max - vf->mean) * vf->scale);
	v->bound[j] = low > high ? low : high;
	v->mean[j] = (f->mean - vf->mean) * vf->scale;
	v->square[j] =
	    v->mean[j] * v->mean[j] + f->m2 / n * vf->scale * vf->scale;
	if (fabs(v->mean[j]) > v->bound[j])
		v->bound[j] = fabs(v->mean[j]);
	add_missing(v, i, f, n);
	vf->indicator = f->missing > 0;
	v->nhot += vf->indicator;
}

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

/* Slots of a dictionary's values, most frequent first; returns the codes in
 * slot order, owned by the caller. */
static struct ranked *
add_values(struct view *v, uint32_t i, const struct feature_facts *f,
	   uint32_t *n)
{
	struct view_feature *vf = &v->feature[i];
	struct ranked *rank = xcalloc(f->nvalue, sizeof *rank);

	*n = 0;
	vf->first = v->next;
	vf->slot = arena_calloc(&v->arena, f->nvalue, sizeof *vf->slot);
	for (uint32_t c = 0; c < f->nvalue; c++) {
		vf->slot[c] = glm_view_null(v);
		if (f->count[c] > 0)
			rank[(*n)++] = (struct ranked){f->count[c], c};
	}
	qsort(rank, *n, sizeof *rank, compare_ranked);
	for (uint32_t k = 0; k < *n; k++)
		vf->slot[rank[k].code] = v->next++;
	return rank;
}

static void
add_category(struct view *v, uint32_t i, const struct feature_facts *f,
	     double n)
{
	uint32_t nvalue;
	struct ranked *rank = add_values(v, i, f, &nvalue);

	for (uint32_t k = 0; k < nvalue; k++)
		set_slot(v, v->feature[i].first + k,
			 (struct view_slot){i, rank[k].code},
			 (double)rank[k].count / n);
	free(rank);
	add_missing(v, i, f, n);
	v->nhot++;
}

static void
add_sparse(struct view *v, uint32_t i, const struct feature_facts *f, double n)
{
	struct view_feature *vf = &v->feature[i];
	uint32_t nvalue;
	struct ranked *rank = add_values(v, i, f, &nvalue);

	vf->sscale = arena_calloc(&v->arena, f->nvalue, sizeof *vf->sscale);
	for (uint32_t k = 0; k < nvalue; k++) {
		uint32_t j = vf->first + k, c = rank[k].code;
		double scale = v->standardize ? inverse_sd(f->sm2[c], n) : 1;
		double low = fabs(f->smin[c] * scale);
		double high = fabs(f->smax[c] * scale);

		vf->sscale[c] = scale;
		v->of[j] = (struct view_slot){i, c};
		v->bound[j] = low > high ? low : high;
		v->mean[j] = f->smean[c] * scale;
		v->square[j] =
		    v->mean[j] * v->mean[j] + f->sm2[c] / n * scale * scale;
	}
	free(rank);
	v->sparse = true;
}

static void
set_offset(struct view *v, const struct feature_facts *f)
{
	double low = fabs(f->min), high = fabs(f->max);

	v->offset_mean = f->mean;
	v->offset_bound = low > high ? low : high;
}

struct view *
glm_view_new(const struct schema *s, const struct group_facts *f,
	     bool standardize, bool intercept, struct error *err)
{
	struct view *v = xcalloc(1, sizeof *v);
	double n = f->rows[PART_TRAIN] ? (double)f->rows[PART_TRAIN] : 1;
	uint64_t d = 0;

	v->offset = schema_offset(s);
	for (size_t i = 0; i < s->nfeature; i++)
		if ((int)i != v->offset)
			d += count_slots(s->feature[i].kind, &f->feature[i]);
	if (d > SLOTS_MAX) {
		error_set(err, EXIT_DATA, "more than %u features in a group",
			  SLOTS_MAX);
		free(v);
		return NULL;
	}
	v->schema = s;
	v->facts = f;
	v->standardize = standardize;
	v->intercept = intercept;
	v->d = (uint32_t)d;
	v->wide = d + 2 > UINT16_MAX;
	v->of = arena_calloc(&v->arena, d, sizeof *v->of);
	v->bound = arena_calloc(&v->arena, d, sizeof *v->bound);
	v->square = arena_calloc(&v->arena, d, sizeof *v->square);
	v->mean = arena_calloc(&v->arena, d, sizeof *v->mean);
	v->num = arena_calloc(&v->arena, s->nfeature, sizeof *v->num);
	v->feature = arena_calloc(&v->arena, s->nfeature, sizeof *v->feature);
	for (uint32_t i = 0; i < s->nfeature; i++)
		if ((int)i == v->offset)
			set_offset(v, &f->feature[i]);
		else if (is_numeric(s->feature[i].kind))
			add_numeric(v, i, &f->feature[i], n);
		else if (s->feature[i].kind == FEATURE_CATEGORY)
			add_category(v, i, &f->feature[i], n);
		else
			add_sparse(v, i, &f->feature[i], n);
	return v;
}

void
glm_view_free(struct view *v)
{
	if (!v)
		return;
	arena_release(&v->arena);
	free(v);
}

/* --- rows --- */

struct rows *
glm_rows_new(const struct view *v, int part)
{
	struct rows *r = xcalloc(1, sizeof *r);

	r->view = v;
	r->part = part;
	r->single = v->single && part == PART_TRAIN;
	r->stride32 = v->packed ? v->nnum : (v->nnum + 7) / 8 * 8;
	return r;
}

void
glm_rows_free(struct rows *r)
{
	if (!r)
		return;
	free(r->hot16);
	free(r->hot32);
	free(r->num);
	free(r->num32);
	free(r->value32);
	free(r->label);
	free(r->weight);
	free(r->offset);
	free(r->start);
	free(r->slot);
	free(r->value);
	free(r->pick);
	free(r);
}

void
glm_rows_reset(struct rows *r)
{
	r->n = 0;
}

bool
glm_view_fits_single(const struct view *v)
{
	const struct group_facts *f = v->facts;
	double n = (double)f->rows[PART_TRAIN];
	double rare = fmin(f->class_weight[0], f->class_weight[1]);

	if (n > INT32_MAX || f->weight_max * n > 16 * f->weight_sum ||
	    v->offset_bound > 0x1p6)
		return false;
	/* Residuals of the other class would be few units each. */
	if (!(rare >= GLM_SINGLE_SHARE * f->weight_max * n))
		return false;
	for (uint32_t j = 0; j < v->d; j++) {
		enum feature_kind kind =
		    v->schema->feature[v->of[j].feature].kind;
		double most = kind == FEATURE_SPARSE ? 0x1p12 : 0x1p6;

		if (!(v->bound[j] <= most) ||
		    (v->bound[j] < 1 / most && v->bound[j] > 0))
			return false;
	}
	return true;
}

/* Zeroed, so that the end of each row is. */
static void
reserve_single(struct rows *r, size_t need)
{
	float *num = xaligned(need * r->stride32, sizeof *num);

	if (r->n > 0)
		memcpy(num, r->num32, r->n * r->stride32 * sizeof *num);
	free(r->num32);
	r->num32 = num;
}

/* Twice what there is, but no more than the group has rows of the part. */
static size_t
room_for(const struct rows *r, size_t need)
{
	size_t room = 2 * r->cap, all = 0;

	if (r->part >= 0)
		all = r->view->facts->rows[r->part];
	if (need <= all && room > all)
		room = all;
	return need < room ? room : need;
}

static void
reserve_rows(struct rows *r, size_t need)
{
	const struct view *v = r->view;

	if (need <= r->cap)
		return;
	need = room_for(r, need);
	if (v->wide)
		r->hot32 =
		    xreallocarray(r->hot32, need, v->nhot * sizeof *r->hot32);
	else
		r->hot16 =
		    xreallocarray(r->hot16, need, v->nhot * sizeof *r->hot16);
	if (r->single)
		reserve_single(r, need);
	else
		r->num = xreallocarray(r->num, need, v->nnum * sizeof *r->num);
	r->label = xreallocarray(r->label, need, sizeof *r->label);
	r->weight = xreallocarray(r->weight, need, sizeof *r->weight);
	if (v->offset >= 0)
		r->offset = xreallocarray(r->offset, need, sizeof *r->offset);
	if (v->sparse) {
		bool fresh = !r->start;

		r->start = xreallocarray(r->start, need + 1, sizeof *r->start);
		if (fresh)
			r->start[0] = 0;
	}
	r->cap = need;
}

static bool
in_part(const struct rows *r, const struct block *b, uint32_t i)
{
	const struct view *v = r->view;

	return r->part < 0 || (int)split_part(&v->schema->split, b->split[i],
					      v->facts->all_train) == r->part;
}

static void
put_hot(struct rows *r, uint32_t k, uint32_t column, uint32_t slot)
{
	size_t at = (r->n + k) * r->view->nhot + column;

	if (r->view->wide)
		r->hot32[at] = slot;
	else
		r->hot16[at] = (uint16_t)slot;
}

static bool
is_missing(const struct block_column *c, uint32_t i)
{
	return c->missing && (c->missing[i / 8] >> (i % 8) & 1);
}

static void
add_numbers(struct rows *r, const struct view_feature *vf,
	    const struct block_column *c, uint32_t n, uint32_t column)
{
	size_t width = r->single ? r->stride32 : r->view->nnum;
	size_t at = r->n * width + column;

	for (uint32_t k = 0; k < n; k++, at += width) {
		uint32_t i = r->pick[k];
		double x = is_missing(c, i) ? vf->impute
			   : c->f64	    ? c->f64[i]
					    : (double)c->f32[i];

		x = (x - vf->mean) * vf->scale;
		if (r->single)
			r->num32[at] = (float)x;
		else
			r->num[at] = x;
	}
}

static void
add_indicators(struct rows *r, const struct view_feature *vf,
	       const struct block_column *c, uint32_t n, uint32_t column)
{
	for (uint32_t k = 0; k < n; k++)
		put_hot(r, k, column,
			is_missing(c, r->pick[k]) ? vf->missing
						  : glm_view_null(r->view));
}

static void
add_codes(struct rows *r, uint32_t feature, const struct block_column *c,
	  uint32_t n, uint32_t column)
{
	const struct view_feature *vf = &r->view->feature[feature];
	uint32_t nvalue = r->view->facts->feature[feature].nvalue;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t code = c->code[r->pick[k]];
		uint32_t slot = code < nvalue	       ? vf->slot[code]
				: code == CODE_MISSING ? vf->missing
						       : glm_view_null(r->view);

		put_hot(r, k, column, slot);
	}
}

static void
reserve_entries(struct rows *r, size_t need)
{
	mem_grow(&r->slot, &r->slot_cap, need, sizeof *r->slot);
	if (r->single)
		mem_grow(&r->value32, &r->value_cap, need, sizeof *r->value32);
	else
		mem_grow(&r->value, &r->value_cap, need, sizeof *r->value);
}

static void
put_value(struct rows *r, uint64_t at, double x)
{
	if (r->single)
		r->value32[at] = (float)x;
	else
		r->value[at] = x;
}

/* Appends the entries of one row; those without a slot are left out. */
static uint64_t
add_entries(struct rows *r, uint32_t feature, const struct block_column *c,
	    uint32_t i, uint64_t end)
{
	const struct view_feature *vf = &r->view->feature[feature];
	uint32_t nvalue = r->view->facts->feature[feature].nvalue;
	size_t need = end + (c->start[i + 1] - c->start[i]);

	reserve_entries(r, need);
	for (uint64_t e = c->start[i]; e < c->start[i + 1]; e++) {
		uint32_t code = c->entry_code[e];

		if (code >= nvalue || vf->slot[code] >= r->view->d)
			continue;
		r->slot[end] = vf->slot[code];
		put_value(r, end++, c->entry_value[e] * vf->sscale[code]);
	}
	return end;
}

static void
add_sparse_rows(struct rows *r, const struct block *b, uint32_t n)
{
	const struct schema *s = r->view->schema;
	uint64_t end = r->start[r->n];

	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t f = 0; f < s->nfeature; f++)
			if (s->feature[f].kind == FEATURE_SPARSE)
				end = add_entries(r, f, &b->column[f],
						  r->pick[k], end);
		r->start[r->n + k + 1] = end;
	}
}

/* Adds the n rows r->pick[] of b. */
static void
add_picked(struct rows *r, const struct block *b, uint32_t n)
{
	const struct view *v = r->view;
	uint32_t hot = 0, num = 0;

	if (n == 0)
		return;
	reserve_rows(r, r->n + n);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = r->pick[k];

		r->label[r->n + k] = b->label[i];
		r->weight[r->n + k] = b->weight ? b->weight[i] : 1;
	}
	for (uint32_t f = 0; f < v->schema->nfeature; f++) {
		const struct view_feature *vf = &v->feature[f];
		const struct block_column *c = &b->column[f];

		if ((int)f == v->offset) {
			for (uint32_t k = 0; k < n; k++)
				r->offset[r->n + k] = c->f64[r->pick[k]];
			continue;
		}
		switch (v->schema->feature[f].kind) {
		case FEATURE_F32:
		case FEATURE_F64:
			add_numbers(r, vf, c, n, num++);
			if (vf->indicator)
				add_indicators(r, vf, c, n, hot++);
			break;
		case FEATURE_CATEGORY:
			add_codes(r, f, c, n, hot++);
			break;
		case FEATURE_SPARSE:
			break;
		}
	}
	if (v->sparse)
		add_sparse_rows(r, b, n);
	r->n += n;
}

void
glm_rows_add(struct rows *r, const struct block *b, uint32_t first,
	     uint32_t last)
{
	uint32_t n = 0;

	mem_grow(&r->pick, &r->pick_cap, last - first, sizeof *r->pick);
	for (uint32_t i = first; i < last; i++)
		if (in_part(r, b, i))
			r->pick[n++] = i;
	add_picked(r, b, n);
}

void
glm_rows_pick(struct rows *r, const struct block *b, const uint32_t *which,
	      uint32_t n)
{
	uint32_t m = 0;

	mem_grow(&r->pick, &r->pick_cap, n, sizeof *r->pick);
	for (uint32_t k = 0; k < n; k++)
		if (in_part(r, b, which[k]))
			r->pick[m++] = which[k];
	add_picked(r, b, m);
}

/* The sparse entries of row i of another. */
static void
copy_entries(struct rows *r, const struct rows *from, uint64_t i)
{
	uint64_t first = from->start[i], n = from->start[i + 1] - first;
	uint64_t end = r->start[r->n];

	reserve_entries(r, end + n);
	r->start[r->n + 1] = end + n;
	if (n == 0)
		return;
	memcpy(r->slot + end, from->slot + first, n * sizeof *r->slot);
	if (r->single)
		memcpy(r->value32 + end, from->value32 + first,
		       n * sizeof *r->value32);
	else
		memcpy(r->value + end, from->value + first,
		       n * sizeof *r->value);
}

static void
copy_row(struct rows *r, const struct rows *from, uint64_t i)
{
	size_t nhot = r->view->nhot, nnum = r->view->nnum;

	if (r->view->wide)
		memcpy(r->hot32 + r->n * nhot, from->hot32 + i * nhot,
		       nhot * sizeof *r->hot32);
	else
		memcpy(r->hot16 + r->n * nhot, from->hot16 + i * nhot,
		       nhot * sizeof *r->hot16);
	if (r->single)
		memcpy(r->num32 + r->n * r->stride32,
		       from->num32 + i * r->stride32,
		       r->stride32 * sizeof *r->num32);
	else
		memcpy(r->num + r->n * nnum, from->num + i * nnum,
		       nnum * sizeof *r->num);
	r->label[r->n] = from->label[i];
	r->weight[r->n] = from->weight[i];
	if (r->offset)
		r->offset[r->n] = from->offset[i];
	if (r->view->sparse)
		copy_entries(r, from, i);
	r->n++;
}

void
glm_rows_copy(struct rows *r, const struct rows *from, const uint32_t *which,
	      size_t n)
{
	if (n == 0)
		return;
	reserve_rows(r, r->n + n);
	for (size_t k = 0; k < n; k++)
		copy_row(r, from, which[k]);
}

void
glm_rows_label(const struct rows *r, const uint32_t *which, size_t n,
	       double *label, double *weight)
{
	for (size_t k = 0; k < n; k++) {
		label[k] = r->label[which[k]];
		if (weight)
			weight[k] = r->weight[which[k]];
	}
}

uint64_t
glm_rows_bytes(const struct rows *r)
{
	const struct view *v = r->view;
	uint64_t row =
	    v->nhot * (v->wide ? sizeof *r->hot32 : sizeof *r->hot16) +
	    (r->single ? r->stride32 * sizeof *r->num32
		       : v->nnum * sizeof *r->num) +
	    2 * sizeof(double);

	if (v->offset >= 0)
		row += sizeof *r->offset;
	if (v->sparse)
		row += sizeof *r->start;
	return r->cap * row + r->slot_cap * sizeof *r->slot +
	       r->value_cap * sizeof *r->value;
}

double
glm_row_bytes(const struct schema *s)
{
	double bytes = 2 * sizeof(double);

	for (size_t i = 0; i < s->nfeature; i++)
		if (is_numeric(s->feature[i].kind))
			bytes += sizeof(double);
		else if (s->feature[i].kind == FEATURE_CATEGORY)
			bytes += sizeof(uint16_t);
	return bytes;
}
