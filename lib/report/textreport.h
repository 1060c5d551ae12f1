#ifndef KP_REPORT_TEXTREPORT_H
#define KP_REPORT_TEXTREPORT_H

/*
 * textreport - a run on one page of plain text: groups by status, configs and
 * how often each was selected, how much better than the prior the models are,
 * which groups are best and worst, and how busy the workers were
 * (kp-report(1)).
 */

#include "exec/results.h"

/* The whole text, appended to out.  Reads the journal again, and the hold-out
 * rows of every group. */
int textreport(struct results *r, const char *run, struct strbuf *out,
	       struct error *err);

#endif
