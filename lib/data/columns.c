#include "data/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/utf8.h"
#include "data/cross.h"
#include "data/datetime.h"
#include "data/vocabulary.h"

/* Options that name columns; the bit of an option is 1 << its number. */
enum claim {
	LABEL,
	GROUP_BY,
	WEIGHT,
	SPLIT,
	ID,
	TIME,
	DROP,
	NUMERIC,
	FLOAT64,
	CATEGORICAL,
	DATETIME,
	OFFSET,
	NCLAIM,
};

#define BIT(claim) (1u << (claim))
#define TYPES (BIT(NUMERIC) | BIT(FLOAT64) | BIT(CATEGORICAL) | BIT(DATETIME))

#define SINGLE                                                                 \
	(BIT(LABEL) | BIT(GROUP_BY) | BIT(WEIGHT) | BIT(SPLIT) | BIT(TIME) |   \
	 BIT(OFFSET))

static const char *const option_name[NCLAIM] = {
    "--label",	 "--group-by",	  "--weight",	"--split",
    "--id",	 "--time",	  "--drop",	"--numeric",
    "--float64", "--categorical", "--datetime", "--offset",
};

/* Options that may name the same column as this one. */
static const uint32_t agrees[NCLAIM] = {
    [ID] = TYPES | BIT(LABEL) | BIT(GROUP_BY) | BIT(TIME) | BIT(DROP),
    [TIME] = (TYPES & ~BIT(CATEGORICAL)) | BIT(ID) | BIT(DROP),
    [DROP] = BIT(ID) | BIT(TIME),
    [NUMERIC] = BIT(FLOAT64) | BIT(ID) | BIT(TIME),
    [FLOAT64] = BIT(NUMERIC) | BIT(ID) | BIT(TIME),
    [CATEGORICAL] = BIT(ID),
    [DATETIME] = BIT(ID) | BIT(TIME),
};

struct naming {
	struct schema *s;
	const char *const *names; /* ends with NULL */
	size_t n;
	const char *file;
	uint32_t *claims; /* [n] */
	struct error *err;
};

/* What a date gives, by the ends of the features' names. */
static const struct {
	const char *suffix;
	enum datetime_part part;
} date_part[] = {{".month", DT_MONTH},
		 {".weekday", DT_WEEKDAY},
		 {".hour", DT_HOUR},
		 {".day", DT_DAY}};
#define NDATE_PART (sizeof(date_part) / sizeof(*date_part))

static int
find_name(const struct naming *m, const char *name, size_t len)
{
	for (size_t i = 0; i < m->n; i++) {
		if (strlen(m->names[i]) == len &&
		    memcmp(m->names[i], name, len) == 0)
			return (int)i;
	}
	return -1;
}

static int
no_column(const struct naming *m, enum claim by, const char *name)
{
	const char *close = opt_suggest(name, m->names);
	char text[UTF8_QUOTE_SIZE];

	if (m->n == 1)
		return error_set(
		    m->err, EXIT_DATA,
		    "%s: no column \"%s\" in %s (one column \"%s\": see "
		    "--delimiter)",
		    option_name[by], name, m->file,
		    utf8_quote(m->names[0], strlen(m->names[0]), text));
	if (strchr(name, ',') && (BIT(by) & SINGLE))
		return error_set(m->err, EXIT_DATA,
				 "%s: no column \"%s\" in %s (%s)",
				 option_name[by], name, m->file,
				 by == GROUP_BY ? "repeat it for more columns"
						: "it takes one column");
	if (close)
		return error_set(m->err, EXIT_DATA,
				 "%s: no column \"%s\" in %s (did you mean "
				 "\"%s\"?)",
				 option_name[by], name, m->file, close);
	return error_set(m->err, EXIT_DATA, "%s: no column \"%s\" in %s",
			 option_name[by], name, m->file);
}

