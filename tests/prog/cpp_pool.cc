/* SPDX-License-Identifier: Apache-2.0 */
/* A pool as a class, in a namespace: methods have `this` as their first argument. */
#include "truth.h"

namespace shop
{
class Pool {
	char *chunk = nullptr;
	size_t used = 0;

    public:
	__attribute__((noipa)) void *take(size_t n)
	{
		if (!chunk || used + n > 65536) {
			chunk = new char[65536];
			used = 0;
		}
		used += (n + 15) / 16 * 16;
		NO_TAIL_CALL();
		return chunk + used - (n + 15) / 16 * 16;
	}
	__attribute__((noipa)) void give(void *p)
	{
		*static_cast<char *>(p) = 0;
		NO_TAIL_CALL();
	}
};
}

static shop::Pool pool;

SITE void *site_take(size_t n) { return ALLOC(pool.take(n), n); }
SITE void site_give(void *p) { truth_free(__func__, p); pool.give(p); NO_TAIL_CALL(); }

int main()
{
	truth_ready();
	for (size_t i = 0; i < 1000; i++) {
		void *p = site_take(16 + i % 200);
		if (i % 3)
			site_give(p);
	}
	return truth_done();
}
