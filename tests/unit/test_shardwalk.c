#include "check.h"

#include "base/io.h"
#include "exec/shardwalk.h"
#include "sample.h"

#define ROWS 3000
#define BLOCK_ROWS 70

static char dir[] = "/tmp/kp-test-XXXXXX";
static char path[64];

/* One group; the weight of a row is its number + 1. */
static void
write_data(void)
{
	static struct sample_row row[ROWS];
	struct dataset_totals totals = {0};
	struct error err = ERROR_NONE;
	struct group_facts facts;
	struct dataset_writer *w;
	struct block b = {0};
	struct schema s;

	snprintf(path, sizeof path, "%s/d", dir);
	sample_schema(&s);
	sample_rows(row, ROWS, 5);
	for (size_t i = 0; i < ROWS; i++)
		row[i].weight = (double)i + 1;
	sample_facts(&facts, &s, "JFK", row, ROWS);
	w = dataset_writer_new(path, &err);
	CHECK_OK(dataset_writer_group(w, &s, &facts, &err), err);
	for (size_t r = 0; r < ROWS; r += BLOCK_ROWS) {
		sample_block(&b, &s, &facts, row + r,
			     ROWS - r < BLOCK_ROWS ? ROWS - r : BLOCK_ROWS);
		b.first_row = r;
		CHECK_OK(dataset_writer_block(w, &s, &b, &err), err);
	}
	CHECK_OK(dataset_writer_commit(w, &s, &totals, &err), err);
	block_release(&b);
	facts_release(&facts);
	schema_release(&s);
}

/* A shard that begins and ends inside blocks, in one view. */
struct job {
	struct plan plan;
	struct config config;
	struct dataset *data;
	struct group_facts facts;
	struct shardwalk_spec spec;
	struct shardwalk *walk;
};

static struct shardwalk *
job_open(struct job *j, enum shuffle_method method, const char *buffer,
	 uint64_t memory_bytes, struct error *err)
{
	const struct learner *l = learner_by_name("logistic");

	*j = (struct job){.config = learner_defaults(l)};
	j->plan.space.learner = l;
	j->plan.space.seed = 7;
	j->plan.shuffle = method;
	CHECK_OK(buffer_size_parse(buffer, &j->plan.buffer, err), *err);
	j->data = dataset_open(path, err);
	CHECK_OK(dataset_read_facts(j->data, 0, &j->facts, err), *err);
	j->spec = (struct shardwalk_spec){
	    .plan = &j->plan,
	    .data = j->data,
	    .facts = &j->facts,
	    .shard = {.group = 0, .first = 130, .end = 2711},
	    .streamed = memory_bytes > 0,
	    .memory_bytes = memory_bytes};
	j->spec.view =
	    l->view_new(dataset_schema(j->data), &j->facts, &j->config, err);
	j->walk = shardwalk_new(&j->spec, err);
	return j->walk;
}

static void
job_close(struct job *j)
{
	shardwalk_free(j->walk);
	j->plan.space.learner->view_free((struct view *)j->spec.view);
	facts_release(&j->facts);
	dataset_free(j->data);
}

/* The rows of a pass, by weight, and the lengths of its pieces. */
struct visit {
	const struct learner *learner;
	double weight[3 * ROWS];
	size_t n, batch;
	bool whole;	/* all pieces so far were whole batches */
	size_t stop_at; /* rows; 0: never */
};

static int
take(void *ctx, const struct rows *r, const uint32_t *order, size_t n)
{
	struct visit *v = ctx;
	double label[ROWS];

	CHECK(v->whole && n > 0 && v->n + n <= 3 * ROWS);
	v->whole = n % v->batch == 0;
	v->learner->rows_label(r, order, n, label, v->weight + v->n);
	v->n += n;
	return v->stop_at && v->n >= v->stop_at ? 42 : 0;
}

static int
visit(struct job *j, uint64_t epoch, uint64_t skip, size_t batch,
      struct visit *v)
{
	struct shardwalk_pass pass = {epoch, skip, batch, take, v};
	struct error err = ERROR_NONE;
	size_t stop_at = v->stop_at;

