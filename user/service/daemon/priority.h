/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/priority: how soon the kernel's scheduler runs this process when others want the processor, too. */
#ifndef ALYS_PRIORITY_H
#define ALYS_PRIORITY_H

/*
 * Raises this thread, and all that it starts, to `nice` or more, and asks for short slices: a thread that wakes then need not wait
 * until the slice of a running one ends. Without the right to, nothing changes; kernels before 6.12 ignore the slice.
 */
void priority_raise(int nice);

#endif
