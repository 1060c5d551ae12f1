#include "model/batch_lane.h"

#include <math.h>
#include "base/fmath.h"
#include "model/loss.h"

static const char *const reason_text[REASON_COUNT] = {
    "",
    "gradient is small",
    "objective no longer falls",
    "no step helps",
    "epochs used up",
    "not finite",
    "no training rows",
    "a label is below 0",
};

void
batch_lane_init(struct batch_lane *l)
{
	*l = (struct batch_lane){
	    .status = LANE_STEP, .loss = NAN, .objective = NAN};
}

void
batch_lane_release(struct batch_lane *l)
{
	lbfgs_free(l->solver);
	l->solver = NULL;
}

void
batch_lane_end(struct batch_lane *l, enum lane_status status,
	       enum reason reason)
{
	l->status = status;
	l->reason = reason;
}

bool
batch_lane_steps(struct batch_lane *l, double weight_sum)
{
	if (l->status == LANE_STEP && !(weight_sum > 0))
		batch_lane_end(l, LANE_DIVERGED, REASON_NO_ROWS);
	return l->status == LANE_STEP;
}

void
batch_lane_again(struct batch_lane *l)
{
	uint32_t epoch = l->epoch;

	batch_lane_release(l);
	batch_lane_init(l);
	l->epoch = epoch;
}

bool
batch_lane_judge(struct batch_lane *l, enum lbfgs_status status)
{
	switch (status) {
	case LBFGS_CONVERGED:
		batch_lane_end(l, LANE_CONVERGED, REASON_GRADIENT);
		break;
	case LBFGS_FLAT:
		batch_lane_end(l, LANE_CONVERGED, REASON_FLAT);
		break;
	case LBFGS_STUCK:
		batch_lane_end(l, LANE_CONVERGED, REASON_STUCK);
		break;
	case LBFGS_NOT_FINITE:
		batch_lane_end(l, LANE_DIVERGED, REASON_NOT_FINITE);
		break;
	case LBFGS_STOPPED:
		batch_lane_end(l, LANE_CAPPED, REASON_EPOCHS);
		break;
	default:
		return true;
	}
	return false;
}

bool
batch_lane_goes_on(struct batch_lane *l, uint32_t epochs)
{
	if (l->epoch >= epochs)
		lbfgs_stop(l->solver);
	if (batch_lane_judge(l, lbfgs_status(l->solver)))
		return true;
	l->loss = lbfgs_loss(l->solver);
	l->objective = lbfgs_objective(l->solver);
	return false;
}

struct lane_report
batch_lane_report(const struct batch_lane *l, uint32_t before)
{
	return (struct lane_report){
	    .status = l->status,
	    .epoch = l->epoch,
	    .counted = l->epoch > before,
	    .loss = l->loss,
	    .objective = l->objective,
	    .reason = reason_text[l->reason],
	};
}

void
batch_lane_put(const struct batch_lane *l, struct strbuf *sb)
{
	put_u8(sb, (uint8_t)l->status);
	put_u8(sb, (uint8_t)l->reason);
	put_u32(sb, l->epoch);
	put_f64(sb, l->loss);
	put_f64(sb, l->objective);
}

int
batch_lane_get(struct batch_lane *l, struct cursor *c)
{
	uint8_t status = get_u8(c), reason = get_u8(c);

	batch_lane_release(l);
	l->epoch = get_u32(c);
	l->loss = get_f64(c);
	l->objective = get_f64(c);
	if (!cursor_ok(c) || status > LANE_DIVERGED || reason >= REASON_COUNT)
		return -1;
	batch_lane_end(l, (enum lane_status)status, (enum reason)reason);
	return 0;
}

double
batch_penalty(double l1, double l2, const double *x, size_t n)
{
	double sum = 0;

	for (size_t j = 0; j < n; j++)
		sum += fabs(x[j]);
	return 0.5 * l2 * fmath_dot(x, x, n) + l1 * sum;
}

double
batch_grids(const struct view *v, double mass, double *base)
{
	for (size_t j = 0; j < v->d; j++)
		base[j] = 3 * pow2_above(mass * v->bound[j]);
	return 3 * pow2_above(mass);
}
