#include "model/metric.h"

#include <stdlib.h>

#include "check.h"

/* A fixed sequence (Steele, Lea and Flood 2014, SplitMix64). */
static uint64_t sequence;

static uint64_t
next_bits(void)
{
	uint64_t z = sequence += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static double
next_unit(void)
{
	return (double)(next_bits() >> 11) * 0x1p-53;
}

#define CLASSES 4
#define TAU 0.3

struct row {
	double label, weight, pred[CLASSES];
};

static void
add_rows(struct metric *m, const struct row *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		metric_add(m, r[i].label, r[i].weight, r[i].pred);
}

static struct metric *
metric_of(enum task task, const struct row *r, size_t n)
{
	size_t nclass = task == TASK_REGRESSION	  ? 0
			: task == TASK_MULTICLASS ? CLASSES
						  : 2;
	struct metric *m = metric_new(task, nclass, METRIC_FULL);
	metric_set_tau(m, TAU);
	add_rows(m, r, n);
	return m;
}

static double
value_of(enum task task, enum metric_kind k, const struct row *r, size_t n)
{
	struct metric *m = metric_of(task, r, n);
	double v = metric_value(m, k);
	metric_free(m);
	return v;
}

/* Rows of predictions with many ties, about one weight in eight 0. */
static void
fill_rows(enum task task, struct row *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double sum = 0;
		r[i].weight = (double)(next_bits() % 8) * 0.3;
		for (size_t k = 0; k < CLASSES; k++)
			sum += r[i].pred[k] = 0.01 + next_unit();
		for (size_t k = 0; k < CLASSES; k++)
			r[i].pred[k] /= sum;
		r[i].label = (double)(next_bits() % CLASSES);
		if (task == TASK_MULTICLASS)
			continue;
		r[i].pred[0] = floor(next_unit() * 64) / 64;
		r[i].label = next_unit() < r[i].pred[0];
		if (task == TASK_REGRESSION)
			r[i].label = 1000 + next_unit();
	}
}

/* --- against an independent library --- */

static size_t
read_rows(const char *path, size_t npred, struct row *r, size_t max)
{
	char line[256];
	size_t n = 0;
	FILE *f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	while (n < max && fgets(line, sizeof(line), f)) {
		char *s = line;
		r[n].label = strtod(s, &s);
		for (size_t k = 0; k < npred; k++)
			r[n].pred[k] = strtod(s + 1, &s);
		r[n].weight = *s == ',' ? strtod(s + 1, &s) : 1;
		n++;
	}
	fclose(f);
	return n;
}

#define ROWS_MAX 2000
static struct row rows[ROWS_MAX];

static void
binary_values(void)
{
	static const double unit[METRIC_COUNT] = {
	    [METRIC_LOGLOSS] = 0.48796394798696974,
	    [METRIC_AUC] = 0.7811574185283049,
	    [METRIC_ACCURACY] = 0.774,
	    [METRIC_BRIER] = 0.1584382,
	    [METRIC_RMSE] = 0.39804296250530546,
	    [METRIC_MAE] = 0.32846,
	    [METRIC_R2] = 0.20711125790695806};
	static const double weighted[METRIC_COUNT] = {
	    [METRIC_LOGLOSS] = 0.46379119306439565,
	    [METRIC_AUC] = 0.7867246091881228,
	    [METRIC_ACCURACY] = 0.7752101728969492,
	    [METRIC_BRIER] = 0.1529763375720404,
	    [METRIC_RMSE] = 0.3911218960529318,
	    [METRIC_MAE] = 0.32551976153968176,
	    [METRIC_R2] = 0.1908882612857502};
	size_t n = read_rows("../shared/oracles/scores.csv", 1, rows, ROWS_MAX);
	if (n == 0) {
		check_skip("no ../shared/oracles");
		return;
	}
	CHECK_INT(n, 500);
	for (int k = 0; k < METRIC_COUNT_V1; k++)
		CHECK_NEAR(value_of(TASK_BINARY, (enum metric_kind)k, rows, n),
			   weighted[k], 1e-12);
	for (size_t i = 0; i < n; i++)
		rows[i].weight = 1;
	for (int k = 0; k < METRIC_COUNT_V1; k++)
		CHECK_NEAR(value_of(TASK_BINARY, (enum metric_kind)k, rows, n),
			   unit[k], 1e-12);
}

