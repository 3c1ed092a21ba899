/* SPDX-License-Identifier: Apache-2.0 */
/* helper/child: see child.h. */
#include "helper/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "helper/needed.h"
#include "sandbox/confine.h"

bool child_put(const void *bytes, size_t n)
{
	const char *at = bytes;
	while (n) {
		ssize_t put = write(CHILD_FD_OUT, at, n);
		if (put <= 0 && errno != EINTR)
			return false;
		at += put > 0 ? put : 0;
		n -= put > 0 ? (size_t)put : 0;
	}
	return true;
}

bool child_ready(void)
{
	char first = CHILD_READY;
	return child_put(&first, 1);
}

bool child_fail(const char *why)
{
	char first = CHILD_FAILED;
	return child_put(&first, 1) && child_put(why, strnlen(why, 200));
}

bool child_await(void)
{
	char byte;
	return read(CHILD_FD_GO, &byte, 1) == 0;
}

static struct needed needed;

static int open_known(const char *path)
{
	int known = strcmp(path, CHILD_LIBRARY) ? needed_find(&needed, path) : CHILD_FD_LIBRARY;
	int fd = known < 0 ? -1 : dup(known);
	return fd < 0 || lseek(fd, 0, SEEK_SET) ? -ENOENT : fd;
}

void *child_library(void)
{
	if (!confine_to_libraries()) {
		child_fail("the helper cannot give up its rights (it needs landlock and seccomp)");
		return NULL;
	}
	needed_open(&needed, CHILD_FD_LIBRARY);
	if (!confine_wholly(open_known)) {
		child_fail("the helper cannot give up the rest of its rights");
		return NULL;
	}
	void *library = dlopen(CHILD_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		child_fail(dlerror());
		return NULL;
	}
	void (*init)(void) = (void (*)(void))dlsym(library, "GC_init");
	if (init)
		init();
	return library;
}
