#ifndef KP_PLAN_PARTITION_H
#define KP_PLAN_PARTITION_H

/*
 * partition - which worker holds which rows (kp-plan(5)).
 *
 * Wrap-around (strategy "gl"): groups in order of ordinal; worker k of p
 * (from 0) holds the rows [floor(k n / p), floor((k + 1) n / p)) of that
 * order, n being all rows, all splits together; a group's overflow goes to
 * the next worker.  So a group is held by consecutive workers, no shard is
 * empty, and there are at most g + p - 1 shards (McNaughton 1959; Kingpin
 * algorithm 1 with exact capacities).  A cut falls on any row.  With more
 * workers than rows the first n hold one row each and the rest none, so that
 * holders stay consecutive there too.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/jsonio.h"
#include "data/dataset.h"

#define WORKERS_MAX 4096

struct cut {
	uint32_t group; /* ordinal; ngroup at the very end */
	uint64_t row;	/* position in the group */
};

struct partition {
	char *data;	      /* absolute path of the dataset */
	uint64_t fingerprint; /* of the dataset */
	uint32_t workers;     /* p >= 1 */
	uint64_t rows, groups;
	struct cut *cut;     /* [p + 1], ascending */
	uint64_t assignment; /* hash of the resulting shard list */
};

/* Rows [first, end) of a group on a worker. */
struct shard {
	uint32_t group, worker;
	uint64_t first, end;
};

/* rows[i]: rows of group i; p may exceed groups or rows. */
void partition_wrap(struct partition *pt, const uint64_t *rows, size_t ngroup,
		    uint32_t workers);
void partition_release(struct partition *pt);

/* The shards of worker w in order of group: calls f for each non-empty one;
 * stops at and returns the first non-zero. */
int partition_shards(const struct partition *pt, const uint64_t *rows,
		     uint32_t w, int (*f)(void *ctx, const struct shard *s),
		     void *ctx);
/* First and last worker that hold rows of the group (equal: whole), and all
 * between them do. An empty group is on the worker its position falls to. */
void partition_holders(const struct partition *pt, const uint64_t *rows,
		       uint32_t group, uint32_t *first, uint32_t *last);
/* hash over (group, worker, first, end) of all shards in order. */
uint64_t partition_assignment(const struct partition *pt, const uint64_t *rows);

/* From a dataset; loads and saves kp-partition's JSON. load checks form;
 * partition_check() checks against the dataset: fingerprint and assignment
 * (EXIT_CORRUPT). */
int partition_of_dataset(struct partition *pt, const struct dataset *d,
			 uint32_t workers, struct error *err);
void partition_json(const struct partition *pt, struct jout *j);
int partition_load(struct partition *pt, const struct jvalue *v,
		   struct error *err);
int partition_check(const struct partition *pt, const struct dataset *d,
		    struct error *err);
/* Rows of every group as an array for the calls above; the caller frees. */
uint64_t *partition_rows(const struct index *ix);

#endif
