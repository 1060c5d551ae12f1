/* kp-shuffle - the records of a file, or the rows of a dataset, in an order
 * that is good for SGD. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/opt.h"
#include "data/task.h"
#include "exec/artifact.h"
#include "exec/stopsignal.h"
#include "shuffle/datashuffle.h"
#include "shuffle/examine.h"
#include "shuffle/textshuffle.h"

#define THREADS_MAX 64

static const char *method = "corgipile", *format, *block_size;
static const char *buffer, *rank, *state, *resume, *tmpdir;
static const char *as, *group, *split;
static uint64_t memory_bytes;
static int64_t skip, seed = 1, epochs = 1, epoch = -1, threads = 1;
static bool header, even, single_buffer, stats;
static const char *label;
static int64_t batch = -1;
static bool diagnose, measure, json;

static const struct opt options[] = {
    {"method", 0, OPT_STRING, &method, "METHOD",
     "corgipile, or to compare: none, once, epoch, window, mrs, block", 0, 0},
    {"block-size", 0, OPT_STRING, &block_size, "SIZE",
     "bytes of a block (default 10M; less, so that a buffer has "
     "100 blocks)",
     0, 0},
    {"buffer", 0, OPT_STRING, &buffer, "SIZE",
     "bytes of a buffer, or a share of the input (default 10%, but "
     "1M at least); memory is twice that and 64M",
     0, 0},
    {"seed", 0, OPT_INT, &seed, "N", "of the order", 0, 0x1p53},
    {"epochs", 0, OPT_INT, &epochs, "N",
     "how many times over, each in another order", 1, 1e9},
    {"epoch", 0, OPT_INT, &epoch, "K", "that one alone, counted from 0", 0,
     1e9},
    {"rank", 0, OPT_STRING, &rank, "I/P",
     "part I (from 0) of P that have every record once together", 0, 0},
    {"even", 0, OPT_FLAG, &even, NULL,
     "ranks of equal numbers of records, give or take one", 0, 0},
    {"format", 0, OPT_STRING, &format, "FORMAT",
     "lines, csv (line ends in quotes), libsvm (default lines)", 0, 0},
    {"header", 0, OPT_FLAG, &header, NULL, "the first record stays first, once",
     0, 0},
    {"state", 0, OPT_STRING, &state, "FILE",
     "keep there how far the output has come", 0, 0},
    {"resume", 0, OPT_STRING, &resume, "FILE",
     "go on from there, with the same options", 0, 0},
    {"skip", 0, OPT_INT, &skip, "N",
     "leave out the first N records of all epochs together", 0, 1e18},
    {"tmpdir", 0, OPT_STRING, &tmpdir, "DIR",
     "for a copy of a pipe, and of once and epoch (default: $TMPDIR "
     "or /tmp)",
     0, 0},
    {"jobs", 'j', OPT_INT, &threads, "N", "threads that read", 1, THREADS_MAX},
    {"single-buffer", 0, OPT_FLAG, &single_buffer, NULL,
     "fill and write in turn, to compare", 0, 0},
    {"as", 0, OPT_STRING, &as, "FORMAT",
     "rows of a dataset as a stream of blocks, for kp-train --blocks, "
     "or as csv (default stream)",
     0, 0},
    {"group", 0, OPT_STRING, &group, "KEY", "of a dataset, this group alone", 0,
     0},
    {"split", 0, OPT_STRING, &split, "PART",
     "of a dataset, train, holdout or test rows alone", 0, 0},
    {"memory", 0, OPT_BYTES, &memory_bytes, "SIZE",
     "for all rows of a dataset: once, epoch, window, mrs (default: "
     "half of what there is)",
     0, 0},
    {"stats", 0, OPT_FLAG, &stats, NULL,
     "sizes, memory and seconds on stderr at the end", 0, 0},
    {"diagnose", 0, OPT_FLAG, &diagnose, NULL,
     "shuffle nothing: tell how clustered the input is, from a sample", 0, 0},
    {"measure", 0, OPT_FLAG, &measure, NULL,
     "shuffle nothing: tell how good the order would be", 0, 0},
    {"label", 0, OPT_STRING, &label, "COLUMN",
     "of csv, for these two: its name or its number from 1", 0, 0},
    {"batch", 0, OPT_INT, &batch, "N",
     "rows of a batch, for --measure (default 128)", 1, 1e6},
    {"json", 0, OPT_FLAG, &json, NULL, "what these two tell as JSON", 0, 0},
    {0},
};

static const struct opt_program program = {
    .usage = "[OPTION...] [FILE | DATA]",
    .purpose = "Write the records of a file in an order that is good for SGD.",
    .examples = "  kp-shuffle --epochs 5 big.svm | trainer\n"
		"  kp-shuffle --format csv --header --buffer 2G big.csv\n"
		"  kp-shuffle --rank 0/4 --even big.txt > part0\n"
		"  kp-shuffle --method none --as csv data | head\n",
    .opt = options,
    .operands_min = 0,
    .operands_max = 1,
};

/* "I/P" */
static struct order_rank
parse_rank(const char *text)
{
	struct order_rank r = {.even = even};
	const char *slash = text ? strchr(text, '/') : NULL;
	int64_t part = 0, parts = 0;
	char first[12] = "";

	if (!text) {
		if (even)
			dief(EXIT_USAGE, "--even needs --rank");
		return (struct order_rank){0};
	}
	if (slash && slash - text < (long)sizeof(first))
		memcpy(first, text, (size_t)(slash - text));
	if (!slash || opt_parse_int(first, &part) < 0 ||
	    opt_parse_int(slash + 1, &parts) < 0 || part < 0 || part >= parts ||
	    parts > UINT16_MAX)
		dief(EXIT_USAGE,
		     "--rank: not I/P with 0 <= I < P <= %d: \"%s\"",
		     UINT16_MAX, text);
	r.rank = (uint32_t)part;
	r.ranks = (uint32_t)parts;
	return r;
}

