#ifndef KP_BASE_FRAME_H
#define KP_BASE_FRAME_H

/*
 * frame - the checksummed record from which streams, dictionaries, block
 * files, journals and bundles are made.
 *
 *	bytes  field
 *	4      magic "kpF1"
 *	4      type, u32 (the file format's own; never 0)
 *	8      payload length, u64
 *	8      XXH3-64 of type, length and payload, u64
 *	n      payload
 *
 * All numbers little-endian.  A torn or altered frame is told apart from a
 * clean end, so a journal can cut its tail and a dataset can refuse.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"

#define FRAME_HEADER_BYTES 24
#define FRAME_PAYLOAD_MAX ((uint64_t)1 << 40)

struct frame {
	uint32_t type;
	const uint8_t *payload; /* borrowed from the buffer parsed */
	size_t payload_bytes;
};

/* Appends a whole frame to sb. */
void frame_add(struct strbuf *sb, uint32_t type, const void *payload,
               size_t payload_bytes);

/* Whether these 4 bytes are those that a frame begins with. */
bool frame_begins(const void *p);

enum frame_status {
	FRAME_OK,
	FRAME_END,  /* no bytes left */
	FRAME_TORN, /* fewer bytes than the frame needs */
	FRAME_BAD,  /* wrong magic, length or checksum */
};

/* Reads the frame at p; *used is its whole size when FRAME_OK. */
enum frame_status frame_parse(const void *p, size_t n, struct frame *f,
                              size_t *used);

/* Reads the frame at `offset` of fd into buf (reused) and checks it; anything
 * but FRAME_OK is EXIT_CORRUPT naming file and offset.  f borrows from buf. */
int frame_pread(int fd, const char *name, uint64_t offset, uint64_t bytes,
                struct strbuf *buf, struct frame *f, struct error *err);

#endif
