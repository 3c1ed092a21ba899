/* SPDX-License-Identifier: Apache-2.0 */
/* resident/resident_memory: see resident_memory.h. */
#include "resident/resident_memory.h"

#include <inttypes.h>
#include <stdio.h>

#include "access/rights.h"
#include "alys.h"

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

int memory_pages(void *ctx, const uint64_t *at, size_t n, uint8_t *out)
{
	return rights_present(*(const uint32_t *)ctx, at, n, out);
}
