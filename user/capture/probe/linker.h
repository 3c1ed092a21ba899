/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/linker: the function that a dynamic linker calls for debuggers, _dl_debug_state (glibc, musl, the BSDs): before it maps
 * libraries or takes some away, and when all is there, before the first of their code runs.
 */
#ifndef ALYS_PROBE_LINKER_H
#define ALYS_PROBE_LINKER_H

#include "elf/elf.h"
#include "probe/probe.h"

/* Its offset in the file; 0: the file is no dynamic linker. */
uint64_t linker_find(const struct elf *e);
/* Calls are told of as ALYS_EV_MAPPED, of one process or of all targets (0). */
int linker_attach(struct probe *p, uint32_t tgid, int file_fd, uint64_t offset, struct err *err);

#endif
