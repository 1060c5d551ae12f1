#ifndef KP_EXEC_RESUME_H
#define KP_EXEC_RESUME_H

/*
 * resume - what the journals of a run say of the models one worker owns: which
 * configs are finished, and the furthest state of those that are not.
 */

#include "exec/journal.h"
#include "exec/rung.h"

struct resume;

struct resume_spec {
	const char *run;
	uint64_t plan_identity;
	size_t ngroup, nconfig;
	/* Whether a config of a group is this worker's; NULL: all are. */
	bool (*owns)(const void *ctx, uint32_t group, uint32_t config);
	const void *ctx;
	struct rungs *rungs; /* is told of finished configs; may be NULL */
};
struct resume *resume_read(const struct resume_spec *spec, struct error *err);
void resume_free(struct resume *r); /* NULL is legal */
bool resume_done(const struct resume *r, uint32_t group, uint32_t config);
/* NULL if there is none; its bytes are r's. */
const struct trial_state *resume_state(const struct resume *r, uint32_t group,
				       uint32_t config);

#endif
