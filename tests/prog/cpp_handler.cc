/*
 * A new-handler (std::set_new_handler) that itself allocates, and gives up at its third call: then operator new throws.
 * Its allocations must be recorded, not taken for nested ones of operator new.
 */
#include "refused.hh"

static int asked;

SITE void *site_handler(size_t n) { return ALLOC(::operator new(n), n); }
SITE void *site_handler_malloc(size_t n) { return ALLOC(malloc(n), n); }

static void handler(void)
{
	site_handler(144);
	site_handler_malloc(176);
	if (++asked % 3 == 0)
		throw std::bad_alloc();
}

int main(int argc, char **argv)
{
	std::set_new_handler(handler);
	return refused_over_and_over(argc, argv);
}
/* SPDX-License-Identifier: Apache-2.0 */
