#ifndef KP_MODEL_SOFTMAX_LANES_H
#define KP_MODEL_SOFTMAX_LANES_H

/*
 * softmax_lanes - what a pack of softmax_pack.h holds.  Private to
 * softmax_pack.c, which makes and trains it, and softmax_split.c, which takes
 * steps with other holders.
 */

#include "model/sgd.h"
#include "model/softmax_pack.h"

/* Why a lane ended; part of STATE. */
enum reason {
	REASON_NONE,
	REASON_EPOCHS,
	REASON_NOT_FINITE,
	REASON_NO_ROWS,
	REASON_COUNT
};

struct lane {
	const struct config *config;
	struct sgd_rule rule;
	enum lane_status status;
	enum reason reason;
	uint32_t epoch;
	double loss, objective;	       /* of the last epoch */
	double beta1_left, beta2_left; /* adam: beta^t */
};

/* What steps change beside weights, as the kernels take it. */
struct sums {
	double scale[PACK_LANES_MAX], shrunk[PACK_LANES_MAX];
	double loss[PACK_LANES_MAX];
	double weight; /* of the epoch's rows */
};

struct pack {
	enum softmax_rule rule;
	const struct group_facts *facts;
	const struct view *view;
	const struct softmax_kernel *kernel;
	struct softmax_shape shape;
	uint32_t epochs;
	size_t n, batch;
	bool average;
	uint64_t every; /* batches between iterates that are averaged */
	struct lane lane[PACK_LANES_MAX];

	bool open;	  /* an epoch is */
	uint64_t batches; /* of it so far */
	uint64_t taken;	  /* iterates in `sum` */
	struct sums sums;
	/* [d + 2][stride], those not in use NULL */
	float *w;
	float *g, *first, *second; /* tables; g is 0 between steps */
	float *mean;		   /* the model of average=epoch */
	double *sum;		   /* of iterates */
	double *last;		   /* [d + 2][width] see softmax_learn */
	float *by;		   /* [4][stride] of a sweep, by lane */
	float *spare, *z, *pred;   /* scratch */
	size_t z_rows;
};

/* Numbers by lane, as kernels take them. */
struct softmax_rates {
	double rate[PACK_LANES_MAX], decay[PACK_LANES_MAX];
	double shift[PACK_LANES_MAX];
};

/* Of the lanes' epochs; under a rule with tables those of the gradient. */
struct softmax_rates softmax_lanes_rates(const struct pack *p);
struct softmax_learn softmax_lanes_learn(struct pack *p,
					 const struct softmax_rates *r);
/* Opens the epoch unless it is. */
void softmax_lanes_open(struct pack *p);
/* Room for the margins of so many rows at once, or a batch. */
void softmax_lanes_reserve(struct pack *p, size_t n, bool pred);
/* The step of a rule with tables along the mean gradient g, which gets 0. */
void softmax_lanes_sweep(struct pack *p, float *g);
/* What is due after so many batches. */
void softmax_lanes_advance(struct pack *p, const struct softmax_learn *s,
			   uint64_t batches);

#endif