static void
multiclass_values(void)
{
	size_t n = read_rows("../shared/oracles/scores_multiclass.csv", CLASSES,
			     rows, ROWS_MAX);
	if (n == 0) {
		check_skip("no ../shared/oracles");
		return;
	}
	CHECK_NEAR(value_of(TASK_MULTICLASS, METRIC_LOGLOSS, rows, n),
		   0.8087058993836971, 1e-12);
	CHECK_NEAR(value_of(TASK_MULTICLASS, METRIC_ACCURACY, rows, n), 0.69,
		   1e-12);
}

/* --- against definitions --- */

static void
by_hand(void)
{
	static const struct row r[] = {
	    {1, 1, {0.5}}, {0, 2, {0.5}}, {1, 1, {0.75}}, {0, 0, {0.9}}};
	struct metric *m = metric_of(TASK_BINARY, r, 4);
	CHECK_INT(metric_rows(m), 3);
	CHECK_BITS(metric_weight(m), 4);
	CHECK_NEAR(metric_value(m, METRIC_LOGLOSS),
		   -(3 * log(0.5) + log(0.75)) / 4, 1e-15);
	CHECK_BITS(metric_value(m, METRIC_BRIER), (3 * 0.25 + 0.0625) / 4);
	CHECK_BITS(metric_value(m, METRIC_ACCURACY), 0.5);
	CHECK_BITS(metric_value(m, METRIC_MAE), (3 * 0.5 + 0.25) / 4);
	CHECK_BITS(metric_value(m, METRIC_AUC), 0.75);
	CHECK_NEAR(metric_value(m, METRIC_R2), 1 - 0.8125 / 1, 1e-15);
	metric_free(m);
}

static void
multiclass_by_hand(void)
{
	static const struct row r[] = {
	    {2, 1, {0.25, 0.25, 0.5, 0}},
	    {1, 1, {0.25, 0.25, 0.25, 0.25}}, /* the first is taken: wrong */
	    {7, 1, {1, 0, 0, 0}},	      /* none of the classes */
	};
	struct metric *m = metric_of(TASK_MULTICLASS, r, 3);
	CHECK_NEAR(metric_value(m, METRIC_LOGLOSS),
		   -(log(0.5) + log(0.25) + log(1e-15)) / 3, 1e-14);
	CHECK_BITS(metric_value(m, METRIC_BRIER), (0.375 + 0.75 + 2) / 3);
	CHECK_BITS(metric_value(m, METRIC_ACCURACY), 1.0 / 3);
	CHECK_BITS(metric_value(m, METRIC_AUC), NAN);
	CHECK_BITS(metric_value(m, METRIC_RMSE), NAN);
	metric_free(m);
}

static void
clamped(void)
{
	static const struct row r[][1] = {
	    {{1, 1, {0}}}, {{0, 1, {1}}}, {{1, 1, {1}}}, {{0, 1, {0}}}};
	for (size_t i = 0; i < 4; i++)
		CHECK_NEAR(value_of(TASK_BINARY, METRIC_LOGLOSS, r[i], 1),
			   -log(i < 2 ? 1e-15 : 1 - 1e-15), 1e-16);
}

/* All pairs. */
static double
slow_auc(const struct row *r, size_t n)
{
	double won = 0, all = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			if (r[i].label == 0 || r[j].label == 1)
				continue;
			double w = r[i].weight * r[j].weight;
			double p = r[i].pred[0], q = r[j].pred[0];
			all += w;
			won += p > q ? w : p == q ? w / 2 : 0;
		}
	return won / all;
}

static void
auc_of_all_sizes(void)
{
	for (size_t n = 20; n < 800; n = n * 3 / 2) {
		fill_rows(TASK_BINARY, rows, n);
		for (size_t i = 0; i < n; i += 3) /* raw scores, signed zeros */
			rows[i].pred[0] = 0.25 - rows[i].pred[0];
		rows[0].pred[0] = -0.0;
		CHECK_NEAR(value_of(TASK_BINARY, METRIC_AUC, rows, n),
			   slow_auc(rows, n), 1e-13);
		for (size_t i = 0; i < n; i++)
			rows[i].weight = 1;
		CHECK_NEAR(value_of(TASK_BINARY, METRIC_AUC, rows, n),
			   slow_auc(rows, n), 1e-13);
	}
}

