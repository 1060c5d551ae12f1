/* Any bytes as a plan, and as a partition: refused or, written and read again,
 * the same. */

#include <stdlib.h>
#include <string.h>
#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
plan_text(const struct plan *p, struct strbuf *text)
{
	struct jout j;

	jout_begin(&j, text, 1);
	plan_json(p, &j);
}

static void
partition_text(const struct partition *pt, struct strbuf *text)
{
	struct jout j;

	jout_begin(&j, text, 1);
	partition_json(pt, &j);
}

static void
as_plan(const char *bytes, size_t n)
{
	struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
	struct error err;
	struct plan p;

	if (plan_load_bytes(&p, bytes, n, "fuzz", &err) < 0)
		return;
	plan_text(&p, &first);
	plan_release(&p);
	if (plan_load_bytes(&p, first.buf, first.len, "fuzz", &err) < 0)
		abort();
	plan_text(&p, &second);
	plan_release(&p);
	if (strcmp(first.buf, second.buf) != 0)
		abort();
	strbuf_release(&first);
	strbuf_release(&second);
}

static void
as_partition(const char *bytes, size_t n)
{
	struct jvalue *v;
	struct strbuf text = STRBUF_INIT;
	struct error err;
	struct partition pt;

	v = jsonio_parse(bytes, n, "fuzz", &err);
	if (v && partition_load(&pt, v, &err) == 0) {
		partition_text(&pt, &text);
		partition_release(&pt);
	}
	jsonio_free(v);
	strbuf_release(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_plan((const char *)data, size);
	as_partition((const char *)data, size);
	return 0;
}
