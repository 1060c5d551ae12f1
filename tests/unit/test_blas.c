#include "check.h"

#include <dirent.h>
#include <sys/resource.h>
#include "base/blas.h"
#include "base/rng.h"

#define SIDE 40 /* largest side of a matrix */

static void
fill(float *a, uint64_t seed)
{
	for (size_t i = 0; i < SIDE * SIDE; i++)
		a[i] = (float)(2 * rng_unit(seed, i, 0, 0) - 1);
}

static float
at(struct blas_matrix a, size_t i, size_t k)
{
	return a.transposed ? a.at[k * a.stride + i] : a.at[i * a.stride + k];
}

static void
check_product(bool ta, bool tb, float keep)
{
	static float x[SIDE * SIDE], y[SIDE * SIDE], c[SIDE * SIDE];
	struct blas_matrix a = {x, SIDE, ta}, b = {y, SIDE - 1, tb};
	struct blas_product p = {7, 17, 28, c, SIDE, keep};

	fill(x, 1);
	fill(y, 2);
	for (size_t i = 0; i < SIDE * SIDE; i++)
		c[i] = keep != 0 ? 2 : NAN;
	blas_multiply(&p, a, b);
	for (size_t i = 0; i < p.m; i++)
		for (size_t j = 0; j < p.n; j++) {
			double want = keep != 0 ? 2 : 0;

			for (size_t k = 0; k < p.k; k++)
				want += (double)at(a, i, k) * at(b, k, j);
			CHECK_NEAR(c[i * SIDE + j], want, 1e-5);
		}
	CHECK(keep != 0 ? c[17] == 2 : isnan(c[17]));
}

static void
multiplies(void)
{
	struct error err = ERROR_NONE;

	CHECK_OK(blas_load(&err), err);
	for (int i = 0; i < 8; i++)
		check_product(i & 1, i & 2, i & 4 ? 1 : 0);
	CHECK(blas_core()[0] != '\0');
}

static size_t
count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static bool
is_mapped(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096];
	bool found = false;

	while (f && fgets(line, sizeof line, f))
		found |= strstr(line, name) != NULL;
	if (f)
		fclose(f);
	return found;
}

static void
loads_late_and_alone(void)
{
	struct error err = ERROR_NONE;
	size_t threads = count_threads();

	CHECK(!is_mapped("openblas"));
	CHECK_OK(blas_load(&err), err);
	CHECK_OK(blas_load(&err), err);
	CHECK(is_mapped("openblas"));
	CHECK_INT(count_threads(), threads);
}

/* No file can be opened. */
static void
load_nothing(void)
{
	struct error err = ERROR_NONE;

	setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
	CHECK_INT(blas_load(&err), -1);
	CHECK_INT(err.code, EXIT_CANNOT);
	CHECK(strstr(err.text, "no OpenBLAS: libopenblas.so.0: ") == err.text);
	CHECK(strstr(err.text, " (install the package libopenblas0)"));
	fflush(stdout);
	_exit(check_failed); /* sanitizers would open files at exit */
}

static void
names_the_package(void)
{
	struct check_child c;

	check_child_run(&c, load_nothing);
	CHECK_STR(c.out, "");
	CHECK_INT(c.status, 0);
}

int
main(void)
{
	check_run("where there is no such library the error names its package",
		  names_the_package);
	check_run("the library is loaded at first use, without threads",
		  loads_late_and_alone);
	check_run("products are those of plain loops, transposed or not, "
		  "added or not",
		  multiplies);
	return check_done();
}