static void
auc_ends(void)
{
	static const struct row zeros[] = {{1, 1, {0.0}}, {0, 1, {-0.0}}};
	for (size_t i = 0; i < 200; i++)
		rows[i] =
		    (struct row){i >= 77, 0.1 + next_unit(), {(double)i / 200}};
	CHECK_BITS(value_of(TASK_BINARY, METRIC_AUC, rows, 200), 1);
	for (size_t i = 0; i < 200; i++)
		rows[i].label = 1 - rows[i].label;
	CHECK_BITS(value_of(TASK_BINARY, METRIC_AUC, rows, 200), 0);
	for (size_t i = 0; i < 200; i++)
		rows[i].pred[0] = 0.3;
	CHECK_BITS(value_of(TASK_BINARY, METRIC_AUC, rows, 200), 0.5);
	CHECK_BITS(value_of(TASK_BINARY, METRIC_AUC, zeros, 2), 0.5);
	rows[5].pred[0] = NAN;
	CHECK_BITS(value_of(TASK_BINARY, METRIC_AUC, rows, 200), NAN);
}

static void
undefined(void)
{
	static const struct row same[] = {{1, 1, {0.5}}, {1, 0.3, {0.6}}};
	static const struct row far[] = {{0.1, 1, {0}}, {0.1, 0.3, {1}}};
	for (int t = TASK_BINARY; t <= TASK_REGRESSION; t++)
		for (int k = 0; k < METRIC_COUNT; k++)
			CHECK_BITS(value_of((enum task)t, (enum metric_kind)k,
					    NULL, 0),
				   NAN);
	CHECK_BITS(value_of(TASK_BINARY, METRIC_AUC, same, 2), NAN);
	CHECK_BITS(value_of(TASK_BINARY, METRIC_R2, same, 2), NAN);
	CHECK_BITS(value_of(TASK_BINARY, METRIC_ACCURACY, same, 1), 1);
	CHECK_BITS(value_of(TASK_REGRESSION, METRIC_R2, far, 2), NAN);
	CHECK_BITS(value_of(TASK_REGRESSION, METRIC_LOGLOSS, far, 2), NAN);
}

static void
nan_predictions(void)
{
	static const struct row r[] = {{1, 1, {NAN, NAN, 0.4, 0.4}},
				       {0, 1, {0.25, 0.1, 0.2, 0.2}}};
	for (int t = TASK_BINARY; t <= TASK_REGRESSION; t++)
		for (int k = 0; k < METRIC_COUNT; k++)
			if (k != METRIC_ACCURACY)
				CHECK_BITS(value_of((enum task)t,
						    (enum metric_kind)k, r, 2),
					   NAN);
	CHECK_BITS(value_of(TASK_BINARY, METRIC_ACCURACY, r, 2), 0.5);
	CHECK_BITS(value_of(TASK_MULTICLASS, METRIC_ACCURACY, r, 2), 0.5);
}

static void
r2_far_from_zero(void)
{
	/* Labels 2^40 + i / 64 for i in 0 .. 1023, weight 1 + i mod 3,
	 * predictions off by 4: the spread is that of i / 64. */
	enum { N = 1024 };
	long long w = 0, s1 = 0, s2 = 0;
	for (long long i = 0; i < N; i++) {
		long long v = 1 + i % 3;
		double y = 0x1p40 + (double)i / 64;
		rows[i] = (struct row){y, (double)v * 0.125, {y + 4}};
		w += v;
		s1 += v * i;
		s2 += v * i * i;
	}
	double spread = (double)(w * s2 - s1 * s1) / (double)w;
	double want = 1 - (double)w * 65536 / spread;
	CHECK_NEAR(value_of(TASK_REGRESSION, METRIC_R2, rows, N), want, 1e-15);
	CHECK_BITS(value_of(TASK_REGRESSION, METRIC_RMSE, rows, N), 4);
	/* Weights and labels that are no round numbers, one far off. */
	static const struct row odd[] = {{1e9 + 0.1, 0.1, {1e9}},
					 {1e9 + 0.2, 0.7, {1e9}},
					 {1e9 + 0.3, 0.2, {1e9}}};
	long double mean = 0, total = 0, residual = 0, var = 0;
	for (size_t i = 0; i < 3; i++) {
		long double d = odd[i].label - 1e9L;
		total += odd[i].weight;
		mean += odd[i].weight * d;
		residual += odd[i].weight * d * d;
	}
	mean /= total;
	for (size_t i = 0; i < 3; i++) {
		long double d = odd[i].label - 1e9L - mean;
		var += odd[i].weight * d * d;
	}
	CHECK_NEAR(value_of(TASK_REGRESSION, METRIC_R2, odd, 3),
		   (double)(1 - residual / var), 1e-14);
}

