#include "model/bundle.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/frame.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/groupkey.h"

#define FORMAT_NAME "kp-bundle"
#define TRAILER_BYTES 32
#define HEADER_BYTES_MAX ((uint64_t)1 << 30)
#define OUTPUTS_MAX 65536
static const char trailer_magic[4] = {'k', 'p', 'm', 'E'};

/* --- writing --- */

struct bundle_writer {
	struct outfile *out;
	struct strbuf sizes; /* u64 of every MODEL frame */
	struct strbuf ends;  /* u64 end of every key in keys */
	struct strbuf keys;
	uint64_t ngroup;
	const struct schema *schema;
	size_t noutput;
	struct strbuf payload, frame, part; /* reused */
};

static void
writer_free(struct bundle_writer *w)
{
	strbuf_release(&w->sizes);
	strbuf_release(&w->ends);
	strbuf_release(&w->keys);
	strbuf_release(&w->payload);
	strbuf_release(&w->frame);
	strbuf_release(&w->part);
	free(w);
}

static int
write_frame(struct bundle_writer *w, uint32_t type, struct error *err)
{
	strbuf_reset(&w->frame);
	frame_add(&w->frame, type, w->payload.buf, w->payload.len);
	return outfile_write(w->out, w->frame.buf, w->frame.len, err);
}

/* Before there were the metrics of version 3. */
static int
old_version_of(const struct schema *s)
{
	return schema_is_plain(s) ? BUNDLE_VERSION : BUNDLE_VERSION_FEATURES;
}

static int
version_of(const struct schema *s)
{
	return s->task == TASK_REGRESSION ? BUNDLE_VERSION_METRICS
					  : old_version_of(s);
}

static void
header_json(const struct bundle_header *h, size_t noutput, struct strbuf *sb)
{
	struct jout j;

	jout_begin(&j, sb, 0);
	jout_object(&j);
	jout_key(&j, "format");
	jout_cstr(&j, FORMAT_NAME);
	jout_key(&j, "version");
	jout_int(&j, version_of(h->schema));
	jout_key(&j, "schema");
	schema_json(h->schema, &j);
	jout_key(&j, "learner");
	jout_cstr(&j, h->learner->name);
	jout_key(&j, "space");
	jout_json(&j, h->space_json);
	jout_key(&j, "by");
	jout_cstr(&j, metric_name(h->by));
	jout_key(&j, "data");
	jout_hex(&j, h->data_fingerprint);
	jout_key(&j, "seed");
	jout_uint(&j, h->seed);
	jout_key(&j, "epochs");
	jout_uint(&j, h->epochs);
	jout_key(&j, "min_rows");
	jout_uint(&j, h->min_rows);
	jout_key(&j, "min_holdout");
	jout_uint(&j, h->min_holdout);
	jout_key(&j, "prior");
	jout_array(&j);
	for (size_t i = 0; i < noutput; i++)
		jout_real(&j, h->prior[i]);
	jout_end_array(&j);
	jout_end_object(&j);
}

struct bundle_writer *
bundle_writer_new(const char *path, const struct bundle_header *h,
		  struct error *err)
{
	struct bundle_writer *w;
	struct outfile *out = outfile_open(path, err);

	if (!out)
		return NULL;
	w = xcalloc(1, sizeof(*w));
	w->out = out;
	w->schema = h->schema;
	strbuf_init(&w->sizes);
	strbuf_init(&w->ends);
	strbuf_init(&w->keys);
	strbuf_init(&w->payload);
	strbuf_init(&w->frame);
	strbuf_init(&w->part);
	w->noutput = h->learner->noutput(h->schema);
	header_json(h, w->noutput, &w->payload);
	if (write_frame(w, FRAME_BUNDLE, err) < 0) {
		bundle_writer_drop(w);
		return NULL;
	}
	return w;
}

static void
put_entry(struct strbuf *sb, const struct bundle_entry *e, uint32_t nmetric,
	  size_t noutput)
{
	put_u32(sb, e->status);
	put_u32(sb, e->level);
	put_bytes(sb, e->reason, strlen(e->reason));
	put_u32(sb, (uint32_t)e->config);
	put_u32(sb, e->epoch);
	put_u64(sb, e->rows);
	put_u64(sb, e->holdout_rows);
	put_f64(sb, e->holdout_weight);
	put_f64(sb, e->objective);
	metric_put_values(e->metric, nmetric, sb);
	put_u32(sb, (uint32_t)noutput);
	put_f64s(sb, e->fallback, noutput);
}

