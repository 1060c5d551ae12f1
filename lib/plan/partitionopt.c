#include "plan/partitionopt.h"

#include <inttypes.h>
#include <string.h>

/* The strategy of the name that was given. */
static int
find_strategy(const struct partition_options *o, enum strategy *s,
	      struct error *err)
{
	const char *name = o->strategy;
	const char *names[STRATEGY_COUNT + 2] = {NULL}, *near;
	struct strbuf all = STRBUF_INIT;

	if (strategy_parse(name, s) == 0)
		return 0;
	if (!o->knows_auto && strcmp(name, "auto") == 0)
		return error_set(err, EXIT_USAGE,
				 "--strategy auto: only kp-partition chooses "
				 "(kp-partition ... | kp-plan ... | kp-train "
				 "... -)");
	for (int i = 0; i < STRATEGY_COUNT; i++) {
		names[i] = strategy_name((enum strategy)i);
		strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	if (o->knows_auto) {
		names[STRATEGY_COUNT] = "auto";
		strbuf_addstr(&all, ", auto");
	}
	near = opt_suggest(name, names);
	if (near)
		error_set(err, EXIT_USAGE,
			  "--strategy %s: no such strategy (did you mean %s?)",
			  name, near);
	else
		error_set(err, EXIT_USAGE,
			  "--strategy %s: no such strategy (there is %s)", name,
			  all.buf);
	strbuf_release(&all);
	return -1;
}

/* A word to be one of two; sets whether it is the second. */
static int
take_word(const char *option, const char *given, const char *const word[2],
	  bool *second, struct error *err)
{
	*second = false;
	if (given == NULL)
		return 0;
	*second = strcmp(given, word[1]) == 0;
	if (*second || strcmp(given, word[0]) == 0)
		return 0;
	return error_set(err, EXIT_USAGE, "%s %s: not %s or %s", option, given,
			 word[0], word[1]);
}

/* An option that was given and says nothing about this strategy. */
static int
check_fit(const struct partition_options *o, enum strategy s, struct error *err)
{
	const char *option = NULL, *with = NULL;

	if (o->order && !strategy_has_order(s)) {
		option = "--order";
		with = "gtp or sp";
	} else if (o->capacity && !strategy_has_capacity(s)) {
		option = "--capacity";
		with = "gl";
	} else if (o->isolate && !strategy_has_isolate(s)) {
		option = "--isolate";
		with = "gl, gl-constrained or mop";
	} else if (o->group_rows >= 0 && !strategy_has_group_rows(s)) {
		option = "--group-rows";
		with = "gl";
	}
	if (option == NULL)
		return 0;
	return error_set(err, EXIT_USAGE, "%s goes with --strategy %s, not %s",
			 option, with, strategy_name(s));
}

int
partition_options_spec(const struct partition_options *o, uint32_t workers,
		       struct partition_spec *spec, struct error *err)
{
	static const char *const order[2] = {"fifo", "lpt"};
	static const char *const capacity[2] = {"exact", "paper"};
	static const char *const isolate[2] = {"none", "group"};

	*spec = (struct partition_spec){.workers = workers};
	if ((o->strategy && find_strategy(o, &spec->strategy, err) < 0) ||
	    take_word("--order", o->order, order, &spec->lpt, err) < 0 ||
	    take_word("--capacity", o->capacity, capacity,
		      &spec->paper_capacity, err) < 0 ||
	    take_word("--isolate", o->isolate, isolate, &spec->isolate, err) <
		0)
		return -1;
	if (check_fit(o, spec->strategy, err) < 0)
		return -1;
	if (o->group_rows > 0 && spec->paper_capacity)
		return error_set(err, EXIT_USAGE,
				 "--group-rows does not go with "
				 "--capacity paper");
	spec->group_rows = o->group_rows > 0 ? (uint64_t)o->group_rows : 0;
	return 0;
}

const char *
partition_options_given(const struct partition_options *o)
{
	return o->strategy	    ? "--strategy"
	       : o->order	    ? "--order"
	       : o->capacity	    ? "--capacity"
	       : o->isolate	    ? "--isolate"
	       : o->group_rows >= 0 ? "--group-rows"
				    : NULL;
}

void
partition_options_words(const struct partition_spec *spec, struct strbuf *sb)
{
	strbuf_addf(sb, " --strategy %s", strategy_name(spec->strategy));
	if (spec->lpt)
		strbuf_addstr(sb, " --order lpt");
	if (spec->paper_capacity)
		strbuf_addstr(sb, " --capacity paper");
	if (spec->isolate)
		strbuf_addstr(sb, " --isolate group");
	if (spec->group_rows)
		strbuf_addf(sb, " --group-rows %" PRIu64, spec->group_rows);
}
