#ifndef KP_BASE_REALTEXT_H
#define KP_BASE_REALTEXT_H

/*
 * realtext - doubles to decimal, quickly, for columns of predictions.
 *
 * The text is that of printf("%.Ng"), N being the least of 15, 16 and 17 with
 * which it reads back as the same double.  In the range where that is plain
 * notation it is found with exact integers of 128 bits, without printf and
 * strtod; jout_real_text() uses both ways.
 */

#include <stdbool.h>
#include <stdint.h>

/* Writes v to text if 1e-4 <= |v| < 1e15; false, and nothing, otherwise. */
bool realtext_plain(double v, char text[32]);

/* A whole number.  Returns text. */
char *realtext_whole(uint32_t v, char text[12]);

/* A float, of least length: whole numbers below 2^24 as they are, others with
 * the least of 6 to 9 digits that surely reads back as v.  Returns text. */
char *realtext_float(float v, char text[32]);

#endif
