#include "model/softmax_batch_kernel.h"
#include "model/softmax_kernel.h"

struct softmax_shape
softmax_shape_of(size_t nclass, size_t lanes)
{
	size_t width = lanes <= 1 ? 1 : (lanes + 3) / 4 * 4;
	size_t cells = nclass * width;

	return (struct softmax_shape){
	    .nclass = nclass,
	    .width = width,
	    .stride = (cells + SOFTMAX_LINE - 1) / SOFTMAX_LINE * SOFTMAX_LINE,
	};
}

struct softmax_batch_shape
softmax_batch_shape_of(size_t nclass, size_t lanes)
{
	size_t width = lanes <= 1 ? 1 : (lanes + 3) / 4 * 4;

	return (struct softmax_batch_shape){
	    .nclass = nclass,
	    .width = width,
	    .stride = (nclass * width + 7) / 8 * 8,
	};
}

void
softmax_gather(struct softmax_shape s, const double *z, size_t lane, size_t n,
	       double *out)
{
	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < s.nclass; c++)
			out[i * s.nclass + c] =
			    z[i * s.stride + c * s.width + lane];
}

void
softmax_rescale(const struct softmax_learn *s, size_t d, size_t lane, double f)
{
	float scale = (float)(s->scale[lane] * f);

	for (size_t j = 0; j < d; j++) {
		float *w = s->w + j * s->stride + lane, by = 0;

		if (s->last) {
			double *last = s->last + j * s->width + lane;

			by = (float)(s->shrunk[lane] - *last);
			*last = 0;
		}
		for (size_t c = 0; c < s->nclass; c++, w += s->width)
			*w = softmax_soften(*w, by) * scale;
	}
	s->scale[lane] = 1;
	s->shrunk[lane] = 0;
}
