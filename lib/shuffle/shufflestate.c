#include "shuffle/shufflestate.h"

#include <stddef.h>
#include "base/io.h"
#include "base/jsonio.h"

#define STATE_KIND "shuffle-state"
#define STATE_VERSION 1

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
	jout_key(&j, "settings");
	jout_hex(&j, st->settings);
	for (size_t i = 0; i < COUNTS; i++) {
		jout_key(&j, counts[i].key);
		jout_uint(&j,
			  *(const uint64_t *)((const char *)st + counts[i].at));
	}
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
	    "kp",     "version", "data", "settings", "epoch",
	    "buffer", "tuples",	 "rows", "bytes",    NULL};

	if (jsonio_check_kind(v, STATE_KIND, STATE_VERSION, err) < 0 ||
	    jsonio_check_keys(v, known, err) < 0 ||
	    jsonio_get_u64(v, "data", &st->data, err) < 0 ||
	    jsonio_get_u64(v, "settings", &st->settings, err) < 0)
		return -1;
	for (size_t i = 0; i < COUNTS; i++)
		if (jsonio_get_u64(v, counts[i].key,
				   (uint64_t *)((char *)st + counts[i].at),
				   err) < 0)
			return -1;
	return 0;
}

int
shufflestate_load(const char *path, const char *name, uint64_t data,
		  uint64_t settings, struct shuffle_state *st,
		  struct error *err)
{
	struct jvalue *v = jsonio_load(path, err);
	int ret;

	if (!v)
		return -1;
	ret = get(v, st, err);
	jsonio_free(v);
	if (ret < 0)
		return error_context(err, "%s", path);
	if (st->data != data)
		return error_set(err, EXIT_CORRUPT,
				 "%s: %s has changed since, or is another",
				 path, name);
	if (st->settings != settings)
		return error_set(err, EXIT_USAGE, "%s: made with other options",
				 path);
	return 0;
}
