#include "base/progress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"

#define REDRAW_SEC 0.1
#define PLAIN_SEC 30.0

struct progress {
	char *what;
	uint64_t total;
	double start_sec, shown_sec; /* shown: when the last line was */
	bool terminal;
	bool drawn; /* a line stands on the terminal */
};

/* Can a line on stderr be redrawn? */
static bool
can_redraw(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

struct progress *
progress_new(const char *what, uint64_t total)
{
	struct progress *p;

	if (is_quiet())
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->what = xstrdup(what);
	p->total = total;
	p->start_sec = p->shown_sec = clock_sec();
	p->terminal = can_redraw();
	return p;
}

/* 0:07, 12:34, 3:00:00 */
static void
add_duration(struct strbuf *sb, double sec)
{
	uint64_t s = sec < 1e9 ? (uint64_t)sec : 1000000000;

	if (s >= 3600)
		strbuf_addf(sb, "%" PRIu64 ":%02u:%02u", s / 3600,
			    (unsigned)(s / 60 % 60), (unsigned)(s % 60));
	else
		strbuf_addf(sb, "%u:%02u", (unsigned)(s / 60),
			    (unsigned)(s % 60));
}

static void
add_line(struct strbuf *sb, const struct progress *p, uint64_t done,
	 const char *note)
{
	double sec = clock_sec() - p->start_sec;
	double rate = sec > 0 ? (double)done / sec : 0;

	strbuf_addf(sb, "%s: %s: %" PRIu64, program_name(), p->what, done);
	if (p->total)
		strbuf_addf(sb, "/%" PRIu64 " (%.0f %%)", p->total,
			    100.0 * (double)done / (double)p->total);
	strbuf_addf(sb, ", %.*f/s", rate < 100 ? 1 : 0, rate);
	if (p->total > done && rate > 0) {
		strbuf_addstr(sb, ", ETA ");
		add_duration(sb, (double)(p->total - done) / rate);
	}
	if (note)
		strbuf_addf(sb, ", %s", note);
}

/* So long a line that it would wrap could not be redrawn. */
static void
cut_to_width(struct strbuf *sb)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1)
		strbuf_truncate(sb, w.ws_col - 1U);
}

void
progress_update(struct progress *p, uint64_t done, const char *note)
{
	struct strbuf sb = STRBUF_INIT;
	double now = clock_sec();

	if (!p || now - p->shown_sec < (p->terminal ? REDRAW_SEC : PLAIN_SEC))
		return;
	p->shown_sec = now;
	add_line(&sb, p, done, note);
	if (p->terminal) {
		cut_to_width(&sb);
		fprintf(stderr, "\r%s\033[K", sb.buf);
		p->drawn = true;
	} else {
		fprintf(stderr, "%s\n", sb.buf);
	}
	strbuf_release(&sb);
}

void
progress_free(struct progress *p)
{
	if (!p)
		return;
	if (p->drawn)
		fputs("\r\033[K", stderr);
	free(p->what);
	free(p);
}