static enum shuffle_method
parse_method(void)
{
	enum shuffle_method m;
	struct error err = ERROR_NONE;

	if (shuffle_method_parse(method, &m, &err) < 0) {
		error_context(&err, "--method");
		die(&err);
	}
	return m;
}

static const char *
temporary_folder(void)
{
	if (!tmpdir)
		tmpdir = getenv("TMPDIR");
	return tmpdir && *tmpdir ? tmpdir : "/tmp";
}

/* 0: not said */
static uint64_t
parse_block_size(void)
{
	uint64_t bytes = 0;

	if (block_size && (opt_parse_bytes(block_size, &bytes) < 0 || !bytes))
		dief(EXIT_USAGE, "--block-size: not a size: \"%s\"",
		     block_size);
	return bytes;
}

static struct textshuffle_options
text_options(const char *path)
{
	struct textshuffle_options o = {
	    .file = {.path = path,
		     .header = header,
		     .tmpdir = temporary_folder()},
	    .seed = (uint64_t)seed,
	    .first_epoch = epoch < 0 ? 0 : (uint64_t)epoch,
	    .epochs = (uint64_t)epochs,
	    .part = parse_rank(rank),
	    .block_bytes = parse_block_size(),
	    .threads = (unsigned)threads,
	    .single_buffer = single_buffer,
	    .state_path = state,
	    .resume_path = resume,
	    .skip = (uint64_t)skip,
	};
	struct error err = ERROR_NONE;

	o.method = parse_method();
	if (format && text_format_parse(format, &o.file.format, &err) < 0) {
		error_context(&err, "--format");
		die(&err);
	}
	if (buffer && buffer_size_parse(buffer, &o.buffer, &err) < 0)
		die(&err);
	return o;
}

