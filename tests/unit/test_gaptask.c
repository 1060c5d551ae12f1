#include "check.h"

#include "exec/gaptask.h"

#define HOLDERS 40
#define FIRST 5 /* worker number of the first holder: not 0 on purpose */

static struct gaptask
place(uint32_t worker, uint32_t n)
{
	uint32_t all[HOLDERS];
	const struct holders h = {.worker = all, .n = n, .own = worker - FIRST};
	struct gaptask t = {0};

	for (uint32_t i = 0; i < n; i++)
		all[i] = FIRST + i;
	gaptask_place(&t, &h);
	return t;
}

static bool
is_child(const struct gaptask *t, uint32_t worker)
{
	for (uint32_t i = 0; i < t->nchild; i++) {
		if (t->child[i] == worker)
			return true;
	}
	return false;
}

static void
owner(void)
{
	for (uint32_t n = 1; n <= HOLDERS; n++) {
		for (uint32_t w = FIRST; w < FIRST + n; w++) {
			struct gaptask t = place(w, n);

			CHECK_INT(t.parent == w, w == FIRST + n - 1);
		}
	}
}

/* Counts how often each holder is reached from `worker` down. */
static void
walk(uint32_t worker, uint32_t n, int *reached, int depth)
{
	struct gaptask t = place(worker, n);

	if (worker < FIRST || worker >= FIRST + n || depth > 6) {
		CHECK(false);
		return;
	}
	reached[worker - FIRST]++;
	for (uint32_t i = 0; i < t.nchild; i++)
		walk(t.child[i], n, reached, depth + 1);
}

static void
reach(void)
{
	for (uint32_t n = 1; n <= HOLDERS; n++) {
		int reached[HOLDERS] = {0};

		walk(FIRST + n - 1, n, reached, 1);
		for (uint32_t i = 0; i < n; i++)
			CHECK_INT(reached[i], 1);
	}
}

static void
both_ways(void)
{
	for (uint32_t n = 1; n <= HOLDERS; n++) {
		for (uint32_t w = FIRST; w < FIRST + n; w++) {
			struct gaptask t = place(w, n), up;

			CHECK(t.nchild <= 2);
			for (uint32_t i = 0; i < t.nchild; i++)
				CHECK_INT(place(t.child[i], n).parent, w);
			if (t.parent == w)
				continue;
			up = place(t.parent, n);
			CHECK(is_child(&up, w));
		}
	}
}

static void
request(void)
{
	struct gap_request r = {.group = 1,
				.pack = 2,
				.sequence = 3,
				.kind = PASS_FINAL,
				.lanes = 5,
				.config = {7, 8, 9},
				.n = 3};
	struct gap_request got;
	struct strbuf sb = STRBUF_INIT;
	struct cursor c;

	gap_request_put(&r, &sb);
	c = cursor_of(sb.buf, sb.len);
	CHECK_INT(gap_request_get(&got, &c), 0);
	CHECK(cursor_done(&c));
	CHECK_INT(got.group, 1);
	CHECK_INT(got.pack, 2);
	CHECK_INT(got.sequence, 3);
	CHECK_INT(got.kind, PASS_FINAL);
	CHECK_INT(got.lanes, 5);
	CHECK_INT(got.n, 3);
	CHECK_MEM(got.config, r.config, 3 * sizeof r.config[0]);
	for (size_t n = 0; n < sb.len; n++) {
		c = cursor_of(sb.buf, n);
		CHECK_INT(gap_request_get(&got, &c), -1);
	}
	sb.buf[20] = PACK_LANES_MAX + 1;
	c = cursor_of(sb.buf, sb.len);
	CHECK_INT(gap_request_get(&got, &c), -1);
	strbuf_release(&sb);
}

static void
failure(void)
{
	struct gap_failure f = {.code = EXIT_CORRUPT, .lost = true}, got;
	struct strbuf sb = STRBUF_INIT;
	struct cursor c;

	memset(f.text, 'x', sizeof f.text - 1);
	gap_failure_put(&f, &sb);
	c = cursor_of(sb.buf, sb.len);
	CHECK_INT(gap_failure_get(&got, &c), 0);
	CHECK_INT(got.code, EXIT_CORRUPT);
	CHECK(got.lost);
	CHECK_STR(got.text, f.text);
	for (size_t n = 0; n < sb.len; n++) {
		c = cursor_of(sb.buf, n);
		CHECK_INT(gap_failure_get(&got, &c), -1);
	}
	strbuf_release(&sb);
}

int
main(void)
{
	check_run("the last holder of a group owns it", owner);
	check_run("every holder is reached once from the owner", reach);
	check_run("parents and children agree on each other", both_ways);
	check_run("a request comes back, and half of one is refused", request);
	check_run("a failure comes back, and half of one is refused", failure);
	return check_done();
}
