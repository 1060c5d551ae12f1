#ifndef KP_BASE_ISA_H
#define KP_BASE_ISA_H

/*
 * isa - which of the compiled instruction sets vector kernels run with, and
 * how small numbers are treated while they do.
 */

enum isa { ISA_BASE, ISA_AVX2, ISA_AVX512 };

/* The best this CPU runs; the environment variable KP_ISA (base, avx2,
 * avx512) asks for another, which is obeyed if the CPU has it. */
enum isa isa_choose(void);

/* Subnormal results and operands count as zero between the two calls, in this
 * thread, where the CPU can do that; begin returns what end restores. */
unsigned isa_flush_begin(void);
void isa_flush_end(unsigned before);

#endif
