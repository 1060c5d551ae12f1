#include "exec/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

#define LOCK_WAIT_SEC 10
#define SUMMARY_VERSION 1

/* What may lie in a run directory before it has its plan. */
static bool
may_lie_there(const char *name)
{
	static const char aside[] = "plan.json.tmp.";

	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	       strcmp(name, "lock") == 0 ||
	       strncmp(name, aside, sizeof aside - 1) == 0;
}

static bool
holds_other_files(const char *run)
{
	DIR *d = opendir(run);
	struct dirent *e;
	bool any = false;

	if (d == NULL)
		return false;
	while ((e = readdir(d)) != NULL)
		any |= !may_lie_there(e->d_name);
	closedir(d);
	return any;
}

static int
make_folder(const char *run, struct error *err)
{
	struct strbuf path = STRBUF_INIT;
	bool ours = io_exists(io_join(&path, run, "plan.json"));
	int rc = 0;

	if (!ours && holds_other_files(run))
		rc = error_set(err, EXIT_CANNOT,
			       "%s: exists and is not a run directory", run);
	else
		rc = io_mkdir_p(run, err);
	strbuf_release(&path);
	return rc;
}

struct holder {
	char process[32];
};

/* Who has locked the file, by what it wrote there. */
static struct holder
holder_of(int fd)
{
	struct holder h = {""};
	ssize_t n = pread(fd, h.process, sizeof h.process - 1, 0);

	h.process[n > 0 ? (size_t)n : 0] = '\0';
	h.process[strcspn(h.process, "\n")] = '\0';
	if (h.process[0] == '\0')
		strcpy(h.process, "unknown");
	return h;
}

static int
take_lock(int fd, const char *run, rundir_waiting *waiting, struct error *err)
{
	const struct timespec tenth = {0, 100000000};
	char pid[32];
	int n;

	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_sys(err, "%s/lock", run);
		if (i >= LOCK_WAIT_SEC * 10)
			return error_set(err, EXIT_CANNOT,
					 "%s: in use by another run (process "
					 "%s)",
					 run, holder_of(fd).process);
		/* A moment, and the holder has written its number. */
		if (i == 1 && waiting)
			waiting(run, holder_of(fd).process);
		nanosleep(&tenth, NULL);
	}
	n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) || pwrite(fd, pid, (size_t)n, 0) != n)
		return error_sys(err, "%s/lock", run);
	return 0;
}

int
rundir_enter(const char *run, rundir_waiting *waiting, struct error *err)
{
	struct strbuf path = STRBUF_INIT;
	int fd = -1;

	if (make_folder(run, err) == 0) {
		io_join(&path, run, "lock");
		fd = open(path.buf, O_RDWR | O_CREAT, 0666);
		if (fd < 0)
			error_sys(err, "%s", path.buf);
		else if (take_lock(fd, run, waiting, err)) {
			close(fd);
			fd = -1;
		}
	}
	strbuf_release(&path);
	return fd;
}

int
rundir_load_plan(const char *run, struct plan *plan, struct error *err)
{
	struct strbuf path = STRBUF_INIT;
	int rc;

	io_join(&path, run, "plan.json");
	if (!io_exists(path.buf))
		rc = error_set(err, EXIT_CANNOT,
			       "%s: not a run directory (no plan.json)", run);
	else
		rc = plan_load_file(plan, path.buf, err);
	strbuf_release(&path);
	return rc;
}

/* The first value two spaces of as many configs differ in. */
static void
describe_configs(const struct space *a, const struct space *b,
		 struct strbuf *sb)
{
	for (size_t i = 0; i < a->nconfig; i++) {
		for (size_t k = 0; k < a->learner->nparam; k++) {
			if (a->config[i].value[k] == b->config[i].value[k])
				continue;
			strbuf_addf(sb, "config %zu has another %s", i,
				    a->learner->param[k].name);
			return;
		}
	}
}

