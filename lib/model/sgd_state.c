/* Bytes of the lanes of an sgd_pack: models and states. */

#include "model/sgd_pack.h"

#include <math.h>
#include <stdlib.h>
#include "base/bytes.h"
#include "base/mem.h"
#include "model/glm_model.h"
#include "model/sgd_lanes.h"

#define STATE_VERSION 1

/* What a state was taken of; part of STATE. */
enum phase { PHASE_ENDED, PHASE_BETWEEN_EPOCHS, PHASE_WITHIN_EPOCH };

/* --- saving --- */

static void
save_model(const struct pack *p, size_t lane, struct strbuf *sb)
{
	double *x = xcalloc(p->nvar, sizeof *x);
	double *w = p->at.open ? sgd_lanes_models(p) : NULL;

	for (size_t j = 0; j < p->nvar; j++)
		x[j] = (w ? w : p->model)[j * p->width + lane];
	glm_model_put(p->view, p->kind, x, sb);
	free(x);
	free(w);
}

static bool
is_finite(const struct pack *p, size_t lane)
{
	for (size_t j = 0; j < p->size; j++) {
		size_t at = j * p->width + lane;

		if (!isfinite(p->w[at]) || (p->sum && !isfinite(p->sum[at])))
			return false;
	}
	return true;
}

/* The lane's part of a table of floats, in slot order.  What a lane that has
 * overflowed holds is not all the same at every width: NaNs stand for it. */
static void
put_lane(const struct pack *p, const float *t, size_t lane, bool finite,
	 struct strbuf *sb)
{
	float *x = xcalloc(p->nvar, sizeof *x);

	for (size_t j = 0; j < p->nvar; j++)
		x[j] = finite ? t[p->row_of[j] * p->width + lane] : NAN;
	put_f32s(sb, x, p->nvar);
	free(x);
}

static void
put_sums(const struct pack *p, size_t lane, bool finite, struct strbuf *sb)
{
	double *x = xcalloc(p->nvar, sizeof *x);

	for (size_t j = 0; j < p->nvar; j++)
		x[j] = finite ? p->sum[p->row_of[j] * p->width + lane] : NAN;
	put_f64s(sb, x, p->nvar);
	free(x);
}

/* What a lane is within an epoch, beside its weights. */
static void
put_place(const struct pack *p, size_t lane, bool finite, struct strbuf *sb)
{
	put_u64(sb, p->at.batches);
	put_u64(sb, p->at.iterates);
	put_f64(sb, p->at.mass);
	put_f64(sb, finite ? p->loss_sum[lane] : NAN);
	put_f64(sb, p->scale[lane]);
	put_f64(sb, p->inverse[lane]);
	if (p->average)
		put_sums(p, lane, finite, sb);
	if (p->lane[lane].l1 > 0)
		put_u32s(sb, p->lag.last + p->hot, p->view->d);
}

static enum phase
phase_of(const struct pack *p, size_t lane)
{
	if (p->lane[lane].status != LANE_STEP)
		return PHASE_ENDED;
	return p->at.open ? PHASE_WITHIN_EPOCH : PHASE_BETWEEN_EPOCHS;
}

static void
save_state(const struct pack *p, size_t lane, struct strbuf *sb)
{
	const struct lane *l = &p->lane[lane];
	enum phase phase = phase_of(p, lane);
	bool finite = is_finite(p, lane);

	put_u8(sb, STATE_VERSION);
	put_u8(sb, (uint8_t)p->kind);
	put_u8(sb, (uint8_t)p->method);
	put_u8(sb, p->average);
	put_u32(sb, p->view->d);
	put_u8(sb, p->view->standardize);
	put_u8(sb, p->view->intercept);
	put_u8(sb, (uint8_t)phase);
	put_u8(sb, (uint8_t)l->status);
	put_u8(sb, (uint8_t)l->reason);
	put_u32(sb, l->epoch);
	put_f64(sb, l->loss);
	put_f64(sb, l->objective);
	if (phase != PHASE_WITHIN_EPOCH)
		save_model(p, lane, sb);
	if (phase == PHASE_ENDED)
		return;
	put_lane(p, p->w, lane, finite, sb);
	if (p->m)
		put_lane(p, p->m, lane, finite, sb);
	if (p->v)
		put_lane(p, p->v, lane, finite, sb);
	put_f64(sb, l->power1);
	put_f64(sb, l->power2);
	if (phase == PHASE_WITHIN_EPOCH)
		put_place(p, lane, finite, sb);
}

void
sgd_pack_save(const struct pack *p, size_t lane, enum save_what what,
	      struct strbuf *sb)
{
	if (what == SAVE_MODEL)
		save_model(p, lane, sb);
	else
		save_state(p, lane, sb);
}

/* --- loading --- */

