/* libs: -l:libgc.a -lpthread -ldl */
/* As c_heap.c, with the collector inside the program. */
#include "c_heap.c"
/* SPDX-License-Identifier: Apache-2.0 */
