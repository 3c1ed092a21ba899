/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/linker: the function that a dynamic linker calls for debuggers, _dl_debug_state (glibc, musl, the BSDs): before
 * it maps or unmaps libraries, and when it is done, before any of their code runs.
 */
#ifndef ALYS_PROBE_LINKER_H
#define ALYS_PROBE_LINKER_H

#include "elf/elf.h"
#include "probe/probe.h"

/* Its file offset; 0: the file is not a dynamic linker. */
uint64_t linker_find(const struct elf *e);
/* Reports its calls as ALYS_EV_MAPPED, for one process or all targets (0). */
int linker_attach(struct probe *p, uint32_t tgid, int file_fd, uint64_t offset, struct err *err);

#endif