/* What decides the models of Sequential configs besides. */
static void
describe_walks(const struct plan *there, const struct plan *here,
	       struct strbuf *sb)
{
	if (there->shuffle != here->shuffle)
		strbuf_addf(sb, "shuffle %s there, %s here",
			    shuffle_method_name(there->shuffle),
			    shuffle_method_name(here->shuffle));
	else if (there->buffer.share != here->buffer.share ||
		 there->buffer.bytes != here->buffer.bytes) {
		strbuf_addstr(sb, "buffer ");
		buffer_size_text(&there->buffer, sb);
		strbuf_addstr(sb, " there, ");
		buffer_size_text(&here->buffer, sb);
		strbuf_addstr(sb, " here");
	} else if (there->partition.workers != here->partition.workers)
		strbuf_addf(sb,
			    "%" PRIu32 " workers there, %" PRIu32
			    " here, and Sequential models of groups cut over "
			    "workers depend on it",
			    there->partition.workers, here->partition.workers);
	else if (here->partition.spec.strategy !=
		 there->partition.spec.strategy)
		strbuf_addf(sb, "strategy %s there, %s here",
			    strategy_name(there->partition.spec.strategy),
			    strategy_name(here->partition.spec.strategy));
	else if (there->local_batch != here->local_batch)
		strbuf_addf(sb, "--dp-batch %s there, %s here",
			    there->local_batch ? "local" : "global",
			    here->local_batch ? "local" : "global");
	else
		strbuf_addstr(sb, "other cuts or packs of split groups");
}

/* What the two plans differ in, for the message. */
static void
describe_difference(const struct plan *there, const struct plan *here,
		    struct strbuf *sb)
{
	const struct space *a = &there->space, *b = &here->space;

	if (there->partition.fingerprint != here->partition.fingerprint)
		strbuf_addf(
		    sb, "data 0x%016" PRIx64 " there, 0x%016" PRIx64 " here",
		    there->partition.fingerprint, here->partition.fingerprint);
	else if (a->learner != b->learner)
		strbuf_addf(sb, "learner %s there, %s here", a->learner->name,
			    b->learner->name);
	else if (there->epochs != here->epochs)
		strbuf_addf(sb, "epochs %" PRIu32 " there, %" PRIu32 " here",
			    there->epochs, here->epochs);
	else if (there->patience != here->patience)
		strbuf_addf(sb, "patience %" PRIu32 " there, %" PRIu32 " here",
			    there->patience, here->patience);
	else if (a->eta != b->eta)
		strbuf_addf(sb,
			    "halving by %" PRIu32 " there, %" PRIu32 " here",
			    a->eta, b->eta);
	else if (there->min_rows != here->min_rows)
		strbuf_addf(sb, "min-rows %" PRIu32 " there, %" PRIu32 " here",
			    there->min_rows, here->min_rows);
	else if (a->nconfig != b->nconfig)
		strbuf_addf(sb, "%zu configs there, %zu here", a->nconfig,
			    b->nconfig);
	else if (a->seed != b->seed)
		strbuf_addf(sb, "seed %" PRIu64 " there, %" PRIu64 " here",
			    a->seed, b->seed);
	else
		describe_configs(a, b, sb);
	if (sb->len == 0)
		describe_walks(there, here, sb);
}

static int
compare_plans(const char *run, const struct plan *plan, struct error *err)
{
	struct strbuf what = STRBUF_INIT;
	struct plan there = {0};
	int rc = rundir_load_plan(run, &there, err);

	if (rc == 0 && plan_identity(&there) != plan_identity(plan)) {
		describe_difference(&there, plan, &what);
		rc = error_set(err, EXIT_USAGE,
			       "%s: holds a run of another plan (%s); remove "
			       "it or choose another -o",
			       run, what.buf);
	}
	strbuf_release(&what);
	plan_release(&there);
	return rc;
}

static int
save_text(const char *path, const struct strbuf *text, struct error *err)
{
	struct outfile *f = outfile_open(path, err);

	if (f == NULL)
		return -1;
	if (outfile_write(f, text->buf, text->len, err)) {
		outfile_drop(f);
		return -1;
	}
	return outfile_commit(f, err);
}

