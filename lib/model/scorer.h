#ifndef KP_MODEL_SCORER_H
#define KP_MODEL_SCORER_H

/*
 * scorer - predictions of a bundle's models for rows as they come.
 *
 * Rows are gathered in a batch, whatever their groups; then each model that
 * the batch needs predicts all its rows in one call, and answers are given in
 * the order of the rows.  Models are read when first needed and kept within a
 * bound of memory, the least recently used leaving first.
 *
 * Knows nothing of files, splits or output.
 */

#include "data/rowparse.h"
#include "model/bundle.h"

enum answer { ANSWER_GROUP, ANSWER_PRIOR };

struct scorer;

/* At most batch_rows rows in a batch; models held take about memory_bytes (at
 * least those of one batch). */
struct scorer *scorer_new(struct bundle *b, uint32_t batch_rows,
			  uint64_t memory_bytes);
void scorer_free(struct scorer *s); /* NULL is legal */

/* Facts of group i of the bundle, read if need be: valid until the next call
 * of scorer_clear(). */
const struct group_facts *scorer_facts(struct scorer *s, size_t i,
				       struct error *err);
/* Whether the batch must be predicted and cleared before this row. */
bool scorer_full(const struct scorer *s, const struct typed_row *row);
/* Adds a row of group `ordinal`, -1: of a group the bundle lacks.  The row is
 * copied. */
int scorer_add(struct scorer *s, int64_t ordinal, const struct typed_row *row,
	       struct error *err);
uint32_t scorer_rows(const struct scorer *s);
/* Rows so far, of all batches, for whose model some category has a value that
 * its group did not have. */
uint64_t scorer_unseen(const struct scorer *s);
/* out[row][outputs]: the answers for all rows of the batch, raw: before the
 * link (a constant answer: its logit, or log of each class probability, with
 * probabilities kept 1e-15 away from 0 and 1). */
void scorer_predict(struct scorer *s, bool raw, double *out);
/* Who answered row r of the batch. */
enum answer scorer_answer(const struct scorer *s, uint32_t r);
/* The quantile that this answer is for, NaN: none (learner_tau()). */
double scorer_tau(const struct scorer *s, uint32_t r);
/* Empties the batch; models over the bound of memory leave. */
void scorer_clear(struct scorer *s);

#endif
