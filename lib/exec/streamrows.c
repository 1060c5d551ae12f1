#include "exec/streamrows.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

void
streamrows_release(struct streamrows *t)
{
	intern_release(&t->ordinal);
	free(t->facts);
	free(t->rows);
	free(t->group);
	free(t->which);
	free(t->of);
	*t = (struct streamrows){0};
}

int64_t
streamrows_find(const struct streamrows *t, uint32_t ordinal)
{
	char key[sizeof ordinal];
	uint32_t at;

	memcpy(key, &ordinal, sizeof key);
	at = intern_find(&t->ordinal, key, sizeof key, hash64(key, sizeof key));
	return at == INTERN_NONE ? -1 : (int64_t)at;
}

void
streamrows_tell(struct streamrows *t, const struct group_facts *f)
{
	char key[sizeof f->ordinal];

	memcpy(key, &f->ordinal, sizeof key);
	intern_add(&t->ordinal, key, sizeof key, hash64(key, sizeof key));
	mem_grow(&t->facts, &t->facts_cap, t->n + 1, sizeof *t->facts);
	mem_grow(&t->rows, &t->rows_cap, t->n + 1, sizeof *t->rows);
	t->rows[t->n] = 0;
	t->facts[t->n++] = f;
}

/* The group of each row into of[], t->n for rows of another part; counts. */
static void
count_rows(struct streamrows *t, const struct schema *s, const struct block *b,
	   uint32_t from, enum part part)
{
	uint32_t ordinal = 0;
	int64_t at = -1;

	t->ngroup = 0;
	t->nrow = 0;
	for (uint32_t r = from; r < b->nrow; r++) {
		uint32_t now = b->row_group ? b->row_group[r] : b->group;

		if (at < 0 || now != ordinal)
			at = streamrows_find(t, now);
		ordinal = now;
		t->of[r] = (uint32_t)t->n;
		if (split_part(&s->split, b->split[r],
			       t->facts[at]->all_train) != part)
			continue;
		t->of[r] = (uint32_t)at;
		if (t->rows[at]++ == 0)
			t->group[t->ngroup++] = (uint32_t)at;
		t->nrow++;
	}
}

void
streamrows_sort(struct streamrows *t, const struct schema *s,
		const struct block *b, uint32_t from, enum part part)
{
	uint32_t end = 0;

	for (size_t i = 0; i < t->ngroup; i++)
		t->rows[t->group[i]] = 0;
	mem_grow(&t->group, &t->group_cap, t->n, sizeof *t->group);
	mem_grow(&t->of, &t->of_cap, b->nrow, sizeof *t->of);
	count_rows(t, s, b, from, part);
	mem_grow(&t->which, &t->which_cap, t->nrow, sizeof *t->which);
	/* rows[] holds, for a while, where the next row of a group goes. */
	for (size_t i = 0; i < t->ngroup; i++) {
		uint32_t n = t->rows[t->group[i]];

		t->rows[t->group[i]] = end;
		end += n;
	}
	for (uint32_t r = from; r < b->nrow; r++)
		if (t->of[r] < t->n)
			t->which[t->rows[t->of[r]]++] = r;
	end = 0;
	for (size_t i = 0; i < t->ngroup; i++) {
		uint32_t next = t->rows[t->group[i]];

		t->rows[t->group[i]] = next - end;
		end = next;
	}
}
