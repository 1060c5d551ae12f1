#include "shuffle/datashuffle.h"

#include <fcntl.h>
#include <unistd.h>
#include "base/io.h"
#include "base/jsonio.h"
#include "check.h"
#include "data/rowtext.h"
#include "data/stream.h"
#include "sample.h"
#include "shuffle/shufflestate.h"

#define NGROUP 4
#define NROW 331
#define BLOCK_ROWS 50 /* of the first group; those of others are smaller */

static char dir[] = "/tmp/kp-datashuffle-XXXXXX";
static struct strbuf data = STRBUF_INIT; /* path of the dataset */
static struct schema schema;

/* --- the dataset --- */

static void
write_group(struct dataset_writer *w, uint32_t g, const char *key)
{
	static struct sample_row row[NROW];
	struct group_facts facts;
	struct block b = {0};
	struct error err = ERROR_NONE;
	uint32_t each = BLOCK_ROWS / (g + 1), n = NROW / (g + 1);

	sample_rows(row, NROW, g + 1);
	for (uint32_t i = 0; g == 2 && i < n; i++)
		row[i].weight = 0.5 * (i + 1);
	sample_facts(&facts, &schema, key, row, n);
	facts.ordinal = g;
	CHECK_OK(dataset_writer_group(w, &schema, &facts, &err), err);
	for (uint32_t at = 0; at < n; at += each) {
		sample_block(&b, &schema, &facts, row + at,
			     at + each < n ? each : n - at);
		b.first_row = at;
		CHECK_OK(dataset_writer_block(w, &schema, &b, &err), err);
	}
	block_release(&b);
	facts_release(&facts);
}

static void
make_dataset(void)
{
	static const char *const key[NGROUP] = {"", "ATL", "J,FK", "S\"FO"};
	struct dataset_totals totals = {0};
	struct error err = ERROR_NONE;
	struct dataset_writer *w;

	CHECK(mkdtemp(dir) != NULL);
	io_join(&data, dir, "data");
	sample_schema(&schema);
	w = dataset_writer_new(data.buf, &err);
	for (uint32_t g = 0; g < NGROUP; g++)
		write_group(w, g, key[g]);
	CHECK_OK(dataset_writer_commit(w, &schema, &totals, &err), err);
}

static struct datashuffle_spec
spec_of(enum shuffle_method method, bool csv)
{
	return (struct datashuffle_spec){.path = data.buf,
					 .method = method,
					 .buffer = {.share = 0.25},
					 .seed = 7,
					 .epochs = 1,
					 .split = -1,
					 .csv = csv};
}

/* --- running --- */

/* Bytes that were written before a state, 0 if it has none. */
static off_t
bytes_before(const char *path)
{
	struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_NONE;
	const char *at;
	off_t n = 0;

	if (io_read_file(path, 0, &text, &err) == 0 &&
	    (at = strstr(text.buf, "\"bytes\":")) != NULL)
		n = (off_t)strtoll(at + strlen("\"bytes\":"), NULL, 10);
	strbuf_release(&text);
	return n;
}

/* What a run writes is appended to out; where it goes on, to a file that has
 * what was written before. */
static int
run(const struct datashuffle_spec *spec, struct strbuf *out, struct error *err)
{
	struct datashuffle_stats stats = {0};
	struct datashuffle *d;
	char name[] = "/tmp/kp-datashuffle-out-XXXXXX";
	int fd = mkstemp(name), ret = -1;
	off_t before = spec->resume ? bytes_before(spec->resume) : 0;
	size_t n;

	unlink(name);
	CHECK_INT(ftruncate(fd, before), 0);
	lseek(fd, before, SEEK_SET);
	*err = ERROR_NONE;
	d = datashuffle_new(spec, err);
	ret = d ? datashuffle_run(d, fd, "out", &stats, err) : -1;
	datashuffle_free(d);
	n = (size_t)(lseek(fd, 0, SEEK_END) - before);
	if (ret == 0)
		CHECK_INT(stats.bytes_written, n);
	CHECK_INT(pread(fd, strbuf_extend(out, n), n, before), n);
	close(fd);
	return ret;
}