/* How well a buffer mixes goes by the number of its blocks. */
static void
advise(const struct textshuffle_options *o, const struct textshuffle_facts *f)
{
	struct strbuf sb = STRBUF_INIT;

	if (o->method != SHUFFLE_CORGIPILE || f->covers ||
	    f->buffer_blocks >= TEXTSHUFFLE_GOOD_BLOCKS)
		return;
	if (f->good_buffer_bytes == 0 || !f->good_covers) {
		strbuf_addstr(&sb, "--block-size ");
		buffer_size_round((double)f->good_block_bytes,
				  f->good_buffer_bytes > 0, &sb);
	}
	if (f->good_buffer_bytes > 0) {
		strbuf_addstr(&sb, f->good_covers ? "--buffer " : " --buffer ");
		buffer_size_round(1.02 * (double)f->good_buffer_bytes, true,
				  &sb);
	}
	if (f->good_covers)
		strbuf_addstr(&sb, " holds all");
	else
		strbuf_addf(&sb, " gives %d", TEXTSHUFFLE_GOOD_BLOCKS);
	warning("a buffer holds %zu block%s, too few to mix well; %s",
		f->buffer_blocks, f->buffer_blocks == 1 ? "" : "s", sb.buf);
	strbuf_release(&sb);
}

static void
warn_of_skip(bool beyond)
{
	if (beyond)
		warning("--skip %" PRId64 ": the output has not so many "
			"records: nothing is left of it",
			skip);
}

/* The most memory that was resident, in bytes; 0 if unknown. */
static uint64_t
resident_peak(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	uint64_t kb = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %" SCNu64, &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb * 1024;
}

static void
print_stats(const struct textshuffle_facts *f,
	    const struct textshuffle_stats *s, double seconds)
{
	fprintf(stderr,
		"blocks %zu\nblock_bytes %" PRIu64 "\nbuffer_bytes %" PRIu64
		"\nbuffer_blocks %zu\nrecords %" PRIu64
		"\nbytes_written %" PRIu64 "\nbytes_read %" PRIu64
		"\ncopy_bytes %" PRIu64 "\nresident_bytes %" PRIu64
		"\nseconds %.3f\nwaited_seconds %.3f\n",
		f->blocks, f->block_bytes, f->buffer_bytes, f->buffer_blocks,
		s->records, s->bytes_written, s->bytes_read, s->copy_bytes,
		resident_peak(), seconds, s->waited);
}

/* --diagnose or --measure */
static void
examine_input(const struct textshuffle_options *text,
	      const struct datashuffle_spec *data)
{
	struct examine_spec spec = {.text = text,
				    .data = data,
				    .label = label,
				    .measure = measure,
				    .batch = batch < 0 ? 128 : (size_t)batch,
				    .json = json};
	struct strbuf out = STRBUF_INIT;
	struct error err = ERROR_NONE;

	if (examine(&spec, &out, &err) < 0)
		die(&err);
	fwrite(out.buf, 1, out.len, stdout);
	strbuf_release(&out);
}

#define LOOKED_AT ((size_t)1 << 20)

/* Of a file that is CSV by its name: whether a line ends inside quotes, as far
 * as it is looked at.  Pipes cannot be looked at twice. */
static bool
has_split_quotes(const char *path)
{
	size_t length = strlen(path), n;
	bool inside = false, found = false;
	struct stat st;
	char *text;
	FILE *f;

	if (length < 4 || strcmp(path + length - 4, ".csv") != 0 ||
	    stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "r");
	if (!f)
		return false;
	text = xmalloc(LOOKED_AT);
	n = fread(text, 1, LOOKED_AT, f);
	fclose(f);
	for (size_t i = 0; i < n && !found; i++) {
		inside ^= text[i] == '"';
		found = text[i] == '\n' && inside;
	}
	free(text);
	return found;
}

