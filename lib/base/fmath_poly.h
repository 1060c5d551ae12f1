#ifndef KP_BASE_FMATH_POLY_H
#define KP_BASE_FMATH_POLY_H

/*
 * fmath_poly - constants and polynomials that fmath.c and fmath_lanes.h
 * share: macros, because the same expression serves a double and a vector of
 * doubles, and both must evaluate it in the same order.
 *
 * The coefficients are minimax fits (Remez exchange in 60 digits) rounded to
 * double; each comment gives the fit's error relative to the result.  Terms
 * are paired (Estrin) because a kernel waits for latency more than for ports.
 */

/* (x + ROUND) - ROUND is x to the nearest integer for |x| < 2^51, and the
 * bits of x + ROUND, less those of ROUND, are that integer. */
#define FMATH_ROUND 0x1.8p52
#define FMATH_ROUND_BITS 0x4338000000000000

#define FMATH_LOG2E 0x1.71547652b82fep+0
/* ln 2 = HI + LO; HI has 41 bits, so k * HI is exact for |k| < 2^12. */
#define FMATH_LN2_HI 0x1.62e42fefa4000p-1
#define FMATH_LN2_LO (-0x1.8432a1b0e2634p-43)

/* The bits of sqrt(1/2): log splits x into 2^k m, sqrt(1/2) <= m < sqrt(2). */
#define FMATH_SQRT_HALF_BITS 0x3fe6a09e667f3bcd

/* exp is 0 or inf beyond these. */
#define FMATH_EXP_MIN (-746.0)
#define FMATH_EXP_MAX 710.0
/* Larger margins count as this one, whose exp(-z) is still normal. */
#define FMATH_LOGISTIC_MAX 700.0

/* (exp(r) - 1 - r - r^2 / 2) / r^3 for |r| <= ln(2) / 2; r2 = r * r.  2^-61,
 * even of expm1. */
#define FMATH_EXP_POLY(r, r2)                                                  \
	((0x1.5555555555558p-3 + 0x1.5555555555549p-5 * (r)) +                 \
	 (r2) *                                                                \
	     ((0x1.111111110f885p-7 + 0x1.6c16c16c1ccdfp-10 * (r)) +           \
	      (r2) * ((0x1.a01a01af40b82p-13 + 0x1.a01a0182e0a0fp-16 * (r)) +  \
		      (r2) * ((0x1.71ddf9cbf6390p-19 +                         \
			       0x1.27e52bbcfb625p-22 * (r)) +                  \
			      (r2) * (0x1.af5c5ffc935b7p-26 +                  \
				      0x1.1ef3f6fccabdap-29 * (r))))))

/* R = r coth(r / 2), so that exp(r) = (R + r) / (R - r), for |r| <=
 * ln(2) / 2; z = r * r, z2 = z * z.  2^-61. */
#define FMATH_COTH_POLY(z, z2)                                                 \
	(2.0 + ((z) * (0x1.555555555553fp-3 - 0x1.6c16c16bec6aep-9 * (z)) +    \
		((z) * (z2)) * (0x1.1566aaf402474p-14 -                        \
				(z) * (0x1.bbd42032c29d1p-20 -                 \
				       0x1.637828d0bc006p-25 * (z)))))

/* (2 atanh(s) / s - 2) / z for |s| <= 0.2; z = s * s, z2 = z * z.  2^-62. */
#define FMATH_ATANH_POLY(z, z2)                                                \
	((0x1.555555555554fp-1 + 0x1.999999999bf7cp-2 * (z)) +                 \
	 (z2) * ((0x1.24924921fd1e2p-2 + 0x1.c71c747cad38ep-3 * (z)) +         \
		 (z2) * ((0x1.745c4edd3a922p-3 + 0x1.3b3548c8e6283p-3 * (z)) + \
			 (z2) * (0x1.0dd2ed1ec08fep-3 +                        \
				 0x1.1b52bddc32373p-3 * (z)))))

/* The same for 0 <= s <= 1/3; z4 = z2 * z2.  2^-54. */
#define FMATH_ATANH_WIDE_POLY(z, z2, z4)                                       \
	(((0x1.555555555592bp-1 + 0x1.99999998ecb2ap-2 * (z)) +                \
	  (z2) * (0x1.2492497806e64p-2 + 0x1.c71c4a6f5646cp-3 * (z))) +        \
	 (z4) * ((0x1.74625095f73ebp-3 + 0x1.3aa914e1b0b96p-3 * (z)) +         \
		 (z2) * ((0x1.16405a8901c8cp-3 + 0x1.9593956ec947fp-4 * (z)) + \
			 0x1.6b5c19447a817p-3 * (z2))))

#endif
