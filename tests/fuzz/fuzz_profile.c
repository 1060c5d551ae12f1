/* Any bytes as a profile: refused or, written and read again, the same. */

#include <stdlib.h>
#include <string.h>
#include "plan/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
load(struct profile *p, const char *bytes, size_t n)
{
	struct error err;
	struct jvalue *v = jsonio_parse(bytes, n, "fuzz", &err);
	int ret = v ? profile_load(p, v, &err) : -1;

	jsonio_free(v);
	return ret;
}

/* Releases p. */
static void
text_of(struct profile *p, struct strbuf *text)
{
	struct jout j;

	jout_begin(&j, text, 1);
	profile_json(p, &j);
	profile_release(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
	struct profile p;

	if (load(&p, (const char *)data, size) < 0)
		return 0;
	text_of(&p, &first);
	if (load(&p, first.buf, first.len) < 0)
		abort();
	text_of(&p, &second);
	if (strcmp(first.buf, second.buf) != 0)
		abort();
	strbuf_release(&first);
	strbuf_release(&second);
	return 0;
}
