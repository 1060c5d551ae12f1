#include "model/optim.h"

#include <math.h>
#include "base/fmath.h"
#include "base/isa.h"
#include "model/optim_kernel.h"

size_t
optim_moments(const struct optim_rule *r)
{
	return r->kind != OPTIM_SGD ? 2 : r->momentum != 0;
}

static const struct optim_kernel *
kernel(void)
{
#ifdef KP_ONLY_BASE
	return &optim_kernel_base;
#else
	static const struct optim_kernel *const of[] = {
	    [ISA_BASE] = &optim_kernel_base,
	    [ISA_AVX2] = &optim_kernel_avx2,
	    [ISA_AVX512] = &optim_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}

struct optim_step
optim_step_of(const struct optim_rule *r, double rate, uint64_t t)
{
	struct optim_step s = {
	    .kernel = kernel(), .kind = r->kind, .shrink = 1};

	if (r->kind == OPTIM_SGD) {
		s.rate = (float)rate;
		s.l2 = (float)r->l2;
		s.momentum = (float)r->momentum;
		s.nesterov = r->nesterov;
		return s;
	}
	s.rate = (float)(rate / (1 - fmath_power(0.9, t)));
	s.v_scale = (float)(1 / sqrt(1 - fmath_power(0.999, t)));
	if (r->kind == OPTIM_ADAMW)
		s.shrink = (float)(1 - rate * r->l2);
	else
		s.l2 = (float)r->l2;
	return s;
}

struct optim_step
optim_unpenalised(struct optim_step s)
{
	s.l2 = 0;
	s.shrink = 1;
	return s;
}

void
optim_apply(const struct optim_step *s, struct optim_weights w, const float *g,
	    size_t from, size_t n)
{
	w.w += from;
	if (w.m)
		w.m += from;
	if (w.v)
		w.v += from;
	s->kernel->apply(s, w, g + from, n);
}
