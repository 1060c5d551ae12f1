#ifndef KP_PLAN_SIMCORE_H
#define KP_PLAN_SIMCORE_H

/*
 * simcore - what the parts of the simulation share: simulate.c has the loop,
 * simwalk.c and simsum.c follow the jobs of split groups (Sequential; the
 * others), simwhole.c makes the units of whole groups, simlock.c does dp,
 * simcost.c says what things cost, simchoice.c tries schedules.  For these
 * files only.
 */

#include "plan/simheap.h"
#include "plan/simulate.h"

/* --- split groups --- */

struct simholder {
	uint32_t worker;
	uint64_t rows, train, holdout;
	bool loaded, streamed;
};

struct simsplit {
	uint32_t group, nholder; /* > 1; the last owns the group */
	struct simholder *holder;
	struct sim_packs packs;
	uint32_t first_job, next_pack; /* to begin */
	uint32_t rung, open;	       /* of the packs begun; not ended */
};

/* A holder in the tree of an Algebraic pass. */
struct simnode {
	uint32_t waiting; /* for children and the own rows */
	double ready_sec; /* when the last of them was there */
	uint64_t holdout; /* rows of it and of all below that have sent sums */
};

/* A (group, pack) of a split group. */
struct simjob {
	uint32_t split;
	uint32_t number; /* position among the packs of its rung */
	uint32_t npack;	 /* of them, in training */
	const struct sim_pack *what;
	uint32_t epochs;      /* when it ends, or is parked */
	uint32_t epoch, leg;  /* completed */
	bool closing;	      /* Sequential: the last scores are asked for */
	uint32_t waiting;     /* Sequential: scores to come */
	double ready_sec;     /* of the last score */
	struct simnode *node; /* Algebraic: [nholder] */
	bool scoring;	      /* Algebraic: configs that have ended */
};

/* The longest chain of packs, each of a later rung than the one before. */
struct simchain {
	uint32_t rung;
	double before_sec, most_sec; /* of earlier rungs; of this one */
};
static inline void
simchain_add(struct simchain *c, const struct sim_pack *p, double sec)
{
	if (p->rung != c->rung) {
		c->before_sec += c->most_sec;
		c->most_sec = 0;
		c->rung = p->rung;
	}
	if (sec > c->most_sec)
		c->most_sec = sec;
}
static inline double
simchain_sec(const struct simchain *c)
{
	return c->before_sec + c->most_sec;
}

/* --- workers --- */

/* A pass under way, waiting or put aside. */
struct simpass {
	bool there;
	bool whole;   /* not of a split group */
	uint32_t job; /* or the group */
	uint32_t pack, holder, epoch;
	uint32_t kind; /* enum unit_kind, or SIM_UPDATE */
	double total_sec, left_sec;
	uint64_t rows, given_rows; /* given: in the parts handed out */
	uint64_t bytes_sent;
};

/* A group, or mtp: a task, that a worker does on its own. */
struct simwhole {
	uint32_t group, pack; /* pack: mtp */
};

struct simworker {
	struct simheap ready; /* of split groups: a: job, b: holder */
	struct simpass now;
	/* Put aside, each for a more urgent one: of a whole group, of a split
	 * group, of the urgent group. */
	struct simpass aside[3];
	uint32_t naside;
	uint64_t sent_bytes; /* since the last unit */
	double busy_sec;     /* all passes, as far as they are done */
	double since_sec;    /* of now */
	uint32_t turn;	     /* of now: ends of earlier turns are void */
	/* Whole groups: all in one pass, or one after the other. */
	double lump_sec;
	struct simwhole *whole;
	size_t nwhole, at;
	uint32_t pack, epoch;
	uint32_t number;       /* position of the pack in its rung */
	bool loading, scoring; /* mtp; is the next to do */
	bool last;	       /* so are the last scores, at the end */
	double resident_bytes;
};

/* What the packs of a group come to, per row and altogether. */
struct simrate {
	struct sim_packs packs;
	double train_sec, holdout_sec;	 /* a row, in all passes */
	double unit_sec, score_unit_sec; /* the rest; if there is hold-out */
	double passes;
	uint64_t units, scores; /* scores: where there is hold-out */
	/* As the above, of a chain of packs no less than of any. */
	double most_train_sec, most_holdout_sec, most_unit_sec;
};

/* What arrives is, besides, the kind of pass that waits. */
enum simevent {
	SIM_TRAIN = UNIT_TRAIN,
	SIM_SCORE = UNIT_SCORE,
	SIM_OPEN = 15,	 /* before anything else: rows of split groups */
	SIM_UPDATE = 16, /* Algebraic: by the owner, when all partials are in */
	SIM_ENDS
};

struct sim {
	struct simrate rate; /* of the group last looked at */
	const struct sim_spec *spec;
	struct sim_result *r;
	uint32_t workers;
	struct simworker *worker; /* [workers] */
	struct simsplit *split;
	size_t nsplit;
	struct simjob *job;
	size_t njob;
	struct simheap events;
	uint64_t seq;
	uint32_t *dirty; /* workers that may take something, at this time */
	size_t ndirty;
	bool *is_dirty;
	struct simwhole *whole; /* those of all workers */
	double start_sec;	/* of whole groups, after dp */
	int stop;
};

