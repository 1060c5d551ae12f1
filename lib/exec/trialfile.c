#include "exec/trialfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/jsonio.h"
#include "base/mem.h"
#include "data/groupkey.h"

struct trialfile {
	char *path;
	FILE *file;
};

struct trialfile *
trialfile_open(const char *path, struct error *err)
{
	FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "a");
	struct trialfile *f;

	if (file == NULL) {
		error_sys(err, "%s", path);
		return NULL;
	}
	f = xcalloc(1, sizeof *f);
	f->path = xstrdup(path);
	f->file = file;
	return f;
}

/* Bytes of a regular file, -1 of anything else, which is not to be cut. */
static off_t
size_of(const struct trialfile *f)
{
	struct stat st;

	if (f->file == stdout || fstat(fileno(f->file), &st) ||
	    !S_ISREG(st.st_mode))
		return -1;
	return st.st_size;
}

static int
cut(struct trialfile *f, off_t size, struct error *err)
{
	if (ftruncate(fileno(f->file), size))
		return error_sys(err, "%s", f->path);
	return 0;
}

int
trialfile_empty(struct trialfile *f, struct error *err)
{
	return size_of(f) < 0 ? 0 : cut(f, 0, err);
}

/* Where the last line that is whole ends, of a file of size bytes; -1 if it
 * cannot be read. */
static off_t
whole_lines(int fd, off_t size)
{
	char buf[4096];

	while (size > 0) {
		size_t n = size < (off_t)sizeof buf ? (size_t)size : sizeof buf;
		const char *newline;

		if (pread(fd, buf, n, size - (off_t)n) != (ssize_t)n)
			return -1;
		newline = memrchr(buf, '\n', n);
		if (newline)
			return size - (off_t)n + (newline - buf) + 1;
		size -= (off_t)n;
	}
	return 0;
}

int
trialfile_mend(struct trialfile *f, struct error *err)
{
	off_t size = size_of(f), whole;
	int fd;

	if (size <= 0)
		return 0;
	/* f is open for writing alone. */
	fd = open(f->path, O_RDONLY | O_CLOEXEC);
	whole = fd < 0 ? -1 : whole_lines(fd, size);
	if (whole < 0)
		error_sys(err, "%s", f->path);
	if (fd >= 0)
		close(fd);
	if (whole < 0)
		return -1;
	return whole == size ? 0 : cut(f, whole, err);
}

static void
open_record(struct jout *j, struct strbuf *sb, const struct index *ix,
	    const struct trial *t)
{
	const struct index_group *g = &ix->group[t->group];

	jout_begin(j, sb, 0);
	jout_object(j);
	jout_key(j, "group");
	groupkey_json(ix->keys + g->key_offset, g->key_bytes, j);
	jout_key(j, "config");
	jout_uint(j, t->config);
	jout_key(j, "epoch");
	jout_uint(j, t->epoch);
	jout_key(j, "loss");
	jout_real(j, t->loss);
}

static void
close_record(struct trialfile *f, struct jout *j, struct strbuf *sb, double sec)
{
	jout_key(j, "sec");
	jout_real(j, sec);
	jout_end_object(j);
	strbuf_addch(sb, '\n');
	fwrite(sb->buf, 1, sb->len, f->file);
	strbuf_release(sb);
}

void
trialfile_step(struct trialfile *f, const struct index *ix, enum metric_kind by,
	       const struct trial *t)
{
	struct strbuf sb = STRBUF_INIT;
	struct jout j;

	open_record(&j, &sb, ix, t);
	jout_key(&j, "status");
	jout_cstr(&j, "step");
	jout_key(&j, "metrics");
	jout_object(&j);
	jout_key(&j, metric_name(by));
	jout_real(&j, t->holdout);
	jout_end_object(&j);
	close_record(f, &j, &sb, t->sec);
}

void
trialfile_done(struct trialfile *f, const struct index *ix,
	       const struct trial_done *d)
{
	struct trial t = {d->group, d->config, d->epoch, d->loss, 0, d->sec};
	struct strbuf sb = STRBUF_INIT;
	struct jout j;

	open_record(&j, &sb, ix, &t);
	jout_key(&j, "status");
	jout_cstr(&j, lane_status_name(d->status));
	jout_key(&j, "reason");
	jout_cstr(&j, d->reason);
	jout_key(&j, "objective");
	jout_real(&j, d->objective);
	jout_key(&j, "holdout_rows");
	jout_uint(&j, d->holdout_rows);
	jout_key(&j, "metrics");
	jout_object(&j);
	for (int k = 0; k < METRIC_COUNT; k++) {
		jout_key(&j, metric_name((enum metric_kind)k));
		jout_real(&j, d->metric[k]);
	}
	jout_end_object(&j);
	close_record(f, &j, &sb, d->sec);
}

void
trialfile_flush(struct trialfile *f)
{
	fflush(f->file);
}

int
trialfile_close(struct trialfile *f, struct error *err)
{
	bool bad;

	if (f == NULL)
		return 0;
	bad = fflush(f->file) || ferror(f->file);
	if (f->file != stdout)
		bad |= fclose(f->file) != 0;
	free(f->path);
	free(f);
	if (bad)
		return error_set(err, EXIT_CANNOT,
				 "trial records could not be written");
	return 0;
}
