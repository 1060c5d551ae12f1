#ifndef KP_MODEL_BUNDLE_H
#define KP_MODEL_BUNDLE_H

/*
 * bundle - the file of selected models, *.kpm (kp-bundle(5)).
 *
 *	HEADER frame   JSON: schema, learner, space, prior, provenance
 *	MODEL frames   one per group, by ordinal: entry, facts, model bytes
 *	INDEX frame    size of every MODEL frame, and all keys, by ordinal
 *	trailer        where the INDEX frame is, checksum
 *
 * Frames lie without gaps, so every byte of the file is covered by a checksum.
 * A reader makes a hash table of the keys when it opens the file: looking up a
 * group is O(1), and a model is read only when it is asked for.
 *
 * Provenance holds what determines the bytes (data fingerprint, space, seed,
 * format), never time, host, path, workers or strategy; so equal training
 * gives equal bundles.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "data/facts.h"
#include "data/schema.h"
#include "model/learner.h"

enum { FRAME_BUNDLE = 32, FRAME_MODEL = 33, FRAME_BUNDLE_INDEX = 34 };

/* 2 where the schema is not plain, of which version 1 knows nothing; 3, of any
 * schema, where models have metrics of which both know nothing: those of
 * regression. */
#define BUNDLE_VERSION 1
#define BUNDLE_VERSION_FEATURES 2
#define BUNDLE_VERSION_METRICS 3
#define BUNDLE_REASON_MAX 48
#define BUNDLE_STATUS_COUNT 4 /* of exec's group_status */
#define BUNDLE_LEVEL_COUNT 5  /* of plan's selection_level */

struct bundle_entry {
	uint32_t status; /* exec's group_status, as number */
	uint32_t level;	 /* plan's selection_level, as number */
	char reason[BUNDLE_REASON_MAX];
	int32_t config; /* position in the bundle's configs, -1: none */
	uint32_t epoch;
	uint64_t rows, holdout_rows;
	double holdout_weight;
	double objective;
	double metric[METRIC_COUNT];
	/* Answer of a group without a model: probability of each class, or
	 * the value: [noutput] of the prior shrunk to the group's own rows. */
	double *fallback;
	const void *model; /* SAVE_MODEL bytes; 0 bytes: fallback */
	size_t model_bytes;
};

struct bundle_header {
	const struct schema *schema;
	const struct learner *learner;
	const struct config *config; /* [nconfig] the whole space, expanded */
	size_t nconfig;
	const char *space_json; /* written: plan's JSON object of the space,
				   with the array "configs"; read: NULL */
	enum metric_kind by;
	uint64_t data_fingerprint, seed;
	uint32_t epochs;
	uint64_t min_rows, min_holdout; /* of kp-plan, kp-select */
	const double *prior; /* [noutput]: answer for unseen groups */
};

/* --- writing, groups by ordinal --- */
struct bundle_writer;
/* h is borrowed until commit or drop. */
struct bundle_writer *bundle_writer_new(const char *path,
					const struct bundle_header *h,
					struct error *err);
int bundle_writer_add(struct bundle_writer *w, const struct group_facts *f,
		      const struct bundle_entry *e, struct error *err);
/* Whole or absent; an older file of the name stays until the rename.  Frees w
 * whatever happens. */
int bundle_writer_commit(struct bundle_writer *w, struct error *err);
void bundle_writer_drop(struct bundle_writer *w); /* NULL is legal */

/* --- reading --- */
struct bundle;
/* verify: check every frame now (else each on first use).  Damage is
 * EXIT_CORRUPT, one line naming the file. */
struct bundle *bundle_open(const char *path, bool verify, struct error *err);
void bundle_free(struct bundle *b); /* NULL is legal */
/* Whether the file at path starts like a bundle. */
bool bundle_is(const char *path);
const struct bundle_header *bundle_header_of(const struct bundle *b);
/* Values per prediction. */
size_t bundle_outputs(const struct bundle *b);
size_t bundle_groups(const struct bundle *b);
/* Ordinal of an encoded key, -1 if unknown. */
int64_t bundle_find(const struct bundle *b, const void *key, size_t key_bytes);
/* The encoded key of group i, borrowed. */
const char *bundle_key(const struct bundle *b, size_t i, size_t *key_bytes);
/* Reads group i: facts (released by the caller) and entry; entry->fallback
 * and ->model live in the facts' arena. */
int bundle_read(struct bundle *b, size_t i, struct group_facts *f,
		struct bundle_entry *e, struct error *err);

#endif
