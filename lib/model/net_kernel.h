#ifndef KP_MODEL_NET_KERNEL_H
#define KP_MODEL_NET_KERNEL_H

/*
 * net_kernel - the loops of net.c that are no matrix products, and its
 * predictions.  One source in portable vector code, compiled for several
 * instruction sets; all give the same bits.
 *
 * Rows of float matrices are aligned to 64 bytes and padded to 16 floats, but
 * for a single output, [n][1].
 */

#include "model/net.h"

/* Loss and its derivative of n rows of a batch from row `first` on. */
struct net_loss_job {
	enum net_loss loss;
	size_t n, nout, stride; /* of z and delta */
	float *z;		/* [n][stride]; up to a multiple of 8 rows are
				   written over */
	const double *label, *weight; /* [n], up to a multiple of 8 */
	double scale;		      /* of the derivative */
	float *delta;		      /* [n][stride] */
	double *scratch;	      /* [nout][8], aligned */
};

struct net_kernel {
	const char *isa;
	/* Each of the n rows of z becomes `row`. */
	void (*fill)(float *z, size_t n, size_t stride, const float *row);
	/* Adds the rows of w[][stride] that the entries name to the n rows of
	 * z; the other way round, for gradients. */
	void (*add_slots)(float *z, size_t stride, const struct netbatch *b,
			  size_t first, size_t n, const float *w);
	void (*give_slots)(const float *delta, size_t stride,
			   const struct netbatch *b, size_t first, size_t n,
			   float *g);
	void (*activate)(enum net_activation f, float *a, size_t n);
	/* delta, of the activations a, becomes that of what they are made
	 * from; its columns are added to sum[stride]. */
	void (*slope)(enum net_activation f, float *delta, const float *a,
		      size_t n, size_t stride, float *sum);
	/* For one output: z[n] = bias + a w, and back: delta = dz w', g +=
	 * dz' a. */
	void (*join)(const float *a, size_t n, size_t stride, const float *w,
		     float bias, float *z);
	void (*part)(const float *dz, const float *a, size_t n, size_t stride,
		     const float *w, float *delta, float *g);
	/* The columns of the n rows of delta are added to sum[stride]. */
	void (*sums)(const float *delta, size_t n, size_t stride, float *sum);
	/* Returns sum_i weight_i loss_i, whatever scale is. */
	double (*loss)(const struct net_loss_job *j);

	/* Outputs of the rows of a batch into z[n][z_stride] by fixed sums:
	 * bias, slots in their order, inputs in theirs.  Scratch has room for
	 * 2 NET_TILE rows of the widest layer. */
	void (*outputs)(const struct net *net, const float *w,
			const struct netbatch *b, float *scratch, float *z);
	/* Outputs to predictions; scratch as in struct net_loss_job. */
	void (*link)(const struct net *net, const float *z, size_t n, bool raw,
		     double *scratch, double *out);
};

#define NET_TILE 16 /* rows that are predicted at once */

const struct net_kernel *net_kernel_choose(void);

extern const struct net_kernel net_kernel_base;
extern const struct net_kernel net_kernel_avx2;
extern const struct net_kernel net_kernel_avx512;

#endif
