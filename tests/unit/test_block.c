#include "data/block.h"

#include "check.h"
#include "sample.h"

#define NROW 300

static struct schema schema;
static struct sample_row row[NROW];
static struct group_facts facts;
static struct block block;
static struct strbuf bytes = STRBUF_INIT;

static void
encode(void)
{
	strbuf_reset(&bytes);
	block_encode(&block, &schema, &bytes);
}

static void
set_up(void)
{
	sample_schema(&schema);
	sample_rows(row, NROW, 3);
	sample_facts(&facts, &schema, "JFK", row, NROW);
	facts.ordinal = 5;
	sample_block(&block, &schema, &facts, row, NROW);
	block.first_row = 1000;
	encode();
}

static void
tear_down(void)
{
	block_release(&block);
	facts_release(&facts);
	schema_release(&schema);
	strbuf_release(&bytes);
}

static int
decode(struct block *b, struct error *err)
{
	return block_decode(b, &schema, &facts, bytes.buf, bytes.len, err);
}

/* b, encoded, is what `bytes` holds. */
static void
check_same(const struct block *b)
{
	struct strbuf again = STRBUF_INIT;

	block_encode(b, &schema, &again);
	CHECK_INT(again.len, bytes.len);
	if (again.len == bytes.len)
		CHECK_MEM(again.buf, bytes.buf, bytes.len);
	strbuf_release(&again);
}

static void
trip(void)
{
	struct block back = {0};
	struct error err = ERROR_NONE;

	set_up();
	CHECK_OK(decode(&back, &err), err);
	CHECK_INT(back.group, 5);
	CHECK_INT(back.first_row, 1000);
	CHECK_INT(back.nrow, NROW);
	CHECK(back.weight == NULL);
	CHECK(back.column[SAMPLE_Y].missing == NULL);
	CHECK(back.column[SAMPLE_X].missing != NULL);
	for (uint32_t r = 0; r < NROW; r++) {
		CHECK_BITS(back.label[r], row[r].label);
		CHECK_BITS(back.column[SAMPLE_Y].f64[r], row[r].y);
		if (row[r].has_x)
			CHECK_BITS(back.column[SAMPLE_X].f32[r], row[r].x);
		CHECK_INT(back.column[SAMPLE_X].missing[r / 8] >> r % 8 & 1,
			  !row[r].has_x);
		CHECK_INT(back.column[SAMPLE_CARRIER].code[r],
			  block.column[SAMPLE_CARRIER].code[r]);
		CHECK_INT(back.split[r], row[r].split);
	}
	check_same(&back);
	block_release(&back);
	tear_down();
}

static void
weights(void)
{
	struct block back = {0};
	struct error err = ERROR_NONE;

	set_up();
	for (size_t i = 0; i < NROW; i++)
		row[i].weight = 0.1 * (double)(i + 1);
	sample_block(&block, &schema, &facts, row, NROW);
	encode();
	CHECK_OK(decode(&back, &err), err);
	CHECK_BITS(back.weight[NROW - 1], row[NROW - 1].weight);
	check_same(&back);
	block.weight[7] = 0;
	encode();
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	block.weight[7] = NAN;
	encode();
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	block_release(&back);
	tear_down();
}

static void
labels(void)
{
	struct block back = {0};
	struct error err = ERROR_NONE;
	const double label[] = {0, -0.0, 255, 256, 0.5, -1e300, 5e-324};
	uint64_t shortest;

	set_up();
	schema.task = TASK_REGRESSION;
	schema.nclass = 0;
	shortest = bytes.len;
	for (size_t i = 0; i < sizeof(label) / sizeof(*label); i++) {
		block.label[0] = label[i];
		encode();
		CHECK_OK(decode(&back, &err), err);
		CHECK_BITS(back.label[0], label[i]);
		CHECK(i == 0 || i == 2 || bytes.len > shortest);
	}
	block.label[0] = INFINITY;
	encode();
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	block_release(&back);
	tear_down();
}

