#include "shuffle/rowset.h"

#include <stdlib.h>
#include "base/mem.h"

/* Facts that nobody uses are dropped when all together exceed this. */
#define CACHE_BYTES ((size_t)8 << 20)
/* Blocks that the system is told of before they are read. */
#define AHEAD 4

/* --- facts --- */

struct facts_cache {
	struct dataset *d;
	struct cached_facts **of; /* [ngroup of the dataset] or NULL */
	uint32_t *held;		  /* [n] groups */
	size_t n, held_cap;
	size_t bytes, sweep_at;
};

struct facts_cache *
facts_cache_new(struct dataset *d)
{
	struct facts_cache *c = xcalloc(1, sizeof(*c));

	c->d = d;
	c->of =
	    xcalloc(dataset_index(d)->ngroup, sizeof(struct cached_facts *));
	c->sweep_at = CACHE_BYTES;
	return c;
}

static void
drop(struct facts_cache *c, uint32_t group)
{
	struct cached_facts *f = c->of[group];

	c->bytes -= f->facts.arena.held_bytes;
	c->of[group] = NULL;
	facts_release(&f->facts);
	free(f);
}

void
facts_cache_free(struct facts_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		drop(c, c->held[i]);
	free(c->held);
	free(c->of);
	free(c);
}

/* The next sweep waits until as much has come again as was left, so that
 * facts in use are not looked through over and over. */
static void
sweep(struct facts_cache *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (c->of[c->held[i]]->users == 0)
			drop(c, c->held[i]);
		else
			c->held[n++] = c->held[i];
	}
	c->n = n;
	c->sweep_at = 2 * c->bytes > CACHE_BYTES ? 2 * c->bytes : CACHE_BYTES;
}

static struct cached_facts *
take(struct facts_cache *c, uint32_t group, struct error *err)
{
	struct cached_facts *f = c->of[group];

	if (!f) {
		if (c->bytes > c->sweep_at)
			sweep(c);
		f = xcalloc(1, sizeof(*f));
		if (dataset_read_facts(c->d, group, &f->facts, err) < 0) {
			free(f);
			return NULL;
		}
		mem_grow(&c->held, &c->held_cap, c->n + 1, sizeof(*c->held));
		c->held[c->n++] = group;
		c->of[group] = f;
		c->bytes += f->facts.arena.held_bytes;
	}
	f->users++;
	return f;
}

/* --- rows --- */

/* Keeps the memory of blocks, drops their facts. */
static void
empty(struct rowset *rs)
{
	for (size_t i = 0; i < rs->n; i++)
		if (rs->facts[i])
			rs->facts[i]->users--;
	rs->n = 0;
}

void
rowset_release(struct rowset *rs)
{
	for (size_t i = 0; i < rs->cap; i++)
		block_release(&rs->block[i]);
	free(rs->block);
	free(rs->facts);
	free(rs->base);
	free(rs->hint);
	*rs = (struct rowset){0};
}

static void
make_room(struct rowset *rs, size_t n)
{
	if (n <= rs->cap && rs->base)
		return;
	rs->block = xreallocarray(rs->block, n, sizeof(*rs->block));
	for (size_t i = rs->cap; i < n; i++)
		rs->block[i] = (struct block){0};
	rs->facts = xreallocarray(rs->facts, n, sizeof(*rs->facts));
	rs->base = xreallocarray(rs->base, n + 1, sizeof(*rs->base));
	rs->cap = n;
}

static void
set_hints(struct rowset *rs)
{
	size_t chunks = (rs->base[rs->n] >> 10) + (size_t)1;
	uint32_t at = 0;

	mem_grow(&rs->hint, &rs->hint_cap, chunks, sizeof(*rs->hint));
	for (size_t i = 0; i < chunks; i++) {
		while (at + 1 < rs->n && rs->base[at + 1] <= i << 10)
			at++;
		rs->hint[i] = at;
	}
}

struct place {
	uint32_t which, at;
};

static int
by_which(const void *a, const void *b)
{
	uint32_t x = ((const struct place *)a)->which;
	uint32_t y = ((const struct place *)b)->which;

	return (x > y) - (x < y);
}

/* The memory of a block that was much larger is given back: what a buffer
 * holds is counted by the blocks that are in it. */
static void
trim(struct block *b, uint64_t need)
{
	if (b->arena.held_bytes > need + need / 8 + 4096)
		block_release(b);
}

static int
load_block(struct rowset *rs, const struct dataselect *sel,
	   struct facts_cache *c, struct place p, struct error *err)
{
	const struct index *ix = dataset_index(sel->d);
	struct block *b = &rs->block[p.at];
	uint32_t number = sel->block[p.which];

	rs->facts[p.at] = take(c, ix->block[number].group, err);
	if (!rs->facts[p.at])
		return -1;
	trim(b, sel->memory[p.which]);
	return dataset_read_block(sel->d, number, &rs->facts[p.at]->facts, b,
				  err);
}

int
rowset_load(struct rowset *rs, const struct dataselect *sel,
	    struct facts_cache *c, const uint32_t *which, size_t n,
	    struct error *err)
{
	struct place *p = xcalloc(n, sizeof(*p));
	int ret = 0;

	empty(rs);
	make_room(rs, n);
	for (size_t i = 0; i < n; i++) {
		p[i] = (struct place){which[i], (uint32_t)i};
		rs->facts[i] = NULL;
	}
	rs->n = n;
	qsort(p, n, sizeof(*p), by_which);
	for (size_t i = 0; i < n && ret == 0; i++) {
		if (i + AHEAD < n)
			dataset_expect_block(sel->d,
					     sel->block[p[i + AHEAD].which]);
		ret = load_block(rs, sel, c, p[i], err);
	}
	free(p);
	if (ret < 0) {
		empty(rs);
		return -1;
	}
	rs->base[0] = 0;
	for (size_t i = 0; i < n; i++)
		rs->base[i + 1] = rs->base[i] + rs->block[i].nrow;
	set_hints(rs);
	return 0;
}

uint32_t
rowset_list(const struct rowset *rs, const struct dataselect *sel, size_t at,
	    uint32_t skip, uint32_t most, uint32_t *row)
{
	const struct block *b = &rs->block[at];
	uint32_t n = 0;

	for (uint32_t r = 0; r < b->nrow && n < most; r++) {
		if (!dataselect_has(sel, b, r))
			continue;
		if (skip > 0)
			skip--;
		else
			row[n++] = rs->base[at] + r;
	}
	return n;
}
