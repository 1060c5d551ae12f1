#include "shuffle/labels.h"

#include <math.h>
#include <string.h>
#include "base/hash.h"

/* Equal for equal labels: of numbers for equal values. */
static uint64_t
code_of(const struct row_value *label)
{
	double x = label->number == 0 ? 0 : label->number;
	uint64_t code;

	if (isnan(x))
		return hash64(label->p ? label->p : "", label->n);
	memcpy(&code, &x, sizeof(code));
	return code;
}

static size_t
find(struct labels *l, uint64_t code)
{
	if (l->last < l->n && l->code[l->last] == code)
		return l->last;
	for (size_t i = 0; i < l->n; i++) {
		if (l->code[i] == code)
			return l->last = i;
	}
	return l->n;
}

void
labels_show(struct labels *l, const struct row_value *label)
{
	uint64_t code = code_of(label);
	double x = label->number, d = x - l->mean;

	size_t i = find(l, code);

	if (i == l->n && i < LABELS_MAX)
		l->code[l->n++] = code;
	if (i < LABELS_MAX)
		l->shown[i]++;
	if (isnan(x)) {
		l->words++;
		return;
	}
	l->fractions |= x != floor(x);
	l->seen++;
	l->mean += d / l->seen;
	l->square += d * (x - l->mean);
}

void
labels_decide(struct labels *l)
{
	bool few = l->n <= LABELS_FEW && !l->fractions;

	bool words = l->words > 0.05 * (l->words + l->seen);

	l->classes = words || few ? (l->n ? l->n : 1) : 0;
	l->scale = l->square > 0 ? sqrt(l->seen / l->square) : 1;
}

size_t
labels_class(struct labels *l, const struct row_value *label)
{
	uint64_t code = code_of(label);
	size_t i = find(l, code);

	if (i < l->n)
		return i;
	if (l->n == LABELS_MAX)
		return (size_t)(code % LABELS_MAX);
	l->code[l->n] = code;
	return l->last = l->n++;
}

bool
labels_number(const struct labels *l, const struct row_value *label, double *x)
{
	*x = (label->number - l->mean) * l->scale;
	return !isnan(*x);
}
