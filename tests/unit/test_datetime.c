/* Moments from text, against libc's timegm. */

#include <time.h>
#include "check.h"
#include "data/datetime.h"

/* "MONTH WEEKDAY HOUR DAY", or "refused". */
static const char *
moment(const char *s, const char *format)
{
	static char text[128];
	struct datetime dt;

	if (datetime_parse(s, strlen(s), format, &dt) < 0)
		return "refused";
	snprintf(text, sizeof text, "%d %d %d %.10g", dt.month, dt.weekday,
		 dt.hour, dt.day);
	return text;
}

#define ISO(text, want) CHECK_STR(moment(text, NULL), want)
#define AS(format, text, want) CHECK_STR(moment(text, format), want)

static void
iso(void)
{
	ISO("1970-01-01", "1 4 0 0");
	ISO("2001-01-01 00:01", "1 1 0 11323.00069");
	ISO("2001-01-01T12:00:00", "1 1 12 11323.5");
	ISO("2001-01-01 06", "1 1 6 11323.25");
	ISO("2001-01-01 18:00:00.5", "1 1 18 11323.75001");
	ISO("2008/12/1", "12 1 0 14214");
	ISO("2008/12/01 12:00", "12 1 12 14214.5");
	ISO("20081201", "12 1 0 14214");
	ISO("20081201T1200Z", "refused");
	ISO("1969-12-31T23:59:59Z", "12 3 23 -1.157407407e-05");
	ISO("0001-01-01", "1 1 0 -719162");
	ISO("9999-12-31", "12 5 0 2932896");
	ISO("2000-02-29", "2 2 0 11016");
	ISO("2016-12-31 23:59:60", "1 7 0 17167");
}

static void
zones(void)
{
	ISO("2001-01-01T00:30+01:00", "12 7 23 11322.97917");
	ISO("2001-01-01T00:30+0100", "12 7 23 11322.97917");
	ISO("2001-01-01T00:30+01", "12 7 23 11322.97917");
	ISO("2000-12-31T23:30-05:30", "1 1 5 11323.20833");
	ISO("2001-01-01 12:00:00.000Z", "1 1 12 11323.5");
	ISO("2004-02-28T23:00-02:00", "2 7 1 12477.04167");
	ISO("0001-01-01T00:00+01:00", "12 7 23 -719162.0417");
	ISO("9999-12-31T23:00-02:00", "1 6 1 2932897.042");
	ISO("2001-01-01T00:30+24:00", "refused");
	ISO("2001-01-01T00:30+1", "refused");
	ISO("2001-01-01T00:30+01:", "refused");
	ISO("2001-01-01T00:30+01:00x", "refused");
}

static void
impossible(void)
{
	static const char *const BAD[] = {
	    "",
	    "2001",
	    "2001-1-1",
	    "2001-13-01",
	    "2001-00-10",
	    "2001-01-00",
	    "2001-01-32",
	    "2001-02-29",
	    "1900-02-29",
	    "2001-04-31",
	    "0000-01-01",
	    "2001-01-01 ",
	    " 2001-01-01",
	    "2001-01-01 24:00",
	    "2001-01-01 00:60",
	    "2001-01-01 00:00:61",
	    "2001-01-01T",
	    "2001-01-01 1",
	    "2001-01-01 00:0",
	    "2001-01-01 00:00:",
	    "2001-01-01 00:00:00.",
	    "2001-01-0x",
	    "2001/01-01",
	    "2001-01/01",
	    "2001-01-01x00:00",
	    "2001-01-01Z",
	    "NA",
	    "12001-01-01",
	    "20010229",
	};

	for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
		if (strcmp(moment(BAD[i], NULL), "refused") != 0)
			CHECK_STR(BAD[i], "refused");
}