int
bundle_writer_add(struct bundle_writer *w, const struct group_facts *f,
		  const struct bundle_entry *e, struct error *err)
{
	bool more = version_of(w->schema) >= BUNDLE_VERSION_METRICS;

	strbuf_reset(&w->payload);
	put_entry(&w->payload, e, more ? METRIC_COUNT : METRIC_COUNT_V1,
		  w->noutput);
	strbuf_reset(&w->part);
	facts_put(f, w->schema, &w->part);
	put_bytes(&w->payload, w->part.buf, w->part.len);
	put_bytes(&w->payload, e->model, e->model_bytes);
	if (write_frame(w, FRAME_MODEL, err) < 0)
		return -1;
	put_u64(&w->sizes, w->frame.len);
	strbuf_add(&w->keys, f->key, f->key_bytes);
	put_u64(&w->ends, w->keys.len);
	w->ngroup++;
	return 0;
}

static int
write_index(struct bundle_writer *w, struct error *err)
{
	uint64_t offset = outfile_tell(w->out);
	struct strbuf *t = &w->part;

	strbuf_reset(&w->payload);
	put_u64(&w->payload, w->ngroup);
	strbuf_add(&w->payload, w->sizes.buf, w->sizes.len);
	strbuf_add(&w->payload, w->ends.buf, w->ends.len);
	put_bytes(&w->payload, w->keys.buf, w->keys.len);
	if (write_frame(w, FRAME_BUNDLE_INDEX, err) < 0)
		return -1;
	strbuf_reset(t);
	strbuf_add(t, trailer_magic, sizeof(trailer_magic));
	put_u32(t, (uint32_t)version_of(w->schema));
	put_u64(t, offset);
	put_u64(t, w->frame.len);
	put_u64(t, hash64(t->buf, t->len));
	return outfile_write(w->out, t->buf, t->len, err);
}

int
bundle_writer_commit(struct bundle_writer *w, struct error *err)
{
	int r = write_index(w, err);

	if (r == 0)
		r = outfile_commit(w->out, err);
	else
		outfile_drop(w->out);
	writer_free(w);
	return r;
}

void
bundle_writer_drop(struct bundle_writer *w)
{
	if (!w)
		return;
	outfile_drop(w->out);
	writer_free(w);
}

/* --- reading --- */

struct bundle {
	char *path;
	int fd;
	struct bundle_header header;
	struct schema schema;
	int64_t version;
	struct config *config;
	double *prior;
	size_t noutput;
	size_t ngroup;
	uint64_t *start;   /* [ngroup + 1] of MODEL frames in the file */
	uint64_t *key_end; /* [ngroup] in keys */
	char *keys;
	uint32_t *slot; /* [nslot] open-addressed: ordinal + 1, 0 empty */
	size_t nslot;	/* a power of two above ngroup */
	struct strbuf buf;
};

void
bundle_free(struct bundle *b)
{
	if (!b)
		return;
	if (b->fd >= 0)
		close(b->fd);
	schema_release(&b->schema);
	strbuf_release(&b->buf);
	free(b->config);
	free(b->prior);
	free(b->start);
	free(b->key_end);
	free(b->keys);
	free(b->slot);
	free(b->path);
	free(b);
}

bool
bundle_is(const char *path)
{
	struct error ignored;
	char head[8] = {0};
	struct stat st;
	int fd = io_open_read(path, &ignored);
	bool is;

	if (fd < 0)
		return false;
	is = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	     pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	     memcmp(head, "kpF1", 4) == 0 && head[4] == FRAME_BUNDLE;
	close(fd);
	return is;
}

static int
damaged(const struct bundle *b, struct error *err, const char *what)
{
	return error_set(err, EXIT_CORRUPT, "%s: damaged bundle: %s", b->path,
			 what);
}

