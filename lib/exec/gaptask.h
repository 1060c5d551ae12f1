#ifndef KP_EXEC_GAPTASK_H
#define KP_EXEC_GAPTASK_H

/*
 * gaptask - one (group, pack) on one of its holders: the pack, the rows it is
 * trained on, and where its current pass stands.
 *
 * A pass is complete here when the own rows are in and every child of the
 * tree, or, of a score, every other holder, has replied.  All holders run the
 * same code; only the owner (position 0) updates.
 */

#include "exec/gapwire.h"
#include "exec/shardrows.h"
#include "exec/shardwalk.h"
#include "exec/watch.h"
#include "plan/plan.h"

/* A group as this worker holds it: facts, and its shard in the views that
 * packs have asked for. */
struct held_view {
	const struct config *config; /* any that has this view */
	struct view *view;
	struct shardrows *rows; /* Sequential: hold-out rows only */
	struct shardwalk *walk; /* Sequential: training rows, else NULL */
};

struct held_spec {
	const struct plan *plan;
	struct dataset *data;
	struct shard shard;
	/* ranks > 0: Sequential packs are trained by so many holders at once,
	 * of which this is one: the walk is its part of the whole group. */
	struct order_rank part;
	bool streamed;
	uint64_t memory_bytes; /* streamed: for buffers */
};

struct held {
	struct held_spec spec;
	const struct learner *learner;
	struct shard shard;
	struct group_facts facts;
	struct held_view *view;
	size_t nview;
};

/* Reads the group's facts; NULL on damage. */
struct held *held_new(const struct held_spec *spec, struct error *err);
void held_free(struct held *h); /* NULL is legal */
/* The shard in the view of the config; made when first asked for, and kept
 * if `keep_others`, else alone. */
struct held_view *held_get(struct held *h, const struct config *c,
			   bool keep_others, struct error *err);

/* Where an epoch of a task that is trained together stands. */
struct gaptask_step {
	struct shardtake *take; /* NULL: between epochs */
	struct deal deal;
	uint64_t rows;		/* of a step */
	uint64_t at;		/* rows of all holders before this step */
	struct partial *sum[2]; /* of the children; NULL: none yet */
	double start_sec;	/* of the epoch */
	/* owner: states of all lanes at the start of the epoch, to be
	 * journalled, and where that is */
	struct strbuf states;
	struct position states_at;
};

struct gaptask {
	struct held *held;
	uint32_t pack_number;		 /* of the plan, or since a rung */
	uint32_t npack;			 /* of how many, if it walks */
	uint32_t config[PACK_LANES_MAX]; /* of the lanes, [n] */
	uint32_t n;
	struct view *view;
	struct shardrows *rows;
	struct shardwalk *walk;	    /* Sequential */
	const struct pack_ops *ops; /* of the pack */
	struct pack *pack;
	bool together;		 /* Sequential, by all holders at once */
	struct partial *partial; /* Algebraic, Sampling, or together */
	enum metric_kind by;	 /* the default metric */
	struct metric *light[PACK_LANES_MAX], *full[PACK_LANES_MAX];

	/* the pass */
	enum pass_kind kind;
	uint32_t ended;	 /* PASS_FINAL, PASS_SCORE: bits of lanes */
	uint32_t failed; /* PASS_SCORE: of those, the diverged */
	uint32_t sequence;
	struct position at; /* Sequential */
	bool own_pending;   /* the own rows are still to be passed over */
	uint32_t waiting;   /* children that have not replied */
	struct lane_report report[PACK_LANES_MAX];   /* owner: last update */
	char reason[PACK_LANES_MAX][GAP_REASON_MAX]; /* of a lane that ended
							elsewhere */

	bool sees; /* somebody wants to know an epoch's hold-out metric */
	/* patience, halving */
	bool watched;
	uint32_t parked; /* owner: lanes that wait at a rung from here on */
	bool last; /* PASS_SCORE: of the models that are kept, and no more */
	struct watch watch[PACK_LANES_MAX];
	/* owner, Algebraic: lanes that may keep the point of this pass, as
	 * they were before the update: STATE and MODEL */
	struct strbuf before[PACK_LANES_MAX][2];

	struct gaptask_step step;

	/* the tree: workers; parent == own worker at the owner */
	uint32_t parent, child[2], nchild;
	struct gaptask *next;
};

/* Lanes are the n configs given, numbers in plan->space.config.  NULL if the
 * view or pack cannot be made. */
struct gaptask *gaptask_new(const struct plan *plan, struct held *held,
			    uint32_t pack_number, const uint32_t *config,
			    uint32_t n, struct error *err);
void gaptask_free(struct gaptask *t); /* not the held group */

/* Zeroes the sums of a new pass; own rows and children are outstanding. */
void gaptask_begin(struct gaptask *t, enum pass_kind kind, uint32_t ended);
static inline bool
gaptask_complete(const struct gaptask *t)
{
	return !t->own_pending && t->waiting == 0;
}
/* Adds the rows of one piece. */
void gaptask_piece(struct gaptask *t, const struct rows *train,
		   const struct rows *holdout);
/* The sums, to the parent; and those of a child, merged. */
void gaptask_put_sums(const struct gaptask *t, struct strbuf *sb);
int gaptask_merge_sums(struct gaptask *t, struct cursor *c, struct error *err);
/* Lanes of the mask leave; returns how many are left.  If none are, the pack
 * stays as it is. */
uint32_t gaptask_drop(struct gaptask *t, uint32_t ended);
/* All that decides later bytes of a lane: its pack's STATE and, if hold-out
 * values decide how long it is trained, its watch before it.  load returns -1
 * on bad bytes. */
void gaptask_save(const struct gaptask *t, uint32_t lane, struct strbuf *sb);
int gaptask_load(struct gaptask *t, uint32_t lane, const void *b, size_t n);
/* Whether `worker` journals the states of its lanes: its pack is the one that
 * is trained, not one that follows or is only scored. */
bool gaptask_has_state(const struct gaptask *t, uint32_t worker);
/* Sets the error of a state that does not fit a lane; returns -1. */
int gaptask_bad_state(const struct gaptask *t, uint32_t lane, const char *run,
		      struct error *err);

/* The workers that hold rows of a group, in order of rows; the last owns it. */
struct holders {
	uint32_t *worker; /* [n] */
	uint32_t n, own;  /* own: position of this worker */
};
void holders_init(struct holders *h, const struct partition *pt,
		  const uint64_t *rows, uint32_t group, uint32_t worker);
void holders_release(struct holders *h);
uint32_t holders_owner(const struct holders *h); /* a worker */
/* Parent and children in the tree of the holders. */
void gaptask_place(struct gaptask *t, const struct holders *h);

#endif
