/* Takes lib_deep's addresses in c_maps: the same code with larger frames. */
#define SITE_NAME site_wide
#define ROOM 424
#include "lib_deep.c"
/* SPDX-License-Identifier: Apache-2.0 */
