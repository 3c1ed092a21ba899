/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/priority: how soon the kernel's scheduler runs this thread, and all that it starts from now on, when others want the
 * processor, too. The policy stays; threads of a real-time policy are left alone.
 */
#ifndef ALYS_SANDBOX_PRIORITY_H
#define ALYS_SANDBOX_PRIORITY_H

/*
 * The nice value becomes `nice` if it is above, and slices short: a thread that wakes need not wait until the slice of a running
 * one ends. Without the right to, nothing changes; kernels before 6.12 ignore the slice.
 */
void priority_raise(int nice);
/* The nice value becomes `nice` if it is below, and slices are as long as usual. */
void priority_lower(int nice);

#endif