	*v = (struct visit){.learner = j->plan.space.learner,
			    .batch = batch,
			    .whole = true,
			    .stop_at = stop_at};
	return shardwalk_run(j->walk, &pass, &err);
}

static int
compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* How many training rows the shard has, by its blocks. */
static size_t
training_rows(const struct job *j)
{
	const struct learner *l = j->plan.space.learner;
	struct rows *r = l->rows_new(j->spec.view, PART_TRAIN);
	struct error err = ERROR_NONE;
	struct block b = {0};
	size_t n;

	for (size_t i = 0; i * BLOCK_ROWS < ROWS; i++) {
		CHECK_OK(dataset_read_block(j->data, i, &j->facts, &b, &err),
			 err);
		for (uint32_t k = 0; k < b.nrow; k++)
			if (b.first_row + k >= 130 && b.first_row + k < 2711)
				l->rows_add(r, &b, k, k + 1);
	}
	n = (size_t)l->rows_count(r);
	block_release(&b);
	l->rows_free(r);
	return n;
}

static void
every_row_once(void)
{
	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++) {
		struct error err = ERROR_NONE;
		static struct visit v;
		struct job j;
		size_t n;

		if (m == SHUFFLE_MRS)
			continue;
		CHECK(job_open(&j, (enum shuffle_method)m, "20%", 0, &err));
		n = training_rows(&j);
		CHECK_INT(visit(&j, 3, 0, 1, &v), 0);
		CHECK_INT(v.n, n);
		qsort(v.weight, v.n, sizeof v.weight[0], compare);
		for (size_t i = 1; i < v.n; i++)
			CHECK(v.weight[i] > v.weight[i - 1]);
		CHECK(v.weight[0] > 130 && v.weight[v.n - 1] <= 2711);
		job_close(&j);
	}
}

/* Resident, with two buffers and with one, from anywhere in an epoch. */
static void
streamed_is_resident(void)
{
	static const enum shuffle_method method[] = {
	    SHUFFLE_CORGIPILE, SHUFFLE_NONE, SHUFFLE_BLOCK};
	static const size_t batch[] = {1, 7, 128, 1000};
	static struct visit a, b;

	for (size_t m = 0; m < 3; m++)
		for (size_t k = 0; k < 8; k++) {
			struct error err = ERROR_NONE;
			uint64_t memory = k % 2 ? 1 << 30 : 30000;
			struct job x, y;

			CHECK(job_open(&x, method[m], "10%", 0, &err));
			CHECK(job_open(&y, method[m], "10%", memory, &err));
			for (uint64_t e = 0; e < 3; e++) {
				size_t bs = batch[k / 2], skip = e * 2 * bs;

				CHECK_INT(visit(&x, e, skip, bs, &a), 0);
				CHECK_INT(visit(&y, e, skip, bs, &b), 0);
				CHECK_INT(a.n, b.n);
				CHECK_MEM(a.weight, b.weight,
					  a.n * sizeof a.weight[0]);
			}
			job_close(&x);
			job_close(&y);
		}
}

/* --- walked by several ranks --- */

/* The whole group, by one of them. */
static void
rank_open(struct job *j, enum shuffle_method method, struct order_rank part,
	  uint64_t memory_bytes)
{
	struct error err = ERROR_NONE;

	CHECK(job_open(j, method, "20%", 0, &err));
	shardwalk_free(j->walk);
	j->spec.shard = (struct shard){.group = 0, .end = ROWS};
	j->spec.part = part;
	j->spec.streamed = memory_bytes > 0;
	j->spec.memory_bytes = memory_bytes;
	j->walk = shardwalk_new(&j->spec, &err);
	CHECK(j->walk != NULL);
}

/* Adds the rank's rows of an epoch in steps of so many, of all ranks. */
static void
rank_visit(struct job *j, uint64_t epoch, uint64_t step, struct visit *v)
{
	struct error err = ERROR_NONE;
	struct shardtake *t = shardtake_new(j->walk, epoch, &err);
	struct deal d = shardtake_deal(t);
	uint32_t rank = j->spec.part.rank;

	for (uint64_t at = 0; at < d.total; at += step) {
		uint64_t end = d.total - at < step ? d.total : at + step;
		uint64_t n =
		    deal_before(&d, rank, end) - deal_before(&d, rank, at);
		const uint32_t *order;
		const struct rows *r;
		double label[ROWS];

		if (n == 0)
			continue;
		CHECK_OK(shardtake_next(t, n, &r, &order, &err), err);
		v->learner->rows_label(r, order, n, label, v->weight + v->n);
		v->n += n;
	}
	CHECK_INT(v->n <= 3 * ROWS, 1);
	shardtake_free(t);
}

