#ifndef KP_DATA_DATASETPART_H
#define KP_DATA_DATASETPART_H

/* datasetpart - what is in a struct dataset_part of dataset.h, for the writer
 * alone. */

#include "data/dataset.h"

struct part_group {
	struct index_group entry; /* rows, flags, key_bytes, facts_bytes,
				     checksum */
	uint32_t ordinal;
	size_t frame_at, key_at; /* in frames, keys */
	size_t nblock_before;	 /* blocks of the part */
};

struct part_block {
	struct index_block entry; /* bytes, group, first_row, nrow, content */
	uint64_t entries;
	size_t frame_at;
};

struct dataset_part {
	struct part_group *group;
	struct part_block *block;
	size_t ngroup, group_cap, nblock, block_cap;
	struct strbuf frames, keys, payload;
};

#endif
