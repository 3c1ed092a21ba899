/* A request that always fails: operator new throws, and calls from the same stack depth follow at once. */
#ifndef ALYS_TESTS_REFUSED_HH
#define ALYS_TESTS_REFUSED_HH

#include <new>

#include "truth.h"

static const size_t HUGE_REQUEST = (size_t)1 << 62;

SITE void *site_new(size_t n) { return ALLOC(::operator new(n), n); }
SITE void site_delete(void *p) { FREE(::operator delete, p); }

/* The exception object is allocated by malloc inside operator new and freed after the catch. Later calls reuse the same frame. */
__attribute__((noipa)) static int refused(void)
{
	int caught = 0;
	try {
		site_new(HUGE_REQUEST);
	} catch (const std::bad_alloc &) {
		caught = 1;
	}
	for (int k = 0; k < 20; k++)
		site_delete(site_new(100));
	return caught;
}

static int refused_over_and_over(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100, caught = 0;
	truth_ready();
	for (int i = 0; i < rounds; i++)
		caught += refused();
	return caught == rounds ? truth_done() : 7;
}

#endif
