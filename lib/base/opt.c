#include "base/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"

#define HELP_COLUMN 28
#define HELP_WIDTH 80
#define VALUE_HELP 1 /* no letter is 1 or 2 */
#define VALUE_VERSION 2
#define VALUE_FIRST 256 /* getopt's value of opt[0]; letters are below */

void
opt_list_release(struct opt_list *l)
{
	free(l->item);
	*l = (struct opt_list){0};
}

int
opt_parse_int(const char *s, int64_t *out)
{
	const char *digits = s + (*s == '-' || *s == '+');
	char *end;
	long long v;

	if (*digits < '0' || *digits > '9')
		return -1;
	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno || *end)
		return -1;
	*out = v;
	return 0;
}

int
opt_parse_real(const char *s, double *out)
{
	char *end;
	double v;

	/* strtod() would also take white space, hexadecimal, inf and nan. */
	if (!*s || s[strspn(s, "0123456789+-.eE")])
		return -1;
	v = strtod(s, &end);
	if (*end || !isfinite(v))
		return -1;
	*out = v;
	return 0;
}

int
opt_parse_bytes(const char *s, uint64_t *out)
{
	static const char units[] = "KMGT";
	char *end;
	unsigned long long v;
	int shift = 0;

	if (*s < '0' || *s > '9')
		return -1;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno)
		return -1;
	if (*end) {
		int upper = *end >= 'a' ? *end - 'a' + 'A' : *end;
		const char *unit = strchr(units, upper);

		if (!unit || end[1])
			return -1;
		shift = 10 * (int)(unit - units + 1);
	}
	if (v > UINT64_MAX >> shift)
		return -1;
	*out = (uint64_t)v << shift;
	return 0;
}

char **
opt_split_words(const char *s, size_t *n)
{
	char **words = NULL;
	size_t cap = 0;

	*n = 0;
	mem_grow(&words, &cap, 1, sizeof(*words));
	while (*s) {
		size_t len = strcspn(s, ",");

		if (len) {
			mem_grow(&words, &cap, *n + 1, sizeof(*words));
			words[(*n)++] = xmemdup(s, len);
		}
		s += len + (s[len] == ',');
	}
	return words;
}

void
opt_free_words(char **words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(words[i]);
	free(words);
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edits that make b of a: insert, delete, replace, swap neighbours (Damerau
 * 1964, each place edited once); one row of the table for each byte of a. */
static size_t
edit_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b), width = nb + 1;
	size_t *d = xcalloc(na + 1, width * sizeof(*d));
	size_t distance;

	for (size_t j = 0; j <= nb; j++)
		d[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *row = d + i * width, *up = row - width;
		size_t *up_up = i > 1 ? up - width : NULL;

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = least(up[j], row[j - 1]) + 1;
			row[j] =
			    least(row[j], up[j - 1] + (a[i - 1] != b[j - 1]));
			if (up_up && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = least(row[j], up_up[j - 2] + 1);
		}
	}
	distance = d[na * width + nb];
	free(d);
	return distance;
}

const char *
opt_suggest(const char *word, const char *const *candidates)
{
	size_t len = strlen(word);
	size_t best = (len < 6 ? 1 : len / 3) + 1;
	const char *closest = NULL;

	/* One edit makes any letter of any other: that is no likeness. */
	if (len < 2 || len > 100)
		return NULL;
	for (; *candidates; candidates++) {
		size_t distance = edit_distance(word, *candidates);

		if (distance < best) {
			best = distance;
			closest = *candidates;
		}
	}
	return closest;
}

static size_t
count_options(const struct opt_program *prog)
{
	size_t n = 0;

	while (prog->opt[n].kind)
		n++;
	return n;
}

/* Dies of text, which is no number or out of range. */
static void
bad_number(const struct opt *o, const char *what, const char *text)
{
	struct strbuf range = STRBUF_INIT;
	struct error err;

	if (o->min != 0 || o->max != 0) {
		if (isfinite(o->min) && isfinite(o->max))
			strbuf_addf(&range,
				    fabs(o->max) >= 1e15 && fabs(o->max) < 1e19
					? " from %.15g to %.0f"
					: " from %.15g to %.15g",
				    o->min, o->max);
		else if (isfinite(o->min))
			strbuf_addf(&range, " of at least %.15g", o->min);
		else if (isfinite(o->max))
			strbuf_addf(&range, " of at most %.15g", o->max);
	}
	error_set(&err, EXIT_USAGE, "--%s: not a %s%s: \"%s\"", o->name, what,
		  range.buf, text);
	strbuf_release(&range);
	die(&err);
}

