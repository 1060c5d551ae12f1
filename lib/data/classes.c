#include "data/classes.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "base/opt.h"
#include "data/number.h"

#define LABELS_FOR_ADVICE 100
#define CLASSES_SHOWN 5

void
classes_release(struct classes *c)
{
	intern_release(&c->label);
	free(c->number);
	free(c->merged);
	*c = (struct classes){0};
}

void
classes_reset(struct classes *c)
{
	intern_reset(&c->label);
	c->rows[0] = c->rows[1] = 0;
	c->nvalue = 0;
}

static bool
has_rule(const struct schema *s)
{
	return s->positive || s->positive_op != OP_NONE;
}

static void
count_value(struct classes *c, double v)
{
	for (int i = 0; i < c->nvalue && i < 2; i++) {
		if (c->value[i] == v)
			return;
	}
	if (c->nvalue < 2)
		c->value[c->nvalue] = v;
	c->nvalue += c->nvalue < 3;
}

int
classes_add(struct classes *c, const struct schema *s, const char *p, size_t n,
	    double *label, struct error *err)
{
	if (has_rule(s)) {
		c->rows[*label > 0]++;
		/* Labels are kept to say what else there is, should the
		 * positive one never come. */
		if (s->positive && !c->rows[1] &&
		    c->label.nentry < LABELS_FOR_ADVICE)
			intern_add(&c->label, p, n, hash64(p, n));
		return 0;
	}
	if (s->task == TASK_REGRESSION) {
		count_value(c, *label);
		return 0;
	}
	if (s->class_name)
		return 0;
	*label = intern_add(&c->label, p, n, hash64(p, n));
	if (c->label.nentry > CLASSES_MAX)
		return error_set(err, EXIT_DATA,
				 "the label has more than %d classes "
				 "(--task regression takes it as a number)",
				 CLASSES_MAX);
	return 0;
}

static void
merge_rule(struct classes *c, const struct schema *s,
	   const struct classes *later)
{
	for (size_t i = 0;
	     s->positive && !c->rows[1] && i < later->label.nentry; i++) {
		const struct intern_entry *e = &later->label.entry[i];

		if (c->label.nentry < LABELS_FOR_ADVICE)
			intern_add(&c->label, e->p, e->n, e->hash);
	}
	c->rows[0] += later->rows[0];
	c->rows[1] += later->rows[1];
}

static size_t
count_new(const struct classes *c, const struct classes *later)
{
	size_t n = 0;

	for (size_t i = 0; i < later->label.nentry; i++) {
		const struct intern_entry *e = &later->label.entry[i];

		n += intern_find(&c->label, e->p, e->n, e->hash) == INTERN_NONE;
	}
	return n;
}

int
classes_merge(struct classes *c, const struct schema *s,
	      const struct classes *later, double **to)
{
	*to = NULL;
	if (has_rule(s)) {
		merge_rule(c, s, later);
		return 0;
	}
	if (s->task == TASK_REGRESSION) {
		for (int i = 0; i < later->nvalue && i < 2; i++)
			count_value(c, later->value[i]);
		if (later->nvalue > 2)
			c->nvalue = 3;
		return 0;
	}
	if (s->class_name)
		return 0;
	if (c->label.nentry + count_new(c, later) > CLASSES_MAX)
		return 1;
	mem_grow(&c->merged, &c->merged_cap, later->label.nentry + 1,
		 sizeof(*c->merged));
	for (size_t i = 0; i < later->label.nentry; i++) {
		const struct intern_entry *e = &later->label.entry[i];

		c->merged[i] = intern_add(&c->label, e->p, e->n, e->hash);
	}
	*to = c->merged;
	return 0;
}

/* --- the class list --- */

struct named {
	const char *p;
	size_t n;
	double v;
	uint32_t id;
};

static int
compare_texts(const struct named *x, const struct named *y)
{
	int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

	return c ? c : (x->n > y->n) - (x->n < y->n);
}

static int
compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->v != y->v)
		return x->v < y->v ? -1 : 1;
	return compare_texts(x, y);
}

/* Texts that are all numbers get their values, else all the same one. */
static void
value_names(struct named *names, size_t n)
{
	bool numbers = true;

	for (size_t i = 0; i < n && numbers; i++)
		numbers = number_f64(names[i].p, names[i].n, &names[i].v) ==
			  NUMBER_OK;
	for (size_t i = 0; i < n && !numbers; i++)
		names[i].v = 0;
}

