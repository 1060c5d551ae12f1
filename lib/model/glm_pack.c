#include "model/glm_core.h"

#include <stdlib.h>
#include <string.h>
#include "base/fmath.h"
#include "base/mem.h"
#include "model/glm.h"
#include "model/glm_view.h"

size_t
glm_pack_width_for(size_t n)
{
	return n <= 1 ? 1 : n <= 4 ? 4 : n <= 8 ? 8 : 16;
}

size_t
glm_pack_count(const struct pack *p, enum way way)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->lane[i]->way == way;
	return n;
}

/* What passes in single precision want of the group. */
static void
prepare_single(struct pack *p)
{
	const struct view *v = p->view;

	p->single = true;
	p->fast = single_kernel_choose();
	p->share = xcalloc(v->d, sizeof *p->share);
	for (size_t j = 0; j < v->d; j++)
		p->share[j] =
		    v->bound[j] > 0 ? (float)(1 / pow2_above(v->bound[j])) : 1;
	p->weight = pow2_above(p->facts->weight_max);
}

struct pack *
glm_pack_new(const struct pack_spec *spec, enum loss kind)
{
	struct pack *p = xcalloc(1, sizeof *p);
	const struct view *v = spec->view;
	double mass =
	    (double)spec->facts->rows[PART_TRAIN] * spec->facts->weight_max;

	p->kind = kind;
	p->facts = spec->facts;
	p->view = v;
	p->kernel = glm_kernel_choose();
	p->epochs = spec->epochs;
	p->n = spec->n;
	p->width = glm_pack_width_for(p->n);
	p->nvar = v->d + v->intercept;
	p->w = xaligned(((size_t)v->d + 2) * p->width, sizeof *p->w);
	p->base = xcalloc(v->d, sizeof *p->base);
	p->base1 = batch_grids(v, mass, p->base);
	p->gram = gram_new(v, mass);
	p->precond = precond_new(p->gram);
	if (v->single)
		prepare_single(p);
	for (size_t i = 0; i < p->n; i++)
		glm_lane_new(p, i, spec->config[i]);
	/* Of truncated Newton few epochs are steps. */
	if (kind == LOSS_LOGISTIC && !spec->watched)
		glm_truncated_new(p);
	p->wants_moments = glm_pack_count(p, WAY_WIDE) < p->n;
	return p;
}

void
glm_pack_free(struct pack *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		glm_lane_free(p->lane[i]);
	free(p->w);
	free(p->base);
	precond_free(p->precond);
	gram_free(p->gram);
	truncated_free(p->wide);
	free(p->share);
	free(p->moments);
	free(p);
}

size_t
glm_pack_width(const struct pack *p)
{
	return p->n;
}

void
glm_pack_repack(struct pack *p, const bool *keep)
{
	size_t n = 0, from[PACK_LANES_MAX], width;
	size_t slots = (size_t)p->view->d + 2;
	double *w;

	for (size_t i = 0; i < p->n; i++)
		if (keep[i])
			from[n++] = i;
		else
			glm_lane_free(p->lane[i]);
	width = glm_pack_width_for(n);
	w = xaligned(slots * width, sizeof *w);
	for (size_t j = 0; j < slots; j++)
		for (size_t i = 0; i < n; i++)
			w[j * width + i] = p->w[j * p->width + from[i]];
	for (size_t i = 0; i < n; i++)
		p->lane[i] = p->lane[from[i]];
	free(p->w);
	p->w = w;
	p->width = width;
	p->n = n;
	if (p->wide)
		glm_truncated_repack(p, from);
	if (p->precond_set && n > 0)
		precond_keep(p->precond, from, n);
}

void
glm_pack_point_put(const struct pack *p, struct strbuf *sb)
{
	put_u32(sb, (uint32_t)p->n);
	put_u32(sb, (uint32_t)p->nvar);
	put_u8(sb, p->wants_moments);
	for (size_t i = 0; i < p->n; i++) {
		const struct lane *l = p->lane[i];

		put_f64(sb, l->bound.residual);
		put_f64(sb, l->bound.loss);
		put_u8(sb, l->wants_curvature);
		put_u8(sb, l->wants_loss);
		put_u8(sb, l->way == WAY_PRECISE);
	}
	for (size_t j = 0; j < p->nvar; j++)
		put_f64s(sb, p->w + j * p->width, p->n);
	if (p->wide)
		truncated_point_put(p->wide, sb);
}

