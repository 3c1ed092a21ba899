/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with its own sampler, which reports allocations by USDT probes with each form of arguments. Probes with a
 * counter of tracers are reached only while one is attached. The truth contains the reported blocks only.
 * `c_usdt [PROGRAM]` executes the program when it is done.
 */
#include "truth.h"
#include "usdt_reports.h"

#define ROUNDS 500
#define WEIGHT 10 /* one block in ten is reported, with this weight */

SITE void *site_usdt_registers(size_t size)
{
	void *p = ALLOC(malloc(size), size);
	in_registers(p, size, size);
	return p;
}

SITE void *site_usdt_memory(size_t size)
{
	void *p = ALLOC(malloc(size), size);
	in_memory(p, size);
	return p;
}

SITE void *site_usdt_signed(size_t size)
{
	void *p = ALLOC(malloc(size), size);
	as_signed(p, size);
	return p;
}

SITE void *site_usdt_counted(size_t size)
{
	void *p = malloc(size);
	return counted(p, size) ? ALLOC(p, size) : p;
}

SITE void *site_usdt_sampled(size_t size, int drawn)
{
	void *p = malloc(size);
	if (drawn)
		in_registers(ALLOC(p, size), size, WEIGHT * size);
	return p;
}

/* Larger than the sampler's interval: it contains one sampling point, and counts as the weight, not its size. */
SITE void *site_usdt_large(size_t size, size_t weight)
{
	void *p = malloc(size);
	in_registers(ALLOC(p, weight), size, weight);
	return p;
}

/* A weight of 0 is none. */
SITE void *site_usdt_unweighed(size_t size)
{
	void *p = malloc(size);
	in_registers(ALLOC(p, size), size, 0);
	return p;
}

/* Neither a size nor a weight is negative: not recorded, and counted as lost. */
SITE void *site_usdt_negative(size_t size)
{
	void *p = malloc(size);
	in_registers(p, size, (size_t)-1);
	in_registers(p, (size_t)-size, 1);
	return p;
}

SITE void *site_usdt_refused(size_t size)
{
	void *p = malloc(size);
	refused(p, size);
	return p;
}

SITE void site_usdt_free(void *p)
{
	ended(p);
	FREE(free, p);
}

SITE void site_usdt_counted_free(void *p)
{
	if (counted_end(p))
		truth_free(__func__, p);
	free(p);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	truth_ready();
	for (int i = 0; i < ROUNDS; i++) {
		void *blocks[] = { site_usdt_registers(64), site_usdt_memory(96), site_usdt_signed(128) };
		for (size_t k = 0; k < sizeof(blocks) / sizeof(*blocks); k++) {
			if (i % 2)
				site_usdt_free(blocks[k]);
		}
		void *block = site_usdt_counted(160);
		if (i % 4)
			site_usdt_counted_free(block);
		site_usdt_sampled(512, i % WEIGHT == 0);
		site_usdt_free(site_usdt_large(4096, 3000));
		free(site_usdt_refused(32));
		site_usdt_free(site_usdt_unweighed(48));
		free(i ? NULL : site_usdt_negative(24));
	}
	if (argc < 2)
		return truth_done();
	truth_print();
	execl(argv[1], argv[1], NULL);
	return 7;
}
