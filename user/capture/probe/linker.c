/* SPDX-License-Identifier: Apache-2.0 */
/* probe/linker: see linker.h. */
#include "probe/linker.h"

#include <errno.h>
#include <string.h>

#include "alys.skel.h"
#include "probe/link.h"
#include "probe/load.h"

/* The symbol is exported, because debuggers need it, too. Stops after exported symbols, since others may be very many. */
static int on_symbol(void *ctx, const struct elf_symbol *s)
{
	if (s->dynamic && s->defined && !strcmp(s->name, "_dl_debug_state"))
		*(uint64_t *)ctx = s->vaddr;
	return !s->dynamic;
}

uint64_t linker_find(const struct elf *e)
{
	uint64_t vaddr = 0, offset;
	elf_each_symbol(e, on_symbol, &vaddr);
	return vaddr && elf_offset_of(e, vaddr, &offset) ? offset : 0;
}

int linker_attach(struct probe *p, uint32_t tgid, int file_fd, uint64_t offset, struct err *err)
{
	struct batch b = { .prog = p->skel->progs.on_link, .not_allocator = true };
	struct probed_file *file = file_prepare(p, probe_file_of(file_fd), tgid);
	int rc = file ? 0 : err_set(err, ENOMEM, "out of memory");
	/* A shared link stays attached when no process uses the file any more. */
	if (rc || (!tgid && file->linked))
		return rc;
	rc = batch_add(&b, offset, 0) ? err_set(err, ENOMEM, "out of memory") : program_ready(p, b.prog, err);
	if (!rc)
		rc = batch_attach(&b, p, tgid, file_fd, err);
	file->linked |= !tgid && !rc;
	batch_free(&b);
	return rc;
}
