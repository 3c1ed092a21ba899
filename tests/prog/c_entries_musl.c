/* cc: musl-gcc */
/* As c_entries.c, with musl's malloc and without C++. */
#include "c_entries.c"
/* SPDX-License-Identifier: Apache-2.0 */
