#include "data/rowcode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

static const size_t CELL_BYTES[] = {[CELL_F32] = 4,
				    [CELL_F64] = 8,
				    [CELL_CATEGORY] = 4,
				    [CELL_PART] = 1,
				    [CELL_SPARSE] = 4};

static enum cell
cell_of(const struct schema_feature *f)
{
	switch (f->kind) {
	case FEATURE_F32:
		return CELL_F32;
	case FEATURE_F64:
		return CELL_F64;
	case FEATURE_CATEGORY:
		return f->part == DT_NONE ? CELL_CATEGORY : CELL_PART;
	default:
		return CELL_SPARSE;
	}
}

static void
intern_parts(struct intern *t)
{
	for (int i = 0; i < PART_VALUES; i++) {
		char text[12];
		size_t n = (size_t)snprintf(text, sizeof(text), "%d", i);

		intern_add(t, text, n, hash64(text, n));
	}
}

static bool
has_role(const struct schema *s, enum column_role role)
{
	for (size_t c = 0; c < s->ncolumn; c++) {
		if (s->column[c].roles & role)
			return true;
	}
	return false;
}

/* Where the cells are. */
static void
lay_out(struct rowcode *rc)
{
	const struct schema *s = rc->s;
	size_t at;

	strbuf_init(&rc->row);
	rc->label_byte = s->nclass > 0 && s->nclass <= UINT8_MAX + 1;
	at = ROW_LABEL_AT + (rc->label_byte ? 1 : sizeof(double));
	rc->cell_at = xcalloc(s->nfeature + 1, sizeof(*rc->cell_at));
	rc->cell = xcalloc(s->nfeature + 1, sizeof(*rc->cell));
	if (has_role(s, ROLE_WEIGHT)) {
		rc->weight_at = at;
		at += 8;
	}
	if (s->split.by == SPLIT_BY_TIME) {
		rc->time_at = at;
		at += 8;
	}
	for (size_t i = 0; i < s->nfeature; i++) {
		rc->cell_at[i] = at;
		rc->cell[i] = cell_of(&s->feature[i]);
		at += CELL_BYTES[rc->cell[i]];
	}
	rc->fixed_bytes = at < ROW_MIN_BYTES ? ROW_MIN_BYTES : at;
	strbuf_reserve(&rc->row, rc->fixed_bytes);
	memset(rc->row.buf, 0, rc->fixed_bytes);
}

void
rowcode_init(struct rowcode *rc, const struct schema *s, size_t limit_bytes)
{
	*rc = (struct rowcode){.s = s, .limit_bytes = limit_bytes};
	lay_out(rc);
	pthread_mutex_init(&rc->lock, NULL);
	atomic_init(&rc->full, limit_bytes == 0);
	rc->values = xcalloc(s->nfeature + 1, sizeof(*rc->values));
	rc->values_bytes = xcalloc(s->nfeature + 1, sizeof(*rc->values_bytes));
	for (size_t i = 0; i < s->nfeature; i++) {
		if (rc->cell[i] == CELL_PART)
			intern_parts(&rc->values[i]);
	}
}

void
rowcode_init_shared(struct rowcode *rc, struct rowcode *tables)
{
	*rc = (struct rowcode){.s = tables->s, .tables = tables};
	lay_out(rc);
	rc->cache = xcalloc(rc->s->nfeature + 1, sizeof(*rc->cache));
}

void
rowcode_release(struct rowcode *rc)
{
	for (size_t i = 0; rc->values && i < rc->s->nfeature; i++)
		intern_release(&rc->values[i]);
	for (size_t i = 0; rc->cache && i < rc->s->nfeature; i++)
		valuecache_release(&rc->cache[i]);
	if (!rc->tables)
		pthread_mutex_destroy(&rc->lock);
	free(rc->cell_at);
	free(rc->cell);
	free(rc->cache);
	free(rc->values);
	free(rc->values_bytes);
	strbuf_release(&rc->row);
	*rc = (struct rowcode){0};
}

/* --- numbers of values --- */

/* The number of the value in the tables shared; INTERN_NONE: it has none, and
 * will have none. */
static uint32_t
find_value(struct rowcode *t, size_t i, const struct typed_value *v,
	   struct intern_entry *e)
{
	uint64_t hash = hash64(v->p, v->n);
	struct intern *values = &t->values[i];
	uint32_t number;
	size_t bytes;

