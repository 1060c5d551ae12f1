/* Any bytes as JSON, read by every kind of getter. */
#include "base/jsonio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_as_anything(const struct jvalue *v)
{
	static const char *const known[] = {"workers", "seed", NULL};
	struct error err;
	const char *s;
	int64_t i;
	uint64_t u;
	double r;
	size_t n;

	jsonio_int(v, &i, &err);
	jsonio_u64(v, &u, &err);
	jsonio_real(v, &r, &err);
	jsonio_string(v, &s, &n, &err);
	jsonio_check_keys(v, known, &err);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err;
	struct jvalue *v = jsonio_parse((const char *)data, size, "fuzz", &err);
	const struct jvalue *a;
	size_t n;

	if (!v)
		return 0;
	read_as_anything(v);
	for (size_t i = 0; jsonio_at(v, i); i++)
		read_as_anything(jsonio_at(v, i));
	if (jsonio_get_array(v, "a", &a, &n, &err) == 0)
		for (size_t i = 0; i < n; i++)
			read_as_anything(jsonio_at(a, i));
	jsonio_free(v);
	return 0;
}
