#include "plan/space.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/opt.h"
#include "plan/halving.h"
#include "plan/spacedim.h"

#define ETA_DEFAULT 3

/* --- --param --- */

/* One value of a list, or one end of a range. */
static int
value_of(const struct learner_param *p, const char *text, double *v,
	 struct error *err)
{
	if (p->kind == PARAM_CHOICE)
		return spacedim_choice(p, text, v, err);
	if (opt_parse_real(text, v) < 0)
		return error_set(err, EXIT_USAGE, "not a number: \"%s\"", text);
	if (p->kind == PARAM_INT && *v != trunc(*v))
		return error_set(err, EXIT_USAGE, "not a whole number: \"%s\"",
				 text);
	*v += 0.0; /* -0 is 0 */
	return spacedim_check_value(p, *v, err);
}

/* A comma between every two of them: "1,,2" is a slip, no list of two. */
static int
parse_values(const struct learner_param *p, struct space_dim *d,
	     const char *text, struct error *err)
{
	size_t cap = 0;

	for (;;) {
		size_t len = strcspn(text, ",");
		char *word = xmemdup(text, len);
		int bad;

		mem_grow(&d->value, &cap, d->nvalue + 1, sizeof(*d->value));
		bad = len ? value_of(p, word, &d->value[d->nvalue], err)
			  : error_set(err, EXIT_USAGE, "an empty value");
		free(word);
		if (bad)
			return -1;
		d->nvalue++;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

/* LO:HI */
static int
parse_range(const struct learner_param *p, struct space_dim *d,
	    const char *text, struct error *err)
{
	const char *colon = strchr(text, ':');
	char *lo;
	int ret = -1;

	if (!colon)
		return error_set(err, EXIT_USAGE, "a range without \":HI\"");
	lo = xmemdup(text, (size_t)(colon - text));
	if (p->kind == PARAM_CHOICE)
		spacedim_check(p, d, err);
	else if (value_of(p, lo, &d->lo, err) == 0 &&
		 value_of(p, colon + 1, &d->hi, err) == 0)
		ret = spacedim_check(p, d, err);
	free(lo);
	return ret;
}

static int
parse_dim(const struct learner_param *p, struct space_dim *d, const char *text,
	  struct error *err)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	char *word;
	const char *near;

	if (!colon)
		return parse_values(p, d, text, err);
	for (int k = DIM_LOG; spacedim_kind[k]; k++) {
		if (strlen(spacedim_kind[k]) == len &&
		    memcmp(spacedim_kind[k], text, len) == 0) {
			d->kind = k;
			return parse_range(p, d, colon + 1, err);
		}
	}
	word = xmemdup(text, len);
	near = opt_suggest(word, spacedim_kind + DIM_LOG);
	if (near)
		error_set(err, EXIT_USAGE,
			  "no range \"%s:\" (did you mean \"%s:\"?)", word,
			  near);
	else
		error_set(err, EXIT_USAGE,
			  "no range \"%s:\" (there is log:, lin:, int:)", word);
	free(word);
	return -1;
}

int
space_add_param(struct space *s, const char *text, struct error *err)
{
	const char *equals = strchr(text, '=');
	char *name = xmemdup(text, equals ? (size_t)(equals - text) : 0);
	struct space_dim *d = NULL;
	int ret = -1;

	if (!equals || equals == text) {
		error_set(err, EXIT_USAGE, "not NAME=VALUES");
	} else {
		d = spacedim_new(s, name, err);
		ret = d ? parse_dim(spacedim_param(s, d), d, equals + 1, err)
			: -1;
	}
	free(name);
	if (ret < 0 && d)
		spacedim_drop_last(s);
	return ret < 0 ? error_context(err, "--param %s", text) : 0;
}

/* --- --search --- */

static int
set_points(struct space *s, const char *text, const char *digits, int64_t most,
	   struct error *err)
{
	int64_t n;

	if (opt_parse_int(digits, &n) < 0 || n < 1 || n > most)
		return error_set(err, EXIT_USAGE,
				 "--search %s: not a whole number from 1 to "
				 "%" PRId64 ": \"%s\"",
				 text, most, digits);
	s->points = (uint32_t)n;
	return 0;
}

/* halving:N[:ETA], halving:grid[:POINTS[:ETA]]; how: behind the first colon. */
static int
set_halving(struct space *s, const char *text, const char *how,
	    struct error *err)
{
	bool grid =
	    strncmp(how, "grid", 4) == 0 && (how[4] == ':' || how[4] == '\0');
	char *number, *eta;
	int64_t n = ETA_DEFAULT;
	int ret = 0;

	s->search = grid ? SEARCH_GRID : SEARCH_RANDOM;
	s->points = SPACE_POINTS_DEFAULT;
	if (grid)
		how += how[4] ? 5 : 4;
	number = xstrdup(how);
	eta = strchr(number, ':');
	if (eta)
		*eta++ = '\0';
	if (!grid || *how)
		ret = set_points(s, text, number,
				 grid ? SPACE_POINTS_MAX : SPACE_CONFIGS_MAX,
				 err);
	if (ret == 0 && eta &&
	    (opt_parse_int(eta, &n) < 0 || n < 2 || n > HALVING_ETA_MAX))
		ret = error_set(err, EXIT_USAGE,
				"--search %s: not a whole number from 2 to "
				"%d: \"%s\"",
				text, HALVING_ETA_MAX, eta);
	s->eta = (uint32_t)n;
	free(number);
	return ret;
}

int
space_set_search(struct space *s, const char *text, struct error *err)
{
	static const char *const names[] = {"grid", "random", "halving", NULL};
	size_t len = strcspn(text, ":");
	char *word;
	const char *near;

	if (len == 4 && memcmp(text, "grid", len) == 0) {
		s->search = SEARCH_GRID;
		s->points = SPACE_POINTS_DEFAULT;
		if (!text[len])
			return 0;
		return set_points(s, text, text + len + 1, SPACE_POINTS_MAX,
				  err);
	}
	if (len == 6 && memcmp(text, "random", len) == 0) {
		s->search = SEARCH_RANDOM;
		if (!text[len])
			return error_set(err, EXIT_USAGE,
					 "--search random: how many? "
					 "(random:N)");
		return set_points(s, text, text + len + 1, SPACE_CONFIGS_MAX,
				  err);
	}
	if (len == 7 && memcmp(text, "halving", len) == 0) {
		if (!text[len])
			return error_set(err, EXIT_USAGE,
					 "--search halving: of what? "
					 "(halving:N, halving:grid)");
		return set_halving(s, text, text + len + 1, err);
	}
	word = xmemdup(text, len);
	near = opt_suggest(word, names);
	if (near)
		error_set(err, EXIT_USAGE,
			  "--search %s: no such search (did you mean %s?)",
			  text, near);
	else
		error_set(err, EXIT_USAGE,
			  "--search %s: no such search (there is "
			  "grid[:POINTS], random:N, halving:N[:ETA], "
			  "halving:grid[:POINTS[:ETA]])",
			  text);
	free(word);
	return -1;
}
