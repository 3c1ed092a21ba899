/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/vec: a growable array as three fields of a struct: `T *name; size_t name_cnt, name_cap;`. VEC_PUSH(owner, name)
 * gives the address of a new zeroed element, or NULL when out of memory.
 */
#ifndef ALYS_BASE_VEC_H
#define ALYS_BASE_VEC_H

#include <stddef.h>

void *vec_grow(void *data, size_t *cap, size_t cnt, size_t elem_sz);

#define VEC_PUSH(owner, name)                                                                                              \
	({                                                                                                                 \
		void *grown_ = vec_grow((owner)->name, &(owner)->name##_cap, (owner)->name##_cnt, sizeof(*(owner)->name)); \
		if (grown_)                                                                                                \
			(owner)->name = grown_;                                                                            \
		grown_ ? &(owner)->name[(owner)->name##_cnt++] : NULL;                                                     \
	})

#endif
