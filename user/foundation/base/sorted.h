/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/sorted: searches in sorted arrays. SORTED_UNTIL(n, i, is) gives how many of n elements come first for which `is`
 * holds, an expression of their index i that holds for none behind one for which it does not.
 */
#ifndef ALYS_BASE_SORTED_H
#define ALYS_BASE_SORTED_H

#include <stddef.h>

#define SORTED_UNTIL(n, i, is)                                \
	({                                                    \
		size_t low_ = 0, high_ = (n);                 \
		while (low_ < high_) {                        \
			size_t i = low_ + (high_ - low_) / 2; \
			if (is)                               \
				low_ = i + 1;                 \
			else                                  \
				high_ = i;                    \
		}                                             \
		low_;                                         \
	})

#endif
