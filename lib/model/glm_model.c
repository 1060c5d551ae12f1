#include "model/glm_model.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "model/glm_coefficients.h"

#define MODEL_VERSION 1
#define BATCH_ROWS 128

struct model {
	enum loss kind;
	const struct view *view;
	const struct glm_kernel *kernel;
	double *w; /* [d + 2] */
};

/* --- bytes --- */

void
glm_model_put(const struct view *v, enum loss kind, const double *x,
	      struct strbuf *sb)
{
	put_u8(sb, MODEL_VERSION);
	put_u8(sb, (uint8_t)kind);
	put_u8(sb, v->standardize);
	put_u8(sb, v->intercept);
	put_u32(sb, v->d);
	put_f64s(sb, x, (size_t)v->d + v->intercept);
}

int
glm_model_get(const struct view *v, enum loss kind, struct cursor *c, double *x)
{
	if (get_u8(c) != MODEL_VERSION || get_u8(c) != kind ||
	    get_u8(c) != v->standardize || get_u8(c) != v->intercept ||
	    get_u32(c) != v->d)
		return -1;
	get_f64s(c, x, (size_t)v->d + v->intercept);
	return cursor_ok(c) ? 0 : -1;
}

struct model *
glm_model_load(const struct view *v, enum loss kind, struct cursor c,
	       struct error *err)
{
	struct model *m = xcalloc(1, sizeof *m);

	m->kind = kind;
	m->view = v;
	m->kernel = glm_kernel_choose();
	m->w = xaligned((size_t)v->d + 2, sizeof *m->w);
	if (glm_model_get(v, kind, &c, m->w) == 0 && cursor_done(&c))
		return m;
	glm_model_free(m);
	error_set(err, EXIT_CORRUPT, "model does not fit its group's facts");
	return NULL;
}

void
glm_model_free(struct model *m)
{
	if (!m)
		return;
	free(m->w);
	free(m);
}

/* --- scores --- */

void
glm_lane_means(const struct glm_weights *w, const double *z, size_t lane,
	       size_t n, double *mean)
{
	for (size_t k = 0; k < n; k++)
		mean[k] = z[k * w->width + lane];
	w->kernel->mean(w->kind, mean, n);
}

void
glm_evaluate(const struct glm_weights *w, const struct rows *r,
	     struct metric *const *metric)
{
	double z[BATCH_ROWS * PACK_LANES_MAX] __attribute__((aligned(64)));
	double mean[BATCH_ROWS] __attribute__((aligned(64))) = {0};

	for (size_t first = 0; first < r->n; first += BATCH_ROWS) {
		size_t n = r->n - first;

		if (n > BATCH_ROWS)
			n = BATCH_ROWS;
		w->kernel->margins(r, w->w, w->width, first, n, z);
		for (size_t i = 0; i < w->lanes; i++) {
			if (!metric[i])
				continue;
			glm_lane_means(w, z, i, n, mean);
			metric_add_many(metric[i], r->label + first,
					r->weight + first, mean, n);
		}
	}
}

void
glm_predict(const struct model *m, const struct rows *r, bool raw, double *out)
{
	double z[BATCH_ROWS] __attribute__((aligned(64))) = {0};

	for (size_t first = 0; first < r->n; first += BATCH_ROWS) {
		size_t n = r->n - first;

		if (n > BATCH_ROWS)
			n = BATCH_ROWS;
		m->kernel->margins(r, m->w, 1, first, n, z);
		if (!raw)
			m->kernel->mean(m->kind, z, n);
		memcpy(out + first, z, n * sizeof *z);
	}
}

struct coefficient *
glm_model_coefficients(const struct model *m, struct arena *a, size_t *n)
{
	return glm_coefficients(m->view, m->w, a, n);
}
