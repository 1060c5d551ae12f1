#ifndef KP_TESTS_NETS_ORACLE_H
#define KP_TESTS_NETS_ORACLE_H

/* nets_oracle - reading ../shared/oracles/nets.json. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#include "base/jsonio.h"

/* The file, or NULL after marking the test as skipped. */
static inline struct jvalue *
nets_oracle_load(void)
{
	const char *root = getenv("KP_ROOT");
	struct error err = ERROR_NONE;
	struct jvalue *v;
	char path[1024];

	snprintf(path, sizeof path, "%s/../shared/oracles/nets.json",
		 root ? root : ".");
	if (access(path, R_OK)) {
		check_skip("no ../shared/oracles/nets.json");
		return NULL;
	}
	v = jsonio_load(path, &err);
	CHECK_STR(err.text, "");
	return v;
}

/* The entry of that name in the list "layers" or "optimisers". */
static inline const struct jvalue *
nets_oracle_find(const struct jvalue *root, const char *list, const char *name)
{
	struct error err = ERROR_NONE;
	const struct jvalue *all;
	const char *text;
	size_t n, len;

	CHECK_OK(jsonio_get_array(root, list, &all, &n, &err), err);
	for (size_t i = 0; i < n; i++) {
		const struct jvalue *o = jsonio_at(all, i);

		if (jsonio_get_string(o, "name", &text, &len, &err) == 0 &&
		    strlen(name) == len && memcmp(text, name, len) == 0)
			return o;
	}
	CHECK(!"an entry of that name");
	return NULL;
}

/* The n numbers of an array into out. */
static inline void
nets_oracle_numbers(const struct jvalue *array, size_t n, double *out)
{
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < n; i++)
		CHECK_OK(jsonio_real(jsonio_at(array, i), &out[i], &err), err);
}

#endif