/* --- simulate.c --- */
/* A unit of the job is there for its holder at a time. */
void sim_arrive(struct sim *s, enum simevent what, uint32_t job,
		uint32_t holder, double at_sec);
/* A message between holders of a job, for the account of the pass that ends at
 * the sender; returns how long it takes: 0 between a worker and itself. */
double sim_send(struct sim *s, uint32_t job, uint32_t from, uint32_t to,
		double bytes);
/* The job is done: the next of its group may begin. */
void sim_job_done(struct sim *s, uint32_t job, double now_sec);
/* Hands out the part of a pass since the worker took it up. */
void sim_give(struct sim *s, uint32_t worker, struct simpass *p,
	      double end_sec);

/* --- simcost.c --- */
/* Part [first, end) of all rows of a group as part of its `some` rows; parts
 * that meet never overlap and leave nothing out. */
uint64_t simcost_part(uint64_t some, uint64_t all, uint64_t first,
		      uint64_t end);
/* Passes that a config has had before, and that it gets. */
uint32_t simcost_before(const struct sim_spec *s, const struct sim_pack *p);
uint32_t simcost_passes(const struct sim_spec *s, const struct sim_pack *p);
static inline bool
simcost_walks(const struct sim_pack *p)
{
	return p->cost->pattern == PATTERN_SEQUENTIAL;
}
static inline double
simcost_share(const struct sim_pack *p)
{
	return p->share > 0 && !simcost_walks(p) ? p->share : 1;
}
/* A training pass without reading rows; Algebraic: hold-out rows as well. */
double simcost_pass(const struct sim_pack *p, uint64_t train, uint64_t holdout);
/* Whether hold-out rows are scored after a pass, from 1, in a unit of its own:
 * Sequential after each, Algebraic when configs end. */
bool simcost_scores(const struct sim_spec *s, const struct sim_pack *p,
		    uint32_t pass);
/* How many of these are of all metrics: the last ones. */
uint32_t simcost_full_scores(const struct sim_spec *s,
			     const struct sim_pack *p);
/* All of them. */
uint32_t simcost_score_count(const struct sim_spec *s,
			     const struct sim_pack *p);
/* Seconds of that. */
double simcost_score(const struct sim_spec *s, const struct sim_pack *p,
		     uint32_t pass, uint64_t holdout);
/* Bytes of what comes of it. */
double simcost_score_bytes(const struct sim_spec *s, const struct sim_pack *p,
			   uint32_t pass, uint64_t holdout);
double simcost_update(const struct sim_pack *p); /* 0 if Sequential */
/* What a worker computes to take or send a pack so often. */
double simcost_handing(const struct sim_spec *s, const struct sim_pack *p,
		       uint32_t times);
/* Reading the rows of a group, or shard. */
double simcost_load(const struct sim_spec *s, uint64_t rows);
bool simcost_fits(const struct sim_spec *s, double bytes);
/* A message of so many bytes, counted; returns how long it takes. */
double simcost_message(const struct sim_spec *s, struct sim_result *r,
		       double bytes);
/* Makes the rate that of the packs, if it is not. */
void simrate_set(struct simrate *r, const struct sim_spec *s,
		 struct sim_packs packs);
/* All passes of all packs over a group on one worker, without reading. */
double simrate_group_sec(const struct simrate *r, uint64_t train,
			 uint64_t holdout);
/* The same for one pack. */
double simcost_job(const struct sim_spec *s, const struct sim_pack *p,
		   uint64_t train, uint64_t holdout);
/* Reading the rows of a whole group, in all its passes. */
double simcost_whole_load(const struct sim_spec *s, const struct simrate *r,
			  uint32_t group);

/* The pass under way, of those of the pack, from 1. */
static inline uint32_t
sim_pass(const struct sim *s, const struct simjob *j)
{
	return j->epoch - simcost_before(s->spec, j->what) + 1;
}

/* --- simwalk.c, simsum.c --- */
void simwalk_begin(struct sim *s, uint32_t job, double now_sec);
void simwalk_pass_ended(struct sim *s, uint32_t job, uint32_t holder,
			double now_sec);
void simwalk_score_ended(struct sim *s, uint32_t job, uint32_t holder,
			 double now_sec);
void simsum_begin(struct sim *s, uint32_t job, double now_sec);
void simsum_updated(struct sim *s, uint32_t job, double now_sec);
void simsum_pass_ended(struct sim *s, uint32_t job, uint32_t holder,
		       double now_sec);

/* --- simwhole.c --- */
/* Deals the whole groups, or tasks, to the workers. */
void simwhole_deal(struct sim *s);
/* The next pass; false at the end. */
bool simwhole_next(struct sim *s, uint32_t worker, struct simpass *p);

/* --- simlock.c --- */
/* dp: all groups; sp: those on several workers.  Sets start_sec. */
void simlock_run(struct sim *s);

#endif
