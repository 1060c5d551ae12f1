#ifndef KP_MODEL_LEARNER_H
#define KP_MODEL_LEARNER_H

/*
 * learner - the one interface between what is learnt and how it is run.
 * Planner, transport and runner know nothing else of a learner; a learner
 * knows nothing of workers, files or schedules.
 *
 *	view   how a learner sees the rows of one group: feature numbering,
 *	       scaling, what a missing value becomes.  A function of schema,
 *	       facts, and the view parameters and access pattern of a config
 *	       alone.
 *	rows   rows in a view, in memory.
 *	pack   1 to 16 configs of one group (equal learner and view) trained
 *	       together in the same passes; config i of it is lane i.
 *	model  what predicts: one finished lane, or one loaded from a bundle.
 *
 * A pack is driven from outside (reverse communication):
 *
 *	pack = new(...)                     on every holder, same bytes
 *	do {    point to the other holders
 *	        partial = 0; accumulate(pack, rows, partial)    each holder
 *	        merge all partials, in any order
 *	} while (update(pack, partial, ...) leaves a lane at LANE_STEP)
 *
 * or, Sequential, hops from holder to holder:
 *
 *	for every epoch
 *	        for every holder, step(pack, rows, order, ...)
 *	        end_epoch(pack, ...)
 *
 * or, Sequential too, all holders take each step at once, see gradient().
 *
 * What a pass sums is up to the pack's phase, which is part of the point: a
 * solver's f and g, bins and bounds to prepare, a tree level's histograms.
 * Lanes never look at one another: a config's bytes do not depend on which
 * configs share its pack, nor, unless it is Sequential, on how rows are cut
 * over holders (exact sums, DESIGN section 8).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"
#include "base/error.h"
#include "base/jsonio.h"
#include "data/block.h"
#include "data/facts.h"
#include "data/schema.h"
#include "model/metric.h"

#define PACK_LANES_MAX 16
#define LEARNER_PARAMS_MAX 16

enum pattern { PATTERN_ALGEBRAIC, PATTERN_SEQUENTIAL, PATTERN_SAMPLING };

enum param_kind { PARAM_REAL, PARAM_INT, PARAM_CHOICE };

/* Configs in which parameter number `of`, a choice, has one of the values that
 * are bits here; values 0: all configs. */
struct param_use {
	uint8_t of;
	uint32_t values;
};

#define PARAM_ALWAYS                                                           \
	{                                                                      \
		{                                                              \
			0, 0                                                   \
		}                                                              \
	}

struct learner_param {
	const char *name; /* "l2" */
	enum param_kind kind;
	double min, max, dflt;	   /* PARAM_CHOICE: positions in choice */
	const char *const *choice; /* NULL-ended */
	int simpler; /* +1: a larger value is the simpler model, -1: a
			smaller, 0: says nothing; earlier params weigh more */
	bool view;   /* decides the view: equal within a pack */
	bool pack;   /* must be equal within a pack for another reason */
	struct param_use use[2];    /* only configs of both look at it, */
	struct param_use unless[2]; /* but not those of both of these */
	const char *help;
};

/* One point of the search space: a value per learner_param, by position. */
struct config {
	double value[LEARNER_PARAMS_MAX];
};

enum lane_status {
	LANE_STEP,	/* wants another pass */
	LANE_CONVERGED, /* done */
	LANE_CAPPED,	/* epochs used up; counts as trained */
	LANE_EARLY,	/* stopped by patience; counts as trained */
	LANE_DIVERGED,	/* not finite or bound above 2^500; failed */
};
const char *lane_status_name(enum lane_status s); /* "converged", ... */

struct view;
struct rows;
struct pack;
struct partial;
struct model;

struct pack_spec {
	const struct learner *learner;
	const struct schema *schema;		     /* outlives the pack */
	const struct group_facts *facts;	     /* outlives the pack */
	const struct view *view;		     /* outlives the pack */
	const struct config *config[PACK_LANES_MAX]; /* [n], outlive it */
	size_t n;
	uint32_t epochs; /* cap on passes that count */
	bool watched;	 /* hold-out values of epochs decide when lanes end */
	uint64_t seed;
	uint32_t
	    times; /* Sequential: a step is of so many batches, 0: of one */
};

/* What the last update() said of a lane. */
struct lane_report {
	enum lane_status status;
	uint32_t epoch;	    /* epochs used so far */
	bool counted;	    /* the last pass was an epoch (not a repeat for a
			       bound, not a prepare) */
	double loss;	    /* training mean loss at the point evaluated; of
			       the model once the lane has ended */
	double objective;   /* with the penalty */
	const char *reason; /* short, static: why it ended, "" if it has not */
};

