/* flags: -fno-builtin -fno-plt */
/* As c_strange.c, but jumps to memset through a slot of the GOT. */
#include "c_strange.c"
/* SPDX-License-Identifier: Apache-2.0 */
