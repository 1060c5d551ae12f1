#include "data/rowspan.h"

#include <stdlib.h>
#include "base/mem.h"
#include "data/lane.h"

#define WINDOW_MIN_BYTES ((size_t)4 << 10)
#define WINDOW_MAX_BYTES ((size_t)32 << 10)
#define FIELD_BYTES 8 /* a guess */

void
rowspan_init(struct rowspan *s, const struct record_format *format,
	     size_t nfield)
{
	size_t window = ROWSPAN_ROWS * FIELD_BYTES * nfield;

	if (window < WINDOW_MIN_BYTES)
		window = WINDOW_MIN_BYTES;
	if (window > WINDOW_MAX_BYTES)
		window = WINDOW_MAX_BYTES;
	*s = (struct rowspan){
	    .kernel = rowquick_kernel_choose(),
	    .delimiter = format->delimiter,
	    .quote = format->quoted ? '"' : '\r',
	    .nfield = nfield,
	    .window_bytes = window,
	};
	s->index.offset = xcalloc(2 * window, sizeof(*s->index.offset));
	s->span = xcalloc(ROWSPAN_ROWS * nfield, sizeof(*s->span));
}

void
rowspan_release(struct rowspan *s)
{
	free(s->index.offset);
	free(s->span);
	*s = (struct rowspan){0};
}

/* --- index --- */

/* Whether all lines of the window are simple rows: fields without quotes, ended
 * by LF, as most are. */
static bool
all_simple(const struct rowspan *s)
{
	const struct rowquick_index *ix = &s->index;
	size_t last = s->nfield - 1;

	if (ix->other || ix->nline * s->nfield > ix->n)
		return false;
	/* With so many at these places none is at another. */
	for (size_t r = 0; r < ix->nline; r++, last += s->nfield) {
		if (s->p[ix->offset[last]] != '\n')
			return false;
	}
	return true;
}

void
rowspan_open(struct rowspan *s, const char *p, size_t n)
{
	if (n > s->window_bytes)
		n = s->window_bytes;
	s->kernel->index(p, n, s->delimiter, s->quote, &s->index);
	s->p = p;
	s->at = s->entry = 0;
	s->simple = all_simple(s) ? s->index.nline : 0;
}

/* --- rows --- */

/* How many rows, `most` at most, are simple. */
static size_t
count_simple(const struct rowspan *s, size_t most)
{
	const uint32_t *offset = s->index.offset + s->entry;
	size_t last = s->nfield - 1, n = 0;
	const char *p = s->p;

	if (s->simple)
		return s->simple < most ? s->simple : most;
	if (most > (s->index.n - s->entry) / s->nfield)
		most = (s->index.n - s->entry) / s->nfield;
	for (; n < most; n++, offset += s->nfield) {
		char other = p[offset[last]] ^ '\n';

		for (size_t k = 0; k < last; k++)
			other |= p[offset[k]] ^ s->delimiter;
		if (other)
			break;
	}
	return n;
}

/* Splits n rows of that kind. */
static void
split_simple(struct rowspan *s, size_t row, size_t n)
{
	const uint32_t *index = s->index.offset + s->entry;
	struct span *to = s->span + row * s->nfield;
	size_t k = n * s->nfield;

	to[0] = (struct span){(uint32_t)s->at, index[0]};
	for (size_t i = 1; i < k; i++)
		to[i] = (struct span){index[i - 1] + 1, index[i]};
	s->at = index[k - 1] + 1;
	s->entry += k;
	s->simple -= s->simple ? n : 0;
}

/* The entry of the quote that closes the one at entry i, where the field is
 * all between them; 0 if it is anything else. */
static size_t
closing_quote(const struct rowspan *s, size_t i)
{
	const uint32_t *index = s->index.offset;
	const char *p = s->p;
	size_t k = i + 1;

	while (k < s->index.n && p[index[k]] == s->delimiter)
		k++;
	if (k + 1 >= s->index.n || p[index[k]] != '"' ||
	    index[k + 1] != index[k] + 1 || p[index[k + 1]] == '"')
		return 0;
	return k;
}

/* Splits one row, with quotes or another line end: false if it is not plain,
 * or not all there. */
static bool
split_other(struct rowspan *s, size_t row)
{
	struct span *f = s->span + row * s->nfield, *end = f + s->nfield;
	const uint32_t *index = s->index.offset;
	const char *p = s->p;
	size_t i = s->entry, at = s->at;

	while (i < s->index.n && f < end) {
		uint32_t pos = index[i++], quoted = 0;
		char c = p[pos];

		if (c == '"') {
			if (pos != at || !(i = closing_quote(s, i - 1)))
				return false;
			quoted = 1;
			pos = index[i + 1];
			i += 2;
			c = p[pos];
		}
		*f++ = (struct span){(uint32_t)at + quoted, pos - quoted};
		at = (size_t)pos + 1;
		if (c == s->delimiter)
			continue;
		if (f != end)
			return false;
		if (c == '\r') {
			/* what follows must be there to be known */
			if (i == s->index.n)
				return false;
			if (index[i] == at && p[at] == '\n') {
				at++;
				i++;
			}
		}
		s->at = at;
		s->entry = i;
		return true;
	}
	return false;
}

size_t
rowspan_next(struct rowspan *s)
{
	size_t n = 0;

	while (n < ROWSPAN_ROWS) {
		size_t simple = count_simple(s, ROWSPAN_ROWS - n);

		if (simple)
			split_simple(s, n, simple);
		else if (!split_other(s, n))
			break;
		n += simple ? simple : 1;
	}
	return n;
}

size_t
rowspan_row_at(const struct rowspan *s, size_t r)
{
	size_t at = s->span[r * s->nfield].at;

	/* Rows end in no quote. */
	return at - (at > 0 && s->quote == '"' && s->p[at - 1] == '"');
}
