#ifndef KP_BASE_CLOCK_H
#define KP_BASE_CLOCK_H

/* clock - seconds since some moment in the past, to be subtracted. */

/* On the monotonic clock. */
double clock_sec(void);
/* That this thread has computed. */
double cpu_sec(void);

#endif
