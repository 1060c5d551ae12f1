#ifndef KP_TESTS_SIMCHECK_H
#define KP_TESTS_SIMCHECK_H

/*
 * simcheck - what must hold of the units of any run, simulated or real:
 *
 *	a worker runs one unit at a time;
 *	the shards of a group are its rows, each once, and every (group, pack,
 *	shard) runs exactly once per epoch, over exactly its rows;
 *	an epoch of a (group, pack) begins when the last has ended on all
 *	shards, Sequential when all have scored it;
 *	but for dp, no shard of a Sequential (group, pack) begins before the
 *	one before has ended.
 *
 * simcheck_unit() takes units in order of their end and keeps the first
 * complaint; simcheck_end() looks for what never ran.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "plan/simulate.h"

struct simcheck_shard {
	uint64_t train, holdout;    /* rows it has */
	uint64_t trained, scored;   /* of the epoch under way */
	uint32_t epoch, epochs_all; /* completed, all */
	uint32_t worker;
};

struct simcheck_job {
	uint32_t nshard;
	bool walks, merged, lockstep;
	uint64_t score_rows; /* merged: in its one unit */
	struct simcheck_shard *shard;
	uint32_t open;		     /* shard of which rows are left, or none */
	uint32_t epoch;		     /* the latest of any unit */
	double epoch_end;	     /* latest end of the epochs before */
	double train_end, score_end; /* latest */
};

struct simcheck {
	const struct sim_spec *spec;
	struct simcheck_job **job; /* [ngroup][packs] */
	double *worker_end;
	double last_end;
	char complaint[200];
};

#define SIMCHECK_NONE UINT32_MAX

/* Times are sums of many doubles. */
static inline bool
simcheck_later(double a, double b)
{
	return a >= b - 1e-9 * (1 + b);
}

static inline void
simcheck_complain(struct simcheck *c, const struct unit *u, const char *what)
{
	if (c->complaint[0] == '\0')
		snprintf(c->complaint, sizeof c->complaint,
			 "%s: group %u pack %u shard %u epoch %u", what,
			 (unsigned)u->group, (unsigned)u->pack,
			 (unsigned)u->shard, (unsigned)u->epoch);
}

static inline uint32_t
simcheck_passes(const struct sim_spec *s, const struct sim_pack *p)
{
	return p->passes > 0 ? p->passes : s->epochs;
}

/* How often its hold-out rows are scored beside passes. */
static inline uint64_t
simcheck_scores(const struct sim_spec *s, const struct sim_pack *p)
{
	uint32_t n = simcheck_passes(s, p);

	if (p->cost->pattern == PATTERN_SEQUENTIAL)
		return n + p->last;
	return p->ends == 0 ? 1 : p->ends < n ? p->ends : n;
}

static inline void
simcheck_job_init(struct simcheck *c, struct simcheck_job *j, uint32_t g,
		  const struct sim_pack *p)
{
	const struct sim_spec *s = c->spec;
	const struct partition *pt = s->partition;
	bool mtp = pt->spec.strategy == STRATEGY_MTP;
	uint64_t train = 0, holdout = 0, end = 0;

	j->nshard = mtp ? 1 : partition_nholder(pt, s->rows, g);
	j->walks = p->cost->pattern == PATTERN_SEQUENTIAL;
	j->merged = j->nshard == 1 && s->train[g] < SIM_MERGE_ROWS &&
		    pt->spec.strategy != STRATEGY_DP;
	j->lockstep = j->nshard > 1 && (pt->spec.strategy == STRATEGY_DP ||
					pt->spec.strategy == STRATEGY_SP);
	if (j->merged)
		j->score_rows = simcheck_scores(s, p) * s->holdout[g];
	j->open = SIMCHECK_NONE;
	j->shard = xcalloc(j->nshard, sizeof *j->shard);
	for (uint32_t k = 0; k < j->nshard; k++) {
		struct simcheck_shard *to = &j->shard[k];
		struct shard h = {g, SIMCHECK_NONE, 0, s->rows[g]};

		if (!mtp)
			h = partition_holder(pt, s->rows, g, k);
		if (h.first != end || h.end < h.first)
			simcheck_complain(c, &(struct unit){.group = g},
					  "a shard does not follow");
		end = h.end;
		to->worker = h.worker;
		to->epochs_all = simcheck_passes(s, p);
		/* floor(end m / n) - floor(first m / n), small numbers */
		to->train = h.end * s->train[g] / s->rows[g] - train;
		to->holdout = h.end * s->holdout[g] / s->rows[g] - holdout;
		train += to->train;
		holdout += to->holdout;
	}
	if (end != s->rows[g])
		simcheck_complain(c, &(struct unit){.group = g},
				  "shards are not the group");
}

static inline void
simcheck_init(struct simcheck *c, const struct sim_spec *s)
{
	*c = (struct simcheck){.spec = s};
	c->job = xcalloc(s->ngroup, sizeof *c->job);
	c->worker_end = xcalloc(s->partition->workers, sizeof(double));
	for (uint32_t g = 0; g < s->ngroup; g++) {
		struct sim_packs p = s->packs(s->packs_ctx, g);

		if (s->train[g] == 0)
			continue;
		c->job[g] = xcalloc(p.n, sizeof **c->job);
		for (size_t k = 0; k < p.n; k++)
			simcheck_job_init(c, &c->job[g][k], g, &p.pack[k]);
	}
}

