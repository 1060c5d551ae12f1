/*
 * The golden datasets, tests/data/golden-dataset-v*, are made anew by
 *
 *	KP_GOLDEN=write build/test/test_dataset
 *
 * which is right only together with a new version of the format.
 */

#include "data/dataset.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/frame.h"
#include "base/io.h"
#include "check.h"
#include "data/index.h"
#include "data/manifest.h"
#include "sample.h"

#define GOLDEN "tests/data/golden-dataset-v1"
#define GOLDEN_FACTS "tests/data/golden-dataset-v2" /* has no rows */
#define NGROUP 3
#define BLOCK_ROWS 40

static const char *const group_key[NGROUP] = {"", "JFK", "n\xc3\xa9/../\xff"};
static const size_t group_rows[NGROUP] = {7, 100, 40};

static char dir[] = "/tmp/kp-test-XXXXXX";
static struct strbuf path = STRBUF_INIT;

static const char *
in_dir(const char *name)
{
	return io_join(&path, dir, name);
}

static const char *
golden_path_of(const char *which)
{
	static struct strbuf golden = STRBUF_INIT;
	const char *root = getenv("KP_ROOT");

	return io_join(&golden, root ? root : ".", which);
}

static double first_y; /* added to y of each group's first row */

static void
fill_rows(struct sample_row *row, size_t group)
{
	sample_rows(row, group_rows[group], 11 + group);
	row[0].y += first_y;
	for (size_t i = 0; i < group_rows[group]; i++)
		if (group == 2)
			row[i].weight = 0.5 + (double)(i % 4);
}

static int
write_group(struct dataset_writer *w, const struct schema *s, size_t group,
	    struct error *err)
{
	struct sample_row row[100];
	struct group_facts facts;
	struct block b = {0};
	size_t n = group_rows[group];
	int ret;

	fill_rows(row, group);
	sample_facts(&facts, s, group_key[group], row, n);
	facts.ordinal = (uint32_t)group;
	ret = dataset_writer_group(w, s, &facts, err);
	for (size_t r = 0; ret == 0 && r < n; r += BLOCK_ROWS) {
		sample_block(&b, s, &facts, row + r,
			     n - r < BLOCK_ROWS ? n - r : BLOCK_ROWS);
		b.first_row = r;
		ret = dataset_writer_block(w, s, &b, err);
	}
	block_release(&b);
	facts_release(&facts);
	return ret;
}

/* The sample dataset at `to`; file_bytes 0: as the writer likes. */
static int
write_sample(const char *to, uint64_t file_bytes, struct error *err)
{
	struct dataset_totals totals = {.bytes_in = 12345,
					.left_out_label = 3,
					.label_mean = 0.25,
					.weight_sum = 150};
	struct dataset_writer *w = dataset_writer_new(to, err);
	struct schema s;
	int ret = w ? 0 : -1;

	sample_schema(&s);
	if (w && file_bytes)
		dataset_writer_set_file_bytes(w, file_bytes);
	for (size_t g = 0; ret == 0 && g < NGROUP; g++)
		ret = write_group(w, &s, g, err);
	if (ret == 0)
		ret = dataset_writer_commit(w, &s, &totals, err);
	else
		dataset_writer_drop(w);
	schema_release(&s);
	return ret;
}

/* The groups of the sample, without rows. */
static int
write_facts(const char *to, struct error *err)
{
	struct dataset_totals totals = {.label_mean = 0.25, .weight_sum = 150};
	struct dataset_writer *w = dataset_writer_new(to, err);
	struct sample_row row[100];
	struct group_facts facts;
	struct schema s;
	int ret = w ? 0 : -1;

	sample_schema(&s);
	if (w)
		dataset_writer_without_rows(w, 0x1234);
	for (size_t g = 0; ret == 0 && g < NGROUP; g++) {
		fill_rows(row, g);
		sample_facts(&facts, &s, group_key[g], row, group_rows[g]);
		facts.ordinal = (uint32_t)g;
		ret = dataset_writer_group(w, &s, &facts, err);
		facts_release(&facts);
	}
	if (ret == 0)
		ret = dataset_writer_commit(w, &s, &totals, err);
	else
		dataset_writer_drop(w);
	schema_release(&s);
	return ret;
}

