#include "data/compress.h"

#include <limits.h>
#include <lz4.h>
#include <stdint.h>

bool
compress_add(struct strbuf *sb, const void *p, size_t n)
{
	int got;

	/* At most n - 1 bytes of room: larger is a failure to LZ4. */
	if (n < 2 || n > LZ4_MAX_INPUT_SIZE)
		return false;
	strbuf_reserve(sb, n);
	got = LZ4_compress_default(p, sb->buf + sb->len, (int)n, (int)n - 1);
	if (got <= 0)
		return false;
	sb->len += (size_t)got;
	sb->buf[sb->len] = '\0';
	return true;
}

int
compress_undo(const void *p, size_t n, void *out, size_t out_bytes)
{
	if (n > INT_MAX || out_bytes > LZ4_MAX_INPUT_SIZE)
		return -1;
	return LZ4_decompress_safe(p, out, (int)n, (int)out_bytes) ==
		       (int)out_bytes
		   ? 0
		   : -1;
}

size_t
compress_bound(size_t n)
{
	return n > (SIZE_MAX - 64) / 255 ? SIZE_MAX : 255 * n + 64;
}
