/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/tables: unwind rows and mapping lists on their way into the walk's maps. In: compiled tables
 * of files and the executable mappings of processes. It compiles nothing and reads no /proc. One
 * thread. A walk in progress sees a process' old list or its new one, never half of one.
 */
#ifndef ALYS_KERNEL_TABLES_H
#define ALYS_KERNEL_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "unwind/unwind.h"

/* Descriptors of the maps in bpf/unwind_maps.bpf.h. Borrowed. */
struct table_maps {
	int chunks, specs, mappings, map_lists;
	unsigned long long *changes;       /* map_list_changes; NULL = nobody asks */
	uint32_t chunks_max, mappings_max; /* 0 = as many as the walk can name */
	uint64_t keep_ns;                  /* rows stay at least so long after the last process had them mapped; 0 = 10 s */
};

/* One executable mapping; lists need no order. */
struct table_mapping {
	uint64_t start, end;
	uint64_t bias; /* address in the process - address in the file */
	uint64_t file; /* as given to tables_put; a file that has not been put has no rows */
};

struct tables_counts {
	size_t files, bytes; /* published, of page indexes and rows */
	size_t chunks, specs, mappings, processes;
	struct unwind_counts rows; /* sum over all tables ever put */
};

struct tables;

struct tables *tables_new(const struct table_maps *maps, struct err *err);
void tables_free(struct tables *t); /* the maps are left as they are */

/*
 * Publishes a file's rows once for all processes, under a key of the caller's (not 0). The table may
 * be freed afterwards; NULL says that the file has none. -EEXIST when the file is there, -ENOSPC when
 * all chunks are full. Files that no process has mapped stay until their room is needed.
 */
int tables_put(struct tables *t, uint64_t file, const struct unwind_table *rows, struct err *err);
bool tables_has(const struct tables *t, uint64_t file);
/* Replaces the mappings of a process. -ENOSPC: the old ones stay. */
int tables_put_mappings(struct tables *t, uint32_t tgid, const struct table_mapping *list, size_t n, struct err *err);
void tables_drop_mappings(struct tables *t, uint32_t tgid);
struct tables_counts tables_counts(const struct tables *t);

#endif
