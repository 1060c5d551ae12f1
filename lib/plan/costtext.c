#include "plan/costtext.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "plan/partitionopt.h"

#define NUMBER_MAX 32

/* Seconds to four digits, without an exponent. */
static const char *
sec_text(double sec, char out[NUMBER_MAX])
{
	int digits = sec >= 1000 ? 0 : sec >= 100 ? 1 : sec >= 10 ? 2 : 3;

	if (sec < 1)
		digits = sec >= 0.1 ? 4 : sec >= 0.01 ? 5 : 6;
	snprintf(out, NUMBER_MAX, "%.*f", sec >= 5e-7 ? digits : 0,
		 sec >= 5e-7 ? sec : 0);
	return out;
}

/* "812", "3.21M"; in thousands, as counts and bytes of messages are. */
static const char *
count_text(double n, char out[NUMBER_MAX])
{
	static const char unit[] = "\0KMGTP";
	size_t k = 0;

	while (n >= 1000 && k + 2 < sizeof unit) {
		n /= 1000;
		k++;
	}
	snprintf(out, NUMBER_MAX, "%.*f%.1s",
		 k == 0 || n >= 100 ? 0
		 : n >= 10	    ? 1
				    : 2,
		 n, &unit[k]);
	return out;
}

static bool
same_strategy(const struct partition_spec *a, const struct partition_spec *b)
{
	return a->strategy == b->strategy && a->lpt == b->lpt &&
	       a->paper_capacity == b->paper_capacity &&
	       a->isolate == b->isolate && a->group_rows == b->group_rows;
}

static void
add_row(const struct cost *c, const char *mark, struct strbuf *sb)
{
	const struct sim_result *r = &c->sim;
	const double sec[] = {r->makespan_sec, r->bound_sec, c->wide_bound_sec,
			      r->compute_sec,  r->load_sec,  r->network_sec,
			      r->idle_sec};
	const double count[] = {(double)r->messages, (double)r->bytes,
				c->memory_bytes};
	struct strbuf name = STRBUF_INIT;
	char text[NUMBER_MAX];

	cost_strategy_text(&c->spec, &name);
	strbuf_addf(sb, "%-14s", name.buf);
	strbuf_release(&name);
	for (size_t i = 0; i < sizeof sec / sizeof sec[0]; i++)
		strbuf_addf(sb, " %9s", sec_text(sec[i], text));
	for (size_t i = 0; i < sizeof count / sizeof count[0]; i++)
		strbuf_addf(sb, " %8s", count_text(count[i], text));
	strbuf_addf(sb, "%s%s\n", *mark ? "  " : "", mark);
}

void
costtext_table(const struct cost c[COST_STRATEGIES],
	       const struct partition_spec *chosen, struct strbuf *sb)
{
	size_t best = cost_best(c);

	strbuf_addf(sb, "%-14s %9s %9s %9s %9s %9s %9s %9s %8s %8s %8s\n",
		    "strategy", "makespan", "bound", "widest", "compute",
		    "load", "network", "idle", "messages", "bytes", "memory");
	for (size_t i = 0; i < COST_STRATEGIES; i++) {
		bool is = same_strategy(&c[i].spec, chosen);

		add_row(&c[i],
			is && i == best	     ? "chosen, best"
			: is		     ? "chosen"
			: i == best	     ? "best"
			: c[i].other_models  ? "other models"
			: c[i].unhalved	     ? "no halving"
			: c[i].sim.estimated ? "at least: too many units"
					     : "",
			sb);
	}
}

void
costtext_command(const struct plan_options *o, const struct plan *p,
		 const struct partition_spec *with, struct strbuf *sb)
{
	strbuf_addstr(sb, "kp-partition");
	partition_options_words(with, sb);
	strbuf_addf(sb, " -p %" PRIu32 " ", with->workers);
	strbuf_addword(sb, p->partition.data);
	strbuf_addstr(sb, " | kp-plan");
	plan_options_words(o, p, sb);
	strbuf_addstr(sb, " | kp-train -o RUN -\n");
}

void
costtext_paper(const struct papercost_spec *s, struct strbuf *sb)
{
	static const enum strategy table[] = {STRATEGY_GL, STRATEGY_GTP,
					      STRATEGY_MTP, STRATEGY_DP};
	const struct papercost_weights even = {1, 1, 1, 1};
	char text[NUMBER_MAX];

	strbuf_addf(sb, "%-14s %9s %9s %9s %9s %9s\n", "strategy", "total",
		    "compute", "io", "network", "idle");
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		struct papercost c;
		double v[5];

		papercost_of(table[i], s, &even, &c);
		memcpy(v,
		       (double[]){c.total, c.compute, c.io, c.network, c.idle},
		       sizeof v);
		strbuf_addf(sb, "%-14s", strategy_name(table[i]));
		for (size_t k = 0; k < 5; k++)
			strbuf_addf(sb, " %9s", sec_text(v[k], text));
		strbuf_addch(sb, '\n');
	}
}

void
costtext_summary(const struct sim_result *r, struct strbuf *sb)
{
	const struct {
		const char *name;
		double sec;
	} row[] = {
	    {"makespan", r->makespan_sec}, {"lower bound", r->bound_sec},
	    {"compute", r->compute_sec},   {"load", r->load_sec},
	    {"network", r->network_sec},   {"idle", r->idle_sec},
	};
	char text[NUMBER_MAX];

	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
		strbuf_addf(sb, "%-13s%s s\n", row[i].name,
			    sec_text(row[i].sec, text));
	strbuf_addf(sb, "%-13s%" PRIu64 "\n", "units", r->units);
	strbuf_addf(sb, "%-13s%" PRIu64 " (%" PRIu64 " bytes)\n", "messages",
		    r->messages, r->bytes);
}

void
costtext_explain(const struct cost_spec *s, const struct plan_options *o,
		 struct strbuf *sb)
{
	const struct partition_spec *chosen = &s->plan->partition.spec;
	struct cost c[COST_STRATEGIES], own;
	bool is_there = false;
	size_t best;

	cost_of_all(s, c);
	best = cost_best(c);
	costtext_table(c, chosen, sb);
	for (size_t i = 0; i < COST_STRATEGIES; i++)
		is_there = is_there || same_strategy(&c[i].spec, chosen);
	if (!is_there) {
		cost_of_plan(s, &own);
		add_row(&own, "chosen", sb);
	}
	strbuf_addch(sb, '\n');
	costtext_command(o, s->plan, &c[best].spec, sb);
}

static int
add_unit(void *ctx, const struct unit *u)
{
	timeline_line(u, ctx);
	return 0;
}

void
costtext_timeline(const struct cost_spec *s, struct strbuf *sb,
		  struct strbuf *summary)
{
	struct sim_result r;

	cost_simulate(s, add_unit, sb, &r);
	costtext_summary(&r, summary);
}
