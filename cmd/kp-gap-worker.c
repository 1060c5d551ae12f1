#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "exec/gap.h"
#include "exec/gapwire.h"
#include "exec/rundir.h"

static int64_t worker, workers, parent_fd = -1;
static const char *peers = "", *data;
static uint64_t memory_bytes = (uint64_t)1 << 30;
static double checkpoint_sec = 5, start_sec;
static bool trials;

static const struct opt options[] = {
    {"worker", 0, OPT_INT, &worker, "K", "number of this worker, from 0", 0,
     WORKERS_MAX - 1},
    {"workers", 0, OPT_INT, &workers, "P", "how many there are", 1,
     WORKERS_MAX},
    {"parent", 0, OPT_INT, &parent_fd, "FD", "socket to kp-train", 0, 1 << 20},
    {"peers", 0, OPT_STRING, &peers, "K:FD,...", "sockets to other workers", 0,
     0},
    {"memory", 0, OPT_BYTES, &memory_bytes, "SIZE",
     "hold so much of the shards, stream the rest", 0, 0},
    {"checkpoint", 0, OPT_REAL, &checkpoint_sec, "SEC",
     "journal unfinished models so often", 0.01, 86400},
    {"start", 0, OPT_REAL, &start_sec, "SEC",
     "when the run began, on the monotonic clock", -1e12, 1e12},
    {"data", 0, OPT_STRING, &data, "DIR", "dataset, if not where the plan says",
     0, 0},
    {"trials", 0, OPT_FLAG, &trials, NULL, "send trial records to kp-train", 0,
     0},
    {0}};

static const struct opt_program program = {
    .usage = "[OPTION...] RUN",
    .purpose = "One worker of a run; kp-train starts it.",
    .opt = options,
    .operands_min = 1,
    .operands_max = 1,
};

/* "K:FD,K:FD" to fd[k]. */
static void
parse_peers(const char *text, int *fd, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fd[i] = -1;
	while (*text) {
		char *end;
		unsigned long k = strtoul(text, &end, 10), f;

		if (*end != ':' || k >= n)
			dief(EXIT_USAGE, "--peers: not a list of K:FD");
		f = strtoul(end + 1, &end, 10);
		if ((*end != ',' && *end != '\0') || f > 1 << 20)
			dief(EXIT_USAGE, "--peers: not a list of K:FD");
		fd[k] = (int)f;
		text = *end ? end + 1 : end;
	}
}

static int
run(const char *run_dir, struct transport *t, struct error *err)
{
	struct plan plan = {0};
	struct dataset *d = NULL;
	struct gap_options o = {.plan = &plan,
				.transport = t,
				.run = run_dir,
				.worker = (uint32_t)worker,
				.memory_bytes = memory_bytes,
				.checkpoint_sec = checkpoint_sec,
				.start_sec = start_sec,
				.stream_trials = trials};
	int rc = rundir_load_plan(run_dir, &plan, err);

	if (rc == 0 && plan.partition.workers != (uint32_t)workers)
		rc = error_set(err, EXIT_CANNOT,
			       "the plan is for %" PRIu32 " workers",
			       plan.partition.workers);
	if (rc == 0) {
		d = dataset_open(data ? data : plan.partition.data, err);
		rc = d ? partition_check(&plan.partition, d, err) : -1;
	}
	if (rc == 0) {
		o.data = d;
		rc = gap_run(&o, err);
	}
	dataset_free(d);
	plan_release(&plan);
	return rc;
}

/* Says how it ended; that kp-train may have gone is no news then. */
static void
tell_parent(struct transport *t, int rc, const struct error *err)
{
	struct gap_failure f = {.code = err->code, .lost = t->lost};
	struct error gone = ERROR_NONE;
	struct strbuf sb = STRBUF_INIT;

	memcpy(f.text, err->text, sizeof f.text);
	if (rc)
		gap_failure_put(&f, &sb);
	t->ops->send(t, TRANSPORT_PARENT, rc ? TAG_FAILED : TAG_FINISHED,
		     sb.buf, sb.len, &gone);
	strbuf_release(&sb);
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_NONE;
	struct transport *t;
	int first = opt_parse(&program, argc, argv), rc;
	int *fd;

	if (parent_fd < 0 || workers == 0 || worker >= workers)
		dief(EXIT_USAGE, "started by hand; kp-train starts it");
	/* What goes to all processes of a terminal or a service is kp-train's
	 * to handle: it asks us to stop. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	fd = xcalloc((size_t)workers, sizeof *fd);
	parse_peers(peers, fd, (uint32_t)workers);
	t = transport_local_new((uint32_t)worker, (uint32_t)workers, fd,
				(int)parent_fd);
	rc = run(argv[first], t, &err);
	tell_parent(t, rc, &err);
	t->ops->close(t);
	free(fd);
	return rc ? (int)err.code : EXIT_DONE;
}