static void
class_labels(void)
{
	struct block back = {0};
	struct error err = ERROR_NONE;
	const double label[] = {2, 0.5, -1, NAN, 1e300};

	set_up();
	for (size_t i = 0; i < sizeof(label) / sizeof(*label); i++) {
		block.label[9] = label[i];
		encode();
		CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT,
			    "damaged block");
	}
	block_release(&back);
	tear_down();
}

/* Codes 0 .. nvalue - 1 and missing come back from any width. */
static void
check_width(uint32_t nvalue)
{
	struct block back = {0};
	struct error err = ERROR_NONE;
	uint32_t *code = block.column[SAMPLE_CARRIER].code;

	facts.feature[SAMPLE_CARRIER].nvalue = nvalue;
	for (uint32_t r = 0; r < NROW; r++)
		code[r] = r % 5 == 0 ? CODE_MISSING : nvalue - 1 - r % nvalue;
	code[1] = nvalue - 1;
	encode();
	CHECK_OK(decode(&back, &err), err);
	CHECK_MEM(back.column[SAMPLE_CARRIER].code, code, NROW * sizeof(*code));
	check_same(&back);
	facts.feature[SAMPLE_CARRIER].nvalue = nvalue - 1;
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	CHECK_OK(block_decode(&back, &schema, NULL, bytes.buf, bytes.len, &err),
		 err);
	block_release(&back);
}

static void
widths(void)
{
	static const uint32_t nvalue[] = {1,	 2,	254,	  255,
					  256,	 257,	65534,	  65535,
					  65536, 65537, 1u << 31, CODE_LIMIT};

	set_up();
	for (size_t i = 0; i < sizeof(nvalue) / sizeof(*nvalue); i++)
		check_width(nvalue[i]);
	tear_down();
}

static void
all_missing(void)
{
	struct block back = {0};
	struct error err = ERROR_NONE;

	set_up();
	facts.feature[SAMPLE_CARRIER].nvalue = 0;
	for (uint32_t r = 0; r < NROW; r++)
		block.column[SAMPLE_CARRIER].code[r] = CODE_MISSING;
	encode();
	CHECK_OK(decode(&back, &err), err);
	CHECK_INT(back.column[SAMPLE_CARRIER].code[NROW - 1], CODE_MISSING);
	block_release(&back);
	tear_down();
}

static void
one_row(void)
{
	struct block back = {0};
	struct error err = ERROR_NONE;

	set_up();
	sample_block(&block, &schema, &facts, row, 1);
	encode();
	CHECK_OK(decode(&back, &err), err);
	CHECK_INT(back.nrow, 1);
	check_same(&back);
	block.split[0] = SPLIT_TEST + 1;
	encode();
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	block_release(&back);
	tear_down();
}

static void
smaller(void)
{
	size_t raw = NROW * (1 + 1 + 4 + 8 + 1 + 1 + 8);

	set_up();
	CHECK(bytes.len < raw);
	tear_down();
}

static void
damage(void)
{
	struct strbuf good = STRBUF_INIT, again = STRBUF_INIT;
	struct block back = {0};
	struct error err;

	set_up();
	strbuf_add(&good, bytes.buf, bytes.len);
	for (size_t n = 0; n < bytes.len; n += n < 64 ? 1 : 13) {
		void *cut = xmemdup(bytes.buf, n);

		CHECK_INT(block_decode(&back, &schema, &facts, cut, n, &err),
			  -1);
		free(cut);
	}
	for (size_t i = 0; i < bytes.len * 8; i++) {
		bytes.buf[i / 8] ^= (char)(1u << i % 8);
		if (decode(&back, &err) == 0) {
			/* LZ4 has several ways to say the same */
			strbuf_reset(&again);
			block_encode(&back, &schema, &again);
			CHECK_INT(again.len, good.len);
			CHECK_MEM(again.buf, good.buf, good.len);
		}
		bytes.buf[i / 8] ^= (char)(1u << i % 8);
	}
	bytes.buf[0] = 9;
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT,
		    "block: version 9, not 1");
	strbuf_release(&again);
	strbuf_release(&good);
	block_release(&back);
	tear_down();
}