static void
ranks_share_an_epoch(void)
{
	static struct visit v, own;

	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++)
		for (uint32_t p = 1; p <= 5; p += 2) {
			size_t most = 0, least = ROWS, n = 0;
			struct job j;

			if (m == SHUFFLE_MRS)
				continue;
			v = (struct visit){.learner =
					       learner_by_name("logistic")};
			for (uint32_t k = 0; k < p; k++) {
				struct order_rank part = {k, p, true};

				own = (struct visit){.learner = v.learner};
				rank_open(&j, (enum shuffle_method)m, part, 0);
				n = (size_t)j.facts.rows[PART_TRAIN];
				rank_visit(&j, 2, 128, &own);
				job_close(&j);
				most = own.n > most ? own.n : most;
				least = own.n < least ? own.n : least;
				memcpy(v.weight + v.n, own.weight,
				       own.n * sizeof own.weight[0]);
				v.n += own.n;
			}
			CHECK(most - least <= 1);
			CHECK_INT(v.n, n);
			qsort(v.weight, v.n, sizeof v.weight[0], compare);
			for (size_t i = 1; i < v.n; i++)
				CHECK(v.weight[i] > v.weight[i - 1]);
		}
}

static void
streamed_ranks_are_resident(void)
{
	static const enum shuffle_method method[] = {
	    SHUFFLE_CORGIPILE, SHUFFLE_NONE, SHUFFLE_BLOCK};
	static const uint64_t step[] = {1, 7, 128, 5000};
	static struct visit a, b;

	for (size_t m = 0; m < 3; m++)
		for (uint32_t k = 0; k < 8; k++) {
			struct order_rank part = {k % 3, 3, true};
			struct job x, y;

			rank_open(&x, method[m], part, 0);
			rank_open(&y, method[m], part, k % 2 ? 1 << 30 : 15000);
			for (uint64_t e = 0; e < 3; e++) {
				a = (struct visit){.learner =
						       x.plan.space.learner};
				b = a;
				rank_visit(&x, e, step[k / 2], &a);
				rank_visit(&y, e, step[k / 2], &b);
				CHECK_INT(a.n, b.n);
				CHECK_MEM(a.weight, b.weight,
					  a.n * sizeof a.weight[0]);
			}
			job_close(&x);
			job_close(&y);
		}
}

/* window and mrs: the order of one walker, dealt. */
static void
dealt_orders(void)
{
	static const enum shuffle_method method[] = {SHUFFLE_WINDOW,
						     SHUFFLE_MRS};
	static struct visit all, own;

	for (size_t m = 0; m < 2; m++) {
		size_t n = 0;
		struct job j;

		all = (struct visit){.learner = learner_by_name("logistic")};
		rank_open(&j, method[m], (struct order_rank){0, 1, true}, 0);
		rank_visit(&j, 1, 64, &all);
		job_close(&j);
		for (uint32_t k = 0; k < 4; k++) {
			const struct deal d = {all.n, 4};
			size_t at = 0;

			own = (struct visit){.learner = all.learner};
			rank_open(&j, method[m],
				  (struct order_rank){k, 4, true}, 0);
			rank_visit(&j, 1, 64, &own);
			job_close(&j);
			n += own.n;
			for (size_t i = 0; i < all.n; i++)
				if (deal_is(&d, k, i))
					CHECK(own.weight[at++] ==
					      all.weight[i]);
			CHECK_INT(at, own.n);
		}
		CHECK_INT(n, all.n);
	}
}

