/* libs: -l:libgc.a -lpthread -ldl */
/* As c_markers.c, with the collector inside the program. */
#include "c_markers.c"
/* SPDX-License-Identifier: Apache-2.0 */
