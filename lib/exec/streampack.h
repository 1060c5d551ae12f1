#ifndef KP_EXEC_STREAMPACK_H
#define KP_EXEC_STREAMPACK_H

/*
 * streampack - one pack of a group of a stream in training: its lanes, their
 * scores and records.
 */

#include "data/mix.h"
#include "exec/journal.h"
#include "plan/plan.h"

/* What all groups of a run share: its plan, and room to work in. */
struct streamdesk {
	const struct plan *plan;
	const struct learner *learner;
	const struct schema *schema;
	enum metric_kind by; /* the default metric */
	/* of hold-out rows, each for a lane */
	struct metric *light[PACK_LANES_MAX], *full[PACK_LANES_MAX];
	uint32_t *count; /* 0, 1, 2, ... */
	size_t ncount;
	double *pred, *label, *weight; /* of a piece */
	size_t pred_cap, label_cap, weight_cap;
	struct row_ref *ref;
	size_t ref_cap;
	struct block spare;
};

void streamdesk_init(struct streamdesk *d, const struct plan *plan,
		     const struct schema *schema);
void streamdesk_release(struct streamdesk *d);

/* Where records go; group and sec are for the taker to fill in. */
struct streamsink {
	void (*trial)(void *ctx, uint32_t group, struct trial *t);
	void (*done)(void *ctx, uint32_t group, struct trial_done *d);
	void *ctx;
};
/* 0, 1, 2, ..., at least n of them. */
const uint32_t *streamdesk_count(struct streamdesk *d, size_t n);

struct streampack_score {
	double metric[METRIC_COUNT];
	double weight;
	uint64_t rows;
};

struct streampack {
	const struct pack_ops *ops;
	struct pack *pack; /* NULL: it could not start, see why, or has ended */
	uint32_t config[PACK_LANES_MAX]; /* of the lanes, [n] */
	uint32_t n;			 /* 0: all have ended */
	struct lane_report report[PACK_LANES_MAX];
	/* Progressive validation: of the epoch so far (NULL: not wanted), and
	 * the metrics of the first epoch. */
	struct metric *seen[PACK_LANES_MAX];
	struct streampack_score first[PACK_LANES_MAX];
	char why[sizeof((struct trial_done *)0)->reason];
};

/* At its start, predicting rows before it learns from them.  EXIT_DATA: the
 * pack will fail, others of the group may not. */
int streampack_start(struct streampack *p, const struct streamdesk *d,
		     const struct group_facts *f, const struct view *view,
		     struct error *err);
void streampack_release(struct streampack *p);

/* Learns from a piece of rows, whose labels and weights are on the desk if
 * anybody wants to know how they are predicted. */
void streampack_step(struct streampack *p, struct streamdesk *d,
		     const struct rows *r, const uint32_t *order, size_t n);
/* Nobody does any more. */
void streampack_stop_seeing(struct streampack *p);

/* How an epoch ends. */
struct streampack_end {
	const struct streamdesk *desk;
	uint32_t group;		 /* for the records */
	const struct rows *held; /* hold-out rows, NULL: none */
	bool first;		 /* it was the first */
	bool recorded;		 /* there are records of epochs */
	const struct streamsink *sink;
	/* The best value of the default metric so far, and its weight. */
	double best, best_weight;
};
void streampack_end_epoch(struct streampack *p, struct streampack_end *end);
/* No epoch will follow the one just ended. */
void streampack_finish(struct streampack *p, const struct streampack_end *end);

/* To a file, and back into a pack at its start. */
void streampack_put(const struct streampack *p, struct strbuf *sb);
struct streampack_from {
	const struct streamdesk *desk;
	bool seen;  /* rows are predicted before they are learnt from */
	bool first; /* the first epoch is under way */
};
/* -1: bad bytes. */
int streampack_get(struct streampack *p, const struct streampack_from *from,
		   struct cursor *c);

#endif