static int
claim(struct naming *m, enum claim by, int column)
{
	uint32_t had = m->claims[column];

	for (int i = 0; i < NCLAIM; i++) {
		if (i == (int)by || !(had & BIT(i)) || (agrees[by] & BIT(i)))
			continue;
		return error_set(m->err, EXIT_USAGE, "\"%s\": both %s and %s",
				 m->names[column], option_name[i],
				 option_name[by]);
	}
	m->claims[column] |= BIT(by);
	return column;
}

/* Whether "date.day" is a part of a date, which then gives no feature. */
static bool
drop_part(struct naming *m, const char *name)
{
	const char *dot = strrchr(name, '.');
	int column = dot ? find_name(m, name, (size_t)(dot - name)) : -1;

	if (column < 0 || !(m->claims[column] & BIT(DATETIME)))
		return false;
	for (size_t i = 0; i < NDATE_PART; i++) {
		if (strcmp(dot, date_part[i].suffix) != 0)
			continue;
		m->s->column[column].parts_dropped |= UINT32_C(1)
						      << date_part[i].part;
		return true;
	}
	return false;
}

/* The column of one name, -1 on error. */
static int
claim_name(struct naming *m, enum claim by, const char *name)
{
	int column = find_name(m, name, strlen(name));

	if (column < 0 && by == DROP && drop_part(m, name))
		return 0;
	return column < 0 ? no_column(m, by, name) : claim(m, by, column);
}

static int
claim_list(struct naming *m, enum claim by, const struct opt_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *item = list->item[i];
		size_t n;
		char **word;
		int ret = 0;

		if (find_name(m, item, strlen(item)) >= 0) {
			if (claim_name(m, by, item) < 0)
				return -1;
			continue;
		}
		word = opt_split_words(item, &n);
		for (size_t k = 0; k < n && ret >= 0; k++)
			ret = claim_name(m, by, word[k]);
		opt_free_words(word, n);
		if (ret < 0)
			return -1;
	}
	return 0;
}

static bool
is_all(const struct opt_list *list)
{
	return list->n == 1 && strcmp(list->item[0], "all") == 0;
}

static int
claim_group(struct naming *m, const struct opt_list *list)
{
	struct schema *s = m->s;

	s->group_column =
	    arena_calloc(&s->arena, list->n + 1, sizeof(*s->group_column));
	for (size_t i = 0; i < list->n; i++) {
		int column = claim_name(m, GROUP_BY, list->item[i]);

		if (column < 0)
			return -1;
		for (size_t k = 0; k < i; k++) {
			if (s->group_column[k] == (uint32_t)column)
				return error_set(m->err, EXIT_USAGE,
						 "\"%s\": --group-by twice",
						 m->names[column]);
		}
		s->group_column[s->ngroup_column++] = (uint32_t)column;
	}
	return 0;
}

/* NAME or NAME=FORMAT; a column may have a "=" in its own name. */
static int
claim_datetime(struct naming *m, const struct opt_list *list)
{
	struct schema *s = m->s;

	for (size_t i = 0; i < list->n; i++) {
		const char *item = list->item[i];
		const char *equal = strchr(item, '=');
		int column = find_name(m, item, strlen(item));

		if (column < 0 && equal)
			column = find_name(m, item, (size_t)(equal - item));
		if (column < 0)
			return no_column(m, DATETIME, item);
		if (claim(m, DATETIME, column) < 0)
			return -1;
		if (strcmp(m->names[column], item) == 0)
			continue;
		if (datetime_check_format(equal + 1) < 0)
			return error_set(m->err, EXIT_USAGE,
					 "--datetime %s: not a date format: "
					 "\"%s\"",
					 m->names[column], equal + 1);
		s->column[column].datetime_format =
		    arena_memdup(&s->arena, equal + 1, strlen(equal + 1));
	}
	return 0;
}