/* The configs are in the object that says how they were searched. */
static int
load_configs(struct bundle *b, const struct jvalue *v, struct error *err)
{
	const struct jvalue *space, *a;
	size_t n;

	if (jsonio_get_object(v, "space", &space, err) < 0 ||
	    jsonio_get_array(space, "configs", &a, &n, err) < 0)
		return -1;
	b->config = xcalloc(n, sizeof(*b->config));
	for (size_t i = 0; i < n; i++)
		if (learner_config_load(b->header.learner, jsonio_at(a, i),
					&b->config[i], err) < 0)
			return error_context(err, "\"configs\": %zu", i);
	b->header.config = b->config;
	b->header.nconfig = n;
	return 0;
}

static int
load_prior(struct bundle *b, const struct jvalue *v, struct error *err)
{
	const struct jvalue *a;
	size_t n;

	b->noutput = b->header.learner->noutput(&b->schema);
	if (jsonio_get_array(v, "prior", &a, &n, err) < 0)
		return -1;
	if (n != b->noutput || n == 0 || n > OUTPUTS_MAX)
		return error_set(err, EXIT_CORRUPT, "\"prior\": wrong length");
	b->prior = xcalloc(n, sizeof(*b->prior));
	b->header.prior = b->prior;
	for (size_t i = 0; i < n; i++)
		if (jsonio_real(jsonio_at(a, i), &b->prior[i], err) < 0)
			return error_context(err, "\"prior\"");
	return 0;
}

static int
load_names(struct bundle *b, const struct jvalue *v, struct error *err)
{
	struct bundle_header *h = &b->header;
	const char *learner, *by;
	size_t n;
	int k;

	if (jsonio_get_string(v, "learner", &learner, &n, err) < 0 ||
	    jsonio_get_string(v, "by", &by, &n, err) < 0)
		return -1;
	h->learner = learner_by_name(learner);
	if (!h->learner)
		return error_set(err, EXIT_CORRUPT,
				 "\"learner\": this kp has none named \"%s\"",
				 learner);
	if (h->learner->check_task(&b->schema, err) < 0) {
		err->code = EXIT_CORRUPT;
		return -1;
	}
	k = metric_by_name(by);
	if (k < 0)
		return error_set(err, EXIT_CORRUPT, "\"by\": no metric \"%s\"",
				 by);
	h->by = (enum metric_kind)k;
	return 0;
}

static int
load_version(struct bundle *b, const struct jvalue *v, struct error *err)
{
	const char *format;
	size_t n;

	if (jsonio_get_string(v, "format", &format, &n, err) < 0 ||
	    jsonio_get_int(v, "version", &b->version, err) < 0)
		return -1;
	if (strcmp(format, FORMAT_NAME) != 0)
		return error_set(err, EXIT_CORRUPT, "not a kp bundle");
	if (b->version < BUNDLE_VERSION || b->version > BUNDLE_VERSION_METRICS)
		return error_set(
		    err, EXIT_CORRUPT,
		    "bundle version %" PRId64 ", this kp reads %d to %d",
		    b->version, BUNDLE_VERSION, BUNDLE_VERSION_METRICS);
	return 0;
}

static int
load_header(struct bundle *b, const struct jvalue *v, struct error *err)
{
	static const char *const known[] = {
	    "format",	   "version", "schema", "learner", "space",
	    "by",	   "data",    "seed",	"epochs",  "min_rows",
	    "min_holdout", "prior",   NULL};
	struct bundle_header *h = &b->header;
	const struct jvalue *schema;
	uint64_t epochs;

	if (!jsonio_is_object(v))
		return error_set(err, EXIT_CORRUPT, "not an object");
	if (load_version(b, v, err) < 0 ||
	    jsonio_check_keys(v, known, err) < 0 ||
	    jsonio_get_object(v, "schema", &schema, err) < 0)
		return -1;
	h->schema = &b->schema;
	if (schema_load(&b->schema, schema, err) < 0 ||
	    load_names(b, v, err) < 0 || load_configs(b, v, err) < 0 ||
	    load_prior(b, v, err) < 0 ||
	    jsonio_get_u64(v, "data", &h->data_fingerprint, err) < 0 ||
	    jsonio_get_u64(v, "seed", &h->seed, err) < 0 ||
	    jsonio_get_u64(v, "epochs", &epochs, err) < 0 ||
	    jsonio_get_u64(v, "min_rows", &h->min_rows, err) < 0 ||
	    jsonio_get_u64(v, "min_holdout", &h->min_holdout, err) < 0)
		return -1;
	if (epochs > UINT32_MAX)
		return error_set(err, EXIT_CORRUPT, "\"epochs\": too large");
	h->epochs = (uint32_t)epochs;
	if (b->version != version_of(&b->schema) &&
	    b->version != old_version_of(&b->schema))
		return error_set(err, EXIT_CORRUPT,
				 "\"version\": not that of its schema");
	return 0;
}