/* Every group and block of the dataset is what write_sample() put there. */
static void
check_group(struct dataset *d, size_t group)
{
	const struct index_group *g = &dataset_index(d)->group[group];
	struct sample_row row[100];
	struct group_facts facts;
	struct block b = {0};
	struct error err = ERROR_NONE;

	fill_rows(row, group);
	CHECK_INT(index_rows(g), group_rows[group]);
	CHECK_OK(dataset_read_facts(d, group, &facts, &err), err);
	for (uint64_t i = 0; i < g->nblock; i++) {
		const struct index_block *at =
		    &dataset_index(d)->block[g->first_block + i];

		CHECK_OK(
		    dataset_read_block(d, g->first_block + i, &facts, &b, &err),
		    err);
		CHECK_INT(at->group, group);
		CHECK_INT(b.first_row, i * BLOCK_ROWS);
		for (uint32_t r = 0; r < b.nrow; r++) {
			const struct sample_row *want = &row[b.first_row + r];

			CHECK_BITS(b.column[SAMPLE_Y].f64[r], want->y);
			CHECK_BITS(b.label[r], want->label);
			CHECK_BITS(b.weight ? b.weight[r] : 1, want->weight);
		}
	}
	block_release(&b);
	facts_release(&facts);
}

static void
check_sample(const char *from)
{
	struct error err = ERROR_NONE;
	struct dataset *d = dataset_open(from, &err);

	CHECK_STR(err.text, "");
	if (!d)
		return;
	CHECK_INT(dataset_totals(d)->rows, 147);
	CHECK_INT(dataset_totals(d)->groups, NGROUP);
	CHECK_INT(dataset_totals(d)->blocks, 5);
	CHECK_INT(dataset_totals(d)->bytes_in, 12345);
	CHECK_BITS(dataset_totals(d)->label_mean, 0.25);
	for (size_t g = 0; g < NGROUP; g++)
		check_group(d, g);
	dataset_free(d);
}

static void
trip(void)
{
	struct error err = ERROR_NONE;

	CHECK_OK(write_sample(in_dir("a"), 0, &err), err);
	check_sample(in_dir("a"));
}

/* The dataset is what write_facts() made. */
static void
check_facts(const char *from)
{
	struct error err = ERROR_NONE;
	struct dataset *d = dataset_open_facts(from, &err);
	struct group_facts facts;

	CHECK_STR(err.text, "");
	if (!d)
		return;
	CHECK(!dataset_has_rows(d));
	CHECK_INT(dataset_fingerprint(d), 0x1234);
	CHECK_INT(dataset_totals(d)->rows, 147);
	CHECK_INT(dataset_totals(d)->blocks, 0);
	for (size_t g = 0; g < NGROUP; g++) {
		CHECK_OK(dataset_read_facts(d, g, &facts, &err), err);
		CHECK_INT(facts_rows(&facts), group_rows[g]);
		CHECK_INT(dataset_index(d)->group[g].nblock, 0);
		facts_release(&facts);
	}
	dataset_free(d);
}

static void
without_rows(void)
{
	struct error err = ERROR_NONE;
	char want[128];

	CHECK_OK(write_facts(in_dir("facts"), &err), err);
	check_facts(in_dir("facts"));
	snprintf(want, sizeof(want),
		 "%s/facts: has no rows: it was made from a stream", dir);
	CHECK(!dataset_open(in_dir("facts"), &err));
	CHECK_INT(err.code, EXIT_CORRUPT);
	CHECK_STR(err.text, want);
}

static void
many_files(void)
{
	struct error err = ERROR_NONE;
	struct dataset *one, *many;

	CHECK_OK(write_sample(in_dir("many"), 1, &err), err);
	CHECK(io_exists(in_dir("many/blocks-00004.kpb")));
	CHECK(!io_exists(in_dir("many/blocks-00005.kpb")));
	check_sample(in_dir("many"));
	one = dataset_open(in_dir("a"), &err);
	many = dataset_open(in_dir("many"), &err);
	CHECK(one && many &&
	      dataset_fingerprint(one) == dataset_fingerprint(many));
	dataset_free(one);
	dataset_free(many);
}

static void
absolute(void)
{
	struct error err = ERROR_NONE;
	struct dataset *d;
	char cwd[4096], real[4096];

	CHECK(getcwd(cwd, sizeof(cwd)) != NULL);
	CHECK(realpath(in_dir("a"), real) != NULL);
	CHECK_INT(chdir(dir), 0);
	d = dataset_open("a/", &err);
	CHECK(d != NULL);
	if (d)
		CHECK_STR(dataset_path(d), real);
	CHECK_INT(chdir(cwd), 0);
	dataset_free(d);
}

