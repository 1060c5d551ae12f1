#include "check.h"

#include "base/isa.h"
#include "base/mem.h"
#include "shuffle/permutation.h"
#include "shuffle/textscan.h"

enum { BYTES = 3000 };

static const struct text_kernel *kernels[3];
static size_t nkernel;

/* Those that this CPU runs. */
static void
find_kernels(void)
{
	enum isa best;

	unsetenv("KP_ISA");
	best = isa_choose();
	kernels[nkernel++] = &text_kernel_base;
#ifndef KP_ONLY_BASE
	if (best >= ISA_AVX2)
		kernels[nkernel++] = &text_kernel_avx2;
	if (best >= ISA_AVX512)
		kernels[nkernel++] = &text_kernel_avx512;
#endif
	(void)best;
}

/* Text of bytes from `alphabet`, with slack that looks like text too. */
static char *
make_text(const char *alphabet, size_t letters, uint64_t key)
{
	struct shuffle_random r = {key, 0};
	char *p = xmalloc(BYTES + TEXT_SLACK);

	for (size_t i = 0; i < BYTES + TEXT_SLACK; i++)
		p[i] = alphabet[shuffle_below(&r, letters)];
	return p;
}

/* The plain words of the header, a byte at a time. */
static size_t
plain_ends(const char *p, size_t n, bool quotes, bool *inside, uint32_t *end)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (quotes && p[i] == '"')
			*inside = !*inside;
		if (p[i] == '\n' && !*inside)
			end[count++] = (uint32_t)i + 1;
	}
	return count;
}

/* Both scans of pieces of all lengths. */
static void
scan_pieces(const struct text_kernel *k, const char *text, bool quotes)
{
	uint32_t want[BYTES], got[BYTES + TEXT_ENDS_SLACK];

	for (size_t step = 1; step < 200; step += 1 + step / 7) {
		bool plain = false;
		text_inside in = 0, in_count = 0;
		int wrong = 0;

		for (size_t at = 0; at < BYTES; at += step) {
			size_t n = BYTES - at < step ? BYTES - at : step;
			size_t m =
			    plain_ends(text + at, n, quotes, &plain, want);

			wrong +=
			    k->ends(text + at, n, 1000, quotes, &in, got) != m;
			wrong += k->count(text + at, n, quotes, &in_count) != m;
			for (size_t i = 0; i < m; i++)
				wrong += got[i] != want[i] + 1000;
			wrong += in != (plain ? ~(uint64_t)0 : 0);
			wrong += in_count != in;
		}
		CHECK_INT(wrong, 0);
	}
}

static void
ends_and_counts(void)
{
	for (size_t i = 0; i < nkernel; i++)
		for (uint64_t key = 0; key < 4; key++) {
			char *text = make_text("\n\"a\0b,\x8a", 4 + key, key);

			scan_pieces(kernels[i], text, false);
			scan_pieces(kernels[i], text, true);
			free(text);
		}
}

/* Copies the records in a random order, in chunks of some room, and checks
 * them against copies by memcpy. */
static void
gather_all(const struct text_kernel *k, const char *text, bool quotes,
	   size_t room)
{
	uint32_t end[BYTES], start[BYTES], size[BYTES], perm[BYTES];
	bool inside = false;
	size_t n = plain_ends(text, BYTES, quotes, &inside, end);
	struct text_records r = {text, start, quotes};
	char *to = xmalloc(room + TEXT_SLACK), want[BYTES];
	size_t at = 0, wrong = 0;

	permutation_u32(perm, n, room);
	for (size_t i = 0; i < n; i++) {
		start[i] = perm[i] ? end[perm[i] - 1] : 0;
		size[i] = end[perm[i]] - start[i];
	}
	for (size_t i = 0; i < n;) {
		size_t from = i, bytes = k->gather(&r, &i, n, to, room);

		at = 0;
		for (size_t j = from; j < i; at += size[j++])
			memcpy(want + at, text + start[j], size[j]);
		wrong += bytes != at || memcmp(to, want, at) != 0;
		/* it stops where no more fits */
		wrong += i < n && at + size[i] <= room;
		if (i == from)
			i++;
	}
	CHECK_INT(wrong, 0);
	free(to);
}

static void
gathered(void)
{
	static const size_t room[] = {1, 2, 63, 64, 65, 130, 500, 2900};

	for (size_t i = 0; i < nkernel; i++)
		for (size_t j = 0; j < sizeof(room) / sizeof(*room); j++) {
			char *few =
			    make_text("\n\"abcdefghijklmnopqrstuvwxyz", 26, j);
			char *many = make_text("\n\"\0a", 4, j);

			gather_all(kernels[i], few, false, room[j]);
			gather_all(kernels[i], few, true, room[j]);
			gather_all(kernels[i], many, false, room[j]);
			gather_all(kernels[i], many, true, room[j]);
			free(few);
			free(many);
		}
}

static void
one_record(void)
{
	const char text[] = "a,\"b\n\"\"\n\",c\nd\n";
	size_t n = sizeof(text) - 1;

	CHECK_INT(text_record_bytes(text, n, false), 5);
	CHECK_INT(text_record_bytes(text, n, true), n - 2);
	CHECK_INT(text_record_bytes(text, 5, true), 0);
	CHECK_INT(text_record_bytes(text, n - 3, true), 0);
	CHECK_INT(text_record_bytes(text, 0, true), 0);
	CHECK_INT(text_skip(text, n, true, 0), 0);
	CHECK_INT(text_skip(text, n, true, 1), n - 2);
	CHECK_INT(text_skip(text, n, true, 2), n);
	CHECK_INT(text_skip(text, n, true, 9), n);
	CHECK_INT(text_skip(text, n, false, 2), 8);
}

int
main(void)
{
	find_kernels();
	check_run("ends of records are found whatever the pieces",
		  ends_and_counts);
	check_run("records are copied in order while they fit", gathered);
	check_run("records are measured and passed over", one_record);
	return check_done();
}
