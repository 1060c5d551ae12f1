#ifndef KP_EXEC_GAPCORE_H
#define KP_EXEC_GAPCORE_H

/*
 * gapcore - what the parts of a worker share: gap.c runs its loop, gapsum.c
 * knows how passes whose partials add are taken (Algebraic, Sampling),
 * gapwalk.c how models walk along the holders (Sequential), gapdp.c how all
 * holders take their steps together (Sequential, dp), gapwatch.c what
 * hold-out values decide, gapturn.c when the packs of a shared group start. For
 * these files only.
 */

#include "exec/gap.h"
#include "exec/gaptask.h"
#include "exec/ledger.h"
#include "exec/resume.h"
#include "plan/schedule.h"

/* A group this worker shares with others. */
struct shared {
	struct shard shard;
	struct holders holders;
	struct held *held; /* NULL before it is needed and after its end */
	bool ended;
	/* of its owner */
	size_t open;	    /* configs not finished */
	size_t running;	    /* of them, in packs that have started */
	uint32_t next_pack; /* the first that has not started */
	enum turn { TURN_AWAITED, TURN_HERE, TURN_OVER } turn;
	bool due; /* in gap.due */
	struct shared *next_due;
};

/* Packs of a group that this worker does alone. */
struct job {
	struct shard shard;
	uint32_t pack, end_pack;
};

/* What passes are put aside for: those of a higher level. */
enum level { LEVEL_WHOLE, LEVEL_SHARED, LEVEL_URGENT, LEVEL_SCORE };

/* A pass under way.  One of a higher level may be taken in its midst; its unit
 * on the timeline is then cut in two. */
struct passing {
	struct unit unit; /* what is not on record yet */
	bool joins;	  /* with other units of a tiny group */
	enum level level;
	struct passing *outer;
};

struct gap {
	const struct gap_options *o;
	const struct plan *plan;
	const struct learner *learner;
	const struct schema *schema;
	const struct index *index;
	uint64_t *group_rows; /* [ngroup] */
	bool *owned;	      /* [ngroup] trained, and updated here */
	uint8_t *mine;	      /* mtp: a bit per (group, config) instead */
	bool one_pack;	      /* of a shared group at a time */
	bool one_group;	      /* that is shared at a time, in order (dp) */
	struct resume *resume;
	struct rungs *rungs; /* NULL: no halving */
	struct ledger ledger;

	struct shared *shared;
	size_t nshared, nended;
	size_t awaited;	      /* owned ones whose turn is not over */
	struct shared *due;   /* list: those that packs may start of */
	struct gaptask *task; /* list: of shared groups */
	struct job *job;      /* of groups held whole, in order */
	size_t njob, job_cap, next_job;
	uint32_t next_pack; /* of that job */
	struct held *whole_held;
	struct gaptask *whole_task; /* list, like task: of one pack */
	uint64_t resident_bytes;    /* estimate, of shared groups */
	uint64_t views;		    /* different ones among the configs */

	double look_sec, checkpoint_sec, progress_sec;
	bool stop;
	struct passing *passing; /* NULL: no pass is under way */
	struct error *err;	 /* of it */
};

/* --- gap.c --- */
int gap_send(struct gap *g, uint32_t to, enum gap_tag tag,
	     const struct strbuf *sb, struct error *err);
int gap_nonsense(uint32_t from, struct error *err);
struct shared *gap_find_shared(struct gap *g, uint32_t group);
/* How many packs a shared group has. */
uint32_t gap_packs(const struct gap *g, uint32_t group);
int gap_hold_shared(struct gap *g, struct shared *s, struct error *err);
/* The task joins the list of its kind of group; its rows are then passed over
 * in turn. */
void gap_add_task(struct gap *g, struct gaptask *t);
/* The task leaves its list and is freed. */
void gap_drop_task(struct gap *g, struct gaptask *t);
/* n more configs of an owned group are finished; after the last of a shared
 * group all its holders forget it. */
int gap_configs_finished(struct gap *g, uint32_t group, size_t n,
			 struct error *err);
/* A task of n configs of a pack, at its start; NULL on error, or, with *err
 * empty, if the configs could not start, which is recorded. */
struct gaptask *gap_new_task(struct gap *g, struct held *h, uint32_t pack,
			     const uint32_t *config, uint32_t n,
			     struct error *err);
/* The configs of a pack that its owner has not finished; how many. */
uint32_t gap_unfinished(const struct gap *g, uint32_t group,
			const struct plan_pack *p,
			uint32_t config[PACK_LANES_MAX]);
/* As gap_unfinished(), but configs that are at the next rung already, or beyond
 * it, are parked. */
int gap_ready(struct gap *g, uint32_t group, const struct plan_pack *p,
	      uint32_t config[PACK_LANES_MAX], struct error *err);
/* The packs of an owned group as they are now: of the plan, or since a rung. */
const struct plan_pack *gap_now_packs(const struct gap *g, uint32_t group,
				      bool split, size_t *n);
/* Where a config goes on from, NULL: it has not begun. */
const struct trial_state *gap_state(const struct gap *g, uint32_t group,
				    uint32_t config);
