/* libs: -ldl */
/*
 * libgc, loaded while the program runs. With GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0 its thread-local data have no place
 * at a fixed distance from the thread pointer.
 */
#include <dlfcn.h>

#include "truth.h"

#define ROUNDS 60000

static void *(*gc_malloc)(size_t);

SITE void *site_loaded(size_t n) { return ALLOC(gc_malloc(n), n); }

int main(void)
{
	void *lib = dlopen("libgc.so.1", RTLD_NOW);
	void (*init)(void) = lib ? (void (*)(void))dlsym(lib, "GC_init") : NULL;

	gc_malloc = lib ? (void *(*)(size_t))dlsym(lib, "GC_malloc") : NULL;
	if (!init || !gc_malloc)
		return 7;
	init();
	gc_malloc(40);
	truth_ready();
	for (int i = 0; i < ROUNDS; i++)
		site_loaded(40);
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
