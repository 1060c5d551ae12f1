#include "plan/timeline.h"

#include "base/mem.h"
#include "check.h"

static const struct unit sample[] = {
    {.worker = 3,
     .group = 7,
     .pack = 1,
     .epoch = 12,
     .shard = 2,
     .kind = UNIT_SCORE,
     .start_sec = 0.25,
     .end_sec = 1.5,
     .rows = 1000,
     .bytes_sent = 88},
    {.kind = UNIT_TRAIN, .epoch = 1, .start_sec = 1e-7, .end_sec = 0.0000016},
    {.worker = UINT32_MAX,
     .group = UINT32_MAX,
     .pack = UINT32_MAX,
     .epoch = UINT32_MAX,
     .shard = UINT32_MAX,
     .kind = UNIT_LOAD,
     .start_sec = 86400.5,
     .end_sec = 86400.5,
     .rows = INT64_MAX,
     .bytes_sent = INT64_MAX},
};
#define NSAMPLE (sizeof(sample) / sizeof(*sample))

static const char sample_text[] =
    "{\"worker\":3,\"group\":7,\"pack\":1,\"epoch\":12,\"shard\":2,"
    "\"kind\":\"score\",\"start\":0.250000,\"end\":1.500000,\"rows\":1000,"
    "\"bytes\":88}\n"
    "{\"worker\":0,\"group\":0,\"pack\":0,\"epoch\":1,\"shard\":0,"
    "\"kind\":\"train\",\"start\":0.000000,\"end\":0.000002,\"rows\":0,"
    "\"bytes\":0}\n"
    "{\"worker\":4294967295,\"group\":4294967295,\"pack\":4294967295,"
    "\"epoch\":4294967295,\"shard\":4294967295,\"kind\":\"load\","
    "\"start\":86400.500000,\"end\":86400.500000,"
    "\"rows\":9223372036854775807,\"bytes\":9223372036854775807}\n";

static void
lines(void)
{
	struct timeline t = TIMELINE_INIT;
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < NSAMPLE; i++)
		timeline_add(&t, &sample[i]);
	timeline_text(&t, &sb);
	CHECK_STR(sb.buf, sample_text);
	timeline_release(&t);
	strbuf_release(&sb);
}

static void
read_back(void)
{
	struct timeline t = TIMELINE_INIT;
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;

	/* The last newline may be missing. */
	CHECK_OK(
	    timeline_parse(&t, sample_text, sizeof(sample_text) - 2, "x", &err),
	    err);
	CHECK_INT(t.n, NSAMPLE);
	CHECK_INT(t.unit[0].worker, 3);
	CHECK_INT(t.unit[0].kind, UNIT_SCORE);
	CHECK_BITS(t.unit[0].end_sec, 1.5);
	CHECK_INT(t.unit[2].shard, UINT32_MAX);
	CHECK_INT(t.unit[2].rows, INT64_MAX);
	timeline_text(&t, &sb);
	CHECK_STR(sb.buf, sample_text);
	timeline_release(&t);
	strbuf_release(&sb);

	CHECK_OK(timeline_parse(&t, "", 0, "x", &err), err);
	CHECK_INT(t.n, 0);
	timeline_release(&t);
}

/* Units of 1000 starts and 7 workers, in no order. */
static void
order(void)
{
	struct timeline t = TIMELINE_INIT;
	uint32_t s = 1;

	timeline_sort(&t);
	for (uint32_t i = 0; i < 5000; i++) {
		s = s * 69069 + 12345;
		timeline_add(&t, &(struct unit){.worker = s >> 8 & 7,
						.start_sec = s >> 22,
						.group = i});
	}
	timeline_sort(&t);
	for (size_t i = 1; i < t.n; i++) {
		const struct unit *a = &t.unit[i - 1], *b = &t.unit[i];

		CHECK(a->start_sec <= b->start_sec);
		if (a->start_sec != b->start_sec)
			continue;
		CHECK(a->worker <= b->worker);
		if (a->worker == b->worker)
			CHECK(a->group < b->group);
	}
	/* The storage grows as before. */
	timeline_add(&t, &sample[0]);
	CHECK_INT(t.n, 5001);
	timeline_release(&t);
}

/* The first line, a part of it changed, behind a good one. */
static int
parse_with(const char *from, const char *to, struct error *err)
{
	const char *first = sample_text, *end = strchr(first, '\n') + 1;
	struct timeline t = TIMELINE_INIT;
	struct strbuf sb = STRBUF_INIT;
	const char *at = strstr(first, from);
	int ret;

	strbuf_add(&sb, first, (size_t)(end - first));
	strbuf_add(&sb, first, (size_t)(at - first));
	strbuf_addstr(&sb, to);
	strbuf_add(&sb, at + strlen(from), (size_t)(end - at) - strlen(from));
	ret = timeline_parse(&t, sb.buf, sb.len, "x", err);
	CHECK_INT(t.n, ret < 0 ? 0 : 2);
	timeline_release(&t);
	strbuf_release(&sb);
	return ret;
}

static void
refusals(void)
{
	static const char *const cases[][3] = {
	    {"{", "", "x:2: not JSON"},
	    {"\"worker\":3", "\"worker\":3,\"worker\":3", "x:2: not JSON"},
	    {"\"worker\":3,", "", "x:2: \"worker\": missing"},
	    {"\"worker\":3", "\"worker\":4294967296",
	     "x:2: \"worker\": too large"},
	    {"\"rows\":1000", "\"rows\":-1",
	     "x:2: \"rows\": not a whole number from 0"},
	    {"\"score\"", "\"scores\"",
	     "x:2: \"kind\": not train, score or load"},
	    {"0.250000", "-0.25", "x:2: \"start\": not a time"},
	    {"0.250000", "null", "x:2: \"start\": not a time"},
	    {"1.500000", "0.2", "x:2: \"end\": not a time after \"start\""},
	    {"\"shard\"", "\"shart\":1,\"shard\"",
	     "x:2: unknown key \"shart\" (did you mean \"shard\"?)"},
	    {"{", "[]\n{", "x:2: not an object"},
	    {"{", "\n{", "x:2: not JSON"},
	};
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK_ERROR(parse_with(cases[i][0], cases[i][1], &err), err,
			    EXIT_CORRUPT, cases[i][2]);
	CHECK_OK(parse_with("1.500000", "1.5e0", &err), err);
}

int
main(void)
{
	check_run("a unit is a line of JSON, times to the microsecond", lines);
	check_run("a timeline read back is written the same", read_back);
	check_run("units are sorted by start and worker, equal ones as they "
		  "were",
		  order);
	check_run("a malformed line is refused with its number", refusals);
	return check_done();
}
