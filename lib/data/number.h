#ifndef KP_DATA_NUMBER_H
#define KP_DATA_NUMBER_H

/*
 * number - decimal text to numbers: whole field, correctly rounded, without
 * locale.  Accepts what strtod accepts in the C locale except hexadecimal,
 * leading or trailing white space, and "nan(...)"; "inf", "infinity" and
 * "nan" in any case, signed, are recognised as non-finite.
 *
 * Most fields take a fast exact path (Clinger 1990: few digits, small
 * exponent), up to 19 digits and exponents one of exact whole numbers; the
 * rest goes to strtod.
 */

#include <stddef.h>
#include <stdint.h>

/* The squares of a billion numbers up to this are a double. */
#define NUMBER_LARGEST 1e140

enum number_status {
	NUMBER_OK,
	NUMBER_HUGE, /* finite, beyond NUMBER_LARGEST or the float32s */
	NUMBER_NONFINITE,
	NUMBER_BAD
};

/* *v is set unless BAD; it may be infinite if HUGE. */
enum number_status number_f64(const char *p, size_t n, double *v);
/* Rounded once, decimal to float32 (not through double). */
enum number_status number_f32(const char *p, size_t n, float *v);
/* 1 if the field is an integer that float32 would not hold exactly: digits,
 * perhaps a sign, perhaps a point and zeros, but no exponent. */
int number_needs_f64(const char *p, size_t n);

#endif
