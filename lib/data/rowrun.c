#include "data/rowrun.h"

#include <stdlib.h>
#include "base/hash.h"
#include "base/mem.h"
#include "data/groupkey.h"

void
rowgroups_reset(struct rowgroups *g)
{
	intern_reset(&g->keys);
	valuecache_reset(&g->met);
}

void
rowgroups_release(struct rowgroups *g)
{
	intern_release(&g->keys);
	valuecache_release(&g->met);
	strbuf_release(&g->key);
	free(g->group);
	*g = (struct rowgroups){0};
}

uint32_t
rowgroups_number(struct rowgroups *g, const void *key, size_t n)
{
	size_t before = g->keys.nentry;
	uint32_t number = intern_add(&g->keys, key, n, hash64(key, n));

	if (number == before) {
		mem_grow(&g->group, &g->cap, before + 1, sizeof(*g->group));
		g->group[number] = (struct rowgroup){0, 0};
	}
	return number;
}

uint32_t
rowgroups_new_field(struct rowgroups *g, const char *p, size_t n, uint64_t mix)
{
	const struct intern_entry *e;
	uint32_t number;

	strbuf_reset(&g->key);
	groupkey_add(&g->key, p, n);
	number = rowgroups_number(g, g->key.buf, g->key.len);
	e = &g->keys.entry[number];
	valuecache_put(&g->met, e->p + (e->n - n), n, mix, number);
	return number;
}

void
rowrun_reset(struct rowrun *r)
{
	strbuf_reset(&r->rows);
	r->nrow = 0;
}

void
rowrun_release(struct rowrun *r)
{
	strbuf_release(&r->rows);
	free(r->group);
	*r = (struct rowrun){0};
}

char *
rowrun_reserve(struct rowrun *r, size_t n, size_t nrow)
{
	strbuf_reserve(&r->rows, n);
	mem_grow(&r->group, &r->cap, r->nrow + nrow, sizeof(*r->group));
	return r->rows.buf + r->rows.len;
}

/* n is at least ROW_MIN_BYTES. */
static inline void
copy_row(char *to, const char *from, size_t n)
{
	size_t i;

	if (n > 256) {
		memcpy(to, from, n);
		return;
	}
	for (i = 0; i + 16 < n; i += 16)
		memcpy(to + i, from + i, 16);
	memcpy(to + n - 16, from + n - 16, 16);
}

void
rowrun_sort(const struct rowrun *r, struct rowgroups *groups, struct strbuf *to)
{
	struct rowgroup *group = groups->group;
	const char *from = r->rows.buf;
	size_t n = groups->keys.nentry, at = 0;

	strbuf_reset(to);
	strbuf_reserve(to, r->rows.len);
	for (size_t g = 0; g < n; g++) {
		group[g].at = at;
		at += group[g].bytes;
	}
	for (size_t k = 0; k < r->nrow; k++) {
		struct rowgroup *g = &group[r->group[k]];
		uint32_t bytes = row_u32((const uint8_t *)from);

		copy_row(to->buf + g->at, from, bytes);
		g->at += bytes;
		from += bytes;
	}
	for (size_t g = 0; g < n; g++)
		group[g].at -= group[g].bytes;
	to->len = r->rows.len;
}
