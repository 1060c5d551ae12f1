#include "plan/space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fmath.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "plan/spacedim.h"

void
space_init(struct space *s, const struct learner *l)
{
	*s = (struct space){.learner = l,
			    .search = SEARCH_GRID,
			    .points = SPACE_POINTS_DEFAULT,
			    .seed = 1};
}

void
space_release(struct space *s)
{
	for (size_t i = 0; i < s->ndim; i++)
		free(s->dim[i].value);
	free(s->dim);
	free(s->config);
	*s = (struct space){0};
}

/* --- expanding --- */

/* To 12 significant digits: more than any search needs, and few enough to
 * hide the last bits of exp and log, so that decades come out as people write
 * them.  `scale` tells rounding noise from a value near 0. */
static double
round_value(double v, double scale)
{
	char text[32];

	if (fabs(v) <= scale * 1e-14)
		return 0;
	snprintf(text, sizeof(text), "%.11e", v);
	return strtod(text, NULL);
}

/* A value of a log or lin range at t from 0 to 1, exact at both ends. */
static double
range_value(const struct learner_param *p, const struct space_dim *d, double t)
{
	double lo = d->lo, hi = d->hi, v;

	if (t <= 0 || lo == hi)
		return lo;
	if (t >= 1)
		return hi;
	if (d->kind == DIM_LOG) {
		double a = fmath_log(lo), b = fmath_log(hi);

		v = round_value(fmath_exp(a * (1 - t) + b * t), 0);
	} else {
		v = round_value(lo * (1 - t) + hi * t,
				fmax(fabs(lo), fabs(hi)));
	}
	if (p->kind == PARAM_INT)
		v = rint(v);
	return fmin(fmax(v, lo), hi) + 0.0; /* -0 is 0 */
}

static uint64_t
int_span(const struct space_dim *d)
{
	return (uint64_t)(int64_t)(d->hi - d->lo);
}

/* How many values a dimension has in a grid. */
static uint64_t
grid_size(const struct space *s, const struct space_dim *d)
{
	if (d->kind == DIM_VALUES)
		return d->nvalue;
	if (d->kind == DIM_INT && int_span(d) < s->points)
		return int_span(d) + 1;
	return s->points;
}

/* A single point of a range is its middle. */
static double
grid_value(const struct space *s, const struct space_dim *d, uint64_t i)
{
	uint64_t n = grid_size(s, d);

	if (d->kind == DIM_VALUES)
		return d->value[i];
	if (d->kind == DIM_INT) {
		double step = n > 1 ? (double)i / (double)(n - 1) : 0.5;

		return d->lo + rint((d->hi - d->lo) * step);
	}
	return range_value(spacedim_param(s, d), d,
			   n > 1 ? (double)i / (double)(n - 1) : 0.5);
}

static double
random_value(const struct space *s, const struct space_dim *d, uint64_t draw)
{
	const char *name = spacedim_param(s, d)->name;
	uint64_t stream = hash64(name, strlen(name));

	if (d->kind == DIM_VALUES)
		return d->value[rng_below(d->nvalue, s->seed, draw, stream)];
	if (d->kind == DIM_INT) {
		uint64_t step =
		    rng_below(int_span(d) + 1, s->seed, draw, stream);

		return (double)((int64_t)d->lo + (int64_t)step);
	}
	return range_value(spacedim_param(s, d), d,
			   rng_unit(s->seed, draw, stream, 0));
}

/* Combinations of the grid, or draws; 0 and err if too many. */
static uint64_t
count_points(const struct space *s, struct error *err)
{
	uint64_t n = 1;

	if (s->search == SEARCH_RANDOM)
		return s->points;
	for (size_t i = 0; i < s->ndim; i++) {
		n *= grid_size(s, &s->dim[i]);
		if (n > SPACE_CONFIGS_MAX) {
			error_set(err, EXIT_USAGE,
				  "the grid has more than %d configs",
				  SPACE_CONFIGS_MAX);
			return 0;
		}
	}
	return n;
}

static struct config
config_at(const struct space *s, uint64_t at)
{
	struct config c = learner_defaults(s->learner);

	for (size_t i = s->ndim; i-- > 0;) {
		const struct space_dim *d = &s->dim[i];

		if (s->search == SEARCH_RANDOM) {
			c.value[d->param] = random_value(s, d, at);
		} else {
			uint64_t n = grid_size(s, d);

			c.value[d->param] = grid_value(s, d, at % n);
			at /= n;
		}
	}
	return c;
}

/* A config and where it stood, to sort by. */
struct place {
	const struct config *config;
	size_t at;
};

static int
by_value(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;
	int order = memcmp(a->config, b->config, sizeof(struct config));

	return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* Keeps the first of equal configs. */
static void
drop_equal(struct space *s)
{
	size_t n = s->nconfig, kept = 0;
	struct place *place = xcalloc(n, sizeof(*place));
	bool *again = xcalloc(n, sizeof(*again));

	for (size_t i = 0; i < n; i++)
		place[i] = (struct place){&s->config[i], i};
	qsort(place, n, sizeof(*place), by_value);
	for (size_t i = 1; i < n; i++)
		again[place[i].at] =
		    memcmp(place[i - 1].config, place[i].config,
			   sizeof(struct config)) == 0;
	for (size_t i = 0; i < n; i++)
		if (!again[i])
			s->config[kept++] = s->config[i];
	s->nconfig = kept;
	free(place);
	free(again);
}

/* "l2=0.01" */
static void
add_setting(const struct space *s, const struct space_dim *d,
	    const struct config *c, struct strbuf *sb)
{
	const struct learner_param *p = spacedim_param(s, d);
	double v = c->value[d->param];
	char number[32];

	strbuf_addf(sb, "%s=%s", p->name,
		    p->kind == PARAM_CHOICE ? p->choice[(size_t)v]
					    : jout_real_text(v, number));
}

/* An error names what was given of the config, not its defaults. */
static int
check_configs(const struct space *s, struct error *err)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < s->nconfig; i++) {
		const struct config *c = &s->config[i];

		if (s->learner->check_config(c, err) == 0)
			continue;
		for (size_t k = 0; k < s->ndim; k++) {
			strbuf_addstr(&text, k ? "," : "config ");
			add_setting(s, &s->dim[k], c, &text);
		}
		if (text.len)
			error_context(err, "%s", text.buf);
		strbuf_release(&text);
		return -1;
	}
	return 0;
}

int
space_expand(struct space *s, struct error *err)
{
	uint64_t n = count_points(s, err);

	if (n == 0)
		return -1;
	free(s->config);
	s->config = xcalloc(n, sizeof(*s->config));
	s->nconfig = n;
	for (uint64_t i = 0; i < n; i++)
		s->config[i] = config_at(s, i);
	drop_equal(s);
	return check_configs(s, err);
}
