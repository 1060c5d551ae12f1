#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "exec/rundir.h"

static char dir[32];
static char run[64]; /* dir/run, absent */
static struct strbuf text = STRBUF_INIT;

static void
fresh(void)
{
	snprintf(dir, sizeof dir, "/tmp/test_rundir.XXXXXX");
	if (mkdtemp(dir) == NULL)
		abort();
	snprintf(run, sizeof run, "%s/run", dir);
}

/* A formatted text that lives until the next. */
__attribute__((format(printf, 1, 2))) static const char *
fmt(const char *f, ...)
{
	va_list ap;

	strbuf_reset(&text);
	va_start(ap, f);
	strbuf_vaddf(&text, f, ap);
	va_end(ap);
	return text.buf;
}

static void
write_file(const char *path, const char *bytes)
{
	FILE *f = fopen(path, "w");

	fputs(bytes, f);
	fclose(f);
}

struct recipe {
	const char *learner, *param;
	int64_t epochs, min_rows, seed;
	uint64_t fingerprint;
	uint32_t workers;
};

static const struct recipe usual = {"logistic", "l2=0.1,0.01", 100, 10,
				    1,		0xabcd,	       2};

/* A plan for two groups of 30 and 10 rows. */
static void
make_plan(struct plan *p, const struct recipe *r)
{
	const uint64_t rows[] = {30, 10};
	struct error err = ERROR_NONE;

	*p = (struct plan){.epochs = (uint32_t)r->epochs,
			   .pack_width = 16,
			   .min_rows = (uint32_t)r->min_rows};
	partition_make(&p->partition,
		       &(struct partition_spec){.workers = r->workers}, rows,
		       2);
	p->partition.data = xstrdup("/data");
	p->partition.fingerprint = r->fingerprint;
	space_init(&p->space, learner_by_name(r->learner));
	p->space.seed = (uint64_t)r->seed;
	CHECK_OK(space_add_param(&p->space, r->param, &err), err);
	CHECK_OK(space_set_search(&p->space, "grid", &err), err);
	CHECK_OK(space_expand(&p->space, &err), err);
	plan_make_packs(p);
}

static int
put(const struct recipe *r, struct error *err)
{
	struct plan p;
	bool was_new;
	int rc;

	make_plan(&p, r);
	was_new = !io_exists(fmt("%s/plan.json", run));
	rc = rundir_put_plan(run, &p, err);
	plan_release(&p);
	if (rc < 0)
		return -1;
	CHECK_INT(rc, was_new);
	return 0;
}