static void
shuffle_text(const struct textshuffle_options *o)
{
	struct textshuffle_stats s = {0};
	struct error err = ERROR_NONE;
	double start = clock_sec();
	struct textshuffle *t = textshuffle_new(o, &err);

	if (!t)
		die(&err);
	if (!format && o->file.path && has_split_quotes(o->file.path))
		warning("%s: a quoted field goes on over a line end: give "
			"--format csv",
			o->file.path);
	advise(o, textshuffle_facts(t));
	warn_of_skip(textshuffle_facts(t)->skips_beyond);
	if (textshuffle_run(t, STDOUT_FILENO, "standard output", &s, &err) < 0)
		die(&err);
	if (stats)
		print_stats(textshuffle_facts(t), &s, clock_sec() - start);
	textshuffle_free(t);
}

/* --- datasets --- */

/* Of enum part; -1: all. */
static int
parse_split(void)
{
	static const char *const part[] = {"train", "holdout", "test"};

	for (int i = 0; split && i < PART_COUNT; i++)
		if (strcmp(split, part[i]) == 0)
			return i;
	if (split)
		dief(EXIT_USAGE, "--split: not train, holdout or test: \"%s\"",
		     split);
	return -1;
}

static bool
parse_as(void)
{
	bool csv = as && strcmp(as, "csv") == 0;

	if (as && !csv && strcmp(as, "stream") != 0)
		dief(EXIT_USAGE, "--as: not stream or csv: \"%s\"", as);
	return csv;
}

/* Dies of an option that is for the other kind of input. */
static void
refuse_options(const char *path, bool dataset)
{
	const struct {
		const char *name;
		bool given, of_dataset;
	} o[] = {
	    {"block-size", block_size != NULL, false},
	    {"format", format != NULL, false},
	    {"header", header, false},
	    {"tmpdir", tmpdir != NULL, false},
	    {"jobs", threads != 1, false},
	    {"label", label != NULL, false},
	    {"as", as != NULL, true},
	    {"group", group != NULL, true},
	    {"split", split != NULL, true},
	    {"memory", memory_bytes != 0, true},
	};

	for (size_t i = 0; i < sizeof(o) / sizeof(*o); i++)
		if (o[i].given && o[i].of_dataset != dataset)
			dief(EXIT_USAGE, "--%s: %s is %s dataset", o[i].name,
			     strcmp(path, "-") == 0 ? "standard input" : path,
			     dataset ? "a" : "no");
}

static void
advise_data(const struct datashuffle_spec *p, const struct datashuffle_facts *f)
{
	struct strbuf size = STRBUF_INIT;

	if (p->method != SHUFFLE_CORGIPILE || f->covers ||
	    f->buffer_blocks >= DATASHUFFLE_GOOD_BLOCKS)
		return;
	buffer_size_round((double)f->good_block_bytes, false, &size);
	if (f->good_blocks < DATASHUFFLE_GOOD_BLOCKS)
		strbuf_addf(&size, " gives about %zu, a larger --buffer more",
			    f->good_blocks);
	else
		strbuf_addf(&size, " gives %d", DATASHUFFLE_GOOD_BLOCKS);
	warning("a buffer holds about %zu of the %zu blocks of %s, too few to "
		"mix well; kp-featurize --block-size %s",
		f->buffer_blocks, f->blocks, p->path, size.buf);
	strbuf_release(&size);
}

static void
print_data_stats(const struct datashuffle_facts *f,
		 const struct datashuffle_stats *s, double seconds)
{
	fprintf(stderr,
		"groups %zu\nblocks %zu\nbuffer_bytes %" PRIu64
		"\nbuffer_blocks %zu\nrows %" PRIu64 "\nbytes_written %" PRIu64
		"\nresident_bytes %" PRIu64
		"\nseconds %.3f\nwaited_seconds %.3f\n",
		f->groups, f->blocks, f->buffer_bytes, f->buffer_blocks,
		s->rows, s->bytes_written, resident_peak(), seconds, s->waited);
}