/* --- deviance and pinball --- */

static void
counts_against_long_double(void)
{
	enum { N = 1000 };
	long double deviance = 0, pinball = 0, weight = 0;
	for (size_t i = 0; i < N; i++) {
		rows[i].weight = (double)(next_bits() % 8) * 0.3;
		rows[i].label = (double)(next_bits() % 6);
		rows[i].pred[0] =
		    i % 7 ? 0.01 + 5 * next_unit() : rows[i].label;
		if (i % 11 == 0)
			rows[i].label *= 1e9;
		long double y = rows[i].label, v = rows[i].pred[0];
		long double w = rows[i].weight;
		deviance += 2 * w * ((y > 0 ? y * logl(y / v) : 0) - y + v);
		pinball += w * (y > v ? TAU * (y - v) : (1 - TAU) * (v - y));
		weight += w;
	}
	CHECK_NEAR(value_of(TASK_REGRESSION, METRIC_DEVIANCE, rows, N),
		   (double)(deviance / weight), 1e-14);
	CHECK_NEAR(value_of(TASK_REGRESSION, METRIC_PINBALL, rows, N),
		   (double)(pinball / weight), 1e-14);
}

static void
small_counts(void)
{
	/* By hand: 2 (2 log 2 - 1), 0, 2 * 0.5. */
	struct row r[] = {{2, 1, {1}}, {3, 1, {3}}, {0, 1, {0.5}}};
	CHECK_NEAR(value_of(TASK_REGRESSION, METRIC_DEVIANCE, r, 3),
		   (2 * (2 * 0.6931471805599453 - 1) + 0 + 1) / 3, 1e-15);
	/* Two above their predictions by 1 and 0, one below by 0.5. */
	CHECK_NEAR(value_of(TASK_REGRESSION, METRIC_PINBALL, r, 3),
		   (0.3 * 1 + 0 + 0.7 * 0.5) / 3, 1e-15);
	CHECK_BITS(value_of(TASK_REGRESSION, METRIC_DEVIANCE, r + 1, 1), 0);
	r[2].pred[0] = 0;
	CHECK_BITS(value_of(TASK_REGRESSION, METRIC_DEVIANCE, r + 2, 1), 0);
	r[0].pred[0] = 0;
	CHECK_BITS(value_of(TASK_REGRESSION, METRIC_DEVIANCE, r, 3), INFINITY);
}

static void
undefined_losses(void)
{
	struct row r[] = {{2, 1, {1}}, {-1, 1, {1}}, {1, 1, {-0.5}}};
	struct metric *m;
	CHECK_BITS(value_of(TASK_REGRESSION, METRIC_DEVIANCE, r, 2), NAN);
	CHECK_BITS(value_of(TASK_REGRESSION, METRIC_DEVIANCE, r + 2, 1), NAN);
	CHECK_BITS(value_of(TASK_BINARY, METRIC_DEVIANCE, r, 1), NAN);
	CHECK_BITS(value_of(TASK_BINARY, METRIC_PINBALL, r, 1), NAN);
	m = metric_new(TASK_REGRESSION, 0, METRIC_FULL);
	add_rows(m, r, 1);
	CHECK_BITS(metric_value(m, METRIC_PINBALL), NAN);
	CHECK_BITS(metric_value(m, METRIC_MAE), 1);
	metric_free(m);
}

