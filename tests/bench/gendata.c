/*
 * gendata - test data of any size, made from a seed; the same bytes on every
 * machine, since row i is a function of the seed and i alone (base/rng, and
 * base/fmath in place of libm).
 *
 *	gendata dense --rows N --features D [--classes K | --regression]
 *	gendata sparse --rows N --dim D
 *	gendata clicks --rows N --groups G --values V
 *	gendata lines --bytes SIZE --length L
 *	        [--seed S] [--order none|label|feature]
 *
 * dense   CSV with a header, y,x1,...,xD, four decimals.
 *         Two classes, 0 and 1, are a Gaussian pair: unit variance, means half
 *         DISTANCE to either side of 0, feature j's share of it DECAY times
 *         that of feature j - 1; no model is right more often than 76.5 % of
 *         the time, and logistic regression is that model.
 *         K > 2 classes, c0 ..., have means of length SPREAD in random
 *         directions.  --regression: y is linear in standard normal features
 *         (coefficients as the shares above, signs alternating), plus noise
 *         that leaves R2 = 0.75.
 * sparse  libsvm, labels 0 and 1: two numbers (indices 1 and 2) and 14 fields
 *         of 10 to D values, hashed into 3 .. D; of n values number
 *         floor(n u^3) is drawn, u uniform, so that few are frequent.  The
 *         log-odds of a row are linear in all of them.
 * clicks  CSV with a header, y,partner,x1,x2,c1,...,c14, as logs of clicks are:
 *         G partners whose sizes fall as 1, 1/2, 1/3, ...; two numbers, normal;
 *         14 categories of 10 to V values, evenly on a log scale, that are
 *         drawn with weights 1, 1/2, 1/3, ....  The log-odds are linear in the
 *         numbers and the values; each partner has a constant of its own and
 *         its own opinion of every value beside the common one.  About a
 *         fifth of the labels are 1.
 * lines   text lines of L bytes, newline included: the number of the line, a
 *         blank, random letters; as many as fit into SIZE.
 *
 * --order says how rows lie: as they are numbered (labels are independent of
 * one another), all rows of a label before those of the next (of a regression
 * sorted by it), or sorted by the first feature; ties by number.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/fmath.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/rng.h"

#define DISTANCE 1.445
#define SPREAD 1.9
#define DECAY 0.9
#define NOISE_SHARE 0.25
#define FIELDS 14
#define FEATURES_MAX 10000
#define BUFFER (1u << 20)
#define LINE_MAX_BYTES 65536
#define FIXED 10000	  /* numbers have four decimals */
#define CLICK_BASE (-1.9) /* log-odds of clicks */

/* What a random number is for: the counter beside the row's. */
enum use {
	USE_LABEL = 1,
	USE_ROW,
	USE_MEAN,
	USE_WEIGHT,
	USE_SLOT,
	USE_GROUP,
	USE_OPINION
};

enum order { ORDER_NONE, ORDER_LABEL, ORDER_FEATURE };

struct spec {
	uint64_t seed, rows, dim, bytes, length, groups;
	size_t nfeature, nclass; /* nclass 0: regression */
	bool sparse;
	enum order order;
	double *mean; /* [nclass][nfeature], or [1][nfeature] coefficients */
	double noise; /* of a regression, sd */
	double values[FIELDS]; /* sparse: of a field */
};

struct entry {
	uint32_t index;
	double value;
};

struct row {
	double label;
	double *x;			/* dense: [nfeature] */
	struct entry entry[FIELDS + 2]; /* sparse: [nentry], by index */
	size_t nentry;
};

/* --- random numbers --- */

/* A stream of its own for every row: SplitMix64. */
struct stream {
	uint64_t state;
	bool has; /* a normal is left over */
	double spare;
};

