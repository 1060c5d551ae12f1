#include "plan/planopt.h"

#include <inttypes.h>
#include <string.h>
#include "base/cores.h"
#include "base/strbuf.h"

void
plan_options_release(struct plan_options *o)
{
	opt_list_release(&o->param);
}

void
plan_options_words(const struct plan_options *o, const struct plan *p,
		   struct strbuf *sb)
{
	strbuf_addf(sb, " --learner %s", p->space.learner->name);
	for (size_t i = 0; i < o->param.n; i++) {
		strbuf_addstr(sb, " --param ");
		strbuf_addword(sb, o->param.item[i]);
	}
	strbuf_addstr(sb, " --search ");
	strbuf_addword(sb, o->search);
	strbuf_addf(sb,
		    " --seed %" PRIu64 " --epochs %" PRIu32
		    " --pack-width %" PRIu32 " --min-rows %" PRIu32,
		    p->space.seed, p->epochs, p->pack_width, p->min_rows);
	if (p->patience > 0)
		strbuf_addf(sb, " --patience %" PRIu32, p->patience);
	if (plan_is_sequential(p)) {
		strbuf_addf(sb, " --shuffle %s --buffer ",
			    shuffle_method_name(p->shuffle));
		buffer_size_text(&p->buffer, sb);
		if (p->local_batch)
			strbuf_addstr(sb, " --dp-batch local");
	}
	if (o->profile) {
		strbuf_addstr(sb, " --profile ");
		strbuf_addword(sb, o->profile);
	}
}

const char *
plan_options_given(const struct plan_options *o)
{
	static const struct plan_options none = PLAN_OPTIONS_DEFAULT;

	return o->learner			  ? "--learner"
	       : o->param.n > 0			  ? "--param"
	       : strcmp(o->search, none.search)	  ? "--search"
	       : o->seed != none.seed		  ? "--seed"
	       : o->epochs != none.epochs	  ? "--epochs"
	       : o->patience != none.patience	  ? "--patience"
	       : o->pack_width != none.pack_width ? "--pack-width"
	       : o->min_rows != none.min_rows	  ? "--min-rows"
	       : o->shuffle			  ? "--shuffle"
	       : o->buffer			  ? "--buffer"
	       : o->dp_batch			  ? "--dp-batch"
	       : o->profile			  ? "--profile"
						  : NULL;
}

void
plan_options_elsewhere(const char *word, struct strbuf *sb)
{
	for (size_t i = 0; learner_table[i]; i++) {
		const struct learner *l = learner_table[i];

		for (size_t k = 0; k < l->nparam; k++) {
			if (strcmp(l->param[k].name, word) != 0)
				continue;
			strbuf_addf(sb, "a parameter: --param %s=...", word);
			return;
		}
	}
}

uint32_t
plan_default_workers(void)
{
	size_t n = cores_usable();

	return n > WORKERS_MAX ? WORKERS_MAX : (uint32_t)n;
}

/* The learner of a name, or NULL and err. */
static const struct learner *
find_learner(const char *name, struct error *err)
{
	const struct learner *l = name ? learner_by_name(name) : NULL;
	const char *names[64] = {NULL};
	struct strbuf all = STRBUF_INIT;
	const char *near;

	if (l)
		return l;
	for (size_t i = 0; learner_table[i] && i < 63; i++) {
		names[i] = learner_table[i]->name;
		strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	near = name ? opt_suggest(name, names) : NULL;
	if (!name)
		error_set(err, EXIT_USAGE, "--learner is needed (there is %s)",
			  all.buf);
	else if (near)
		error_set(err, EXIT_USAGE,
			  "--learner %s: no such learner (did you mean %s?)",
			  name, near);
	else
		error_set(err, EXIT_USAGE,
			  "--learner %s: no such learner (there is %s)", name,
			  all.buf);
	strbuf_release(&all);
	return NULL;
}

/* Draws of single values would all be one config. */
static int
check_draws(const struct space *s, const char *search, struct error *err)
{
	if (s->search != SEARCH_RANDOM)
		return 0;
	for (size_t i = 0; i < s->ndim; i++) {
		const struct space_dim *d = &s->dim[i];

		if (d->kind == DIM_VALUES ? d->nvalue > 1 : d->lo < d->hi)
			return 0;
	}
	return error_set(err, EXIT_USAGE,
			 "--search %s needs a range (log:, lin:, int:) or "
			 "more than one value",
			 search);
}

static int
check_halving(const struct space *s, const char *search, struct error *err)
{
	if (s->eta == 0 || s->nconfig > 1)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "--search %s: of a single config there is nothing to "
			 "halve",
			 search);
}