int
glm_pack_point_get(struct pack *p, struct cursor *c)
{
	if (get_u32(c) != p->n || get_u32(c) != p->nvar ||
	    cursor_left(c) / sizeof(double) < p->n * (p->nvar + 2))
		return -1;
	p->wants_moments = get_u8(c) != 0;
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];

		l->bound.residual = get_f64(c);
		l->bound.loss = get_f64(c);
		l->wants_curvature = get_u8(c) != 0;
		l->wants_loss = get_u8(c) != 0;
		if (get_u8(c))
			glm_precise_set(p, i);
	}
	for (size_t j = 0; j < p->nvar; j++)
		get_f64s(c, p->w + j * p->width, p->n);
	if (p->wide && truncated_point_get(p->wide, c) < 0)
		return -1;
	return cursor_ok(c) ? 0 : -1;
}

void
glm_pack_evaluate(const struct pack *p, const struct rows *r,
		  struct metric *const *metric)
{
	struct glm_weights w = glm_weights_of(p);
	double *point = glm_truncated_point(p);

	if (point)
		w.w = point;
	glm_evaluate(&w, r, metric);
	free(point);
}

/* --- bytes of a lane --- */

void
glm_pack_save(const struct pack *p, size_t lane, enum save_what what,
	      struct strbuf *sb)
{
	const struct lane *l = p->lane[lane];
	bool live =
	    (l->way == WAY_WIDE || l->run.solver) && l->run.status == LANE_STEP;
	double *x = xcalloc(p->nvar, sizeof *x);

	if (l->way == WAY_WIDE && live)
		truncated_accepted(p->wide, lane, x);
	else
		glm_lane_get(p, lane, x);
	glm_model_put(p->view, p->kind, x, sb);
	free(x);
	if (what == SAVE_MODEL)
		return;
	batch_lane_put(&l->run, sb);
	put_f64(sb, l->bound.residual);
	put_f64(sb, l->bound.loss);
	put_u8(sb, l->way == WAY_PRECISE);
	put_u32(sb, l->moves);
	/* An ended lane needs no solver any more. */
	put_u8(sb, live);
	if (!live)
		return;
	if (l->way == WAY_WIDE) {
		truncated_put(p->wide, lane, sb);
		return;
	}
	put_u8(sb, l->wants_curvature);
	put_u8(sb, l->moments != NULL);
	if (l->moments)
		put_f64s(sb, l->moments, gram_size(p->gram));
	lbfgs_put(l->run.solver, sb);
}

/* The part of STATE that only a lane with passes before it has. */
static int
load_solver(struct pack *p, struct lane *l, struct cursor *c, const double *x)
{
	size_t size = gram_size(p->gram);

	l->wants_curvature = get_u8(c) != 0;
	if (get_u8(c)) {
		if (cursor_left(c) / sizeof(double) < size)
			return -1;
		l->moments = xaligned(size, sizeof *l->moments);
		get_f64s(c, l->moments, size);
	} else {
		/* A pack under way has them. */
		p->wants_moments |= p->moments == NULL;
	}
	l->run.solver = glm_lane_solver(p, l, x);
	if (lbfgs_get(l->run.solver, c) < 0)
		return -1;
	l->wants_loss = lbfgs_wants_loss(l->run.solver);
	return 0;
}

int
glm_pack_load_state(struct pack *p, size_t lane, const void *b, size_t n)
{
	struct lane *l = p->lane[lane];
	struct cursor c = cursor_of(b, n);
	double *w = xcalloc((size_t)p->view->d + 2, sizeof *w);
	int bad = glm_model_get(p->view, p->kind, &c, w);

	glm_lane_forget(l);
	if (batch_lane_get(&l->run, &c) < 0)
		bad = -1;
	l->bound.residual = get_f64(&c);
	l->bound.loss = get_f64(&c);
	if (get_u8(&c))
		glm_precise_set(p, lane);
	l->moves = get_u32(&c);
	glm_lane_wants_first(p, l);
	p->precond_set = false;
	if (get_u8(&c) && !bad)
		bad = l->way == WAY_WIDE ? truncated_get(p->wide, lane, &c)
					 : load_solver(p, l, &c, w);
	else if (l->way == WAY_WIDE)
		truncated_drop(p->wide, lane);
	glm_lane_set(p, lane, w);
	free(w);
	return bad || !cursor_done(&c) ? -1 : 0;
}
