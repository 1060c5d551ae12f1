#include "plan/milp.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "base/mem.h"

/* One start, X_g_c_w. */
struct start {
	size_t g, c;
	uint32_t w;
};

struct milp {
	const struct milp_spec *s;
	struct strbuf *out;
	struct strbuf binary; /* names of y, q and o */
	double *share;	      /* [ngroup] of all rows */
	double *sec;	      /* [npack] v_c in units of time */
	double horizon;	      /* all work one after another: M */
	struct start *start;  /* [n] */
	size_t n;
};

/* --- terms --- */

static void
add_number(const struct milp *m, double v)
{
	char text[32];

	strbuf_addstr(m->out, jout_real_text(v, text));
}

/* " + v " or " - v ". */
static void
add_factor(const struct milp *m, double v)
{
	strbuf_addstr(m->out, v < 0 ? " - " : " + ");
	add_number(m, fabs(v));
	strbuf_addch(m->out, ' ');
}

static void
add_start(const struct milp *m, const char *sign, const struct start *a)
{
	strbuf_addf(m->out, "%sX_g%zu_c%zu_w%" PRIu32, sign, a->g, a->c, a->w);
}

/* How long the pass of a takes, times sign. */
static void
add_length(const struct milp *m, double sign, const struct start *a)
{
	add_factor(m, sign * m->sec[a->c]);
	strbuf_addf(m->out, "N_g%zu_w%" PRIu32, a->g, a->w);
}

static void
add_held(const struct milp *m, double factor, size_t g, uint32_t w)
{
	add_factor(m, factor);
	strbuf_addf(m->out, "z_g%zu_w%" PRIu32, g, w);
}

static void
add_bound(const struct milp *m, const char *relation, double v)
{
	strbuf_addf(m->out, " %s ", relation);
	add_number(m, v);
	strbuf_addch(m->out, '\n');
}

/* --- constraints --- */

static bool
is_kept(const struct milp *m, size_t pack)
{
	return m->s->pack[pack].sequential || m->s->isolate;
}

static void
add_placement(const struct milp *m, size_t g)
{
	strbuf_addf(m->out, " all_g%zu:", g);
	for (uint32_t w = 0; w < m->s->workers; w++)
		strbuf_addf(m->out, "%s + N_g%zu_w%" PRIu32,
			    w && w % 8 == 0 ? "\n " : "", g, w);
	add_bound(m, "=", m->share[g]);
	for (uint32_t w = 0; w < m->s->workers; w++) {
		strbuf_addf(m->out, " held_g%zu_w%" PRIu32 ": N_g%zu_w%" PRIu32,
			    g, w, g, w);
		add_held(m, -m->share[g], g, w);
		strbuf_addstr(m->out, " <= 0\n");
	}
}

static void
add_end(const struct milp *m, const struct start *a)
{
	strbuf_addf(m->out, " end_g%zu_c%zu_w%" PRIu32 ": C", a->g, a->c, a->w);
	add_start(m, " - ", a);
	add_length(m, -1, a);
	strbuf_addstr(m->out, " >= 0\n");
}

static void
add_load(const struct milp *m, uint32_t w)
{
	strbuf_addf(m->out, " load_w%" PRIu32 ": C", w);
	for (size_t g = 0; g < m->s->ngroup; g++) {
		if (m->s->rows[g] == 0)
			continue;
		strbuf_addstr(m->out, "\n ");
		add_factor(m, -m->horizon);
		strbuf_addf(m->out, "N_g%zu_w%" PRIu32, g, w);
	}
	strbuf_addstr(m->out, " >= 0\n");
}

/* Kept packs of a group: each alone, or, under isolation, all together. */
static void
add_jobs(const struct milp *m, size_t g)
{
	double all = 0;

	for (size_t c = 0; c < m->s->npack; c++) {
		double sec = m->sec[c] * m->share[g];

		all += sec;
		if (!is_kept(m, c))
			continue;
		strbuf_addf(m->out, " job_g%zu_c%zu: C", g, c);
		add_bound(m, ">=", m->s->isolate ? all : sec);
	}
}