int
rundir_put_plan(const char *run, const struct plan *plan, struct error *err)
{
	struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
	struct jout j;
	bool complete = io_exists(io_join(&path, run, "summary.json"));
	bool fresh = !io_exists(io_join(&path, run, "plan.json"));
	int rc = fresh ? 0 : compare_plans(run, plan, err);

	if (rc == 0 && !complete) {
		jout_begin(&j, &text, 1);
		plan_json(plan, &j);
		strbuf_addch(&text, '\n');
		rc = save_text(path.buf, &text, err);
	}
	if (rc == 0)
		rc = io_mkdir_p(io_join(&path, run, "journal"), err);
	strbuf_release(&text);
	strbuf_release(&path);
	return rc ? -1 : fresh;
}

int
rundir_save_summary(const char *run, const struct run_summary *sum,
		    struct error *err)
{
	struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
	struct jout j;
	int rc;

	jout_begin(&j, &text, 1);
	jout_object(&j);
	jout_key(&j, "kp");
	jout_cstr(&j, "summary");
	jout_key(&j, "version");
	jout_uint(&j, SUMMARY_VERSION);
	jout_key(&j, "groups");
	jout_uint(&j, sum->groups);
	jout_key(&j, "trained");
	jout_uint(&j, sum->trained);
	jout_key(&j, "fallback");
	jout_uint(&j, sum->fallback);
	jout_key(&j, "failed");
	jout_uint(&j, sum->failed);
	jout_key(&j, "trials");
	jout_uint(&j, sum->trials);
	jout_key(&j, "early");
	jout_uint(&j, sum->early);
	jout_key(&j, "sec");
	jout_real(&j, sum->sec);
	jout_end_object(&j);
	strbuf_addch(&text, '\n');
	rc = save_text(io_join(&path, run, "summary.json"), &text, err);
	strbuf_release(&text);
	strbuf_release(&path);
	return rc;
}

static int
read_summary(const struct jvalue *v, struct run_summary *sum, struct error *err)
{
	static const char *const known[] = {
	    "kp",     "version", "groups", "trained", "fallback",
	    "failed", "trials",	 "early",  "sec",     NULL};

	if (jsonio_check_kind(v, "summary", SUMMARY_VERSION, err) ||
	    jsonio_check_keys(v, known, err) ||
	    jsonio_get_u64(v, "groups", &sum->groups, err) ||
	    jsonio_get_u64(v, "trained", &sum->trained, err) ||
	    jsonio_get_u64(v, "fallback", &sum->fallback, err) ||
	    jsonio_get_u64(v, "failed", &sum->failed, err) ||
	    jsonio_get_u64(v, "trials", &sum->trials, err) ||
	    jsonio_get_real(v, "sec", &sum->sec, err))
		return -1;
	/* Runs from before there was patience do not have it. */
	if (jsonio_has(v, "early"))
		return jsonio_get_u64(v, "early", &sum->early, err);
	return 0;
}

int
rundir_load_summary(const char *run, struct run_summary *sum, struct error *err)
{
	struct strbuf path = STRBUF_INIT;
	struct jvalue *v = NULL;
	int rc = 0;

	*sum = (struct run_summary){0};
	io_join(&path, run, "summary.json");
	if (io_exists(path.buf)) {
		v = jsonio_load(path.buf, err);
		rc = v ? 1 : -1;
		if (v && read_summary(v, sum, err))
			rc = error_context(err, "%s", path.buf);
		jsonio_free(v);
	}
	strbuf_release(&path);
	return rc;
}

void
rundir_already(struct run_summary *sum, const struct run_summary *read)
{
	sum->already = true;
	sum->of_reason = read->of_reason;
	memcpy(sum->reason, read->reason, sizeof(sum->reason));
}

int
rundir_drop_summary(const char *run, struct error *err)
{
	struct strbuf path = STRBUF_INIT;
	int rc = 0;

	if (unlink(io_join(&path, run, "summary.json")) && errno != ENOENT)
		rc = error_sys(err, "%s", path.buf);
	strbuf_release(&path);
	return rc;
}