/* n more configs of an owned group are parked. */
void gap_configs_parked(struct gap *g, uint32_t group, size_t n);
/* A pack of a group that this worker owns, at its first pass. */
int gap_start_pack(struct gap *g, struct held *h, uint32_t pack,
		   const uint32_t *config, uint32_t n, struct error *err);
/* The pass of t over its own rows begins, for so many epochs with it; and is
 * over, with what followed from it. */
void gap_pass_begin(struct gap *g, struct passing *p, const struct gaptask *t,
		    uint32_t epoch);
void gap_pass_end(struct gap *g, struct passing *p);
/* Rows of the pass under way have been seen.  Looks at the sockets if it is
 * time, and takes passes that have come and cannot wait; 1: stop this pass,
 * -1: error. */
int gap_breathe(struct gap *g, uint64_t rows);
/* The group has ended at its owner: all its holders forget it. */
int gap_end_shared(struct gap *g, struct shared *s, struct error *err);

/* --- gapsum.c --- */
/* The n configs of a pack of a group that this worker owns. */
int gapsum_start(struct gap *g, struct held *h, uint32_t pack,
		 const uint32_t *config, uint32_t n, struct error *err);
/* The same of configs that have lost at a rung: their last score. */
int gapsum_end(struct gap *g, struct held *h, uint32_t pack,
	       const uint32_t *config, uint32_t n, struct error *err);
int gapsum_pass(struct gap *g, struct gaptask *t, struct error *err);
int gapsum_request(struct gap *g, const struct message *m, struct error *err);
int gapsum_reply(struct gap *g, const struct message *m, struct error *err);

/* --- gapwatch.c --- */
/* Algebraic: before the update that a pass is for. */
void gapwatch_before(const struct gap *g, struct gaptask *t);
/* After it, or after an epoch has been scored: what follows for the lane from
 * its hold-out value.  It may end early, which its report then says, or be at
 * a rung, which t->parked does. */
void gapwatch_judge(const struct gap *g, struct gaptask *t, uint32_t lane);
/* The lane has ended: its pack goes back to the model that is kept, if there
 * is one, and its report is of that. */
int gapwatch_restore(struct gap *g, struct gaptask *t, uint32_t lane,
		     struct error *err);

/* Parks the lanes t->parked; how many. */
int gapwatch_park(struct gap *g, const struct gaptask *t, struct error *err);
/* The lanes, whose states have been loaded, go on from a rung, or from where a
 * crash left them; or have lost there. */
void gapwatch_go_on(struct gap *g, struct gaptask *t);
void gapwatch_lose(struct gap *g, struct gaptask *t);

/* --- gapturn.c --- */
/* What may start first. */
int gapturn_open(struct gap *g, struct error *err);
/* Configs of an owned group have finished: perhaps another pack is due. */
void gapturn_finished(struct gap *g, struct shared *s);
/* An owned group has ended. */
int gapturn_ended(struct gap *g, struct shared *s, struct error *err);
/* Starts the packs that are due. */
int gapturn_start(struct gap *g, struct error *err);
int gapturn_message(struct gap *g, const struct message *m, struct error *err);

/* --- gapwalk.c --- */
int gapwalk_start(struct gap *g, struct held *h, uint32_t pack,
		  const uint32_t *config, uint32_t n, struct error *err);
int gapwalk_end(struct gap *g, struct held *h, uint32_t pack,
		const uint32_t *config, uint32_t n, struct error *err);
int gapwalk_pass(struct gap *g, struct gaptask *t, struct error *err);
/* TAG_HOP, TAG_EPOCH, TAG_SCORE, TAG_SCORES */
int gapwalk_message(struct gap *g, const struct message *m, struct error *err);
/* What a message says of the task; whether what one says can be. */
void gapwalk_of(const struct gaptask *t, struct gap_walk *w);
bool gapwalk_sound(struct gap *g, const struct gap_walk *w);
/* The states of all lanes, and a task of the lanes in a message, made of them;
 * NULL on error. */
void gapwalk_put_states(const struct gaptask *t, struct strbuf *sb);
struct gaptask *gapwalk_task_of_states(struct gap *g, const struct gap_walk *w,
				       struct cursor *c, struct error *err);
/* Marks the lanes that the reports say have ended, or, if hold-out values have
 * a say in that, those that failed; hold-out rows are next. */
void gapwalk_begin_score(struct gaptask *t);

/* --- gapdp.c --- */
/* The task of an owner, with states, at the start of an epoch. */
int gapdp_begin(struct gap *g, struct gaptask *t, struct error *err);
int gapdp_pass(struct gap *g, struct gaptask *t, struct error *err);
/* An owner's epoch has been recorded: the lanes t->ended leave, and with no
 * other left the task is gone. */
int gapdp_next(struct gap *g, struct gaptask *t, struct error *err);
/* TAG_BEGIN, TAG_SUM, TAG_TOTAL, TAG_NEXT */
int gapdp_message(struct gap *g, const struct message *m, struct error *err);

#endif
