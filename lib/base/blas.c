#include "base/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

#define LIBRARY "libopenblas.so.0"
#define PACKAGE "libopenblas0"

/* Values of the C interface to BLAS (Blackford et al. 2002). */
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

typedef void sgemm_function(int order, int transpose_a, int transpose_b, int m,
			    int n, int k, float alpha, const float *a,
			    int stride_a, const float *b, int stride_b,
			    float beta, float *c, int stride_c);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sgemm_function *sgemm;
static char *(*corename)(void);
static const char *missing; /* what kept it from being loaded */

/* A function of the library: data pointers are none by the letter of C. */
static void
find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	if (!found)
		missing = LIBRARY " is another library";
	memcpy(function, &found, sizeof found);
}

/* OpenBLAS does not know processors newer than itself and falls back to a
 * kernel many times slower; and of those it knows, many have the same
 * instructions and yet other kernels.  So the kernel is chosen by instruction
 * set, which also makes results the same on more machines. */
static void
choose_core(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512cd") &&
	    __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl"))
		setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
	else if (__builtin_cpu_supports("avx2") &&
		 __builtin_cpu_supports("fma"))
		setenv("OPENBLAS_CORETYPE", "Haswell", 0);
#endif
}

static void
load(void)
{
	void (*set_threads)(int);
	void *library;

	/* Read when the library is loaded; later is too late for its pool. */
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	choose_core();
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		missing = xstrdup(dlerror());
		return;
	}
	find(library, "cblas_sgemm", &sgemm);
	find(library, "openblas_get_corename", &corename);
	find(library, "openblas_set_num_threads", &set_threads);
	if (!missing)
		set_threads(1);
}

int
blas_load(struct error *err)
{
	pthread_once(&once, load);
	if (!missing)
		return 0;
	return error_set(err, EXIT_CANNOT,
			 "no OpenBLAS: %s (install the package " PACKAGE ")",
			 missing);
}

const char *
blas_core(void)
{
	return corename();
}

void
blas_multiply(const struct blas_product *p, struct blas_matrix a,
	      struct blas_matrix b)
{
	sgemm(ROW_MAJOR, a.transposed ? TRANSPOSED : PLAIN,
	      b.transposed ? TRANSPOSED : PLAIN, (int)p->m, (int)p->n,
	      (int)p->k, 1, a.at, (int)a.stride, b.at, (int)b.stride, p->keep,
	      p->c, (int)p->stride);
}
