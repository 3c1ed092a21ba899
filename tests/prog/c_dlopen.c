/* libs: -ldl */
/* Allocates from its own code first, then loads lib_plugin.so and allocates through it. */
#include <dlfcn.h>
#include <libgen.h>

#include "truth.h"

#define ROUNDS 700

SITE void *site_main(size_t n) { return ALLOC(malloc(n), n); }

static void *(*load(void))(size_t)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	void *lib;

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	strcpy(strrchr(path, '/'), "/lib_plugin.so");
	lib = dlopen(path, RTLD_NOW);
	return lib ? (void *(*)(size_t))dlsym(lib, "site_plugin") : NULL;
}

int main(void)
{
	void *(*plugin)(size_t);

	truth_ready();
	for (int i = 0; i < ROUNDS; i++)
		site_main(40);
	plugin = load();
	if (!plugin)
		return 7;
	for (int i = 0; i < ROUNDS; i++)
		truth_alloc("site_plugin", plugin(88), 88);
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
