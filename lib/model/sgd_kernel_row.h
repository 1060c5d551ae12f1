/*
 * sgd_kernel_row - what the loops of sgd_kernel.c are made of: losses, what
 * lanes carry from row to row, and the products and updates of one row.  A
 * part of that file: included where it is compiled for a width, so once for
 * each, by macros that it defines.
 */

/* --- values of a vector --- */

/* a where the mask is ones, b where it is zeros. */
INLINE VECTOR
NAME(pick)(MASK mask, VECTOR a, VECTOR b)
{
	return (VECTOR)(((MASK)a & mask) | ((MASK)b & ~mask));
}

/* |d loss / dz| at margin z (of squared and quantile loss: with its sign), and
 * the loss; tau of the run, y and flip as in struct target. */
INLINE void
NAME(link)(enum loss loss, float tau, VECTOR y, MASK flip, VECTOR z, VECTOR *slope,
	   VECTOR *value)
{
	const VECTOR zero = {0};
	VECTOR t = (VECTOR)((MASK)z ^ flip); /* grows with the loss */

	if (loss == LOSS_LOGISTIC) {
		MASK sign = (MASK)t & SIGN_BIT;
		VECTOR size = (VECTOR)((MASK)t & INT32_MAX);
		const VECTOR most = zero + MARGIN_MAX;

		size = NAME(pick)(most < size, most, size);
		VECTOR x = (VECTOR)((MASK)size | sign) * LOG2E;
		VECTOR whole = x + ROUND;
		VECTOR f = x - (whole - ROUND);
		VECTOR coth = COTH_POLY(f * f);
		VECTOR top = (VECTOR)((MASK)(coth + f) + ((MASK)whole << 23));
		VECTOR bottom = coth - f, both = bottom + top;
		MASK low = t < 0;
		VECTOR p = top / both;
		VECTOR less = NAME(pick)(low, p, 1 - p); /* than 1/2 */

		*slope = p;
		*value = NAME(pick)(low, zero, t) +
			 less * LOG_POLY(less, less * less);
	} else if (loss == LOSS_SQUARED) {
		*slope = z - y;
		*value = 0.5f * *slope * *slope;
	} else if (loss == LOSS_QUANTILE) {
		VECTOR over = z - y; /* a NaN is not below 0, and stays */
		MASK below = over < 0;

		*slope = NAME(pick)(below, zero - tau, zero + (1 - tau)) +
			 over * 0;
		*value = NAME(pick)(below, -tau * over, (1 - tau) * over);
	} else {
		VECTOR over = 1 + t;

		over = NAME(pick)(over < 0, zero, over);
		if (loss == LOSS_HINGE) {
			*slope = (VECTOR)((MASK)(zero + 1) & (zero < over));
			*value = over;
		} else {
			*slope = over + over;
			*value = over * over;
		}
	}
}

/* --- what the lanes of a run carry from row to row --- */

struct NAME(lanes) {
	CELL b[PARTS]; /* intercept */
	CELL rate[PARTS];
	CELL scale[PARTS], inverse[PARTS];
	CELL shrink[PARTS]; /* of a step, in units of the table */
	REAL loss[REALS];
	/* Of the rows of a block: scales after their steps, and losses. */
	CELL scales[BLOCK][PARTS], inverses[BLOCK][PARTS];
	CELL values[BLOCK][PARTS];
	double weight[BLOCK];
	uint32_t now; /* steps taken, under l1 */
};

INLINE void
NAME(set_shrink)(const struct sgd_run *s, struct NAME(lanes) *l)
{
	const CELL *shrink = (const CELL *)s->shrink;

	for (size_t p = 0; s->shrinks && p < PARTS; p++)
#if LANES == 1
		l->shrink[p] = shrink[p] * __builtin_fabsf(l->inverse[p]);
#else
		l->shrink[p] =
		    shrink[p] * (VECTOR)((MASK)l->inverse[p] & INT32_MAX);
#endif
}

INLINE void
NAME(begin)(const struct sgd_run *s, struct NAME(lanes) *l)
{
	float scale[LANES], inverse[LANES];

	for (size_t k = 0; k < LANES; k++) {
		scale[k] = s->decays ? (float)s->scale[k] : 1;
		inverse[k] = s->decays ? (float)s->inverse[k] : 1;
	}
	memcpy(l->scale, scale, sizeof scale);
	memcpy(l->inverse, inverse, sizeof inverse);
	memset(l->shrink, 0, sizeof l->shrink);
	NAME(set_shrink)(s, l);
	l->now = s->shrinks ? s->lag->now : 0;
	memcpy(l->b, s->w + (s->hot + s->d) * LANES, sizeof l->b);
	memcpy(l->rate, s->rate, sizeof l->rate);
	memcpy(l->loss, s->loss_sum, sizeof l->loss);
}

INLINE void
NAME(finish)(const struct sgd_run *s, const struct NAME(lanes) *l)
{
	memcpy(s->w + (s->hot + s->d) * LANES, l->b, sizeof l->b);
	memcpy(s->loss_sum, l->loss, sizeof l->loss);
}

