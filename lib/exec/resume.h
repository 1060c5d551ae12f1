#ifndef KP_EXEC_RESUME_H
#define KP_EXEC_RESUME_H

/*
 * resume - what the journals of a run say of the groups one worker owns:
 * which configs are finished, and the furthest state of those that are not.
 */

#include "exec/journal.h"

struct resume;

/* owned[group]: true where this worker asks; borrowed. */
struct resume *resume_read(const char *run, uint64_t plan_identity,
			   const bool *owned, size_t ngroup, size_t nconfig,
			   struct error *err);
void resume_free(struct resume *r); /* NULL is legal */
bool resume_done(const struct resume *r, uint32_t group, uint32_t config);
/* NULL if there is none; its bytes are r's. */
const struct trial_state *resume_state(const struct resume *r, uint32_t group,
				       uint32_t config);

#endif
