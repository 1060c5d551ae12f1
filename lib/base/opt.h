#ifndef KP_BASE_OPT_H
#define KP_BASE_OPT_H

/*
 * opt - the option table of a command: parsed values, --help, --version, and
 * "did you mean".  getopt_long does the parsing; options and operands may be
 * mixed, "--" ends options.
 *
 * A command fills a struct opt_program with an array of struct opt ended by
 * {0}; opt_parse() stores through the value pointers.  Wrong use dies with
 * EXIT_USAGE and one line, e.g.
 *
 *	kp-plan: unknown option "--serch" (did you mean --search?)
 *	kp-plan: --epochs: not a whole number from 1 to 1000000: "ten"
 *	kp-plan: --epochs is given twice
 *
 * Flags may be repeated, and lists are made to be.
 *
 * --help (and -h, where that letter is free) prints the usage made from the
 * table on stdout and exits 0, with defaults taken from the values at the time
 * of the call (a string that is NULL or empty, a size of 0, and a number
 * outside min..max have none); --version prints "NAME (kp) VERSION".
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"

#define KP_VERSION "0.1.0"

struct opt_list {	   /* values of a repeated option, in order */
	const char **item; /* ours, see opt_list_release(); strings of argv */
	size_t n;
};

void opt_list_release(struct opt_list *l);

enum opt_kind {
	OPT_FLAG = 1, /* bool *: set true */
	OPT_STRING,   /* const char ** */
	OPT_LIST,     /* struct opt_list *: appended */
	OPT_INT,      /* int64_t *, checked against min and max */
	OPT_REAL,     /* double *, finite, checked against min and max */
	OPT_BYTES,    /* uint64_t *: whole number with K, M, G, T (1024) */
	OPT_HEADING,  /* no option: `help` is a heading in --help */
};

struct opt {
	const char *name; /* long name without dashes */
	int letter;	  /* short form or 0 */
	enum opt_kind kind;
	void *value;
	const char *arg;  /* placeholder in --help, "FILE" */
	const char *help; /* wrapped in --help, and at \n */
	double min, max;  /* OPT_INT, OPT_REAL; both 0: any */
};

struct opt_program {
	const char *usage;    /* "[OPTION...] [FILE...]" */
	const char *purpose;  /* one sentence */
	const char *examples; /* lines for --help, or NULL */
	const struct opt *opt;
	size_t operands_min, operands_max; /* SIZE_MAX: any */
	/* NULL, or appends what else an unknown option's name or letter is,
	 * such as "a parameter: --param l2=..."; nothing if it is unknown there
	 * too */
	void (*elsewhere)(const char *word, struct strbuf *sb);
};

/* Parses argv and sets the program name; returns the index in argv of the
 * first operand (operands are permuted to the end).  Handles --help and
 * --version itself.
 *
 * Also makes sure, before the command opens anything, that no file of its own
 * becomes a closed standard stream (reading or writing that still fails), and
 * that beyond a file size limit a write fails as on a full disk: SIGXFSZ is
 * ignored. */
int opt_parse(const struct opt_program *prog, int argc, char **argv);

/* Short usage and `--help` hint on stderr, exit 2: for a command whose stdin
 * is a terminal where data is needed. */
void opt_short_help(const struct opt_program *prog) __attribute__((noreturn));

/* Dies: "--NAME is needed (try --help)", for an option there is no default
 * for. */
void opt_needed(const char *name) __attribute__((noreturn));

/* Dies as of a missing operand, for a command in which an option may stand for
 * it. */
void opt_operand_needed(const struct opt_program *prog)
    __attribute__((noreturn));

/* The candidate closest to word by edit distance (at most a third of its
 * length, at least 1), NULL if none.  candidates ends with NULL. */
const char *opt_suggest(const char *word, const char *const *candidates);

/* Whole-string parsers, locale-free: 0 or -1.  No white space; a real is
 * decimal and finite. */
int opt_parse_bytes(const char *s, uint64_t *out);
int opt_parse_int(const char *s, int64_t *out);
int opt_parse_real(const char *s, double *out);
/* Splits "A,B,C", leaving out empty parts: returns a malloced array of
 * malloced strings, *n of them; opt_free_words() frees it. */
char **opt_split_words(const char *s, size_t *n);
void opt_free_words(char **words, size_t n);

#endif
