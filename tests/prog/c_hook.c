/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose allocator ends in a jump through a pointer. With "changed" the pointer leads to another function from the
 * beginning, and the first one is called directly, too.
 */
#include "truth.h"

#define ROUNDS 1000
#define HOOK __attribute__((noipa))

static char arena[ROUNDS * 256], *end = arena;

HOOK static void *take(size_t n)
{
	void *p = end;
	end += n;
	NO_TAIL_CALL();
	return p;
}

HOOK static void *take_apart(size_t n)
{
	void *p = end + 64;
	end += n + 64;
	NO_TAIL_CALL();
	return p;
}

struct hooks {
	size_t most;
	void *(*take)(size_t n);
};
struct hooks hooks = { 128, take };

HOOK void *hook_alloc(size_t n)
{
	return n > hooks.most ? NULL : hooks.take(n);
}

/* Both calls have the same frame. */
SITE void *site_hooked(size_t n, int directly)
{
	void *p = directly ? take(n) : hook_alloc(n);
	NO_TAIL_CALL();
	return directly ? p : ALLOC(p, n);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		hooks.take = take_apart;
	truth_ready();
	for (size_t i = 0; i < ROUNDS; i++) {
		site_hooked(8 + i % 64, 0);
		if (argc > 1)
			site_hooked(8, 1);
		site_hooked(129, 0);
	}
	return truth_done();
}
