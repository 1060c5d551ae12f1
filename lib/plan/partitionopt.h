#ifndef KP_PLAN_PARTITIONOPT_H
#define KP_PLAN_PARTITIONOPT_H

/*
 * partitionopt - the options that choose a strategy, shared by kp-partition
 * and by kp-train on a dataset, as planopt.h has those of a plan.
 *
 *	struct partition_options qo = PARTITION_OPTIONS_DEFAULT;
 *	const struct opt opts[] = {
 *	    ...
 *	    PARTITION_OPTIONS_TABLE(qo, ""),
 *	    {0},
 *	};
 */

#include "base/opt.h"
#include "base/strbuf.h"
#include "plan/partition.h"

struct partition_options { /* NULL: not given */
	const char *strategy;
	const char *order;
	const char *capacity;
	const char *isolate;
	int64_t group_rows; /* -1: not given */
	bool knows_auto;    /* the program does, and never passes it on: for
			       messages */
};
#define PARTITION_OPTIONS_DEFAULT                                              \
	{                                                                      \
		.group_rows = -1                                               \
	}

/* Rows of an option table that fill the struct partition_options named qo; put
 * a comma behind.  more: other strategies that the program has, ", auto" or
 * "". */
/* clang-format off */
#define PARTITION_OPTIONS_TABLE(qo, more)                                      \
	{"strategy", 0, OPT_STRING, &(qo).strategy, "NAME",                    \
	 "gl (default), gl-constrained, gtp, mtp, dp, sp, mop" more, 0, 0},    \
	{"order", 0, OPT_STRING, &(qo).order, "HOW",                           \
	 "gtp, sp: hand out whole groups as they come, fifo (default), "       \
	 "or by falling size, lpt", 0, 0},                                     \
	{"capacity", 0, OPT_STRING, &(qo).capacity, "HOW",                     \
	 "gl: rows of a worker: exact (default), an even share, or "           \
	 "paper, at least the largest group", 0, 0},                           \
	{"isolate", 0, OPT_STRING, &(qo).isolate, "WHAT",                      \
	 "gl, gl-constrained, mop: none (default), or group, one pack of "     \
	 "a group at a time", 0, 0},                                           \
	{"group-rows", 0, OPT_INT, &(qo).group_rows, "N",                      \
	 "gl: a group counts for so many rows besides its own", 0,             \
	 GROUP_ROWS_MAX}
/* clang-format on */

/* EXIT_USAGE if they make no sense. */
int partition_options_spec(const struct partition_options *o, uint32_t workers,
			   struct partition_spec *spec, struct error *err);
/* One that was given, "--order"; NULL if there is none. */
const char *partition_options_given(const struct partition_options *o);
/* " --strategy NAME ...", what is not by default after it, as words of
 * sh(1). */
void partition_options_words(const struct partition_spec *spec,
			     struct strbuf *sb);

#endif
