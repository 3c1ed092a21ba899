/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target/translator: programs that run the code of others elsewhere than where it lies: valgrind, emulators,
 * instrumenters. A probe is a breakpoint in that code: copied with it, it is no probe any more, and its trap
 * kills the program. They are recognized by their files, an emulator also by how it maps its guest.
 */
#ifndef ALYS_TARGET_TRANSLATOR_H
#define ALYS_TARGET_TRANSLATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The translator that a mapped file belongs to; NULL = none. */
const char *translator_by_file(const char *path);
/* What the process runs under, NULL = nothing that is known, or no such process. */
const char *translator_of(uint32_t tgid);
/* Any process of this machine that runs under one: its number, or 0. */
uint32_t translator_search(const char **name);
/* Why such a process has no probes: a sentence. Returns -ENOTSUP. */
int translator_refuse(uint32_t tgid, const char *name, struct err *err);

#endif
