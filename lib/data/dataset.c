#include "data/dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/frame.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/groupkey.h"
#include "data/index.h"
#include "data/manifest.h"

struct dataset {
	char *path; /* absolute */
	struct manifest manifest;
	struct index index;
	struct strbuf name; /* of the file read last */
	struct strbuf buf;  /* its frame */
	int groups_fd;
	int block_fd; /* of block file block_file; -1: none yet */
	uint32_t block_file;
};

/* A folder that is not there, or has no manifest, is no dataset. */
static char *
find(const char *path, struct error *err)
{
	struct strbuf name = STRBUF_INIT;
	char *absolute = realpath(path, NULL);

	if ((absolute &&
	     access(io_join(&name, absolute, MANIFEST_FILE), R_OK) == 0)) {
		strbuf_release(&name);
		return absolute;
	}
	if (errno == ENOENT || errno == ENOTDIR)
		error_set(err, EXIT_CANNOT, "%s: not a dataset (no %s)", path,
			  MANIFEST_FILE);
	else
		error_sys(err, "%s", path);
	free(absolute);
	strbuf_release(&name);
	return NULL;
}

static int
read_manifest(struct dataset *d, struct error *err)
{
	strbuf_reset(&d->buf);
	io_join(&d->name, d->path, MANIFEST_FILE);
	if (io_read_file(d->name.buf, 0, &d->buf, err) < 0)
		return -1;
	if (manifest_get(&d->manifest, d->buf.buf, d->buf.len, err) < 0)
		return error_context(err, "%s", d->name.buf);
	return 0;
}

static int
read_index(struct dataset *d, struct error *err)
{
	strbuf_reset(&d->buf);
	io_join(&d->name, d->path, INDEX_FILE);
	if (io_read_file(d->name.buf, 0, &d->buf, err) < 0)
		return -1;
	if (index_decode(&d->index, schema_key_fields(&d->manifest.schema),
			 d->buf.buf, d->buf.len, err) < 0)
		return error_context(err, "%s", d->name.buf);
	strbuf_release(&d->buf);
	return 0;
}

/* Whether manifest and index are of one dataset. */
static int
check_together(const struct dataset *d, struct error *err)
{
	const struct index *ix = &d->index;
	const struct manifest *m = &d->manifest;
	uint64_t rows[PART_COUNT] = {0};
	uint64_t all = 0;
	size_t nfile =
	    ix->nblock ? (size_t)ix->block[ix->nblock - 1].file + 1 : 0;
	bool same = m->totals.groups == ix->ngroup &&
		    m->totals.blocks == ix->nblock && m->nfile == nfile;

	for (size_t i = 0; i < ix->ngroup; i++)
		for (int p = 0; p < PART_COUNT; p++)
			rows[p] += ix->group[i].rows[p];
	for (int p = 0; p < PART_COUNT; p++) {
		same = same && rows[p] == m->totals.rows_part[p];
		all += rows[p];
	}
	same = same && all == m->totals.rows &&
	       m->without_rows == (ix->ngroup && !ix->nblock);
	if (!same || index_fingerprint(ix, schema_fingerprint(&m->schema)) !=
			 m->index_fingerprint)
		return error_set(err, EXIT_CORRUPT,
				 "%s: %s and %s do not belong together",
				 d->path, MANIFEST_FILE, INDEX_FILE);
	return 0;
}

/* A file that cannot be had leaves the dataset incomplete, which is not the
 * system's fault, unless it is short of something. */
static int
unreadable(struct error *err)
{
	bool shortage = errno == EMFILE || errno == ENFILE || errno == ENOMEM;

	if (err->code == EXIT_CANNOT && !shortage)
		err->code = EXIT_CORRUPT;
	return -1;
}

struct dataset *
dataset_open_facts(const char *path, struct error *err)
{
	struct dataset *d = xcalloc(1, sizeof(*d));

	strbuf_init(&d->name);
	strbuf_init(&d->buf);
	d->groups_fd = d->block_fd = -1;
	d->path = find(path, err);
	if (!d->path || read_manifest(d, err) < 0 || read_index(d, err) < 0 ||
	    check_together(d, err) < 0)
		goto fail;
	d->groups_fd =
	    io_open_read(io_join(&d->name, d->path, GROUPS_FILE), err);
	if (d->groups_fd < 0) {
		unreadable(err);
		goto fail;
	}
	return d;
fail:
	dataset_free(d);
	return NULL;
}

/* That a block file is gone is better known before a run than in it. */
static int
check_block_files(struct dataset *d, struct error *err)
{
	struct strbuf base = STRBUF_INIT;
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < d->manifest.nfile; i++) {
		strbuf_reset(&base);
		manifest_block_file(i, &base);
		io_join(&d->name, d->path, base.buf);
		if (access(d->name.buf, R_OK) < 0) {
			error_sys(err, "%s", d->name.buf);
			ret = unreadable(err);
		}
	}
	strbuf_release(&base);
	return ret;
}

struct dataset *
dataset_open(const char *path, struct error *err)
{
	struct dataset *d = dataset_open_facts(path, err);
	int ret;

	if (!d)
		return NULL;
	if (dataset_has_rows(d))
		ret = check_block_files(d, err);
	else
		ret = error_set(err, EXIT_CORRUPT,
				"%s: has no rows: it was made from a stream",
				path);
	if (ret == 0)
		return d;
	dataset_free(d);
	return NULL;
}

