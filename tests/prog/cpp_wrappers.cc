/* Allocations through wrappers: one in C, the C++ library, and two layers of the program's own. */
#include <cstdio>
#include <cstdlib>
#include <vector>

#define SITE extern "C" __attribute__((noinline, noclone))

static void *volatile kept;

SITE void *zmalloc(size_t n)
{
	void *p = malloc(n);
	kept = p;
	return p;
}

SITE void *pool_get(size_t n)
{
	char *p = static_cast<char *>(zmalloc(n));
	*p = 1;
	return p;
}

SITE void site_plain()
{
	for (int i = 0; i < 10; i++)
		kept = zmalloc(100);
}

SITE void site_pool()
{
	for (int i = 0; i < 20; i++)
		kept = pool_get(200);
}

SITE void site_vector()
{
	static std::vector<std::vector<char>> all;
	all.reserve(30);
	for (int i = 0; i < 30; i++)
		all.push_back(std::vector<char>(300));
}

int main()
{
	site_plain();
	site_pool();
	site_vector();
	std::puts("done");
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
