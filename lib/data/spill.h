#ifndef KP_DATA_SPILL_H
#define KP_DATA_SPILL_H

/*
 * spill - rows gathered by group in bounded memory.
 *
 * Rows come in any order, each with its group's key (groupkey) and beginning
 * with its own length (u32, host order, itself included).  They leave group
 * by group in groupkey order, a group's rows in the order they came.  What
 * does not fit in memory is written to an unlinked file in tmpdir as runs
 * sorted by key; more than SPILL_FANIN runs are merged to fewer.  At most two
 * files are open, whatever the number of runs and groups.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"

#define SPILL_FANIN 32

struct spill;

/* About memory_bytes are used; tmpdir is borrowed. */
struct spill *spill_new(const char *tmpdir, uint64_t memory_bytes);
void spill_free(struct spill *s); /* NULL is legal */

int spill_add(struct spill *s, const void *key, size_t key_bytes,
	      const void *row, size_t row_bytes, struct error *err);
/* After the last row, before the first group. */
int spill_finish(struct spill *s, struct error *err);

/* 1: *key is the next group, valid until the next call; 0: no more; -1. */
int spill_next_group(struct spill *s, const void **key, size_t *key_bytes,
		     struct error *err);
/* Bytes of all rows of that group. */
uint64_t spill_group_bytes(const struct spill *s);

/* The rows of a group, read any number of times. */
struct spill_rows {
	struct spill *spill;		   /* NULL: in memory */
	const struct piece *first, *piece; /* in memory */
};

/* Those of the group given last: to be read until the next one is asked for.
 * What is spilled is first read into `copy`, if that is not NULL; rows in
 * memory, there or in a copy, may be read by any thread, for as long as these
 * are there. */
int spill_open_rows(struct spill *s, struct strbuf *copy, struct spill_rows *r,
		    struct error *err);
/* Back to the first row. */
void spill_rewind(struct spill_rows *r);
/* 1: whole rows one after the other, valid until the next call; 0: no more
 * in this group; -1. */
int spill_next_rows(struct spill_rows *r, const uint8_t **p, size_t *n,
		    struct error *err);

uint64_t spill_bytes_written(const struct spill *s); /* to files */

#endif