/* Reads the first frame; *end is where the next begins. */
static int
read_header(struct bundle *b, uint64_t file_bytes, uint64_t *end,
	    struct error *err)
{
	char head[FRAME_HEADER_BYTES] = {0};
	struct cursor c = cursor_of(head + 4, sizeof(head) - 4);
	struct jvalue *v;
	struct frame f;
	uint64_t n;
	int r;

	if (io_pread_all(b->fd, head, sizeof(head), 0, b->path, err) < 0)
		return -1;
	if (memcmp(head, "kpF1", 4) != 0 || get_u32(&c) != FRAME_BUNDLE)
		return error_set(err, EXIT_CORRUPT, "%s: not a kp bundle",
				 b->path);
	n = get_u64(&c);
	if (n > HEADER_BYTES_MAX || n > file_bytes - sizeof(head))
		return damaged(b, err, "the header is longer than the file");
	*end = sizeof(head) + n;
	if (frame_pread(b->fd, b->path, 0, *end, &b->buf, &f, err) < 0)
		return -1;
	v = jsonio_parse((const char *)f.payload, f.payload_bytes, b->path,
			 err);
	if (!v)
		return -1;
	r = load_header(b, v, err);
	if (r < 0)
		error_context(err, "%s", b->path);
	jsonio_free(v);
	return r;
}

/* The trailer of a whole file says where the INDEX frame is; it lies right
 * before the trailer. */
static int
read_trailer(struct bundle *b, uint64_t file_bytes, uint64_t *offset,
	     struct error *err)
{
	char t[TRAILER_BYTES] = {0};
	struct cursor c = cursor_of(t + 4, sizeof(t) - 4);
	uint64_t at = file_bytes - TRAILER_BYTES, bytes, sum;
	uint32_t version;

	if (io_pread_all(b->fd, t, sizeof(t), at, b->path, err) < 0)
		return -1;
	version = get_u32(&c);
	*offset = get_u64(&c);
	bytes = get_u64(&c);
	sum = get_u64(&c);
	if (memcmp(t, trailer_magic, sizeof(trailer_magic)) != 0 ||
	    sum != hash64(t, TRAILER_BYTES - 8))
		return damaged(b, err, "no trailer at its end (truncated?)");
	if (version != b->version || *offset > at || bytes != at - *offset)
		return damaged(b, err, "the trailer does not fit the file");
	return 0;
}

static uint64_t
key_start(const struct bundle *b, size_t i)
{
	return i ? b->key_end[i - 1] : 0;
}

const char *
bundle_key(const struct bundle *b, size_t i, size_t *key_bytes)
{
	uint64_t start = key_start(b, i);

	*key_bytes = (size_t)(b->key_end[i] - start);
	return b->keys + start;
}

/* Keys are well-formed and ascending, so no two are equal. */
static int
check_keys(const struct bundle *b, size_t keys_bytes, struct error *err)
{
	size_t nfield = b->schema.ngroup_column, n, before_n = 0;
	const char *key, *before = NULL;

	for (size_t i = 0; i < b->ngroup; i++) {
		if (b->key_end[i] > keys_bytes ||
		    b->key_end[i] < key_start(b, i))
			return damaged(b, err, "a key lies outside the index");
		key = bundle_key(b, i, &n);
		if (groupkey_check(key, n, nfield ? nfield : 1) < 0)
			return damaged(b, err, "a malformed group key");
		if (before && groupkey_compare(before, before_n, key, n) >= 0)
			return damaged(b, err, "group keys out of order");
		before = key;
		before_n = n;
	}
	if (keys_bytes != (b->ngroup ? b->key_end[b->ngroup - 1] : 0))
		return damaged(b, err, "more key bytes than keys");
	return 0;
}

