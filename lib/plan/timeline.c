#include "plan/timeline.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/jsonio.h"
#include "base/mem.h"

/* Ten keys, five u32, two u64, two times of up to 17 bytes. */
#define LINE_BYTES_MAX 320
#define PIECE_BYTES 65536

static const char *const kind_name[] = {"train", "score", "load", NULL};

const char *
unit_kind_name(enum unit_kind k)
{
	return kind_name[k];
}

/* By hand: printf() would take longer than all else that a unit costs. */
static char *
put_count(char *p, uint64_t v)
{
	char digit[20];
	int n = 0;

	do {
		digit[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		*p++ = digit[--n];
	return p;
}

static char *
put_text(char *p, const char *s)
{
	size_t n = strlen(s);

	memcpy(p, s, n);
	return p + n;
}

static char *
put_sec(char *p, double sec)
{
	double most = sec < TIMELINE_SEC_MAX ? sec : TIMELINE_SEC_MAX;
	uint64_t us = (uint64_t)(most > 0 ? most * 1e6 + 0.5 : 0);

	p = put_count(p, us / 1000000);
	*p++ = '.';
	for (uint64_t unit = 100000; unit; unit /= 10)
		*p++ = (char)('0' + us / unit % 10);
	return p;
}

void
timeline_line(const struct unit *u, struct strbuf *sb)
{
	char line[LINE_BYTES_MAX], *p = line;

	p = put_count(put_text(p, "{\"worker\":"), u->worker);
	p = put_count(put_text(p, ",\"group\":"), u->group);
	p = put_count(put_text(p, ",\"pack\":"), u->pack);
	p = put_count(put_text(p, ",\"epoch\":"), u->epoch);
	p = put_count(put_text(p, ",\"shard\":"), u->shard);
	p = put_text(put_text(p, ",\"kind\":\""), kind_name[u->kind]);
	p = put_sec(put_text(p, "\",\"start\":"), u->start_sec);
	p = put_sec(put_text(p, ",\"end\":"), u->end_sec);
	p = put_count(put_text(p, ",\"rows\":"), u->rows);
	p = put_count(put_text(p, ",\"bytes\":"), u->bytes_sent);
	p = put_text(p, "}\n");
	strbuf_add(sb, line, (size_t)(p - line));
}

void
timeline_add(struct timeline *t, const struct unit *u)
{
	mem_grow(&t->unit, &t->cap, t->n + 1, sizeof(*t->unit));
	t->unit[t->n++] = *u;
}

/* --- order --- */

static bool
comes_after(const struct unit *a, const struct unit *b)
{
	if (a->start_sec != b->start_sec)
		return a->start_sec > b->start_sec;
	return a->worker > b->worker;
}

/* Merges the runs [0, mid) and [mid, n) of from into to. */
static void
merge_runs(const struct unit *from, size_t mid, size_t n, struct unit *to)
{
	size_t a = 0, b = mid;

	/* What comes from one worker is in order already. */
	if (b == n || !comes_after(&from[mid - 1], &from[mid])) {
		memcpy(to, from, n * sizeof(*to));
		return;
	}
	while (a < mid && b < n)
		*to++ = comes_after(&from[a], &from[b]) ? from[b++] : from[a++];
	while (a < mid)
		*to++ = from[a++];
	while (b < n)
		*to++ = from[b++];
}

void
timeline_sort(struct timeline *t)
{
	struct unit *from = t->unit;
	struct unit *to = xcalloc(t->n, sizeof(*to)), *swap;

	for (size_t run = 1; run < t->n; run *= 2) {
		for (size_t at = 0; at < t->n; at += 2 * run) {
			size_t left = t->n - at;
			size_t n = left < 2 * run ? left : 2 * run;

			merge_runs(from + at, n < run ? n : run, n, to + at);
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != t->unit)
		t->cap = t->n;
	t->unit = from;
	free(to);
}

void
timeline_text(const struct timeline *t, struct strbuf *sb)
{
	for (size_t i = 0; i < t->n; i++)
		timeline_line(&t->unit[i], sb);
}

/* Writes the lines in pieces, to f or, if that is NULL, to stdout. */
static int
write_lines(const struct timeline *t, struct outfile *f, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->n; i++) {
		timeline_line(&t->unit[i], &sb);
		if (sb.len < PIECE_BYTES && i + 1 < t->n)
			continue;
		if (f)
			rc = outfile_write(f, sb.buf, sb.len, err);
		else if (fwrite(sb.buf, 1, sb.len, stdout) < sb.len)
			rc = error_sys(err, "standard output");
		strbuf_reset(&sb);
	}
	strbuf_release(&sb);
	return rc;
}

int
timeline_save(const struct timeline *t, const char *path, struct error *err)
{
	struct outfile *f;

	if (strcmp(path, "-") == 0)
		return write_lines(t, NULL, err);
	f = outfile_open(path, err);
	if (f == NULL)
		return -1;
	if (write_lines(t, f, err)) {
		outfile_drop(f);
		return -1;
	}
	return outfile_commit(f, err);
}

/* --- reading --- */

static int
member_count(const struct jvalue *v, const char *key, uint64_t max,
	     uint64_t *out, struct error *err)
{
	if (jsonio_get_u64(v, key, out, err) < 0)
		return -1;
	if (*out > max)
		return error_set(err, EXIT_CORRUPT, "\"%s\": too large", key);
	return 0;
}

static int
member_u32(const struct jvalue *v, const char *key, uint32_t *out,
	   struct error *err)
{
	uint64_t n;

	if (member_count(v, key, UINT32_MAX, &n, err) < 0)
		return -1;
	*out = (uint32_t)n;
	return 0;
}

static int
member_kind(const struct jvalue *v, enum unit_kind *out, struct error *err)
{
	const char *text;
	size_t n;

	if (jsonio_get_string(v, "kind", &text, &n, err) < 0)
		return -1;
	for (int k = 0; kind_name[k]; k++) {
		if (strlen(kind_name[k]) == n &&
		    memcmp(kind_name[k], text, n) == 0) {
			*out = (enum unit_kind)k;
			return 0;
		}
	}
	return error_set(err, EXIT_CORRUPT,
			 "\"kind\": not train, score or load");
}

static int
member_times(const struct jvalue *v, struct unit *u, struct error *err)
{
	if (jsonio_get_real(v, "start", &u->start_sec, err) < 0 ||
	    jsonio_get_real(v, "end", &u->end_sec, err) < 0)
		return -1;
	if (!(u->start_sec >= 0 && u->start_sec <= TIMELINE_SEC_MAX))
		return error_set(err, EXIT_CORRUPT, "\"start\": not a time");
	if (!(u->end_sec >= u->start_sec && u->end_sec <= TIMELINE_SEC_MAX))
		return error_set(err, EXIT_CORRUPT,
				 "\"end\": not a time after \"start\"");
	return 0;
}

static int
parse_unit(const struct jvalue *v, struct unit *u, struct error *err)
{
	static const char *const known[] = {"worker", "group", "pack",	"epoch",
					    "shard",  "kind",  "start", "end",
					    "rows",   "bytes", NULL};

	if (!jsonio_is_object(v))
		return error_set(err, EXIT_CORRUPT, "not an object");
	if (member_u32(v, "worker", &u->worker, err) < 0 ||
	    member_u32(v, "group", &u->group, err) < 0 ||
	    member_u32(v, "pack", &u->pack, err) < 0 ||
	    member_u32(v, "epoch", &u->epoch, err) < 0 ||
	    member_u32(v, "shard", &u->shard, err) < 0 ||
	    member_kind(v, &u->kind, err) < 0 || member_times(v, u, err) < 0 ||
	    member_count(v, "rows", INT64_MAX, &u->rows, err) < 0 ||
	    member_count(v, "bytes", INT64_MAX, &u->bytes_sent, err) < 0)
		return -1;
	return jsonio_check_keys(v, known, err);
}

static int
parse_line(struct timeline *t, const char *p, size_t n, struct error *err)
{
	struct jvalue *v = jsonio_parse(p, n, "", err);
	struct unit u;
	int ret;

	if (v == NULL)
		return error_set(err, EXIT_CORRUPT, "not JSON");
	ret = parse_unit(v, &u, err);
	if (ret == 0)
		timeline_add(t, &u);
	jsonio_free(v);
	return ret;
}

int
timeline_parse(struct timeline *t, const char *p, size_t n, const char *name,
	       struct error *err)
{
	for (size_t at = 0, line = 1, len; at < n; at += len + 1, line++) {
		const char *end = memchr(p + at, '\n', n - at);

		len = end ? (size_t)(end - p) - at : n - at;
		if (parse_line(t, p + at, len, err) < 0) {
			timeline_release(t);
			return error_context(err, "%s:%zu", name, line);
		}
	}
	return 0;
}

int
timeline_load(struct timeline *t, const char *path, struct error *err)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct strbuf text = STRBUF_INIT;
	int ret = io_read_file(path, 0, &text, err);

	if (ret == 0)
		ret = timeline_parse(t, text.buf, text.len, name, err);
	strbuf_release(&text);
	return ret;
}

void
timeline_release(struct timeline *t)
{
	free(t->unit);
	*t = (struct timeline)TIMELINE_INIT;
}
