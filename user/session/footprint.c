/* session/footprint: see footprint.h. */
#include "session/footprint.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"
#include "base/rights.h"
#include "target/proc.h"

#define RINGBUF 27 /* enum bpf_map_type; its pages are mapped, and so counted already */

static uint64_t most_of(uint32_t tgid)
{
	long kb = proc_status_value(tgid, "VmHWM");
	return kb > 0 ? (uint64_t)kb * 1024 : 0;
}

static uint64_t of_children(const char *task)
{
	char path[64];
	uint32_t child;
	uint64_t sum = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%.20s/children", task);
	FILE *f = fopen(path, "re");
	while (f && fscanf(f, "%" SCNu32, &child) == 1)
		sum += most_of(child);
	if (f)
		fclose(f);
	return sum;
}

/* Each thread is told its own children only. */
static uint64_t of_all_children(void)
{
	DIR *dir = opendir("/proc/self/task");
	uint64_t sum = 0;
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		if (e->d_name[0] != '.')
			sum += of_children(e->d_name);
	}
	if (dir)
		closedir(dir);
	return sum;
}

/* A map that many descriptors stand for takes its memory once. */
static uint64_t of_map(const char *fd, struct map *seen)
{
	char path[64], line[128];
	uint64_t id = 0, type = 0, bytes = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.20s", fd);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "map_type: %" SCNu64, &type) != 1 && sscanf(line, "map_id: %" SCNu64, &id) != 1)
			sscanf(line, "memlock: %" SCNu64, &bytes);
	}
	if (f)
		fclose(f);
	if (!id || type == RINGBUF || map_get(seen, id))
		return 0;
	map_put(seen, id);
	return bytes;
}

static uint64_t of_maps(void)
{
	struct map seen = { 0 };
	DIR *dir = opendir("/proc/self/fdinfo");
	uint64_t sum = 0;
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		if (e->d_name[0] != '.')
			sum += of_map(e->d_name, &seen);
	}
	if (dir)
		closedir(dir);
	map_free(&seen);
	return sum;
}

void footprint_look_own(struct footprint *m)
{
	unsigned long total = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f && fscanf(f, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	m->own = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

void footprint_look(struct footprint *m)
{
	footprint_look_own(m);
	m->others = of_all_children() + (rights_lent() ? most_of((uint32_t)getppid()) : 0);
	m->kernel = of_maps();
}

uint64_t footprint_sum(const struct footprint *m)
{
	return m->own + m->others + m->kernel;
}
