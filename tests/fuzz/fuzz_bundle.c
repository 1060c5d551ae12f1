/*
 * Any bytes as a bundle.  Checksums would stop nearly all of them, so frames
 * and trailer are sealed anew first: what is read then is damage that came
 * with a sound checksum.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/frame.h"
#include "base/hash.h"
#include "base/io.h"
#include "model/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TRAILER_BYTES 32

/* The bytes again, every frame and the trailer with its right checksum, the
 * INDEX frame where the trailer says. */
static void
seal(const uint8_t *data, size_t size, struct strbuf *out)
{
	size_t body = size < TRAILER_BYTES ? 0 : size - TRAILER_BYTES, at = 0;
	size_t last = 0;
	struct cursor version = cursor_of(data + body + 4, body ? 4 : 0);
	struct strbuf trailer = STRBUF_INIT;

	while (body - at >= FRAME_HEADER_BYTES) {
		struct cursor c = cursor_of(data + at + 4, 12);
		uint32_t type = get_u32(&c);
		uint64_t n = get_u64(&c), left = body - at - FRAME_HEADER_BYTES;

		n = n < left ? n : left;
		last = out->len;
		frame_add(out, type, data + at + FRAME_HEADER_BYTES, (size_t)n);
		at += FRAME_HEADER_BYTES + (size_t)n;
	}
	strbuf_addstr(&trailer, "kpmE");
	put_u32(&trailer, body ? get_u32(&version) : BUNDLE_VERSION);
	put_u64(&trailer, last);
	put_u64(&trailer, out->len - last);
	put_u64(&trailer, hash64(trailer.buf, trailer.len));
	strbuf_add(out, trailer.buf, trailer.len);
	strbuf_release(&trailer);
}

static void
use_model(const struct bundle_header *h, const struct group_facts *f,
	  const struct bundle_entry *e)
{
	const struct learner *l = h->learner;
	struct arena arena = {0};
	struct error err;
	struct model *m;
	struct view *v;
	size_t n;

	if (!e->model_bytes)
		return;
	v = l->view_new(h->schema, f, &h->config[e->config], &err);
	if (!v)
		return;
	m = l->model_load(v, e->model, e->model_bytes, &err);
	if (m) {
		l->coefficients(m, &arena, &n);
		l->model_free(m);
	}
	l->view_free(v);
	arena_release(&arena);
}

static void
read_all(const char *path)
{
	struct error err;
	struct bundle *b = bundle_open(path, true, &err);

	for (size_t i = 0; b && i < bundle_groups(b); i++) {
		struct bundle_entry e;
		struct group_facts f;
		const char *key;
		size_t n;

		key = bundle_key(b, i, &n);
		if (bundle_find(b, key, n) != (int64_t)i)
			abort();
		if (bundle_read(b, i, &f, &e, &err) < 0)
			continue;
		use_model(bundle_header_of(b), &f, &e);
		facts_release(&f);
	}
	bundle_free(b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf sealed = STRBUF_INIT;
	struct error err;
	char path[64];
	int fd = memfd_create("bundle", 0);

	if (fd < 0)
		return 0;
	seal(data, size, &sealed);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (io_write_all(fd, sealed.buf, sealed.len, path, &err) == 0)
		read_all(path);
	close(fd);
	strbuf_release(&sealed);
	return 0;
}
