#ifndef KP_TESTS_BATCH_JOB_H
#define KP_TESTS_BATCH_JOB_H

/*
 * batch_job - a pack of an Algebraic learner and its rows, driven as a runner
 * would: rows cut over several holders, points and partials as bytes.
 */

#include <limits.h>
#include "check.h"
#include "glm_toy.h"
#include "model/glm_view.h"
#include "model/learner.h"

#define HOLDERS_MAX 5

struct job {
	const struct learner *learner;
	struct toy *toy;
	struct config config[PACK_LANES_MAX];
	size_t n; /* lanes */
	uint32_t epochs;
	size_t holders; /* rows are cut into so many pieces */
	struct view *view;
	struct rows *train, *all;
	struct rows *part[HOLDERS_MAX];
	const struct pack_ops *ops;
	struct pack *pack[HOLDERS_MAX]; /* [0] updates */
	struct partial *partial[HOLDERS_MAX];
	struct lane_report report[PACK_LANES_MAX];
	uint32_t passes, repeats;
};

static inline void
job_set(struct job *j, size_t lane, const char *param, double value)
{
	j->config[lane].value[learner_find_param(j->learner, param)] = value;
}

static inline void
job_set_all(struct job *j, const char *param, double value)
{
	for (size_t i = 0; i < j->n; i++)
		job_set(j, i, param, value);
}

static inline double
job_get(const struct job *j, size_t lane, const char *param)
{
	return j->config[lane].value[learner_find_param(j->learner, param)];
}

/* Lanes of l2 1e-3, 1e-2, ... over and over, and l1 in each fifth. */
static inline void
job_init(struct job *j, const char *learner, struct toy *t, size_t n)
{
	memset(j, 0, sizeof *j);
	j->learner = learner_by_name(learner);
	j->toy = t;
	j->n = n;
	j->holders = 1;
	j->epochs = 1000;
	for (size_t i = 0; i < n; i++) {
		j->config[i] = learner_defaults(j->learner);
		job_set(j, i, "l2", 1e-3 * pow(10, (double)(i % 4)));
		job_set(j, i, "tolerance", 1e-8);
		if (i % 5 == 4)
			job_set(j, i, "l1", 1e-2);
	}
}

static inline struct pack *
job_pack(struct job *j)
{
	struct pack_spec spec = {.learner = j->learner,
				 .schema = &j->toy->schema,
				 .facts = &j->toy->facts,
				 .view = j->view,
				 .n = j->n,
				 .epochs = j->epochs};
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < j->n; i++)
		spec.config[i] = &j->config[i];
	j->ops = j->learner->ops(&j->config[0]);
	return j->ops->create(&spec, &err);
}

/* Cuts anywhere, an empty piece too. */
static inline uint32_t
job_cut(const struct job *j, size_t h)
{
	uint32_t n = j->toy->block.nrow;

	if (h == 0 || h == j->holders)
		return h ? n : 0;
	return h == 2 ? job_cut(j, 1)
		      : (uint32_t)(n * ((double)h - 0.37) / (double)j->holders);
}

static inline void
job_start(struct job *j)
{
	const struct learner *l = j->learner;
	struct error err = ERROR_NONE;

	j->view =
	    l->view_new(&j->toy->schema, &j->toy->facts, &j->config[0], &err);
	j->train = l->rows_new(j->view, PART_TRAIN);
	l->rows_add(j->train, &j->toy->block, 0, j->toy->block.nrow);
	j->all = l->rows_new(j->view, -1);
	l->rows_add(j->all, &j->toy->block, 0, j->toy->block.nrow);
	for (size_t h = 0; h < j->holders; h++) {
		j->part[h] = l->rows_new(j->view, PART_TRAIN);
		l->rows_add(j->part[h], &j->toy->block, job_cut(j, h),
			    job_cut(j, h + 1));
		j->pack[h] = job_pack(j);
		j->partial[h] = j->ops->partial_new(j->pack[h]);
	}
}

static inline void
job_end(struct job *j)
{
	const struct learner *l = j->learner;

	for (size_t h = 0; h < j->holders; h++) {
		l->rows_free(j->part[h]);
		j->ops->free(j->pack[h]);
		j->ops->partial_free(j->partial[h]);
	}
	l->rows_free(j->train);
	l->rows_free(j->all);
	l->view_free(j->view);
}

/* The point to the others, and their partials back, as bytes. */
static inline void
job_exchange(struct job *j, size_t h, bool point)
{
	struct strbuf sb = STRBUF_INIT;
	struct cursor c;

	if (point)
		j->ops->point_put(j->pack[0], &sb);
	else
		j->ops->partial_put(j->partial[h], &sb);
	c = cursor_of(sb.buf, sb.len);
	if (point) {
		CHECK_INT(j->ops->point_get(j->pack[h], &c), 0);
	} else {
		struct partial *t = j->ops->partial_new(j->pack[0]);

		CHECK_INT(j->ops->partial_get(t, &c), 0);
		j->ops->merge(j->partial[0], t);
		j->ops->partial_free(t);
	}
	CHECK(cursor_done(&c));
	strbuf_release(&sb);
}

/* One pass and update; true while a lane wants another. */
static inline bool
job_pass(struct job *j)
{
	bool more = false;

	for (size_t h = 0; h < j->holders; h++) {
		if (h > 0)
			job_exchange(j, h, true);
		j->ops->partial_reset(j->partial[h]);
		j->ops->accumulate(j->pack[h], j->part[h], j->partial[h]);
	}
	for (size_t h = j->holders; h-- > 1;) /* last first */
		job_exchange(j, h, false);
	j->ops->update(j->pack[0], j->partial[0], j->report);
	j->passes++;
	for (size_t i = 0; i < j->ops->width(j->pack[0]); i++) {
		more |= j->report[i].status == LANE_STEP;
		j->repeats +=
		    j->report[i].status == LANE_STEP && !j->report[i].counted;
	}
	return more;
}

