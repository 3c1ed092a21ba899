/*
 * A handler of failed requests (std::set_new_handler) that allocates by itself, and gives up at its third call: operator new throws
 * then. What it allocates is the program's.
 */
#include <new>

#include "truth.h"

static const size_t HUGE_REQUEST = (size_t)1 << 62;
static int asked;

SITE void *site_new(size_t n) { return ALLOC(::operator new(n), n); }
SITE void *site_handler(size_t n) { return ALLOC(::operator new(n), n); }
SITE void *site_handler_malloc(size_t n) { return ALLOC(malloc(n), n); }
SITE void site_delete(void *p) { FREE(::operator delete, p); }

static void handler(void)
{
	site_handler(144);
	site_handler_malloc(176);
	if (++asked % 3 == 0)
		throw std::bad_alloc();
}

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

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100, caught = 0;
	std::set_new_handler(handler);
	truth_ready();
	for (int i = 0; i < rounds; i++)
		caught += refused();
	return caught == rounds ? truth_done() : 7;
}
