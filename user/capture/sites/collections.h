/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/collections: where Boehm's collector can be watched at work, in one ELF file. It exports no
 * function that is called when a collection ends, so the places are read from its code:
 *
 *   marked   behind each instruction that adds one to GC_gc_no, at the first that is not
 *            single-stepped. There is one function with such (bdwgc's GC_stopped_mark): all is
 *            marked then and the world still stands
 *   begins   the entry of each function that calls that one (GC_try_to_collect_inner)
 *   ends     the returns of the same, or the cheaper branch that a stack protector puts before
 *            them: finalizable objects are marked by then, the lock is still held
 *
 * In: the file. Out: addresses, or the reason in words why there are none. Attaches nothing.
 */
#ifndef ALYS_SITES_COLLECTIONS_H
#define ALYS_SITES_COLLECTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "alys.h"
#include "base/err.h"
#include "elf/elf.h"

struct collection_site {
	struct alys_gc_site wire;
	uint64_t offset; /* in the file */
};

struct collection_sites {
	struct collection_site *sites;
	size_t sites_cnt, sites_cap;
};

/* 0; -ENOENT: the file has no such places, err says why; -ENOMEM. */
int collections_find(const struct elf *e, const char *path, struct collection_sites *out, struct err *err);
void collections_free(struct collection_sites *c);

struct probe;

/* Puts them under probes, for one process (tgid) or for all that the target list names (0). */
int probe_attach_collections(struct probe *p, uint32_t tgid, int file_fd, const struct collection_sites *c, struct err *err);
/* The small ring that calls whoever reads the marks. */
int probe_collections_fd(const struct probe *p);
/* How many collections have begun in the process; 0 when none was seen. */
uint64_t probe_collections_begun(const struct probe *p, uint32_t tgid);
/*
 * Sampled objects of collected heaps, sooner than their events come: the next one behind *at (0 at first), which moves on.
 * 1; 0 = there is none yet; -EOVERFLOW = more have come than are kept, or nothing is sampled.
 */
int probe_next_born(const struct probe *p, uint64_t *at, struct alys_born *out);
/* What probe_last_stop looks into: a map, which keeps no probe alive. */
int probe_collections_states(const struct probe *p);
/* The last stop of the process at the end of a collection, told from others by its value; 0 = none. */
uint64_t probe_last_stop(int states_fd, uint32_t tgid);
/* Also call at begins. */
void probe_call_at_begins(struct probe *p, int on);
/* Targets may be stopped at the end of a collection until then (CLOCK_MONOTONIC). */
void probe_allow_stops(struct probe *p, uint64_t until_ns);

#endif
