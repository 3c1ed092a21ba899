/* flags: -static -fno-builtin */
/* As c_tcache.c, linked statically. */
#include "c_tcache.c"
/* SPDX-License-Identifier: Apache-2.0 */
