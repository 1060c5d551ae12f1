#include "shuffle/textout.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/io.h"
#include "base/mem.h"
#include "shuffle/statekeeper.h"
#include "shuffle/textscan.h"

#define SCAN_BYTES ((size_t)4096)

struct textout {
	struct textout_options o;
	const struct text_kernel *kernel;
	struct state_keeper *keeper; /* NULL when nobody reads */
	void (*on_pipe)(int);	     /* what SIGPIPE did before */
	struct shuffle_state at;     /* behind the last whole record */
	uint64_t beyond;	     /* bytes written behind it */
	uint64_t records;
	text_inside inside; /* at the start of what comes */
};

struct textout *
textout_new(const struct textout_options *o, struct error *err)
{
	struct textout *out = xcalloc(1, sizeof(*out));

	out->o = *o;
	out->kernel = text_kernel_choose();
	out->at = o->at;
	out->keeper = state_keeper_new(o->state_path, &o->at, err);
	if (!out->keeper) {
		free(out);
		return NULL;
	}
	/* Without a state, SIGPIPE may end the process at once. */
	out->on_pipe = o->state_path ? signal(SIGPIPE, SIG_IGN) : SIG_IGN;
	return out;
}

int
textout_end(struct textout *out, struct error *err)
{
	int ret = 0;

	if (!out)
		return 0;
	if (out->keeper) {
		ret = state_keeper_end(out->keeper, err);
		if (out->o.state_path)
			signal(SIGPIPE, out->on_pipe);
	}
	free(out);
	return ret;
}

/* Nobody reads any more. */
static int
broken_pipe(struct textout *out, struct error *err)
{
	if (out->keeper && out->on_pipe != SIG_IGN) {
		state_keeper_end(out->keeper, err);
		out->keeper = NULL;
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	errno = EPIPE;
	return error_sys(err, "%s", out->o.name);
}

static int
tell(struct textout *out, struct error *err)
{
	return out->keeper ? state_keeper_move(out->keeper, &out->at, err) : 0;
}

/* n bytes have been written, in which `records` records end, the last of them
 * at `end`. */
static void
advance(struct textout *out, size_t n, uint64_t records, size_t end)
{
	if (records == 0) {
		out->beyond += n;
		return;
	}
	out->at.bytes += out->beyond + end;
	out->at.tuples += records;
	out->at.rows += records;
	out->records += records;
	out->beyond = n - end;
}

/* The same, having looked. */
static void
advance_over(struct textout *out, const char *p, size_t n)
{
	uint32_t end[SCAN_BYTES + TEXT_ENDS_SLACK];

	for (size_t at = 0; at < n; at += SCAN_BYTES) {
		size_t m = n - at < SCAN_BYTES ? n - at : SCAN_BYTES;
		size_t k = out->kernel->ends(p + at, m, 0, out->o.quotes,
					     &out->inside, end);

		advance(out, m, k, k ? end[k - 1] : 0);
	}
}

/* write(2); what it takes, 0 if a signal came first, -1 on failure. */
static ssize_t
put(struct textout *out, const char *p, size_t n, struct error *err)
{
	ssize_t taken = write(out->o.fd, p, n);

	if (taken < 0 && (errno == EINTR || io_wait_writable(out->o.fd)))
		return 0;
	if (taken < 0 && errno == EPIPE)
		return broken_pipe(out, err);
	if (taken < 0)
		return error_sys(err, "%s", out->o.name);
	return taken;
}

/* Bytes up to the end of the record that is being written, at most n. */
static size_t
rest_of_record(const struct textout *out, const char *p, size_t n)
{
	uint32_t end[SCAN_BYTES + TEXT_ENDS_SLACK];
	text_inside inside = out->inside;

	for (size_t at = 0; at < n; at += SCAN_BYTES) {
		size_t m = n - at < SCAN_BYTES ? n - at : SCAN_BYTES;

		if (out->kernel->ends(p + at, m, 0, out->o.quotes, &inside,
				      end) > 0)
			return at + end[0];
	}
	return n;
}

int
textout_write(struct textout *out, const char *p, size_t n, uint64_t records,
	      struct error *err)
{
	bool whole = true;

	for (size_t done = 0; done < n;) {
		bool stop = state_keeper_stopping(out->keeper);
		size_t most = n - done;
		ssize_t taken;

		if (stop && out->beyond == 0)
			return state_keeper_stopped(out->keeper, err);
		if (stop)
			most = rest_of_record(out, p + done, most);
		taken = put(out, p + done, most, err);

		if (taken < 0)
			return -1;
		whole = whole && (size_t)taken == n;
		if (whole && records != TEXTOUT_UNCOUNTED)
			advance(out, n, records, n);
		else
			advance_over(out, p + done, (size_t)taken);
		done += (size_t)taken;
		if (tell(out, err) < 0)
			return -1;
	}
	return 0;
}

int
textout_header(struct textout *out, const char *p, size_t n, struct error *err)
{
	if (out->at.bytes > 0)
		return 0;
	for (size_t done = 0; done < n;) {
		ssize_t taken = put(out, p + done, n - done, err);

		if (taken < 0)
			return -1;
		done += (size_t)taken;
	}
	out->at.bytes = n;
	return tell(out, err);
}

uint64_t
textout_begin(struct textout *out, uint64_t epoch, uint64_t buffer)
{
	struct shuffle_state *at = &out->at;

	if (at->epoch == epoch && at->buffer == buffer)
		return at->tuples;
	if (at->epoch != epoch)
		at->rows = 0;
	at->epoch = epoch;
	at->buffer = buffer;
	at->tuples = 0;
	return 0;
}

void
textout_finish(struct textout *out, uint64_t epochs)
{
	if (out->at.epoch < epochs)
		textout_begin(out, epochs, 0);
	if (out->keeper)
		tell(out, &(struct error){0});
}

uint64_t
textout_records(const struct textout *out)
{
	return out->records;
}

uint64_t
textout_bytes(const struct textout *out)
{
	return out->at.bytes;
}