/* Rows of several quantiles: each counts by its own. */
static void
several_taus(void)
{
	struct row r[] = {{2, 1, {1}}, {2, 1, {1}}};
	struct metric *m = metric_new(TASK_REGRESSION, 0, METRIC_ADDITIVE);
	metric_set_tau(m, 0.25);
	add_rows(m, r, 1);
	metric_set_tau(m, 0.75);
	add_rows(m, r + 1, 1);
	CHECK_BITS(metric_value(m, METRIC_PINBALL), 0.5);
	metric_free(m);
}

/* --- a value belongs to the multiset of rows --- */

static void
check_same(const struct metric *a, const struct metric *b)
{
	for (int k = 0; k < METRIC_COUNT; k++)
		CHECK_BITS(metric_value(a, (enum metric_kind)k),
			   metric_value(b, (enum metric_kind)k));
	CHECK_BITS(metric_weight(a), metric_weight(b));
	CHECK_INT(metric_rows(a), metric_rows(b));
}

static void
shuffle(struct row *r, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = next_bits() % i;
		struct row t = r[i - 1];
		r[i - 1] = r[j];
		r[j] = t;
	}
}

static struct metric *
through_bytes(const struct metric *m)
{
	struct strbuf sb = STRBUF_INIT;
	metric_put(m, &sb);
	struct cursor c = cursor_of(sb.buf, sb.len);
	struct metric *back = metric_get(&c);
	CHECK(back && cursor_done(&c));
	strbuf_release(&sb);
	return back;
}

static void
any_order(void)
{
	enum { PARTS = 5, N = 700 };
	for (int t = TASK_BINARY; t <= TASK_REGRESSION; t++) {
		enum task task = (enum task)t;
		fill_rows(task, rows, N);
		for (size_t i = 0; i < N; i += 2)
			rows[i].weight = 1;
		struct metric *whole = metric_of(task, rows, N);
		for (size_t trial = 0; trial < 10; trial++) {
			struct metric *total = metric_of(task, NULL, 0);
			shuffle(rows, N);
			for (size_t k = 0; k < PARTS; k++) {
				size_t from = N * k / PARTS;
				size_t to = N * (k + 1) / PARTS;
				struct metric *part =
				    metric_of(task, rows + from, to - from);
				struct metric *sent = through_bytes(part);
				CHECK_INT(metric_merge(total, sent), 0);
				metric_free(part);
				metric_free(sent);
			}
			check_same(total, whole);
			metric_free(total);
		}
		metric_free(whole);
	}
}

static void
light_is_the_default(void)
{
	for (int t = TASK_BINARY; t <= TASK_REGRESSION; t++) {
		enum task task = (enum task)t;
		enum metric_kind k = metric_default(task);
		fill_rows(task, rows, 300);
		struct metric *full = metric_of(task, rows, 300);
		struct metric *light = metric_new(
		    task, task == TASK_MULTICLASS ? CLASSES : 2, METRIC_LIGHT);
		add_rows(light, rows, 300);
		CHECK_BITS(metric_value(light, k), metric_value(full, k));
		CHECK_BITS(metric_weight(light), metric_weight(full));
		CHECK_BITS(metric_value(light, METRIC_AUC), NAN);
		CHECK_BITS(metric_value(light, METRIC_MAE), NAN);
		CHECK_BITS(metric_value(light, METRIC_R2), NAN);
		struct metric *back = through_bytes(light);
		check_same(back, light);
		CHECK_INT(metric_merge(full, light), -1);
		metric_free(back);
		metric_free(full);
		metric_free(light);
	}
}

static void
light_of_another(void)
{
	static const struct {
		enum task task;
		enum metric_kind by;
	} of[] = {{TASK_BINARY, METRIC_ACCURACY},
		  {TASK_BINARY, METRIC_BRIER},
		  {TASK_BINARY, METRIC_MAE},
		  {TASK_REGRESSION, METRIC_MAE},
		  {TASK_REGRESSION, METRIC_DEVIANCE},
		  {TASK_REGRESSION, METRIC_PINBALL}};
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		size_t nclass = of[i].task == TASK_BINARY ? 2 : 0;
		fill_rows(of[i].task, rows, 300);
		struct metric *full = metric_of(of[i].task, rows, 300);
		struct metric *light =
		    metric_new_light(of[i].task, nclass, of[i].by);
		struct metric *dflt =
		    metric_new(of[i].task, nclass, METRIC_LIGHT);
		metric_set_tau(light, TAU);
		add_rows(light, rows, 300);
		struct metric *back = through_bytes(light);
		check_same(back, light);
		for (int k = 0; k < METRIC_COUNT; k++)
			CHECK_BITS(metric_value(light, (enum metric_kind)k),
				   k == (int)of[i].by ? metric_value(full, k)
						      : NAN);
		CHECK_INT(metric_merge(dflt, light), -1);
		CHECK_INT(metric_merge(back, light), 0);
		CHECK_BITS(metric_value(back, of[i].by),
			   metric_value(full, of[i].by));
		metric_free(back);
		metric_free(full);
		metric_free(light);
		metric_free(dflt);
	}
}

