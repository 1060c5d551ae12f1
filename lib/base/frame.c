#include "base/frame.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include "base/bytes.h"
#include "base/hash.h"
#include "base/io.h"

static const char magic[4] = {'k', 'p', 'F', '1'};

/* Of type and length (the 12 bytes behind the magic) and payload. */
static uint64_t
checksum(const void *head, const void *payload, size_t payload_bytes)
{
	struct hash_stream *h = hash_stream_new(0);
	uint64_t sum;

	hash_stream_add(h, (const uint8_t *)head + 4, 12);
	hash_stream_add(h, payload, payload_bytes);
	sum = hash_stream_value(h);
	hash_stream_free(h);
	return sum;
}

void
frame_add(struct strbuf *sb, uint32_t type, const void *payload,
	  size_t payload_bytes)
{
	size_t start = sb->len;

	strbuf_reserve(sb, FRAME_HEADER_BYTES + payload_bytes);
	strbuf_add(sb, magic, sizeof(magic));
	put_u32(sb, type);
	put_u64(sb, payload_bytes);
	put_u64(sb, checksum(sb->buf + start, payload, payload_bytes));
	strbuf_add(sb, payload, payload_bytes);
}

bool
frame_begins(const void *p)
{
	return memcmp(p, magic, sizeof(magic)) == 0;
}

enum frame_status
frame_parse(const void *p, size_t n, struct frame *f, size_t *used)
{
	struct cursor c = cursor_of(p, n);
	const uint8_t *head = p;
	uint64_t payload_bytes, sum;

	if (n == 0)
		return FRAME_END;
	if (memcmp(head, magic, n < sizeof(magic) ? n : sizeof(magic)) != 0)
		return FRAME_BAD;
	if (n < FRAME_HEADER_BYTES)
		return FRAME_TORN;
	get_raw(&c, sizeof(magic));
	f->type = get_u32(&c);
	payload_bytes = get_u64(&c);
	sum = get_u64(&c);
	if (f->type == 0 || payload_bytes > FRAME_PAYLOAD_MAX)
		return FRAME_BAD;
	if (payload_bytes > cursor_left(&c))
		return FRAME_TORN;
	f->payload = c.p;
	f->payload_bytes = (size_t)payload_bytes;
	if (checksum(head, f->payload, f->payload_bytes) != sum)
		return FRAME_BAD;
	*used = FRAME_HEADER_BYTES + f->payload_bytes;
	return FRAME_OK;
}

int
frame_pread(int fd, const char *name, uint64_t offset, uint64_t bytes,
	    struct strbuf *buf, struct frame *f, struct error *err)
{
	struct stat st;
	size_t used;

	/* The size is looked at first: a damaged index must not make us
	 * allocate what the file cannot hold. */
	if (fstat(fd, &st) < 0)
		return error_sys(err, "%s", name);
	if (offset > (uint64_t)st.st_size ||
	    bytes > (uint64_t)st.st_size - offset)
		return error_set(err, EXIT_CORRUPT,
				 "%s: truncated: no frame of %" PRIu64
				 " bytes at byte %" PRIu64,
				 name, bytes, offset);
	strbuf_reset(buf);
	strbuf_reserve(buf, (size_t)bytes);
	if (io_pread_all(fd, buf->buf, (size_t)bytes, offset, name, err) < 0)
		return -1;
	buf->len = (size_t)bytes;
	buf->buf[buf->len] = '\0';
	if (frame_parse(buf->buf, buf->len, f, &used) != FRAME_OK ||
	    used != buf->len)
		return error_set(err, EXIT_CORRUPT,
				 "%s: damaged frame at byte %" PRIu64, name,
				 offset);
	return 0;
}
