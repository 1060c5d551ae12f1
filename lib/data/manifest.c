#include "data/manifest.h"

#include <math.h>
#include <string.h>
#include "base/jsonio.h"

#define FORMAT_NAME "kp-dataset"

static const char *const part_word[PART_COUNT] = {"train", "holdout", "test"};

void
manifest_block_file(uint32_t i, struct strbuf *sb)
{
	strbuf_addf(sb, "blocks-%05u.kpb", i);
}

static void
put_uint(struct jout *j, const char *key, uint64_t v)
{
	jout_key(j, key);
	jout_uint(j, v);
}

static void
put_totals(struct jout *j, const struct dataset_totals *t)
{
	jout_key(j, "totals");
	jout_object(j);
	put_uint(j, "rows", t->rows);
	for (int p = 0; p < PART_COUNT; p++)
		put_uint(j, part_word[p], t->rows_part[p]);
	put_uint(j, "groups", t->groups);
	put_uint(j, "blocks", t->blocks);
	put_uint(j, "left_out_label", t->left_out_label);
	put_uint(j, "left_out_weight", t->left_out_weight);
	put_uint(j, "left_out_ragged", t->left_out_ragged);
	put_uint(j, "bytes_in", t->bytes_in);
	jout_key(j, "label_mean");
	jout_real(j, t->label_mean);
	jout_key(j, "weight_sum");
	jout_real(j, t->weight_sum);
	jout_end_object(j);
}

static int
version_of(const struct manifest *m)
{
	if (!schema_is_plain(&m->schema))
		return DATASET_VERSION_FEATURES;
	return m->without_rows ? DATASET_VERSION_WITHOUT_ROWS : DATASET_VERSION;
}

void
manifest_put(const struct manifest *m, struct strbuf *sb)
{
	struct jout j;

	jout_begin(&j, sb, 2);
	jout_object(&j);
	jout_key(&j, "format");
	jout_cstr(&j, FORMAT_NAME);
	put_uint(&j, "version", (uint64_t)version_of(m));
	jout_key(&j, "fingerprint");
	jout_hex(&j, m->fingerprint);
	if (m->without_rows) {
		jout_key(&j, "facts_fingerprint");
		jout_hex(&j, m->index_fingerprint);
	}
	put_uint(&j, "block_files", m->nfile);
	put_totals(&j, &m->totals);
	jout_key(&j, "schema");
	schema_json(&m->schema, &j);
	jout_end_object(&j);
	strbuf_addch(sb, '\n');
}

static int
load_counts(struct dataset_totals *t, const struct jvalue *o, struct error *err)
{
	struct {
		const char *key;
		uint64_t *to;
	} count[] = {
	    {"rows", &t->rows},
	    {part_word[PART_TRAIN], &t->rows_part[PART_TRAIN]},
	    {part_word[PART_HOLDOUT], &t->rows_part[PART_HOLDOUT]},
	    {part_word[PART_TEST], &t->rows_part[PART_TEST]},
	    {"groups", &t->groups},
	    {"blocks", &t->blocks},
	    {"left_out_label", &t->left_out_label},
	    {"left_out_weight", &t->left_out_weight},
	    {"left_out_ragged", &t->left_out_ragged},
	    {"bytes_in", &t->bytes_in},
	};

	for (size_t i = 0; i < sizeof(count) / sizeof(*count); i++)
		if (jsonio_get_u64(o, count[i].key, count[i].to, err) < 0)
			return -1;
	return 0;
}

static int
load_totals(struct dataset_totals *t, const struct jvalue *o, struct error *err)
{
	static const char *const known[] = {"rows",
					    "train",
					    "holdout",
					    "test",
					    "groups",
					    "blocks",
					    "left_out_label",
					    "left_out_weight",
					    "left_out_ragged",
					    "bytes_in",
					    "label_mean",
					    "weight_sum",
					    NULL};

	if (jsonio_check_keys(o, known, err) < 0 ||
	    load_counts(t, o, err) < 0 ||
	    jsonio_get_real(o, "label_mean", &t->label_mean, err) < 0 ||
	    jsonio_get_real(o, "weight_sum", &t->weight_sum, err) < 0)
		return -1;
	if (!(t->weight_sum >= 0) || isinf(t->weight_sum) ||
	    isinf(t->label_mean))
		return error_set(err, EXIT_CORRUPT, "sums out of range");
	return 0;
}

/* A newer version may have any other key, so this comes first. */
static int
check_format(struct manifest *m, const struct jvalue *root, uint64_t *found,
	     struct error *err)
{
	const char *format;
	uint64_t version;
	size_t n;

	if (!jsonio_is_object(root) || !jsonio_has(root, "format") ||
	    jsonio_get_string(root, "format", &format, &n, err) < 0 ||
	    strcmp(format, FORMAT_NAME) != 0)
		return error_set(err, EXIT_CORRUPT,
				 "not the manifest of a kp dataset");
	if (jsonio_get_u64(root, "version", &version, err) < 0)
		return -1;
	*found = version;
	m->without_rows = version == DATASET_VERSION_WITHOUT_ROWS ||
			  (version == DATASET_VERSION_FEATURES &&
			   jsonio_has(root, "facts_fingerprint"));
	if (version < DATASET_VERSION || version > DATASET_VERSION_FEATURES)
		return error_set(err, EXIT_CORRUPT,
				 "dataset of format version %llu; this program "
				 "reads versions %d to %d",
				 (unsigned long long)version, DATASET_VERSION,
				 DATASET_VERSION_FEATURES);
	return 0;
}

static int
load_fingerprints(struct manifest *m, const struct jvalue *root,
		  struct error *err)
{
	if (jsonio_get_u64(root, "fingerprint", &m->fingerprint, err) < 0)
		return -1;
	m->index_fingerprint = m->fingerprint;
	return m->without_rows ? jsonio_get_u64(root, "facts_fingerprint",
						&m->index_fingerprint, err)
			       : 0;
}

static int
load(struct manifest *m, const struct jvalue *root, struct error *err)
{
	/* The first is for datasets without rows only. */
	static const char *const known[] = {
	    "facts_fingerprint", "format", "version", "fingerprint",
	    "block_files",	 "totals", "schema",  NULL};
	const struct jvalue *totals, *schema;
	uint64_t nfile, version = 0;

	if (check_format(m, root, &version, err) < 0 ||
	    jsonio_check_keys(root, m->without_rows ? known : known + 1, err) <
		0 ||
	    load_fingerprints(m, root, err) < 0 ||
	    jsonio_get_u64(root, "block_files", &nfile, err) < 0 ||
	    jsonio_get_object(root, "totals", &totals, err) < 0 ||
	    jsonio_get_object(root, "schema", &schema, err) < 0)
		return -1;
	if (nfile > UINT32_MAX)
		return error_set(err, EXIT_CORRUPT,
				 "\"block_files\": out of range");
	m->nfile = (size_t)nfile;
	if (load_totals(&m->totals, totals, err) < 0)
		return error_context(err, "\"totals\"");
	if (schema_load(&m->schema, schema, err) < 0)
		return -1;
	if (version == (uint64_t)version_of(m))
		return 0;
	schema_release(&m->schema);
	return error_set(err, EXIT_CORRUPT,
			 "\"version\": not that of such a schema");
}

int
manifest_get(struct manifest *m, const char *p, size_t n, struct error *err)
{
	struct jvalue *root = jsonio_parse(p, n, "JSON", err);
	int ret = -1;

	*m = (struct manifest){0};
	if (root)
		ret = load(m, root, err);
	jsonio_free(root);
	if (ret < 0)
		*m = (struct manifest){0};
	return ret;
}
