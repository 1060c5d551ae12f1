/* kp-partition - cut the rows of a dataset into shards for p workers. */

#include <stdbool.h>
#include "base/io.h"
#include "base/opt.h"
#include "plan/explain.h"
#include "plan/partitionopt.h"
#include "plan/planopt.h"

int
main(int argc, char **argv)
{
	struct partition_options qo = {0};
	struct partition_spec spec;
	int64_t workers = 0;
	const char *output = "-";
	bool explain = false;
	const struct opt opts[] = {
	    {"workers", 'p', OPT_INT, &workers, "N",
	     "number of workers (default: one for each core)", 1, WORKERS_MAX},
	    PARTITION_OPTIONS_TABLE(qo),
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
	if (partition_options_spec(&qo, (uint32_t)workers, &spec, &err) < 0)
		die(&err);
	d = dataset_open(argv[first], &err);
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
