/*
 * fmath_single - the logistic pair of fmath.h in single precision, inline, in
 * portable vector code.  To be included by kernels (compiled with
 * -ffp-contract=off, never -mfma), once.  That defines, for 1, 4, 8 and 16
 * lanes, such as v16f, v16i, v16u (floats and 32-bit integers) and the
 * functions v16f_*; with SINGLE_LANES set to one of these numbers, those of so
 * many lanes alone.  A lane's bits do not depend on the number of lanes.
 *
 * The coefficients are minimax fits rounded to float.
 */

#include <stdint.h>

#ifndef KP_BASE_FMATH_SINGLE_H
#define KP_BASE_FMATH_SINGLE_H

/* (x + ROUND) - ROUND is x to the nearest integer for |x| <= 2^22, and the bits
 * of x + ROUND, less those of ROUND, are that integer. */
#define SINGLE_ROUND 0x1.8p23f
#define SINGLE_ROUND_BITS 0x4b400000

#define SINGLE_LOG2E 0x1.715476p+0f
/* ln 2 = HI + LO; HI has 15 bits, so k * HI is exact for |k| < 2^9. */
#define SINGLE_LN2_HI 0x1.62e4p-1f
#define SINGLE_LN2_LO 0x1.7f7d1cp-20f
/* Larger margins count as this one: exp(-z) is still normal.  Infinite ones
 * give NaN, as a NaN does. */
#define SINGLE_LOGISTIC_MAX 80.0f

/* R = r coth(r / 2) for |r| <= ln(2) / 2, z = r * r; see fmath_poly.h. 2^-28 */
#define SINGLE_COTH_POLY(z)                                                    \
	(2.0f + (z) * (0x1.55551ep-3f - 0x1.6aa42ep-9f * (z)))
/* (2 atanh(s) / s - 2) / q for 0 <= s <= 1/3, q = s * s, q2 = q * q.  2^-27 */
#define SINGLE_ATANH_POLY(q, q2)                                               \
	((0x1.5555p-1f + 0x1.99d30ap-2f * (q)) +                               \
	 (q2) * (0x1.1eac02p-2f + 0x1.1f2e0cp-2f * (q)))

#define SINGLE_JOIN3(a, b, c) a##b##c
#define SINGLE_JOIN(a, b, c) SINGLE_JOIN3(a, b, c)
#define SINGLE_INLINE static inline __attribute__((always_inline, unused))
#define SINGLE_NAME(f) SINGLE_JOIN(v, SINGLE_LANES, f)
#define SINGLE_V SINGLE_NAME(f)
#define SINGLE_I SINGLE_NAME(i)
#define SINGLE_U SINGLE_NAME(u)

#endif

#ifndef SINGLE_LANES

#define SINGLE_LANES 1
#include "base/fmath_single.h"
#define SINGLE_LANES 4
#include "base/fmath_single.h"
#define SINGLE_LANES 8
#include "base/fmath_single.h"
#define SINGLE_LANES 16
#include "base/fmath_single.h"

#else

typedef float SINGLE_V
    __attribute__((vector_size(4 * SINGLE_LANES), aligned(4 * SINGLE_LANES)));
typedef int32_t SINGLE_I
    __attribute__((vector_size(4 * SINGLE_LANES), aligned(4 * SINGLE_LANES)));
typedef uint32_t SINGLE_U
    __attribute__((vector_size(4 * SINGLE_LANES), aligned(4 * SINGLE_LANES)));

/* a where the mask is ones, b where it is zeros. */
SINGLE_INLINE SINGLE_V
SINGLE_NAME(f_pick)(SINGLE_I mask, SINGLE_V a, SINGLE_V b)
{
	return (SINGLE_V)(((SINGLE_I)a & mask) | ((SINGLE_I)b & ~mask));
}

/* The larger; a NaN in a stays, in b is lost. */
SINGLE_INLINE SINGLE_V
SINGLE_NAME(f_max)(SINGLE_V a, SINGLE_V b)
{
	return SINGLE_NAME(f_pick)(b > a, b, a);
}

/* x to the nearest integer, in two's complement, for |x| <= 2^22; beyond, any
 * bits. */
SINGLE_INLINE SINGLE_U
SINGLE_NAME(f_round)(SINGLE_V x)
{
	return (SINGLE_U)(x + SINGLE_ROUND) - SINGLE_ROUND_BITS;
}

/* exp(-|z|) as a quotient: top / bottom. */
SINGLE_INLINE void
SINGLE_NAME(f_exp_parts)(SINGLE_V z, SINGLE_V *top, SINGLE_V *bottom)
{
	SINGLE_V a = (SINGLE_V)((SINGLE_I)z & INT32_MAX);
	SINGLE_V most = (a - a) + SINGLE_LOGISTIC_MAX;

	a = SINGLE_NAME(f_pick)(a > most, most, a);
	SINGLE_V t = SINGLE_ROUND - a * SINGLE_LOG2E;
	SINGLE_V k = t - SINGLE_ROUND;
	SINGLE_V r = (a + k * SINGLE_LN2_HI) + k * SINGLE_LN2_LO;
	SINGLE_V coth = SINGLE_COTH_POLY(r * r);

	*bottom = coth + r;
	*top = (SINGLE_V)((SINGLE_U)(coth - r) + ((SINGLE_U)t << 23));
}

/* p = 1 / (1 + exp(-z)). */
SINGLE_INLINE SINGLE_V
SINGLE_NAME(f_sigmoid)(SINGLE_V z)
{
	SINGLE_V top, bottom;

	SINGLE_NAME(f_exp_parts)(z, &top, &bottom);
	return SINGLE_NAME(f_pick)(z < z - z, top, bottom) / (bottom + top);
}

/* That p, and log(1 + exp(-|z|)). */
SINGLE_INLINE void
SINGLE_NAME(f_logistic)(SINGLE_V z, SINGLE_V *p, SINGLE_V *tail)
{
	SINGLE_V top, bottom;

	SINGLE_NAME(f_exp_parts)(z, &top, &bottom);
	SINGLE_V both = bottom + top;
	SINGLE_V s = top / (both + bottom), q = s * s;

	*p = SINGLE_NAME(f_pick)(z < z - z, top, bottom) / both;
	*tail = (s + s) + (s * q) * SINGLE_ATANH_POLY(q, q * q);
}

#undef SINGLE_LANES

#endif