/* Each step multiplies all weights but b by the decay of their lane: the
 * scales after each of the next n steps. */
INLINE void
NAME(make_scales)(const struct sgd_run *s, struct NAME(lanes) *l, size_t n)
{
	float *scales = (float *)l->scales, *inverses = (float *)l->inverses;

	for (size_t k = 0; k < REALS; k++) {
		REAL scale = ((REAL *)s->scale)[k];
		REAL inverse = ((REAL *)s->inverse)[k];
		const REAL decay = ((const REAL *)s->decay)[k];
		const REAL undecay = ((const REAL *)s->undecay)[k];

		for (size_t j = 0; j < n; j++) {
			scale *= decay;
			inverse *= undecay;
			AS_FLOAT(scales + j * LANES + 8 * k, scale);
			AS_FLOAT(inverses + j * LANES + 8 * k, inverse);
		}
		((REAL *)s->scale)[k] = scale;
		((REAL *)s->inverse)[k] = inverse;
	}
}

/* To the scales after the step of row j of the block. */
INLINE void
NAME(decay)(const struct sgd_run *s, struct NAME(lanes) *l, size_t j)
{
	memcpy(l->scale, l->scales[j], sizeof l->scale);
	memcpy(l->inverse, l->inverses[j], sizeof l->inverse);
	NAME(set_shrink)(s, l);
}

/* Adds the losses of the n rows of a block. */
INLINE void
NAME(add_losses)(struct NAME(lanes) *l, size_t n)
{
	const float *value = (const float *)l->values;

	for (size_t k = 0; k < REALS; k++) {
		REAL sum = l->loss[k];

		for (size_t j = 0; j < n; j++)
			sum +=
			    AS_REAL(value + j * LANES + 8 * k) * l->weight[j];
		l->loss[k] = sum;
	}
}

/* Takes margins z of row j of the block to slopes. */
INLINE void
NAME(judge)(const struct sgd_run *s, const struct target *at, const CELL *z,
	    CELL *slope, struct NAME(lanes) *l, size_t j)
{
	const VECTOR zero = {0};

	l->weight[j] = at->weight;
#if LANES == 1
	VECTOR r, v, m = zero + *z;

	if (s->rows->offset)
		m += at->offset;
	NAME(link)
	(s->loss, s->tau, zero + at->y, (MASK)zero ^ at->flip, m, &r, &v);
	*slope = r[0];
	l->values[j][0] = v[0];
#else
	for (size_t p = 0; p < PARTS; p++) {
		VECTOR m = z[p];

		if (s->rows->offset)
			m += at->offset;
		NAME(link)
		(s->loss, s->tau, zero + at->y, (MASK)zero ^ at->flip, m,
		 &slope[p], &l->values[j][p]);
	}
#endif
}

/* --- numeric features --- */

#if LANES == 1
INLINE void
NAME(sweep)(const struct sgd_run *s, const struct NAME(lanes) *l,
	    struct sweep of, const CELL *c, CELL *sum)
{
	v8f *w = (v8f *)s->w, a = {0}, t = {0}, step = {0};

	if (of.update)
		step += *c;
	if (of.shrinks)
		t += l->shrink[0];
	for (size_t k = 0; k < s->hot / 8; k++) {
		v8f v = w[k];

		if (of.update) {
			v8f by = step * ((const v8f *)of.x)[k];

			w[k] = v = of.shrinks ? soft_8(v, by, t) : v - by;
		}
		if (of.dot)
			a += v * ((const v8f *)of.y)[k];
	}
	if (of.dot)
		*sum = ((a[0] + a[4]) + (a[2] + a[6])) +
		       ((a[1] + a[5]) + (a[3] + a[7]));
}
#else
/* The weight of feature k, part p of its row. */
INLINE void
NAME(sweep_one)(CELL *w, struct sweep of, CELL c, CELL t, size_t k, CELL *a)
{
	CELL v = w[k * PARTS];

	if (of.update) {
		CELL by = c * of.x[k];

		w[k * PARTS] = v = of.shrinks ? SOFT(v, by, t) : v - by;
	}
	if (of.dot)
		*a += v * of.y[k];
}

INLINE void
NAME(sweep)(const struct sgd_run *s, const struct NAME(lanes) *l,
	    struct sweep of, const CELL *c, CELL *sum)
{
	size_t n = s->rows->view->nnum;

	for (size_t p = 0; p < PARTS; p++) {
		CELL *w = (CELL *)s->w + p, a[8] = {{0}}, step = {0};
		size_t k = 0;

		if (of.update)
			step = c[p];
		for (; k + 8 <= n; k += 8)
			UNROLL8
		for (size_t j = 0; j < 8; j++)
			NAME(sweep_one)
		(w, of, step, l->shrink[p], k + j, &a[j]);
		UNROLL8
		for (size_t j = 0; j < 7; j++)
			if (k + j < n)
				NAME(sweep_one)
		(w, of, step, l->shrink[p], k + j, &a[j]);
		if (of.dot)
			sum[p] = ((a[0] + a[4]) + (a[2] + a[6])) +
				 ((a[1] + a[5]) + (a[3] + a[7]));
	}
}
#endif

