#ifndef KP_EXEC_TRIALFILE_H
#define KP_EXEC_TRIALFILE_H

/*
 * trialfile - trial records as JSON lines, while they happen (kp-train(1),
 * Trial records).
 */

#include "data/dataset.h"
#include "exec/journal.h"

struct trialfile;

/* "-" is standard output.  A file is added to; nothing is lost by opening. */
struct trialfile *trialfile_open(const char *path, struct error *err);
/* A file loses what it holds; for a new run. */
int trialfile_empty(struct trialfile *f, struct error *err);
/* A file loses what follows its last newline, the torn record of a crash; for a
 * run that goes on. */
int trialfile_mend(struct trialfile *f, struct error *err);
/* The index, of the dataset that groups are numbered in, gives their keys; by
 * is the metric of t. */
void trialfile_step(struct trialfile *f, const struct index *ix,
		    enum metric_kind by, const struct trial *t);
void trialfile_done(struct trialfile *f, const struct index *ix,
		    const struct trial_done *d);
void trialfile_flush(struct trialfile *f);
/* Frees f (NULL is legal); an error if any of its writes failed. */
int trialfile_close(struct trialfile *f, struct error *err);

#endif
