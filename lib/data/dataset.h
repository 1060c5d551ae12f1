#ifndef KP_DATA_DATASET_H
#define KP_DATA_DATASET_H

/*
 * dataset - a folder holding the rows of all groups: manifest.json (schema,
 * totals, fingerprint), index (binary), groups (GROUP frames), and block
 * files (BLOCK frames).  See kp-dataset(5) and kp-block(5).  Written aside and
 * renamed: whole or absent.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "data/block.h"
#include "data/facts.h"
#include "data/schema.h"

enum {
	FRAME_HEADER = 1,
	FRAME_GROUP = 2,
	FRAME_BLOCK = 3,
	FRAME_EPOCH = 4,
	FRAME_PLACE = 5
};

struct index_group {
	uint64_t rows[PART_COUNT];
	uint64_t first_block; /* blocks of a group are consecutive */
	uint32_t nblock;
	uint32_t flags; /* INDEX_ALL_TRAIN, INDEX_ONE_CLASS */
	uint64_t facts_offset, facts_bytes; /* whole frame in `groups` */
	uint64_t entries;		    /* sparse entries, all rows */
	uint64_t checksum;		    /* of the GROUP frame */
	uint64_t key_offset;		    /* in index.keys */
	uint32_t key_bytes;
};
#define INDEX_ALL_TRAIN 1u
#define INDEX_ONE_CLASS 2u /* training rows hold fewer than two classes */
/* The flags of a group. */
uint32_t index_group_flags(const struct schema *s, const struct group_facts *f);

struct index_block {
	uint64_t offset, bytes; /* the whole frame */
	uint32_t file;		/* number of the block file */
	uint32_t group;
	uint64_t first_row; /* position in the group */
	uint64_t content;   /* block_content() */
	uint32_t nrow;
};

struct index {
	size_t ngroup, nblock;
	struct index_group *group;
	struct index_block *block;
	const char *keys;
	size_t keys_bytes;
};

static inline uint64_t
index_rows(const struct index_group *g)
{
	return g->rows[PART_TRAIN] + g->rows[PART_HOLDOUT] + g->rows[PART_TEST];
}

struct dataset_totals {
	uint64_t rows, rows_part[PART_COUNT];
	uint64_t groups, blocks;
	uint64_t left_out_label, left_out_weight, left_out_ragged;
	uint64_t bytes_in; /* of input text read */
	double label_mean; /* weighted, over all training rows */
	double weight_sum; /* over all training rows */
};

/* --- reading --- */

/* Not for use by several threads at once: open it once for each. */
struct dataset;

/* Loads manifest and index; EXIT_CORRUPT on damage, if one of its files is not
 * there, or if it has no rows; EXIT_CANNOT if there is no dataset at path. */
struct dataset *dataset_open(const char *path, struct error *err);
/* For a reader to whom schema, index and facts are enough: also a dataset
 * without rows, which has groups but no blocks. */
struct dataset *dataset_open_facts(const char *path, struct error *err);
void dataset_free(struct dataset *d);
const char *dataset_path(const struct dataset *d); /* absolute */
bool dataset_has_rows(const struct dataset *d);
const struct schema *dataset_schema(const struct dataset *d);
const struct index *dataset_index(const struct dataset *d);
const struct dataset_totals *dataset_totals(const struct dataset *d);
/* Hash of everything that decides a model's bytes: schema, facts, rows, order;
 * the same for the same content however LZ4 packed it. */
uint64_t dataset_fingerprint(const struct dataset *d);

/* Reads and checks the GROUP frame of a group; the caller releases f. */
int dataset_read_facts(struct dataset *d, size_t group, struct group_facts *f,
		       struct error *err);
/* Reads, checks and decodes block number `block` of the index into b.  One
 * that is damaged, or in a file that cannot be read, is EXIT_CORRUPT. */
int dataset_read_block(struct dataset *d, size_t block,
		       const struct group_facts *facts, struct block *b,
		       struct error *err);
/* Tells the system that this block will be read soon. */
void dataset_expect_block(struct dataset *d, size_t block);
/* Ordinal of the group with this encoded key, -1 if none: binary search. */
int64_t dataset_find_group(const struct dataset *d, const void *key,
			   size_t key_bytes);

/* --- writing: groups in ascending key order, each: facts, then blocks --- */

struct dataset_writer;

struct dataset_writer *dataset_writer_new(const char *path, struct error *err);
/* A block file is full at so many bytes (1 GB unless set). */
void dataset_writer_set_file_bytes(struct dataset_writer *w, uint64_t bytes);
/* Before the first group: there will be no blocks, since the rows, those of
 * the dataset of this fingerprint, came through a stream and are gone. */
void dataset_writer_without_rows(struct dataset_writer *w,
				 uint64_t fingerprint);
/* f->ordinal must be the number of groups begun before, its key above theirs,
 * and the group before must be whole. */
int dataset_writer_group(struct dataset_writer *w, const struct schema *s,
			 const struct group_facts *f, struct error *err);
/* Blocks of the group begun last, rows consecutive from 0. */
int dataset_writer_block(struct dataset_writer *w, const struct schema *s,
			 const struct block *b, struct error *err);

/* Groups and blocks as they will be in the files, made ready for the writer;
 * several threads may do that at once, each with a part of its own. */
struct dataset_part;

struct dataset_part *dataset_part_new(void);
void dataset_part_free(struct dataset_part *p); /* NULL is legal */
void dataset_part_reset(struct dataset_part *p); /* empty, memory kept */
void dataset_part_group(struct dataset_part *p, const struct schema *s,
			const struct group_facts *f);
/* A block of the part's last group; if it has none, of the writer's. */
void dataset_part_block(struct dataset_part *p, const struct schema *s,
			const struct block *b);
/* As dataset_writer_group() and dataset_writer_block() of what is in p. */
int dataset_writer_part(struct dataset_writer *w, const struct dataset_part *p,
			struct error *err);

/* Writes index and manifest, renames; frees w whatever happens.  rows, parts,
 * groups, blocks of totals are filled in here. */
int dataset_writer_commit(struct dataset_writer *w, const struct schema *s,
			  struct dataset_totals *totals, struct error *err);
void dataset_writer_drop(struct dataset_writer *w); /* NULL is legal */

#endif
