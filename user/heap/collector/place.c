/* SPDX-License-Identifier: Apache-2.0 */
/* collector/place: see place.h. */
#include "collector/place.h"

#include <errno.h>

#include "target/proc.h"

static int take_line(void *ctx, const struct map_line *line)
{
	const struct space_region r = {
		.start = line->start,
		.end = line->end,
		.offset = line->offset,
		.dev = line->dev,
		.ino = line->ino,
		.readable = line->readable,
		.writable = line->writable,
		.exec = line->exec,
		.path = line->path,
	};
	return space_add(ctx, &r);
}

int place_space(uint32_t tgid, struct space *out, struct err *err)
{
	*out = (struct space){ 0 };
	int rc = proc_each_map(tgid, take_line, out, err);
	if (rc == -ENOMEM)
		err_set(err, ENOMEM, "out of memory");
	if (!rc && !out->regions_cnt)
		rc = err_set(err, ESRCH, "process %u has ended", tgid);
	if (rc)
		space_free(out);
	return rc;
}

bool place_bias(const struct elf *e, const struct space *s, uint64_t dev, uint64_t ino, uint64_t *bias)
{
	for (size_t i = 0; i < s->regions_cnt; i++) {
		const struct space_region *r = &s->regions[i];
		const struct elf_mapped part = { .offset = r->offset, .size = r->end - r->start, .exec = r->exec };
		uint64_t vaddr;
		if (r->exec && r->dev == dev && r->ino == ino && elf_mapped_vaddr(e, &part, &vaddr)) {
			*bias = r->start - vaddr;
			return true;
		}
	}
	return false;
}
