/* Any bytes as a text file, against a plain reading of the same rules; the
 * first byte chooses the format.  Fields are also tried as numbers, against
 * strtod, and as dates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/strbuf.h"
#include "data/compressed.h"
#include "data/datetime.h"
#include "data/number.h"
#include "data/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                             \
	do {                                                                   \
		if (!(cond))                                                   \
			abort();                                               \
	} while (0)

/* The plain reading: byte by byte, fields each with its length in front. */
struct plain {
	const struct record_format *format;
	const char *p, *end;
	struct strbuf fields;
	size_t nfield;
	bool quoted; /* so was the last field */
};

static bool
at_space(const struct plain *r)
{
	return r->format->trim && r->p < r->end &&
	       (*r->p == ' ' || *r->p == '\t') &&
	       (r->format->whole_line || *r->p != r->format->delimiter);
}

static bool
at_end(const struct plain *r)
{
	return r->p == r->end || *r->p == '\n' || *r->p == '\r' ||
	       (!r->format->whole_line && *r->p == r->format->delimiter);
}

static bool
plain_quoted(struct plain *r, struct strbuf *text)
{
	for (r->p++;; r->p++) {
		if (r->p == r->end)
			return false;
		if (*r->p == '"') {
			if (r->p + 1 == r->end || r->p[1] != '"')
				break;
			r->p++;
		}
		strbuf_addch(text, *r->p);
	}
	r->p++;
	while (at_space(r))
		r->p++;
	return at_end(r);
}

static bool
plain_field(struct plain *r, struct strbuf *text)
{
	bool quoting = r->format->quoted && !r->format->whole_line;

	while (at_space(r))
		r->p++;
	r->quoted = quoting && r->p < r->end && *r->p == '"';
	if (r->quoted)
		return plain_quoted(r, text);
	for (; !at_end(r); r->p++) {
		if (quoting && *r->p == '"')
			return false;
		strbuf_addch(text, *r->p);
	}
	while (r->format->trim && text->len > 0 &&
	       strchr(" \t", text->buf[text->len - 1]) &&
	       text->buf[text->len - 1] != '\0')
		strbuf_truncate(text, text->len - 1);
	return true;
}

/* One record, blank ones too; -1 if it is malformed. */
static int
plain_record(struct plain *r)
{
	struct strbuf text = STRBUF_INIT;
	int ret = -1;

	strbuf_reset(&r->fields);
	for (r->nfield = 1;; r->nfield++) {
		strbuf_reset(&text);
		if (!plain_field(r, &text))
			goto out;
		strbuf_addf(&r->fields, "%zu:", text.len);
		strbuf_add(&r->fields, text.buf, text.len);
		if (r->p == r->end || *r->p == '\n' || *r->p == '\r')
			break;
		r->p++;
	}
	if (r->p < r->end && *r->p == '\r' && r->p + 1 < r->end &&
	    r->p[1] == '\n')
		r->p++;
	if (r->p < r->end)
		r->p++;
	ret = 1;
out:
	strbuf_release(&text);
	return ret;
}

static int
plain_next(struct plain *r)
{
	while (r->p < r->end) {
		int got = plain_record(r);
		bool blank = got > 0 && r->nfield == 1 && !r->quoted &&
			     r->fields.len == 2;
		if (!blank || r->format->keep_blank)
			return got;
	}
	return 0;
}

static void
try_number(const struct field *f)
{
	char *text = xmemdup(f->p, f->n), *end;
	double d, want = strtod(text, &end);
	float x;
	enum number_status status = number_f64(f->p, f->n, &d);

	MUST(number_f32(f->p, f->n, &x) == status ||
	     status == NUMBER_OK); /* too large for a float alone */
	number_needs_f64(f->p, f->n);
	if (status == NUMBER_OK) {
		float narrow = strtof(text, NULL);
		MUST(end == text + f->n && memcmp(&d, &want, sizeof d) == 0);
		MUST(memcmp(&x, &narrow, sizeof x) == 0);
	} else if (status == NUMBER_HUGE) {
		MUST(end == text + f->n && (want > 1e140 || want < -1e140));
	} else if (status == NUMBER_NONFINITE) {
		MUST(end == text + f->n && !isfinite(want));
	} else if (f->n > 0 && end == text + f->n) {
		/* what strtod alone takes: space, hexadecimal, nan(...) */
		MUST(strpbrk(text, " \t\n\v\f\rxX("));
	}
	free(text);
}

