#include "report/sidebyside.h"

#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"

/* Of one worker. */
struct use {
	uint64_t units, rows, bytes;
	double busy_sec, end_sec;
};

struct workload {
	struct use *worker; /* [n] */
	size_t n, cap;
	double start_sec, makespan_sec;
	struct use all;
};

/* Worker numbers may be anything in a file made elsewhere. */
#define WORKERS_SHOWN 4096

static void
use_add(struct use *w, const struct unit *u)
{
	w->units++;
	w->rows += u->rows;
	w->bytes += u->bytes_sent;
	w->busy_sec += u->end_sec - u->start_sec;
	w->end_sec = u->end_sec > w->end_sec ? u->end_sec : w->end_sec;
}

static void
workload_init(struct workload *l, const struct timeline *t)
{
	*l = (struct workload){.start_sec = t->n ? TIMELINE_SEC_MAX : 0};
	for (size_t i = 0; i < t->n; i++) {
		const struct unit *u = &t->unit[i];
		size_t old = l->n;

		if (u->start_sec < l->start_sec)
			l->start_sec = u->start_sec;
		use_add(&l->all, u);
		if (u->worker >= WORKERS_SHOWN)
			continue;
		if (u->worker >= l->n)
			l->n = u->worker + 1;
		mem_grow(&l->worker, &l->cap, l->n, sizeof(*l->worker));
		for (size_t k = old; k < l->n; k++)
			l->worker[k] = (struct use){0};
		use_add(&l->worker[u->worker], u);
	}
	l->makespan_sec = t->n ? l->all.end_sec - l->start_sec : 0;
}

static void
add_use(const struct workload *l, size_t w, struct strbuf *out)
{
	struct use u = {0};

	if (w < l->n)
		u = l->worker[w];
	strbuf_addf(out, " %10.3f %10.3f %9" PRIu64 " %10.3f", u.busy_sec,
		    l->makespan_sec - u.busy_sec, u.units,
		    u.units ? u.end_sec - l->start_sec : 0);
}

static void
add_all(const char *name, const struct workload *l, struct strbuf *out)
{
	double sum = l->makespan_sec * (double)l->n;

	strbuf_addf(out,
		    "%-8s makespan %.3f s, busy %.1f %%, %" PRIu64
		    " units, %" PRIu64 " rows, %" PRIu64 " bytes\n",
		    name, l->makespan_sec,
		    sum > 0 ? 100 * l->all.busy_sec / sum : 0, l->all.units,
		    l->all.rows, l->all.bytes);
}

void
sidebyside(const struct timeline *run, const struct timeline *other,
	   struct strbuf *out)
{
	struct workload a, b;
	size_t n;

	workload_init(&a, run);
	workload_init(&b, other);
	n = a.n > b.n ? a.n : b.n;
	add_all("run", &a, out);
	add_all("against", &b, out);
	strbuf_addstr(out, "ratio    ");
	if (b.makespan_sec > 0)
		strbuf_addf(out, "%.4f", a.makespan_sec / b.makespan_sec);
	else
		strbuf_addstr(out, "n/a");
	strbuf_addf(out, "\n\n%8s %42s %42s\n%8s", "", "run", "against",
		    "worker");
	for (int i = 0; i < 2; i++)
		strbuf_addf(out, " %10s %10s %9s %10s", "busy_s", "idle_s",
			    "units", "end_s");
	strbuf_addch(out, '\n');
	for (size_t w = 0; w < n; w++) {
		strbuf_addf(out, "%8zu", w);
		add_use(&a, w, out);
		add_use(&b, w, out);
		strbuf_addch(out, '\n');
	}
	free(a.worker);
	free(b.worker);
}
