#include "data/rowparse_core.h"

#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/jsonio.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "data/groupkey.h"
#include "data/number.h"

void
rowparse_begin_libsvm(struct rowparse *p)
{
	const struct schema *s = p->s;

	p->group_index = xcalloc(s->ngroup_column + 1, sizeof(*p->group_index));
	for (size_t i = 0; i < s->ngroup_column; i++)
		p->group_index[i] = (uint32_t)strtoul(
		    s->column[s->group_column[i]].name, NULL, 10);
}

/* Takes the features grouped by out of the pairs and makes the key. */
static void
libsvm_key(struct rowparse *p, struct strbuf *key)
{
	const struct schema *s = p->s;
	struct libsvm_row *svm = &p->svm;

	strbuf_reset(key);
	if (s->ngroup_column == 0)
		groupkey_add(key, "all", 3);
	for (size_t g = 0; g < s->ngroup_column; g++) {
		char text[32] = "0";
		size_t kept = 0;

		for (size_t i = 0; i < svm->n; i++) {
			if (svm->index[i] == p->group_index[g]) {
				jout_real_text(svm->value[i], text);
				continue;
			}
			svm->index[kept] = svm->index[i];
			svm->value[kept++] = svm->value[i];
		}
		svm->n = kept;
		groupkey_add(key, text, strlen(text));
	}
}

static uint8_t
libsvm_bucket(struct rowparse *p)
{
	const struct libsvm_row *svm = &p->svm;
	struct split_identity id;

	strbuf_reset(&p->scratch);
	put_u32s(&p->scratch, svm->index, svm->n);
	put_f64s(&p->scratch, svm->value, svm->n);
	split_identity_begin(&id, &p->s->split);
	split_identity_add(&id, svm->label, svm->label_bytes);
	split_identity_add(&id, p->scratch.buf, p->scratch.len);
	return split_identity_bucket(&id);
}

static int
libsvm_label(struct rowparse *p, const struct record *rec,
	     struct typed_row *row, struct error *err)
{
	const char *text = p->svm.label;
	size_t n = p->svm.label_bytes;
	char shown[UTF8_QUOTE_SIZE];
	enum number_status status;
	double v = 0;

	row->label_text = text;
	row->label_bytes = n;
	if (missing_is_token(&p->missing, text, n) &&
	    !labelrule_is_positive(p->s, text, n))
		return 0;
	if (!p->label_numeric)
		return rowparse_label_class(p, rec, 0, row, err);
	status = number_f64(text, n, &v);
	if (status == NUMBER_BAD && p->s->bad_number == BAD_ERROR)
		return record_error(rec, 0, err,
				    "the label is not a number: \"%s\" "
				    "(see %s--bad-number)",
				    utf8_quote(text, n, shown),
				    p->s->positive_op == OP_NONE
					? ""
					: "--positive for words, or ");
	if (status == NUMBER_NONFINITE && p->s->inf == BAD_ERROR)
		return record_error(rec, 0, err,
				    "the label is not finite (see --inf)");
	if (status == NUMBER_HUGE && p->s->inf == BAD_ERROR)
		return record_error(rec, 0, err,
				    "the label is beyond 1e140 (see --inf)");
	if (status != NUMBER_OK)
		return 0;
	row->label = labelrule_of_number(p->s, v);
	return 1;
}

/* A row to predict may have any word for the label that is not known yet, but
 * a line that is that word alone is of another format, such as CSV. */
static int
check_number(const struct rowparse *p, const struct record *rec,
	     struct error *err)
{
	const char *text = p->svm.label;
	size_t n = p->svm.label_bytes;
	char shown[UTF8_QUOTE_SIZE];
	double v;

	if (!p->label_is_number || p->svm.n > 0 ||
	    number_f64(text, n, &v) != NUMBER_BAD ||
	    missing_is_token(&p->missing, text, n))
		return 0;
	return record_error(rec, 0, err, "the label is not a number: \"%s\"",
			    utf8_quote(text, n, shown));
}

int
rowparse_libsvm(struct rowparse *p, const struct record *rec,
		struct typed_row *row, enum row_fate *fate, struct error *err)
{
	if (libsvm_parse(rec, &p->svm, err) < 0 ||
	    (p->need != ROWPARSE_ALL && check_number(p, rec, err) < 0))
		return -1;
	if (p->need != ROWPARSE_SCORE &&
	    rowparse_label_fate(p, rec, libsvm_label(p, rec, row, err), fate,
				err) < 0)
		return -1;
	libsvm_key(p, &row->key);
	row->split =
	    p->need == ROWPARSE_SCORE ? SPLIT_BUCKETS - 1 : libsvm_bucket(p);
	row->entry_index = p->svm.index;
	row->entry_value = p->svm.value;
	row->nentry = p->svm.n;
	return 0;
}
