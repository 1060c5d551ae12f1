#include "base/mem.h"
#include "plan/simcore.h"

/* Passes whose partials add, of split groups: the owner sends the point down
 * a binary tree and partials come back up, as in gapsum.c.  Nodes are numbered
 * from the root; node i is holder n - 1 - i. */

static double
point_bytes(const struct simjob *j)
{
	return simcost_share(j->what) *
	       j->what->cost->state_bytes[j->what->width - 1];
}

/* What goes up from a node: of a score, of all below it too. */
static double
sums_bytes(const struct sim *s, const struct simjob *j, uint32_t node)
{
	if (j->scoring)
		return simcost_score_bytes(s->spec, j->what, sim_pass(s, j),
					   j->node[node].holdout);
	return simcost_share(j->what) *
	       j->what->cost->partial_bytes[j->what->width - 1];
}

static uint32_t
children(uint32_t node, uint32_t n)
{
	uint32_t first = 2 * node + 1;

	return first >= n ? 0 : first + 1 >= n ? 1 : 2;
}

static void
begin_pass(struct sim *s, uint32_t job, double now_sec)
{
	struct simjob *j = &s->job[job];
	const struct simsplit *sp = &s->split[j->split];
	enum simevent kind = j->scoring ? SIM_SCORE : SIM_TRAIN;
	uint32_t n = sp->nholder;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t up = i ? (i - 1) / 2 : 0;
		double at = now_sec;

		if (i > 0)
			at = j->node[up].ready_sec +
			     sim_send(s, job, n - 1 - up, n - 1 - i,
				      point_bytes(j));
		j->node[i] = (struct simnode){1 + children(i, n), at,
					      sp->holder[n - 1 - i].holdout};
		sim_arrive(s, kind, job, n - 1 - i, at);
	}
}

void
simsum_begin(struct sim *s, uint32_t job, double now_sec)
{
	struct simjob *j = &s->job[job];

	j->node = xcalloc(s->split[j->split].nholder, sizeof *j->node);
	if (j->epoch < j->epochs)
		begin_pass(s, job, now_sec);
	else
		sim_job_done(s, job, now_sec);
}

void
simsum_updated(struct sim *s, uint32_t job, double now_sec)
{
	struct simjob *j = &s->job[job];

	j->scoring = !j->scoring &&
		     s->spec->holdout[s->split[j->split].group] &&
		     simcost_scores(s->spec, j->what, sim_pass(s, j));
	if (!j->scoring)
		j->epoch++;
	if (j->scoring || j->epoch < j->epochs)
		begin_pass(s, job, now_sec);
	else
		sim_job_done(s, job, now_sec);
}

void
simsum_pass_ended(struct sim *s, uint32_t job, uint32_t holder, double now_sec)
{
	struct simjob *j = &s->job[job];
	uint32_t n = s->split[j->split].nholder, i = n - 1 - holder;

	for (;;) {
		struct simnode *at = &j->node[i];

		if (now_sec > at->ready_sec)
			at->ready_sec = now_sec;
		if (--at->waiting > 0)
			return;
		now_sec = at->ready_sec;
		if (i == 0)
			break;
		now_sec += sim_send(s, job, n - 1 - i, n - 1 - (i - 1) / 2,
				    sums_bytes(s, j, i));
		j->node[(i - 1) / 2].holdout += at->holdout;
		i = (i - 1) / 2;
	}
	if (j->scoring)
		simsum_updated(s, job, now_sec);
	else
		sim_arrive(s, SIM_UPDATE, job, n - 1, now_sec);
}