/* Until all lanes have ended, but for so many passes at most. */
static inline void
job_passes(struct job *j, int most)
{
	while (most-- > 0 && job_pass(j))
		;
}

static inline void
job_run(struct job *j)
{
	job_start(j);
	job_passes(j, INT_MAX);
}

/* Into sb, in place of what it holds. */
static inline void
job_save(const struct job *j, size_t lane, enum save_what what,
	 struct strbuf *sb)
{
	strbuf_reset(sb);
	j->ops->save(j->pack[0], lane, what, sb);
}

/* Lane i of a and lane k of b hold the same bytes. */
static inline bool
job_same(const struct job *a, size_t i, const struct job *b, size_t k,
	 enum save_what what)
{
	struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;
	bool equal;

	job_save(a, i, what, &x);
	job_save(b, k, what, &y);
	equal = x.len == y.len && memcmp(x.buf, y.buf, x.len) == 0;
	strbuf_release(&x);
	strbuf_release(&y);
	return equal;
}

/* From its bytes, of which all are needed. */
static inline struct model *
job_model(const struct job *j, size_t lane)
{
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct model *m;

	j->ops->save(j->pack[0], lane, SAVE_MODEL, &sb);
	m = j->learner->model_load(j->view, sb.buf, sb.len, &err);
	CHECK(m != NULL);
	CHECK(!j->learner->model_load(j->view, sb.buf, sb.len - 1, &err));
	CHECK_INT(err.code, EXIT_CORRUPT);
	strbuf_release(&sb);
	return m;
}

/* The last doubles of SAVE_MODEL bytes: the weights. */
static inline double *
job_weights(const struct job *j, size_t lane, size_t n)
{
	struct strbuf sb = STRBUF_INIT;
	double *w = xcalloc(n, sizeof *w);

	j->ops->save(j->pack[0], lane, SAVE_MODEL, &sb);
	CHECK(sb.len >= n * sizeof *w);
	memcpy(w, sb.buf + sb.len - n * sizeof *w, n * sizeof *w);
	strbuf_release(&sb);
	return w;
}

/* Passes over 1 holder and over 5, of adversarial rows: every bound, weight
 * and pair, after each of them. */
static inline void
job_cuts_do_not_matter(struct job *a, int passes)
{
	struct job b = *a;

	b.holders = HOLDERS_MAX;
	job_start(a);
	job_start(&b);
	for (int k = 0; k < passes; k++) {
		job_pass(a);
		job_pass(&b);
		for (size_t i = 0; i < a->n; i++) {
			CHECK(job_same(a, i, &b, i, SAVE_STATE));
			CHECK_BITS(a->report[i].objective,
				   b.report[i].objective);
		}
	}
	CHECK(a->report[0].epoch >= 2);
	job_end(a);
	job_end(&b);
}

/* Lanes alone and in packs of any width, on any instruction set.  In single
 * precision losses wait for narrower packs: then passes are INT_MAX. */
static inline void
job_width_does_not_matter(struct job *all, int passes)
{
	static const char *const isa[] = {"base", "avx2", "avx512"};

	setenv("KP_ISA", isa[0], 1);
	job_start(all);
	job_passes(all, passes);
	for (size_t n = 1; n <= all->n; n++) {
		size_t first = all->n - n < 3 ? all->n - n : 3;
		struct job some = *all;

		setenv("KP_ISA", isa[n % 3], 1);
		some.n = n;
		for (size_t i = 0; i < n; i++)
			some.config[i] = all->config[first + i];
		job_start(&some);
		job_passes(&some, passes);
		for (size_t i = 0; i < n; i++)
			CHECK(job_same(&some, i, all, first + i, SAVE_STATE));
		job_end(&some);
	}
	unsetenv("KP_ISA");
	job_end(all);
}

/* After every update the lanes move into a new pack, in reverse order. */
static inline void
job_state_goes_on(struct job *a)
{
	struct strbuf sb = STRBUF_INIT, back = STRBUF_INIT;
	struct job b = *a;
	size_t n = a->n;
	bool reversed = false;

	job_run(a);
	job_start(&b);
	while (job_pass(&b)) {
		struct config c[PACK_LANES_MAX];
		struct pack *p;

		memcpy(c, b.config, sizeof c);
		for (size_t i = 0; i < n; i++)
			b.config[i] = c[n - 1 - i];
		p = job_pack(&b);
		for (size_t i = 0; i < n; i++) {
			job_save(&b, i, SAVE_STATE, &sb);
			CHECK_INT(
			    b.ops->load_state(p, n - 1 - i, sb.buf, sb.len), 0);
			strbuf_reset(&back);
			b.ops->save(p, n - 1 - i, SAVE_STATE, &back);
			CHECK_INT(back.len, sb.len);
			CHECK_MEM(back.buf, sb.buf, sb.len);
		}
		b.ops->free(b.pack[0]);
		b.pack[0] = p;
		reversed = !reversed;
	}
	for (size_t i = 0; i < n; i++)
		CHECK(job_same(a, i, &b, reversed ? n - 1 - i : i, SAVE_STATE));
	for (size_t cut = 0; cut < sb.len; cut += 11)
		CHECK_INT(b.ops->load_state(b.pack[0], 0, sb.buf, cut), -1);
	strbuf_release(&sb);
	strbuf_release(&back);
	job_end(a);
	job_end(&b);
}

#endif
