#ifndef KP_SHUFFLE_DATAROWS_H
#define KP_SHUFFLE_DATAROWS_H

/* datarows - the row source of what is selected of a dataset: blocks in stored
 * order, features as the schema has them, categories by their text (or hash).
 * The feature of a libsvm dataset gives sparse rows. */

#include "shuffle/dataselect.h"
#include "shuffle/rowsource.h"

/* sel and its dataset stay the caller's. */
struct rowsource *datarows_new(const struct dataselect *sel);

#endif
