/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/cells: activity of each path per slice of time, sparse, and of the whole heap in slices of its own. Slices
 * double in width when time runs past the last one; those of paths with few bytes per cell also when there are too many
 * cells, so memory and output are bounded for any recording, and the heaviest paths keep the finest resolution. All
 * start at first_ns, so wider slices are multiples of narrower ones. Private to this module.
 *
 *   path 0 
 *  slice 0: allocated 96 B 
 *  slice 7: freed 96 B
 *   path 1 
 *  slice 3: allocated 64 B, all of it live at the end
 */
#ifndef ALYS_SINK_CELLS_H
#define ALYS_SINK_CELLS_H

#include "base/slices.h"
#include "sink/tally.h"

#define CELL_SLICES 256
#define CELLS_MAX 360000

enum cell_value {
	CELL_ALLOC,
	CELL_FREED,
	CELL_TEMPORARY, /* temporary part of the freed */
	CELL_KEPT,      /* part of the allocated that was not freed */
	CELL_LIFE,      /* in .cnt the lifetimes of the allocated in microseconds, up to the recording's end */
	CELL_VALUES,
};

struct cell {
	uint32_t slice;
	struct amount v[CELL_VALUES];
};

struct cell_row {
	uint32_t coarse; /* its slices are 2^coarse times as wide as c->slices */
	struct cell *at; /* sorted by slice */
	size_t at_cnt, at_cap;
};

struct heap_slice {
	double alloc_sz, freed_sz;
	double highest; /* maximum live in the slice; 0 if nothing happened */
};

struct cells {
	struct cell_row *rows; /* by path */
	size_t rows_cnt, rows_cap;
	size_t cnt, most; /* number of cells; limit before slices are widened again, 0 = CELLS_MAX */
	uint64_t first_ns;
	struct slices slices; /* the narrowest of any path */
	uint32_t reached;     /* of them used */
	struct heap_slice heap[CELL_SLICES];
	struct slices heap_slices;
	uint32_t heap_reached;
};

/* Call on a zeroed struct. */
void cells_begin(struct cells *c);
/* false when out of memory */
bool cells_add(struct cells *c, uint32_t path, uint64_t ns, enum cell_value v, const struct amount *by);
/* For the whole heap: bytes allocated (or freed), leaving live_sz. */
void cells_note(struct cells *c, uint64_t ns, double alloc_sz, double freed_sz, double live_sz);
void cells_free(struct cells *c);

#endif
