#ifndef KP_PLAN_PLAN_H
#define KP_PLAN_PLAN_H

/*
 * plan - everything a run is a function of, besides the dataset (kp-plan(5)):
 * the partition, the learner, the space with its configs, how configs are
 * packed, how split groups are scheduled, epochs, seed, and the costs it was
 * made by.  Size O(p + configs + split groups), whatever the number of groups:
 * whole groups are implied by order.
 *
 * Order of work on a worker: units of groups that it shares with others
 * first, then its whole groups by ordinal, each with its packs in turn, all
 * epochs of one before the next.  Under mtp its tasks instead.
 */

#include "plan/partition.h"
#include "plan/profile.h"
#include "plan/schedule.h"
#include "plan/space.h"
#include "shuffle/buffersize.h"
#include "shuffle/order.h"

#define PLAN_EPOCHS_MAX 1000000

struct plan_pack {
	uint32_t config[PACK_LANES_MAX]; /* positions in space.config */
	uint32_t n;
};

/* Some configs of a space. */
struct plan_part {
	const uint32_t *config; /* [n] */
	uint32_t n;
};

/* Packs that hold every config once. */
struct plan_set {
	struct plan_pack *pack;
	size_t n;
};

/* The set of a group on several workers. */
struct plan_split {
	uint32_t group, set;
};

struct plan {
	struct partition partition;
	struct space space;
	uint32_t epochs; /* cap */
	/* Epochs without a better hold-out value after which a config ends;
	 * its model is then that of its best epoch.  0: none. */
	uint32_t patience;
	uint32_t pack_width; /* at most */
	/* How Sequential configs visit the rows of a shard. */
	enum shuffle_method shuffle;
	struct buffer_size buffer;
	/* Where all holders train Sequential configs at once (dp): a step is
	 * of `batch` rows on each of them, not of `batch` in all. */
	bool local_batch;
	uint32_t min_rows;    /* training rows below which a group falls back */
	struct plan_set *set; /* [nset] set 0 is that of whole groups */
	size_t nset;
	uint32_t split_set;	  /* of split groups that are not listed */
	struct plan_split *split; /* [nsplit] ascending by group */
	size_t nsplit;
	struct schedule schedule;
	struct profile profile; /* by which it was made, no more */
};

/* Packs the configs of plan->space for its partition: equal pack parameters
 * together, in order, split evenly, into as many packs as cost the least by
 * the profile's row_sec (of equals the fewest), not wider than pack_width.
 * A split group has more where its holders would have too few to compute one
 * while another travels: at least 2 if there are 2 configs, and as many as
 * holders if configs are Sequential; not where all holders are at one pack at
 * a time (strategy_one_group()).  Where the partition is by a rule, all
 * split groups are as the one on the most workers.  Under mtp packs are of one
 * config.  The schedule becomes the default one.  plan_choose() (planchoice.h)
 * finds better ones. */
void plan_make_packs(struct plan *p);
/* Makes every pack as wide as pack_width lets it, in one set for all groups.
 * Nothing has a lower sum of work, if a wider pack costs less per config. */
void plan_widest_packs(struct plan *p);
/* Keeps the entries of a profile that the configs need; before packs are
 * made.  Without it the default profile's. */
void plan_set_profile(struct plan *p, const struct profile *from);
/* The packs of a group; split: more than one worker holds rows of it. */
const struct plan_pack *plan_packs(const struct plan *p, uint32_t group,
				   bool split, size_t *n);
/* The packs that only n of its configs would have, ascending, in a plan that
 * is otherwise this one; NULL if n is 0.  The caller frees. */
struct plan_pack *plan_packs_of(const struct plan *p, uint32_t group,
				bool split, const struct plan_part *part,
				size_t *npack);
/* The same of plan_widest_packs(). */
struct plan_pack *plan_widest_packs_of(const struct plan *p,
				       const struct plan_part *part,
				       size_t *npack);
void plan_release(struct plan *p);
/* mtp: the worker of pack k of group i at [i * set[0].n + k], by all rows of
 * the group (plan/tasks.h); groups that fall back have none to do.  The caller
 * frees. */
uint32_t *plan_tasks(const struct plan *p, const struct schema *s,
		     const struct index *ix);
/* How a config is trained. */
static inline const struct pack_ops *
plan_ops(const struct plan *p, uint32_t config)
{
	return p->space.learner->ops(&p->space.config[config]);
}
/* "global" or "local" (local_batch); EXIT_USAGE. */
int plan_batch_parse(const char *text, bool *local, struct error *err);
/* Whether hold-out values decide how long a config is trained. */
static inline bool
plan_watches(const struct plan *p)
{
	return p->patience > 0 || p->space.eta > 0;
}
/* Whether any config is Sequential. */
bool plan_is_sequential(const struct plan *p);
/* Hash of all that decides the bytes of models and trials: learner, seed,
 * configs, epochs, patience, min_rows, data fingerprint; not workers, packs,
 * paths, nor how the configs were asked for.  With Sequential configs: the
 * shuffle and, if a group is split, its cuts and packs and the order in which
 * packs visit holders as well, since these models hop. */
uint64_t plan_identity(const struct plan *p);
void plan_json(const struct plan *p, struct jout *j);
int plan_load(struct plan *p, const struct jvalue *v, struct error *err);
int plan_load_file(struct plan *p, const char *path, struct error *err);
int plan_load_bytes(struct plan *p, const char *b, size_t n, const char *name,
		    struct error *err);

/* Whether and why a group is not trained but falls back; NULL: it is trained.
 * ("one class", "too few rows", "no rows") */
const char *plan_fallback_reason(const struct plan *p, const struct schema *s,
				 const struct index_group *g);

#endif
