#include "shuffle/shufflestate.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/io.h"
#include "base/jsonio.h"

#define STATE_KIND "shuffle-state"
#define STATE_VERSION 3
#define OPTIONS_MAX 16
#define NO_STATE "not a state of kp-shuffle"
#define NAME_MAX_BYTES 32 /* of an option */

/* The numbers of the file, in order, and where they are kept. */
static const struct {
	const char *key;
	size_t at;
} counts[] = {
    {"epoch", offsetof(struct shuffle_state, epoch)},
    {"buffer", offsetof(struct shuffle_state, buffer)},
    {"tuples", offsetof(struct shuffle_state, tuples)},
    {"rows", offsetof(struct shuffle_state, rows)},
    {"bytes", offsetof(struct shuffle_state, bytes)},
};
#define COUNTS (sizeof(counts) / sizeof(*counts))

/* The next of the lines "name value" at *p: 1, or 0 if there is none. */
static int
next_option(const char **p, char name[NAME_MAX_BYTES], struct strbuf *value)
{
	size_t n = strcspn(*p, " "), m;

	if (**p == '\0' || n >= NAME_MAX_BYTES)
		return 0;
	memcpy(name, *p, n);
	name[n] = '\0';
	*p += n + 1;
	m = strcspn(*p, "\n");
	strbuf_reset(value);
	strbuf_add(value, *p, m);
	*p += m + 1;
	return 1;
}

/* Of all that the file says: what is given is given on its word. */
static uint64_t
check_value(const struct shuffle_state *st)
{
	uint64_t h = hash64(st->options, strlen(st->options));

	h = hash64_seeded(&st->data, sizeof(st->data), h);
	for (size_t i = 0; i < COUNTS; i++)
		h = hash64_seeded((const char *)st + counts[i].at,
				  sizeof(uint64_t), h);
	return h;
}

static void
put_options(struct jout *j, const char *options)
{
	struct strbuf value = STRBUF_INIT;
	char name[NAME_MAX_BYTES];

	jout_key(j, "options");
	jout_object(j);
	while (next_option(&options, name, &value)) {
		jout_key(j, name);
		jout_string(j, value.buf, value.len);
	}
	jout_end_object(j);
	strbuf_release(&value);
}

int
shufflestate_save(const char *path, const struct shuffle_state *st,
		  struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	struct jout j;
	int ret;

	jout_begin(&j, &text, 1);
	jout_object(&j);
	jout_key(&j, "kp");
	jout_cstr(&j, STATE_KIND);
	jout_key(&j, "version");
	jout_int(&j, STATE_VERSION);
	jout_key(&j, "data");
	jout_hex(&j, st->data);
	put_options(&j, st->options);
	for (size_t i = 0; i < COUNTS; i++) {
		jout_key(&j, counts[i].key);
		jout_uint(&j,
			  *(const uint64_t *)((const char *)st + counts[i].at));
	}
	jout_key(&j, "check");
	jout_hex(&j, check_value(st));
	jout_end_object(&j);
	strbuf_addch(&text, '\n');
	ret = io_write_file(path, text.buf, text.len, err);
	strbuf_release(&text);
	return ret;
}

static int
get(const struct jvalue *v, struct shuffle_state *st, struct error *err)
{
	static const char *const known[] = {
	    "kp",     "version", "data",  "options", "epoch", "buffer",
	    "tuples", "rows",	 "bytes", "check",   NULL};

	if (!jsonio_is_object(v) || !jsonio_has(v, "kp"))
		return error_set(err, EXIT_CORRUPT, NO_STATE);
	if (jsonio_check_kind(v, STATE_KIND, STATE_VERSION, err) < 0 ||
	    jsonio_check_keys(v, known, err) < 0 ||
	    jsonio_get_u64(v, "data", &st->data, err) < 0)
		return -1;
	for (size_t i = 0; i < COUNTS; i++)
		if (jsonio_get_u64(v, counts[i].key,
				   (uint64_t *)((char *)st + counts[i].at),
				   err) < 0)
			return -1;
	return 0;
}