enum save_what {
	SAVE_MODEL, /* what predict needs */
	SAVE_STATE, /* all that decides later bytes: journal, resume, hop */
};

/* A named coefficient, for people. */
struct coefficient {
	const char *name;  /* "distance", owned by the callee's arena */
	const char *value; /* category value, or NULL */
	size_t value_bytes;
	bool missing;	      /* the indicator of a missing value */
	bool other;	      /* of all values not kept under limits */
	double weight;	      /* on the raw scale of the feature */
	const char *of_class; /* several classes: whose margin it is of */
};

/*
 * How a pack works: the functions that know its struct.  Of the parts
 * of a pattern only its own is there, the other is NULL.
 */
struct pack_ops {
	enum pattern pattern;
	uint32_t epochs_default; /* cap on epochs if the user gives none */

	struct pack *(*create)(const struct pack_spec *spec, struct error *err);
	void (*free)(struct pack *p);
	size_t (*width)(const struct pack *p); /* lanes still in it */
	/* Lanes with keep[i] false leave; the rest close up in order. */
	void (*repack)(struct pack *p, const bool *keep);
	/* metric[i] gets the rows' predictions by lane i's model as it is now;
	 * NULL skips the lane. */
	void (*evaluate)(const struct pack *p, const struct rows *r,
			 struct metric *const *metric);
	void (*save)(const struct pack *p, size_t lane, enum save_what what,
		     struct strbuf *sb);
	/* SAVE_STATE bytes back into a lane of a new pack; -1: bad bytes. */
	int (*load_state)(struct pack *p, size_t lane, const void *b, size_t n);

	/* --- all patterns: sums on their way --- */
	struct partial *(*partial_new)(const struct pack *p); /* the zero */
	void (*partial_free)(struct partial *t);
	void (*partial_reset)(struct partial *t);
	void (*partial_put)(const struct partial *t, struct strbuf *sb);
	int (*partial_get)(struct partial *t, struct cursor *c);
	/* Associative and commutative, bit for bit; unless Sequential. */
	void (*merge)(struct partial *into, const struct partial *from);

	/* --- Algebraic, Sampling --- */
	/* The point that the next pass is taken at, all lanes, to another
	 * holder's pack of the same lanes. */
	void (*point_put)(const struct pack *p, struct strbuf *sb);
	int (*point_get)(struct pack *p, struct cursor *c); /* -1: bad bytes */

	/* Adds the sums over the rows for all lanes; p is not changed; zero
	 * rows is legal. */
	void (*accumulate)(const struct pack *p, const struct rows *r,
			   struct partial *t);
	/* One holder, once the partials of all rows are merged; fills
	 * report[lane].  A lane that has ended keeps its model as its point. */
	void (*update)(struct pack *p, const struct partial *t,
		       struct lane_report *report);

	/* --- Sequential --- */
	/* Rows of a mini-batch, equal for all lanes; 1: tuple by tuple. */
	size_t (*batch)(const struct pack *p);
	/* Learns from rows order[0 .. n) of r in that order, in place, batch by
	 * batch; a last batch that is short is divided by its own count.  pred
	 * is NULL, or gets [lane][n][noutput] predictions as predict() gives
	 * them, each made before its batch was learnt from. */
	void (*step)(struct pack *p, const struct rows *r,
		     const uint32_t *order, size_t n, double *pred);
	/* All training rows of the group have been stepped over: averages
	 * close, schedules move on.  Fills report[lane]; its loss is the mean
	 * loss of the rows, each before it was learnt from.  Until the next
	 * step, evaluate() and save() are of the epoch's model. */
	void (*end_epoch)(struct pack *p, struct lane_report *report);
	/* One step that several holders take together, each of whom has the
	 * same pack: gradient() on every holder, for its rows of the batch;
	 * partials merged in an order that all agree on (sums are rounded:
	 * the order counts); apply() of the whole on every holder, which
	 * leaves all packs alike to the byte.  The rows may come in several
	 * calls; a holder may have none.  Partials are those of above.
	 *
	 * Adds the sums over rows order[0 .. n) of r to t.  The weights are
	 * as before; lazy ones may be brought up to date. */
	void (*gradient)(struct pack *p, const struct rows *r,
			 const uint32_t *order, size_t n, struct partial *t);
	/* The step by the mean of the rows summed in t, of which there must
	 * be some; uses t up. */
	void (*apply)(struct pack *p, struct partial *t);
};

struct learner {
	const char *name; /* "logistic" */
	const char *help; /* one line */
	const struct learner_param *param;
	size_t nparam;