static int
claim_all(struct naming *m, const struct featurize_columns *c)
{
	const struct {
		enum claim by;
		const char *name;
	} single[] = {{LABEL, c->label},
		      {WEIGHT, c->weight},
		      {OFFSET, c->offset},
		      {SPLIT, c->split},
		      {TIME, c->time}};

	for (size_t i = 0; i < sizeof(single) / sizeof(*single); i++) {
		if (single[i].name &&
		    claim_name(m, single[i].by, single[i].name) < 0)
			return -1;
	}
	if (claim_group(m, &c->group_by) < 0 || claim_list(m, ID, &c->id) < 0 ||
	    claim_list(m, NUMERIC, &c->numeric) < 0 ||
	    claim_list(m, CATEGORICAL, &c->categorical) < 0 ||
	    claim_datetime(m, &c->datetime) < 0 ||
	    claim_list(m, DROP, &c->drop) < 0)
		return -1;
	return is_all(&c->float64) ? 0 : claim_list(m, FLOAT64, &c->float64);
}

static uint32_t
roles_of(uint32_t claims)
{
	static const struct {
		enum claim by;
		uint32_t role;
	} map[] = {{LABEL, ROLE_LABEL},	  {GROUP_BY, ROLE_GROUP},
		   {WEIGHT, ROLE_WEIGHT}, {SPLIT, ROLE_SPLIT},
		   {OFFSET, ROLE_OFFSET}, {ID, ROLE_ID},
		   {TIME, ROLE_TIME}};
	uint32_t roles = 0;

	for (size_t i = 0; i < sizeof(map) / sizeof(*map); i++) {
		if (claims & BIT(map[i].by))
			roles |= map[i].role;
	}
	if (!roles && (claims & BIT(DROP)))
		return ROLE_DROP;
	if (!roles || (claims & TYPES))
		roles |= ROLE_FEATURE;
	return roles;
}

static void
set_type(struct schema_column *col, uint32_t claims, bool all_f64,
	 struct infer_column *open)
{
	bool typed = claims & TYPES;

	*open = (struct infer_column){.dates = true};
	col->f64 = all_f64 || (claims & BIT(FLOAT64));
	if (claims & BIT(DATETIME))
		col->type = COLUMN_DATETIME;
	else if (claims &
		 (BIT(NUMERIC) | BIT(FLOAT64) | BIT(WEIGHT) | BIT(OFFSET)))
		col->type = COLUMN_NUMERIC;
	else
		col->type = COLUMN_CATEGORY;
	if (col->roles & (ROLE_FEATURE | ROLE_TIME))
		open->type = !typed;
	if (col->roles & (ROLE_LABEL | ROLE_WEIGHT | ROLE_TIME | ROLE_OFFSET))
		col->f64 = true;
	open->width = (col->roles & ROLE_FEATURE) && !col->f64 &&
		      (open->type || col->type == COLUMN_NUMERIC);
	open->dates = open->padded = open->type;
	if (col->type != COLUMN_NUMERIC && !open->type)
		col->f64 = false;
}

/* The label's type is settled by the task or the positive class; it is open
 * without either. */
static void
set_label_type(struct schema *s, bool task_given, struct infer_column *open)
{
	for (size_t c = 0; c < s->ncolumn; c++) {
		struct schema_column *col = &s->column[c];

		if (!(col->roles & ROLE_LABEL))
			continue;
		open[c].dates = false;
		open[c].type =
		    !task_given && !s->positive && s->positive_op == OP_NONE;
		if (s->positive_op != OP_NONE ||
		    (task_given && s->task == TASK_REGRESSION))
			col->type = COLUMN_NUMERIC;
	}
}

int
columns_name(struct schema *s, const struct featurize_options *o,
	     const struct source *source, struct infer_column *open,
	     struct error *err)
{
	struct naming m = {.s = s, .file = source_name(source), .err = err};
	bool all_f64 = is_all(&o->columns.float64);
	int ret;

