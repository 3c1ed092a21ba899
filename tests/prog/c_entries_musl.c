/* cc: musl-gcc */
/* The same with musl's libc: its malloc, and no C++. */
#include "c_entries.c"
/* SPDX-License-Identifier: Apache-2.0 */
