#include "data/compressed.h"

#include <string.h>
#include "base/strbuf.h"
#include "data/record.h"

#define ANY '?' /* in a signature */

static const struct format {
	const char *name;
	const char *signature;
	size_t n;
	const char *file_command, *stdin_command;
} formats[] = {
    {"gzip", "\x1f\x8b", 2, "gzip -dc", "gzip -dc"},
    {"zstd", "\x28\xb5\x2f\xfd", 4, "zstd -dc", "zstd -dc"},
    {"xz", "\xfd\x37zXZ\0", 6, "xz -dc", "xz -dc"},
    {"bzip2", "BZh?1AY&SY", 10, "bzip2 -dc", "bzip2 -dc"},
    {"zip", "PK\3\4", 4, "unzip -p", "funzip"},
};
#define NFORMAT (sizeof(formats) / sizeof(*formats))

/* Whether the bytes agree with a signature as far as both go. */
static bool
agrees(const struct format *f, const char *p, size_t n)
{
	for (size_t i = 0; i < n && i < f->n; i++) {
		if (p[i] != f->signature[i] && f->signature[i] != ANY)
			return false;
	}
	return true;
}

bool
compressed_undecided(const char *p, size_t n)
{
	for (size_t i = 0; i < NFORMAT; i++) {
		if (n < formats[i].n && agrees(&formats[i], p, n))
			return true;
	}
	return false;
}

int
compressed_refuse(const char *file, const char *p, size_t n, struct error *err)
{
	bool is_stdin = strcmp(file, "-") == 0;
	struct strbuf command = STRBUF_INIT;
	const struct format *f = formats;

	while (f < formats + NFORMAT && !(n >= f->n && agrees(f, p, n)))
		f++;
	if (f == formats + NFORMAT)
		return 0;
	strbuf_addstr(&command, is_stdin ? f->stdin_command : f->file_command);
	if (!is_stdin) {
		strbuf_addch(&command, ' ');
		strbuf_addword(&command, file);
	}
	error_set(err, EXIT_DATA, "%s: %s-compressed (use: %s | ...)",
		  record_file_name(file), f->name, command.buf);
	strbuf_release(&command);
	return -1;
}
