/* The writing half of dataset.h. */

#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/mem.h"
#include "data/datasetpart.h"
#include "data/index.h"
#include "data/manifest.h"

#define BLOCK_FILE_BYTES ((uint64_t)1 << 30)

struct dataset_writer {
	char *path;
	struct strbuf tmp; /* folder written to; empty: none to remove */
	struct outfile *groups, *blocks;
	bool without_rows;
	uint64_t fingerprint; /* without rows: of the dataset they are of */
	uint32_t nfile;	      /* block files begun */
	uint64_t file_bytes;  /* one with so many is full */
	struct index_group *group;
	struct index_block *block;
	size_t ngroup, group_cap, nblock, block_cap;
	struct strbuf keys;
	uint64_t rows;		   /* of the group begun last, written so far */
	struct dataset_part *part; /* of one group or block */
	struct strbuf payload, name;
};

static void
writer_free(struct dataset_writer *w)
{
	outfile_drop(w->groups);
	outfile_drop(w->blocks);
	if (w->tmp.len)
		outdir_drop(w->tmp.buf);
	free(w->path);
	free(w->group);
	free(w->block);
	strbuf_release(&w->tmp);
	strbuf_release(&w->keys);
	strbuf_release(&w->payload);
	dataset_part_free(w->part);
	strbuf_release(&w->name);
	free(w);
}

void
dataset_writer_drop(struct dataset_writer *w)
{
	if (w)
		writer_free(w);
}

struct dataset_writer *
dataset_writer_new(const char *path, struct error *err)
{
	struct dataset_writer *w = xcalloc(1, sizeof(*w));

	strbuf_init(&w->tmp);
	strbuf_init(&w->keys);
	strbuf_init(&w->payload);
	w->part = dataset_part_new();
	strbuf_init(&w->name);
	w->path = xstrdup(path);
	w->file_bytes = BLOCK_FILE_BYTES;
	if (outdir_begin(path, &w->tmp, err) < 0)
		goto fail;
	w->groups =
	    outfile_open(io_join(&w->name, w->tmp.buf, GROUPS_FILE), err);
	if (!w->groups)
		goto fail;
	return w;
fail:
	writer_free(w);
	return NULL;
}

void
dataset_writer_set_file_bytes(struct dataset_writer *w, uint64_t bytes)
{
	w->file_bytes = bytes;
}

void
dataset_writer_without_rows(struct dataset_writer *w, uint64_t fingerprint)
{
	w->without_rows = true;
	w->fingerprint = fingerprint;
}

static int
disorder(const struct dataset_writer *w, const char *what, struct error *err)
{
	return error_set(err, EXIT_CANNOT, "%s: group %zu: %s", w->path,
			 w->ngroup ? w->ngroup - 1 : 0, what);
}

static int
check_group_is_whole(const struct dataset_writer *w, struct error *err)
{
	if (w->ngroup && !w->without_rows &&
	    w->rows != index_rows(&w->group[w->ngroup - 1]))
		return disorder(w, "rows written and facts disagree", err);
	return 0;
}

uint32_t
index_group_flags(const struct schema *s, const struct group_facts *f)
{
	uint32_t flags = f->all_train ? INDEX_ALL_TRAIN : 0;
	size_t classes = 0;

	for (size_t i = 0; i < s->nclass; i++)
		classes += f->class_rows[i] > 0;
	if (s->nclass && classes < 2)
		flags |= INDEX_ONE_CLASS;
	return flags;
}

static int
write_group(struct dataset_writer *w, const struct dataset_part *p,
	    const struct part_group *from, struct error *err)
{
	struct index_group *g;

	if (check_group_is_whole(w, err) < 0)
		return -1;
	if (from->ordinal != w->ngroup)
		return disorder(w, "the next has the wrong number", err);
	mem_grow(&w->group, &w->group_cap, w->ngroup + 1, sizeof(*w->group));
	g = &w->group[w->ngroup++];
	*g = from->entry;
	g->first_block = w->nblock;
	g->facts_offset = outfile_tell(w->groups);
	g->key_offset = w->keys.len;
	strbuf_add(&w->keys, p->keys.buf + from->key_at, g->key_bytes);
	w->rows = 0;
	return outfile_write(w->groups, p->frames.buf + from->frame_at,
			     (size_t)g->facts_bytes, err);
}

static int
close_block_file(struct dataset_writer *w, struct error *err)
{
	struct outfile *f = w->blocks;

	w->blocks = NULL;
	return f ? outfile_place(f, err) : 0;
}

static int
next_block_file(struct dataset_writer *w, struct error *err)
{
	struct strbuf base = STRBUF_INIT;

	if (close_block_file(w, err) < 0)
		return -1;
	manifest_block_file(w->nfile, &base);
	w->blocks = outfile_open(io_join(&w->name, w->tmp.buf, base.buf), err);
	strbuf_release(&base);
	if (!w->blocks)
		return -1;
	w->nfile++;
	return 0;
}

