/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/confine: makes this process harmless for good. For the helper (helper.h): the library that it
 * maps comes from a traced program, and its constructors are anybody's code. In two steps:
 *
 *   confine_to_libraries: a user of its own where that may be chosen, no capability, little memory, few threads; of all
 *     files it can read the system's libraries. So those that the library needs can be opened.
 *   confine_wholly: no path reaches the kernel any more, nor a signal, a socket, a new process. What is left: memory,
 *     threads, the descriptors that are open, and the time.
 *
 * Both walls stand behind each other: landlock, and a table of system calls.
 */
#ifndef ALYS_SANDBOX_CONFINE_H
#define ALYS_SANDBOX_CONFINE_H

#include <stdbool.h>

/* False: some of it did not work, and no foreign code may run here. */
bool confine_to_libraries(void);
/*
 * Who opens a file from here on gets what `open` gives, a descriptor that is there already or -errno: it is asked by this
 * process itself, the kernel never.
 */
bool confine_wholly(int (*open)(const char *path));

#endif
