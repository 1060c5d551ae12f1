#include "data/intern.h"

#include "base/hash.h"
#include "check.h"

static uint32_t
add(struct intern *t, const char *s)
{
	return intern_add(t, s, strlen(s), hash64(s, strlen(s)));
}

static uint32_t
find(const struct intern *t, const char *s)
{
	return intern_find(t, s, strlen(s), hash64(s, strlen(s)));
}

static void
first_sight(void)
{
	struct intern t = {0};

	CHECK_INT(find(&t, "a"), INTERN_NONE);
	CHECK_INT(add(&t, "a"), 0);
	CHECK_INT(add(&t, ""), 1);
	CHECK_INT(add(&t, "b"), 2);
	CHECK_INT(add(&t, "a"), 0);
	CHECK_INT(find(&t, ""), 1);
	CHECK_INT(find(&t, "c"), INTERN_NONE);
	CHECK_INT(intern_add(&t, "a\0b", 3, hash64("a\0b", 3)), 3);
	CHECK_INT(t.entry[3].n, 3);
	CHECK_INT(t.nentry, 4);
	intern_release(&t);
}

static void
equal_hashes(void)
{
	struct intern t = {0};

	CHECK_INT(intern_add(&t, "a", 1, 7), 0);
	CHECK_INT(intern_add(&t, "b", 1, 7), 1);
	CHECK_INT(intern_add(&t, "bb", 2, 7), 2);
	CHECK_INT(intern_find(&t, "b", 1, 7), 1);
	intern_release(&t);
}

static void
many(void)
{
	struct intern t = {0};
	char text[24];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 10000; i++) {
			snprintf(text, sizeof(text), "v%d", i);
			CHECK_INT(add(&t, text), i);
		}
		for (int i = 0; i < 10000; i += 77) {
			snprintf(text, sizeof(text), "v%d", i);
			CHECK_INT(find(&t, text), i);
			CHECK_MEM(t.entry[i].p, text, t.entry[i].n);
		}
		CHECK(intern_bytes(&t) > 10000 * 24);
		intern_reset(&t);
		CHECK_INT(find(&t, "v1"), INTERN_NONE);
	}
	intern_release(&t);
}

int
main(void)
{
	check_run("numbers are given in order of first sight", first_sight);
	check_run("equal hashes are told apart by bytes", equal_hashes);
	check_run("thousands of strings, again after a reset", many);
	return check_done();
}
