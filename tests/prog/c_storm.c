/* libs: -ldl */
/*
 * Children that only fork, that execute another program, that load a library, and that exit at once: each
 * allocates COUNT blocks of SIZE bytes. The daemon has to see all of them.
 *
 *   c_storm PLUGIN SHORT | prints "ready", waits for a byte, starts its children, SHORT of them short-lived;
 *                          prints "child HOW PID" when one has done its work, "all" at last, waits for the end of stdin
 *   c_storm work HOW     | executed by children
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 500
#define SIZE 4321
#define KIND 4

static void *kept[COUNT];

__attribute__((noipa)) static void site_storm(void)
{
	for (int i = 0; i < COUNT; i++) {
		kept[i] = malloc(SIZE);
		memset(kept[i], 1, SIZE);
	}
}

static void work(const char *how, int stays)
{
	char line[64];
	site_storm();
	if (!stays)
		_exit(0);
	int n = snprintf(line, sizeof(line), "child %s %d\n", how, (int)getpid());
	if (write(1, line, (size_t)n) != n)
		_exit(1);
	while (read(0, line, 1) > 0)
		;
	_exit(0);
}

static void be_child(int i, char **argv)
{
	static const char *const hows[] = { "forked", "executed", "loaded" };
	const char *how = hows[i % 3];
	if (i % 3 == 1)
		execl("/proc/self/exe", argv[0], "work", how, NULL);
	if (i % 3 == 2 && !dlopen(argv[1], RTLD_NOW))
		_exit(3);
	work(how, 1);
}

int main(int argc, char **argv)
{
	char byte;
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "work"))
		work(argv[2], 1);
	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 2;
	for (int i = 0; i < atoi(argv[2]); i++) {
		if (fork() == 0)
			work("", 0);
	}
	for (int i = 0; i < 3 * KIND; i++) {
		if (fork() == 0)
			be_child(i, argv);
	}
	for (int i = 0; i < atoi(argv[2]); i++)
		wait(NULL);
	puts("all");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	while (wait(NULL) > 0)
		;
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
