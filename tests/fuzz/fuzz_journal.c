/* Any bytes as a journal of plan 1, and as the payload of each kind of frame
 * in one: every record that is read lies within the bytes, and a reading that
 * finds no fault finds none in its own prefix. */
#include <stdlib.h>
#include <string.h>
#include "base/frame.h"
#include "exec/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	const uint8_t *data;
	size_t size, records;
};

static void
touch(const struct seen *s, const void *p, size_t n)
{
	const uint8_t *b = p;

	if (n > 0 && (b < s->data || n > (size_t)(s->data + s->size - b)))
		abort();
}

static int
see_trial(void *ctx, const struct trial *t)
{
	(void)t;
	((struct seen *)ctx)->records++;
	return 0;
}

static int
see_done(void *ctx, const struct trial_done *t)
{
	if (strnlen(t->reason, sizeof t->reason) == sizeof t->reason)
		abort();
	touch(ctx, t->model, t->model_bytes);
	((struct seen *)ctx)->records++;
	return 0;
}

static int
see_state(void *ctx, const struct trial_state *s)
{
	touch(ctx, s->state, s->n);
	((struct seen *)ctx)->records++;
	return 0;
}

static int
see_unit(void *ctx, const struct unit *u)
{
	(void)u;
	((struct seen *)ctx)->records++;
	return 0;
}

/* Records seen, or -1 if refused. */
static long
read_all(const uint8_t *data, size_t size)
{
	struct seen s = {data, size, 0};
	struct journal_reader r = {see_trial, see_done, see_state, see_unit,
				   &s};
	struct error err = ERROR_NONE;

	if (journal_read_bytes(data, size, "fuzz", 1, &r, &err))
		return -1;
	return (long)s.records;
}

static void
read_as_payload(const uint8_t *data, size_t size)
{
	struct strbuf sb = STRBUF_INIT, head = STRBUF_INIT;

	put_u32(&head, 1);
	put_u32(&head, 0);
	put_u64(&head, 1);
	for (uint32_t type = FRAME_JOURNAL; type <= FRAME_UNITS; type++) {
		strbuf_reset(&sb);
		frame_add(&sb, FRAME_JOURNAL, head.buf, head.len);
		frame_add(&sb, type, data, size);
		read_all((const uint8_t *)sb.buf, sb.len);
	}
	strbuf_release(&sb);
	strbuf_release(&head);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	long whole = read_all(data, size);

	if (whole >= 0 && size > 0) {
		long part = read_all(data, size - 1);

		if (part < 0 || part > whole)
			abort();
	}
	read_as_payload(data, size);
	return 0;
}
