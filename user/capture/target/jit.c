/* SPDX-License-Identifier: Apache-2.0 */
/* target/jit: see jit.h. */
#include "target/jit.h"

#include <string.h>
#include <unistd.h>

#include "access/rights.h"

bool jit_is(const struct map_line *line)
{
	return line->exec && !line->ino && (!*line->path || !strncmp(line->path, "[anon", 5));
}

bool jit_grow(struct jit *j, const struct map_line *line)
{
	bool first = j->start == j->end;
	if (!first && line->start >= j->start && line->end <= j->end)
		return false;
	if (first || line->start < j->start)
		j->start = line->start;
	if (first || line->end > j->end)
		j->end = line->end;
	return true;
}

void jit_find_names(struct jit *j, uint32_t tgid)
{
	j->own = rights_place(PLACE_OPEN, (int)tgid);
	j->inherited = -1;
}

static int names_open(int place)
{
	return place > 0 ? rights_place(PLACE_MAP, place) : -1;
}

void jit_inherit(struct jit *child, const struct jit *parent)
{
	int fd = names_open(parent->own), from = fd >= 0 ? parent->own : parent->inherited;
	child->inherited = from > 0 ? rights_place(PLACE_SHARE, from) : -1;
	if (fd >= 0)
		close(fd);
}

int jit_open(const struct jit *j)
{
	int fd = names_open(j->own);
	return fd >= 0 ? fd : names_open(j->inherited);
}

void jit_close(struct jit *j)
{
	if (j->own > 0)
		rights_place(PLACE_CLOSE, j->own);
	if (j->inherited > 0)
		rights_place(PLACE_CLOSE, j->inherited);
	*j = (struct jit){ 0 };
}