static void
find(void)
{
	struct error err = ERROR_NONE;
	struct dataset *d = dataset_open(in_dir("a"), &err);
	struct strbuf key = STRBUF_INIT;

	for (size_t g = 0; d && g < NGROUP; g++) {
		strbuf_reset(&key);
		groupkey_add(&key, group_key[g], strlen(group_key[g]));
		CHECK_INT(dataset_find_group(d, key.buf, key.len), g);
		strbuf_reset(&key);
		groupkey_add(&key, "K", 1);
		CHECK_INT(dataset_find_group(d, key.buf, key.len), -1);
	}
	strbuf_release(&key);
	dataset_free(d);
}

static void
missing(void)
{
	struct error err = ERROR_NONE;

	CHECK(!dataset_open("/tmp/no/such/dataset", &err));
	CHECK_INT(err.code, EXIT_CANNOT);
	CHECK_STR(err.text, "/tmp/no/such/dataset: not a dataset (no "
			    "manifest.json)");
	CHECK(!dataset_open("/", &err));
	CHECK_INT(err.code, EXIT_CANNOT);
	CHECK_STR(err.text, "/: not a dataset (no manifest.json)");
}

static void
existing(void)
{
	struct error err;
	char want[64];

	snprintf(want, sizeof(want), "%s/a: already exists", dir);
	CHECK_ERROR(write_sample(in_dir("a"), 0, &err), err, EXIT_CANNOT, want);
	check_sample(in_dir("a"));
}

