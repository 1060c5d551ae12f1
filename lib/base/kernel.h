#ifndef KP_BASE_KERNEL_H
#define KP_BASE_KERNEL_H

/*
 * kernel - what vector kernels, lib/.../..._kernel.c, are written with.  Each
 * is compiled for several instruction sets, whose name is KP_ISA; one whose
 * rows have several lanes is moreover included by itself once for each number
 * of lanes, its functions named by JOIN(f, LANES).  Vectors are those of
 * fmath_lanes.h (doubles) and fmath_single.h (floats): OF(n, d), OF(n, f).
 */

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define STRING2(a) #a
#define STRING(a) STRING2(a)
#define OF2(n, f) v##n##f
#define OF(n, f) OF2(n, f)

/* Not all are used for each instruction set and number of lanes. */
#define INLINE static inline __attribute__((always_inline, unused))

/* Numbers of the widest vector that the instruction set has, of those up to so
 * many: gcc takes wider ones to memory. */
#if defined(__AVX512F__)
#define FLOATS_UP_TO_8 8
#define FLOATS_UP_TO_16 16
#define DOUBLES_UP_TO_4 4
#define DOUBLES_UP_TO_8 8
#elif defined(__AVX__)
#define FLOATS_UP_TO_8 8
#define FLOATS_UP_TO_16 8
#define DOUBLES_UP_TO_4 4
#define DOUBLES_UP_TO_8 4
#else
#define FLOATS_UP_TO_8 4
#define FLOATS_UP_TO_16 4
#define DOUBLES_UP_TO_4 2
#define DOUBLES_UP_TO_8 2
#endif

/* f of so many lanes: 1, 4, 8 or 16. */
#define BY_LANES(lanes, f, arguments)                                          \
	do {                                                                   \
		if ((lanes) == 1)                                              \
			f##_1 arguments;                                       \
		else if ((lanes) == 4)                                         \
			f##_4 arguments;                                       \
		else if ((lanes) == 8)                                         \
			f##_8 arguments;                                       \
		else                                                           \
			f##_16 arguments;                                      \
	} while (0)

#endif
