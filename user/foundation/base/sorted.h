/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/sorted: binary search. SORTED_UNTIL(n, i, is) gives the number of leading elements, of n, for which `is` holds:
 * an expression of their index i that, once false, stays false.
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
