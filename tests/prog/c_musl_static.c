/* cc: musl-gcc */
/* flags: -fno-builtin -static */
/* The same, with musl inside the executable. */
#include "c_musl.c"
/* SPDX-License-Identifier: Apache-2.0 */
