/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/space: the mappings of a process, as read from /proc/PID/maps by the caller, by address. */
#ifndef ALYS_BOEHM_SPACE_H
#define ALYS_BOEHM_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space_region {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint64_t dev, ino;
	bool readable, writable, exec;
	const char *path; /* "" = anonymous; "[heap]", "[stack]" as in maps; owned by the space */
};

/* A zeroed struct is an empty space. Regions are added in ascending order, as listed by the kernel. */
struct space {
	struct space_region *regions;
	size_t regions_cnt, regions_cap;
};

/* Copies the path. -ENOMEM; a region that is empty or not after the last one is ignored. */
int space_add(struct space *s, const struct space_region *r);
/* The region that contains the address, or NULL. */
const struct space_region *space_find(const struct space *s, uint64_t addr);
void space_free(struct space *s);

#endif
