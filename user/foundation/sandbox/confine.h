/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/confine: confines this process irrevocably. For the helper (helper.h), which maps a library of a traced
 * program: its constructors are untrusted code. Two steps:
 *
 *   confine_to_libraries: a user of its own where that is possible, no capability, little memory, few threads; it can
 *     read the system's libraries and no other file. So the library's dependencies can be opened.
 *   confine_wholly: no path, signal, socket or new process reaches the kernel any more. What is left: memory, threads,
 *     open descriptors and the clock.
 *
 * Each restriction is enforced twice: by landlock, and by a seccomp filter.
 */
#ifndef ALYS_SANDBOX_CONFINE_H
#define ALYS_SANDBOX_CONFINE_H

#include <stdbool.h>

/* False: it did not work completely, and no untrusted code may run here. */
bool confine_to_libraries(void);
/*
 * From now on opening a file gives what `open` returns, a descriptor that is already open or -errno: the handler runs
 * in this process, and the kernel is never asked.
 */
bool confine_wholly(int (*open)(const char *path));

#endif