	if (atomic_load_explicit(&t->full, memory_order_acquire)) {
		number = intern_find(values, v->p, v->n, hash);
		if (number != INTERN_NONE)
			*e = values->entry[number];
		return number;
	}
	pthread_mutex_lock(&t->lock);
	number = atomic_load(&t->full) ? intern_find(values, v->p, v->n, hash)
				       : intern_add(values, v->p, v->n, hash);
	if (number != INTERN_NONE)
		*e = values->entry[number];
	bytes = intern_bytes(values);
	t->interned_bytes += bytes - t->values_bytes[i];
	t->values_bytes[i] = bytes;
	if (t->interned_bytes >= t->limit_bytes || values->nentry >= CODE_LIMIT)
		atomic_store_explicit(&t->full, true, memory_order_release);
	pthread_mutex_unlock(&t->lock);
	return number;
}

static uint32_t
new_number(struct rowcode *rc, size_t i, const struct typed_value *v,
	   uint64_t mix)
{
	struct intern_entry e;
	uint32_t number = find_value(rc->tables, i, v, &e);

	if (number != INTERN_NONE)
		valuecache_put(&rc->cache[i], e.p, e.n, mix, number);
	return number;
}

uint32_t
rowcode_number(struct rowcode *rc, size_t i, const struct typed_value *v)
{
	uint64_t mix = valuecache_mix(v->p, v->n);
	uint32_t number = valuecache_find(&rc->cache[i], v->p, v->n, mix);

	if (number == VALUECACHE_NONE)
		number = new_number(rc, i, v, mix);
	return number == INTERN_NONE ? CELL_INLINE : number;
}

static void
add_u32(struct strbuf *sb, uint32_t v)
{
	strbuf_add(sb, &v, sizeof(v));
}

static void
put_category(struct rowcode *rc, size_t i, const struct typed_value *v)
{
	uint32_t number = v->missing ? CELL_MISSING : rowcode_number(rc, i, v);

	memcpy(rc->row.buf + rc->cell_at[i], &number, sizeof(number));
	if (number != CELL_INLINE)
		return;
	add_u32(&rc->row, (uint32_t)v->n);
	strbuf_add(&rc->row, v->p, v->n);
}

/* Inline values may move the row. */
static void
put_cells(struct rowcode *rc, const struct typed_value *v)
{
	const enum cell *kind = rc->cell;
	const size_t *at = rc->cell_at;
	char *row = rc->row.buf;
	size_t n = rc->s->nfeature;

	for (size_t i = 0; i < n; i++, v++) {
		double x = v->number;
		float narrow;

		switch (kind[i]) {
		case CELL_CATEGORY:
			put_category(rc, i, v);
			row = rc->row.buf;
			break;
		case CELL_PART:
			row[at[i]] = (char)(v->missing ? PART_MISSING : (int)x);
			break;
		case CELL_F32:
			narrow = v->missing ? NAN : (float)x;
			memcpy(row + at[i], &narrow, sizeof(narrow));
			break;
		default:
			if (v->missing)
				x = NAN;
			memcpy(row + at[i], &x, sizeof(x));
			break;
		}
	}
}

static void
put_entries(struct rowcode *rc, const struct typed_row *row)
{
	uint32_t n = (uint32_t)row->nentry;

	memcpy(rc->row.buf + rc->cell_at[0], &n, sizeof(n));
	strbuf_add(&rc->row, row->entry_index, n * sizeof(uint32_t));
	strbuf_add(&rc->row, row->entry_value, n * sizeof(double));
}

int
rowcode_put(struct rowcode *rc, const struct typed_row *row, double label,
	    struct error *err)
{
	struct strbuf *sb = &rc->row;
	uint32_t length;

	sb->len = rc->fixed_bytes;
	sb->buf[ROW_SPLIT_AT] = (char)row->split;
	row_set_label(rc, sb->buf, label);
	if (rc->weight_at)
		memcpy(sb->buf + rc->weight_at, &row->weight, 8);
	if (rc->time_at)
		memcpy(sb->buf + rc->time_at, &row->time, 8);
	if (rc->s->input == INPUT_LIBSVM) {
		put_entries(rc, row);
	} else {
		put_cells(rc, row->value);
	}
	if (sb->len > INT32_MAX)
		return error_set(err, EXIT_DATA, "a row of more than 2 GB");
	length = (uint32_t)sb->len;
	memcpy(sb->buf, &length, sizeof(length));
	return 0;
}
