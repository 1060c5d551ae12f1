#ifndef KP_DATA_SUMMARY_H
#define KP_DATA_SUMMARY_H

/* summary - what kp-featurize says when it is done. */

#include "base/strbuf.h"
#include "data/featurize.h"

/* Appends lines for people to sb. */
void summary_text(const struct schema *s, const struct featurize_report *r,
		  const char *output, struct strbuf *sb);
/* Appends a line of JSON (kp-featurize(1), SUMMARY): nothing in it depends on
 * the time it took, memory or the machine. */
void summary_json(const struct schema *s, const struct featurize_report *r,
		  const char *output, struct strbuf *sb);

#endif
