/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target on files: `fuzz_x FILE...`; directories are searched recursively. Prints how many passed. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int runs;

static void run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		return;
	uint8_t *data = malloc(1 << 24);
	size_t n = fread(data, 1, 1 << 24, f);
	fclose(f);
	/* A copy of exactly this size, so that the sanitizer detects reads past its end. */
	uint8_t *exact = malloc(n ? n : 1);
	memcpy(exact, data, n);
	free(data);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	runs++;
}

static void run_path(const char *path)
{
	struct stat st;
	if (stat(path, &st))
		return;
	if (!S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char child[4096];
		snprintf(child, sizeof(child), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			run_path(child);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	printf("%u inputs replayed\n", runs);
	return runs ? 0 : 1;
}
