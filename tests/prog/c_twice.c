/*
 * Maps libc a second time. "emulator": laid out as in /proc/self/maps, data writable, code read-only, as for a guest
 * program. "parser": the same, all of it read-only. "file": the whole file, and the program's own, as libraries that
 * print backtraces do.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "truth.h"

static void map_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) || mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		abort();
	close(fd);
}

static void map_part(char *place, const char *path, size_t size, int prot, long offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || mmap(place, size, prot, MAP_PRIVATE | MAP_FIXED, fd, offset) == MAP_FAILED)
		abort();
	close(fd);
}

static void map_parts(int writable)
{
	static char text[65536];
	FILE *f = fopen("/proc/self/maps", "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	char *room = mmap(NULL, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long start, end, offset, base = 0;
	char rights[8], path[512], *next;

	if (!n || room == MAP_FAILED)
		abort();
	fclose(f);
	for (char *line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &start, &end, rights, &offset, path) != 5 ||
		    !strstr(path, "/libc.so"))
			continue;
		base = base ? base : start;
		map_part(room + (start - base), path, end - start,
			 PROT_READ | (writable && rights[1] == 'w' ? PROT_WRITE : 0), (long)offset);
	}
	if (!base)
		abort();
}

int main(int argc, char **argv)
{
	const char *as = argc > 1 ? argv[1] : "";

	if (!strcmp(as, "file")) {
		map_file("/proc/self/exe");
		map_file("/lib/x86_64-linux-gnu/libc.so.6");
	} else {
		map_parts(!strcmp(as, "emulator"));
	}
	truth_ready();
	for (int i = 0; i < 1000; i++) {
		char *volatile block = malloc(100);

		free(block);
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
