#ifndef KP_BASE_FMATH_LANES_H
#define KP_BASE_FMATH_LANES_H

/*
 * fmath_lanes - the functions of fmath.h over 8 doubles, inline, in portable
 * vector code: the same source serves SSE2, AVX2 and AVX-512, and each lane's
 * bits equal those of the scalar function.  To be included by kernels, which
 * are compiled with -ffp-contract=off and never -mfma.
 *
 * Where a compiler has no 64-byte vectors it splits + - * / and bit
 * operations into halves well, but comparisons into scalars (gcc 12): use
 * v8d_less() and v8d_pick() for those.  All are inlined, so that no vector is
 * passed by an ABI (hence -Wno-psabi in the Makefile).
 */

#include <stdint.h>
#include "base/fmath_poly.h"

typedef double v1d;
typedef double v2d __attribute__((vector_size(16), aligned(16)));
typedef double v4d __attribute__((vector_size(32), aligned(32)));
typedef double v8d __attribute__((vector_size(64), aligned(64)));
typedef int64_t v8l __attribute__((vector_size(64), aligned(64)));
typedef uint64_t v8ul __attribute__((vector_size(64), aligned(64)));

#define V8D_INLINE static inline __attribute__((always_inline, unused))

V8D_INLINE v8d
v8d_splat(double x)
{
	return (v8d){x, x, x, x, x, x, x, x};
}

/* a < b: all ones or all zeros in each lane. */
V8D_INLINE v8l
v8d_less(v8d a, v8d b)
{
#if defined(__AVX512F__)
	return a < b;
#elif defined(__AVX__)
#define V8D_HALF(v, i) __builtin_shufflevector(v, v, i, i + 1, i + 2, i + 3)
	return __builtin_shufflevector(V8D_HALF(a, 0) < V8D_HALF(b, 0),
				       V8D_HALF(a, 4) < V8D_HALF(b, 4), 0, 1, 2,
				       3, 4, 5, 6, 7);
#else
#define V8D_LESS(i)                                                            \
	(__builtin_shufflevector(a, a, i, i + 1) <                             \
	 __builtin_shufflevector(b, b, i, i + 1))
	return __builtin_shufflevector(
	    __builtin_shufflevector(V8D_LESS(0), V8D_LESS(2), 0, 1, 2, 3),
	    __builtin_shufflevector(V8D_LESS(4), V8D_LESS(6), 0, 1, 2, 3), 0, 1,
	    2, 3, 4, 5, 6, 7);
#endif
}

/* a where the mask is ones, b where it is zeros. */
V8D_INLINE v8d
v8d_pick(v8l mask, v8d a, v8d b)
{
	return (v8d)(((v8l)a & mask) | ((v8l)b & ~mask));
}

V8D_INLINE v8d
v8d_abs(v8d a)
{
	return (v8d)((v8l)a & INT64_MAX);
}

/* The smaller and the larger; a NaN in x stays, limit is none. */
V8D_INLINE v8d
v8d_min(v8d x, v8d limit)
{
	return v8d_pick(v8d_less(limit, x), limit, x);
}

V8D_INLINE v8d
v8d_max(v8d x, v8d limit)
{
	return v8d_pick(v8d_less(x, limit), limit, x);
}

V8D_INLINE v8d
v8d_exp(v8d x)
{
	x = v8d_max(v8d_min(x, v8d_splat(FMATH_EXP_MAX)),
		    v8d_splat(FMATH_EXP_MIN));
	v8d t = x * FMATH_LOG2E + FMATH_ROUND;
	v8d k = t - FMATH_ROUND;
	v8d r = (x - k * FMATH_LN2_HI) - k * FMATH_LN2_LO;
	v8d r2 = r * r;
	v8d y = 1.0 + (r + r2 * (0.5 + r * FMATH_EXP_POLY(r, r2)));
	/* 2^k in two factors, so that subnormal results are rounded once; the
	 * 2048 keeps the shifted number positive. */
	v8ul n = (v8ul)t - (FMATH_ROUND_BITS - 2048), half = n >> 1;
	v8d up = (v8d)((half - 1) << 52);
	return y * up * (v8d)((n - half - 1) << 52);
}

