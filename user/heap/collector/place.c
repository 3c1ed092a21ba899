/* SPDX-License-Identifier: Apache-2.0 */
/* collector/place: see place.h. */
#include "collector/place.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "sandbox/caps.h"
#include "target/module.h"
#include "target/proc.h"

/* Whether its memory may be read at all. */
static int check_access(struct memory *m, const struct space *s, const char *comm, struct err *err)
{
	uint64_t word;
	for (size_t i = 0; i < s->regions_cnt; i++) {
		if (!s->regions[i].readable || s->regions[i].path[0] == '[')
			continue;
		int rc = memory_read(m, s->regions[i].start, &word, sizeof(word));
		if (rc == -EPERM)
			return err_set(err, EACCES, "not allowed to read the memory of process %u (%s): %s", m->tgid, comm,
				       caps_advice());
		return rc == -ESRCH ? err_set(err, ESRCH, "process %u (%s) has ended", m->tgid, comm) : 0;
	}
	return 0;
}

int place_begin(struct memory *m, struct space *s, struct place *out, struct err *err)
{
	struct proc_facts facts;
	struct buf name = { 0 };
	*out = (struct place){ 0 };
	int rc = proc_read(m->tgid, &facts, err);
	if (rc)
		return rc;
	text_clean(&name, facts.comm, sizeof(facts.comm));
	snprintf(out->comm, sizeof(out->comm), "%s", buf_str(&name));
	buf_free(&name);
	out->start_ns = facts.start_ns;
	snprintf(out->exe, sizeof(out->exe), "%s", facts.exe);
	if (facts.kernel_thread)
		return err_set(err, EINVAL, "process %u (%s) is a kernel thread, which has no heap: choose a user process",
			       m->tgid, out->comm);
	if (facts.ended)
		return err_set(err, ESRCH, "process %u (%s) has ended", m->tgid, out->comm);
	m->through = proc_holder(m->tgid);
	rc = place_space(m->tgid, s, err);
	return rc ?: check_access(m, s, out->comm, err);
}

struct elf *place_file(uint32_t tgid, const struct space_region *r, int *fd)
{
	const struct map_line line = { .start = r->start, .end = r->end, .dev = r->dev, .ino = r->ino, .path = r->path };
	*fd = r->ino ? module_open(tgid, &line) : -1;
	struct elf *e = *fd >= 0 ? elf_open(*fd, r->path, NULL) : NULL;
	if (!e && *fd >= 0)
		close(*fd);
	return e;
}

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
