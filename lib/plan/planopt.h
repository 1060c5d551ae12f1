#ifndef KP_PLAN_PLANOPT_H
#define KP_PLAN_PLANOPT_H

/*
 * planopt - the options from which a plan is made, shared by kp-plan and by
 * kp-train on a dataset, so that both mean the same by them.
 *
 *	struct plan_options po = PLAN_OPTIONS_DEFAULT;
 *	const struct opt opts[] = {
 *	    ...
 *	    PLAN_OPTIONS_TABLE(po),
 *	    {0},
 *	};
 *
 * plan_options_release() frees what parsing allocated.
 */

#include "base/opt.h"
#include "plan/plan.h"
#include "plan/profile.h"

struct plan_options {
	const char *learner;   /* NULL: not given */
	struct opt_list param; /* "NAME=..." (space.h) */
	const char *search;    /* "grid[:POINTS]", "random:N" */
	int64_t seed;
	int64_t epochs;	  /* 0: the learner's default */
	int64_t patience; /* 0: none */
	int64_t pack_width;
	int64_t min_rows;
	const char *shuffle;  /* of Sequential configs; NULL: corgipile */
	const char *buffer;   /* NULL: PLAN_BUFFER_BYTES */
	const char *dp_batch; /* "global", "local"; NULL: global */
	const char *profile;  /* file of kp-profile(5); NULL: the default */
};

#define PLAN_MIN_ROWS_MAX 1000000000
#define PLAN_BUFFER_BYTES ((uint64_t)512 << 20)
#define PLAN_SEED_MAX 9007199254740992.0 /* 2^53 */

#define PLAN_OPTIONS_DEFAULT                                                   \
	{                                                                      \
		.search = "grid", .seed = 1, .pack_width = PACK_LANES_MAX,     \
		.min_rows = 10                                                 \
	}

/* Rows of an option table that fill the struct plan_options named po; put a
 * comma behind. */
/* clang-format off */
#define PLAN_OPTIONS_TABLE(po)                                                 \
	{"learner", 0, OPT_STRING, &(po).learner, "NAME",                      \
	 "logistic, linear, poisson, huber, quantile, svm, softmax, mlp "      \
	 "(required)",                                                         \
	 0, 0},                                                                \
	{"param", 0, OPT_LIST, &(po).param, "NAME=VALUES",                     \
	 "values of a parameter, repeated for others:\n"                       \
	 "V1,V2,... | log:LO:HI | lin:LO:HI | int:LO:HI", 0, 0},               \
	{"search", 0, OPT_STRING, &(po).search, "HOW",                         \
	 "grid[:POINTS], POINTS values of each range (5), or\n"                \
	 "random:N, N draws; or\n"                                             \
	 "halving:N[:ETA], halving:grid[:POINTS[:ETA]], "                      \
	 "the best one in ETA (3) go on", 0, 0},                               \
	{"seed", 0, OPT_INT, &(po).seed, "S",                                  \
	 "seed of all randomness", 0, PLAN_SEED_MAX},                          \
	{"epochs", 0, OPT_INT, &(po).epochs, "H",                              \
	 "at most so many epochs (default: the learner's)",                    \
	 1, PLAN_EPOCHS_MAX},                                                  \
	{"patience", 0, OPT_INT, &(po).patience, "N",                          \
	 "end a config when its hold-out value has not been better "           \
	 "for N epochs; the model is that of its best epoch",                  \
	 1, PLAN_EPOCHS_MAX},                                                  \
	{"pack-width", 0, OPT_INT, &(po).pack_width, "N",                      \
	 "configs of a group trained together, at most",                       \
	 1, PACK_LANES_MAX},                                                   \
	{"min-rows", 0, OPT_INT, &(po).min_rows, "N",                          \
	 "a group of fewer training rows falls back",                          \
	 1, PLAN_MIN_ROWS_MAX},                                                \
	{"shuffle", 0, OPT_STRING, &(po).shuffle, "METHOD",                    \
	 "order of rows under solver=sgd, adam: corgipile (default), "         \
	 "none, once, epoch, window, mrs, block", 0, 0},                       \
	{"buffer", 0, OPT_STRING, &(po).buffer, "SIZE",                        \
	 "rows shuffled together, as a share (10%) of a worker's "             \
	 "rows of a group or in bytes (default: 512M)", 0, 0},                 \
	{"dp-batch", 0, OPT_STRING, &(po).dp_batch, "HOW",                     \
	 "strategy dp: batch=B is of all workers together (global, "           \
	 "default) or of each (local)", 0, 0},                                 \
	{"profile", 0, OPT_STRING, &(po).profile, "FILE",                      \
	 "what work costs, measured by kp-plan --pilot "                       \
	 "(default: an ordinary machine)", 0, 0}
/* clang-format on */

/* " --learner NAME --param ..." with all defaults, as words of sh(1); what
 * they mean for a plan made by plan_build(). */
void plan_options_words(const struct plan_options *o, const struct plan *p,
			struct strbuf *sb);
/* An option given that is not the default, NULL if there is none. */
const char *plan_options_given(const struct plan_options *o);
/* For struct opt_program: a learner's parameter is no option, but goes into
 * --param. */
void plan_options_elsewhere(const char *word, struct strbuf *sb);
void plan_options_release(struct plan_options *o);

/* The workers of a partition when -p is not given: the cores this process
 * may use. */
uint32_t plan_default_workers(void);

/* The profile that was asked for; the caller releases it. */
int plan_options_profile(const struct plan_options *o, struct profile *p,
			 struct error *err);
/* The search space alone, expanded; EXIT_USAGE as plan_build(), and s is
 * empty then. */
int plan_options_space(const struct plan_options *o, const struct schema *sc,
		       struct space *s, struct error *err);

/* Makes the plan for a dataset of this schema cut by a partition of it.  The
 * partition is moved into the plan and left empty, whatever happens. EXIT_USAGE
 * if the options make no sense or do not fit the dataset's task; the plan then
 * holds nothing.  Where groups are split, plan_choose() (planchoice.h)
 * should follow. */
int plan_build(struct plan *p, const struct plan_options *o,
	       const struct schema *s, struct partition *taken,
	       struct error *err);

#endif