	/* 0, or -1 and EXIT_USAGE if the learner cannot do such a task. */
	int (*check_task)(const struct schema *s, struct error *err);
	/* 0, or -1 and EXIT_USAGE if the values make no sense together. */
	int (*check_config)(const struct config *c, struct error *err);
	/* How packs of such a config are trained. */
	const struct pack_ops *(*ops)(const struct config *c);
	/* The metric its models are selected by unless the user says
	 * otherwise; NULL: the task's (metric_default()). */
	const char *metric;
	/* Values per prediction: 1, or nclass. */
	size_t (*noutput)(const struct schema *s);

	/* --- view and rows --- */
	/* NULL on error (e.g. a dictionary too large). */
	struct view *(*view_new)(const struct schema *s,
				 const struct group_facts *f,
				 const struct config *c, struct error *err);
	void (*view_free)(struct view *v);
	/* part < 0: rows of any part. */
	struct rows *(*rows_new)(const struct view *v, int part);
	/* Adds rows [first, last) of b that are in the part. */
	void (*rows_add)(struct rows *r, const struct block *b, uint32_t first,
			 uint32_t last);
	/* Adds the n rows which[] of b that are in the part, in that order. */
	void (*rows_pick)(struct rows *r, const struct block *b,
			  const uint32_t *which, uint32_t n);
	/* Adds copies of the n rows which[] of another of the same view and
	 * part. */
	void (*rows_copy)(struct rows *r, const struct rows *from,
			  const uint32_t *which, size_t n);
	/* label[], weight[] of the n rows which[]; weight may be NULL. */
	void (*rows_label)(const struct rows *r, const uint32_t *which,
			   size_t n, double *label, double *weight);
	void (*rows_reset)(struct rows *r); /* zero rows, memory kept */
	uint64_t (*rows_count)(const struct rows *r);
	uint64_t (*rows_bytes)(const struct rows *r);
	void (*rows_free)(struct rows *r);
	/* Estimate, for planning: bytes of a row in memory. */
	double (*row_bytes)(const struct schema *s);

	/* --- model --- */
	/* From SAVE_MODEL bytes; NULL: EXIT_CORRUPT. */
	struct model *(*model_load)(const struct view *v, const void *b,
				    size_t n, struct error *err);
	void (*model_free)(struct model *m);
	/* out[row][noutput]: probability of the positive class, class
	 * probabilities, or the value; raw: before the link.  Bit for bit what
	 * evaluate() scored. */
	void (*predict)(const struct model *m, const struct rows *r, bool raw,
			double *out);
	/* Coefficients by name, largest |weight| first, the intercept (name
	 * "(intercept)") before all; NULL if the learner has none.  The array
	 * lives in a. */
	struct coefficient *(*coefficients)(const struct model *m,
					    struct arena *a, size_t *n);
};

/* The learners there are, in the order --help lists them. */
extern const struct learner *const learner_table[];	 /* NULL-ended */
const struct learner *learner_by_name(const char *name); /* NULL: none */
/* Position of a parameter; -1 if the learner has none of that name. */
int learner_find_param(const struct learner *l, const char *name);
struct config learner_defaults(const struct learner *l);
/* Whether training with a config looks at a parameter; if not, *of is the
 * parameter whose value is to blame. */
bool learner_uses(const struct learner *l, const struct config *c, size_t param,
		  size_t *of);
/* The metric that epochs are scored and models selected by unless the user says
 * otherwise. */
enum metric_kind learner_metric(const struct learner *l, enum task task);
/* Whether k means anything for its models: pinball only if they are of a tau.
 */
bool learner_scores(const struct learner *l, enum metric_kind k,
		    enum task task);
/* The light metric of that. */
struct metric *learner_light_metric(const struct learner *l,
				    const struct schema *s);
/* The quantile that a config's models predict, NaN if none: for
 * metric_set_tau(). */
double learner_tau(const struct learner *l, const struct config *c);
/* That of all n configs, NaN if they differ: of answers without a model. */
double learner_shared_tau(const struct learner *l, const struct config *c,
			  size_t n);
/* Two configs that see rows alike. */
bool learner_same_view(const struct learner *l, const struct config *a,
		       const struct config *b);
/* Two configs that may share a pack. */
bool learner_same_pack(const struct learner *l, const struct config *a,
		       const struct config *b);
/* <0: a is simpler than b, by the parameter table; 0: neither. */
int learner_simpler(const struct learner *l, const struct config *a,
		    const struct config *b);
/* {"l2":0.01,"solver":"lbfgs",...}: every parameter, in table order. */
void learner_config_json(const struct learner *l, const struct config *c,
			 struct jout *j);
/* A parameter that is missing has its default: files of versions that did not
 * know it stay good. */
int learner_config_load(const struct learner *l, const struct jvalue *v,
			struct config *c, struct error *err);

#endif
