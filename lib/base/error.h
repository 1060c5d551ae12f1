#ifndef KP_BASE_ERROR_H
#define KP_BASE_ERROR_H

/*
 * error - what went wrong, told once, in one line.
 *
 * A library function that can fail returns 0 or -1 (or a pointer or NULL) and
 * fills the `struct error *` it was given; it never prints and never exits.
 * Each layer on the way up may put its own context in front, so that the
 * finished text reads like
 *
 *	flights.csv:812:3: "distance": not a number: "n/a" (see --bad-number)
 *
 * Only commands print it, with die().  An error carries the exit code of the
 * command that dies of it (DESIGN: exit codes).
 */

#include <stdarg.h>

enum exit_code {
	EXIT_DONE = 0,
	EXIT_CANNOT = 1,  /* I/O, system, a dead worker */
	EXIT_USAGE = 2,   /* used wrongly */
	EXIT_DATA = 3,    /* bad input data */
	EXIT_SOME = 4,    /* some groups failed */
	EXIT_ALL = 5,     /* all groups failed */
	EXIT_CORRUPT = 6, /* corrupt or incompatible file */
	EXIT_STOPPED = 7, /* stopped early, resumable */
};

#define ERROR_TEXT_MAX 1024

struct error {
	enum exit_code code;
	char text[ERROR_TEXT_MAX]; /* one line, no newline, "" if none */
};

#define ERROR_NONE ((struct error){EXIT_DONE, ""})

/* Sets code and text; always returns -1, so that callers may return it.
 * Control bytes in the text, and those that are no UTF-8, are shown as \xNN. */
int error_set(struct error *err, enum exit_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with code EXIT_CANNOT and ": " strerror(errno) at the end. */
int error_sys(struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts the formatted text and ": " in front of what is there; returns -1. */
int error_context(struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- for commands only --- */

/* Remembers the base name of argv[0] for messages. */
void program_set_name(const char *argv0);
const char *program_name(void);

/* Called by die() before it exits (to abort workers, remove temporaries);
 * NULL for none.  Returns the hook it replaces. */
typedef void die_hook(enum exit_code code);
die_hook *set_die_hook(die_hook *hook);

/* Flushes stdout, prints "NAME: TEXT" on stderr, runs the hook, exits with
 * the error's code. */
void die(const struct error *err) __attribute__((noreturn));
void dief(enum exit_code code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* "NAME: text" on stderr; -q silences info(), never warning(). */
void warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void set_quiet(int quiet);
int is_quiet(void);

/* Flushes and closes stdout; a failure (full disk) dies with EXIT_CANNOT:
 * the last act of every command that writes data there. */
void close_stdout(void);

#endif
