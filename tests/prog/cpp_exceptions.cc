/* Exceptions that leave operator new itself (its new-handler throws) and exceptions through deep allocating frames. */
#include <new>

#include "truth.h"

static const int ROUNDS = 300;

struct Refused {
};

SITE void *site_deep(size_t n) { return ALLOC(::operator new(n), n); }
SITE void *site_refused(size_t n) { return ALLOC(::operator new(n), n); }
SITE void site_unwound_delete(void *p) { FREE(::operator delete, p); }

struct Guard {
	void *p;
	explicit Guard(size_t n) : p(site_deep(n)) {}
	~Guard() { site_unwound_delete(p); }
};

__attribute__((noipa)) static int dive(int depth)
{
	Guard g(32 + depth);

	if (depth == 0)
		throw 42;
	return dive(depth - 1) + 1;
}

static void refuse() { throw Refused(); }

int main()
{
	int caught = 0, refused = 0;
	char line[64];

	truth_ready();
	std::set_new_handler(refuse);
	for (int i = 0; i < ROUNDS; i++) {
		try {
			dive(20);
		} catch (int n) {
			caught += n == 42;
		}
		try {
			site_refused(SIZE_MAX / 4);
		} catch (const Refused &) {
			refused++;
			truth_failed++;
		}
	}
	truth_say(line, snprintf(line, sizeof(line), "caught %d refused %d\n", caught, refused));
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
