#include "data/datetime.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define DAY_SEC 86400

static const short DAYS_BEFORE_MONTH[] = {0,   0,   31,	 59,  90,  120, 151,
					  181, 212, 243, 273, 304, 334, 365};

/* What the text says, field by field. */
struct parts {
	int year, month, day; /* 1..9999, 1..12, 1.. */
	int yearday;	      /* from 1; 0: not given */
	int hour, minute, second;
	double fraction; /* of a second */
	int shift_sec;	 /* the zone's, east of Greenwich positive */
	int afternoon;	 /* 1, 0, or -1: not given */
	bool twelve;	 /* the hour is of a clock of 12 hours */
	bool epoch;	 /* epoch_sec is given instead of a date */
	int64_t epoch_sec;
};

static inline bool
is_leap(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days from 1970-01-01 to the first of January, for years from 0 on. */
static inline int
days_before_year(int year)
{
	unsigned y = (unsigned)year + 399; /* unsigned division is cheaper */
	unsigned centuries = y / 100;

	return (int)(365 * y + y / 4 - centuries + centuries / 4) - 865259;
}

static inline int
days_before_month(int year, int month)
{
	return DAYS_BEFORE_MONTH[month] + (month > 2 && is_leap(year));
}

static int
month_of_day(int64_t day)
{
	/* 400 years have 146097 days; a year from 0 keeps divisions plain */
	int64_t since = day + 719528;
	int year = (int)(since * 400 / 146097);
	int month = 1, yearday;

	/* the estimate is right or one too high at a year's end, or low */
	while (days_before_year(year + 1) <= day)
		year++;
	while (year > 0 && days_before_year(year) > day)
		year--;
	yearday = (int)(day - days_before_year(year));
	while (month < 12 && days_before_month(year, month + 1) <= yearday)
		month++;
	return month;
}

/* Days since 1970-01-01 of the date in p; false if there is no such date. */
static inline bool
date_days(const struct parts *p, int64_t *day)
{
	int in_year;

	if (p->year < 1 || p->year > 9999)
		return false;
	if (p->yearday > 0) {
		if (p->yearday > 365 + is_leap(p->year))
			return false;
		*day = days_before_year(p->year) + p->yearday - 1;
		return true;
	}
	if (p->month < 1 || p->month > 12 || p->day < 1)
		return false;
	in_year = days_before_month(p->year, p->month) + p->day;
	if (p->day > 28 &&
	    in_year > (p->month == 12
			   ? 365 + is_leap(p->year)
			   : days_before_month(p->year, p->month + 1)))
		return false;
	*day = days_before_year(p->year) + in_year - 1;
	return true;
}

static inline void
set_moment(struct datetime *dt, int64_t day, int sec, double fraction)
{
	/* 0001-01-01 is a Monday; a week more, for the day before it */
	unsigned since_monday = (unsigned)(day + 719162 + 7);

	dt->weekday = (int)(since_monday % 7) + 1;
	dt->hour = (int)((unsigned)sec / 3600);
	dt->day = (double)day + ((double)sec + fraction) / DAY_SEC;
}

/* From what the text says to the moment; -1 if there is no such moment. */
static int
resolve(const struct parts *p, struct datetime *dt)
{
	int64_t day, sec;
	int hour = p->hour;

	if (p->twelve) {
		if (hour < 1 || hour > 12)
			return -1;
		hour = hour % 12 + (p->afternoon == 1 ? 12 : 0);
	}
	if (hour > 23 || p->minute > 59 || p->second > 60)
		return -1;
	if (p->epoch) {
		day = p->epoch_sec / DAY_SEC;
		sec = p->epoch_sec % DAY_SEC;
	} else {
		if (!date_days(p, &day))
			return -1;
		sec = hour * 3600 + p->minute * 60 + p->second - p->shift_sec;
		day += sec / DAY_SEC;
		sec %= DAY_SEC;
	}
	if (sec < 0) {
		sec += DAY_SEC;
		day--;
	}
	dt->month = month_of_day(day);
	set_moment(dt, day, (int)sec, p->fraction);
	return 0;
}

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* min to max digits at *p, which moves behind them. */
static bool
take_number(const char **p, const char *end, int min, int max, int *v)
{
	int n = 0;

	for (*v = 0; n < max && *p < end && is_digit(**p); n++)
		*v = *v * 10 + (*(*p)++ - '0');
	return n >= min;
}

static bool
take_char(const char **p, const char *end, char c)
{
	if (*p == end || **p != c)
		return false;
	(*p)++;
	return true;
}

/* Digits behind a decimal point, one at least. */
static bool
take_fraction(const char **p, const char *end, double *fraction)
{
	const char *start = *p;
	uint64_t v = 0, scale = 1;

	for (; *p < end && is_digit(**p); (*p)++) {
		if (*p - start >= 15)
			continue; /* below a double's last bit in a day */
		v = v * 10 + (uint64_t)(**p - '0');
		scale *= 10;
	}
	*fraction = (double)v / (double)scale;
	return *p > start;
}

/* Z, +HH, +HHMM or +HH:MM. */
static bool
take_zone(const char **p, const char *end, int *shift_sec)
{
	int hour, minute = 0, sign;

	*shift_sec = 0;
	if (take_char(p, end, 'Z'))
		return true;
	if (take_char(p, end, '+'))
		sign = 1;
	else if (take_char(p, end, '-'))
		sign = -1;
	else
		return false;
	if (!take_number(p, end, 2, 2, &hour))
		return false;
	if (take_char(p, end, ':') || *p < end) {
		if (!take_number(p, end, 2, 2, &minute))
			return false;
	}
	*shift_sec = sign * (hour * 3600 + minute * 60);
	return hour <= 23 && minute <= 59;
}

static bool
take_iso_date(const char **p, const char *end, struct parts *t)
{
	if (!take_number(p, end, 4, 4, &t->year))
		return false;
	if (take_char(p, end, '-'))
		return take_number(p, end, 2, 2, &t->month) &&
		       take_char(p, end, '-') &&
		       take_number(p, end, 2, 2, &t->day);
	if (take_char(p, end, '/'))
		return take_number(p, end, 1, 2, &t->month) &&
		       take_char(p, end, '/') &&
		       take_number(p, end, 1, 2, &t->day);
	return take_number(p, end, 2, 2, &t->month) &&
	       take_number(p, end, 2, 2, &t->day);
}

static bool
take_iso_time(const char **p, const char *end, struct parts *t)
{
	if (!take_number(p, end, 2, 2, &t->hour))
		return false;
	if (take_char(p, end, ':')) {
		if (!take_number(p, end, 2, 2, &t->minute))
			return false;
		if (take_char(p, end, ':')) {
			if (!take_number(p, end, 2, 2, &t->second))
				return false;
			if (take_char(p, end, '.') &&
			    !take_fraction(p, end, &t->fraction))
				return false;
		}
	}
	return *p == end || take_zone(p, end, &t->shift_sec);
}

/* 1 for two digits at p, which become *v; without a branch. */
static inline int
two_digits(const char *p, int *v)
{
	unsigned a = (unsigned)(unsigned char)p[0] - '0';
	unsigned b = (unsigned)(unsigned char)p[1] - '0';

	*v = (int)(a * 10 + b);
	return a <= 9 && b <= 9;
}

/* YYYY-MM-DD, alone or with HH:MM or HH:MM:SS behind: nearly all there is. */
static inline bool
parse_common(const char *p, size_t n, struct datetime *dt)
{
	struct parts t;
	int64_t day;
	int century, sec = 0;

	if (n != 10 && n != 16 && n != 19)
		return false;
	if (!(two_digits(p, &century) & two_digits(p + 2, &t.year) &
	      two_digits(p + 5, &t.month) & two_digits(p + 8, &t.day) &
	      (p[4] == '-') & (p[7] == '-')))
		return false;
	if (n > 10) {
		int hour, minute, second = 0;
		if (!(two_digits(p + 11, &hour) & two_digits(p + 14, &minute) &
		      (p[13] == ':') & ((p[10] == ' ') | (p[10] == 'T'))))
			return false;
		if (n == 19 && !(two_digits(p + 17, &second) & (p[16] == ':')))
			return false;
		if (hour > 23 || minute > 59 || second > 59)
			return false;
		sec = hour * 3600 + minute * 60 + second;
	}
	t.year += century * 100;
	t.yearday = 0;
	if (!date_days(&t, &day))
		return false;
	dt->month = t.month;
	set_moment(dt, day, sec, 0);
	return true;
}

static struct parts
no_parts(void)
{
	return (struct parts){.month = 1, .day = 1, .afternoon = -1};
}

static int
parse_iso(const char *p, size_t n, struct datetime *dt)
{
	const char *end = p + n;
	struct parts t = no_parts();

	if (parse_common(p, n, dt))
		return 0;
	if (!take_iso_date(&p, end, &t))
		return -1;
	if (p < end) {
		if (!take_char(&p, end, 'T') && !take_char(&p, end, ' '))
			return -1;
		if (!take_iso_time(&p, end, &t))
			return -1;
	}
	return p == end ? resolve(&t, dt) : -1;
}

static bool
take_word(const char **p, const char *end, const char *word, size_t n)
{
	if ((size_t)(end - *p) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (((*p)[i] | 0x20) != (word[i] | 0x20))
			return false;
	*p += n;
	return true;
}

/* An English month's name, whole or its first three letters. */
static bool
take_month_name(const char **p, const char *end, int *month)
{
	static const char *const NAMES[] = {
	    "January",	 "February", "March",	 "April",
	    "May",	 "June",     "July",	 "August",
	    "September", "October",  "November", "December",
	};

	for (int i = 0; i < 12; i++) {
		if (take_word(p, end, NAMES[i], strlen(NAMES[i])) ||
		    take_word(p, end, NAMES[i], 3)) {
			*month = i + 1;
			return true;
		}
	}
	return false;
}

/* Seconds since 1970, within the years 1 to 9999. */
static bool
take_epoch(const char **p, const char *end, struct parts *t)
{
	const char *start;
	bool negative = take_char(p, end, '-');
	int64_t v = 0;

	for (start = *p; *p < end && is_digit(**p) && *p - start < 12; (*p)++)
		v = v * 10 + (**p - '0');
	t->epoch = true;
	t->epoch_sec = negative ? -v : v;
	return *p > start && t->epoch_sec >= INT64_C(-62135596800) &&
	       t->epoch_sec <= INT64_C(253402300799);
}

static bool
take_conversion(const char **p, const char *end, char c, struct parts *t)
{
	switch (c) {
	case 'Y':
		return take_number(p, end, 1, 4, &t->year);
	case 'y':
		if (!take_number(p, end, 1, 2, &t->year))
			return false;
		t->year += t->year < 69 ? 2000 : 1900; /* POSIX */
		return true;
	case 'm':
		return take_number(p, end, 1, 2, &t->month);
	case 'b':
	case 'B':
		return take_month_name(p, end, &t->month);
	case 'd':
		return take_number(p, end, 1, 2, &t->day);
	case 'j':
		return take_number(p, end, 1, 3, &t->yearday) && t->yearday > 0;
	case 'I':
		t->twelve = true;
		return take_number(p, end, 1, 2, &t->hour);
	case 'H':
		t->twelve = false;
		return take_number(p, end, 1, 2, &t->hour);
	case 'p':
		t->afternoon = take_word(p, end, "pm", 2);
		return t->afternoon || take_word(p, end, "am", 2);
	case 'M':
		return take_number(p, end, 1, 2, &t->minute);
	case 'S':
		return take_number(p, end, 1, 2, &t->second);
	case 'f':
		return take_fraction(p, end, &t->fraction);
	case 'z':
		return take_zone(p, end, &t->shift_sec);
	case 's':
		return take_epoch(p, end, t);
	case '%':
		return take_char(p, end, '%');
	default:
		return false;
	}
}

static int
parse_format(const char *p, size_t n, const char *format, struct datetime *dt)
{
	const char *end = p + n;
	struct parts t = no_parts();

	for (; *format; format++) {
		if (*format == ' ') {
			while (p < end && *p == ' ')
				p++;
		} else if (*format != '%') {
			if (!take_char(&p, end, *format))
				return -1;
		} else if (!take_conversion(&p, end, *++format, &t)) {
			return -1;
		}
	}
	return p == end ? resolve(&t, dt) : -1;
}

int
datetime_parse(const char *p, size_t n, const char *format, struct datetime *dt)
{
	return format ? parse_format(p, n, format, dt) : parse_iso(p, n, dt);
}

int
datetime_check_format(const char *format)
{
	bool dated = false;

	for (; *format; format++) {
		if (*format != '%')
			continue;
		format++;
		if (!*format || !strchr("YymdjbBHIpMSfzs%", *format))
			return -1;
		if (strchr("Yys", *format))
			dated = true;
	}
	return dated ? 0 : -1;
}
