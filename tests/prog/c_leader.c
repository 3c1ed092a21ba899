/* flags: -pthread */
/* libs: -lgc -pthread */
/* libgc in a process whose main thread allocates objects, collects and exits; a second thread goes on. */
#define GC_THREADS
#include <gc.h>

#include <stdio.h>
#include <unistd.h>

#define KEPT 300

static void *volatile kept[KEPT];

static void *stay(void *arg)
{
	(void)arg;
	usleep(200000); /* the main thread has exited by now */
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	_exit(0);
}

int main(void)
{
	pthread_t t;
	GC_INIT();
	for (int i = 0; i < KEPT; i++)
		kept[i] = GC_MALLOC(200);
	GC_gcollect();
	pthread_create(&t, NULL, stay, NULL);
	pthread_exit(NULL);
}
/* SPDX-License-Identifier: Apache-2.0 */
