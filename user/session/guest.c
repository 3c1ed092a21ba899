/* session/guest: see guest.h. */
#include "session/guest.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session/calls.h"
#include "session/confine.h"
#include "session/heapfill.h"

bool guest_put(const void *bytes, size_t n)
{
	const char *at = bytes;
	while (n) {
		ssize_t put = write(GUEST_FD_OUT, at, n);
		if (put <= 0 && errno != EINTR)
			return false;
		at += put > 0 ? put : 0;
		n -= put > 0 ? (size_t)put : 0;
	}
	return true;
}

bool guest_ready(void)
{
	char first = GUEST_READY;
	return guest_put(&first, 1);
}

bool guest_fail(const char *why)
{
	char first = GUEST_FAILED;
	return guest_put(&first, 1) && guest_put(why, strnlen(why, 200));
}

bool guest_await(void)
{
	char byte;
	return read(GUEST_FD_GO, &byte, 1) == 0;
}

void *guest_library(void)
{
	char path[32];
	if (!confine_self()) {
		guest_fail("the helper cannot give up its rights");
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", GUEST_FD_LIBRARY);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		guest_fail(dlerror());
		return NULL;
	}
	void (*init)(void) = (void (*)(void))dlsym(library, "GC_init");
	if (init)
		init();
	return library;
}

int guest_main(const char *word)
{
	if (!strcmp(word, GUEST_CALLS))
		return calls_main();
	return !strcmp(word, GUEST_HEAP) ? heapfill_main() : -1;
}
