#include "shuffle/buffersize.h"

#include "base/opt.h"
#include "check.h"

static void
rounded(void)
{
	static const struct {
		double bytes;
		const char *down, *up;
	} want[] = {
	    {0.3, "1", "1"},	    {73, "73", "73"},
	    {8619, "8600", "8700"}, {10240, "10K", "10K"},
	    {86190, "84K", "85K"},  {8.7e6, "8400K", "8500K"},
	    {1e8, "95M", "96M"},    {1e18, "900000T", "910000T"},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct strbuf down = STRBUF_INIT, up = STRBUF_INIT;
		uint64_t bytes;

		buffer_size_round(want[i].bytes, false, &down);
		buffer_size_round(want[i].bytes, true, &up);
		CHECK_STR(down.buf, want[i].down);
		CHECK_STR(up.buf, want[i].up);
		CHECK_INT(opt_parse_bytes(up.buf, &bytes), 0);
		CHECK((double)bytes >= want[i].bytes);
		strbuf_release(&down);
		strbuf_release(&up);
	}
}

int
main(void)
{
	check_run("sizes to advise have two digits and can be parsed", rounded);
	return check_done();
}