/* log(x) for x positive, finite and normal; NaN gives NaN. */
V8D_INLINE v8d
v8d_log(v8d x)
{
	v8ul from_half = (v8ul)x - FMATH_SQRT_HALF_BITS + (1024ull << 52);
	v8ul exponent = from_half >> 52; /* k + 1024 */
	v8d k = (v8d)(exponent + FMATH_ROUND_BITS) - (FMATH_ROUND + 1024);
	v8d f = (v8d)((v8ul)x - (exponent << 52) + (1024ull << 52)) - 1.0;
	v8d d = 2.0 + f, lost = f - (d - 2.0);
	v8d s = f / d, z = s * s, z2 = z * z;
	v8d low = s * (f - z * FMATH_ATANH_POLY(z, z2)) - z * lost;
	v8d hi = k * FMATH_LN2_HI, sum = hi + f;
	/* x - x is 0, or the NaN that its exponent hid. */
	return sum + (((hi - sum) + f) - (low - k * FMATH_LN2_LO)) + (x - x);
}

V8D_INLINE v8d
v8d_log1p_unit(v8d e)
{
	v8l big = v8d_less(v8d_splat(0.5), e);
	v8d f = v8d_pick(big, (e - 1.0) * 0.5, e);
	v8d hi = (v8d)((v8l)v8d_splat(FMATH_LN2_HI) & big);
	v8d lo = (v8d)((v8l)v8d_splat(FMATH_LN2_LO) & big);
	v8d d = 2.0 + f, lost = f - (d - 2.0);
	v8d s = f / d, z = s * s, z2 = z * z;
	v8d low = s * (f - z * FMATH_ATANH_POLY(z, z2)) - z * lost;
	v8d sum = hi + f;
	return sum + (((hi - sum) + f) - (low - lo));
}

/* See fmath_logistic(). */
V8D_INLINE void
v8d_logistic(v8d z, v8d *p, v8d *tail)
{
	v8d a = v8d_min(v8d_abs(z), v8d_splat(FMATH_LOGISTIC_MAX));
	v8d t = FMATH_ROUND - a * FMATH_LOG2E;
	v8d k = t - FMATH_ROUND;
	v8d r = (a + k * FMATH_LN2_HI) + k * FMATH_LN2_LO; /* of +|z| */
	v8d w = r * r, w2 = w * w;
	v8d coth = FMATH_COTH_POLY(w, w2);
	/* exp(-|z|) = top / bottom; the power of two goes into the exponent. */
	v8d bottom = coth + r;
	v8d top = (v8d)((v8ul)(coth - r) + ((v8ul)t << 52));
	v8d both = bottom + top;
	v8d s = top / (both + bottom);
	*p = v8d_pick(v8d_less(z, v8d_splat(0)), top, bottom) / both;
	v8d q = s * s, q2 = q * q, q4 = q2 * q2;
	*tail = (s + s) + (s * q) * FMATH_ATANH_WIDE_POLY(q, q2, q4);
}

/* See fmath_tanh(): with e = exp(-2|x|) = top / bottom, (1 - e) / (1 + e). */
V8D_INLINE v8d
v8d_tanh(v8d x)
{
	v8d a = v8d_abs(x);
	a = v8d_min(a + a, v8d_splat(FMATH_LOGISTIC_MAX));
	v8d t = FMATH_ROUND - a * FMATH_LOG2E;
	v8d k = t - FMATH_ROUND;
	v8d r = (a + k * FMATH_LN2_HI) + k * FMATH_LN2_LO;
	v8d w = r * r, w2 = w * w;
	v8d coth = FMATH_COTH_POLY(w, w2);
	v8d bottom = coth + r;
	v8d top = (v8d)((v8ul)(coth - r) + ((v8ul)t << 52));
	/* Small ones without the difference, which would cancel. */
	v8l big = v8d_less(k, v8d_splat(-0.5));
	v8d y =
	    v8d_pick(big, bottom - top, r) / v8d_pick(big, bottom + top, coth);
	return (v8d)((v8l)y | ((v8l)x & INT64_MIN));
}

#endif