static size_t
entries_of(const char *folder)
{
	struct dirent *e;
	DIR *d = opendir(folder);
	size_t n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void
dropped(void)
{
	struct error err = ERROR_NONE;
	size_t before = entries_of(dir);
	struct dataset_writer *w = dataset_writer_new(in_dir("b"), &err);
	struct schema s;

	sample_schema(&s);
	CHECK_OK(write_group(w, &s, 0, &err), err);
	CHECK_INT(entries_of(dir), before + 1);
	dataset_writer_drop(w);
	dataset_writer_drop(NULL);
	CHECK_INT(entries_of(dir), before);
	schema_release(&s);
}

static void
disorder(void)
{
	struct error err = ERROR_NONE;
	struct dataset_totals totals = {0};
	struct dataset_writer *w;
	struct sample_row row[100];
	struct group_facts facts;
	struct block b = {0};
	struct schema s;
	size_t before = entries_of(dir);

	sample_schema(&s);
	fill_rows(row, 1);
	sample_facts(&facts, &s, "K", row, 100);
	sample_block(&b, &s, &facts, row, 40);
	w = dataset_writer_new(in_dir("b"), &err);
	CHECK_INT(dataset_writer_block(w, &s, &b, &err), -1);
	facts.ordinal = 1;
	CHECK_INT(dataset_writer_group(w, &s, &facts, &err), -1);
	facts.ordinal = 0;
	CHECK_OK(dataset_writer_group(w, &s, &facts, &err), err);
	b.first_row = 40;
	CHECK_INT(dataset_writer_block(w, &s, &b, &err), -1);
	b.first_row = 0;
	CHECK_OK(dataset_writer_block(w, &s, &b, &err), err);
	facts.ordinal = 1;
	CHECK_INT(dataset_writer_group(w, &s, &facts, &err), -1);
	CHECK_INT(dataset_writer_commit(w, &s, &totals, &err), -1);
	CHECK_INT(entries_of(dir), before);
	block_release(&b);
	facts_release(&facts);
	schema_release(&s);
}

static void
unreadable_schema(void)
{
	struct error err;
	struct dataset_totals totals = {0};
	struct dataset_writer *w;
	struct schema s;
	size_t before = entries_of(dir);
	char want[128];

	sample_schema(&s);
	w = dataset_writer_new(in_dir("b"), &err);
	CHECK_INT(write_group(w, &s, 0, &err), 0);
	s.hash_bits = 99;
	snprintf(want, sizeof(want),
		 "%s/b: schema: \"hash_bits\": out of range", dir);
	CHECK_ERROR(dataset_writer_commit(w, &s, &totals, &err), err,
		    EXIT_CORRUPT, want);
	CHECK_INT(entries_of(dir), before);
	schema_release(&s);
}

/* Replaces the content of a file that is there. */
static void
overwrite(const char *name, const struct strbuf *bytes)
{
	struct error err = ERROR_NONE;
	int fd = open(name, O_WRONLY | O_TRUNC);

	CHECK(fd >= 0);
	CHECK_OK(io_write_all(fd, bytes->buf, bytes->len, name, &err), err);
	close(fd);
}

/* Reads all of the dataset at `from`. */
static int
read_all(const char *from, struct error *err)
{
	struct dataset *d = dataset_open(from, err);
	struct block b = {0};
	int ret = d ? 0 : -1;

	for (size_t g = 0; ret == 0 && g < dataset_index(d)->ngroup; g++) {
		const struct index_group *group = &dataset_index(d)->group[g];
		struct group_facts facts;

		ret = dataset_read_facts(d, g, &facts, err);
		for (uint32_t i = 0; ret == 0 && i < group->nblock; i++)
			ret = dataset_read_block(d, group->first_block + i,
						 &facts, &b, err);
		facts_release(&facts);
	}
	block_release(&b);
	dataset_free(d);
	return ret;
}

/* Flips one bit in each byte and cuts at each length in turn. */
static void
damage_file(const char *base, size_t step)
{
	struct strbuf name = STRBUF_INIT, bytes = STRBUF_INIT;
	struct error err = ERROR_NONE;
	size_t whole;

	strbuf_addf(&name, "%s/damaged/%s", dir, base);
	CHECK_OK(io_read_file(name.buf, 0, &bytes, &err), err);
	whole = bytes.len;
	for (size_t i = 0; i < whole; i += step) {
		bytes.buf[i] ^= (char)(1u << i % 8);
		overwrite(name.buf, &bytes);
		CHECK_INT(read_all(in_dir("damaged"), &err), -1);
		CHECK_INT(err.code, EXIT_CORRUPT);
		bytes.buf[i] ^= (char)(1u << i % 8);
		bytes.len = i;
		overwrite(name.buf, &bytes);
		CHECK_INT(read_all(in_dir("damaged"), &err), -1);
		CHECK_INT(err.code, EXIT_CORRUPT);
		bytes.len = whole;
	}
	overwrite(name.buf, &bytes);
	CHECK_OK(read_all(in_dir("damaged"), &err), err);
	strbuf_release(&name);
	strbuf_release(&bytes);
}

static void
damaged(void)
{
	struct error err = ERROR_NONE;

	CHECK_OK(write_sample(in_dir("damaged"), 0, &err), err);
	damage_file(INDEX_FILE, 1);
	damage_file(GROUPS_FILE, 3);
	damage_file("blocks-00000.kpb", 7);
}

static void
replace_in_manifest(const char *name, const char *from, const char *to)
{
	struct strbuf text = STRBUF_INIT, edited = STRBUF_INIT;
	struct error err = ERROR_NONE;
	char *at;

	CHECK_OK(io_read_file(name, 0, &text, &err), err);
	at = strstr(text.buf, from);
	CHECK(at != NULL);
	if (at) {
		strbuf_add(&edited, text.buf, (size_t)(at - text.buf));
		strbuf_addstr(&edited, to);
		strbuf_addstr(&edited, at + strlen(from));
		overwrite(name, &edited);
	}
	strbuf_release(&text);
	strbuf_release(&edited);
}

/* The manifest with `from` replaced by `to` is refused so. */
static void
manifest_refused(const char *from, const char *to, const char *text)
{
	char name[64], want[256];
	struct error err = ERROR_NONE;

	snprintf(name, sizeof(name), "%s/damaged/%s", dir, MANIFEST_FILE);
	snprintf(want, sizeof(want), "%s/damaged%s", dir, text);
	replace_in_manifest(name, from, to);
	CHECK(!dataset_open(in_dir("damaged"), &err));
	CHECK_INT(err.code, EXIT_CORRUPT);
	CHECK_STR(err.text, want);
	replace_in_manifest(name, to, from);
}

static void
manifests(void)
{
	manifest_refused("\"version\": 1", "\"version\": 4",
			 "/manifest.json: dataset of format version 4; this "
			 "program reads versions 1 to 3");
	manifest_refused("\"version\": 1", "\"version\": 2",
			 "/manifest.json: \"facts_fingerprint\": missing");
	manifest_refused("\"block_files\"",
			 "\"facts_fingerprint\": 1, \"block_files\"",
			 "/manifest.json: unknown key \"facts_fingerprint\"");
	manifest_refused("kp-dataset", "kp-data",
			 "/manifest.json: not the manifest of a kp dataset");
	manifest_refused("\"train\"", "\"trian\"",
			 "/manifest.json: \"totals\": unknown key \"trian\" "
			 "(did you mean \"train\"?)");
	manifest_refused("\"fingerprint\": \"0x", "\"fingerprint\": \"0",
			 "/manifest.json: \"fingerprint\": not a whole number "
			 "from 0");
	manifest_refused("\"rows\": 147", "\"rows\": 148",
			 ": manifest.json and index.kpi do not belong "
			 "together");
	manifest_refused("\"block_files\": 1", "\"block_files\": 2",
			 ": manifest.json and index.kpi do not belong "
			 "together");
}

/* The manifest of a dataset of the same counts, but other rows. */
static void
mixed(void)
{
	struct strbuf bytes = STRBUF_INIT;
	struct error err = ERROR_NONE;
	char name[64], want[128];

	first_y = 1;
	CHECK_OK(write_sample(in_dir("other"), 0, &err), err);
	first_y = 0;
	CHECK_OK(io_read_file(in_dir("other/manifest.json"), 0, &bytes, &err),
		 err);
	snprintf(name, sizeof(name), "%s/damaged/%s", dir, MANIFEST_FILE);
	overwrite(name, &bytes);
	snprintf(want, sizeof(want),
		 "%s/damaged: manifest.json and index.kpi do not belong "
		 "together",
		 dir);
	CHECK_ERROR(read_all(in_dir("damaged"), &err), err, EXIT_CORRUPT, want);
	strbuf_release(&bytes);
}

static void
check_equal_files(const char *a, const char *b, const char *base)
{
	struct strbuf name = STRBUF_INIT, x = STRBUF_INIT, y = STRBUF_INIT;
	struct error err = ERROR_NONE;

	CHECK_OK(io_read_file(io_join(&name, a, base), 0, &x, &err), err);
	CHECK_OK(io_read_file(io_join(&name, b, base), 0, &y, &err), err);
	CHECK_INT(y.len, x.len);
	if (y.len == x.len)
		CHECK_MEM(y.buf, x.buf, x.len);
	strbuf_release(&name);
	strbuf_release(&x);
	strbuf_release(&y);
}

static void
golden_reads(void)
{
	check_sample(golden_path_of(GOLDEN));
}

static void
golden_bytes(void)
{
	const char *golden = golden_path_of(GOLDEN);

	CHECK_INT(entries_of(golden), 4);
	check_equal_files(golden, in_dir("a"), MANIFEST_FILE);
	check_equal_files(golden, in_dir("a"), INDEX_FILE);
	check_equal_files(golden, in_dir("a"), GROUPS_FILE);
	check_equal_files(golden, in_dir("a"), "blocks-00000.kpb");
}

static void
golden_facts(void)
{
	const char *golden = golden_path_of(GOLDEN_FACTS);

	check_facts(golden);
	CHECK_INT(entries_of(golden), 3);
	check_equal_files(golden, in_dir("facts"), MANIFEST_FILE);
	check_equal_files(golden, in_dir("facts"), INDEX_FILE);
	check_equal_files(golden, in_dir("facts"), GROUPS_FILE);
}

/* An index of n blocks, ten to a group. */
static struct index
large_index(size_t n, struct strbuf *keys)
{
	struct index ix = {.ngroup = n / 10, .nblock = n};

	ix.group = xcalloc(ix.ngroup, sizeof(*ix.group));
	ix.block = xcalloc(n, sizeof(*ix.block));
	for (size_t i = 0; i < ix.ngroup; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%08zu", i);
		ix.group[i].rows[PART_TRAIN] = 10000;
		ix.group[i].nblock = 10;
		ix.group[i].facts_bytes = 600;
		ix.group[i].key_bytes = 12;
		groupkey_add(keys, key, 8);
	}
	for (size_t i = 0; i < n; i++) {
		ix.block[i].nrow = 1000;
		ix.block[i].bytes = 20000 + i % 100;
		ix.block[i].file = (uint32_t)(i / 50000);
		ix.block[i].content = i;
	}
	ix.keys = keys->buf;
	ix.keys_bytes = keys->len;
	return ix;
}

static void
large(void)
{
	struct strbuf keys = STRBUF_INIT, bytes = STRBUF_INIT;
	struct index ix = large_index(1000000, &keys), back;
	struct error err = ERROR_NONE;
	clock_t start;
	double sec;

	index_encode(&ix, &bytes);
	start = clock();
	CHECK_OK(index_decode(&back, 1, bytes.buf, bytes.len, &err), err);
	sec = (double)(clock() - start) / CLOCKS_PER_SEC;
	printf("# 1000000 blocks: %zu bytes, decoded in %.3f s\n", bytes.len,
	       sec);
	CHECK(sec < 1);
	CHECK_INT(back.block[50001].offset, back.block[50000].bytes);
	CHECK_INT(back.block[999999].group, 99999);
	CHECK_INT(back.block[999999].first_row, 9000);
	index_release(&back);
	free(ix.group);
	free(ix.block);
	strbuf_release(&keys);
	strbuf_release(&bytes);
}

/* The index with its checksum made right again is refused all the same. */
static void
index_refused(struct index *ix)
{
	struct strbuf bytes = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct index back;

	index_encode(ix, &bytes);
	CHECK_ERROR(index_decode(&back, 1, bytes.buf, bytes.len, &err), err,
		    EXIT_CORRUPT, "damaged index");
	CHECK(back.group == NULL);
	strbuf_release(&bytes);
}

static void
contradictions(void)
{
	struct strbuf keys = STRBUF_INIT;
	struct index ix = large_index(50, &keys);

	ix.group[1].nblock = 11;
	index_refused(&ix);
	ix.group[1].nblock = 10;
	ix.group[4].rows[PART_TEST] = 1;
	index_refused(&ix);
	ix.group[4].rows[PART_TEST] = 0;
	ix.block[3].nrow = 0;
	index_refused(&ix);
	ix.block[3].nrow = 1000;
	ix.block[3].file = 1;
	index_refused(&ix);
	ix.block[3].file = 0;
	ix.block[3].bytes = UINT64_MAX - 5;
	index_refused(&ix);
	ix.block[3].bytes = 20000;
	ix.group[0].facts_bytes = 3;
	index_refused(&ix);
	ix.group[0].facts_bytes = 600;
	ix.group[2].key_bytes = 11;
	index_refused(&ix);
	ix.group[2].key_bytes = 12;
	ix.group[2].flags = 8;
	index_refused(&ix);
	ix.group[2].flags = 0;
	keys.buf[12 + 11] = '0'; /* the second key is the first */
	index_refused(&ix);
	free(ix.group);
	free(ix.block);
	strbuf_release(&keys);
}

static int
write_golden(void)
{
	struct error err = ERROR_NONE;

	io_remove_tree(golden_path_of(GOLDEN));
	io_remove_tree(golden_path_of(GOLDEN_FACTS));
	if (write_sample(golden_path_of(GOLDEN), 0, &err) == 0 &&
	    write_facts(golden_path_of(GOLDEN_FACTS), &err) == 0)
		return 0;
	fprintf(stderr, "%s\n", err.text);
	return 1;
}

int
main(void)
{
	const char *golden = getenv("KP_GOLDEN");

	if (golden && strcmp(golden, "write") == 0)
		return write_golden();
	if (!mkdtemp(dir))
		return 1;
	check_run("a dataset survives the disk", trip);
	check_run("a dataset without rows has facts alone, and is for those "
		  "who ask for no more",
		  without_rows);
	check_run("many block files are one dataset with one fingerprint",
		  many_files);
	check_run("the path of a dataset is absolute", absolute);
	check_run("a group is found by its key", find);
	check_run("what is no dataset is told so", missing);
	check_run("an existing dataset is never replaced", existing);
	check_run("a dropped writer leaves nothing behind", dropped);
	check_run("groups and blocks out of turn are refused", disorder);
	check_run("a schema that could not be read again is not written",
		  unreadable_schema);
	check_run("damage anywhere in index, groups or blocks is noticed",
		  damaged);
	check_run("a damaged or newer manifest is refused", manifests);
	check_run("files of two datasets do not mix", mixed);
	check_run("an index that contradicts itself is refused",
		  contradictions);
	check_run("the golden dataset is read", golden_reads);
	check_run("the golden dataset's bytes are those written today",
		  golden_bytes);
	check_run("so are those of the golden dataset without rows",
		  golden_facts);
	check_run("an index of 1,000,000 blocks is read in under a second",
		  large);
	io_remove_tree(dir);
	strbuf_release(&path);
	return check_done();
}
