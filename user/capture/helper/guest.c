/* helper/guest: see guest.h. */
#include "helper/guest.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "helper/needed.h"
#include "sandbox/confine.h"

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

static struct needed needed;

static int open_known(const char *path)
{
	int known = strcmp(path, GUEST_LIBRARY) ? needed_find(&needed, path) : GUEST_FD_LIBRARY;
	int fd = known < 0 ? -1 : dup(known);
	return fd < 0 || lseek(fd, 0, SEEK_SET) ? -ENOENT : fd;
}

void *guest_library(void)
{
	if (!confine_to_libraries()) {
		guest_fail("the helper cannot give up its rights (it needs landlock and seccomp)");
		return NULL;
	}
	needed_open(&needed, GUEST_FD_LIBRARY);
	if (!confine_wholly(open_known)) {
		guest_fail("the helper cannot give up the rest of its rights");
		return NULL;
	}
	void *library = dlopen(GUEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		guest_fail(dlerror());
		return NULL;
	}
	void (*init)(void) = (void (*)(void))dlsym(library, "GC_init");
	if (init)
		init();
	return library;
}