static void
huge_counts(void)
{
	struct block back = {0};
	struct error err;

	set_up();
	memset(bytes.buf + 16, 0xff, 4); /* rows */
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	encode();
	memset(bytes.buf + 28, 0xff, 8); /* body */
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	CHECK(back.arena.held_bytes == 0);
	tear_down();
}

static void
content(void)
{
	uint64_t before;

	set_up();
	before = block_content(bytes.buf, bytes.len);
	CHECK(before != 0);
	block.column[SAMPLE_Y].f64[17] += 1;
	encode();
	CHECK(block_content(bytes.buf, bytes.len) != before);
	block.column[SAMPLE_Y].f64[17] -= 1;
	encode();
	CHECK(block_content(bytes.buf, bytes.len) == before);
	block.first_row++;
	encode();
	CHECK(block_content(bytes.buf, bytes.len) != before);
	CHECK_INT(block_content(bytes.buf, 3), 0);
	tear_down();
}

/* 4 rows of 2, 0, 1 and 3 entries. */
static void
shape_sparse(struct block *b)
{
	static const uint64_t start[] = {0, 2, 2, 3, 6};
	static const uint32_t code[] = {0, 1, 1, 0, 1, 2};

	block_shape(b, &schema, 4, 6, false);
	b->group = 0;
	b->first_row = 0;
	memcpy(b->column[0].start, start, sizeof(start));
	memcpy(b->column[0].entry_code, code, sizeof(code));
	for (int i = 0; i < 6; i++)
		b->column[0].entry_value[i] = i - 2.5;
	for (int r = 0; r < 4; r++) {
		b->label[r] = r % 2;
		b->split[r] = (uint8_t)r;
	}
}

static void
sparse(void)
{
	static struct schema_feature x = {.name = "x", .kind = FEATURE_SPARSE};
	struct feature_facts f = {.nvalue = 3};
	struct block back = {0};
	struct error err = ERROR_NONE;

	sample_schema(&schema);
	schema.feature = &x;
	schema.nfeature = 1;
	facts = (struct group_facts){.feature = &f};
	shape_sparse(&block);
	encode();
	/* part of the format; never changes */
	CHECK_INT(block_content(bytes.buf, bytes.len), -5805894158795281466);
	CHECK_INT(block_entries(&block, &schema), 6);
	CHECK_OK(decode(&back, &err), err);
	CHECK_MEM(back.column[0].start, block.column[0].start, 5 * 8);
	CHECK_MEM(back.column[0].entry_code, block.column[0].entry_code, 6 * 4);
	CHECK_MEM(back.column[0].entry_value, block.column[0].entry_value,
		  6 * 8);
	check_same(&back);
	f.nvalue = 2;
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	f.nvalue = 3;
	block.column[0].entry_code[1] = CODE_MISSING;
	encode();
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	facts = (struct group_facts){0};
	block_release(&back);
	tear_down();
}

/* Rows of groups 7, 0, 300, 7, ... */
static void
mix(void)
{
	static const uint32_t group[] = {7, 0, 300};
	struct block from = block;

	block = (struct block){0};
	block_shape_mixed(&block, &schema, NROW, 0, false);
	block.first_row = 64000;
	for (uint32_t r = 0; r < NROW; r++) {
		block.label[r] = from.label[r];
		block.split[r] = from.split[r];
		block.row_group[r] = group[r % 3];
	}
	for (int f = SAMPLE_X; f <= SAMPLE_DAY; f++)
		for (uint32_t r = 0; r < NROW; r++)
			sample_put(&block.column[f], &facts, f, &row[r], r);
	block_release(&from);
	encode();
}