void
dataset_free(struct dataset *d)
{
	if (!d)
		return;
	if (d->groups_fd >= 0)
		close(d->groups_fd);
	if (d->block_fd >= 0)
		close(d->block_fd);
	schema_release(&d->manifest.schema);
	index_release(&d->index);
	strbuf_release(&d->name);
	strbuf_release(&d->buf);
	free(d->path);
	free(d);
}

const char *
dataset_path(const struct dataset *d)
{
	return d->path;
}

bool
dataset_has_rows(const struct dataset *d)
{
	return !d->manifest.without_rows;
}

const struct schema *
dataset_schema(const struct dataset *d)
{
	return &d->manifest.schema;
}

const struct index *
dataset_index(const struct dataset *d)
{
	return &d->index;
}

const struct dataset_totals *
dataset_totals(const struct dataset *d)
{
	return &d->manifest.totals;
}

uint64_t
dataset_fingerprint(const struct dataset *d)
{
	return d->manifest.fingerprint;
}

int64_t
dataset_find_group(const struct dataset *d, const void *key, size_t key_bytes)
{
	size_t low = 0, high = d->index.ngroup;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct index_group *g = &d->index.group[mid];
		int order = groupkey_compare(d->index.keys + g->key_offset,
					     g->key_bytes, key, key_bytes);

		if (order == 0)
			return (int64_t)mid;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return -1;
}

/* The frame's own checksum, read last into d->buf. */
static uint64_t
frame_checksum(const struct dataset *d)
{
	struct cursor c = cursor_of(d->buf.buf, FRAME_HEADER_BYTES);

	get_raw(&c, FRAME_HEADER_BYTES - sizeof(uint64_t));
	return get_u64(&c);
}

static bool
facts_agree(const struct dataset *d, size_t group, const struct group_facts *f)
{
	const struct index_group *g = &d->index.group[group];

	return f->ordinal == group && f->key_bytes == g->key_bytes &&
	       memcmp(f->key, d->index.keys + g->key_offset, g->key_bytes) ==
		   0 &&
	       memcmp(f->rows, g->rows, sizeof(f->rows)) == 0 &&
	       f->all_train == ((g->flags & INDEX_ALL_TRAIN) != 0);
}

int
dataset_read_facts(struct dataset *d, size_t group, struct group_facts *f,
		   struct error *err)
{
	const struct index_group *g = &d->index.group[group];
	struct frame frame;

	*f = (struct group_facts){0};
	io_join(&d->name, d->path, GROUPS_FILE);
	if (frame_pread(d->groups_fd, d->name.buf, g->facts_offset,
			g->facts_bytes, &d->buf, &frame, err) < 0)
		return -1;
	if (frame.type != FRAME_GROUP || frame_checksum(d) != g->checksum)
		return error_set(err, EXIT_CORRUPT,
				 "%s: group %zu is not the one in the index",
				 d->name.buf, group);
	if (facts_get(f, &d->manifest.schema, frame.payload,
		      frame.payload_bytes, err) < 0)
		return error_context(err, "%s: group %zu", d->name.buf, group);
	if (facts_agree(d, group, f))
		return 0;
	facts_release(f);
	return error_set(err, EXIT_CORRUPT,
			 "%s: group %zu: facts and index disagree", d->name.buf,
			 group);
}

/* One block file is open at a time, so that a dataset of many needs few
 * descriptors. */
static int
open_block_file(struct dataset *d, size_t block, struct error *err)
{
	uint32_t file = d->index.block[block].file;
	struct strbuf base = STRBUF_INIT;

	manifest_block_file(file, &base);
	io_join(&d->name, d->path, base.buf);
	strbuf_release(&base);
	if (d->block_fd < 0 || d->block_file != file) {
		if (d->block_fd >= 0)
			close(d->block_fd);
		d->block_fd = open(d->name.buf, O_RDONLY | O_CLOEXEC);
		d->block_file = file;
	}
	strbuf_addf(&d->name, ": block %zu", block);
	return d->block_fd < 0 ? error_sys(err, "%s", d->name.buf) : 0;
}

int
dataset_read_block(struct dataset *d, size_t block,
		   const struct group_facts *facts, struct block *b,
		   struct error *err)
{
	const struct index_block *at = &d->index.block[block];
	struct frame frame;

	if (open_block_file(d, block, err) < 0 ||
	    frame_pread(d->block_fd, d->name.buf, at->offset, at->bytes,
			&d->buf, &frame, err) < 0)
		return unreadable(err);
	if (frame.type != FRAME_BLOCK ||
	    block_content(frame.payload, frame.payload_bytes) != at->content)
		return error_set(err, EXIT_CORRUPT,
				 "%s is not the one in the index", d->name.buf);
	if (block_decode(b, &d->manifest.schema, facts, frame.payload,
			 frame.payload_bytes, err) < 0)
		return error_context(err, "%s", d->name.buf);
	if (b->row_group || b->group != at->group ||
	    b->first_row != at->first_row || b->nrow != at->nrow)
		return error_set(err, EXIT_CORRUPT, "%s and index disagree",
				 d->name.buf);
	return 0;
}

/* Of the open block file only: it is not worth opening one. */
void
dataset_expect_block(struct dataset *d, size_t block)
{
	const struct index_block *at = &d->index.block[block];

	if (d->block_fd >= 0 && d->block_file == at->file)
		posix_fadvise(d->block_fd, (off_t)at->offset, (off_t)at->bytes,
			      POSIX_FADV_WILLNEED);
}
