/* flags: -fno-builtin -fno-plt */
/* The same allocator, which jumps to memset through a slot of the GOT. */
#include "c_strange.c"
/* SPDX-License-Identifier: Apache-2.0 */
