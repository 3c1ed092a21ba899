/* SPDX-License-Identifier: Apache-2.0 */
/* libs: -Wl,-z,lazy -Wl,-z,dynamic-undefined-weak */
/*
 * Each call of a function through the PLT is bound by the dynamic linker anew, which runs code of chosen.so in the middle of that: its
 * callers are the linker, this program and what the linker's assembly has put on the stack between them.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void chosen(void) __attribute__((weak)); /* found in the library, by name, when it is called */

/* With a frame whose CFA does not depend on sp: what glibc says of its resolver on aarch64 is wrong by 16 bytes, and libdw believes it. */
static __attribute__((noinline)) void call_some(size_t n)
{
	volatile char *room = alloca(n);
	for (size_t i = 0; i < n; i++) {
		chosen();
		room[i] = (char)i;
	}
}

static void load(void)
{
	char self[PATH_MAX] = "", path[PATH_MAX + 16];
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		exit(2);
	snprintf(path, sizeof(path), "%s/chosen.so", dirname(self));
	if (!dlopen(path, RTLD_LAZY | RTLD_GLOBAL))
		exit(2);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	if (!getenv("LD_BIND_NOT")) {
		setenv("LD_BIND_NOT", "1", 1);
		execv("/proc/self/exe", argv);
	}
	load();
	while (time(NULL) < end)
		call_some(1000);
	return 0;
}