static void
try_datetime(const struct field *f)
{
	static const char *const FORMATS[] = {
	    NULL, "%d/%b/%y %I:%M %p", "%s", "%Y-%jT%H%M%S.%f%z", "%m %d %Y%%",
	};

	for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
		struct datetime dt;
		if (datetime_parse(f->p, f->n, FORMATS[i], &dt) < 0)
			continue;
		MUST(dt.month >= 1 && dt.month <= 12);
		MUST(dt.weekday >= 1 && dt.weekday <= 7);
		MUST(dt.hour >= 0 && dt.hour <= 23);
		MUST(dt.day > -719164 && dt.day < 2932899);
	}
}

static void
compare(const struct record *rec, const struct plain *want)
{
	struct strbuf got = STRBUF_INIT;

	for (size_t i = 0; i < rec->nfield; i++) {
		const struct field *f = &rec->field[i];
		strbuf_addf(&got, "%zu:", f->n);
		strbuf_add(&got, f->p, f->n);
		MUST(f->column >= 1 && f->column <= rec->raw_bytes + 1);
		try_number(f);
		try_datetime(f);
	}
	MUST(rec->nfield == want->nfield);
	MUST(got.len == want->fields.len);
	MUST(memcmp(got.buf, want->fields.buf, got.len) == 0);
	strbuf_release(&got);
}

/* The byte at a field's line and column is where the field starts: behind a
 * delimiter, or at the record's start. */
static void
check_places(const struct record *rec, char delimiter)
{
	const char *p = rec->raw, *line = p, *end = p + rec->raw_bytes;
	uint32_t at = 0;

	for (size_t i = 0; i < rec->nfield; i++) {
		for (; at < rec->field[i].line; at++) {
			p = line;
			while (*p != '\n' && *p != '\r')
				p++;
			p +=
			    p[0] == '\r' && p + 1 < end && p[1] == '\n' ? 2 : 1;
			line = p;
		}
		p = line + rec->field[i].column - 1;
		MUST(p <= end && (p == rec->raw || p[-1] == delimiter));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char DELIMITERS[] = ",\t; ";
	struct record_format format;
	struct plain want = {.fields = STRBUF_INIT};
	struct record_reader *r;
	struct record rec;
	struct error err;
	int got;

	if (size == 0)
		return 0;
	format.quoted = data[0] & 1;
	format.trim = data[0] & 2;
	format.keep_blank = data[0] & 4;
	format.whole_line = data[0] & 8;
	format.delimiter = DELIMITERS[(data[0] >> 4) & 3];
	want.format = &format;
	want.p = (const char *)data + 1;
	want.end = want.p + size - 1;
	if (compressed_refuse("fuzz", want.p, size - 1, &err) < 0)
		return 0;
	if (size >= 4 && memcmp(want.p, "\xef\xbb\xbf", 3) == 0)
		want.p += 3;
	r = record_reader_of(&format, data + 1, size - 1, "fuzz");
	do {
		got = record_next(r, &rec, &err);
		MUST(got == plain_next(&want));
		if (got > 0) {
			compare(&rec, &want);
			MUST(memcmp(want.p - rec.raw_bytes, rec.raw,
				    rec.raw_bytes) == 0);
			if (!format.whole_line)
				check_places(&rec, format.delimiter);
		}
	} while (got > 0);
	record_reader_free(r);
	strbuf_release(&want.fields);
	return 0;
}