static void
make_table(struct bundle *b)
{
	size_t n;

	b->nslot = 16;
	while (b->nslot / 2 < b->ngroup)
		b->nslot *= 2;
	b->slot = xcalloc(b->nslot, sizeof(*b->slot));
	for (size_t i = 0; i < b->ngroup; i++) {
		const char *key = bundle_key(b, i, &n);
		size_t s = hash64(key, n) & (b->nslot - 1);

		while (b->slot[s])
			s = (s + 1) & (b->nslot - 1);
		b->slot[s] = (uint32_t)i + 1;
	}
}

static int
read_index(struct bundle *b, uint64_t first, uint64_t offset, uint64_t end,
	   struct error *err)
{
	struct cursor c;
	struct frame f;
	const char *keys;
	size_t keys_bytes;

	if (frame_pread(b->fd, b->path, offset, end - offset, &b->buf, &f,
			err) < 0)
		return -1;
	if (f.type != FRAME_BUNDLE_INDEX)
		return damaged(b, err, "no index where it should be");
	c = cursor_of(f.payload, f.payload_bytes);
	b->ngroup = get_count(&c, 16);
	if (b->ngroup >= UINT32_MAX)
		return damaged(b, err, "too many groups");
	b->start = xcalloc(b->ngroup + 1, sizeof(*b->start));
	b->key_end = xcalloc(b->ngroup, sizeof(*b->key_end));
	b->start[0] = first;
	get_u64s(&c, b->start + 1, b->ngroup);
	get_u64s(&c, b->key_end, b->ngroup);
	keys = get_bytes(&c, &keys_bytes);
	if (!cursor_done(&c))
		return damaged(b, err, "the index has a wrong length");
	for (size_t i = 0; i < b->ngroup; i++) {
		if (b->start[i + 1] > offset - b->start[i])
			return damaged(b, err, "a model lies outside the file");
		b->start[i + 1] += b->start[i];
	}
	if (b->start[b->ngroup] != offset)
		return damaged(b, err, "bytes that belong to no model");
	b->keys = xmemdup(keys ? keys : "", keys_bytes);
	if (check_keys(b, keys_bytes, err) < 0)
		return -1;
	make_table(b);
	return 0;
}

static int
read_frame(struct bundle *b, size_t i, struct frame *f, struct error *err)
{
	if (frame_pread(b->fd, b->path, b->start[i],
			b->start[i + 1] - b->start[i], &b->buf, f, err) < 0)
		return -1;
	if (f->type != FRAME_MODEL)
		return damaged(b, err, "no model where one should be");
	return 0;
}

static int
open_checked(struct bundle *b, bool verify, struct error *err)
{
	uint64_t first = 0, offset = 0, file_bytes;
	struct frame f;
	struct stat st;

	if (fstat(b->fd, &st) < 0)
		return error_sys(err, "%s", b->path);
	file_bytes = (uint64_t)st.st_size;
	if (!S_ISREG(st.st_mode) ||
	    file_bytes < FRAME_HEADER_BYTES + TRAILER_BYTES)
		return error_set(err, EXIT_CORRUPT,
				 "%s: not a kp bundle, or truncated", b->path);
	if (read_header(b, file_bytes, &first, err) < 0 ||
	    read_trailer(b, file_bytes, &offset, err) < 0)
		return -1;
	if (first > offset)
		return damaged(b, err, "the index lies in the header");
	if (read_index(b, first, offset, file_bytes - TRAILER_BYTES, err) < 0)
		return -1;
	for (size_t i = 0; verify && i < b->ngroup; i++)
		if (read_frame(b, i, &f, err) < 0)
			return -1;
	return 0;
}

struct bundle *
bundle_open(const char *path, bool verify, struct error *err)
{
	struct bundle *b = xcalloc(1, sizeof(*b));

	strbuf_init(&b->buf);
	b->path = xstrdup(path);
	b->fd = io_open_read(path, err);
	if (b->fd < 0 || open_checked(b, verify, err) < 0) {
		bundle_free(b);
		return NULL;
	}
	return b;
}

