/* flags: -static -fno-builtin -Wno-unused-result */
/* The same calls, with the allocator inside the executable. */
#include "c_libc.c"
/* SPDX-License-Identifier: Apache-2.0 */
