#include "shuffle/buffersize.h"

#include <math.h>
#include <string.h>
#include "base/opt.h"
#include "base/jsonio.h"

int
buffer_size_parse(const char *text, struct buffer_size *b, struct error *err)
{
	size_t n = strlen(text);
	char number[32];

	*b = (struct buffer_size){0};
	if (n > 1 && n <= sizeof number && text[n - 1] == '%') {
		memcpy(number, text, n - 1);
		number[n - 1] = '\0';
		if (opt_parse_real(number, &b->share) == 0 && b->share > 0 &&
		    b->share <= 100) {
			b->share /= 100;
			return 0;
		}
	} else if (opt_parse_bytes(text, &b->bytes) == 0 && b->bytes > 0) {
		return 0;
	}
	return error_set(err, EXIT_USAGE,
			 "--buffer: neither a share up to 100%% nor a size: "
			 "\"%s\"",
			 text);
}

void
buffer_size_text(const struct buffer_size *b, struct strbuf *sb)
{
	char text[32];

	if (b->share > 0)
		strbuf_addf(sb, "%s%%", jout_real_text(100 * b->share, text));
	else
		strbuf_addf(sb, "%llu", (unsigned long long)b->bytes);
}

size_t
buffer_size_blocks(const struct buffer_size *b, size_t nblock,
		   double total_bytes)
{
	double share =
	    b->share > 0 ? b->share : (double)b->bytes / fmax(total_bytes, 1);
	double n = floor(share * (double)nblock * (1 + 1e-12));

	return n < 1 ? 1 : n < (double)nblock ? (size_t)n : nblock;
}

void
buffer_size_round(double bytes, bool up, struct strbuf *sb)
{
	const char *unit = "KMGT";
	double v = fmax(bytes, 1), digit = 1;
	size_t k = 0;

	while (v >= 10240 && unit[k]) {
		v /= 1024;
		k++;
	}
	while (v / digit >= 100)
		digit *= 10;
	v = (up ? ceil(v / digit) : floor(v / digit)) * digit;
	strbuf_addf(sb, "%.0f%.*s", v, k > 0, unit + k - (k > 0));
}