static uint64_t
draw(struct stream *s)
{
	uint64_t z = s->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double
draw_unit(struct stream *s)
{
	return (double)(draw(s) >> 11) * 0x1p-53;
}

/* Standard normal, by Marsaglia's polar method. */
static double
draw_normal(struct stream *s)
{
	double u, v, q, f;

	if (s->has) {
		s->has = false;
		return s->spare;
	}
	do {
		u = 2 * draw_unit(s) - 1;
		v = 2 * draw_unit(s) - 1;
		q = u * u + v * v;
	} while (q >= 1 || q == 0);
	f = sqrt(-2 * fmath_log(q) / q);
	s->spare = v * f;
	s->has = true;
	return u * f;
}

/* --- rows --- */

static double
power(double base, uint64_t n)
{
	double p = 1;

	while (n--)
		p *= base;
	return p;
}

/* Length 1 in all, feature j's DECAY times that of feature j - 1. */
static void
set_shares(double *share, size_t n)
{
	double sum = 0;

	for (size_t j = 0; j < n; j++) {
		share[j] = power(DECAY, j);
		sum += share[j] * share[j];
	}
	for (size_t j = 0; j < n; j++)
		share[j] /= sqrt(sum);
}

static void
set_means(struct spec *s)
{
	size_t n = s->nfeature, k = s->nclass ? s->nclass : 1;
	double *share = xcalloc(n, sizeof *share);

	s->mean = xcalloc(k * n, sizeof *s->mean);
	set_shares(share, n);
	for (size_t c = 0; c < k; c++) {
		struct stream r = {.state = rng_u64(s->seed, c, USE_MEAN, 0)};
		double *m = s->mean + c * n;

		for (size_t j = 0; j < n; j++)
			if (s->nclass == 0)
				m[j] = j % 2 ? -share[j] : share[j];
			else if (s->nclass == 2)
				m[j] = (c ? 0.5 : -0.5) * DISTANCE * share[j];
			else
				m[j] =
				    SPREAD * draw_normal(&r) / sqrt((double)n);
	}
	free(share);
	s->noise = sqrt(NOISE_SHARE / (1 - NOISE_SHARE));
}

/* Class of a dense row, by its number alone. */
static uint64_t
dense_class(const struct spec *s, uint64_t i)
{
	return rng_below(s->nclass, s->seed, i, USE_LABEL);
}

static void
make_dense(const struct spec *s, uint64_t i, struct row *row)
{
	struct stream r = {.state = rng_u64(s->seed, i, USE_ROW, 0)};
	uint64_t c = s->nclass ? dense_class(s, i) : 0;
	const double *mean = s->mean + c * s->nfeature;

	row->label = (double)c;
	for (size_t j = 0; j < s->nfeature; j++) {
		row->x[j] = draw_normal(&r);
		if (s->nclass)
			row->x[j] += mean[j];
		else
			row->label += mean[j] * row->x[j];
	}
	if (s->nclass == 0)
		row->label += s->noise * draw_normal(&r);
}

static int
compare_entries(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	return a->index < b->index ? -1 : a->index > b->index;
}

/* Sorts the entries; of those with one index the first drawn stays. */
static void
settle_entries(struct row *row)
{
	size_t n = 0;

	qsort(row->entry, row->nentry, sizeof *row->entry, compare_entries);
	for (size_t k = 0; k < row->nentry; k++)
		if (n == 0 || row->entry[n - 1].index != row->entry[k].index)
			row->entry[n++] = row->entry[k];
	row->nentry = n;
}

/* From 10 values to the dimension, evenly on a log scale. */
static void
set_fields(struct spec *s)
{
	double step = fmath_log((double)s->dim / 10) / (FIELDS - 1);

	for (size_t f = 0; f < FIELDS; f++)
		s->values[f] = floor(10 * fmath_exp(step * (double)f));
}

static void
make_sparse(const struct spec *s, uint64_t i, struct row *row)
{
	struct stream r = {.state = rng_u64(s->seed, i, USE_ROW, 0)};
	double logit = 0;

	row->nentry = 0;
	for (uint32_t k = 1; k <= 2; k++) {
		double x = draw_normal(&r);

		row->entry[row->nentry++] = (struct entry){k, x};
		logit += (k == 1 ? 0.5 : -0.25) * x;
	}
	for (size_t f = 0; f < FIELDS; f++) {
		double u = draw_unit(&r);
		uint64_t code = (uint64_t)(s->values[f] * u * u * u);
		uint64_t slot =
		    rng_below(s->dim - 2, s->seed, code, USE_SLOT + f);

		row->entry[row->nentry++] =
		    (struct entry){(uint32_t)slot + 3, 1};
		logit += rng_unit(s->seed, code, USE_WEIGHT, f) - 0.5;
	}
	row->label = draw_unit(&r) < fmath_sigmoid(logit);
	settle_entries(row);
}

static void
make_row(const struct spec *s, uint64_t i, struct row *row)
{
	if (s->sparse)
		make_sparse(s, i, row);
	else
		make_dense(s, i, row);
}

/* --- clicks --- */

/* Number k of n is drawn with a weight of 1 / (k + 1): sum[k] is of all up to
 * k, so that the last is of all. */
struct zipf {
	double *sum;
	uint64_t n;
};

static struct zipf
zipf_new(uint64_t n)
{
	struct zipf z = {xcalloc(n, sizeof *z.sum), n};
	double sum = 0;

	for (uint64_t k = 0; k < n; k++)
		z.sum[k] = sum += 1 / (double)(k + 1);
	return z;
}

static uint64_t
zipf_draw(const struct zipf *z, double unit)
{
	double want = unit * z->sum[z->n - 1];
	uint64_t first = 0, end = z->n - 1;

	while (first < end) {
		uint64_t middle = (first + end) / 2;

		if (z->sum[middle] > want)
			end = middle;
		else
			first = middle + 1;
	}
	return first;
}

struct click {
	uint64_t group, code[FIELDS];
	double x[2];
	bool label;
};

/* What partner and value say about the odds. */
static double
click_weight(const struct spec *s, uint64_t group, uint64_t f, uint64_t code)
{
	return rng_unit(s->seed, code, USE_WEIGHT, f) - 0.5 +
	       0.5 * (rng_unit(s->seed, code, USE_OPINION + f, group) - 0.5);
}

static void
make_click(const struct spec *s, const struct zipf *groups,
	   const struct zipf *field, uint64_t i, struct click *c)
{
	struct stream r = {.state = rng_u64(s->seed, i, USE_ROW, 0)};
	double logit = CLICK_BASE;

	c->group = zipf_draw(groups, draw_unit(&r));
	logit += rng_unit(s->seed, c->group, USE_GROUP, 0) - 0.5;
	for (int k = 0; k < 2; k++)
		c->x[k] = draw_normal(&r);
	logit += 0.5 * c->x[0] - 0.25 * c->x[1];
	for (uint64_t f = 0; f < FIELDS; f++) {
		c->code[f] = zipf_draw(&field[f], draw_unit(&r));
		logit += click_weight(s, c->group, f, c->code[f]);
	}
	c->label = draw_unit(&r) < fmath_sigmoid(logit);
}

/* --- output --- */

static char out[BUFFER];
static size_t filled;

static void
flush(void)
{
	struct error err = ERROR_NONE;

	if (io_write_all(1, out, filled, "standard output", &err))
		die(&err);
	filled = 0;
}

/* Room for n bytes. */
static void
reserve(size_t n)
{
	if (BUFFER - filled < n)
		flush();
}

static void
put(char c)
{
	out[filled++] = c;
}

static void
put_text(const char *s)
{
	while (*s)
		put(*s++);
}

static void
put_whole(uint64_t v)
{
	char digit[20];
	size_t n = 0;

	do {
		digit[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		put(digit[--n]);
}

static void
put_fixed(double x)
{
	uint64_t v = (uint64_t)(fabs(x) * FIXED + 0.5);
	uint64_t low = v % FIXED;

	if (x < 0 && v)
		put('-');
	put_whole(v / FIXED);
	put('.');
	for (uint64_t unit = FIXED / 10; unit; unit /= 10)
		put((char)('0' + low / unit % 10));
}

static void
put_row(const struct spec *s, const struct row *row)
{
	reserve(32 * (s->sparse ? FIELDS + 3 : s->nfeature + 1));
	if (s->nclass > 2)
		put('c');
	if (s->nclass)
		put_whole((uint64_t)row->label);
	else
		put_fixed(row->label);
	for (size_t j = 0; !s->sparse && j < s->nfeature; j++) {
		put(',');
		put_fixed(row->x[j]);
	}
	for (size_t k = 0; s->sparse && k < row->nentry; k++) {
		put(' ');
		put_whole(row->entry[k].index);
		put(':');
		if (row->entry[k].index > 2)
			put('1');
		else
			put_fixed(row->entry[k].value);
	}
	put('\n');
}

static void
put_header(const struct spec *s)
{
	reserve(32 * (s->nfeature + 1));
	put('y');
	for (size_t j = 1; j <= s->nfeature; j++) {
		put_text(",x");
		put_whole(j);
	}
	put('\n');
}

/* --- order --- */

struct place {
	double key;
	uint64_t row;
};

static int
compare_places(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static double
key_of(const struct spec *s, uint64_t i, struct row *row)
{
	if (s->order == ORDER_LABEL && !s->sparse && s->nclass)
		return (double)dense_class(s, i);
	make_row(s, i, row);
	if (s->order == ORDER_LABEL)
		return row->label;
	return s->sparse ? row->entry[0].value : row->x[0];
}

/* Rows are made twice, once for the key, so that only keys are held. */
static struct place *
sorted_places(const struct spec *s, struct row *row)
{
	struct place *p = xcalloc(s->rows, sizeof *p);

	for (uint64_t i = 0; i < s->rows; i++)
		p[i] = (struct place){key_of(s, i, row), i};
	qsort(p, s->rows, sizeof *p, compare_places);
	return p;
}

static void
make_table(struct spec *s)
{
	struct row row = {.x = xcalloc(s->nfeature + 1, sizeof *row.x)};
	struct place *place = NULL;

	if (s->sparse) {
		set_fields(s);
	} else {
		set_means(s);
		put_header(s);
	}
	if (s->order != ORDER_NONE)
		place = sorted_places(s, &row);
	for (uint64_t i = 0; i < s->rows; i++) {
		make_row(s, place ? place[i].row : i, &row);
		put_row(s, &row);
	}
	free(place);
	free(row.x);
	free(s->mean);
}

static void
put_click(const struct click *c)
{
	reserve(32 * (FIELDS + 4));
	put_whole(c->label);
	put_text(",p");
	put_whole(c->group);
	for (int k = 0; k < 2; k++) {
		put(',');
		put_fixed(c->x[k]);
	}
	for (int f = 0; f < FIELDS; f++) {
		put_text(",v");
		put_whole(c->code[f]);
	}
	put('\n');
}

static void
make_clicks(struct spec *s)
{
	struct zipf groups = zipf_new(s->groups), field[FIELDS];
	struct click c;

	set_fields(s);
	put_text("y,partner,x1,x2");
	for (uint64_t f = 0; f < FIELDS; f++) {
		field[f] = zipf_new((uint64_t)s->values[f]);
		put_text(",c");
		put_whole(f + 1);
	}
	put('\n');
	for (uint64_t i = 0; i < s->rows; i++) {
		make_click(s, &groups, field, i, &c);
		put_click(&c);
	}
	for (int f = 0; f < FIELDS; f++)
		free(field[f].sum);
	free(groups.sum);
}

static void
make_lines(const struct spec *s)
{
	static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789-_";

	for (uint64_t i = 0; i < s->bytes / s->length; i++) {
		struct stream r = {.state = rng_u64(s->seed, i, USE_ROW, 0)};
		uint64_t bits = 0;
		size_t end, left = 0;

		reserve(s->length + 32);
		end = filled + s->length - 1;
		put_whole(i);
		put(' ');
		for (; filled < end; bits >>= 6, left--) {
			if (left == 0) {
				bits = draw(&r);
				left = 10;
			}
			put(letter[bits & 63]);
		}
		filled = end; /* a long number is cut */
		put('\n');
	}
}

/* --- command line --- */

static enum order
order_of(const char *name)
{
	static const char *const names[] = {"none", "label", "feature"};

	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		if (strcmp(name, names[k]) == 0)
			return (enum order)k;
	dief(EXIT_USAGE, "--order: not none, label or feature: \"%s\"", name);
}

int
main(int argc, char **argv)
{
	int64_t rows = 1000, features = 28, classes = 2, dim = 1000000,
		length = 32, seed = 1, groups = 280, values = 10000;
	uint64_t bytes = 1 << 20;
	bool regression = false;
	const char *order = "none", *kind;
	const struct opt table[] = {
	    {"rows", 'n', OPT_INT, &rows, "N", "rows", 1, 1e12},
	    {"features", 0, OPT_INT, &features, "D", "dense: features", 1,
	     FEATURES_MAX},
	    {"classes", 0, OPT_INT, &classes, "K", "dense: classes", 2, 1000},
	    {"regression", 0, OPT_FLAG, &regression, .help = "dense: a number"},
	    {"dim", 0, OPT_INT, &dim, "D", "sparse: highest index", 100, 1e9},
	    {"groups", 0, OPT_INT, &groups, "G", "clicks: partners", 1, 1e8},
	    {"values", 0, OPT_INT, &values, "V", "clicks: of the largest field",
	     100, 1e8},
	    {"bytes", 0, OPT_BYTES, &bytes, "SIZE", "lines: at most", 0, 0},
	    {"length", 0, OPT_INT, &length, "L", "lines: bytes of one", 2,
	     LINE_MAX_BYTES},
	    {"order", 0, OPT_STRING, &order, "HOW", "none, label or feature", 0,
	     0},
	    {"seed", 's', OPT_INT, &seed, "S", "of all randomness", 0, 1e15},
	    {0}};
	const struct opt_program prog = {
	    .usage = "[OPTION...] dense|sparse|clicks|lines",
	    .purpose = "Makes test data of a seed.",
	    .opt = table,
	    .operands_min = 1,
	    .operands_max = 1};
	struct spec s = {0};

	kind = argv[opt_parse(&prog, argc, argv)];
	s.seed = (uint64_t)seed;
	s.rows = (uint64_t)rows;
	s.nfeature = (size_t)features;
	s.nclass = regression ? 0 : (size_t)classes;
	s.dim = (uint64_t)dim;
	s.groups = (uint64_t)groups;
	s.bytes = bytes;
	s.length = (uint64_t)length;
	s.order = order_of(order);
	s.sparse = strcmp(kind, "sparse") == 0;
	if (s.sparse)
		s.nclass = 2;
	if (s.sparse || strcmp(kind, "dense") == 0)
		make_table(&s);
	else if (strcmp(kind, "clicks") == 0) {
		s.dim = (uint64_t)values;
		make_clicks(&s);
	} else if (strcmp(kind, "lines") == 0)
		make_lines(&s);
	else
		dief(EXIT_USAGE, "not dense, sparse, clicks or lines: \"%s\"",
		     kind);
	flush();
	return 0;
}