/* The rows of a stream as text, an epoch's end as a line "epoch N". */
static void
text_of_stream(const struct strbuf *bytes, struct strbuf *text)
{
	char name[] = "/tmp/kp-datashuffle-in-XXXXXX";
	int fd = mkstemp(name);
	struct error err = ERROR_NONE;
	struct stream_event ev = {0};
	struct block b = {0};
	struct stream *st;

	unlink(name);
	CHECK_INT(write(fd, bytes->buf, bytes->len), bytes->len);
	lseek(fd, 0, SEEK_SET);
	st = stream_open(fd, "in", &err);
	while (st && ev.kind != STREAM_END) {
		int ret = stream_next(st, &b, &ev, &err);

		CHECK_OK(ret, err);
		if (ret < 0)
			break;
		for (uint32_t r = 0; ev.kind == STREAM_BLOCK && r < b.nrow; r++)
			rowtext_row(stream_schema(st), &b, r,
				    stream_row_facts(st)[r], text);
		if (ev.kind == STREAM_EPOCH)
			strbuf_addf(text, "epoch %d\n", (int)ev.epoch);
	}
	CHECK(st != NULL);
	block_release(&b);
	stream_free(st);
	close(fd);
}

/* The rows of a run as text; through a stream, or CSV less its header. */
static struct strbuf
rows_of(struct datashuffle_spec spec, bool csv)
{
	struct strbuf out = STRBUF_INIT, text = STRBUF_INIT;
	struct error err;

	spec.csv = csv;
	CHECK_OK(run(&spec, &out, &err), err);
	if (csv)
		strbuf_addstr(&text, strchr(out.buf, '\n') + 1);
	else
		text_of_stream(&out, &text);
	strbuf_release(&out);
	return text;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
sort_lines(struct strbuf *text)
{
	struct strbuf sorted = STRBUF_INIT;
	char *copy = xstrdup(text->buf), *save = NULL;
	char **line = xcalloc(text->len + 1, sizeof(*line));
	size_t n = 0;

	for (char *p = strtok_r(copy, "\n", &save); p;
	     p = strtok_r(NULL, "\n", &save))
		line[n++] = p;
	qsort(line, n, sizeof(*line), by_text);
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&sorted, "%s\n", line[i]);
	strbuf_reset(text);
	strbuf_add(text, sorted.buf, sorted.len);
	strbuf_release(&sorted);
	free(copy);
	free(line);
}

static size_t
count_lines(const struct strbuf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->buf[i] == '\n';
	return n;
}

static size_t
all_rows(void)
{
	size_t n = 0;

	for (uint32_t g = 0; g < NGROUP; g++)
		n += NROW / (g + 1);
	return n;
}

/* Both are released. */
static void
check_equal(struct strbuf a, struct strbuf b)
{
	CHECK_INT(a.len, b.len);
	CHECK(a.len == b.len && memcmp(a.buf, b.buf, a.len) == 0);
	strbuf_release(&a);
	strbuf_release(&b);
}

/* --- tests --- */

static void
every_row_once(void)
{
	struct strbuf stored = rows_of(spec_of(SHUFFLE_NONE, true), true);

	CHECK_INT(count_lines(&stored), all_rows());
	sort_lines(&stored);
	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++) {
		struct strbuf got =
		    rows_of(spec_of((enum shuffle_method)m, true), true);

		sort_lines(&got);
		if (m != SHUFFLE_MRS)
			CHECK_STR(got.buf, stored.buf);
		strbuf_release(&got);
	}
	strbuf_release(&stored);
}

static void
stream_is_csv(void)
{
	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++) {
		struct datashuffle_spec spec =
		    spec_of((enum shuffle_method)m, true);
		struct strbuf csv, stream;
		char *mark;

		spec.epoch = 3;
		csv = rows_of(spec, true);
		stream = rows_of(spec, false);
		mark = strstr(stream.buf, "epoch 3\n");
		CHECK(mark && mark[8] == '\0');
		if (mark)
			strbuf_truncate(&stream, (size_t)(mark - stream.buf));
		check_equal(csv, stream);
	}
}

static void
epochs(void)
{
	struct datashuffle_spec spec = spec_of(SHUFFLE_CORGIPILE, true);
	struct strbuf all, one = STRBUF_INIT;

	spec.epochs = 3;
	all = rows_of(spec, true);
	spec.epochs = 1;
	for (uint64_t e = 0; e < 3; e++) {
		struct strbuf epoch;

		spec.epoch = e;
		epoch = rows_of(spec, true);
		CHECK(one.len == 0 ||
		      memcmp(one.buf, epoch.buf, epoch.len) != 0);
		strbuf_add(&one, epoch.buf, epoch.len);
		strbuf_release(&epoch);
	}
	check_equal(all, one);
}

