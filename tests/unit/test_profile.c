#include "check.h"

#include "base/strbuf.h"
#include "plan/profile.h"

static void
text_of(const struct profile *p, struct strbuf *sb)
{
	struct jout j;

	strbuf_reset(sb);
	jout_begin(&j, sb, 1);
	profile_json(p, &j);
}

static int
load_text(struct profile *p, const char *text, struct error *err)
{
	struct jvalue *v = jsonio_parse(text, strlen(text), "test", err);
	int ret = v ? profile_load(p, v, err) : -1;

	jsonio_free(v);
	return ret;
}

static struct config
with(const struct learner *l, const char *name, double value)
{
	struct config c = learner_defaults(l);

	c.value[learner_find_param(l, name)] = value;
	return c;
}

/* logistic by sgd. */
static struct config
sgd(double batch)
{
	const struct learner *l = learner_by_name("logistic");
	struct config c = with(l, "batch", batch);
	int k = learner_find_param(l, "solver");

	for (c.value[k] = 0;
	     strcmp(l->param[k].choice[(int)c.value[k]], "sgd") != 0;)
		c.value[k]++;
	return c;
}

static void
all_learners(void)
{
	struct profile p, none = {0};

	profile_default(&p);
	for (size_t i = 0; learner_table[i]; i++) {
		const struct learner *l = learner_table[i];
		int k = learner_find_param(l, "solver");

		for (size_t s = 0; l->param[k].choice[s]; s++) {
			struct config c = with(l, "solver", (double)s);
			const struct profile_entry *e = profile_find(&p, l, &c);

			CHECK_STR(e->learner, l->name);
			CHECK_INT(e->pattern, l->ops(&c)->pattern);
			CHECK_INT(e->batch > 0,
				  e->pattern == PATTERN_SEQUENTIAL);
			CHECK(e->row_sec[0] > 0 && e->state_bytes[0] > 0);
			e = profile_find(&none, l, &c);
			CHECK_STR(e->learner, l->name);
			CHECK_INT(e->pattern, l->ops(&c)->pattern);
		}
	}
	profile_release(&p);
}

static void
nearest(void)
{
	const struct learner *l = learner_by_name("logistic");
	struct config one = sgd(1), ten = sgd(10), many = sgd(1000);
	struct config adam = one, batch = learner_defaults(l);
	struct profile_entry e[3] = {profile_entry_of(l, &batch),
				     profile_entry_of(l, &one),
				     profile_entry_of(l, &many)};
	struct profile p = {.entry = e, .n = 3};

	adam.value[learner_find_param(l, "solver")]++;
	CHECK_STR(e[0].variant, "");
	CHECK_STR(e[1].variant, "solver=sgd");
	CHECK(profile_find(&p, l, &batch) == &e[0]);
	CHECK(profile_find(&p, l, &one) == &e[1]);
	CHECK(profile_find(&p, l, &ten) == &e[1]);
	CHECK(profile_find(&p, l, &many) == &e[2]);
	CHECK(profile_find(&p, l, &adam) == &e[1]);
	snprintf(e[2].variant, sizeof e[2].variant, "solver=adam");
	CHECK(profile_find(&p, l, &adam) == &e[2]);
	CHECK(profile_find(&p, l, &many) == &e[1]);
}

static void
round_trip(void)
{
	struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct profile p, q;

	profile_default(&p);
	p.entry[0].row_sec[7] = 1.0 / 3;
	text_of(&p, &first);
	CHECK_OK(load_text(&q, first.buf, &err), err);
	CHECK_INT(q.n, p.n);
	CHECK_BITS(q.entry[0].row_sec[7], 1.0 / 3);
	text_of(&q, &second);
	CHECK_STR(second.buf, first.buf);
	profile_release(&p);
	profile_release(&q);
	strbuf_release(&first);
	strbuf_release(&second);
}

#define HEAD                                                                   \
	"{\"kp\":\"profile\",\"version\":2,\"group_sec\":0,\"message_sec\":0," \
	"\"load_row_sec\":"                                                    \
	"1e-7,"                                                                \
	"\"row_bytes\":100,\"latency_sec\":1e-5,\"bytes_per_sec\":"
#define NAMES(learner, pattern, batch)                                         \
	"{\"learner\":\"" learner "\",\"pattern\":\"" pattern                  \
	"\",\"variant\":\"\",\"batch\":" batch

static void
refused(void)
{
	struct error err;
	struct profile p;

	CHECK_OK(load_text(&p, HEAD "1e9,\"entries\":[]}", &err), err);
	CHECK_INT(p.n, 0);
	profile_release(&p);
	CHECK_ERROR(load_text(&p, HEAD "0,\"entries\":[]}", &err), err,
		    EXIT_CORRUPT, "\"bytes_per_sec\": less than 1");
	CHECK_ERROR(load_text(&p, HEAD "-1,\"entries\":[]}", &err), err,
		    EXIT_CORRUPT, "\"bytes_per_sec\": not from 0 to 1e15");
	CHECK_ERROR(load_text(&p, HEAD "1e9,\"entries\":[7]}", &err), err,
		    EXIT_CORRUPT, "entry 0: \"learner\": missing");
	CHECK_ERROR(load_text(&p,
			      HEAD "1e9,\"entries\":[" NAMES(
				  "magic", "algebraic", "0") "}]}",
			      &err),
		    err, EXIT_CORRUPT,
		    "entry 0: \"learner\": no such learner: \"magic\"");
	CHECK_ERROR(load_text(&p,
			      HEAD "1e9,\"entries\":[" NAMES(
				  "svm", "sequential", "0") "}]}",
			      &err),
		    err, EXIT_CORRUPT,
		    "entry 0: \"batch\": not from 1 to 65536, or 0 if not "
		    "sequential");
	CHECK_ERROR(load_text(&p,
			      HEAD "1e9,\"entries\":[" NAMES(
				  "svm", "sequential",
				  "1") ",\"features\":1,\"row_sec\":[1,2]}]}",
			      &err),
		    err, EXIT_CORRUPT, "entry 0: \"row_sec\": not 16 numbers");
}

int
main(void)
{
	check_run("there are default costs of every learner and solver",
		  all_learners);
	check_run("a config finds its variant, then the nearest batch",
		  nearest);
	check_run("a profile comes back from JSON bit for bit", round_trip);
	check_run("figures that cannot be costs are refused by name", refused);
	return check_done();
}
