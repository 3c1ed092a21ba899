/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -static */
/* libs: -l:libgc.a -lpthread */
/* Held at its start only: the kernel does not know the first thread's pointer when its first calls come (aarch64). */
#include "c_gcthreads.c"
