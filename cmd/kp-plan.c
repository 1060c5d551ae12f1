/* kp-plan - a partition and a search space to the plan of a run. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/opt.h"
#include "exec/artifact.h"
#include "plan/explain.h"
#include "plan/planopt.h"

#define PARTITION_BYTES_MAX ((size_t)1 << 24)

static int
read_partition(const char *path, const char *name, struct partition *pt,
	       struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	struct jvalue *v = NULL;
	int ret = -1;

	if (io_read_file(path, PARTITION_BYTES_MAX, &text, err) == 0)
		v = jsonio_parse(text.buf, text.len, name, err);
	if (v) {
		ret = partition_load(pt, v, err);
		if (ret < 0)
			error_context(err, "%s", name);
	}
	jsonio_free(v);
	strbuf_release(&text);
	return ret;
}

/* A dataset is what most likely stands where its partition belongs. */
static void
refuse_dataset(const char *path)
{
	struct strbuf word = STRBUF_INIT;

	if (artifact_of(path) != ARTIFACT_DATASET)
		return;
	strbuf_addword(&word, path);
	dief(EXIT_CORRUPT,
	     "%s: a dataset, not a partition (kp-partition %s | kp-plan ...)",
	     path, word.buf);
}

/* Reads the partition at path and opens the dataset it is of, at `data` if
 * given; the partition then names that one. */
static struct dataset *
open_both(const char *path, const char *data, struct partition *pt,
	  struct error *err)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct dataset *d;

	if (read_partition(path, name, pt, err) < 0)
		return NULL;
	d = dataset_open(data ? data : pt->data, err);
	if (!d)
		return NULL;
	if (partition_check(pt, d, err) < 0) {
		error_context(err, "%s", name);
		dataset_free(d);
		return NULL;
	}
	free(pt->data);
	pt->data = xstrdup(dataset_path(d));
	return d;
}

static void
write_plan(const struct plan *p, const struct dataset *d, bool explain,
	   struct strbuf *text)
{
	struct jout j;

	if (explain) {
		explain_plan(p, d, text);
		return;
	}
	jout_begin(&j, text, 1);
	plan_json(p, &j);
	strbuf_addch(text, '\n');
}

int
main(int argc, char **argv)
{
	struct plan_options po = PLAN_OPTIONS_DEFAULT;
	const char *data = NULL, *output = "-";
	bool explain = false;
	const struct opt opts[] = {
	    PLAN_OPTIONS_TABLE(po),
	    {"data", 0, OPT_STRING, &data, "DIR",
	     "where the dataset is now (default: as in the partition)", 0, 0},
	    {"explain", 0, OPT_FLAG, &explain, NULL,
	     "print configs, packs and work instead", 0, 0},
	    {"output", 'o', OPT_STRING, &output, "FILE",
	     "where to write; - is standard output", 0, 0},
	    {0},
	};
	const struct opt_program prog = {
	    .usage = "--learner NAME [OPTION...] [PARTITION]",
	    .purpose = "Expand a search space and pack its configs: the plan "
		       "of a run.",
	    .examples =
		"  kp-partition -p 8 data | kp-plan --learner logistic \\\n"
		"      --param l2=log:1e-8:1e-1 --search grid:8 > plan.json\n",
	    .opt = opts,
	    .operands_min = 0,
	    .operands_max = 1,
	    .elsewhere = plan_options_elsewhere,
	};
	int first = opt_parse(&prog, argc, argv);
	const char *path = first < argc ? argv[first] : "-";
	struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct partition pt;
	struct dataset *d;
	struct plan plan;

	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		opt_short_help(&prog);
	refuse_dataset(path);
	d = open_both(path, data, &pt, &err);
	if (!d || plan_build(&plan, &po, dataset_schema(d), &pt, &err) < 0)
		die(&err);
	write_plan(&plan, d, explain, &text);
	if (io_write_file(output, text.buf, text.len, &err) < 0)
		die(&err);

	strbuf_release(&text);
	plan_release(&plan);
	plan_options_release(&po);
	dataset_free(d);
	return EXIT_DONE;
}