/* Whether some config would look at parameter `used`, and be accepted, if it
 * had value v of parameter `of`. */
static bool
would_help(const struct space *s, size_t of, size_t v, size_t used)
{
	struct error refusal;
	size_t to_blame;

	for (size_t i = 0; i < s->nconfig; i++) {
		struct config c = s->config[i];

		c.value[of] = (double)v;
		if (learner_uses(s->learner, &c, used, &to_blame) &&
		    s->learner->check_config(&c, &refusal) == 0)
			return true;
	}
	return false;
}

/* The values of parameter `of` in the configs if `used` is negative, else its
 * values with which parameter `used` counts: "sgd or adam". */
static void
add_choices(const struct space *s, size_t of, int used, struct strbuf *sb)
{
	const struct learner_param *p = &s->learner->param[of];
	const char * or = "";

	for (size_t v = 0; p->choice[v]; v++) {
		bool now = false;

		for (size_t i = 0; i < s->nconfig; i++)
			now |= s->config[i].value[of] == (double)v;
		if (used < 0 ? !now
			     : now || !would_help(s, of, v, (size_t)used))
			continue;
		strbuf_addf(sb, "%s%s", or, p->choice[v]);
		or = " or ";
	}
}

/* The parameter that keeps all configs from looking at parameter `param`, -1
 * if one does look at it. */
static int
blamed(const struct space *s, size_t param)
{
	size_t of = 0;

	for (size_t i = 0; i < s->nconfig; i++)
		if (learner_uses(s->learner, &s->config[i], param, &of))
			return -1;
	return (int)of;
}

/* A parameter that was given and that no config looks at: what was meant is
 * another config. */
static int
check_used(const struct space *s, struct error *err)
{
	struct strbuf now = STRBUF_INIT, good = STRBUF_INIT;
	struct strbuf advice = STRBUF_INIT;
	const struct learner_param *p = s->learner->param;
	int of = -1, other;
	bool given = false;
	size_t k;

	for (k = 0; k < s->ndim && of < 0; k++)
		of = blamed(s, s->dim[k].param);
	if (of < 0)
		return 0;
	k = s->dim[k - 1].param;
	add_choices(s, (size_t)of, (int)k, &good);
	/* No value of that parameter goes with the others of the config. */
	other = p[k].unless[1].of;
	if (good.len == 0 && p[k].unless[0].values) {
		add_choices(s, (size_t)other, (int)k, &good);
		if (good.len)
			of = other;
	}
	for (size_t i = 0; i < s->ndim; i++)
		given |= s->dim[i].param == (uint32_t)of;
	add_choices(s, (size_t)of, -1, &now);
	if (good.len)
		strbuf_addf(&advice, ": %s %s=%s",
			    given ? "it goes with" : "add --param", p[of].name,
			    good.buf);
	error_set(err, EXIT_USAGE, "--param %s does nothing under %s=%s%s",
		  p[k].name, p[of].name, now.buf, advice.len ? advice.buf : "");
	strbuf_release(&now);
	strbuf_release(&good);
	strbuf_release(&advice);
	return -1;
}

/* Without --epochs, the default of how the configs are trained. */
static int
set_epochs(struct plan *p, int64_t given, struct error *err)
{
	p->epochs = (uint32_t)given;
	if (given == 0)
		p->epochs = plan_ops(p, 0)->epochs_default;
	for (uint32_t i = 1; given == 0 && i < p->space.nconfig; i++)
		if (plan_ops(p, i)->epochs_default != p->epochs)
			return error_set(err, EXIT_USAGE,
					 "configs of solvers that need epochs "
					 "of different kinds: give --epochs");
	return 0;
}

