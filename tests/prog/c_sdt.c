/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sampler that reports by probes of SystemTap's own header: the compiler chooses where their arguments are. One block in
 * eight is drawn, and stands for eight. The truth contains the reported blocks, with their weights.
 */
#include "truth.h"

#define _SDT_HAS_SEMAPHORES 1
#define SDT_COUNTER __attribute__((section(".probes"), used)) unsigned short
SDT_COUNTER ddheap_alloc_semaphore;
SDT_COUNTER ddheap_free_semaphore;
#include <sys/sdt.h>

#define DRAWN 8

static unsigned long calls;

static int is_drawn(void)
{
	return *(volatile unsigned short *)&ddheap_alloc_semaphore && calls++ % DRAWN == 0;
}

/* In memory, where the compiler leaves it there. */
__attribute__((noipa)) static void report(void *p, size_t n)
{
	volatile size_t size = n;
	STAP_PROBE3(ddheap, alloc, p, size, DRAWN * n);
}

__attribute__((noipa)) static void report_end(void *p)
{
	STAP_PROBE1(ddheap, free, p);
}

SITE void *site_sdt_alloc(size_t n, int *drawn)
{
	void *p = malloc(n);
	*drawn = is_drawn();
	if (*drawn)
		report(ALLOC(p, n), n);
	return p;
}

SITE void site_sdt_free(void *p, int drawn)
{
	if (drawn) {
		truth_free(__func__, p);
		report_end(p);
	}
	free(p);
	NO_TAIL_CALL();
}

int main(void)
{
	truth_ready();
	for (unsigned int i = 0; i < 4000; i++) {
		int drawn;
		void *p = site_sdt_alloc(16 + i % 500, &drawn);
		if (i % 3)
			site_sdt_free(p, drawn);
	}
	return truth_done();
}