/* a before b if first, unless `order` is 0 or one of the two has no rows; if
 * not, unless it is 1. */
static void
add_before(const struct milp *m, const struct start *a, const struct start *b,
	   const char *order, bool first)
{
	double big = m->horizon;

	strbuf_addf(m->out, " %s_%d:", order, first ? 1 : 2);
	add_start(m, " ", a);
	add_length(m, 1, a);
	add_start(m, " - ", b);
	add_factor(m, first ? big : -big);
	strbuf_addstr(m->out, order);
	if (a->g == b->g && a->w == b->w) {
		add_held(m, 2 * big, a->g, a->w);
	} else {
		add_held(m, big, a->g, a->w);
		add_held(m, big, b->g, b->w);
	}
	add_bound(m, "<=", first ? 3 * big : 2 * big);
}

/* The name of the variable that orders a and b, if they exclude each other. */
static bool
name_order(const struct milp *m, const struct start *a, const struct start *b,
	   struct strbuf *name)
{
	strbuf_reset(name);
	if (a->w == b->w)
		strbuf_addf(name, "y_g%zuc%zu_g%zuc%zu_w%" PRIu32, a->g, a->c,
			    b->g, b->c, a->w);
	else if (a->g == b->g && a->c == b->c && is_kept(m, a->c))
		strbuf_addf(name, "q_g%zu_c%zu_w%" PRIu32 "_w%" PRIu32, a->g,
			    a->c, a->w, b->w);
	else if (a->g == b->g && a->c != b->c && m->s->isolate)
		strbuf_addf(name, "o_g%zu_c%zuw%" PRIu32 "_c%zuw%" PRIu32, a->g,
			    a->c, a->w, b->c, b->w);
	return name->len > 0;
}

static void
add_orders(struct milp *m)
{
	struct strbuf name = STRBUF_INIT;

	for (size_t i = 0; i < m->n; i++) {
		for (size_t k = i + 1; k < m->n; k++) {
			const struct start *a = &m->start[i];
			const struct start *b = &m->start[k];

			if (!name_order(m, a, b, &name))
				continue;
			add_before(m, a, b, name.buf, true);
			add_before(m, b, a, name.buf, false);
			strbuf_addf(&m->binary, " %s\n", name.buf);
		}
	}
	strbuf_release(&name);
}

/* --- the whole --- */

static void
add_comments(const struct milp *m, double unit_sec)
{
	const struct milp_spec *s = m->s;

	strbuf_addf(m->out,
		    "\\ %zu groups, %zu packs, %" PRIu32 " workers; one unit "
		    "of time is ",
		    s->ngroup, s->npack, s->workers);
	add_number(m, unit_sec);
	strbuf_addstr(m->out,
		      " s\n"
		      "\\ C makespan; N share of all rows; z 1: there are "
		      "some; X start\n"
		      "\\ y, q, o 1: the first comes first (of a worker, a "
		      "pack, a group)\n"
		      "\\ load and job follow from the rest, and help\n");
}

static void
add_all(struct milp *m)
{
	const struct milp_spec *s = m->s;

	strbuf_addstr(m->out, "Minimize\n makespan: C\nSubject To\n");
	for (size_t g = 0; g < s->ngroup; g++) {
		if (s->rows[g] == 0)
			continue;
		add_placement(m, g);
		add_jobs(m, g);
	}
	for (size_t i = 0; i < m->n; i++)
		add_end(m, &m->start[i]);
	for (uint32_t w = 0; w < s->workers; w++)
		add_load(m, w);
	add_orders(m);
	strbuf_addstr(m->out, "Binary\n");
	for (size_t g = 0; g < s->ngroup; g++)
		for (uint32_t w = 0; w < s->workers && s->rows[g]; w++)
			strbuf_addf(m->out, " z_g%zu_w%" PRIu32 "\n", g, w);
	strbuf_add(m->out, m->binary.buf, m->binary.len);
	strbuf_addstr(m->out, "End\n");
}

