/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target/translator: programs that run copies of other programs' code: valgrind, emulators, instrumentation tools. A
 * probe is a breakpoint in that code; in a copy it is not known to the kernel, and its trap kills the program.
 * Translators are recognized by their files, emulators also by how they map the emulated program.
 */
#ifndef ALYS_TARGET_TRANSLATOR_H
#define ALYS_TARGET_TRANSLATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The translator that a mapped file belongs to; NULL = none. */
const char *translator_by_file(const char *path);
/* What the process runs under; NULL = no known translator, or no such process. */
const char *translator_of(uint32_t tgid);
/* Any process on this machine that runs under one: its tgid, or 0. */
uint32_t translator_search(const char **name);
/* Fills err with the reason why such a process is not probed. Returns -ENOTSUP. */
int translator_refuse(uint32_t tgid, const char *name, struct err *err);

#endif