static void
enter(void)
{
	struct error err = ERROR_NONE;
	struct strbuf pid = STRBUF_INIT;
	struct plan p = {0};
	int fd;

	fresh();
	fd = rundir_enter(run, NULL, &err);
	CHECK(fd >= 0);
	CHECK_INT(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	CHECK_OK(io_read_file(fmt("%s/lock", run), 0, &pid, &err), err);
	CHECK_STR(pid.buf, fmt("%ld\n", (long)getpid()));
	CHECK_OK(put(&usual, &err), err);
	CHECK(io_exists(fmt("%s/journal", run)));
	CHECK_OK(rundir_load_plan(run, &p, &err), err);
	CHECK_INT(p.epochs, usual.epochs);
	CHECK_INT(p.space.nconfig, 2);
	plan_release(&p);
	close(fd);
	fd = rundir_enter(run, NULL, &err);
	CHECK(fd >= 0);
	close(fd);
	strbuf_release(&pid);
	io_remove_tree(dir);
}

/* A run that was killed before it had stored its plan. */
static void
early_death(void)
{
	struct error err = ERROR_NONE;
	int fd;

	fresh();
	mkdir(run, 0777);
	write_file(fmt("%s/lock", run), "1234567\n");
	write_file(fmt("%s/plan.json.tmp.77", run), "{");
	fd = rundir_enter(run, NULL, &err);
	CHECK(fd >= 0);
	CHECK_OK(put(&usual, &err), err);
	close(fd);
	io_remove_tree(dir);
}

static void
foreign(void)
{
	struct error err;

	fresh();
	mkdir(run, 0777);
	write_file(fmt("%s/precious", run), "x");
	CHECK_ERROR(rundir_enter(run, NULL, &err), err, EXIT_CANNOT,
		    fmt("%s: exists and is not a run directory", run));
	CHECK(!io_exists(fmt("%s/lock", run)));
	CHECK(!io_exists(fmt("%s/journal", run)));
	CHECK_INT(unlink(fmt("%s/precious", run)), 0);
	CHECK_INT(rmdir(run), 0);

	write_file(run, "a file");
	CHECK_ERROR(rundir_enter(run, NULL, &err), err, EXIT_CANNOT,
		    fmt("%s: not a folder", run));
	io_remove_tree(dir);
}

static void
not_a_run(void)
{
	struct plan p;
	struct error err;

	fresh();
	CHECK_ERROR(rundir_load_plan(run, &p, &err), err, EXIT_CANNOT,
		    fmt("%s: not a run directory (no plan.json)", run));
	io_remove_tree(dir);
}

/* A child that holds the lock of run until it is killed, or for sec seconds;
 * with a child of its own that holds it too. */
static pid_t
hold_lock(double sec)
{
	struct error err = ERROR_NONE;
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(ready))
		abort();
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		double end = clock_sec() + sec;

		if (rundir_enter(run, NULL, &err) < 0 ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		while (clock_sec() < end)
			usleep(10000);
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		abort();
	close(ready[0]);
	return pid;
}

static int told;
static char told_process[32];

static void
tell(const char *path, const char *process)
{
	told += strcmp(path, run) == 0;
	snprintf(told_process, sizeof told_process, "%s", process);
}

static void
lock_waits(void)
{
	struct error err = ERROR_NONE;
	double start;
	pid_t pid;
	int fd;

	fresh();
	pid = hold_lock(0.7);
	start = clock_sec();
	fd = rundir_enter(run, tell, &err);
	CHECK(fd >= 0);
	CHECK(clock_sec() - start > 0.3);
	CHECK_INT(told, 1);
	CHECK_INT(atoi(told_process), pid);
	close(fd);
	waitpid(pid, NULL, 0);
	io_remove_tree(dir);
}

static void
lock_refuses(void)
{
	struct error err;
	double start = clock_sec();
	pid_t pid;

	fresh();
	pid = hold_lock(60);
	CHECK_ERROR(
	    rundir_enter(run, NULL, &err), err, EXIT_CANNOT,
	    fmt("%s: in use by another run (process %ld)", run, (long)pid));
	CHECK(clock_sec() - start >= 9.5);
	CHECK(clock_sec() - start < 20);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	io_remove_tree(dir);
}

/* The lock falls only when the last process that inherited it has gone. */
static void
lock_inherited(void)
{
	struct error err = ERROR_NONE;
	int fd, other;
	pid_t pid;

	fresh();
	fd = rundir_enter(run, NULL, &err);
	CHECK(fd >= 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	close(fd);
	other = open(fmt("%s/lock", run), O_RDWR);
	CHECK_INT(flock(other, LOCK_EX | LOCK_NB), -1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK_INT(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	io_remove_tree(dir);
}

static void
refused(const struct recipe *r, const char *difference)
{
	struct error err;
	char want[256];

	snprintf(want, sizeof want,
		 "%s: holds a run of another plan (%s); remove it or choose "
		 "another -o",
		 run, difference);
	CHECK_ERROR(put(r, &err), err, EXIT_USAGE, want);
}

static void
other_plan(void)
{
	struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct recipe r = usual;

	fresh();
	mkdir(run, 0777);
	CHECK_OK(put(&usual, &err), err);
	CHECK_OK(io_read_file(fmt("%s/plan.json", run), 0, &before, &err), err);
	r.fingerprint = 0xffff;
	refused(&r, "data 0x000000000000abcd there, 0x000000000000ffff here");
	r = usual;
	r.learner = "linear";
	refused(&r, "learner logistic there, linear here");
	r = usual;
	r.epochs = 99;
	refused(&r, "epochs 100 there, 99 here");
	r = usual;
	r.min_rows = 2;
	refused(&r, "min-rows 10 there, 2 here");
	r = usual;
	r.param = "l2=0.1";
	refused(&r, "2 configs there, 1 here");
	r = usual;
	r.param = "l2=0.1,0.02";
	refused(&r, "config 1 has another l2");
	r = usual;
	r.seed = 2;
	refused(&r, "seed 1 there, 2 here");
	CHECK_OK(io_read_file(fmt("%s/plan.json", run), 0, &after, &err), err);
	CHECK_STR(after.buf, before.buf);
	strbuf_release(&before);
	strbuf_release(&after);
	io_remove_tree(dir);
}

static void
other_workers(void)
{
	struct error err = ERROR_NONE;
	struct recipe r = usual;
	struct plan p = {0};

	fresh();
	mkdir(run, 0777);
	CHECK_OK(put(&usual, &err), err);
	r.workers = 3;
	r.param = "l2=0.1,0.01,0.1"; /* the same configs */
	CHECK_OK(put(&r, &err), err);
	CHECK_OK(rundir_load_plan(run, &p, &err), err);
	CHECK_INT(p.partition.workers, 3);
	plan_release(&p);
	io_remove_tree(dir);
}

static void
summary(void)
{
	struct run_summary s = {.groups = 7,
				.trained = 4,
				.fallback = 2,
				.failed = 1,
				.trials = 15,
				.sec = 0.1},
			   got;
	struct error err = ERROR_NONE;

	fresh();
	mkdir(run, 0777);
	CHECK_INT(rundir_load_summary(run, &got, &err), 0);
	CHECK_OK(rundir_save_summary(run, &s, &err), err);
	CHECK_INT(rundir_load_summary(run, &got, &err), 1);
	CHECK_INT(got.groups, 7);
	CHECK_INT(got.trained, 4);
	CHECK_INT(got.fallback, 2);
	CHECK_INT(got.failed, 1);
	CHECK_INT(got.trials, 15);
	CHECK_BITS(got.sec, 0.1);
	write_file(fmt("%s/summary.json", run), "{");
	CHECK_INT(rundir_load_summary(run, &got, &err), -1);
	io_remove_tree(dir);
}

int
main(void)
{
	check_run("a run directory is made, locked, and entered again", enter);
	check_run("a run that died before it had a plan is taken up",
		  early_death);
	check_run("a folder or file of somebody else is left alone", foreign);
	check_run("a folder without a plan is no run", not_a_run);
	check_run("a lock held for a while is waited for", lock_waits);
	check_run("a lock held for 10 seconds is refused, naming the holder",
		  lock_refuses);
	check_run("the lock is held by all who inherited it", lock_inherited);
	check_run("another plan is refused, naming what differs", other_plan);
	check_run("the same configs for other workers are taken",
		  other_workers);
	check_run("a summary comes back; half of one is refused", summary);
	strbuf_release(&text);
	return check_done();
}
