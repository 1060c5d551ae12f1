#ifndef KP_PLAN_SPACE_H
#define KP_PLAN_SPACE_H

/*
 * space - the search space: `--param NAME=...` and `--search ...` to a list
 * of configs.
 *
 *	NAME=V1,V2,...   these values (numbers, or names of a choice)
 *	NAME=log:LO:HI   between LO and HI > 0, evenly in the logarithm
 *	NAME=lin:LO:HI   evenly
 *	NAME=int:LO:HI   whole numbers, evenly, both ends included
 *
 *	grid[:POINTS]    all combinations; a range gives POINTS values
 *	                 (default 5), an int range at most its whole numbers;
 *	                 the first --param varies slowest
 *	random:N         N draws by counter: draw i of parameter j depends on
 *	                 (seed, i, name of j) alone, so parameters are
 *	                 independent and a longer search extends a shorter
 *
 *	halving:N[:ETA]  N draws, or the grid, in successive halving: at rungs
 *	halving:grid[:POINTS[:ETA]]
 *	                 (halving.h) the best one in ETA (default 3) go on
 *
 * Configs equal in every parameter are kept once, the first.  Parameters not
 * named keep the learner's default.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/jsonio.h"
#include "model/learner.h"

struct space_dim {
	uint32_t param; /* position in learner->param */
	enum { DIM_VALUES, DIM_LOG, DIM_LIN, DIM_INT } kind;
	double lo, hi;
	double *value; /* DIM_VALUES */
	size_t nvalue;
};

struct space {
	const struct learner *learner;
	struct space_dim *dim;
	size_t ndim;
	enum { SEARCH_GRID, SEARCH_RANDOM } search;
	uint32_t points; /* grid: of a range; random: draws */
	uint32_t eta;	 /* of halving; 0: all configs are trained to the end */
	uint64_t seed;
	struct config *config; /* [nconfig] expanded */
	size_t nconfig;
};

#define SPACE_CONFIGS_MAX 100000
#define SPACE_POINTS_MAX 1000 /* of a range */
#define SPACE_POINTS_DEFAULT 5

/* Adds one --param; EXIT_USAGE naming the option text: unknown names (did
 * you mean), values out of range, a name given twice. */
void space_init(struct space *s, const struct learner *l);
int space_add_param(struct space *s, const char *text, struct error *err);
int space_set_search(struct space *s, const char *text, struct error *err);
/* Makes s->config; every config is checked by the learner. */
int space_expand(struct space *s, struct error *err);
void space_release(struct space *s);

/* The object "space" of a plan; load expands too and compares with the
 * configs stored there, which are taken: a parameter that the space does not
 * name has the value that was its default then. */
void space_json(const struct space *s, struct jout *j);
int space_load(struct space *s, const struct jvalue *v, struct error *err);

#endif
