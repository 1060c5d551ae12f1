#include "plan/simcore.h"

/* Sequential packs of split groups; the messages are those of gapwalk.c. */

static double
state_bytes(const struct simjob *j)
{
	return j->what->cost->state_bytes[j->what->width - 1];
}

static uint32_t
owner_of(const struct sim *s, const struct simjob *j)
{
	return s->split[j->split].nholder - 1;
}

/* From a holder to where the walk goes on. */
static void
hop(struct sim *s, uint32_t job, uint32_t from, double now_sec)
{
	const struct simjob *j = &s->job[job];
	const struct simsplit *sp = &s->split[j->split];
	struct schedule_walk w = {.order = s->spec->schedule.order,
				  .nholder = sp->nholder,
				  .npack = j->npack,
				  .pack = j->number};
	uint32_t to = schedule_holder(&w, j->epoch, j->leg);

	now_sec += sim_send(s, job, from, to, state_bytes(j));
	sim_arrive(s, SIM_TRAIN, job, to, now_sec);
}

static void ask_for_scores(struct sim *s, uint32_t job, double now_sec);

/* Another epoch, if there is one; at the end the last scores. */
static void
go_on(struct sim *s, uint32_t job, double now_sec)
{
	struct simjob *j = &s->job[job];

	j->leg = 0;
	if (j->epoch < j->epochs) {
		hop(s, job, owner_of(s, j), now_sec);
	} else if (j->what->last && !j->closing) {
		j->closing = true;
		ask_for_scores(s, job, now_sec);
	} else {
		sim_job_done(s, job, now_sec);
	}
}

void
simwalk_begin(struct sim *s, uint32_t job, double now_sec)
{
	go_on(s, job, now_sec);
}

/* All scores are in. */
static void
scored(struct sim *s, uint32_t job, double now_sec)
{
	struct simjob *j = &s->job[job];

	j->epoch += !j->closing;
	go_on(s, job, now_sec);
}

/* The owner asks all holders with hold-out rows for their scores. */
static void
ask_for_scores(struct sim *s, uint32_t job, double now_sec)
{
	struct simjob *j = &s->job[job];
	const struct simsplit *sp = &s->split[j->split];
	uint32_t owner = owner_of(s, j);

	j->ready_sec = now_sec;
	for (uint32_t k = 0; k < sp->nholder; k++) {
		if (sp->holder[k].holdout == 0)
			continue;
		j->waiting++;
		sim_arrive(s, SIM_SCORE, job, k,
			   now_sec +
			       sim_send(s, job, owner, k, state_bytes(j)));
	}
	if (j->waiting == 0)
		scored(s, job, now_sec);
}

void
simwalk_pass_ended(struct sim *s, uint32_t job, uint32_t holder, double now_sec)
{
	struct simjob *j = &s->job[job];

	if (++j->leg < s->split[j->split].nholder) {
		hop(s, job, holder, now_sec);
		return;
	}
	now_sec += sim_send(s, job, holder, owner_of(s, j), state_bytes(j));
	ask_for_scores(s, job, now_sec);
}

void
simwalk_score_ended(struct sim *s, uint32_t job, uint32_t holder,
		    double now_sec)
{
	struct simjob *j = &s->job[job];

	double bytes =
	    simcost_score_bytes(s->spec, j->what, sim_pass(s, j),
				s->split[j->split].holder[holder].holdout);

	now_sec += sim_send(s, job, holder, owner_of(s, j), bytes);
	if (now_sec > j->ready_sec)
		j->ready_sec = now_sec;
	if (--j->waiting == 0)
		scored(s, job, j->ready_sec);
}