static struct datashuffle_spec
data_options(const char *path)
{
	struct datashuffle_spec p = {
	    .path = path,
	    .method = parse_method(),
	    .seed = (uint64_t)seed,
	    .epoch = epoch < 0 ? 0 : (uint64_t)epoch,
	    .epochs = (uint64_t)epochs,
	    .part = parse_rank(rank),
	    .group = group,
	    .split = parse_split(),
	    .csv = parse_as(),
	    .single_buffer = single_buffer,
	    .memory_bytes = memory_bytes,
	    .state = state,
	    .resume = resume,
	    .skip = (uint64_t)skip,
	};
	struct error err = ERROR_NONE;

	if (buffer && buffer_size_parse(buffer, &p.buffer, &err) < 0)
		die(&err);
	return p;
}

static void
shuffle_dataset(const struct datashuffle_spec *p)
{
	struct datashuffle_stats s = {0};
	struct error err = ERROR_NONE;
	double start = clock_sec();
	struct datashuffle *d;

	if (!p->csv && isatty(STDOUT_FILENO))
		dief(EXIT_USAGE, "a stream of blocks is not for a terminal "
				 "(see --as csv)");
	d = datashuffle_new(p, &err);
	if (!d)
		die(&err);
	advise_data(p, datashuffle_facts(d));
	warn_of_skip(datashuffle_facts(d)->skips_beyond);
	if (datashuffle_run(d, STDOUT_FILENO, "standard output", &s, &err) < 0)
		die(&err);
	if (stats)
		print_data_stats(datashuffle_facts(d), &s, clock_sec() - start);
	datashuffle_free(d);
}

/* --- all --- */

static void
check_options(void)
{
	if (epoch >= 0 && epochs != 1)
		dief(EXIT_USAGE, "--epoch is one, --epochs all up to it: "
				 "give one of them");
	if (skip && resume)
		dief(EXIT_USAGE, "--resume says where to go on: not with "
				 "--skip");
	if (diagnose && measure)
		dief(EXIT_USAGE, "give one of --diagnose and --measure");
	if (!diagnose && !measure && (label || json))
		dief(EXIT_USAGE, "--%s needs --diagnose or --measure",
		     label ? "label" : "json");
	if (!measure && batch >= 0)
		dief(EXIT_USAGE, "--batch needs --measure");
	if ((diagnose || measure) && (state || resume || skip || stats))
		dief(EXIT_USAGE, "--%s: not with --%s",
		     state    ? "state"
		     : skip   ? "skip"
		     : resume ? "resume"
			      : "stats",
		     diagnose ? "diagnose" : "measure");
}

/* What is neither a dataset nor text is refused. */
static bool
is_dataset(const char *path)
{
	enum artifact kind =
	    strcmp(path, "-") == 0 ? ARTIFACT_STREAM : artifact_of(path);
	bool binary = kind == ARTIFACT_FILE && artifact_is_frames(path);

	if (kind == ARTIFACT_RUN || kind == ARTIFACT_BUNDLE || binary)
		dief(EXIT_CORRUPT, "%s: %s, neither text nor a dataset", path,
		     binary ? "a block stream or a part of a dataset"
			    : artifact_name(kind));
	return kind == ARTIFACT_DATASET;
}

int
main(int argc, char **argv)
{
	int first = opt_parse(&program, argc, argv);
	const char *path = first < argc ? argv[first] : "-";
	bool dataset, look = diagnose || measure;

	check_options();
	if (first == argc && isatty(STDIN_FILENO))
		opt_short_help(&program);
	/* an input that is copied first may be long in coming */
	if (state)
		stopsignal_at_once();
	dataset = is_dataset(path);
	refuse_options(path, dataset);
	if (dataset) {
		struct datashuffle_spec p = data_options(path);

		if (look)
			examine_input(NULL, &p);
		else
			shuffle_dataset(&p);
	} else {
		struct textshuffle_options o = text_options(path);

		if (look)
			examine_input(&o, NULL);
		else
			shuffle_text(&o);
	}
	close_stdout();
	return EXIT_DONE;
}
