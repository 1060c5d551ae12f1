/* kp-partition - cut the rows of a dataset into shards for p workers. */

#include <stdbool.h>
#include <string.h>
#include "base/io.h"
#include "base/opt.h"
#include "plan/cost.h"
#include "plan/explain.h"
#include "plan/partitionopt.h"
#include "plan/planopt.h"

/* --strategy auto, and what it goes by. */
struct automatic {
	const char *learner, *profile;
	int64_t configs;
};

static bool
is_auto(const struct partition_options *qo)
{
	return qo->strategy && strcmp(qo->strategy, "auto") == 0;
}

static void
refuse_without_auto(const struct automatic *a)
{
	const char *given = a->configs	 ? "--configs"
			    : a->learner ? "--learner"
			    : a->profile ? "--profile"
					 : NULL;

	if (given)
		dief(EXIT_USAGE, "%s goes with --strategy auto", given);
}

static void
choose_strategy(const struct automatic *a, const struct dataset *d,
		struct partition_spec *spec)
{
	struct plan_options po = {.profile = a->profile};
	struct error err = ERROR_NONE;
	struct profile profile;
	struct cost_auto how = {.learner = a->learner,
				.configs = (uint32_t)a->configs,
				.workers = spec->workers,
				.profile = &profile};

	if (plan_options_profile(&po, &profile, &err) < 0 ||
	    cost_choose(&how, d, spec, &err) < 0)
		die(&err);
	profile_release(&profile);
}

int
main(int argc, char **argv)
{
	struct automatic automatic = {0};
	struct partition_options qo = {0};
	struct partition_spec spec;
	int64_t workers = 0;
	const char *output = "-";
	bool explain = false, automatically;
	const struct opt opts[] = {
	    {"workers", 'p', OPT_INT, &workers, "N",
	     "number of workers (default: one for each core)", 1, WORKERS_MAX},
	    PARTITION_OPTIONS_TABLE(qo),
	    {"configs", 0, OPT_INT, &automatic.configs, "S",
	     "--strategy auto: the one that is simulated to be done first\n"
	     "with S configs",
	     1, SPACE_CONFIGS_MAX},
	    {"learner", 0, OPT_STRING, &automatic.learner, "NAME",
	     "--strategy auto: of what (default: as suits the label)", 0, 0},
	    {"profile", 0, OPT_STRING, &automatic.profile, "FILE",
	     "--strategy auto: what work costs, from kp-plan --pilot", 0, 0},
	    {"explain", 0, OPT_FLAG, &explain, NULL,
	     "print rows per worker and split groups instead", 0, 0},
	    {"output", 'o', OPT_STRING, &output, "FILE",
	     "where to write; - is standard output", 0, 0},
	    {0},
	};
	const struct opt_program prog = {
	    .usage = "[-p N] [--strategy NAME] [OPTION...] DATA",
	    .purpose = "Cut the rows of a dataset into shards for N workers.",
	    .examples = "  kp-partition -p 8 data > partition.json\n"
			"  kp-partition -p 8 --explain data\n"
			"  kp-partition -p 8 --strategy gtp --order lpt data\n",
	    .opt = opts,
	    .operands_min = 1,
	    .operands_max = 1,
	};
	int first = opt_parse(&prog, argc, argv);
	struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct partition pt;
	struct dataset *d;
	struct jout j;

	if (!workers)
		workers = plan_default_workers();
	automatically = is_auto(&qo);
	if (automatically && !automatic.configs)
		dief(EXIT_USAGE, "--strategy auto needs --configs");
	if (automatically)
		qo.strategy = NULL;
	if (automatically && partition_options_given(&qo))
		dief(EXIT_USAGE, "%s goes with a strategy, not with auto",
		     partition_options_given(&qo));
	if (!automatically)
		refuse_without_auto(&automatic);
	if (partition_options_spec(&qo, (uint32_t)workers, &spec, &err) < 0)
		die(&err);
	d = dataset_open(argv[first], &err);
	if (d && automatically)
		choose_strategy(&automatic, d, &spec);
	if (!d || partition_of_dataset(&pt, d, &spec, &err) < 0)
		die(&err);
	if (explain) {
		explain_partition(&pt, d, &text);
	} else {
		jout_begin(&j, &text, 1);
		partition_json(&pt, &j);
		strbuf_addch(&text, '\n');
	}
	if (io_write_file(output, text.buf, text.len, &err) < 0)
		die(&err);

	strbuf_release(&text);
	partition_release(&pt);
	dataset_free(d);
	return EXIT_DONE;
}