static bool
in_range(const struct opt *o, double v)
{
	return (o->min == 0 && o->max == 0) || (v >= o->min && v <= o->max);
}

static void
append_to_list(struct opt_list *list, const char *text)
{
	list->item =
	    xreallocarray(list->item, list->n + 1, sizeof(*list->item));
	list->item[list->n++] = text;
}

static void
store(const struct opt *o, const char *text)
{
	int64_t whole;
	double real;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)o->value = true;
		break;
	case OPT_STRING:
		*(const char **)o->value = text;
		break;
	case OPT_LIST:
		append_to_list(o->value, text);
		break;
	case OPT_INT:
		if (opt_parse_int(text, &whole) < 0 ||
		    !in_range(o, (double)whole))
			bad_number(o, "whole number", text);
		*(int64_t *)o->value = whole;
		break;
	case OPT_REAL:
		if (opt_parse_real(text, &real) < 0 || !in_range(o, real))
			bad_number(o, "number", text);
		*(double *)o->value = real;
		break;
	case OPT_BYTES:
		if (opt_parse_bytes(text, o->value) < 0)
			dief(EXIT_USAGE,
			     "--%s: not a size such as 4096, 64K, 4M or 1G: "
			     "\"%s\"",
			     o->name, text);
		break;
	case OPT_HEADING:
		break;
	}
}

/* The default shown in --help; nothing where the value means "none". */
static void
add_default(struct strbuf *sb, const struct opt *o)
{
	struct strbuf text = STRBUF_INIT;

	if (o->kind == OPT_STRING && *(const char **)o->value) {
		strbuf_addstr(&text, *(const char **)o->value);
	} else if (o->kind == OPT_INT) {
		int64_t v = *(int64_t *)o->value;

		if (in_range(o, (double)v))
			strbuf_addf(&text, "%" PRId64, v);
	} else if (o->kind == OPT_REAL) {
		double v = *(double *)o->value;

		if (isfinite(v) && in_range(o, v))
			strbuf_addf(&text, "%.15g", v);
	} else if (o->kind == OPT_BYTES && *(uint64_t *)o->value) {
		uint64_t v = *(uint64_t *)o->value;
		int unit = 0;

		while (unit < 4 && v % 1024 == 0) {
			v /= 1024;
			unit++;
		}
		strbuf_addf(&text, "%" PRIu64 "%.1s", v, &"\0KMGT"[unit]);
	}
	if (text.len)
		strbuf_addf(sb, " (default %s)", text.buf);
	strbuf_release(&text);
}

/* Blanks up to HELP_COLUMN. */
static void
pad(struct strbuf *sb, size_t start)
{
	strbuf_addf(sb, "%*s", (int)(HELP_COLUMN - (sb->len - start)), "");
}

/* Text from HELP_COLUMN on, broken at its newlines and, before a word that
 * would not fit, at blanks.  start is where in sb the line under way begins. */
static void
add_wrapped(struct strbuf *sb, size_t start, const char *text)
{
	const char *gap = "";

	pad(sb, start);
	while (*text) {
		size_t len = strcspn(text, " \n");

		if (*gap && sb->len - start + 1 + len > HELP_WIDTH)
			gap = "\n";
		strbuf_addstr(sb, gap);
		if (*gap == '\n') {
			start = sb->len;
			pad(sb, start);
		}
		strbuf_add(sb, text, len);
		text += len;
		gap = *text == '\n' ? "\n" : " ";
		text += *text != '\0';
	}
	strbuf_addch(sb, '\n');
}