static void
mixed(void)
{
	struct block back = {0};
	struct error err = ERROR_NONE;

	set_up();
	mix();
	/* part of the format; never changes */
	CHECK_INT(block_content(bytes.buf, bytes.len), 7776257096275107858);
	CHECK_OK(decode(&back, &err), err);
	CHECK_INT(back.group, 0);
	CHECK_INT(back.first_row, 64000);
	CHECK_MEM(back.row_group, block.row_group, NROW * sizeof(uint32_t));
	CHECK_MEM(back.column[SAMPLE_CARRIER].code,
		  block.column[SAMPLE_CARRIER].code, NROW * sizeof(uint32_t));
	check_same(&back);
	/* facts are of one group and say nothing of this block */
	facts.feature[SAMPLE_CARRIER].nvalue = 0;
	CHECK_OK(decode(&back, &err), err);
	block.row_group[11] = CODE_MISSING;
	encode();
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	block.row_group[11] = 7;
	block.group = 1;
	encode();
	CHECK_ERROR(decode(&back, &err), err, EXIT_CORRUPT, "damaged block");
	block_shape(&back, &schema, 5, 0, true);
	CHECK(back.row_group == NULL);
	block_release(&back);
	tear_down();
}

static void
mixed_damage(void)
{
	struct block back = {0};
	struct error err;

	set_up();
	mix();
	strbuf_reset(&bytes);
	block_encode_plain(&block, &schema, &bytes);
	for (size_t i = 0; i < bytes.len * 8; i++) {
		bytes.buf[i / 8] ^= (char)(1u << i % 8);
		CHECK_INT(decode(&back, &err), -1);
		bytes.buf[i / 8] ^= (char)(1u << i % 8);
	}
	block_release(&back);
	tear_down();
}

static void
plain(void)
{
	struct strbuf packed = STRBUF_INIT;
	struct block back = {0};
	struct error err = ERROR_NONE;

	set_up();
	strbuf_add(&packed, bytes.buf, bytes.len);
	strbuf_reset(&bytes);
	block_encode_plain(&block, &schema, &bytes);
	CHECK(bytes.len > packed.len);
	CHECK(block_content(bytes.buf, bytes.len) ==
	      block_content(packed.buf, packed.len));
	CHECK_OK(decode(&back, &err), err);
	encode();
	check_same(&back);
	strbuf_release(&packed);
	block_release(&back);
	tear_down();
}

static void
reuse(void)
{
	size_t held;

	set_up();
	block_shape(&block, &schema, 100000, 0, true);
	block_shape(&block, &schema, 100000, 0, true);
	held = block.arena.held_bytes;
	for (uint32_t n = 1; n <= 100000; n += 9999) {
		block_shape(&block, &schema, n, 0, n % 2);
		CHECK_INT(block.arena.held_bytes, held);
		memset(block.label, 1, n * sizeof(double));
	}
	tear_down();
}

int
main(void)
{
	check_run("a block survives its bytes", trip);
	check_run("weights are kept, and must be positive", weights);
	check_run("labels keep their bits, small whole ones in a byte", labels);
	check_run("a label that is no class is refused", class_labels);
	check_run("codes take the narrowest width that leaves missing free",
		  widths);
	check_run("a column without any value is legal", all_missing);
	check_run("a block of one row is stored plain", one_row);
	check_run("a block is compressed", smaller);
	check_run(
	    "every cut, and every flipped bit that alters rows, is noticed",
	    damage);
	check_run("huge counts allocate nothing", huge_counts);
	check_run("the content hash follows the rows", content);
	check_run("sparse rows survive their bytes", sparse);
	check_run("a mixed block tells the group of each row", mixed);
	check_run("every flipped bit of a mixed block is noticed",
		  mixed_damage);
	check_run("a plain block has the same content", plain);
	check_run("memory of an earlier use is reused", reuse);
	return check_done();
}
