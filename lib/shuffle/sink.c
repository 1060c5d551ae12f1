#include "shuffle/sink.h"

#include <stdlib.h>
#include "base/mem.h"

void
sink_buffer_init(struct sink_buffer *s, const struct shuffle_sink *sink)
{
	s->sink = *sink;
	s->buf = xmalloc(SINK_BYTES);
	s->n = 0;
}

void
sink_buffer_release(struct sink_buffer *s)
{
	free(s->buf);
	s->buf = NULL;
}

int
sink_flush(struct sink_buffer *s, struct error *err)
{
	size_t n = s->n;

	s->n = 0;
	return n ? s->sink.write(s->sink.ctx, s->buf, n, err) : 0;
}

int
sink_put_large(struct sink_buffer *s, const char *p, size_t n,
	       struct error *err)
{
	if (sink_flush(s, err) < 0)
		return -1;
	if (n > SINK_BYTES)
		return s->sink.write(s->sink.ctx, p, n, err);
	memcpy(s->buf, p, n);
	s->n = n;
	return 0;
}