static void
add_option_help(struct strbuf *sb, const struct opt *o)
{
	struct strbuf text = STRBUF_INIT;
	size_t start = sb->len;

	if (o->kind == OPT_HEADING) {
		strbuf_addf(sb, "\n%s:\n", o->help);
		return;
	}
	if (o->letter)
		strbuf_addf(sb, "  -%c, --%s", o->letter, o->name);
	else
		strbuf_addf(sb, "      --%s", o->name);
	if (o->kind != OPT_FLAG)
		strbuf_addf(sb, " %s", o->arg);
	if (sb->len - start + 2 > HELP_COLUMN) {
		strbuf_addch(sb, '\n');
		start = sb->len;
	}
	strbuf_addstr(&text, o->help);
	add_default(&text, o);
	add_wrapped(sb, start, text.buf);
	strbuf_release(&text);
}

static void
print_help(const struct opt_program *prog)
{
	static const struct opt help = {
	    "help", 0, OPT_FLAG, NULL, NULL, "show this help", 0, 0};
	static const struct opt version = {
	    "version", 0, OPT_FLAG, NULL, NULL, "show the version", 0, 0};
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "Usage: %s %s\n%s\n", program_name(), prog->usage,
		    prog->purpose);
	if (prog->opt->kind != OPT_HEADING)
		strbuf_addstr(&sb, "\nOptions:\n");
	for (const struct opt *o = prog->opt; o->kind; o++)
		add_option_help(&sb, o);
	strbuf_addch(&sb, '\n');
	add_option_help(&sb, &help);
	add_option_help(&sb, &version);
	if (prog->examples)
		strbuf_addf(&sb, "\nExamples:\n%s", prog->examples);
	if (sb.buf[sb.len - 1] != '\n')
		strbuf_addch(&sb, '\n');
	fputs(sb.buf, stdout);
	strbuf_release(&sb);
	close_stdout();
	exit(EXIT_DONE);
}

static void
print_version(void)
{
	printf("%s (kp) %s\n", program_name(), KP_VERSION);
	close_stdout();
	exit(EXIT_DONE);
}

/* getopt's tables, made from ours. */
struct tables {
	struct option *longs;
	const char **names; /* of all long options, then NULL */
	bool *given;	    /* of each option of ours */
	struct strbuf shorts;
};

static void
tables_init(struct tables *t, const struct opt_program *prog)
{
	size_t n = count_options(prog), k = 0;

	t->longs = xcalloc(n + 3, sizeof(*t->longs));
	t->names = xcalloc(n + 3, sizeof(*t->names));
	t->given = xcalloc(n + 1, sizeof(*t->given));
	strbuf_init(&t->shorts);
	strbuf_addch(&t->shorts, ':');
	for (size_t i = 0; i < n; i++) {
		const struct opt *o = &prog->opt[i];
		bool has_value = o->kind != OPT_FLAG;

		if (o->kind == OPT_HEADING)
			continue;
		t->longs[k++] = (struct option){o->name, has_value, NULL,
						VALUE_FIRST + (int)i};
		if (o->letter)
			strbuf_addf(&t->shorts, "%c%s", o->letter,
				    has_value ? ":" : "");
	}
	if (!strchr(t->shorts.buf, 'h'))
		strbuf_addch(&t->shorts, 'h');
	t->longs[k++] = (struct option){"help", 0, NULL, VALUE_HELP};
	t->longs[k++] = (struct option){"version", 0, NULL, VALUE_VERSION};
	for (size_t i = 0; i < k; i++)
		t->names[i] = t->longs[i].name;
}

static void
tables_release(struct tables *t)
{
	free(t->longs);
	free(t->names);
	free(t->given);
	strbuf_release(&t->shorts);
}

/* The option with getopt's value c. */
static const struct opt *
find_option(const struct opt_program *prog, int c)
{
	if (c >= VALUE_FIRST)
		return &prog->opt[c - VALUE_FIRST];
	for (const struct opt *o = prog->opt; o->kind; o++)
		if (o->letter == c && c)
			return o;
	return NULL;
}

static void
die_unknown_letter(const struct opt_program *prog)
{
	const char word[] = {(char)optopt, '\0'};
	struct strbuf hint = STRBUF_INIT, text = STRBUF_INIT;
	struct error err;

	if (prog->elsewhere)
		prog->elsewhere(word, &hint);
	if (hint.len)
		strbuf_addf(&text, " (%s)", hint.buf);
	error_set(&err, EXIT_USAGE, "unknown option \"-%s\"%s", word,
		  text.len ? text.buf : "");
	strbuf_release(&hint);
	strbuf_release(&text);
	die(&err);
}