static int
load_model(struct pack *p, size_t lane, struct cursor *c)
{
	double *x = xcalloc(p->nvar, sizeof *x);
	int bad = glm_model_get(p->view, p->kind, c, x);

	for (size_t j = 0; j < p->nvar; j++)
		p->model[j * p->width + lane] = x[j];
	free(x);
	return bad;
}

static void
get_lane(const struct pack *p, float *t, size_t lane, struct cursor *c)
{
	for (size_t j = 0; j < p->nvar; j++)
		t[p->row_of[j] * p->width + lane] = get_f32(c);
}

/* Counters that all lanes with l1 share: those of the first one loaded. */
static int
load_lag(struct pack *p, struct cursor *c)
{
	uint32_t *last = p->lag.last + p->hot;
	uint64_t now = p->at.batches % sgd_lanes_reach(p);

	for (uint32_t j = 0; j < p->view->d; j++) {
		uint32_t step = get_u32(c);

		if (step > now || (p->lagged && step != last[j]))
			return -1;
		last[j] = step;
	}
	p->lagged = true;
	return 0;
}

static bool
is_scale(double x)
{
	x = fabs(x);
	return x >= 1 / (SCALE_NEAR * SCALE_FAR * SCALE_FAR) &&
	       x <= SCALE_NEAR * SCALE_FAR * SCALE_FAR;
}

/* All lanes of a pack are at one place. */
static int
load_place(struct pack *p, size_t lane, struct cursor *c)
{
	struct place at = {.open = true};
	bool loaded = p->placed;

	at.batches = get_u64(c);
	at.iterates = get_u64(c);
	at.mass = get_f64(c);
	p->loss_sum[lane] = get_f64(c);
	p->scale[lane] = get_f64(c);
	p->inverse[lane] = get_f64(c);
	if (at.iterates > (p->average ? at.batches : 0) || !(at.mass >= 0) ||
	    !isfinite(at.mass) || !is_scale(p->scale[lane]) ||
	    !is_scale(p->inverse[lane]))
		return -1;
	if (loaded && (!p->at.open || at.batches != p->at.batches ||
		       at.iterates != p->at.iterates || at.mass != p->at.mass))
		return -1;
	p->at = at;
	for (size_t j = 0; p->average && j < p->nvar; j++)
		p->sum[p->row_of[j] * p->width + lane] = get_f64(c);
	return p->lane[lane].l1 > 0 ? load_lag(p, c) : 0;
}

static int
load_live(struct pack *p, size_t lane, enum phase phase, struct cursor *c)
{
	struct lane *l = &p->lane[lane];

	if (cursor_left(c) / sizeof(float) < p->nvar)
		return -1;
	get_lane(p, p->w, lane, c);
	if (p->m)
		get_lane(p, p->m, lane, c);
	if (p->v)
		get_lane(p, p->v, lane, c);
	l->power1 = get_f64(c);
	l->power2 = get_f64(c);
	if (!(l->power1 >= 0 && l->power1 <= 1 && l->power2 >= 0 &&
	      l->power2 <= 1))
		return -1;
	if (phase == PHASE_WITHIN_EPOCH)
		return load_place(p, lane, c);
	return p->placed && p->at.open ? -1 : 0;
}

/* What a state begins with. */
static int
load_head(struct pack *p, struct lane *l, enum phase *phase, struct cursor *c)
{
	uint8_t number, status, reason;

	if (get_u8(c) != STATE_VERSION || get_u8(c) != p->kind ||
	    get_u8(c) != p->method || get_u8(c) != p->average ||
	    get_u32(c) != p->view->d || get_u8(c) != p->view->standardize ||
	    get_u8(c) != p->view->intercept)
		return -1;
	number = get_u8(c);
	status = get_u8(c);
	reason = get_u8(c);
	l->epoch = get_u32(c);
	l->loss = get_f64(c);
	l->objective = get_f64(c);
	if (!cursor_ok(c) || number > PHASE_WITHIN_EPOCH ||
	    status > LANE_DIVERGED || reason >= REASON_COUNT ||
	    (number == PHASE_ENDED) != (status != LANE_STEP))
		return -1;
	*phase = number;
	l->status = status;
	l->reason = reason;
	return 0;
}

int
sgd_pack_load_state(struct pack *p, size_t lane, const void *b, size_t n)
{
	struct lane *l = &p->lane[lane];
	struct cursor c = cursor_of(b, n);
	enum phase phase;

	if (load_head(p, l, &phase, &c) < 0)
		return -1;
	if (phase != PHASE_WITHIN_EPOCH && load_model(p, lane, &c) < 0)
		return -1;
	if (phase != PHASE_ENDED) {
		if (load_live(p, lane, phase, &c) < 0)
			return -1;
		p->placed = true;
	}
	p->ready = false;
	if (p->at.open)
		sgd_lanes_prepare(p);
	return cursor_done(&c) ? 0 : -1;
}
