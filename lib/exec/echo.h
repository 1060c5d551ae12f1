#ifndef KP_EXEC_ECHO_H
#define KP_EXEC_ECHO_H

/*
 * echo - how fast messages travel between two processes of this machine, over
 * a Unix socket pair as workers have it: messages to a child that answers.
 */

#include "base/error.h"

struct echo {
	double latency_sec;   /* a short message, one way; median */
	double bytes_per_sec; /* of messages of some megabytes; median */
	double message_sec;   /* what a worker computes to send or take one */
};

/* Forks a child, and waits for its end. */
int echo_measure(struct echo *e, struct error *err);

#endif