static void
single_buffer(void)
{
	struct datashuffle_spec spec = spec_of(SHUFFLE_CORGIPILE, false);
	struct strbuf one = STRBUF_INIT, two = STRBUF_INIT;
	struct error err;

	spec.epochs = 2;
	CHECK_OK(run(&spec, &two, &err), err);
	spec.single_buffer = true;
	CHECK_OK(run(&spec, &one, &err), err);
	check_equal(one, two);
}

static void
check_ranks(enum shuffle_method method, bool even, int split)
{
	struct datashuffle_spec spec = spec_of(method, true);
	struct strbuf all, parts = STRBUF_INIT;
	size_t least = SIZE_MAX, most = 0;

	spec.split = split;
	all = rows_of(spec, true);
	spec.part = (struct order_rank){.ranks = 5, .even = even};
	for (uint32_t i = 0; i < 5; i++) {
		struct strbuf part;
		size_t n;

		spec.part.rank = i;
		part = rows_of(spec, true);
		n = count_lines(&part);
		least = n < least ? n : least;
		most = n > most ? n : most;
		strbuf_add(&parts, part.buf, part.len);
		strbuf_release(&part);
	}
	if (even || method == SHUFFLE_EPOCH)
		CHECK(most - least <= 1);
	sort_lines(&all);
	sort_lines(&parts);
	check_equal(all, parts);
}

static void
ranks(void)
{
	struct datashuffle_spec spec = spec_of(SHUFFLE_WINDOW, true);
	struct strbuf out = STRBUF_INIT;
	struct error err;

	check_ranks(SHUFFLE_CORGIPILE, false, -1);
	check_ranks(SHUFFLE_CORGIPILE, true, -1);
	check_ranks(SHUFFLE_CORGIPILE, false, PART_HOLDOUT);
	check_ranks(SHUFFLE_CORGIPILE, true, PART_TRAIN);
	check_ranks(SHUFFLE_NONE, true, -1);
	check_ranks(SHUFFLE_BLOCK, false, -1);
	check_ranks(SHUFFLE_EPOCH, false, -1);
	spec.part.ranks = 2;
	CHECK_ERROR(run(&spec, &out, &err), err, EXIT_USAGE,
		    "--method window cannot be shared by ranks");
	strbuf_release(&out);
}

static void
splits(void)
{
	struct strbuf all = rows_of(spec_of(SHUFFLE_NONE, true), true);
	struct strbuf parts = STRBUF_INIT;

	for (int part = 0; part < PART_COUNT; part++) {
		enum shuffle_method of[] = {SHUFFLE_NONE, SHUFFLE_ONCE,
					    SHUFFLE_CORGIPILE};
		struct datashuffle_spec spec = spec_of(of[part], true);
		struct strbuf got;

		spec.split = part;
		got = rows_of(spec, true);
		CHECK(got.len > 0 && got.len < all.len);
		strbuf_add(&parts, got.buf, got.len);
		strbuf_release(&got);
	}
	sort_lines(&all);
	sort_lines(&parts);
	check_equal(all, parts);
}

static void
one_group(void)
{
	struct datashuffle_spec spec = spec_of(SHUFFLE_CORGIPILE, true);
	struct strbuf got, out = STRBUF_INIT;
	struct error err;

	spec.group = "J,FK";
	got = rows_of(spec, true);
	CHECK_INT(count_lines(&got), NROW / 3);
	CHECK(strncmp(got.buf, "\"J,FK\",", 7) == 0);
	strbuf_release(&got);
	spec.group = "";
	got = rows_of(spec, true);
	CHECK_INT(count_lines(&got), NROW);
	CHECK(strncmp(got.buf, "\"\",", 3) == 0);
	strbuf_release(&got);
	spec.group = "atl";
	CHECK_ERROR(run(&spec, &out, &err), err, EXIT_USAGE,
		    "--group: no group \"atl\" (did you mean \"ATL\"?)");
	spec.group = "nowhere";
	CHECK_ERROR(run(&spec, &out, &err), err, EXIT_USAGE,
		    "--group: no group \"nowhere\"");
	strbuf_release(&out);
}

