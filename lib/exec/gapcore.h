#ifndef KP_EXEC_GAPCORE_H
#define KP_EXEC_GAPCORE_H

/*
 * gapcore - what the parts of a worker share: gap.c runs its loop, gapsum.c
 * knows how passes whose partials add are taken (Algebraic, Sampling),
 * gapwalk.c how models walk along the holders (Sequential).  For these three
 * files only.
 */

#include "exec/gap.h"
#include "exec/gaptask.h"
#include "exec/ledger.h"
#include "exec/resume.h"

/* A group this worker shares with others. */
struct shared {
	struct shard shard;
	struct holders holders;
	struct held *held; /* NULL before it is needed and after its end */
	size_t open;	   /* owner: configs not finished */
	bool ended;
};

struct gap {
	const struct gap_options *o;
	const struct plan *plan;
	const struct learner *learner;
	const struct schema *schema;
	const struct index *index;
	uint64_t *group_rows; /* [ngroup] */
	bool *owned;	      /* [ngroup] trained, and updated here */
	struct resume *resume;
	struct ledger ledger;

	struct shared *shared;
	size_t nshared;
	struct gaptask *task; /* list: of shared groups */
	struct shard *whole;  /* groups held whole, in order */
	size_t nwhole, next_whole, next_pack;
	struct held *whole_held;
	struct gaptask *whole_task; /* list, like task: of one pack */
	uint64_t resident_bytes;    /* estimate, of shared groups */
	uint64_t views;		    /* different ones among the configs */

	double look_sec, checkpoint_sec, progress_sec;
	bool stop;
	struct error *err; /* of the pass under way */
};

/* --- gap.c --- */
int gap_send(struct gap *g, uint32_t to, enum gap_tag tag,
	     const struct strbuf *sb, struct error *err);
int gap_nonsense(uint32_t from, struct error *err);
struct shared *gap_find_shared(struct gap *g, uint32_t group);
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
/* Looks at the sockets if it is time; 1: stop this pass, -1: error. */
int gap_breathe(struct gap *g);

/* --- gapsum.c --- */
/* The n configs of a pack of a group that this worker owns. */
int gapsum_start(struct gap *g, struct held *h, uint32_t pack,
		 const uint32_t *config, uint32_t n, struct error *err);
int gapsum_pass(struct gap *g, struct gaptask *t, struct error *err);
int gapsum_request(struct gap *g, const struct message *m, struct error *err);
int gapsum_reply(struct gap *g, const struct message *m, struct error *err);

/* --- gapwalk.c --- */
int gapwalk_start(struct gap *g, struct held *h, uint32_t pack,
		  const uint32_t *config, uint32_t n, struct error *err);
int gapwalk_pass(struct gap *g, struct gaptask *t, struct error *err);
/* TAG_HOP, TAG_EPOCH, TAG_SCORE, TAG_SCORES */
int gapwalk_message(struct gap *g, const struct message *m, struct error *err);

#endif
