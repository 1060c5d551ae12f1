#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"

static const char *program = "kp";
static die_hook *hook_of_die;
static bool quiet;

/* Copies src into text of ERROR_TEXT_MAX bytes, control bytes and those that
 * are no UTF-8 as \xNN; what does not fit ends in "...". */
static void
set_text(char *text, const char *src)
{
	size_t left = strlen(src), n = 0;

	while (left) {
		size_t len = utf8_shown(src, left), took = len ? len : 1;
		char piece[5];

		if (!len)
			snprintf(piece, sizeof(piece), "\\x%02x",
				 (unsigned char)*src);
		left -= took;
		if (n + (len ? len : 4) + (left ? 3 : 0) >= ERROR_TEXT_MAX) {
			strcpy(text + n, "...");
			return;
		}
		memcpy(text + n, len ? src : piece, len ? len : 4);
		n += len ? len : 4;
		src += took;
	}
	text[n] = '\0';
}

int
error_set(struct error *err, enum exit_code code, const char *fmt, ...)
{
	char raw[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	err->code = code;
	set_text(err->text, raw);
	return -1;
}

int
error_sys(struct error *err, const char *fmt, ...)
{
	int saved = errno;
	char raw[ERROR_TEXT_MAX], all[ERROR_TEXT_MAX + 128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	snprintf(all, sizeof(all), "%s: %s", raw, strerror(saved));
	err->code = EXIT_CANNOT;
	set_text(err->text, all);
	errno = saved;
	return -1;
}

int
error_context(struct error *err, const char *fmt, ...)
{
	char raw[ERROR_TEXT_MAX], all[2 * ERROR_TEXT_MAX + 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	snprintf(all, sizeof(all), "%s: %s", raw, err->text);
	set_text(err->text, all);
	return -1;
}

void
program_set_name(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	if (argv0 && *argv0)
		program = slash ? slash + 1 : argv0;
}

const char *
program_name(void)
{
	return program;
}

die_hook *
set_die_hook(die_hook *hook)
{
	die_hook *old = hook_of_die;

	hook_of_die = hook;
	return old;
}

void
die(const struct error *err)
{
	die_hook *hook = hook_of_die;

	fflush(stdout);
	fprintf(stderr, "%s: %s\n", program, err->text);
	hook_of_die = NULL; /* a hook that dies must not be called again */
	if (hook)
		hook(err->code);
	exit(err->code);
}

void
dief(enum exit_code code, const char *fmt, ...)
{
	struct error err;
	char raw[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	error_set(&err, code, "%s", raw);
	die(&err);
}

static void
say(const char *fmt, va_list ap)
{
	char raw[ERROR_TEXT_MAX], text[ERROR_TEXT_MAX];

	vsnprintf(raw, sizeof(raw), fmt, ap);
	set_text(text, raw);
	fprintf(stderr, "%s: %s\n", program, text);
}

void
warning(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void
info(const char *fmt, ...)
{
	va_list ap;

	if (quiet)
		return;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void
set_quiet(int on)
{
	quiet = on != 0;
}

int
is_quiet(void)
{
	return quiet;
}

void
close_stdout(void)
{
	bool failed = ferror(stdout) != 0;

	errno = 0;
	if (fclose(stdout) == 0 && !failed)
		return;
	if (errno)
		dief(EXIT_CANNOT, "standard output: %s", strerror(errno));
	dief(EXIT_CANNOT, "standard output: write error");
}
