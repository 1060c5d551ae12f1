#ifndef KP_DATA_MANIFEST_H
#define KP_DATA_MANIFEST_H

/*
 * manifest - the file manifest.json of a dataset: schema, totals, fingerprint
 * and the number of block files; the names of files follow from that, so that
 * no manifest can point elsewhere.  It says nothing of time, host or path.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "data/dataset.h"

/* The least that tells all there is, so that older programs read it: 2 without
 * rows, 3 with or without, where the schema is not plain. */
#define DATASET_VERSION 1
#define DATASET_VERSION_WITHOUT_ROWS 2
#define DATASET_VERSION_FEATURES 3
#define MANIFEST_FILE "manifest.json"
#define INDEX_FILE "index.kpi"
#define GROUPS_FILE "groups.kpg"

struct manifest {
	uint64_t fingerprint;
	bool without_rows;
	/* index_fingerprint(); `fingerprint` is the same if there are rows */
	uint64_t index_fingerprint;
	struct dataset_totals totals;
	struct schema schema;
	size_t nfile; /* block files, see manifest_block_file() */
};

/* The text of the file, with a newline at its end. */
void manifest_put(const struct manifest *m, struct strbuf *sb);
/* Checks everything; the caller releases m->schema.  On
 * failure (EXIT_CORRUPT) m is empty. */
int manifest_get(struct manifest *m, const char *p, size_t n,
		 struct error *err);

/* Appends the name of block file i: "blocks-00000.kpb". */
void manifest_block_file(uint32_t i, struct strbuf *sb);

#endif
