/*
 * A loader of its own, which no dynamic linker reports: maps the code of two files alternately at the same address, calls it
 * and unmaps it. c_loader FIRST OTHER TURNS PAUSE: prints "ready", waits for a byte; sleeps PAUSE microseconds before and after
 * the calls; at the end waits until stdin ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLS 50
#define PAGE 4096 /* offset of the code in the file */
#define PLACE ((void *)0x700000000000)

static void call(const char *path, size_t size, unsigned int pause)
{
	int fd = open(path, O_RDONLY);
	void *code = mmap(PLACE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, PAGE);
	void *(*site)(void *(*)(size_t), size_t) = (void *(*)(void *(*)(size_t), size_t))code;

	if (code == MAP_FAILED)
		exit(7);
	close(fd);
	usleep(pause);
	for (int i = 0; i < CALLS; i++)
		free(site(malloc, size));
	usleep(pause);
	munmap(code, PAGE);
}

int main(int argc, char **argv)
{
	char byte;

	if (argc < 5)
		return 7;
	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 7;
	for (int i = 0; i < atoi(argv[3]); i++) {
		call(argv[1], 901, (unsigned int)atoi(argv[4]));
		call(argv[2], 902, (unsigned int)atoi(argv[4]));
	}
	puts("done");
	fflush(stdout);
	return read(0, &byte, 1) > 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