static void
values_in_files(void)
{
	double value[METRIC_COUNT], got[METRIC_COUNT];
	for (uint32_t n = 0; n <= METRIC_COUNT + 1; n++) {
		struct strbuf sb = STRBUF_INIT;
		uint32_t found;
		for (uint32_t k = 0; k < METRIC_COUNT; k++)
			value[k] = k + 0.5;
		metric_put_values(value, n < METRIC_COUNT ? n : METRIC_COUNT,
				  &sb);
		sb.buf[0] = (char)n;
		struct cursor c = cursor_of(sb.buf, sb.len);
		bool good = n >= METRIC_COUNT_V1 && n <= METRIC_COUNT;
		CHECK_INT(metric_get_values(got, &found, &c), good ? 0 : -1);
		CHECK_INT(found, n);
		for (uint32_t k = 0; good && k < METRIC_COUNT; k++)
			CHECK_BITS(got[k], k < n ? k + 0.5 : NAN);
		strbuf_release(&sb);
	}
}

static void
additive_is_all_but_auc(void)
{
	for (int t = TASK_BINARY; t <= TASK_REGRESSION; t++) {
		enum task task = (enum task)t;
		fill_rows(task, rows, 300);
		struct metric *full = metric_of(task, rows, 300);
		struct metric *m =
		    metric_new(task, task == TASK_MULTICLASS ? CLASSES : 2,
			       METRIC_ADDITIVE);
		metric_set_tau(m, TAU);
		add_rows(m, rows, 300);
		for (int k = 0; k < METRIC_COUNT; k++) {
			enum metric_kind kind = (enum metric_kind)k;
			CHECK_BITS(metric_value(m, kind),
				   kind == METRIC_AUC
				       ? NAN
				       : metric_value(full, kind));
		}
		struct metric *back = through_bytes(m);
		check_same(back, m);
		CHECK_INT(metric_merge(full, m), -1);
		metric_free(back);
		metric_free(full);
		metric_free(m);
	}
}

static void
many_at_once(void)
{
	static double label[ROWS_MAX], weight[ROWS_MAX], pred[ROWS_MAX * 4];
	for (int t = TASK_BINARY; t <= TASK_REGRESSION; t++) {
		enum task task = (enum task)t;
		size_t width = task == TASK_MULTICLASS ? CLASSES : 1;
		fill_rows(task, rows, 1003);
		if (task == TASK_BINARY)
			for (size_t i = 0; i < 1003; i++)
				rows[i].pred[0] = i % 2 ? next_unit() : i % 3;
		struct metric *m = metric_of(task, NULL, 0);
		for (size_t i = 0; i < 1003; i++) {
			label[i] = rows[i].label;
			weight[i] = rows[i].weight;
			memcpy(pred + i * width, rows[i].pred,
			       width * sizeof(*pred));
		}
		metric_add_many(m, label, weight, pred, 1003);
		struct metric *one = metric_of(task, rows, 1003);
		check_same(m, one);
		weight[3] = 1;
		pred[3 * width] = pred[3 * width + width - 1] = NAN;
		label[3] = 0;
		metric_add_many(m, label, weight, pred, 1003);
		CHECK_BITS(metric_value(m, metric_default(task)), NAN);
		metric_free(m);
		metric_free(one);
	}
}

static void
reset_is_empty(void)
{
	struct metric *m, *empty = metric_of(TASK_BINARY, NULL, 0);
	fill_rows(TASK_BINARY, rows, 300);
	m = metric_of(TASK_BINARY, rows, 300);
	metric_reset(m);
	check_same(m, empty);
	add_rows(m, rows, 200);
	struct metric *fresh = metric_of(TASK_BINARY, rows, 200);
	check_same(m, fresh);
	metric_free(m);
	metric_free(fresh);
	metric_free(empty);
	metric_free(NULL);
}

