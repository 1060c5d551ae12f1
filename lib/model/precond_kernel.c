/* Included by itself once for each width, with LANES set to it. */
#ifndef LANES

#include "model/precond_kernel.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "base/fmath_lanes.h"
#include "base/kernel.h"

#define LANES 1
#define WIDTH 1
#include "model/precond_kernel.c"
#define LANES 4
#define WIDTH DOUBLES_UP_TO_4
#include "model/precond_kernel.c"
#define LANES 8
#define WIDTH DOUBLES_UP_TO_8
#include "model/precond_kernel.c"
#define LANES 16
#define WIDTH DOUBLES_UP_TO_8
#include "model/precond_kernel.c"

static void
spread(size_t width, const double *const *from, const double *scale,
       const uint32_t *cell, size_t n, double *to)
{
	BY_LANES(width, spread, (from, scale, cell, n, to));
}

static void
factor(const struct precond_arrays *a)
{
	BY_LANES(a->width, factor, (a));
}

static void
solve(const struct precond_arrays *a, double *field, double *core, double *work)
{
	BY_LANES(a->width, solve, (a, field, core, work));
}

const struct precond_kernel JOIN(precond_kernel, KP_ISA) = {
    .spread = spread,
    .factor = factor,
    .solve = solve,
};

#else

#define NAME(f) JOIN(f, LANES)
#define VECTOR OF(WIDTH, d)
#define PARTS (LANES * sizeof(double) / sizeof(VECTOR))
/* Row p of a lower triangle starts at this cell. */
#define ROW(p) ((p) * ((p) + 1) / 2)

static void
NAME(spread)(const double *const *from, const double *scale,
	     const uint32_t *cell, size_t n, double *to)
{
	bool alike = true;

	for (size_t i = 1; i < LANES; i++)
		alike = alike && from[i] == from[0];
	for (size_t k = 0; k < n; k++) {
		double x = from[0][cell[k]];

		for (size_t i = 0; i < LANES; i++)
			to[k * LANES + i] =
			    scale[i] * (alike ? x : from[i][cell[k]]);
	}
}

/* lower -= cross' field cross, a field's row at a time. */
INLINE void
NAME(subtract_field)(const struct precond_arrays *a)
{
	const VECTOR *cross = (const VECTOR *)a->cross;
	const VECTOR *field = (const VECTOR *)a->field;
	VECTOR *lower = (VECTOR *)a->lower;

	for (size_t k = 0; k < a->nfield; k++) {
		size_t first = a->start[k], end = a->start[k + 1];

		for (size_t e = first; e < end; e++) {
			VECTOR *row = lower + ROW((size_t)a->column[e]) * PARTS;
			VECTOR by[PARTS];

			for (size_t i = 0; i < PARTS; i++)
				by[i] =
				    cross[e * PARTS + i] * field[k * PARTS + i];
			for (size_t f = first; f <= e; f++) {
				VECTOR *cell = row + a->column[f] * PARTS;

				for (size_t i = 0; i < PARTS; i++)
					cell[i] -= by[i] * cross[f * PARTS + i];
			}
		}
	}
}

/* The inverse of the root of a pivot that is kept from vanishing. */
INLINE void
NAME(set_pivot)(double *pivot, const double *diagonal, double floor)
{
	for (size_t i = 0; i < LANES; i++) {
		double least = floor * diagonal[i], x = pivot[i];

		if (!(x > least))
			x = least;
		if (!(x > 0) || !isfinite(x))
			x = 1;
		pivot[i] = 1 / sqrt(x);
	}
}

