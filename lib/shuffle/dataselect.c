#include "shuffle/dataselect.h"

#include <stdlib.h>
#include <strings.h>
#include "base/mem.h"
#include "base/opt.h"
#include "data/groupkey.h"

/* --- one group --- */

static char *
key_text(const struct index *ix, size_t group)
{
	struct strbuf sb = STRBUF_INIT;

	groupkey_text(ix->keys + ix->group[group].key_offset,
		      ix->group[group].key_bytes, &sb);
	return strbuf_detach(&sb, NULL);
}

/* With a name like it if there is one. */
static int
no_group(const struct index *ix, const char *group, struct error *err)
{
	const char **names = xcalloc(ix->ngroup + 1, sizeof(*names));
	const char *close = NULL;

	for (size_t i = 0; i < ix->ngroup; i++) {
		names[i] = key_text(ix, i);
		if (!close && strcasecmp(names[i], group) == 0)
			close = names[i];
	}
	if (!close)
		close = opt_suggest(group, names);
	if (close)
		error_set(err, EXIT_USAGE,
			  "--group: no group \"%s\" (did you mean \"%s\"?)",
			  group, close);
	else
		error_set(err, EXIT_USAGE, "--group: no group \"%s\"", group);
	for (size_t i = 0; i < ix->ngroup; i++)
		free((char *)names[i]);
	free(names);
	return -1;
}

static int
find_group(const struct dataset *d, const char *group, size_t *found,
	   struct error *err)
{
	const struct index *ix = dataset_index(d);
	size_t nfield = schema_key_fields(dataset_schema(d));
	struct strbuf key = STRBUF_INIT;
	int64_t at = -1;
	int ret;

	ret = groupkey_parse(group, nfield, &key, err);
	if (ret < 0)
		error_context(err, "--group");
	else
		at = dataset_find_group(d, key.buf, key.len);
	strbuf_release(&key);
	if (ret == 0 && at < 0)
		ret = no_group(ix, group, err);
	*found = (size_t)at;
	return ret;
}

/* --- blocks --- */

uint64_t
dataselect_block_memory(const struct dataselect *sel, uint32_t rows,
			double entries)
{
	/* The index has no entries of single blocks. */
	return block_memory(dataset_schema(sel->d), rows,
			    (uint64_t)(entries * rows), sel->weighted, false) +
	       rows * sizeof(uint32_t);
}

static void
add_group(struct dataselect *sel, size_t group)
{
	const struct index *ix = dataset_index(sel->d);
	const struct index_group *g = &ix->group[group];
	double each = (double)g->entries / (double)index_rows(g);

	sel->ngroup++;
	for (size_t i = 0; i < g->nblock; i++) {
		size_t at = sel->nblock++;
		uint32_t rows = ix->block[g->first_block + i].nrow;
		uint64_t memory = dataselect_block_memory(sel, rows, each);

		sel->block[at] = (uint32_t)(g->first_block + i);
		sel->rows[at] = rows;
		sel->memory[at] = memory;
		sel->memory_sum += memory;
		if (memory > sel->memory_max)
			sel->memory_max = memory;
		sel->row_sum += rows;
	}
}

int
dataselect_init(struct dataselect *sel, struct dataset *d, const char *group,
		int part, struct error *err)
{
	const struct schema *s = dataset_schema(d);
	const struct index *ix = dataset_index(d);
	size_t only = 0;

	*sel = (struct dataselect){.d = d, .part = part};
	if (ix->nblock >= UINT32_MAX)
		return error_set(err, EXIT_USAGE, "%s: too many blocks: %zu",
				 dataset_path(d), ix->nblock);
	if (group && find_group(d, group, &only, err) < 0)
		return -1;
	for (size_t i = 0; i < s->ncolumn; i++)
		sel->weighted |= (s->column[i].roles & ROLE_WEIGHT) != 0;
	sel->block = xcalloc(ix->nblock, sizeof(*sel->block));
	sel->rows = xcalloc(ix->nblock, sizeof(*sel->rows));
	sel->memory = xcalloc(ix->nblock, sizeof(*sel->memory));
	for (size_t i = 0; i < ix->ngroup; i++)
		if ((!group || i == only) &&
		    (part < 0 || ix->group[i].rows[part] > 0))
			add_group(sel, i);
	return 0;
}

void
dataselect_release(struct dataselect *sel)
{
	free(sel->block);
	free(sel->rows);
	free(sel->memory);
	*sel = (struct dataselect){0};
}

bool
dataselect_has(const struct dataselect *sel, const struct block *b, uint32_t r)
{
	const struct index_group *g = &dataset_index(sel->d)->group[b->group];

	return sel->part < 0 ||
	       split_part(&dataset_schema(sel->d)->split, b->split[r],
			  g->flags & INDEX_ALL_TRAIN) == (enum part)sel->part;
}

int
dataselect_count(struct dataselect *sel, struct error *err)
{
	struct block b = {0};
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < sel->nblock; i++) {
		ret = dataset_read_block(sel->d, sel->block[i], NULL, &b, err);
		sel->rows[i] = 0;
		for (uint32_t r = 0; ret == 0 && r < b.nrow; r++)
			sel->rows[i] += dataselect_has(sel, &b, r);
	}
	block_release(&b);
	return ret;
}
