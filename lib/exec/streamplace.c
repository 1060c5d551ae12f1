#include "exec/streamplace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void
streamplace_release(struct streamplace *p)
{
	free(p->mark);
	*p = (struct streamplace){0};
}

/* Of a row: its place, group, label and split byte, mixed.  Sums of these do
 * not depend on how rows are cut into blocks. */
static uint64_t
row_sum(const struct block *b, uint32_t r)
{
	uint64_t group = b->row_group ? b->row_group[r] : b->group, label, x;

	memcpy(&label, &b->label[r], sizeof label);
	x = (b->first_row + r) * 0x9e3779b97f4a7c15u;
	x ^= (label ^ label >> 31) * 0xbf58476d1ce4e5b9u;
	x ^= (group << 8 | b->split[r]) * 0x94d049bb133111ebu;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 27;
}

static uint64_t
rows_sum(const struct block *b, uint32_t first, uint32_t end)
{
	uint64_t sum = 0;

	for (uint32_t r = first; r < end; r++)
		sum += row_sum(b, r);
	return sum;
}

static int
another(struct error *err)
{
	return error_set(err, EXIT_CORRUPT,
			 "not the stream of this run: other rows, or in "
			 "another order");
}

int
streamplace_begin(struct streamplace *p, uint64_t number, uint64_t row,
		  struct error *err)
{
	size_t i = p->epochs;
	/* of the epoch under way; a run may begin with any */
	uint64_t now = i > 0 ? p->mark[i - 1].number + 1 : number;

	while (i > 0 && p->mark[i - 1].number != number)
		i--;
	p->begun = true;
	p->whole = row == 0;
	p->at_row = row;
	p->at = i > 0 ? i - 1 : p->epochs;
	if (i > 0 || (number == now && row <= p->row))
		return 0;
	return error_set(err, EXIT_CORRUPT,
			 "begins at row %" PRIu64 " of epoch %" PRIu64
			 ", and the run is at row %" PRIu64 " of epoch %" PRIu64
			 ": give it the stream from its start, or from a "
			 "place no later",
			 row, number, p->row, now);
}

int
streamplace_block(struct streamplace *p, const struct block *b, uint32_t *old,
		  struct error *err)
{
	uint64_t left = 0; /* rows that the run has seen of this epoch */

	if (!p->begun)
		p->begun = p->whole = true;
	if (b->first_row != p->at_row)
		return error_set(err, EXIT_CORRUPT,
				 "row %" PRIu64
				 " of an epoch comes after %" PRIu64 " rows",
				 b->first_row, p->at_row);
	if (p->at < p->epochs)
		left = b->nrow;
	else if (p->row > p->at_row)
		left = p->row - p->at_row;
	*old = left < b->nrow ? (uint32_t)left : b->nrow;
	p->at_sum += rows_sum(b, 0, *old);
	p->at_row += b->nrow;
	if (p->at < p->epochs || p->at_row < p->row)
		return 0;
	/* The run's place is reached, here or before. */
	if (p->whole && left > 0 && p->at_sum != p->sum)
		return another(err);
	p->sum += rows_sum(b, *old, b->nrow);
	p->at_sum = p->sum;
	p->row = p->at_row;
	return 0;
}

/* An epoch that the run has had before. */
static int
pass_over(struct streamplace *p, uint64_t number, uint64_t rows,
	  struct error *err)
{
	const struct stream_mark *m = &p->mark[p->at];
	bool same = m->number == number && m->rows == rows;

	if (!same || (p->whole && m->sum != p->at_sum))
		return another(err);
	p->at++;
	return 0;
}

int
streamplace_epoch(struct streamplace *p, uint64_t number, uint64_t rows,
		  bool *ends, struct error *err)
{
	if (!p->begun)
		p->begun = p->whole = true;
	*ends = p->at == p->epochs;
	if (!*ends && pass_over(p, number, rows, err))
		return -1;
	if (*ends) {
		if (p->at_row != p->row)
			return another(err);
		mem_grow(&p->mark, &p->cap, p->epochs + 1, sizeof *p->mark);
		p->mark[p->epochs++] =
		    (struct stream_mark){number, rows, p->sum};
		p->at++;
		p->row = p->sum = 0;
	}
	p->at_row = p->at_sum = 0;
	p->whole = true;
	return 0;
}

bool
streamplace_reached(const struct streamplace *p)
{
	return p->at == p->epochs && p->at_row == p->row;
}

void
streamplace_put(const struct streamplace *p, struct strbuf *sb)
{
	put_u64(sb, p->row);
	put_u64(sb, p->sum);
	put_u64(sb, p->epochs);
	for (size_t i = 0; i < p->epochs; i++) {
		put_u64(sb, p->mark[i].number);
		put_u64(sb, p->mark[i].rows);
		put_u64(sb, p->mark[i].sum);
	}
}

int
streamplace_get(struct streamplace *p, struct cursor *c)
{
	size_t n;

	*p = (struct streamplace){0};
	p->row = get_u64(c);
	p->sum = get_u64(c);
	n = get_count(c, sizeof *p->mark);
	mem_grow(&p->mark, &p->cap, n, sizeof *p->mark);
	for (p->epochs = 0; p->epochs < n; p->epochs++) {
		struct stream_mark *m = &p->mark[p->epochs];

		m->number = get_u64(c);
		m->rows = get_u64(c);
		m->sum = get_u64(c);
	}
	return cursor_ok(c) ? 0 : -1;
}
