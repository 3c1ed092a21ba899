/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/footprint: see footprint.h. */
#include "monitor/footprint.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "access/rights.h"
#include "base/map.h"

/* Growth of this process, or time, after which all is measured again. */
#define GROWN (1u << 20)
#define HOLDS_NS 5000000000ull

/* A BPF map with several descriptors is counted once. */
static uint64_t of_map(const char *fd, struct map *seen)
{
	char path[64], line[128];
	uint64_t id = 0, bytes = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.20s", fd);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "map_id: %" SCNu64, &id) != 1)
			sscanf(line, "memlock: %" SCNu64, &bytes);
	}
	if (f)
		fclose(f);
	if (!id || map_get(seen, id))
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

static uint64_t resident(void)
{
	unsigned long total = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f && fscanf(f, "%lu %lu", &total, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void footprint_look(struct footprint *m, uint64_t now_ns)
{
	int kib = rights_footprint();
	m->resident = resident();
	m->processes = kib > 0 ? (uint64_t)kib * 1024 : m->resident;
	m->kernel = of_maps();
	m->looked_ns = now_ns;
}

void footprint_renew(struct footprint *m, uint64_t now_ns, bool helped)
{
	if (helped || now_ns - m->looked_ns >= HOLDS_NS || footprint_now(m) >= m->processes + m->kernel + GROWN)
		footprint_look(m, now_ns);
}

uint64_t footprint_now(const struct footprint *m)
{
	uint64_t sum = m->processes + m->kernel + resident();
	return sum > m->resident ? sum - m->resident : 0;
}
