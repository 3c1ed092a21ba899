/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/tables: publishes unwind rows and mapping lists in the walk's maps. In: compiled tables of files and the
 * executable mappings of processes. It compiles nothing and reads no /proc. Single-threaded. A walk in progress sees a
 * process' old list or its new one, never a mixture.
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
	unsigned long long *changes;       /* map_list_changes; NULL = not needed */
	uint32_t chunks_max, mappings_max; /* 0 = as many as a walk can address */
	uint64_t keep_ns;                  /* how long rows stay after the last process has unmapped them; 0 = 10 s */
};

/* One executable mapping; in any order. */
struct table_mapping {
	uint64_t start, end;
	uint64_t bias; /* address in the process - address in the file */
	uint64_t file; /* key given to tables_put; a file without one has no rows */
};

struct tables_counts {
	size_t files, bytes; /* published page indexes and rows */
	size_t chunks, specs, mappings, processes;
	struct unwind_counts rows; /* sum over all tables ever put */
};

struct tables;

struct tables *tables_new(const struct table_maps *maps, struct err *err);
void tables_free(struct tables *t); /* does not clear the maps */

/*
 * Publishes a file's rows once for all processes, under a key chosen by the caller (not 0). The table may be freed
 * afterwards; NULL: the file has none. -EEXIST: already published; -ENOSPC: all chunks are full. Files that no process
 * maps stay until their space is needed.
 */
int tables_put(struct tables *t, uint64_t file, const struct unwind_table *rows, struct err *err);
bool tables_has(const struct tables *t, uint64_t file);
/* Replaces the mappings of a process. -ENOSPC: the old ones stay. */
int tables_put_mappings(struct tables *t, uint32_t tgid, const struct table_mapping *list, size_t n, struct err *err);
void tables_drop_mappings(struct tables *t, uint32_t tgid);
struct tables_counts tables_counts(const struct tables *t);

#endif
