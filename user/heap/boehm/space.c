/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/space: see space.h. */
#include "boehm/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vec.h"

int space_add(struct space *s, const struct space_region *r)
{
	uint64_t behind = s->regions_cnt ? s->regions[s->regions_cnt - 1].end : 0;
	if (r->start < behind || r->start >= r->end)
		return 0;
	char *path = strdup(r->path ?: "");
	struct space_region *slot = path ? VEC_PUSH(s, regions) : NULL;
	if (!slot) {
		free(path);
		return -ENOMEM;
	}
	*slot = *r;
	slot->path = path;
	return 0;
}

const struct space_region *space_find(const struct space *s, uint64_t addr)
{
	size_t low = SORTED_UNTIL(s->regions_cnt, i, s->regions[i].end <= addr);
	return low < s->regions_cnt && s->regions[low].start <= addr ? &s->regions[low] : NULL;
}

void space_free(struct space *s)
{
	for (size_t i = 0; i < s->regions_cnt; i++)
		free((char *)s->regions[i].path);
	free(s->regions);
	*s = (struct space){ 0 };
}
