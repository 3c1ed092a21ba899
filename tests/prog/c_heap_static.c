/* libs: -l:libgc.a -lpthread -ldl */
/* As c_heap.c, with the collector linked statically. */
#include "c_heap.c"
/* SPDX-License-Identifier: Apache-2.0 */
