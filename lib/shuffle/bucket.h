#ifndef KP_SHUFFLE_BUCKET_H
#define KP_SHUFFLE_BUCKET_H

/*
 * bucket - all records of an input in uniformly random order, whatever their
 * number and size, in bounded memory: the full shuffles `once` and `epoch`.
 *
 * Two passes.  bucket_add() sends each record to a random one of K buckets in
 * a temporary file; bucket_emit() reads one bucket after the other, permutes
 * its records in memory and hands them on.  Every order of the records is
 * equally likely: give each record a real number whose whole part is its
 * bucket and whose fraction is drawn uniformly and independently; sorting by
 * those numbers is what the two passes do, since records of one bucket are in
 * uniform order among themselves, and independent, identically distributed
 * numbers without ties are equally likely to be sorted any way.  A bucket too
 * large for memory goes through the same two passes by itself.
 *
 * The order is a function of the records and the spec alone.  It is not that
 * of order_tuples(), which has all tuples in memory, only as good.
 *
 * All buckets share one temporary file, as chains of chunks; a bucket that is
 * split again opens one more, so that two or three files are open at most.
 * They have no name: nothing is left behind, even by SIGKILL.  A full disk is
 * EXIT_CANNOT naming the folder.
 *
 *	once	bucket_add...(), bucket_finish(); bucket_emit() each epoch
 *	epoch	all of it each epoch, with the key of the epoch
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "shuffle/sink.h"

#define BUCKET_MEMORY_MIN ((uint64_t)4 << 20)

struct bucket_spec {
	const char *tmpdir;    /* borrowed */
	uint64_t key;	       /* of shuffle_key() */
	uint64_t memory_bytes; /* at most used; at least BUCKET_MEMORY_MIN */
	uint64_t expect_bytes; /* of all records, about; 0: unknown, slower */
};

struct bucket;

struct bucket *bucket_new(const struct bucket_spec *spec);
void bucket_free(struct bucket *b); /* NULL is legal */

/* A record of n bytes.  One that does not fit in memory is EXIT_USAGE, telling
 * the memory it needs. */
int bucket_add(struct bucket *b, const char *p, size_t n, struct error *err);
/* n records, number i being text[start[i]] .. text[start[i + 1] - 1]. */
int bucket_add_text(struct bucket *b, const char *text, const uint32_t *start,
		    size_t n, struct error *err);
/* After the last record, before the first is taken out. */
int bucket_finish(struct bucket *b, struct error *err);

/* Records number `first` to first + count - 1 of the order (those there are),
 * the same at each call.  Buckets before are not read. */
int bucket_emit(struct bucket *b, uint64_t first, uint64_t count,
		const struct shuffle_sink *sink, struct error *err);

uint64_t bucket_records(const struct bucket *b);
uint64_t bucket_file_bytes(const struct bucket *b);   /* the copy */
uint64_t bucket_memory_bytes(const struct bucket *b); /* the most so far */

#endif
