#include "base/isa.h"
#include "check.h"

static void
subnormals_are_zero_between(void)
{
	volatile double tiny = 0x1p-1022, half = 0.5;
	volatile float small = 0x1p-126f;
	unsigned before = isa_flush_begin();
	double product = tiny * half;
	float fraction = small * (float)half;

	isa_flush_end(before);
#ifdef __SSE__
	CHECK_BITS(product, 0);
	CHECK_BITS(fraction, 0);
#else
	(void)product;
	(void)fraction;
#endif
	product = tiny * half;
	CHECK_BITS(product, 0x1p-1023);
}

static void
a_wish_is_obeyed(void)
{
	setenv("KP_ISA", "base", 1);
	CHECK_INT(isa_choose(), ISA_BASE);
	setenv("KP_ISA", "avx2", 1);
	CHECK(isa_choose() <= ISA_AVX2);
	unsetenv("KP_ISA");
}

int
main(void)
{
	check_run("subnormals are zero between begin and end only",
		  subnormals_are_zero_between);
	check_run("KP_ISA chooses an instruction set", a_wish_is_obeyed);
	return check_done();
}