static int
write_block(struct dataset_writer *w, const struct dataset_part *p,
	    const struct part_block *from, struct error *err)
{
	const struct index_block *b = &from->entry;
	struct index_block *at;

	if (w->without_rows || w->ngroup == 0 || b->group != w->ngroup - 1 ||
	    b->first_row != w->rows || b->nrow == 0)
		return disorder(w, "a block out of turn", err);
	if ((!w->blocks || outfile_tell(w->blocks) >= w->file_bytes) &&
	    next_block_file(w, err) < 0)
		return -1;
	mem_grow(&w->block, &w->block_cap, w->nblock + 1, sizeof(*w->block));
	at = &w->block[w->nblock++];
	*at = *b;
	at->offset = outfile_tell(w->blocks);
	at->file = w->nfile - 1;
	w->rows += b->nrow;
	w->group[w->ngroup - 1].nblock++;
	w->group[w->ngroup - 1].entries += from->entries;
	return outfile_write(w->blocks, p->frames.buf + from->frame_at,
			     (size_t)b->bytes, err);
}

static int
write_blocks(struct dataset_writer *w, const struct dataset_part *p,
	     size_t from, size_t to, struct error *err)
{
	for (; from < to; from++) {
		if (write_block(w, p, &p->block[from], err) < 0)
			return -1;
	}
	return 0;
}

int
dataset_writer_part(struct dataset_writer *w, const struct dataset_part *p,
		    struct error *err)
{
	size_t from = 0;

	for (size_t g = 0; g < p->ngroup; g++) {
		size_t to = p->group[g].nblock_before;

		if (write_blocks(w, p, from, to, err) < 0 ||
		    write_group(w, p, &p->group[g], err) < 0)
			return -1;
		from = to;
	}
	return write_blocks(w, p, from, p->nblock, err);
}

int
dataset_writer_group(struct dataset_writer *w, const struct schema *s,
		     const struct group_facts *f, struct error *err)
{
	dataset_part_reset(w->part);
	dataset_part_group(w->part, s, f);
	return dataset_writer_part(w, w->part, err);
}

int
dataset_writer_block(struct dataset_writer *w, const struct schema *s,
		     const struct block *b, struct error *err)
{
	dataset_part_reset(w->part);
	dataset_part_block(w->part, s, b);
	return dataset_writer_part(w, w->part, err);
}

static int
write_file(struct dataset_writer *w, const char *base,
	   const struct strbuf *bytes, struct error *err)
{
	struct outfile *f =
	    outfile_open(io_join(&w->name, w->tmp.buf, base), err);

	if (!f)
		return -1;
	if (outfile_write(f, bytes->buf, bytes->len, err) < 0) {
		outfile_drop(f);
		return -1;
	}
	return outfile_place(f, err);
}

static void
fill_totals(const struct index *ix, struct dataset_totals *t)
{
	t->groups = ix->ngroup;
	t->blocks = ix->nblock;
	t->rows = 0;
	for (int p = 0; p < PART_COUNT; p++) {
		t->rows_part[p] = 0;
		for (size_t i = 0; i < ix->ngroup; i++)
			t->rows_part[p] += ix->group[i].rows[p];
		t->rows += t->rows_part[p];
	}
}

/* The manifest is read back, so that nothing is made that could not be
 * opened. */
static int
write_manifest(struct dataset_writer *w, const struct manifest *m,
	       struct error *err)
{
	struct manifest back;

	strbuf_reset(&w->payload);
	manifest_put(m, &w->payload);
	if (manifest_get(&back, w->payload.buf, w->payload.len, err) < 0)
		return error_context(err, "%s", w->path);
	schema_release(&back.schema);
	return write_file(w, MANIFEST_FILE, &w->payload, err);
}

static int
write_tables(struct dataset_writer *w, const struct schema *s,
	     struct dataset_totals *totals, struct error *err)
{
	const struct index ix = {
	    .ngroup = w->ngroup,
	    .nblock = w->nblock,
	    .group = w->group,
	    .block = w->block,
	    .keys = w->keys.buf,
	    .keys_bytes = w->keys.len,
	};
	struct manifest m = {
	    .nfile = w->nfile, .schema = *s, .without_rows = w->without_rows};

	if (index_check(&ix, schema_key_fields(s), err) < 0)
		return error_context(err, "%s", w->path);
	strbuf_reset(&w->payload);
	index_encode(&ix, &w->payload);
	if (write_file(w, INDEX_FILE, &w->payload, err) < 0)
		return -1;
	fill_totals(&ix, totals);
	m.totals = *totals;
	m.index_fingerprint = index_fingerprint(&ix, schema_fingerprint(s));
	m.fingerprint = w->without_rows ? w->fingerprint : m.index_fingerprint;
	return write_manifest(w, &m, err);
}

int
dataset_writer_commit(struct dataset_writer *w, const struct schema *s,
		      struct dataset_totals *totals, struct error *err)
{
	struct outfile *groups = w->groups;
	int ret = -1;

	if (check_group_is_whole(w, err) < 0)
		goto out;
	w->groups = NULL;
	if (outfile_place(groups, err) < 0 || close_block_file(w, err) < 0 ||
	    write_tables(w, s, totals, err) < 0 ||
	    outdir_commit(w->tmp.buf, w->path, err) < 0)
		goto out;
	strbuf_reset(&w->tmp);
	ret = 0;
out:
	writer_free(w);
	return ret;
}
