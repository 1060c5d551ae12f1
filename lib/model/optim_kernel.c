#include "model/optim_kernel.h"

#include <math.h>
#include "base/kernel.h"

/* Of Adam, as nearly everyone uses them. */
#define BETA1 0.9f
#define REST1 0.1f
#define BETA2 0.999f
#define REST2 0.001f
#define EPSILON 1e-8f
#define TINY 0x1p-100f

static inline float
flushed(float x)
{
	return fabsf(x) < TINY ? 0 : x;
}

static void
plain(const struct optim_step *s, float *restrict w, const float *restrict g,
      size_t n)
{
	float rate = s->rate, l2 = s->l2;

	for (size_t i = 0; i < n; i++)
		w[i] -= rate * (g[i] + l2 * w[i]);
}

static void
heavy(const struct optim_step *s, float *restrict w, float *restrict m,
      const float *restrict g, size_t n)
{
	float rate = s->rate, l2 = s->l2, momentum = s->momentum;

	for (size_t i = 0; i < n; i++) {
		m[i] = flushed(momentum * m[i] + (g[i] + l2 * w[i]));
		w[i] -= rate * m[i];
	}
}

static void
nesterov(const struct optim_step *s, float *restrict w, float *restrict m,
	 const float *restrict g, size_t n)
{
	float rate = s->rate, l2 = s->l2, momentum = s->momentum;

	for (size_t i = 0; i < n; i++) {
		float gi = g[i] + l2 * w[i];

		m[i] = flushed(momentum * m[i] + gi);
		w[i] -= rate * (gi + momentum * m[i]);
	}
}

static void
adam(const struct optim_step *s, const struct optim_weights *a,
     const float *restrict g, size_t n)
{
	float *restrict w = a->w, *restrict m = a->m, *restrict v = a->v;
	float rate = s->rate, l2 = s->l2, shrink = s->shrink;
	float v_scale = s->v_scale;

	for (size_t i = 0; i < n; i++) {
		float gi = g[i] + l2 * w[i];
		float mi = m[i] + REST1 * (gi - m[i]);
		float vi = BETA2 * v[i] + REST2 * (gi * gi);

		w[i] = shrink * w[i] -
		       rate * (mi / (v_scale * sqrtf(vi) + EPSILON));
		m[i] = flushed(mi);
		v[i] = flushed(vi);
	}
}

static void
apply(const struct optim_step *s, struct optim_weights w, const float *g,
      size_t n)
{
	if (s->kind != OPTIM_SGD)
		adam(s, &w, g, n);
	else if (s->momentum == 0)
		plain(s, w.w, g, n);
	else if (s->nesterov)
		nesterov(s, w.w, w.m, g, n);
	else
		heavy(s, w.w, w.m, g, n);
}

const struct optim_kernel JOIN(optim_kernel, KP_ISA) = {
    .isa = STRING(KP_ISA),
    .apply = apply,
};
