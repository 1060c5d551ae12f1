#include "exec/trialfile.h"

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

int
trialfile_empty(struct trialfile *f, struct error *err)
{
	struct stat st;

	if (f->file == stdout || fstat(fileno(f->file), &st) ||
	    !S_ISREG(st.st_mode))
		return 0;
	if (ftruncate(fileno(f->file), 0))
		return error_sys(err, "%s", f->path);
	return 0;
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
