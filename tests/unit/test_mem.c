#include "check.h"

#include <stdint.h>
#include "base/arena.h"
#include "base/mem.h"

static void
zero_sizes(void)
{
	void *a = xmalloc(0), *b = xcalloc(0, 8), *c = xaligned(0, 8);

	CHECK(a && b && c);
	free(a);
	free(b);
	free(c);
}

static void
copies(void)
{
	char *s = xstrdup("kp"), *m = xmemdup("a\0b", 3);

	CHECK_STR(s, "kp");
	CHECK_MEM(m, "a\0b\0", 4);
	free(s);
	free(m);
}

static void
aligned(void)
{
	double *v = xaligned(1001, sizeof(*v));
	double sum = 0;

	CHECK_INT((uintptr_t)v % 64, 0);
	for (int i = 0; i < 1001; i++)
		sum += v[i];
	CHECK_BITS(sum, 0.0);
	free(v);
}

static void
growing(void)
{
	int *v = NULL, wrong = 0, moves = 0;
	size_t cap = 0;

	for (int i = 0; i < 100000; i++) {
		size_t before = cap;

		mem_grow(&v, &cap, (size_t)i + 1, sizeof(*v));
		v[i] = i;
		moves += cap != before;
	}
	for (int i = 0; i < 100000; i++)
		wrong += v[i] != i;
	CHECK_INT(wrong, 0);
	CHECK(moves < 20);
	free(v);
}

static void
ask_too_much(void)
{
	free(xcalloc(SIZE_MAX / 4, 16));
}

static void
grow_too_much(void)
{
	char *v = NULL;
	size_t cap = 0;

	mem_grow(&v, &cap, SIZE_MAX / 4, 16);
	free(v);
}

static void
overflow_dies(void)
{
	CHECK_CHILD(ask_too_much, EXIT_CANNOT, "",
	            "kp: out of memory (4611686018427387903 x 16 bytes asked "
	            "for)\n");
	CHECK_CHILD(grow_too_much, EXIT_CANNOT, "",
	            "kp: out of memory (4611686018427387904 x 16 bytes asked "
	            "for)\n");
}

static void
limit(void)
{
	CHECK(mem_limit_bytes() > (size_t)16 << 20);
	CHECK(mem_limit_bytes() < (size_t)1 << 50);
}

static void
arena_pointers_stay(void)
{
	struct arena a = {0};
	uint32_t *p[2000];
	int wrong = 0;

	for (uint32_t i = 0; i < 2000; i++) {
		p[i] = arena_alloc(&a, 4 + i % 100);
		*p[i] = i;
		wrong += (uintptr_t)p[i] % 16 != 0;
	}
	for (uint32_t i = 0; i < 2000; i++)
		wrong += *p[i] != i;
	CHECK_INT(wrong, 0);
	CHECK(a.used_bytes >= 2000 * 4);
	CHECK(a.held_bytes >= a.used_bytes);
	arena_release(&a);
	CHECK_INT(a.held_bytes, 0);
}

static void
arena_big_and_zeroed(void)
{
	struct arena a = {0};
	size_t big = (size_t)5 << 20;
	unsigned char *p;
	int wrong = 0;

	memset(arena_alloc(&a, 1000), 0xff, 1000);
	arena_reset(&a);
	p = arena_calloc(&a, 10, 100);
	for (int i = 0; i < 1000; i++)
		wrong += p[i] != 0;
	p = arena_alloc(&a, big);
	memset(p, 1, big);
	CHECK_INT(wrong, 0);
	CHECK_STR(arena_memdup(&a, "abc", 2), "ab");
	arena_reset(&a);
	CHECK_INT(a.used_bytes, 0);
	CHECK(a.held_bytes > 0);
	arena_release(&a);
}

int
main(void)
{
	check_run("a size of zero gives a pointer", zero_sizes);
	check_run("copies end in a NUL", copies);
	check_run("xaligned gives zeros at a multiple of 64", aligned);
	check_run("an array grows by doubling", growing);
	check_run("a product that overflows dies, named", overflow_dies);
	check_run("the memory limit is a plausible number", limit);
	check_run("pointers into an arena stay, aligned to 16",
		  arena_pointers_stay);
	check_run("an arena takes big pieces and zeroes on request",
		  arena_big_and_zeroed);
	return check_done();
}
