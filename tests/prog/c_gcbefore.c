/* libs: -lgc */
/*
 * libgc: a known number of objects from before the recording, some of which are dropped during it, and a few objects
 * allocated during it and kept. Of those from before, half have GC_size 64, half 128. c_gcbefore OBJECTS DROPPED
 * [COLLECTIONS [fork]]; with fork, a child makes the same collections with the objects that it inherited.
 */
#define GC_NO_THREAD_REDIRECTS
#include <gc.h>
#include <sys/wait.h>
#include <time.h>

#include "truth.h"

#define KEPT 5000
#define NEWER 100

/* Roots of the collector. */
static void *volatile before[KEPT], *volatile after[NEWER];

SITE void *site_after(size_t n) { return ALLOC((GC_malloc)(n), n); }

int main(int argc, char **argv)
{
	int objects = argc > 2 ? atoi(argv[1]) : 1000, dropped = argc > 2 ? atoi(argv[2]) : 0;
	pid_t child;

	GC_set_handle_fork(argc > 4);
	GC_INIT();
	if (objects > KEPT || dropped > objects)
		return 2;
	for (int i = 0; i < objects; i++)
		before[i] = i % 2 ? memset((GC_malloc)(60), 0x11, 60) : memset((GC_malloc_atomic)(120), 0x11, 120);
	truth_ready();
	for (int i = 0; i < dropped; i++)
		before[i] = NULL;
	for (int i = 0; i < NEWER; i++)
		after[i] = memset(site_after(40), 0x11, 40);
	child = argc > 4 ? fork() : -1;
	/* Pauses in which nothing happens, so that marks can be read. */
	for (int i = argc > 3 ? atoi(argv[3]) : 3; i > 0; i--) {
		GC_gcollect();
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	if (child == 0)
		_exit(0);
	return truth_done() || (child > 0 && waitpid(child, NULL, 0) != child);
}
/* SPDX-License-Identifier: Apache-2.0 */
