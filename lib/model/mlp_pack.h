#ifndef KP_MODEL_MLP_PACK_H
#define KP_MODEL_MLP_PACK_H

/*
 * mlp_pack - the pack of the learner mlp: the slots of learner.h.  Lanes take
 * turns on each mini-batch, which is gathered once; products as wide as the
 * pack would be slower, as activations of all lanes leave the cache.
 */

#include "model/learner.h"

struct pack *mlp_pack_new(const struct pack_spec *spec, struct error *err);
void mlp_pack_free(struct pack *p);
size_t mlp_pack_width(const struct pack *p);
void mlp_pack_repack(struct pack *p, const bool *keep);
size_t mlp_pack_batch(const struct pack *p);
void mlp_pack_step(struct pack *p, const struct rows *r, const uint32_t *order,
		   size_t n, double *pred);
void mlp_pack_end_epoch(struct pack *p, struct lane_report *report);
struct partial *mlp_pack_partial(const struct pack *p);
void mlp_pack_gradient(struct pack *p, const struct rows *r,
		       const uint32_t *order, size_t n, struct partial *t);
void mlp_pack_apply(struct pack *p, struct partial *t);
void mlp_pack_evaluate(const struct pack *p, const struct rows *r,
		       struct metric *const *metric);
void mlp_pack_save(const struct pack *p, size_t lane, enum save_what what,
		   struct strbuf *sb);
int mlp_pack_load_state(struct pack *p, size_t lane, const void *b, size_t n);

#endif
