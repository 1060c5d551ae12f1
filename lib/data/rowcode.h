#ifndef KP_DATA_ROWCODE_H
#define KP_DATA_ROWCODE_H

/*
 * rowcode - typed rows as bytes, for as long as featurize has to keep them.
 * No file format: host byte order, in memory and unlinked temporaries only.
 *
 * A row is its length (u32, itself included; at least ROW_MIN_BYTES), the split
 * byte, the label (double; a byte where it is one of few classes known before
 * the first row), the weight and time where the schema has them, a cell for
 *each feature, then the bytes of values that are not interned, in feature
 *order:
 *
 *	FEATURE_F32       float, NaN if missing
 *	FEATURE_F64       double, NaN if missing
 *	FEATURE_CATEGORY  u32 number of the interned value, or CELL_INLINE
 *	                  (u32 length and bytes at the end of the row), or
 *	                  CELL_MISSING
 *	  of a datetime   one byte, PART_MISSING if missing
 *	FEATURE_SPARSE    u32 count, then at the end of the row count u32
 *	                  indices and count doubles
 *
 * Category values are interned, a table for each feature, until the tables
 * hold limit_bytes; values new after that are kept inline.  So a distinct
 * value is always interned or always inline.
 *
 * Several threads encode at once, each with a rowcode of its own that shares
 * the tables of one, on which only rowcode_init() and _release() are called.
 * Numbers then depend on who came first; nothing that is stored does.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "data/intern.h"
#include "data/rowparse.h"
#include "data/schema.h"
#include "data/valuecache.h"

#define CELL_MISSING 0xffffffffu
#define CELL_INLINE 0xfffffffeu
#define PART_VALUES 24 /* texts "0".."23", interned in order */
#define PART_MISSING PART_VALUES

#define ROW_SPLIT_AT 4
#define ROW_LABEL_AT 5
#define ROW_MIN_BYTES 16

enum cell { CELL_F32, CELL_F64, CELL_CATEGORY, CELL_PART, CELL_SPARSE };

struct rowcode {
	const struct schema *s;
	struct rowcode *tables; /* whose values these are; NULL: its own */
	bool label_byte;
	size_t weight_at, time_at; /* 0: none */
	size_t *cell_at;	   /* [nfeature] */
	enum cell *cell;	   /* [nfeature] */
	size_t fixed_bytes;
	struct strbuf row; /* the row encoded last */

	/* Of one that shares: */
	struct valuecache *cache; /* [nfeature] */

	/* Of the one shared: */
	pthread_mutex_t lock;  /* while values are added */
	atomic_bool full;      /* no value is added any more */
	struct intern *values; /* [nfeature] of categories */
	size_t *values_bytes;  /* [nfeature] as counted last */
	size_t interned_bytes, limit_bytes;
};

void rowcode_init(struct rowcode *rc, const struct schema *s,
		  size_t limit_bytes);
/* Encodes rows for the same schema by the tables of another. */
void rowcode_init_shared(struct rowcode *rc, struct rowcode *tables);
void rowcode_release(struct rowcode *rc);

/* Encodes into rc->row; label is what to keep as the row's label.  -1 if the
 * row would be longer than 2 GB. */
int rowcode_put(struct rowcode *rc, const struct typed_row *row, double label,
		struct error *err);

/* The cell of a value of category i that is not missing: its number, or
 * CELL_INLINE. */
uint32_t rowcode_number(struct rowcode *rc, size_t i,
			const struct typed_value *v);

static inline uint32_t
row_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline double
row_f64(const uint8_t *p)
{
	double v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline double
row_label(const struct rowcode *rc, const uint8_t *row)
{
	return rc->label_byte ? row[ROW_LABEL_AT] : row_f64(row + ROW_LABEL_AT);
}

static inline void
row_set_label(const struct rowcode *rc, char *row, double label)
{
	if (rc->label_byte)
		row[ROW_LABEL_AT] = (char)(unsigned char)label;
	else
		memcpy(row + ROW_LABEL_AT, &label, sizeof(label));
}

static inline float
row_f32(const uint8_t *p)
{
	float v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#endif
