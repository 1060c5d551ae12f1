#ifndef KP_BASE_DD_H
#define KP_BASE_DD_H

/*
 * dd - double-double arithmetic: a number as the unevaluated sum hi + lo,
 * about 106 bits, for the few places where differences of large sums are
 * wanted.  Error-free sums and products by Knuth, Veltkamp and Dekker (1971),
 * without FMA, so the bits are the same everywhere.  Products are exact while
 * factors are below 2^996 and no part is subnormal.
 */

struct dd {
	double hi, lo;
};

/* a + b exactly. */
static inline struct dd
dd_sum(double a, double b)
{
	double s = a + b, bb = s - a;
	return (struct dd){s, (a - (s - bb)) + (b - bb)};
}

/* a * b exactly. */
static inline struct dd
dd_product(double a, double b)
{
	double p = a * b;
	double ta = a * 0x8000001p0, tb = b * 0x8000001p0; /* 2^27 + 1 */
	double ah = ta - (ta - a), bh = tb - (tb - b);
	double al = a - ah, bl = b - bh;
	return (struct dd){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static inline struct dd
dd_add(struct dd a, struct dd b)
{
	struct dd s = dd_sum(a.hi, b.hi), t = dd_sum(a.lo, b.lo);
	s = dd_sum(s.hi, s.lo + t.hi);
	return dd_sum(s.hi, s.lo + t.lo);
}

static inline struct dd
dd_mul(struct dd a, struct dd b)
{
	struct dd p = dd_product(a.hi, b.hi);
	return dd_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

#endif
