/* SPDX-License-Identifier: Apache-2.0 */
/* access/smaps: see smaps.h. */
#include "access/smaps.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static FILE *open_of(const char *place, const char *name)
{
	char path[96];
	snprintf(path, sizeof(path), "/proc/%s/%s", place, name);
	return fopen(path, "re");
}

/* Lines with values begin with a capital letter; a mapping's own line, above them, begins with its address. */
static uint64_t shares(FILE *f)
{
	char line[4352];
	uint64_t sum = 0, kib;
	bool of_bpf = false;
	while (fgets(line, sizeof(line), f)) {
		if (!isupper((unsigned char)line[0]))
			of_bpf = strstr(line, " anon_inode:bpf-map");
		else if (!of_bpf && !strncmp(line, "Pss:", 4) && sscanf(line + 4, "%" SCNu64, &kib) == 1)
			sum += kib;
	}
	return sum * 1024;
}

/* --- mapping by mapping --------------------------------------------------------------------------- */

static bool begins_mapping(char *line, struct smaps_part *out)
{
	char rights[5];
	int at = 0;
	*out = (struct smaps_part){ .path = "" };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64 " %n", &out->start, &out->end, rights, &out->ino, &at) !=
	    4)
		return false;
	line[strcspn(line, "\n")] = 0;
	out->shared = rights[3] == 's';
	out->path = at ? line + at : "";
	return true;
}

static void take_number(const char *line, struct smaps_part *p)
{
	uint64_t kib = 0;
	if (sscanf(line, "Rss: %" SCNu64, &kib) == 1)
		p->resident = kib * 1024;
	else if (sscanf(line, "Anonymous: %" SCNu64, &kib) == 1)
		p->anonymous = kib * 1024;
	else if (sscanf(line, "AnonHugePages: %" SCNu64, &kib) == 1)
		p->huge = kib * 1024;
	else if (sscanf(line, "Swap: %" SCNu64, &kib) == 1)
		p->swapped = kib * 1024;
}

int smaps_each(int fd, int (*fn)(void *ctx, const struct smaps_part *p), void *ctx)
{
	char head[4352], line[4352];
	struct smaps_part part = { .path = "" };
	FILE *f = fdopen(fd, "re");
	int rc = 0;
	if (!f) {
		rc = -errno;
		close(fd);
		return rc;
	}
	while (!rc && fgets(line, sizeof(line), f)) {
		if (isupper((unsigned char)line[0])) {
			take_number(line, &part);
			continue;
		}
		rc = part.end ? fn(ctx, &part) : 0;
		strcpy(head, line);
		begins_mapping(head, &part);
	}
	rc = rc ?: part.end ? fn(ctx, &part) : 0;
	fclose(f);
	return rc;
}

/* --- of a family ---------------------------------------------------------------------------------- */

static uint64_t resident(const char *pid)
{
	char line[256];
	uint64_t kib = 0;
	FILE *f = open_of(pid, "status");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "VmRSS: %" SCNu64, &kib) != 1)
		;
	if (f)
		fclose(f);
	return kib * 1024;
}

static uint64_t of_process(const char *pid)
{
	FILE *f = open_of(pid, "smaps");
	uint64_t sum = f ? shares(f) : resident(pid);
	if (f)
		fclose(f);
	return sum;
}

/* A child started by vfork shares its parent's memory until it executes its program, so it is not counted. */
static bool is_spawned(uint32_t parent, uint32_t child)
{
	return !syscall(SYS_kcmp, parent, child, KCMP_VM, 0, 0);
}

static uint64_t of_children(uint32_t parent, const char *task)
{
	char pid[16], name[64];
	uint32_t child;
	uint64_t sum = 0;
	snprintf(pid, sizeof(pid), "%u", parent);
	snprintf(name, sizeof(name), "task/%.20s/children", task);
	FILE *f = open_of(pid, name);
	while (f && fscanf(f, "%" SCNu32, &child) == 1)
		sum += is_spawned(parent, child) ? 0 : smaps_of_family(child);
	if (f)
		fclose(f);
	return sum;
}

/* The list of children in /proc is per thread. */
uint64_t smaps_of_family(uint32_t pid)
{
	char number[16], tasks[64];
	snprintf(number, sizeof(number), "%u", pid);
	snprintf(tasks, sizeof(tasks), "/proc/%u/task", pid);
	uint64_t sum = of_process(number);
	DIR *dir = opendir(tasks);
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		if (e->d_name[0] != '.')
			sum += of_children(pid, e->d_name);
	}
	if (dir)
		closedir(dir);
	return sum;
}
