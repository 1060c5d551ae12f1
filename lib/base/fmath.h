#ifndef KP_BASE_FMATH_H
#define KP_BASE_FMATH_H

/*
 * fmath - exp, log, log1p and a small Cholesky whose bits are the same on
 * every CPU, compiler and vector width: only + - * / sqrt and integer moves,
 * no FMA, no libm.  Within 1 ulp of the true value in double (tested against
 * long double).  Compile every user with -ffp-contract=off.
 *
 * fmath_lanes.h has the same functions over 8 doubles at a time; each lane's
 * bits equal the scalar's.
 */

#include <stddef.h>

double fmath_exp(double x);   /* 0 below -745.2, inf above 709.8, NaN -> NaN */
double fmath_log(double x);   /* x < 0: NaN; 0: -inf; subnormals handled */
double fmath_log1p(double x); /* x >= -1 */
double fmath_expm1(double x);
/* log(1 + e) for e in [0, 1]: the softplus tail, one division. */
double fmath_log1p_unit(double e);

/* 1 / (1 + exp(-z)) without overflow. */
double fmath_sigmoid(double z);

/* Sum of a[i] * b[i] with 8 fixed partial sums (i mod 8) and a fixed tree:
 * the dot product of solver algebra. */
double fmath_dot(const double *a, const double *b, size_t n);

/* In-place Cholesky A = L L^T of a row-major n x n matrix (lower triangle).
 * A pivot at or below floor * original diagonal is raised to it; returns how
 * many were. */
int fmath_cholesky(double *a, size_t n, double floor);
/* Solves L L^T x = b in place. */
void fmath_cholesky_solve(const double *l, size_t n, double *x);

#endif