static void
formats(void)
{
	AS("%d/%m/%Y", "1/12/2008", "12 1 0 14214");
	AS("%m/%d/%y %I:%M %p", "12/1/08 12:30 AM", "12 1 0 14214.02083");
	AS("%m/%d/%y %I:%M%p", "12/01/08 12:30pm", "12 1 12 14214.52083");
	AS("%d %b %Y", "1 Dec 2008", "12 1 0 14214");
	AS("%d %B %Y", "1 december 2008", "12 1 0 14214");
	AS("%B %d, %Y", "May   1, 2008", "5 4 0 14000");
	AS("%Y-%j", "2008-336", "12 1 0 14214");
	AS("%Y%m%d%H%M%S", "20081201123000", "12 1 12 14214.52083");
	AS("%s", "1228132800", "12 1 12 14214.5");
	AS("%s.%f", "1228132800.5", "12 1 12 14214.50001");
	AS("%s", "-1", "12 3 23 -1.157407407e-05");
	AS("%Y-%m-%dT%H:%M:%S.%f%z", "2008-12-01T23:30:00.25-02:00",
	   "12 2 1 14215.0625");
	AS("%Y-%m", "2008-12", "12 1 0 14214");
	AS("%y", "69", "1 3 0 -365");
	AS("%y", "68", "1 7 0 35794");
	AS("100%% %Y", "100% 1970", "1 4 0 0");
	AS("%Y %H", "1970 5", "1 4 5 0.2083333333");
	AS("%Y", "1970x", "refused");
	AS("%Y-%j", "2007-366", "refused");
	AS("%Y-%j", "2008-0", "refused");
	AS("%d/%m/%Y", "31/4/2008", "refused");
	AS("%I %Y", "13 1970", "refused");
	AS("%I %Y", "0 1970", "refused");
	AS("%Y %p", "1970 xm", "refused");
	AS("%d %b %Y", "1 Dez 2008", "refused");
	AS("%s", "99999999999999", "refused");
	AS("%s", "", "refused");
	AS("%Y-%m-%d", "2008-12", "refused");
}

static void
format_checks(void)
{
	CHECK_INT(datetime_check_format("%Y-%m-%d"), 0);
	CHECK_INT(datetime_check_format("%s"), 0);
	CHECK_INT(datetime_check_format("%d.%m.%y 100%%"), 0);
	CHECK_INT(datetime_check_format("%H:%M"), -1);
	CHECK_INT(datetime_check_format("%d.%m."), -1);
	CHECK_INT(datetime_check_format("%Y %q"), -1);
	CHECK_INT(datetime_check_format("%Y %"), -1);
	CHECK_INT(datetime_check_format(""), -1);
	CHECK_INT(datetime_check_format("%%Y"), -1);
}

/* Every day of the calendar in both spellings, an hour and minute that vary,
 * with and without a zone. */
static void
whole_calendar(void)
{
	int bad = 0;

	for (int day = -719162; day <= 2932896; day++) {
		int sec = (int)((unsigned)day * 2654435761U % 86400);
		time_t t = (time_t)day * 86400 + sec;
		struct datetime a, b;
		struct tm tm;
		char s[128];
		int n;
		if (day % 7 != 0 && (day < 0 || day > 20000))
			continue;
		gmtime_r(&t, &tm);
		n = snprintf(s, sizeof s, "%04d-%02d-%02d %02d:%02d:%02d",
			     tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
			     tm.tm_hour, tm.tm_min, tm.tm_sec);
		if (datetime_parse(s, (size_t)n, NULL, &a) < 0)
			bad++;
		s[n] = 'Z';
		if (datetime_parse(s, (size_t)n + 1, NULL, &b) < 0)
			bad++;
		bad += a.month != tm.tm_mon + 1 || a.hour != tm.tm_hour ||
		       a.weekday % 7 != tm.tm_wday ||
		       a.day != day + sec / 86400.0 || a.month != b.month ||
		       a.hour != b.hour || a.weekday != b.weekday ||
		       a.day != b.day;
	}
	CHECK_INT(bad, 0);
}

int
main(void)
{
	check_run("ISO 8601 dates and times are read", iso);
	check_run("zones are shifted to UTC", zones);
	check_run("impossible and incomplete dates are refused", impossible);
	check_run("formats are followed", formats);
	check_run("a format without a date is refused", format_checks);
	check_run("the calendar agrees with libc, years 1 to 9999",
		  whole_calendar);
	return check_done();
}