/* Rows of a part add up to those of an epoch. */
static inline void
simcheck_rows(struct simcheck *c, struct simcheck_job *j, const struct unit *u)
{
	struct simcheck_shard *h = &j->shard[u->shard];
	uint32_t epochs = j->merged ? h->epochs_all : 1;
	uint64_t want =
	    epochs * (h->train + (j->walks ? 0 : h->holdout)) + j->score_rows;
	bool score = u->kind == UNIT_SCORE;
	bool last = u->epoch == h->epoch + (score ? 0 : epochs);

	if (!last || h->epoch > h->epochs_all)
		simcheck_complain(c, u, "an epoch twice, or left out");
	if (score) {
		h->scored += u->rows;
		if (h->scored > h->holdout)
			simcheck_complain(c, u, "scored twice");
		return;
	}
	h->trained += u->rows;
	j->open = u->shard;
	if (h->trained > want)
		simcheck_complain(c, u, "rows twice");
	if (h->trained < want)
		return;
	j->open = SIMCHECK_NONE;
	h->trained = 0;
	h->scored = 0;
	h->epoch += epochs;
}

/* The first unit of an epoch must find the one before ended. */
static inline void
simcheck_epoch(struct simcheck *c, struct simcheck_job *j, const struct unit *u)
{
	if (u->epoch > j->epoch && !j->merged) {
		for (uint32_t i = 0; i < j->nshard; i++) {
			struct simcheck_shard *h = &j->shard[i];

			if (h->epoch + 1 != u->epoch || h->trained)
				simcheck_complain(c, u, "epochs overlap");
			if (j->walks && j->epoch && h->scored != h->holdout)
				simcheck_complain(c, u, "not all have scored");
		}
		j->epoch = u->epoch;
		j->epoch_end = fmax(j->train_end, j->score_end);
	}
	if (!simcheck_later(u->start_sec, j->epoch_end))
		simcheck_complain(c, u, "begun before the last epoch ended");
}

static inline void
simcheck_walk(struct simcheck *c, struct simcheck_job *j, const struct unit *u)
{
	if (!j->walks || j->lockstep)
		return;
	if (!simcheck_later(u->start_sec, j->train_end))
		simcheck_complain(c, u, "two shards of a walk at once");
	if (j->open != SIMCHECK_NONE && j->open != u->shard)
		simcheck_complain(c, u, "a shard of a walk is not done");
}

static inline int
simcheck_unit(void *ctx, const struct unit *u)
{
	struct simcheck *c = ctx;
	struct simcheck_job *j = &c->job[u->group][u->pack];

	if (u->start_sec > u->end_sec || u->end_sec < c->last_end)
		simcheck_complain(c, u, "not in order of end");
	if (!simcheck_later(u->start_sec, c->worker_end[u->worker]))
		simcheck_complain(c, u, "two units at once on a worker");
	c->worker_end[u->worker] = c->last_end = u->end_sec;
	if (u->shard >= j->nshard) {
		simcheck_complain(c, u, "no such shard");
		return 0;
	}
	if (j->shard[u->shard].worker == SIMCHECK_NONE)
		j->shard[u->shard].worker = u->worker;
	if (j->shard[u->shard].worker != u->worker)
		simcheck_complain(c, u, "on a worker that does not hold it");
	if (u->kind == UNIT_LOAD)
		return 0;
	simcheck_epoch(c, j, u);
	simcheck_walk(c, j, u);
	simcheck_rows(c, j, u);
	if (u->kind == UNIT_SCORE)
		j->score_end = u->end_sec;
	else
		j->train_end = u->end_sec;
	return 0;
}

static inline void
simcheck_end(struct simcheck *c)
{
	const struct sim_spec *s = c->spec;

	for (uint32_t g = 0; g < s->ngroup; g++) {
		size_t n = s->packs(s->packs_ctx, g).n;

		for (uint32_t k = 0; c->job[g] && k < n; k++) {
			struct simcheck_job *j = &c->job[g][k];
			uint64_t train = 0;

			for (uint32_t i = 0; i < j->nshard; i++) {
				struct simcheck_shard *h = &j->shard[i];
				struct unit u = {.group = g,
						 .pack = k,
						 .shard = i,
						 .epoch = h->epoch};

				train += h->train;
				if (h->epoch != h->epochs_all || h->trained)
					simcheck_complain(c, &u, "not done");
				if (j->walks && !j->merged &&
				    h->scored != h->holdout)
					simcheck_complain(c, &u, "not scored");
			}
			if (train != s->train[g])
				simcheck_complain(c, &(struct unit){.group = g},
						  "shards are not the group");
			free(j->shard);
		}
		free(c->job[g]);
	}
	free(c->job);
	free(c->worker_end);
}

#endif
