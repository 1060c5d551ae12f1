#ifndef KP_BASE_HASH_H
#define KP_BASE_HASH_H

/*
 * hash - XXH3, 64 bits, the one hash of kp: checksums, keys, dictionaries,
 * splits.  The bits are part of the file formats and never change.
 */

#include <stddef.h>
#include <stdint.h>

uint64_t hash64(const void *p, size_t n);
uint64_t hash64_seeded(const void *p, size_t n, uint64_t seed);

/* A hash of bytes that come in pieces; the pieces' borders do not matter. */
struct hash_stream;
struct hash_stream *hash_stream_new(uint64_t seed);
void hash_stream_add(struct hash_stream *h, const void *p, size_t n);
uint64_t hash_stream_value(const struct hash_stream *h);
void hash_stream_free(struct hash_stream *h);

#endif
