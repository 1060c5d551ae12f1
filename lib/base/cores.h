#ifndef KP_BASE_CORES_H
#define KP_BASE_CORES_H

/* cores - how many of them this process may use: its affinity, at least 1. */

#include <stddef.h>

size_t cores_usable(void);

#endif
