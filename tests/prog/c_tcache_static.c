/* flags: -static -fno-builtin */
/* The same, with the allocator inside the executable. */
#include "c_tcache.c"
/* SPDX-License-Identifier: Apache-2.0 */
