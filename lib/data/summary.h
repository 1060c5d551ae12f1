#ifndef KP_DATA_SUMMARY_H
#define KP_DATA_SUMMARY_H

/* summary - what kp-featurize says when it is done, for people. */

#include "base/strbuf.h"
#include "data/featurize.h"

/* Appends the lines to sb. */
void summary_text(const struct schema *s, const struct featurize_report *r,
		  const char *output, struct strbuf *sb);

#endif
