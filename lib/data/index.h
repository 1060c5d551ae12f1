#ifndef KP_DATA_INDEX_H
#define KP_DATA_INDEX_H

/*
 * index - the file index.kpi of a dataset: what groups and blocks there are
 * and where; struct index itself is in dataset.h.  Offsets, group numbers and
 * first rows follow from order and sizes, so they are not stored and cannot
 * disagree.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "data/dataset.h"

/* Appends the bytes of the file. */
void index_encode(const struct index *ix, struct strbuf *sb);
/* Checks everything; keys must have key_fields fields.  The caller releases
 * ix; on failure (EXIT_CORRUPT) it is empty. */
int index_decode(struct index *ix, size_t key_fields, const void *p, size_t n,
		 struct error *err);
void index_release(struct index *ix);

/* Whether tables and keys agree: rows of blocks with those of their group
 * (unless there is no block at all), keys ascending, files in turn.
 * EXIT_CORRUPT. */
int index_check(const struct index *ix, size_t key_fields, struct error *err);

uint64_t index_fingerprint(const struct index *ix, uint64_t schema);

#endif
