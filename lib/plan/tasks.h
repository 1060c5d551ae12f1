#ifndef KP_PLAN_TASKS_H
#define KP_PLAN_TASKS_H

/*
 * tasks - which worker does which (group, pack) under mtp: list scheduling
 * (Graham 1966) by rows alone, in integers, so that every worker finds the
 * same answer without a word.
 *
 * Tasks come in order of (group, pack); each goes to the worker that is free
 * first, ties to the lower one.
 */

#include <stddef.h>
#include <stdint.h>

/* rows[i]: what a task of group i takes; 0 for a group that is not trained.
 * The worker of task (i, k) at [i * npack + k]; the caller frees. */
uint32_t *tasks_assign(const uint64_t *rows, size_t ngroup, size_t npack,
		       uint32_t workers);

#endif
