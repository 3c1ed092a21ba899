/* libs: -lpthread -ldl */
/*
 * The load for long runs of the daemon. Each process checks the contents of its blocks.
 *
 *   c_soak server PLUGIN  | prints "ready", works at a steady pace until stdin ends: replaces blocks of a live set,
 *                           starts threads, loads and unloads a library
 *   c_soak phoenix        | the same, and executes itself again every few seconds
 *   c_soak nursery COUNT  | prints "ready", for each byte on stdin starts COUNT short-lived children in about a second,
 *                           every eighth of which executes another program; prints "born COUNT failed N ms N"
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 4000
#define ROUNDS 200 /* from one library or thread to the next */
#define LIFE 3000  /* rounds of a phoenix before it executes itself */

struct slot {
	unsigned char *p;
	size_t size;
};

static struct slot slots[SLOTS];

__attribute__((noipa)) static void site_soak(struct slot *s, size_t size)
{
	if (s->p && (s->p[0] != (unsigned char)s->size || s->p[s->size - 1] != (unsigned char)s->size))
		abort();
	free(s->p);
	s->size = size;
	s->p = malloc(size);
	memset(s->p, (unsigned char)size, size);
}

static void replace(int count)
{
	static uint32_t seed = 1;
	for (int i = 0; i < count; i++) {
		seed = seed * 1664525 + 1013904223;
		site_soak(&slots[(seed >> 8) % SLOTS], 16 + (seed >> 20));
	}
}

static void *visit(void *unused)
{
	struct slot own = { 0 };
	for (size_t i = 0; i < 100; i++)
		site_soak(&own, 100 + i);
	free(own.p);
	return unused;
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void *(*make)(size_t) = library ? (void *(*)(size_t))dlsym(library, "site_plugin") : NULL;
	if (!make)
		abort();
	for (size_t i = 0; i < 100; i++)
		free(make(500 + i));
	dlclose(library);
}

static void serve(const char *plugin, char **again)
{
	struct pollfd in = { 0, POLLIN, 0 };
	for (int round = 1; poll(&in, 1, 1) == 0; round++) {
		replace(20);
		if (again && round == LIFE)
			execv("/proc/self/exe", again);
		if (round % ROUNDS)
			continue;
		pthread_t t;
		if (pthread_create(&t, NULL, visit, NULL) || pthread_join(t, NULL))
			abort();
		if (plugin)
			load(plugin);
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* How many of the ended children failed; flags 0 waits for all of them, WNOHANG does not wait. */
static int reap(int flags)
{
	int failed = 0, status;
	while (waitpid(-1, &status, flags) > 0)
		failed += status != 0;
	return failed;
}

static void bear(int count)
{
	uint64_t begun = now_ns();
	int failed = 0;
	for (int i = 0; i < count; i++) {
		pid_t child = fork();
		if (!child) {
			if (i % 8 == 0)
				execl("/proc/self/exe", "c_soak", "child", NULL);
			replace(50);
			_exit(0);
		}
		failed += (child < 0) + reap(WNOHANG);
		sleep_until(begun + (uint64_t)(i + 1) * 1000000000ull / (uint64_t)count);
	}
	failed += reap(0);
	printf("born %d failed %d ms %llu\n", count, failed, (unsigned long long)(now_ns() - begun) / 1000000);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char byte;
	const char *mode = argc > 1 ? argv[1] : "";
	char *again[] = { argv[0], "reborn", NULL };
	if (!strcmp(mode, "child")) {
		replace(50);
		return 0;
	}
	if (strcmp(mode, "reborn")) {
		puts("ready");
		fflush(stdout);
	}
	if (!strcmp(mode, "nursery") && argc == 3) {
		while (read(0, &byte, 1) > 0)
			bear(atoi(argv[2]));
		return 0;
	}
	serve(argc > 2 ? argv[2] : NULL, strcmp(mode, "server") ? again : NULL);
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