static int
name_classes(struct classes *c, struct schema *s, struct error *err)
{
	size_t n = c->label.nentry;
	struct named *names = xcalloc(n, sizeof(*names));
	int ret = 0;

	c->number = xcalloc(n, sizeof(*c->number));
	s->class_name = arena_calloc(&s->arena, n, sizeof(*s->class_name));
	s->nclass = n;
	for (size_t i = 0; i < n; i++) {
		const struct intern_entry *e = &c->label.entry[i];

		names[i] = (struct named){e->p, e->n, 0, (uint32_t)i};
		if (memchr(e->p, '\0', e->n))
			ret = error_set(err, EXIT_DATA, "a NUL in a label");
	}
	value_names(names, n);
	qsort(names, n, sizeof(*names), compare_named);
	for (size_t i = 0; i < n; i++) {
		c->number[names[i].id] = (double)i;
		s->class_name[i] =
		    arena_memdup(&s->arena, names[i].p, names[i].n);
	}
	free(names);
	return ret;
}

static int
too_many(const struct schema *s, struct error *err)
{
	struct strbuf list = STRBUF_INIT;

	for (size_t i = 0; i < s->nclass && i < CLASSES_SHOWN; i++)
		strbuf_addf(&list, "%s\"%s\"", i ? ", " : "", s->class_name[i]);
	if (s->nclass > CLASSES_SHOWN)
		strbuf_addstr(&list, ", ...");
	error_set(err, EXIT_DATA,
		  "--task binary: the label has %zu classes: %s (see "
		  "--positive)",
		  s->nclass, list.buf);
	strbuf_release(&list);
	return -1;
}

static int
finish_list(struct classes *c, struct schema *s, bool task_given,
	    struct error *err)
{
	size_t n = c->label.nentry;

	if (name_classes(c, s, err) < 0)
		return -1;
	if (n == 1)
		return error_set(err, EXIT_DATA,
				 "every label is \"%s\": nothing to tell "
				 "apart (see --positive)",
				 s->class_name[0]);
	if (!task_given)
		s->task = n == 2 ? TASK_BINARY : TASK_MULTICLASS;
	return s->task == TASK_BINARY && n > 2 ? too_many(s, err) : 0;
}

/* --- the positive class --- */

void
classes_of_rule(struct schema *s)
{
	static const char *const op[] = {
	    [OP_GT] = ">",  [OP_GE] = ">=", [OP_LT] = "<",
	    [OP_LE] = "<=", [OP_EQ] = "==", [OP_NE] = "!="};
	struct strbuf sb = STRBUF_INIT;
	char number[32];

	s->nclass = 2;
	s->class_name = arena_calloc(&s->arena, 2, sizeof(*s->class_name));
	strbuf_addstr(&sb, "not ");
	if (s->positive)
		strbuf_addstr(&sb, s->positive);
	else
		strbuf_addf(&sb, "%s %s", op[s->positive_op],
			    jout_real_text(s->positive_number, number));
	s->class_name[0] = arena_memdup(&s->arena, sb.buf, sb.len);
	s->class_name[1] = arena_memdup(&s->arena, sb.buf + 4, sb.len - 4);
	strbuf_release(&sb);
}

/* A positive class no row has is most likely a slip of the pen. */
static int
never_positive(const struct classes *c, const struct schema *s,
	       struct error *err)
{
	size_t n = c->label.nentry;
	const char **labels = xcalloc(n + 1, sizeof(*labels));
	const char *close;

	for (size_t i = 0; i < n; i++)
		labels[i] = c->label.entry[i].p;
	close = opt_suggest(s->positive, labels);
	if (!close && n == 1)
		close = labels[0];
	if (close)
		error_set(err, EXIT_DATA,
			  "--positive: no row has the label \"%s\" (did you "
			  "mean \"%s\"? --task binary accepts it)",
			  s->positive, close);
	else
		error_set(err, EXIT_DATA,
			  "--positive: no row has the label \"%s\" (--task "
			  "binary accepts it)",
			  s->positive);
	free(labels);
	return -1;
}

int
classes_finish(struct classes *c, struct schema *s, bool task_given,
	       struct error *err)
{
	if (s->positive && !c->rows[1] && !task_given)
		return never_positive(c, s, err);
	if (s->class_name || s->task == TASK_REGRESSION)
		return 0;
	return finish_list(c, s, task_given, err);
}