/* Cholesky, row by row: each entry a dot product of two rows. */
INLINE void
NAME(factor_core)(const struct precond_arrays *a)
{
	VECTOR *lower = (VECTOR *)a->lower;

	for (size_t p = 0; p < a->ncore; p++) {
		VECTOR *row = lower + ROW(p) * PARTS;

		for (size_t q = 0; q <= p; q++) {
			const VECTOR *other = lower + ROW(q) * PARTS;
			VECTOR sum[PARTS];

			for (size_t i = 0; i < PARTS; i++)
				sum[i] = row[q * PARTS + i];
			for (size_t k = 0; k < q; k++)
				for (size_t i = 0; i < PARTS; i++)
					sum[i] -= row[k * PARTS + i] *
						  other[k * PARTS + i];
			for (size_t i = 0; i < PARTS; i++)
				row[q * PARTS + i] =
				    q < p ? sum[i] * other[q * PARTS + i]
					  : sum[i];
		}
		NAME(set_pivot)
		((double *)(row + p * PARTS), a->diagonal + p * LANES,
		 a->floor);
	}
}

static void
NAME(factor)(const struct precond_arrays *a)
{
	NAME(subtract_field)(a);
	NAME(factor_core)(a);
}

/* core = the inverse of lower lower' times core. */
INLINE void
NAME(solve_core)(const struct precond_arrays *a, VECTOR *core)
{
	const VECTOR *lower = (const VECTOR *)a->lower;

	for (size_t p = 0; p < a->ncore; p++) {
		const VECTOR *row = lower + ROW(p) * PARTS;
		VECTOR sum[PARTS];

		for (size_t i = 0; i < PARTS; i++)
			sum[i] = core[p * PARTS + i];
		for (size_t k = 0; k < p; k++)
			for (size_t i = 0; i < PARTS; i++)
				sum[i] -=
				    row[k * PARTS + i] * core[k * PARTS + i];
		for (size_t i = 0; i < PARTS; i++)
			core[p * PARTS + i] = sum[i] * row[p * PARTS + i];
	}
	for (size_t p = a->ncore; p-- > 0;) {
		const VECTOR *row = lower + ROW(p) * PARTS;
		VECTOR x[PARTS];

		for (size_t i = 0; i < PARTS; i++)
			x[i] = core[p * PARTS + i] *= row[p * PARTS + i];
		for (size_t k = 0; k < p; k++)
			for (size_t i = 0; i < PARTS; i++)
				core[k * PARTS + i] -=
				    row[k * PARTS + i] * x[i];
	}
}

static void
NAME(solve)(const struct precond_arrays *a, double *field_, double *core_,
	    double *work_)
{
	const VECTOR *cross = (const VECTOR *)a->cross;
	const VECTOR *inverse = (const VECTOR *)a->field;
	VECTOR *field = (VECTOR *)field_, *core = (VECTOR *)core_;
	VECTOR *work = (VECTOR *)work_;

	memset(work, 0, a->ncore * PARTS * sizeof *work);
	for (size_t k = 0; k < a->nfield; k++) {
		VECTOR x[PARTS];

		for (size_t i = 0; i < PARTS; i++)
			x[i] = field[k * PARTS + i] * inverse[k * PARTS + i];
		for (size_t e = a->start[k]; e < a->start[k + 1]; e++)
			for (size_t i = 0; i < PARTS; i++)
				work[a->column[e] * PARTS + i] +=
				    x[i] * cross[e * PARTS + i];
	}
	for (size_t p = 0; p < a->ncore * PARTS; p++)
		core[p] -= work[p];
	NAME(solve_core)(a, core);
	for (size_t k = 0; k < a->nfield; k++) {
		VECTOR sum[PARTS];

		memset(sum, 0, sizeof sum);
		for (size_t e = a->start[k]; e < a->start[k + 1]; e++)
			for (size_t i = 0; i < PARTS; i++)
				sum[i] += core[a->column[e] * PARTS + i] *
					  cross[e * PARTS + i];
		for (size_t i = 0; i < PARTS; i++)
			field[k * PARTS + i] = inverse[k * PARTS + i] *
					       (field[k * PARTS + i] - sum[i]);
	}
}

#undef NAME
#undef VECTOR
#undef PARTS
#undef ROW
#undef LANES
#undef WIDTH

#endif
