#ifndef KP_BASE_PROGRESS_H
#define KP_BASE_PROGRESS_H

/*
 * progress - done/total, rate, ETA on stderr: one line redrawn when stderr is
 * a terminal, a plain line every 30 seconds otherwise, nothing under -q.
 */

#include <stdint.h>

struct progress;
/* NULL under -q. */
struct progress *progress_new(const char *what, uint64_t total);
/* p may be NULL.  note: the tail of the line ("best 0.4711"), or NULL. */
void progress_update(struct progress *p, uint64_t done, const char *note);
/* Clears the line and frees; NULL is legal. */
void progress_free(struct progress *p);

#endif
