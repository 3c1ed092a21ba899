/* flags: -static -fno-builtin -Wno-unused-result */
/* As c_libc.c, linked statically. */
#include "c_libc.c"
/* SPDX-License-Identifier: Apache-2.0 */
