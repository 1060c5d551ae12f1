#include "model/glm_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "model/glm.h"
#include "model/glm_view.h"

/* Whether second moments leave most of a group's features out. */
static bool
is_wide(const struct pack *p)
{
	const struct gram_map *m = gram_map(p->gram);

	return p->single && p->view->d >= 2 * (m->nfield + m->ncore);
}

static bool
is_eligible(const struct lane *l)
{
	const double *v = l->config->value;

	return v[GLM_SOLVER] == GLM_AUTO && !(v[GLM_L1] > 0);
}

void
glm_truncated_new(struct pack *p)
{
	struct truncated_lane lane[PACK_LANES_MAX] = {{0}};
	bool some = false;

	if (!is_wide(p))
		return;
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];
		const double *v = l->config->value;
		size_t at = glm_view_intercept(p->view) * p->width + i;

		if (!is_eligible(l))
			continue;
		some = true;
		l->way = WAY_WIDE;
		glm_lane_wants_first(p, l);
		lane[i] = (struct truncated_lane){
		    .l2 = v[GLM_L2],
		    .tolerance = v[GLM_TOLERANCE],
		    .start = p->w[at],
		    .objective = p->view->offset < 0
				     ? loss_logistic_at(p->facts, p->w[at])
				     : NAN,
		};
	}
	if (some)
		p->wide = truncated_new(p->view, p->width, lane, p->n);
}

/* As of a new pack of these lanes: partials and points have one shape, whoever
 * knows by now which lanes are in double precision. */
void
glm_truncated_repack(struct pack *p, const size_t *from)
{
	bool some = false;

	for (size_t i = 0; i < p->n; i++)
		some |= is_eligible(p->lane[i]);
	if (some) {
		truncated_repack(p->wide, from, p->n, p->width);
		return;
	}
	truncated_free(p->wide);
	p->wide = NULL;
}

double *
glm_truncated_point(const struct pack *p)
{
	size_t n = ((size_t)p->view->d + 2) * p->width;
	double *w;

	if (glm_pack_count(p, WAY_WIDE) == 0)
		return NULL;
	w = xaligned(n, sizeof *w);
	memcpy(w, p->w, n * sizeof *w);
	for (size_t i = 0; i < p->n; i++)
		if (p->lane[i]->way == WAY_WIDE &&
		    truncated_status(p->wide, i) == TRUNCATED_RUNNING)
			truncated_point(p->wide, i, w + i, p->width);
	return w;
}

void
glm_truncated_accumulate(const struct pack *p, const struct rows *r,
			 struct partial *t)
{
	float loss[PACK_LANES_MAX] __attribute__((aligned(64))) = {0};
	float residual[PACK_LANES_MAX] __attribute__((aligned(64))) = {0};
	size_t slots = ((size_t)p->view->d + 2) * p->width;
	double *sums = glm_partial_wide(t);
	struct truncated_pass s = {
	    .weight = p->weight,
	    .share = p->share,
	    .term = truncated_term(p->facts->rows[PART_TRAIN]),
	    .g = sums,
	    .diagonal = sums + slots,
	    .sum = sums + 2 * slots,
	    .residual_max = residual,
	    .loss_max = loss,
	};

	if (!t->scratch.wide)
		t->scratch.wide = xaligned(2 * slots, sizeof *t->scratch.wide);
	s.batch = t->scratch.wide;
	s.batch_diagonal = s.batch + slots;
	truncated_pass_of(p->wide, p->base1, &s);
	truncated_kernel_choose()->accumulate(r, &s);
	for (size_t i = 0; i < p->n; i++)
		if (p->lane[i]->way == WAY_WIDE)
			glm_partial_raise(t, i, (double)residual[i],
					  (double)loss[i]);
}

void
glm_truncated_update(struct pack *p, const struct partial *t)
{
	size_t slots = ((size_t)p->view->d + 2) * p->width;
	bool settling[PACK_LANES_MAX];
	/* No rows, no sums. */
	double *none =
	    t->wide.has ? NULL : xaligned(t->wide_size, sizeof *none);
	const double *sums = none ? none : t->wide.sum;

	for (size_t i = 0; i < p->n; i++)
		settling[i] = truncated_settling(p->wide, i);
	truncated_update(p->wide, &(struct truncated_sums){
				      .g = sums,
				      .diagonal = sums + slots,
				      .loss = sums + 2 * slots,
				      .residual_max = t->residual_max,
				      .loss_max = t->loss_max,
				      .weight = p->facts->weight_sum,
				  });
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];

		if (l->way != WAY_WIDE || !truncated_was_fed(p->wide, i))
			continue;
		l->run.epoch += !settling[i];
		if (settling[i])
			l->bound.residual = t->residual_max[i];
		if (l->run.epoch >= p->epochs)
			truncated_stop(p->wide, i);
	}
	free(none);
}

enum lbfgs_status
glm_truncated_status(const struct pack *p, size_t lane)
{
	static const enum lbfgs_status of[] = {
	    [TRUNCATED_NONE] = LBFGS_EVALUATE,
	    [TRUNCATED_RUNNING] = LBFGS_EVALUATE,
	    [TRUNCATED_CONVERGED] = LBFGS_CONVERGED,
	    [TRUNCATED_FLAT] = LBFGS_FLAT,
	    [TRUNCATED_STUCK] = LBFGS_STUCK,
	    [TRUNCATED_NOT_FINITE] = LBFGS_NOT_FINITE,
	    [TRUNCATED_STOPPED] = LBFGS_STOPPED,
	};

	return of[truncated_status(p->wide, lane)];
}
