/*
 * session/confine: makes this process harmless for good. For the helper (helper.h): the library that it
 * maps comes from a traced program, perhaps out of a container, and its constructors are anybody's
 * code. Afterwards the process belongs to nobody, has no capability and can get none, and the kernel
 * serves it only what loading a library and allocating need: memory, threads, files read.
 */
#ifndef ALYS_SESSION_CONFINE_H
#define ALYS_SESSION_CONFINE_H

#include <stdbool.h>

/* False: some of it did not work, and no foreign code may run here. */
bool confine_self(void);

#endif
