#ifndef KP_BASE_MEDIAN_H
#define KP_BASE_MEDIAN_H

/* median - the one of an array of numbers. */

#include <stddef.h>

/* Of n >= 1 numbers, none NaN, which it sorts; of an even n, the upper of the
 * two in the middle. */
double median(double *v, size_t n);

#endif
