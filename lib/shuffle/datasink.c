#include "shuffle/datasink.h"

#include <stdlib.h>
#include "base/io.h"
#include "base/mem.h"
#include "data/rowtext.h"
#include "data/stream.h"

#define PIECE_ROWS 65536
#define PIECE_BYTES ((uint64_t)1 << 20)

struct datasink {
	struct datasink_spec spec;
	struct stream_writer *stream; /* NULL: CSV */
	struct strbuf text;
	uint64_t text_bytes; /* written */
	struct block block;  /* the piece */
	struct row_ref *ref; /* [PIECE_ROWS] where its rows are */
	uint64_t row_bytes;  /* of a row, decoded, but for sparse entries */
	bool sparse;
};

static int
flush_text(struct datasink *k, struct error *err)
{
	int ret = io_write_all(k->spec.fd, k->text.buf, k->text.len,
			       k->spec.name, err);

	k->text_bytes += k->text.len;
	strbuf_reset(&k->text);
	return ret;
}

static int
begin(struct datasink *k, struct error *err)
{
	const struct datasink_spec *p = &k->spec;

	if (!p->csv) {
		k->stream = stream_writer_new(p->fd, p->name, p->s,
					      p->fingerprint, err);
		return k->stream ? 0 : -1;
	}
	if (!p->header)
		return 0;
	rowtext_header(p->s, &k->text);
	return flush_text(k, err);
}

struct datasink *
datasink_new(const struct datasink_spec *spec, struct error *err)
{
	struct datasink *k = xcalloc(1, sizeof(*k));

	k->spec = *spec;
	strbuf_init(&k->text);
	k->ref = xcalloc(PIECE_ROWS, sizeof(*k->ref));
	k->row_bytes =
	    block_memory(spec->s, PIECE_ROWS, 0, true, true) / PIECE_ROWS;
	for (size_t i = 0; i < spec->s->nfeature; i++)
		k->sparse |= spec->s->feature[i].kind == FEATURE_SPARSE;
	if (begin(k, err) == 0)
		return k;
	datasink_free(k);
	return NULL;
}

void
datasink_free(struct datasink *k)
{
	if (!k)
		return;
	stream_writer_free(k->stream);
	strbuf_release(&k->text);
	block_release(&k->block);
	free(k->ref);
	free(k);
}

size_t
datasink_piece(const struct datasink *k, const struct rowset *rs,
	       const uint32_t *row, size_t n)
{
	uint64_t bytes = 0;
	size_t most = n < PIECE_ROWS ? n : PIECE_ROWS;

	if (!k->sparse) {
		uint64_t rows = PIECE_BYTES / k->row_bytes + 1;

		return most < rows ? most : (size_t)rows;
	}
	for (size_t i = 0; i < most; i++) {
		struct row_ref at = rowset_find(rs, row[i]);

		if (bytes >= PIECE_BYTES)
			return i;
		bytes += k->row_bytes + 12 * mix_entries(&rs->block[at.block],
							 k->spec.s, at.row);
	}
	return most;
}

static int
write_stream(struct datasink *k, const struct rowset *rs, size_t n,
	     struct error *err)
{
	uint32_t last = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		uint32_t block = k->ref[i].block;

		if (block != last &&
		    stream_writer_group(k->stream, &rs->facts[block]->facts,
					err) < 0)
			return -1;
		last = block;
	}
	return stream_writer_block(k->stream, &k->block, err);
}

static int
write_text(struct datasink *k, const struct rowset *rs, size_t n,
	   struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		rowtext_row(k->spec.s, &k->block, (uint32_t)i,
			    &rs->facts[k->ref[i].block]->facts, &k->text);
		if (k->text.len >= PIECE_BYTES && flush_text(k, err) < 0)
			return -1;
	}
	return flush_text(k, err);
}

int
datasink_rows(struct datasink *k, const struct rowset *rs, const uint32_t *row,
	      size_t n, uint64_t position, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		k->ref[i] = rowset_find(rs, row[i]);
	/* For text too: by column, rows from all over a buffer are soon got. */
	mix_rows(&k->block, k->spec.s, rs->block, rs->n, k->ref, (uint32_t)n);
	k->block.first_row = position;
	return k->spec.csv ? write_text(k, rs, n, err)
			   : write_stream(k, rs, n, err);
}

int
datasink_place(struct datasink *k, uint64_t epoch, uint64_t rows,
	       struct error *err)
{
	return k->spec.csv ? 0
			   : stream_writer_place(k->stream, epoch, rows, err);
}

int
datasink_epoch(struct datasink *k, uint64_t epoch, uint64_t rows,
	       struct error *err)
{
	return k->spec.csv ? 0
			   : stream_writer_epoch(k->stream, epoch, rows, err);
}

uint64_t
datasink_bytes(const struct datasink *k)
{
	return k->text_bytes + (k->stream ? stream_writer_bytes(k->stream) : 0);
}
