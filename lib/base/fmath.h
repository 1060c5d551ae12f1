#ifndef KP_BASE_FMATH_H
#define KP_BASE_FMATH_H

/*
 * fmath - exp, log, log1p and tanh whose bits are the same on
 * every CPU, compiler and vector width: only + - * / sqrt and integer moves,
 * no FMA, no libm.  exp, expm1, log and log1p are within 1 ulp of the true
 * value in double (tested against long double); the logistic pair, made for
 * speed, within 4.  Compile every user with -ffp-contract=off.
 *
 * fmath_lanes.h has the same functions over 8 doubles at a time; each lane's
 * bits equal the scalar's.
 */

#include <stddef.h>
#include <stdint.h>

double fmath_exp(double x);   /* 0 below -745.2, inf above 709.8, NaN -> NaN */
double fmath_log(double x);   /* x < 0: NaN; 0: -inf; subnormals handled */
double fmath_log1p(double x); /* x >= -1 */
double fmath_expm1(double x);
/* log(1 + e) for e in [0, 1], one division. */
double fmath_log1p_unit(double e);

/*
 * What a logistic loss wants of a margin z, from one exponential:
 * p = 1 / (1 + exp(-z)) and tail = log(1 + exp(-|z|)), so that
 * log(1 + exp(z)) = max(z, 0) + tail.  |z| above 700 counts as 700: nothing
 * overflows, p and tail stay above 1e-305 (p may round to 1).  NaN gives NaN.
 */
void fmath_logistic(double z, double *p, double *tail);
/* The p of fmath_logistic(), bit for bit. */
double fmath_sigmoid(double z);

/* Within 4 ulp; keeps -0. */
double fmath_tanh(double x);
/* x^n by squaring, an error of about n ulp. */
double fmath_power(double x, uint64_t n);

/* Sum of a[i] * b[i] with 8 fixed partial sums (i mod 8) and a fixed tree:
 * the dot product of solver algebra. */
double fmath_dot(const double *a, const double *b, size_t n);

#endif