/* Fails with the first of the options that had another value. */
static int
compare(const struct jvalue *v, const char *options, struct error *err)
{
	struct strbuf value = STRBUF_INIT;
	char names[OPTIONS_MAX + 1][NAME_MAX_BYTES], *name = names[0];
	const char *known[OPTIONS_MAX + 1] = {0};
	size_t nknown = 0;
	const struct jvalue *o;
	int ret = jsonio_get_object(v, "options", &o, err);

	while (ret == 0 && next_option(&options, name, &value)) {
		const char *was;
		size_t n;

		assert(nknown < OPTIONS_MAX);
		known[nknown++] = name;
		ret = jsonio_get_string(o, name, &was, &n, err);
		if (ret == 0 &&
		    (n != value.len || memcmp(was, value.buf, n) != 0))
			ret = error_set(err, EXIT_USAGE,
					"made with --%s %s, not %s", name, was,
					value.buf);
		name = names[nknown];
	}
	strbuf_release(&value);
	return ret < 0 ? ret : jsonio_check_keys(o, known, err);
}

int
shufflestate_load(const char *path, const char *name, struct shuffle_state *st,
		  struct error *err)
{
	struct jvalue *v = jsonio_load(path, err);
	struct shuffle_state was = *st;
	uint64_t check;
	int ret;

	if (!v && err->code != EXIT_CANNOT)
		error_set(err, EXIT_CORRUPT, "%s: " NO_STATE, path);
	if (!v)
		return -1;
	ret = get(v, &was, err);
	if (ret == 0 && was.data != st->data)
		ret = error_set(err, EXIT_CORRUPT,
				"%s has changed since, or is another", name);
	if (ret == 0)
		ret = compare(v, st->options, err);
	if (ret == 0)
		ret = jsonio_get_u64(v, "check", &check, err);
	if (ret == 0 && check != check_value(&was))
		ret = error_set(err, EXIT_CORRUPT,
				"altered: no place in this order");
	if (ret == 0 && was.epoch < st->epoch)
		ret = error_set(err, EXIT_USAGE,
				"stopped in epoch %" PRIu64
				", before the first that is asked for",
				was.epoch);
	jsonio_free(v);
	if (ret < 0)
		return error_context(err, "%s", path);
	*st = was;
	return 0;
}

int
shufflestate_check_output(const char *path, const struct shuffle_state *st,
			  int fd, const char *name, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat there;
	uint64_t size, at;

	if (flags < 0 || fstat(fd, &there) < 0 || !S_ISREG(there.st_mode))
		return 0;
	size = (uint64_t)there.st_size;
	at = flags & O_APPEND ? size : (uint64_t)lseek(fd, 0, SEEK_CUR);
	if (size == st->bytes && at == size)
		return 0;
	if (size < st->bytes)
		return error_set(err, EXIT_USAGE,
				 "%s has %" PRIu64 " bytes, and %s goes on "
				 "behind %" PRIu64 ": append to what was "
				 "written (>>), or for the rest alone give "
				 "| cat",
				 name, size, path, st->bytes);
	return error_set(err, EXIT_USAGE,
			 "%s has %" PRIu64 " bytes, and %s goes on behind "
			 "%" PRIu64 ": truncate -s %" PRIu64 " it, and append "
			 "(>>)",
			 name, size, path, st->bytes, st->bytes);
}

void
shufflestate_add_order(enum shuffle_method method, uint64_t seed,
		       const struct order_rank *part, struct strbuf *options)
{
	strbuf_addf(options, "method %s\n", shuffle_method_name(method));
	strbuf_addf(options, "seed %" PRIu64 "\n", seed);
	strbuf_addf(options, "rank %" PRIu32 "/%" PRIu32 "\n", part->rank,
		    part->ranks ? part->ranks : 1);
	strbuf_addf(options, "even %s\n", part->even ? "yes" : "no");
}

/* Whether *skip ends in the epoch of the place; else it is taken from it, as
 * whole buffers are passed over. */
static bool
skip_buffers(struct shuffle_state *st, struct order *order, uint64_t *skip)
{
	size_t n = order_buffers(order, st->epoch);

	st->rows = 0;
	for (st->buffer = 0; st->buffer < n; st->buffer++) {
		uint64_t rows = order_buffer(order, st->epoch, st->buffer).rows;

		if (*skip < rows)
			return true;
		*skip -= rows;
		st->rows += rows;
	}
	st->buffer = st->rows = 0;
	return false;
}

bool
shufflestate_skip(struct shuffle_state *st, struct order *order,
		  struct order_skip *k)
{
	bool known = order_skip_epochs(k);

	st->epoch = k->epoch;
	while (order && st->epoch < k->end &&
	       !skip_buffers(st, order, &k->skip) && !known)
		st->epoch++;
	st->tuples = st->epoch < k->end ? k->skip : 0;
	st->rows += st->tuples;
	return st->epoch > k->end || (st->epoch == k->end && k->skip > 0);
}