	m.names = source_names(source, &m.n);
	m.claims = xcalloc(m.n + 1, sizeof(*m.claims));
	s->ncolumn = m.n;
	s->column = arena_calloc(&s->arena, m.n + 1, sizeof(*s->column));
	ret = claim_all(&m, &o->columns);
	for (size_t i = 0; i < m.n && ret == 0; i++) {
		s->column[i].name =
		    arena_memdup(&s->arena, m.names[i], strlen(m.names[i]));
		s->column[i].roles = roles_of(m.claims[i]);
		set_type(&s->column[i], m.claims[i], all_f64, &open[i]);
	}
	set_label_type(s, o->task_given, open);
	free(m.claims);
	return ret;
}

int
columns_libsvm(struct schema *s, const struct opt_list *group_by,
	       struct error *err)
{
	s->column =
	    arena_calloc(&s->arena, group_by->n + 1, sizeof(*s->column));
	s->group_column =
	    arena_calloc(&s->arena, group_by->n + 1, sizeof(*s->group_column));
	for (size_t i = 0; i < group_by->n; i++) {
		const char *text = group_by->item[i];
		char *canonical;
		int64_t index;

		if (opt_parse_int(text, &index) < 0 || index < 0 ||
		    index > UINT32_MAX - 1)
			return error_set(err, EXIT_USAGE,
					 "--group-by: not the number of a "
					 "feature: \"%s\"",
					 text);
		canonical = arena_alloc(&s->arena, 24);
		snprintf(canonical, 24, "%lld", (long long)index);
		if (schema_find_column(s, canonical) >= 0)
			return error_set(err, EXIT_USAGE,
					 "\"%s\": --group-by twice", text);
		s->column[i] = (struct schema_column){
		    .name = canonical,
		    .roles = ROLE_GROUP,
		    .type = COLUMN_CATEGORY,
		};
		s->group_column[i] = (uint32_t)i;
		s->ncolumn = s->ngroup_column = i + 1;
	}
	return 0;
}

/* --- features --- */

static void
add_feature(struct schema *s, size_t column, const char *suffix,
	    enum datetime_part part)
{
	const struct schema_column *col = &s->column[column];
	struct schema_feature *f = &s->feature[s->nfeature++];
	size_t len = strlen(col->name);
	char *name = arena_alloc(&s->arena, len + strlen(suffix) + 1);

	memcpy(name, col->name, len);
	strcpy(name + len, suffix);
	*f = (struct schema_feature){.name = name,
				     .column = (uint32_t)column,
				     .part = part,
				     .offset = (col->roles & ROLE_OFFSET) != 0};
	if (col->type == COLUMN_NUMERIC)
		f->kind = col->f64 ? FEATURE_F64 : FEATURE_F32;
	else
		f->kind = part == DT_DAY ? FEATURE_F64 : FEATURE_CATEGORY;
}

void
columns_features(struct schema *s)
{
	s->nfeature = 0;
	s->feature =
	    arena_calloc(&s->arena, 4 * s->ncolumn + 1, sizeof(*s->feature));
	if (s->input == INPUT_LIBSVM) {
		s->feature[s->nfeature++] = (struct schema_feature){
		    .name = "x", .kind = FEATURE_SPARSE};
		return;
	}
	for (size_t c = 0; c < s->ncolumn; c++) {
		if (!(s->column[c].roles & (ROLE_FEATURE | ROLE_OFFSET)))
			continue;
		if (s->column[c].type != COLUMN_DATETIME) {
			add_feature(s, c, "", DT_NONE);
			continue;
		}
		for (size_t i = 0; i < NDATE_PART; i++)
			if (!(s->column[c].parts_dropped >> date_part[i].part &
			      1))
				add_feature(s, c, date_part[i].suffix,
					    date_part[i].part);
	}
}

int
columns_categories(struct schema *s, const struct featurize_columns *c,
		   const char *file, struct error *err)
{
	const struct vocabulary_options o = {&c->hash_bits, &c->max_values,
					     &c->min_count};

	if (cross_features(s, &c->cross, file, err) < 0)
		return -1;
	return vocabulary_set(s, &o, file, err);
}
