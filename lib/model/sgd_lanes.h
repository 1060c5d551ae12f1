#ifndef KP_MODEL_SGD_LANES_H
#define KP_MODEL_SGD_LANES_H

/*
 * sgd_lanes - what a pack of sgd_pack.h holds.  Private to sgd_pack.c, which
 * makes and trains it, sgd_split.c, which takes steps with other holders, and
 * sgd_state.c, which writes and reads its lanes.
 */

#include "model/sgd_kernel.h"
#include "model/sgd_pack.h"

/* The scale of a lane is looked at every so many batches, a power of two such
 * that it cannot have changed by more than SCALE_FAR since, and taken back
 * to about 1 when it has left SCALE_NEAR. */
#define SCALE_NEAR 0x1p16
#define SCALE_FAR 0x1p32

/* Why a lane ended; part of STATE. */
enum reason {
	REASON_NONE,
	REASON_EPOCHS,
	REASON_NOT_FINITE,
	REASON_NO_ROWS,
	REASON_COUNT
};

struct lane {
	struct sgd_rule rule;
	double l1, l2;
	enum lane_status status;
	enum reason reason;
	uint32_t epoch;
	double loss, objective;
	double step;	       /* size, in this epoch */
	uint32_t period;       /* batches between looks at the scale */
	double power1, power2; /* adam: beta ^ steps taken */
};

/* Where in an epoch a pack is. */
struct place {
	bool open; /* steps were made since the last end of an epoch */
	uint64_t batches, iterates;
	double mass; /* weight of the rows */
};

struct pack {
	enum loss kind;
	enum sgd_method method;
	bool average;
	const struct group_facts *facts;
	const struct view *view;
	const struct sgd_kernel *kernel;
	const struct glm_kernel *scorer;
	uint32_t epochs;
	size_t n, width; /* lanes, and with padding */
	size_t batch;
	uint64_t every;	  /* batches from iterate to iterate of a mean */
	size_t hot, size; /* see sgd_kernel.h; rows of a table */
	size_t nvar;	  /* d, and 1 if there is an intercept */
	uint32_t *row_of; /* [d + 1] table row of a slot */
	double start;	  /* of the intercept */
	double center;	  /* that the table's intercept is less by */
	double tau;	  /* quantile */
	float *w, *g, *m, *v;
	double *sum;   /* table: of iterates, or NULL */
	double *model; /* [d + 2][width] at the end of the last epoch */
	struct lane lane[PACK_LANES_MAX];
	_Alignas(64) double scale[SGD_LANES_MAX];
	_Alignas(64) double inverse[SGD_LANES_MAX];
	double loss_sum[SGD_LANES_MAX];
	struct place at;
	bool placed; /* a lane's state was loaded */
	bool lagged; /* and a lane's counters of missed steps */

	/* What follows from the lanes' epochs, set by sgd_lanes_prepare();
	 * always so within an epoch. */
	bool ready;
	bool decays, shrinks;
	_Alignas(64) double decay[SGD_LANES_MAX];
	_Alignas(64) double undecay[SGD_LANES_MAX];
	float rate[SGD_LANES_MAX];
	_Alignas(64) float shrink[SGD_LANES_MAX];
	float l2[SGD_LANES_MAX], momentum[SGD_LANES_MAX];
	uint32_t period; /* the least of the lanes */
	uint32_t reach;	 /* steps that a weight may lag behind */
	struct sgd_lag lag;
	float *margin;
	size_t margin_rows;
};

/* Before the first step of an epoch, or after a load or repack. */
void sgd_lanes_prepare(struct pack *p);
/* Steps that a weight may lag behind: about an epoch's. */
uint32_t sgd_lanes_reach(const struct pack *p);
/* A run over no rows yet. */
struct sgd_run sgd_lanes_run(struct pack *p);
/* Room for the margins of so many rows, and as much again. */
float *sgd_lanes_margins(struct pack *p, size_t rows);
/* Adds the weights of the run's rows. */
void sgd_lanes_weigh(const struct sgd_run *run, double *mass);
/* The step of momentum or adam along the mean gradient g, which gets 0. */
void sgd_lanes_sweep(struct pack *p, float *g);
/* What is due after so many batches. */
void sgd_lanes_advance(struct pack *p, uint64_t batches);
/* The models as they are now, [d + 2][width]: of lanes within an epoch, their
 * iterates.  The caller's to free. */
double *sgd_lanes_models(const struct pack *p);

#endif
