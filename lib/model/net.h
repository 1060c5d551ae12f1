#ifndef KP_MODEL_NET_H
#define KP_MODEL_NET_H

/*
 * net - a multi-layer perceptron: where its weights lie, how they start, and
 * loss and gradient of a mini-batch by matrix products (base/blas).
 *
 *	a0 = f(b0 + x W_in + the rows of W_slot that the row names)
 *	al = f(bl + a(l-1) W_l), one to three hidden layers in all
 *	z  = b + al W_out'
 *
 * x are the dense inputs; an input that is mostly zero (a category's value, a
 * sparse index) is a slot, a row of W_slot that is added, so that dictionaries
 * may be large.  All weights are one array of floats; rows of a matrix are
 * padded to 16 floats, and what pads is 0 and stays so.
 *
 *	logistic  log(1 + exp(z)) - y z, y 0 or 1
 *	squared   (z - y)^2 / 2
 *	softmax   log(sum_k exp(z_k)) - z_y, y 0 .. nout - 1
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"
#include "model/netbatch.h"

#define NET_HIDDEN_MAX 3
#define NET_WIDTH_MAX 4096
#define NET_PAD 16

enum net_activation { NET_RELU, NET_TANH };
enum net_loss { NET_LOGISTIC, NET_SQUARED, NET_SOFTMAX };

struct net_shape {
	enum net_activation activation;
	enum net_loss loss;
	size_t nnum, nslot; /* dense inputs, slots */
	size_t nhidden;	    /* layers, 1 to 3 */
	size_t width[NET_HIDDEN_MAX];
	size_t nout;
};

/* A matrix within the array of weights. */
struct net_matrix {
	size_t at, rows, cols, stride;
};

struct net {
	struct net_shape shape;
	struct net_matrix in;			  /* [nnum][width[0]] */
	struct net_matrix hidden[NET_HIDDEN_MAX]; /* from 1: [width[l - 1]]
						     [width[l]] */
	struct net_matrix out;			  /* [nout][width[last]] */
	struct net_matrix bias[NET_HIDDEN_MAX];	  /* [1][width[l]] */
	struct net_matrix out_bias;		  /* [1][nout] */
	struct net_matrix slot;			  /* [nslot][width[0]] */
	/* The array: matrices that are penalised, biases from `biases` on,
	 * rows of slots (penalised) from `dense` on. */
	size_t biases, dense, size;
	size_t z_stride; /* floats of a row of outputs */
};

struct net net_of(const struct net_shape *s);

/* How weights start: uniform with variance 2 / fan in (relu; He et al. 2015)
 * or 2 / (fan in + fan out) (tanh; Glorot and Bengio 2010); a pure function of
 * key, layer and place.  inputs stands for the fan in of the first layer: the
 * expected square of its input.  Biases are 0, those of the outputs
 * out_bias[nout]. */
void net_start(const struct net *net, uint64_t key, double inputs,
	       const double *out_bias, float *w);

/* The weights without what pads them, in and out: cursor bad if too few. */
void net_put(const struct net *net, const float *w, struct strbuf *sb);
void net_get(const struct net *net, struct cursor *c, float *w);
/* How many they are. */
uint64_t net_weights(const struct net *net);
/* Sum of the squares of what is penalised. */
double net_square(const struct net *net, const float *w);
bool net_is_finite(const struct net *net, const float *w);

/* What a mini-batch needs besides its rows; lanes can share one. */
struct net_space;
struct net_space *net_space_new(const struct net *net);
void net_space_free(struct net_space *s);

/* Gradient of share * sum_i weight_i loss_i over the rows of the batch, in the
 * array it returns, laid out as the weights and owned by s.  Rows of slots
 * that the batch does not name are 0.  *loss gets sum_i weight_i loss_i. */
float *net_gradient(struct net_space *s, const float *w,
		    const struct netbatch *b, double share, double *loss);
/* To be called after each net_gradient(), once the gradient is used. */
void net_clear(struct net_space *s, const struct netbatch *b);

/* Predictions of the rows of a batch, out[n][nout]: what follows from the
 * outputs (probabilities, or the value), or raw: the outputs.  The same bits
 * on every processor, whatever the batch. */
void net_predict(struct net_space *s, const float *w, const struct netbatch *b,
		 bool raw, double *out);

#endif
