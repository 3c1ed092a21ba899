/* libs: -l:libgc.a -lpthread -ldl */
/* As c_markers.c, with the collector linked statically. */
#include "c_markers.c"
/* SPDX-License-Identifier: Apache-2.0 */