/* --- one-hots and sparse entries --- */

/* A cell, part p of its row, that missed n steps. */
INLINE CELL
NAME(late)(const struct sgd_run *s, const struct NAME(lanes) *l, CELL w,
	   uint32_t n, size_t p)
{
	const CELL zero = {0};
	size_t low = n % SGD_LAG_LOW * PARTS + p;
	CELL missed = ((const CELL *)s->lag->sum)[low];

	if (n >= SGD_LAG_LOW)
		missed += ((const CELL *)s->lag->power)[low] *
			  ((const CELL *)
			       s->lag->long_sum)[n / SGD_LAG_LOW * PARTS + p];
	return SOFT(w, zero, missed * l->shrink[p]);
}

/* Makes up for the steps that row j of the table missed. */
INLINE void
NAME(make_up)(const struct sgd_run *s, const struct NAME(lanes) *l, size_t j)
{
	CELL *w = (CELL *)s->w + j * PARTS;
	uint32_t n = l->now - s->lag->last[j];

	if (n == 0)
		return;
	s->lag->last[j] = l->now;
	for (size_t p = 0; p < PARTS; p++)
		w[p] = NAME(late)(s, l, w[p], n, p);
}

/* Adds the products of row i's one-hots to sum. */
INLINE void
NAME(gather_hot)(const struct sgd_run *s, const struct NAME(lanes) *l,
		 struct how how, size_t i, CELL *sum)
{
	const struct rows *r = s->rows;
	const CELL *w = (const CELL *)s->w + s->hot * PARTS;
	size_t n = r->view->nhot;

	for (size_t k = 0; how.shrinks && k < n; k++)
		NAME(make_up)(s, l, s->hot + hot_slot(r, how.wide, i, k));
	for (size_t p = 0; p < PARTS; p++) {
		CELL a[4];
		size_t k = 0;

		memset(a, 0, sizeof a);
		for (; k + 4 <= n; k += 4)
			UNROLL8
		for (size_t j = 0; j < 4; j++)
			a[j] += w[hot_slot(r, how.wide, i, k + j) * PARTS + p];
		UNROLL8
		for (size_t j = 0; j < 3; j++)
			if (k + j < n)
				a[j] +=
				    w[hot_slot(r, how.wide, i, k + j) * PARTS +
				      p];
		sum[p] += (a[0] + a[2]) + (a[1] + a[3]);
	}
}

/* And of its sparse entries. */
INLINE void
NAME(gather_sparse)(const struct sgd_run *s, const struct NAME(lanes) *l,
		    struct how how, size_t i, CELL *sum)
{
	const struct rows *r = s->rows;
	const CELL *w = (const CELL *)s->w + s->hot * PARTS;
	size_t first = r->start[i], end = r->start[i + 1];

	for (size_t e = first; how.shrinks && e < end; e++)
		NAME(make_up)(s, l, s->hot + r->slot[e]);
	for (size_t p = 0; p < PARTS; p++) {
		CELL a[4];
		size_t e = first;

		memset(a, 0, sizeof a);
		for (; e + 4 <= end; e += 4)
			UNROLL8
		for (size_t j = 0; j < 4; j++)
			a[j] +=
			    r->value32[e + j] * w[r->slot[e + j] * PARTS + p];
		UNROLL8
		for (size_t j = 0; j < 3; j++)
			if (e + j < end)
				a[j] += r->value32[e + j] *
					w[r->slot[e + j] * PARTS + p];
		sum[p] += (a[0] + a[2]) + (a[1] + a[3]);
	}
}

INLINE void
NAME(gather)(const struct sgd_run *s, const struct NAME(lanes) *l,
	     struct how how, size_t i, CELL *sum)
{
	if (s->rows->view->nhot > 0)
		NAME(gather_hot)(s, l, how, i, sum);
	if (s->rows->view->sparse)
		NAME(gather_sparse)(s, l, how, i, sum);
}

/* Takes step c times row i's one-hots and sparse entries from a table; the
 * null slot's weight stays 0. */
INLINE void
NAME(scatter)(const struct sgd_run *s, struct how how, size_t i, const CELL *c,
	      float *table)
{
	const struct rows *r = s->rows;
	const struct view *v = r->view;
	CELL *w = (CELL *)table + s->hot * PARTS;

	for (size_t k = 0; k < v->nhot; k++) {
		size_t j = hot_slot(r, how.wide, i, k);

		for (size_t p = 0; p < PARTS; p++)
			w[j * PARTS + p] -= c[p];
	}
	if (v->nhot > 0)
		memset(w + (v->d + 1) * PARTS, 0, PARTS * sizeof *w);
	if (!v->sparse)
		return;
	for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
		for (size_t p = 0; p < PARTS; p++)
			w[r->slot[e] * PARTS + p] -= c[p] * r->value32[e];
}
