#include "model/logloss_kernel.h"

#include "base/fmath_lanes.h"
#include "base/kernel.h"

/* A v8d anywhere in memory. */
typedef double loose __attribute__((vector_size(64), aligned(8)));

static size_t
terms(const double *label, const double *weight, const double *p, size_t n,
      double *term)
{
	v8d none = v8d_splat(0), least = v8d_splat(LOGLOSS_P_MIN);
	v8d most = v8d_splat(1 - LOGLOSS_P_MIN);
	size_t ones = 0;

	for (size_t i = 0; i < n; i += 8) {
		v8d y = *(const loose *)(label + i);
		v8d w = *(const loose *)(weight + i);
		v8d q = *(const loose *)(p + i);

		q = v8d_pick(v8d_less(v8d_splat(0.5), y), q, 1.0 - q);
		q = v8d_min(v8d_max(q, least), most);
		*(loose *)(term + i) =
		    v8d_pick(v8d_less(none, w), w * -v8d_log(q), none);
	}
	for (size_t i = 0; i < n; i++)
		ones += weight[i] == 1;
	return ones;
}

const struct logloss_kernel JOIN(logloss_kernel, KP_ISA) = {
    .terms = terms,
};
