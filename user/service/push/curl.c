/* SPDX-License-Identifier: Apache-2.0 */
/* push/curl: see curl.h. */
#include "push/curl.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static struct curl_calls calls;
static bool loaded;

static void *find(void *lib, const char *name, bool *all)
{
	void *at = lib ? dlsym(lib, name) : NULL;
	*all = *all && at;
	return at;
}

static void load(void)
{
	void *lib = dlopen("libcurl.so.4", RTLD_NOW);
	bool all = true;
#define X(name) calls.name = (__typeof__(calls.name))find(lib, "curl_" #name, &all);
	CURL_CALLS(X)
#undef X
	loaded = all && !calls.global_init(CURL_GLOBAL_DEFAULT);
}

const struct curl_calls *curl_load(struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load);
	if (loaded)
		return &calls;
	err_set(err, ELIBACC, "--push needs libcurl.so.4, which cannot be loaded: install libcurl4");
	return NULL;
}
