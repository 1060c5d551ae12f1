#ifndef KP_DATA_DATETIME_H
#define KP_DATA_DATETIME_H

/*
 * datetime - a moment from text: month, weekday, hour and a day count.
 *
 * The default format is ISO 8601: YYYY-MM-DD (also YYYY/M/D and YYYYMMDD),
 * optionally 'T' or a space and HH[:MM[:SS[.fraction]]], optionally Z or
 * +HH:MM (also +HHMM, +HH; shifted to UTC).  Other formats are strptime-like:
 * %Y %y %m %d %j %b %B (English) %H %I %p %M %S %f %z %s %%, anything else
 * literal; spaces match any run of spaces, or none.  A format must have a year
 * or %s; month and day are 1 where it has none.  Proleptic Gregorian calendar,
 * years 0001-9999; no local time zone is ever consulted.  Impossible dates are
 * refused; second 60, of a leap second, is the next minute's first.
 */

#include <stddef.h>

struct datetime {
	int month;   /* 1..12 */
	int weekday; /* 1 Monday .. 7 Sunday (ISO 8601) */
	int hour;    /* 0..23; 0 if the text has none */
	double day;  /* days since 1970-01-01, with fraction */
};

/* format NULL: ISO 8601.  0, or -1 if the whole text does not fit. */
int datetime_parse(const char *p, size_t n, const char *format,
                   struct datetime *dt);
/* -1 if the format has an unknown conversion or no date. */
int datetime_check_format(const char *format);

#endif
