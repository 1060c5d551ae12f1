#ifndef KP_DATA_DICTIONARY_H
#define KP_DATA_DICTIONARY_H

/*
 * dictionary - the values one feature has in one group, being collected:
 * values get local numbers as they are met, and codes, which are positions by
 * (hash, bytes), when all have been.  Reset is cheap, so that one dictionary
 * serves all groups in turn.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "data/facts.h"
#include "data/intern.h"

struct dictionary_value {
	uint64_t hash; /* under hash_bits: the bits kept */
	const char *p;
	size_t n;
	uint64_t count; /* training rows */
	uint32_t local;
};

/* Of an interned value. */
struct dictionary_slot {
	uint32_t round; /* in which it was met last */
	uint32_t local;
};

struct dictionary {
	const struct intern *values; /* of all groups */
	const struct schema_feature *feature;
	uint32_t hash_bits; /* 0: by values */
	uint64_t hash_mask;
	uint32_t round;		      /* of the group */
	struct dictionary_slot *slot; /* [values->nentry] */
	struct intern rare;	      /* values of this group not in `values` */
	uint32_t *rare_local;
	size_t rare_cap;
	struct dictionary_value *value; /* by local, then by code */
	size_t nvalue, cap;
	uint32_t *code; /* [nvalue] by local, once sorted */
	size_t code_cap;
};

/* For feature i.  values must have all its entries by now. */
void dictionary_init(struct dictionary *d, const struct intern *values,
		     const struct schema *s, size_t i);
void dictionary_release(struct dictionary *d);
void dictionary_reset(struct dictionary *d);

/* Local number of an interned value (by its number), of bytes. */
uint32_t dictionary_new_local(struct dictionary *d, uint32_t number);
static inline uint32_t
dictionary_local(struct dictionary *d, uint32_t number)
{
	const struct dictionary_slot *slot = &d->slot[number];

	return slot->round == d->round ? slot->local
				       : dictionary_new_local(d, number);
}
/* The code of an interned value the group has, once there are codes. */
static inline uint32_t
dictionary_code(const struct dictionary *d, uint32_t number)
{
	return d->code[d->slot[number].local];
}
uint32_t dictionary_local_bytes(struct dictionary *d, const char *p, size_t n);

/* What became of values. */
struct value_tally {
	uint64_t values;   /* different ones */
	uint64_t buckets;  /* under hash_bits: different hashes of them */
	uint64_t collided; /* ... values that share theirs with another */
	uint64_t expected; /* ... buckets, were hashes random; in 1024ths, so
			      that the order of groups does not matter */
	uint64_t kept;	   /* values, or hashes, kept under the limits */
	uint64_t rows, other_rows; /* training rows with a value; not kept */
};

/* Orders the values and fills f's dictionary from the arena.  Values that
 * share a hash under hash_bits become one, and those beyond the limits too.
 * Adds to t what did. */
void dictionary_finish(struct dictionary *d, struct feature_facts *f,
		       struct arena *a, struct value_tally *t);

/* The same for the indices of sparse rows, with their moments. */
struct sparse_value {
	uint32_t index, local;
	uint64_t count; /* training rows with an entry */
	double mean, m2, min, max;
};

struct sparse_slot {
	uint32_t index, round, local;
};

struct sparse_dictionary {
	uint32_t round;
	struct sparse_slot *slot;
	size_t nslot;
	struct sparse_value *value;
	size_t nvalue, cap;
};

void sparse_release(struct sparse_dictionary *d);
void sparse_reset(struct sparse_dictionary *d);
/* Takes an entry into account; only training rows are counted. */
void sparse_add(struct sparse_dictionary *d, uint32_t index, double v,
		bool train);
/* Moments over train_rows rows, absent being zero. */
void sparse_finish(struct sparse_dictionary *d, struct feature_facts *f,
		   uint64_t train_rows, struct arena *a);

#endif
