/* kp-partition - cut the rows of a dataset into shards for p workers. */

#include <stdbool.h>
#include <string.h>
#include "base/io.h"
#include "base/opt.h"
#include "plan/cost.h"
#include "plan/explain.h"
#include "plan/partitionopt.h"
#include "plan/planopt.h"

/* Of --strategy auto, what it goes by. */
static const char *learner, *profile;
static int64_t configs;

static struct partition_options qo = PARTITION_OPTIONS_DEFAULT;
static int64_t workers;
static const char *output = "-";
static bool explain;

static const struct opt options[] = {
    {"workers", 'p', OPT_INT, &workers, "N",
     "number of workers (default: one for each core)", 1, WORKERS_MAX},
    PARTITION_OPTIONS_TABLE(qo, ", auto"),
    {"configs", 0, OPT_INT, &configs, "S",
     "--strategy auto: the one that is simulated to be done first "
     "with S configs",
     1, SPACE_CONFIGS_MAX},
    {"learner", 0, OPT_STRING, &learner, "NAME",
     "--strategy auto: of what (default: as suits the label)", 0, 0},
    {"profile", 0, OPT_STRING, &profile, "FILE",
     "--strategy auto: what work costs, from kp-plan --pilot", 0, 0},
    {"explain", 0, OPT_FLAG, &explain, NULL,
     "print rows per worker and split groups instead", 0, 0},
    {"output", 'o', OPT_STRING, &output, "FILE",
     "where to write; - is standard output", 0, 0},
    {0},
};

static const struct opt_program program = {
    .usage = "[-p N] [--strategy NAME] [OPTION...] DATA",
    .purpose = "Cut the rows of a dataset into shards for N workers.",
    .examples = "  kp-partition -p 8 data > partition.json\n"
		"  kp-partition -p 8 --explain data\n"
		"  kp-partition -p 8 --strategy gtp --order lpt data\n",
    .opt = options,
    .operands_min = 1,
    .operands_max = 1,
};

static bool
is_auto(void)
{
	return qo.strategy && strcmp(qo.strategy, "auto") == 0;
}

static void
check_auto(void)
{
	if (!configs)
		dief(EXIT_USAGE, "--strategy auto needs --configs");
	qo.strategy = NULL;
	if (partition_options_given(&qo))
		dief(EXIT_USAGE, "%s goes with a strategy, not with auto",
		     partition_options_given(&qo));
}

static void
refuse_without_auto(void)
{
	const char *given = configs   ? "--configs"
			    : learner ? "--learner"
			    : profile ? "--profile"
				      : NULL;

	if (given)
		dief(EXIT_USAGE, "%s goes with --strategy auto", given);
}

static void
choose_strategy(const struct dataset *d, struct partition_spec *spec)
{
	struct plan_options po = {.profile = profile};
	struct error err = ERROR_NONE;
	struct profile costs;
	struct cost_auto how = {.learner = learner,
				.configs = (uint32_t)configs,
				.workers = spec->workers,
				.profile = &costs};

	if (plan_options_profile(&po, &costs, &err) < 0 ||
	    cost_choose(&how, d, spec, &err) < 0)
		die(&err);
	profile_release(&costs);
}

static void
write_partition(const struct partition *pt, const struct dataset *d)
{
	struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct jout j;

	if (explain) {
		explain_partition(pt, d, &text);
	} else {
		jout_begin(&j, &text, 1);
		partition_json(pt, &j);
		strbuf_addch(&text, '\n');
	}
	if (io_write_file(output, text.buf, text.len, &err) < 0)
		die(&err);
	strbuf_release(&text);
}

int
main(int argc, char **argv)
{
	int first = opt_parse(&program, argc, argv);
	bool automatically = is_auto();
	struct error err = ERROR_NONE;
	struct partition_spec spec;
	struct partition pt;
	struct dataset *d;

	qo.knows_auto = true;
	if (!workers)
		workers = plan_default_workers();
	if (automatically)
		check_auto();
	else
		refuse_without_auto();
	if (partition_options_spec(&qo, (uint32_t)workers, &spec, &err) < 0)
		die(&err);
	d = dataset_open(argv[first], &err);
	if (d && automatically)
		choose_strategy(d, &spec);
	if (!d || partition_of_dataset(&pt, d, &spec, &err) < 0)
		die(&err);
	write_partition(&pt, d);
	partition_release(&pt);
	dataset_free(d);
	return EXIT_DONE;
}