const struct bundle_header *
bundle_header_of(const struct bundle *b)
{
	return &b->header;
}

size_t
bundle_outputs(const struct bundle *b)
{
	return b->noutput;
}

size_t
bundle_groups(const struct bundle *b)
{
	return b->ngroup;
}

int64_t
bundle_find(const struct bundle *b, const void *key, size_t key_bytes)
{
	size_t s = hash64(key, key_bytes) & (b->nslot - 1), n;

	for (; b->slot[s]; s = (s + 1) & (b->nslot - 1)) {
		const char *k = bundle_key(b, b->slot[s] - 1, &n);

		if (n == key_bytes && memcmp(k, key, n) == 0)
			return (int64_t)b->slot[s] - 1;
	}
	return -1;
}

/* Everything of an entry but fallback and model. */
static bool
get_entry(const struct bundle *b, struct cursor *c, struct bundle_entry *e)
{
	const char *reason;
	uint32_t nmetric;
	size_t n;

	e->status = get_u32(c);
	e->level = get_u32(c);
	reason = get_bytes(c, &n);
	if (n >= sizeof(e->reason))
		return false;
	if (n)
		memcpy(e->reason, reason, n);
	e->config = (int32_t)get_u32(c);
	e->epoch = get_u32(c);
	e->rows = get_u64(c);
	e->holdout_rows = get_u64(c);
	e->holdout_weight = get_f64(c);
	e->objective = get_f64(c);
	if (metric_get_values(e->metric, &nmetric, c) < 0)
		return false;
	return cursor_ok(c) && e->status < BUNDLE_STATUS_COUNT &&
	       e->level < BUNDLE_LEVEL_COUNT && e->config >= -1 &&
	       e->config < (int64_t)b->header.nconfig &&
	       !memchr(e->reason, '\0', n);
}

/* The same key and number as the index says; fallback and model into the
 * facts' arena. */
static bool
take_rest(const struct bundle *b, size_t i, struct group_facts *f,
	  struct bundle_entry *e, const double *fallback)
{
	const char *key;
	size_t n;

	key = bundle_key(b, i, &n);
	if (f->ordinal != i || f->key_bytes != n || memcmp(f->key, key, n))
		return false;
	if (e->model_bytes && e->config < 0)
		return false;
	e->fallback = arena_calloc(&f->arena, b->noutput, sizeof(double));
	for (size_t k = 0; k < b->noutput; k++) {
		if (!isfinite(fallback[k]))
			return false;
		e->fallback[k] = fallback[k];
	}
	e->model = arena_memdup(&f->arena, e->model, e->model_bytes);
	return true;
}

static int
decode(struct bundle *b, size_t i, struct cursor *c, struct group_facts *f,
       struct bundle_entry *e)
{
	double *fallback = xcalloc(b->noutput, sizeof(*fallback));
	const void *facts = NULL;
	size_t facts_bytes = 0;
	struct error ignored;
	int r = -1;

	if (!get_entry(b, c, e) || get_u32(c) != b->noutput)
		goto out;
	get_f64s(c, fallback, b->noutput);
	facts = get_bytes(c, &facts_bytes);
	e->model = get_bytes(c, &e->model_bytes);
	if (!cursor_done(c) ||
	    facts_get(f, &b->schema, facts, facts_bytes, &ignored) < 0)
		goto out;
	if (take_rest(b, i, f, e, fallback))
		r = 0;
	else
		facts_release(f);
out:
	free(fallback);
	return r;
}

int
bundle_read(struct bundle *b, size_t i, struct group_facts *f,
	    struct bundle_entry *e, struct error *err)
{
	struct cursor c;
	struct frame frame;

	memset(f, 0, sizeof(*f));
	memset(e, 0, sizeof(*e));
	if (read_frame(b, i, &frame, err) < 0)
		return -1;
	c = cursor_of(frame.payload, frame.payload_bytes);
	if (decode(b, i, &c, f, e) < 0)
		return error_set(err, EXIT_CORRUPT,
				 "%s: damaged bundle: group number %zu",
				 b->path, i);
	return 0;
}