/* The lines that the options of a state are; to be freed. */
static char *
options_of(const struct jvalue *v)
{
	static const char *const name[] = {
	    "method", "seed", "rank", "even", "as", "split", "group", "buffer"};
	struct strbuf lines = STRBUF_INIT;
	struct error err = ERROR_NONE;
	const struct jvalue *o;
	const char *value;
	size_t n;

	CHECK_OK(jsonio_get_object(v, "options", &o, &err), err);
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		CHECK_OK(jsonio_get_string(o, name[i], &value, &n, &err), err);
		strbuf_addf(&lines, "%s %s\n", name[i], value);
	}
	return strbuf_detach(&lines, NULL);
}

/* The state that a run of a spec ends with, with the options that it is for. */
static struct shuffle_state
first_state(struct datashuffle_spec spec, const char *path)
{
	struct strbuf out = STRBUF_INIT;
	struct shuffle_state st = {0};
	struct error err = ERROR_NONE;
	struct jvalue *v;

	spec.state = path;
	CHECK_OK(run(&spec, &out, &err), err);
	v = jsonio_load(path, &err);
	CHECK_OK(jsonio_get_u64(v, "data", &st.data, &err), err);
	CHECK_OK(jsonio_get_u64(v, "bytes", &st.bytes, &err), err);
	CHECK_INT(st.bytes, out.len);
	st.options = options_of(v);
	jsonio_free(v);
	strbuf_release(&out);
	return st;
}

static void
resume(void)
{
	struct datashuffle_spec spec = spec_of(SHUFFLE_CORGIPILE, true);
	struct strbuf path = STRBUF_INIT, all, epoch, rest = STRBUF_INIT;
	struct shuffle_state st;
	struct error err = ERROR_NONE;
	const char *from;

	io_join(&path, dir, "state");
	spec.epochs = 2;
	all = rows_of(spec, true);
	st = first_state(spec, path.buf);
	spec.resume = path.buf;
	/* at the end: nothing is left */
	CHECK_OK(run(&spec, &rest, &err), err);
	CHECK_INT(rest.len, 0);
	/* in the first buffer of the second epoch */
	spec.epochs = 1;
	spec.resume = NULL;
	epoch = rows_of(spec, true);
	spec.epochs = 2;
	spec.resume = path.buf;
	st.epoch = 1;
	st.tuples = st.rows = 29;
	CHECK_OK(shufflestate_save(path.buf, &st, &err), err);
	CHECK_OK(run(&spec, &rest, &err), err);
	from = all.buf + epoch.len;
	for (int i = 0; i < 29; i++)
		from = strchr(from, '\n') + 1;
	CHECK_STR(rest.buf, from);
	/* places that are none */
	st.tuples = 100000;
	CHECK_OK(shufflestate_save(path.buf, &st, &err), err);
	CHECK_INT(run(&spec, &rest, &err), -1);
	CHECK_INT(err.code, EXIT_CORRUPT);
	st.tuples = 0;
	st.buffer = 100000;
	CHECK_OK(shufflestate_save(path.buf, &st, &err), err);
	CHECK_INT(run(&spec, &rest, &err), -1);
	CHECK_INT(err.code, EXIT_CORRUPT);
	spec.seed = 8;
	CHECK_INT(run(&spec, &rest, &err), -1);
	CHECK_INT(err.code, EXIT_USAGE);
	unlink(path.buf);
	free((char *)st.options);
	strbuf_release(&path);
	strbuf_release(&all);
	strbuf_release(&epoch);
	strbuf_release(&rest);
}

/* The rest of a stream, behind what was given before, is a stream. */
static void
resume_stream(void)
{
	struct datashuffle_spec spec = spec_of(SHUFFLE_CORGIPILE, false);
	struct strbuf path = STRBUF_INIT, text = STRBUF_INIT, want;
	struct strbuf both = STRBUF_INIT;
	struct shuffle_state st;
	struct error err = ERROR_NONE;

	io_join(&path, dir, "state");
	spec.epochs = 2;
	want = rows_of(spec, false);
	st = first_state(spec, path.buf);
	spec.epochs = 1;
	CHECK_OK(run(&spec, &both, &err), err);
	spec.epochs = 2;
	spec.resume = path.buf;
	st.epoch = 1;
	CHECK_OK(shufflestate_save(path.buf, &st, &err), err);
	CHECK_OK(run(&spec, &both, &err), err);
	text_of_stream(&both, &text);
	check_equal(text, want);
	unlink(path.buf);
	free((char *)st.options);
	strbuf_release(&path);
	strbuf_release(&both);
}

