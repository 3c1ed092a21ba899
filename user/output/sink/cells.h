/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/cells: what each path did in each slice of time, kept sparsely, and what the whole heap did
 * in slices of its own. Slices double their width when time runs over the last one; those of paths with
 * few bytes a cell also when there are too many cells, so memory and output are bounded whatever the
 * recording, and what weighs most is kept finest. All begin at first_ns, so wider slices are whole
 * numbers of narrower ones. Not for other modules.
 *
 *   path 0 | slice 0: allocated 96 B | slice 7: freed 96 B
 *   path 1 | slice 3: allocated 64 B, all of it alive at the end
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
	CELL_TEMPORARY, /* the part of the freed that was */
	CELL_KEPT,      /* the part of the allocated that nobody freed */
	CELL_LIFE,      /* in .cnt the microseconds that the allocated lived, to the recording's end at most */
	CELL_VALUES,
};

struct cell {
	uint32_t slice;
	struct amount v[CELL_VALUES];
};

struct cell_row {
	uint32_t coarse; /* its slices are 2^coarse times as wide as c->slices says */
	struct cell *at; /* sorted by slice */
	size_t at_cnt, at_cap;
};

struct heap_slice {
	double alloc_sz, freed_sz;
	double highest; /* live within the slice; 0 where nothing happened */
};

struct cells {
	struct cell_row *rows; /* by path */
	size_t rows_cnt, rows_cap;
	size_t cnt, most; /* cells; so many are let in before slices are made wider again, 0 = CELLS_MAX */
	uint64_t first_ns;
	struct slices slices; /* the narrowest that a path has */
	uint32_t reached;     /* of them used */
	struct heap_slice heap[CELL_SLICES];
	struct slices heap_slices;
	uint32_t heap_reached;
};

/* Of zeroed ones. */
void cells_begin(struct cells *c);
/* false when memory is out */
bool cells_add(struct cells *c, uint32_t path, uint64_t ns, enum cell_value v, const struct amount *by);
/* For the whole heap: so many bytes allocated (or freed), which leaves live_sz. */
void cells_note(struct cells *c, uint64_t ns, double alloc_sz, double freed_sz, double live_sz);
void cells_free(struct cells *c);

#endif