static int
set_batch(struct plan *p, const struct plan_options *o, struct error *err)
{
	enum strategy s = p->partition.spec.strategy;

	if (o->dp_batch == NULL)
		return 0;
	if (plan_batch_parse(o->dp_batch, &p->local_batch, err) < 0)
		return error_context(err, "--dp-batch");
	if (!plan_is_sequential(p) || !strategy_one_group(s))
		return error_set(err, EXIT_USAGE,
				 "--dp-batch goes with --strategy dp or sp and "
				 "solver=sgd or adam");
	return 0;
}

static int
set_shuffle(struct plan *p, const struct plan_options *o, struct error *err)
{
	if (!plan_is_sequential(p) && (o->shuffle || o->buffer))
		return error_set(err, EXIT_USAGE,
				 "%s goes with solver=sgd or adam: other "
				 "solvers do not care for the order of rows",
				 o->shuffle ? "--shuffle" : "--buffer");
	if (o->shuffle &&
	    shuffle_method_parse(o->shuffle, &p->shuffle, err) < 0)
		return error_context(err, "--shuffle");
	if (set_batch(p, o, err) < 0)
		return -1;
	p->buffer.bytes = PLAN_BUFFER_BYTES;
	return o->buffer ? buffer_size_parse(o->buffer, &p->buffer, err) : 0;
}

/* The caller releases the space whatever happens. */
static int
make_space(struct space *space, const struct plan_options *o,
	   const struct schema *s, struct error *err)
{
	const struct learner *l = find_learner(o->learner, err);

	if (!l)
		return -1;
	space_init(space, l);
	space->seed = (uint64_t)o->seed;
	if (l->check_task(s, err) < 0)
		return error_context(err, "--learner %s", l->name);
	for (size_t i = 0; i < o->param.n; i++)
		if (space_add_param(space, o->param.item[i], err) < 0)
			return -1;
	if (space_set_search(space, o->search, err) < 0 ||
	    check_draws(space, o->search, err) < 0 ||
	    space_expand(space, err) < 0 ||
	    check_halving(space, o->search, err) < 0)
		return -1;
	return check_used(space, err);
}

int
plan_options_space(const struct plan_options *o, const struct schema *sc,
		   struct space *s, struct error *err)
{
	*s = (struct space){0};
	if (make_space(s, o, sc, err) == 0)
		return 0;
	space_release(s);
	return -1;
}

int
plan_options_profile(const struct plan_options *o, struct profile *p,
		     struct error *err)
{
	if (o->profile)
		return profile_load_file(p, o->profile, err);
	profile_default(p);
	return 0;
}

static int
build(struct plan *p, const struct plan_options *o, const struct schema *s,
      struct error *err)
{
	struct profile profile;

	if (make_space(&p->space, o, s, err) < 0)
		return -1;
	if (set_epochs(p, o->epochs, err) < 0)
		return -1;
	p->pack_width = (uint32_t)o->pack_width;
	p->min_rows = (uint32_t)o->min_rows;
	p->patience = (uint32_t)o->patience;
	if (p->space.eta > 0 && p->partition.spec.strategy == STRATEGY_MTP)
		return error_set(err, EXIT_USAGE,
				 "--search %s does not go with --strategy mtp: "
				 "there no worker has all configs of a group "
				 "to compare",
				 o->search);
	if (set_shuffle(p, o, err) < 0 ||
	    plan_options_profile(o, &profile, err) < 0)
		return -1;
	plan_set_profile(p, &profile);
	profile_release(&profile);
	plan_make_packs(p);
	return 0;
}

int
plan_build(struct plan *p, const struct plan_options *o, const struct schema *s,
	   struct partition *taken, struct error *err)
{
	*p = (struct plan){.partition = *taken};
	*taken = (struct partition){0};
	if (build(p, o, s, err) == 0)
		return 0;
	plan_release(p);
	return -1;
}