static void
find_starts(struct milp *m)
{
	const struct milp_spec *s = m->s;

	for (size_t g = 0; g < s->ngroup; g++)
		for (size_t c = 0; c < s->npack && s->rows[g]; c++)
			for (uint32_t w = 0; w < s->workers; w++)
				m->start[m->n++] = (struct start){g, c, w};
}

static int
check_size(const struct milp_spec *s, size_t groups, struct error *err)
{
	uint64_t most = MILP_STARTS_MAX;

	/* Each may be huge. */
	if (groups <= most && s->npack <= most && s->workers <= most &&
	    groups * s->npack * s->workers <= most)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "too large for a linear program: %zu groups x %zu "
			 "packs x %" PRIu32 " workers are more than %d",
			 groups, s->npack, s->workers, MILP_STARTS_MAX);
}

int
milp_write(const struct milp_spec *s, struct strbuf *out, double *unit_sec,
	   struct error *err)
{
	struct milp m = {.s = s, .out = out, .binary = STRBUF_INIT};
	double rows = 0, all = 0;
	size_t groups = 0;

	for (size_t g = 0; g < s->ngroup; g++) {
		rows += (double)s->rows[g];
		groups += s->rows[g] > 0;
	}
	for (size_t c = 0; c < s->npack; c++)
		all += s->pack[c].sec;
	if (check_size(s, groups, err) < 0)
		return -1;
	if (!(rows > 0 && all > 0))
		return error_set(err, EXIT_USAGE,
				 "nothing to write a linear program of: no "
				 "group is trained");
	*unit_sec = pow(10, floor(log10(all)) - 2);
	m.horizon = all / *unit_sec;
	m.share = xcalloc(s->ngroup, sizeof(*m.share));
	m.sec = xcalloc(s->npack, sizeof(*m.sec));
	m.start = xcalloc(MILP_STARTS_MAX, sizeof(*m.start));
	for (size_t g = 0; g < s->ngroup; g++)
		m.share[g] = (double)s->rows[g] / rows;
	for (size_t c = 0; c < s->npack; c++)
		m.sec[c] = s->pack[c].sec / *unit_sec;
	find_starts(&m);
	add_comments(&m, *unit_sec);
	add_all(&m);
	free(m.share);
	free(m.sec);
	free(m.start);
	strbuf_release(&m.binary);
	return 0;
}

int
milp_of_plan(const struct plan *p, const struct dataset *d, struct strbuf *out,
	     struct error *err)
{
	const struct index *ix = dataset_index(d);
	const struct partition_spec *spec = &p->partition.spec;
	uint64_t *rows = xcalloc(ix->ngroup, sizeof(*rows)), all = 0;
	/* Of the groups on the most workers. */
	const struct plan_set *set = &p->set[p->split_set];
	struct milp_pack *pack = xcalloc(set->n, sizeof(*pack));
	struct milp_spec s = {rows,   ix->ngroup,    pack,
			      set->n, spec->workers, spec->isolate};
	double unit_sec;
	int ret;

	for (size_t g = 0; g < ix->ngroup; g++) {
		if (!plan_fallback_reason(p, dataset_schema(d), &ix->group[g]))
			rows[g] = ix->group[g].rows[PART_TRAIN];
		all += rows[g];
	}
	for (size_t c = 0; c < set->n; c++) {
		const struct plan_pack *k = &set->pack[c];
		const struct profile_entry *e =
		    profile_find(&p->profile, p->space.learner,
				 &p->space.config[k->config[0]]);

		pack[c].sec = (double)all * e->row_sec[k->n - 1];
		pack[c].sequential = e->pattern == PATTERN_SEQUENTIAL;
	}
	ret = milp_write(&s, out, &unit_sec, err);
	free(rows);
	free(pack);
	return ret;
}