static void
skipping_is_having_seen(void)
{
	static struct visit a, b;
	struct error err = ERROR_NONE;
	struct job j;

	CHECK(job_open(&j, SHUFFLE_CORGIPILE, "10%", 1 << 30, &err));
	CHECK_INT(visit(&j, 1, 0, 7, &a), 0);
	CHECK_INT(visit(&j, 1, 7 * 100, 7, &b), 0);
	CHECK_INT(b.n, a.n - 700);
	CHECK_MEM(b.weight, a.weight + 700, b.n * sizeof b.weight[0]);
	CHECK_INT(visit(&j, 1, a.n, 7, &b), 0);
	CHECK_INT(b.n, 0);
	job_close(&j);
}

static void
stopping(void)
{
	static struct visit v;
	struct error err = ERROR_NONE;
	struct job j;

	CHECK(job_open(&j, SHUFFLE_CORGIPILE, "10%", 1 << 30, &err));
	v.stop_at = 1;
	CHECK_INT(visit(&j, 0, 0, 7, &v), 42);
	CHECK(v.n < 1000);
	v.stop_at = 0;
	CHECK_INT(visit(&j, 0, 0, 7, &v), 0);
	job_close(&j);
}

static void
epochs_differ(void)
{
	static struct visit a, b;
	struct error err = ERROR_NONE;
	struct job j;

	CHECK(job_open(&j, SHUFFLE_CORGIPILE, "10%", 0, &err));
	CHECK_INT(visit(&j, 0, 0, 1, &a), 0);
	CHECK_INT(visit(&j, 1, 0, 1, &b), 0);
	CHECK(memcmp(a.weight, b.weight, a.n * sizeof a.weight[0]) != 0);
	CHECK_INT(visit(&j, 0, 0, 1, &b), 0);
	CHECK_MEM(a.weight, b.weight, a.n * sizeof a.weight[0]);
	job_close(&j);
}

static void
refusals(void)
{
	struct error err = ERROR_NONE;
	struct job j;

	CHECK(job_open(&j, SHUFFLE_ONCE, "10%", 1 << 30, &err) == NULL);
	CHECK_INT(err.code, EXIT_USAGE);
	CHECK(strstr(err.text, "--shuffle once needs a group's rows in "
			       "memory") != NULL);
	job_close(&j);
	err = ERROR_NONE;
	CHECK(job_open(&j, SHUFFLE_CORGIPILE, "100%", 20000, &err) == NULL);
	CHECK_INT(err.code, EXIT_USAGE);
	CHECK(strstr(err.text, "give more, or --buffer 9K") != NULL);
	job_close(&j);
}

/* A block whose bytes have changed, met by the I/O thread. */
static void
damage(void)
{
	struct strbuf file = STRBUF_INIT, name = STRBUF_INIT;
	struct error err = ERROR_NONE;
	static struct visit v;
	struct job j;
	FILE *f;

	CHECK(job_open(&j, SHUFFLE_CORGIPILE, "10%", 1 << 30, &err));
	io_join(&name, path, "blocks-00000.kpb");
	CHECK_OK(io_read_file(name.buf, 0, &file, &err), err);
	f = fopen(name.buf, "r+b");
	CHECK(f != NULL);
	if (f) {
		fseek(f, (long)file.len / 2, SEEK_SET);
		fputc(file.buf[file.len / 2] ^ 0x55, f);
		fclose(f);
	}
	CHECK_INT(visit(&j, 0, 0, 1, &v), -1);
	job_close(&j);
	strbuf_release(&file);
	strbuf_release(&name);
}

int
main(void)
{
	if (mkdtemp(dir) == NULL)
		return 1;
	write_data();
	check_run("an epoch visits every row of the shard once",
		  every_row_once);
	check_run("a streamed shard gives the rows of a resident one",
		  streamed_is_resident);
	check_run("ranks visit every row of a group once, evenly",
		  ranks_share_an_epoch);
	check_run("a rank that streams gets the rows of a resident one",
		  streamed_ranks_are_resident);
	check_run("an order without slices is dealt to the ranks",
		  dealt_orders);
	check_run("skipped rows are those an undisturbed epoch begins with",
		  skipping_is_having_seen);
	check_run("a pass can be stopped in the middle", stopping);
	check_run("epochs differ and can be asked for in any order",
		  epochs_differ);
	check_run("what cannot be streamed is refused", refusals);
	check_run("a damaged block ends the pass", damage);
	io_remove_tree(dir);
	return check_done();
}