/* Says what getopt could not make sense of.  It leaves in optopt the option
 * it knew (given a value it does not take) or the letter it did not, and 0
 * for an unknown or ambiguous word, which is the argument before optind. */
static void
die_unknown(const struct opt_program *prog, const struct tables *t, char **argv)
{
	struct strbuf word = STRBUF_INIT, text = STRBUF_INIT;
	struct strbuf hint = STRBUF_INIT;
	struct error err;
	const char *near;

	if (optopt == VALUE_HELP || optopt == VALUE_VERSION)
		dief(EXIT_USAGE, "--%s takes no value",
		     optopt == VALUE_HELP ? "help" : "version");
	if (optopt >= VALUE_FIRST)
		dief(EXIT_USAGE, "--%s takes no value",
		     find_option(prog, optopt)->name);
	if (optopt)
		die_unknown_letter(prog);

	strbuf_addstr(&word, argv[optind - 1] + 2);
	strbuf_truncate(&word, strcspn(word.buf, "="));
	for (const char **name = t->names; *name; name++)
		if (strncmp(*name, word.buf, word.len) == 0)
			strbuf_addf(&text, "%s--%s", text.len ? ", " : "",
				    *name);
	if (text.len) {
		error_set(&err, EXIT_USAGE, "ambiguous option \"--%s\" (%s)",
			  word.buf, text.buf);
	} else {
		if (prog->elsewhere)
			prog->elsewhere(word.buf, &hint);
		near = opt_suggest(word.buf, t->names);
		if (hint.len)
			strbuf_addf(&text, " (%s)", hint.buf);
		else if (near)
			strbuf_addf(&text, " (did you mean --%s?)", near);
		error_set(&err, EXIT_USAGE, "unknown option \"--%s\"%s",
			  word.buf, text.buf);
	}
	strbuf_release(&hint);
	strbuf_release(&text);
	strbuf_release(&word);
	die(&err);
}

void
opt_operand_needed(const struct opt_program *prog)
{
	dief(EXIT_USAGE, "missing operand; usage: %s %.*s", program_name(),
	     (int)strcspn(prog->usage, "\n"), prog->usage);
}

static void
check_operands(const struct opt_program *prog, int argc, char **argv)
{
	size_t n = (size_t)(argc - optind);

	if (n < prog->operands_min)
		opt_operand_needed(prog);
	if (n > prog->operands_max)
		dief(EXIT_USAGE, "extra operand \"%s\"",
		     argv[(size_t)optind + prog->operands_max]);
}

/* Of two values for one thing it is not ours to choose. */
static void
store_once(const struct opt_program *prog, struct tables *t,
	   const struct opt *o, const char *text)
{
	bool *given = &t->given[o - prog->opt];

	if (*given && o->kind != OPT_FLAG && o->kind != OPT_LIST)
		dief(EXIT_USAGE, "--%s is given twice", o->name);
	*given = true;
	store(o, text);
}

/* What a closed standard descriptor leads to refuses the use made of it. */
static void
fill_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null",
			     fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int
opt_parse(const struct opt_program *prog, int argc, char **argv)
{
	struct tables t;
	int c;

	program_set_name(argv[0]);
	fill_descriptors();
	signal(SIGXFSZ, SIG_IGN);
	tables_init(&t, prog);
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, t.shorts.buf, t.longs, NULL)) !=
	       -1) {
		if (c == '?')
			die_unknown(prog, &t, argv);
		else if (c == ':')
			dief(EXIT_USAGE, "--%s needs a value",
			     find_option(prog, optopt)->name);
		else if (c == VALUE_VERSION)
			print_version();
		else if (c == VALUE_HELP ||
			 (c == 'h' && !find_option(prog, 'h')))
			print_help(prog);
		else
			store_once(prog, &t, find_option(prog, c), optarg);
	}
	tables_release(&t);
	check_operands(prog, argc, argv);
	return optind;
}

void
opt_short_help(const struct opt_program *prog)
{
	fprintf(stderr, "Usage: %s %s\n%s\nSee %s --help.\n", program_name(),
		prog->usage, prog->purpose, program_name());
	exit(EXIT_USAGE);
}

void
opt_needed(const char *name)
{
	dief(EXIT_USAGE, "--%s is needed (try --help)", name);
}
