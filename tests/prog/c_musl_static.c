/* cc: musl-gcc */
/* flags: -fno-builtin -static */
/* As c_musl.c, linked statically. */
#include "c_musl.c"
/* SPDX-License-Identifier: Apache-2.0 */
