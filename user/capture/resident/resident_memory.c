/* SPDX-License-Identifier: Apache-2.0 */
/* resident/resident_memory: see resident_memory.h. */
#include "resident/resident_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "alys.h"

#define PAGE_SHIFT 12
#define PRESENT (1ull << 63) /* Documentation/admin-guide/mm/pagemap.rst */

const char *memory_name(uint32_t kind)
{
	static const char *const names[] = {
		[ALYS_MEMORY_ANONYMOUS] = "anonymous memory",  [ALYS_MEMORY_HUGE] = "anonymous memory, huge pages",
		[ALYS_MEMORY_FILE] = "pages of files",         [ALYS_MEMORY_SHARED] = "shared memory",
		[ALYS_MEMORY_RESERVED] = "reserved addresses",
	};
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

uint64_t memory_resident(uint32_t tgid)
{
	char path[64], line[256];
	uint64_t kib = 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/smaps_rollup", tgid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Rss: %" SCNu64, &kib) != 1)
		;
	if (f)
		fclose(f);
	return kib * 1024;
}

int memory_pages(uint32_t tgid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/pagemap", tgid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool memory_has_page(void *ctx, uint64_t addr)
{
	uint64_t entry;
	off_t at = (off_t)((addr >> PAGE_SHIFT) * sizeof(entry));
	return pread(*(const int *)ctx, &entry, sizeof(entry), at) != (ssize_t)sizeof(entry) || entry & PRESENT;
}
