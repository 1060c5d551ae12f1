#include "shuffle/examine.h"

#include "shuffle/datarows.h"
#include "shuffle/diagnose.h"
#include "shuffle/measure.h"
#include "shuffle/textrows.h"

/* The rows, and the order in which shuffling would visit them; what block_rows
 * there are is filled in by who counts. */
struct examined {
	struct rowsource *source;
	struct order_spec order;
	uint64_t epoch, epochs;
	bool fixed_blocks; /* of a dataset: not for an option to choose */
	uint64_t good_block_bytes; /* of them, as datashuffle.h has it */
};

static int
report_diagnosis(const struct examined *x, bool json, struct strbuf *out,
		 struct error *err)
{
	size_t n = x->order.buffer_blocks, all = x->source->nblock;
	struct diagnose_spec spec = {.seed = x->order.seed,
				     .buffer_blocks = n < all ? n : all};
	struct diagnosis d;

	if (diagnose(x->source, &spec, &d, err) < 0)
		return -1;
	d.fixed_blocks = x->fixed_blocks;
	d.make_block_bytes = (double)x->good_block_bytes *
			     DATASHUFFLE_GOOD_BLOCKS / (double)d.want_blocks;
	if (json)
		diagnosis_json(&d, out);
	else
		diagnosis_text(&d, out);
	diagnosis_release(&d);
	return 0;
}

static int
report_measurement(const struct examined *x, size_t batch, bool json,
		   struct strbuf *out, struct error *err)
{
	struct measure_spec spec = {x->epoch, x->epochs, batch};
	struct order_spec order = x->order;
	struct measure_rows rows;
	struct measurement m;
	int ret;

	if (measure_read(x->source, &rows, err) < 0)
		return -1;
	order.nblock = rows.nblock;
	order.block_rows = rows.block_rows;
	ret = measure(&rows, &order, &spec, &m, err);
	if (ret == 0 && json)
		measurement_json(&m, out);
	else if (ret == 0)
		measurement_text(&m, out);
	measure_rows_release(&rows);
	return ret;
}

static int
report(const struct examined *x, const struct examine_spec *spec,
       struct strbuf *out, struct error *err)
{
	if (!spec->measure)
		return report_diagnosis(x, spec->json, out, err);
	return report_measurement(x, spec->batch, spec->json, out, err);
}

static int
examine_text(const struct examine_spec *spec, struct strbuf *out,
	     struct error *err)
{
	struct textshuffle_options o = *spec->text;
	struct textrows_spec rows = {.format = o.file.format,
				     .label = spec->label,
				     .unlabelled = spec->measure};
	struct examined x = {.epoch = o.first_epoch, .epochs = o.epochs};
	struct textshuffle *t;
	int ret = -1;

	/* the blocks are those that corgipile would have */
	o.method = SHUFFLE_CORGIPILE;
	t = textshuffle_new(&o, err);
	if (!t)
		return -1;
	rows.file = textshuffle_file(t);
	x.order = (struct order_spec){.method = spec->text->method,
				      .seed = o.seed,
				      .buffer_blocks =
					  textshuffle_facts(t)->buffer_blocks,
				      .part = o.part};
	x.source = textrows_new(&rows, err);
	if (x.source)
		ret = report(&x, spec, out, err);
	rowsource_free(x.source);
	textshuffle_free(t);
	return ret;
}

/* n and the buffer that shuffling by corgipile would have. */
static int
find_data_facts(const struct datashuffle_spec *spec,
		struct datashuffle_facts *f, struct error *err)
{
	struct datashuffle_spec s = *spec;
	struct datashuffle *d;

	s.method = SHUFFLE_CORGIPILE;
	d = datashuffle_new(&s, err);
	if (!d)
		return -1;
	*f = *datashuffle_facts(d);
	datashuffle_free(d);
	return 0;
}

static int
examine_data(const struct examine_spec *spec, struct strbuf *out,
	     struct error *err)
{
	const struct datashuffle_spec *s = spec->data;
	enum shuffle_method m = s->method;
	bool buffered =
	    m == SHUFFLE_CORGIPILE || m == SHUFFLE_BLOCK || m == SHUFFLE_NONE;
	struct examined x = {
	    .epoch = s->epoch, .epochs = s->epochs, .fixed_blocks = true};
	struct datashuffle_facts f;
	struct dataselect sel;
	struct dataset *d;
	int ret = -1;

	if (find_data_facts(s, &f, err) < 0)
		return -1;
	d = dataset_open(s->path, err);
	if (!d)
		return -1;
	if (dataselect_init(&sel, d, s->group, s->split, err) == 0) {
		x.source = datarows_new(&sel);
		x.good_block_bytes = f.good_block_bytes;
		x.order = (struct order_spec){.method = m,
					      .seed = s->seed,
					      .buffer_blocks = f.buffer_blocks,
					      .block_bytes =
						  buffered ? sel.memory : NULL,
					      .buffer_bytes = f.buffer_bytes,
					      .part = s->part};
		ret = report(&x, spec, out, err);
		rowsource_free(x.source);
		dataselect_release(&sel);
	}
	dataset_free(d);
	return ret;
}

int
examine(const struct examine_spec *spec, struct strbuf *out, struct error *err)
{
	return spec->text ? examine_text(spec, out, err)
			  : examine_data(spec, out, err);
}