/* Every prefix and every changed byte: refused, or a metric that can be read
 * and used. */
static void
hostile_bytes(void)
{
	struct strbuf sb = STRBUF_INIT;
	fill_rows(TASK_BINARY, rows, 12);
	struct metric *m = metric_of(TASK_BINARY, rows, 12);
	metric_put(m, &sb);
	for (size_t n = 0; n < sb.len; n++) {
		struct cursor c = cursor_of(sb.buf, n);
		CHECK(metric_get(&c) == NULL);
	}
	for (size_t i = 0; i < sb.len * 8; i++) {
		sb.buf[i / 8] ^= (char)(1 << i % 8);
		struct cursor c = cursor_of(sb.buf, sb.len);
		struct metric *bad = metric_get(&c);
		for (int k = 0; bad && k < METRIC_COUNT; k++)
			metric_value(bad, (enum metric_kind)k);
		struct metric *total = metric_of(TASK_BINARY, rows, 12);
		if (bad && metric_merge(total, bad) == 0)
			metric_value(total, METRIC_AUC);
		metric_free(total);
		metric_free(bad);
		sb.buf[i / 8] ^= (char)(1 << i % 8);
	}
	strbuf_release(&sb);
	metric_free(m);
}

static void
names_and_order(void)
{
	for (int k = 0; k < METRIC_COUNT; k++)
		CHECK_INT(metric_by_name(metric_name((enum metric_kind)k)), k);
	CHECK_INT(metric_by_name("AUC"), -1);
	CHECK(metric_better(METRIC_AUC, 0.7, 0.6));
	CHECK(metric_better(METRIC_LOGLOSS, 0.6, 0.7));
	CHECK(!metric_better(METRIC_LOGLOSS, 0.6, 0.6));
	CHECK(metric_better(METRIC_LOGLOSS, 0.6, NAN));
	CHECK(!metric_better(METRIC_LOGLOSS, NAN, 0.6));
	CHECK(!metric_better(METRIC_AUC, NAN, NAN));
	CHECK(metric_applies(METRIC_R2, TASK_BINARY));
	CHECK(!metric_applies(METRIC_R2, TASK_MULTICLASS));
	CHECK(!metric_applies(METRIC_AUC, TASK_REGRESSION));
	CHECK_INT(metric_default(TASK_REGRESSION), METRIC_RMSE);
}

int
main(void)
{
	check_run("binary metrics equal an independent library's",
		  binary_values);
	check_run("multi-class metrics equal an independent library's",
		  multiclass_values);
	check_run("binary metrics of four rows by hand", by_hand);
	check_run("multi-class metrics of three rows by hand",
		  multiclass_by_hand);
	check_run("log-loss clamps p", clamped);
	check_run("AUC equals counting all pairs", auc_of_all_sizes);
	check_run("AUC is exactly 1, 0, 1/2 and NaN where it should be",
		  auc_ends);
	check_run("undefined metrics are NaN", undefined);
	check_run("a NaN prediction spoils sums and is never right",
		  nan_predictions);
	check_run("R2 survives labels far from 0", r2_far_from_zero);
	check_run("deviance and pinball equal long double",
		  counts_against_long_double);
	check_run("deviance and pinball of three rows by hand", small_counts);
	check_run("deviance below 0 and pinball of no tau are NaN",
		  undefined_losses);
	check_run("pinball takes each row at the tau it was predicted for",
		  several_taus);
	check_run("any order and split of the rows give the same bits",
		  any_order);
	check_run("a light metric answers the default with the same bits",
		  light_is_the_default);
	check_run("a light metric answers another if told, with the same bits",
		  light_of_another);
	check_run("files may have fewer values", values_in_files);
	check_run("an additive metric answers all but AUC with the same bits",
		  additive_is_all_but_auc);
	check_run("rows added together count as rows added singly",
		  many_at_once);
	check_run("a reset metric is as new", reset_is_empty);
	check_run("hostile bytes do no harm", hostile_bytes);
	check_run("names, directions and tasks", names_and_order);
	return check_done();
}