/* However many rows are left out, the rest is what it was. */
static void
skipped(void)
{
	static const uint64_t third[] = {0, 1, 2};

	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++) {
		struct datashuffle_spec spec =
		    spec_of((enum shuffle_method)m, true);
		struct strbuf all;
		size_t lines;

		spec.epochs = 3;
		all = rows_of(spec, true);
		lines = count_lines(&all);
		for (size_t i = 0; i < 9; i++) {
			uint64_t skip = lines * third[i / 3] / 3 + i % 3;
			const char *from = all.buf;
			struct strbuf rest;

			spec.skip = skip;
			rest = rows_of(spec, true);
			for (uint64_t k = 0; k < skip; k++)
				from = strchr(from, '\n') + 1;
			CHECK_STR(rest.buf, from);
			strbuf_release(&rest);
		}
		strbuf_release(&all);
	}
}

static void
refused(void)
{
	struct datashuffle_spec spec = spec_of(SHUFFLE_CORGIPILE, true);
	struct strbuf out = STRBUF_INIT;
	struct error err;
	uint64_t least;
	char *text;

	spec.buffer = (struct buffer_size){.bytes = 100};
	CHECK_INT(run(&spec, &out, &err), -1);
	CHECK_INT(err.code, EXIT_USAGE);
	text = strstr(err.text, "the least is ");
	CHECK(text != NULL);
	least = text ? strtoull(text + 13, NULL, 10) : 0;
	spec.buffer.bytes = least;
	CHECK_OK(run(&spec, &out, &err), err);
	spec.buffer.bytes = least - 1;
	CHECK_INT(run(&spec, &out, &err), -1);
	spec = spec_of(SHUFFLE_ONCE, true);
	spec.memory_bytes = 1000;
	CHECK_INT(run(&spec, &out, &err), -1);
	CHECK_INT(err.code, EXIT_USAGE);
	CHECK(strncmp(err.text, "--method once holds all rows: they take ",
		      40) == 0);
	strbuf_release(&out);
}

static void
damaged_block(void)
{
	struct datashuffle_spec spec = spec_of(SHUFFLE_CORGIPILE, false);
	struct strbuf path = STRBUF_INIT, out = STRBUF_INIT;
	struct error err;
	int fd;
	char c;

	io_join(&path, data.buf, "blocks-00000.kpb");
	fd = open(path.buf, O_RDWR);
	CHECK_INT(pread(fd, &c, 1, 60), 1);
	c ^= 1;
	CHECK_INT(pwrite(fd, &c, 1, 60), 1);
	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++) {
		spec.method = (enum shuffle_method)m;
		CHECK_INT(run(&spec, &out, &err), -1);
		CHECK_INT(err.code, EXIT_CORRUPT);
		CHECK(strstr(err.text, "blocks-00000.kpb: ") != NULL);
	}
	c ^= 1;
	CHECK_INT(pwrite(fd, &c, 1, 60), 1);
	close(fd);
	strbuf_release(&path);
	strbuf_release(&out);
}

int
main(void)
{
	make_dataset();
	check_run("every method but mrs gives every row once an epoch",
		  every_row_once);
	check_run("a stream has the rows of the CSV, in its order",
		  stream_is_csv);
	check_run("epochs one by one are the epochs of one run", epochs);
	check_run("one buffer gives the bytes of two", single_buffer);
	check_run("ranks together have every row once", ranks);
	check_run("the parts together are all rows", splits);
	check_run("the rows of one group can be asked for", one_group);
	check_run("a resumed run gives the rest", resume);
	check_run("rows that are left out change no other", skipped);
	check_run("a resumed stream follows on the first", resume_stream);
	check_run("too small a buffer or memory is refused, telling what "
		  "would do",
		  refused);
	check_run("a damaged block is told by its file", damaged_block);
	io_remove_tree(dir);
	strbuf_release(&data);
	schema_release(&schema);
	return check_done();
}
