#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"

static void *
checked(void *p, size_t n, size_t size)
{
	if (!p)
		dief(EXIT_CANNOT, "out of memory (%zu x %zu bytes asked for)",
		     n, size);
	return p;
}

static size_t
product(size_t n, size_t size)
{
	if (size && n > SIZE_MAX / 2 / size)
		checked(NULL, n, size);
	return n * size;
}

void *
xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1), 1, size);
}

void *
xcalloc(size_t n, size_t size)
{
	size_t bytes = product(n, size);

	return checked(calloc(bytes ? bytes : 1, 1), n, size);
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
	size_t bytes = product(n, size);

	return checked(realloc(p, bytes ? bytes : 1), n, size);
}

char *
xstrdup(const char *s)
{
	return xmemdup(s, strlen(s));
}

void *
xmemdup(const void *p, size_t n)
{
	char *copy = xmalloc(n + 1);

	if (n)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}

void *
xaligned(size_t n, size_t size)
{
	size_t bytes = (product(n, size) + 63) / 64 * 64;
	void *p;

	if (!bytes)
		bytes = 64;
	p = checked(aligned_alloc(64, bytes), n, size);
	return memset(p, 0, bytes);
}

void
mem_grow(void *pp, size_t *cap, size_t need, size_t size)
{
	void *p;
	size_t more = *cap ? *cap : 8;

	if (need <= *cap)
		return;
	while (more < need)
		more = more > SIZE_MAX / 2 ? need : more * 2;
	memcpy(&p, pp, sizeof(p));
	p = xreallocarray(p, more, size);
	memcpy(pp, &p, sizeof(p));
	*cap = more;
}

/* The number in a cgroup's limit file; SIZE_MAX if none or "max". */
static size_t
read_limit(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long v;
	size_t limit = SIZE_MAX;

	if (!f)
		return limit;
	if (fscanf(f, "%llu", &v) == 1 && v < SIZE_MAX)
		limit = (size_t)v;
	fclose(f);
	return limit;
}

/* The least limit of the cgroup `path` under root and of its parents. */
static size_t
least_limit(const char *root, char *path, const char *file)
{
	char name[4096];
	size_t least = SIZE_MAX;

	for (;;) {
		char *slash = strrchr(path, '/');
		size_t limit;

		snprintf(name, sizeof(name), "%s%s/%s", root, path, file);
		limit = read_limit(name);
		if (limit < least)
			least = limit;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

static size_t
cgroup_limit(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[2048];
	size_t least = SIZE_MAX;

	if (!f)
		return least;
	while (fgets(line, sizeof(line), f)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		size_t limit = SIZE_MAX;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (controllers[1] == '\0')
			limit =
			    least_limit("/sys/fs/cgroup", path, "memory.max");
		else if (strstr(controllers, "memory"))
			limit = least_limit("/sys/fs/cgroup/memory", path,
					    "memory.limit_in_bytes");
		if (limit < least)
			least = limit;
	}
	fclose(f);
	return least;
}

size_t
mem_limit_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long page_bytes = sysconf(_SC_PAGESIZE);
	size_t limit = cgroup_limit();

	if (pages > 0 && page_bytes > 0 &&
	    (size_t)pages < limit / (size_t)page_bytes)
		limit = (size_t)pages * (size_t)page_bytes;
	return limit;
}
