/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/collections: finds where collections of Boehm's collector can be observed in one ELF file. It exports no
 * function that is called when a collection ends, so the places are found in its code:
 *
 *   marked   after each instruction that adds one to GC_gc_no, at the first one that is not
 *            single-stepped. One function has such (bdwgc's GC_stopped_mark): marking is done
 *            then and the world is still stopped
 *   begins   the entry of each function that calls that one (GC_try_to_collect_inner)
 *   ends     the returns of the same, or the cheaper branch of the stack protector before
 *            them: finalizable objects are marked by then, the lock is still held
 *
 * In: the file. Out: addresses, or why there are none. Attaches nothing.
 */
#ifndef ALYS_SITES_COLLECTIONS_H
#define ALYS_SITES_COLLECTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "alys.h"
#include "base/err.h"
#include "elf/elf.h"
#include "event/unseen.h"

struct collection_site {
	struct alys_gc_site wire;
	uint64_t offset; /* file offset */
};

struct collection_sites {
	struct collection_site *sites;
	size_t sites_cnt, sites_cap;
};

/* GC_SEEN: found. */
enum gc_unseen collections_find(const struct elf *e, struct collection_sites *out);
void collections_free(struct collection_sites *c);

struct probe;

/* Attaches them, for one process (tgid) or for all in the target list (0). */
int probe_attach_collections(struct probe *p, uint32_t tgid, int file_fd, const struct collection_sites *c, struct err *err);
/* The small ring that wakes the mark reader. */
int probe_collections_fd(const struct probe *p);
/* Number of collections that were seen to start in the process. */
uint64_t probe_collections_begun(const struct probe *p, uint32_t tgid);
/*
 * The log of sampled objects in collected heaps, available before their events: returns the entry after *at (0 at
 * first) and advances. 1; 0 = none yet; -EOVERFLOW = entries were overwritten, or nothing is sampled.
 */
int probe_next_logged_object(const struct probe *p, uint64_t *at, struct alys_sampled_object *out);
/* The map that probe_last_stop reads; keeps no probe alive. */
int probe_collections_states(const struct probe *p);
/* Identifies the process' last stop at the end of a collection; 0 = none. */
uint64_t probe_last_stop(int states_fd, uint32_t tgid);
/* struct alys_gc_idle of a process; no room for it is no error: the reader is woken then. */
void probe_collections_idle(struct probe *p, uint32_t tgid, const struct alys_gc_idle *idle);
/* It ended, or executes another program. */
void probe_collections_not_idle(struct probe *p, uint32_t tgid);
/* Changes whenever probes at collections come or go, with windows: collections may have begun unseen. */
uint32_t probe_gc_era(const struct probe *p);
/* Number of objects logged so far. */
uint64_t probe_objects_logged(const struct probe *p);
/* Wake the reader when collections begin, too. */
void probe_call_at_begins(struct probe *p, int on);
/* Targets may be stopped at the end of a collection until this time (CLOCK_MONOTONIC). */
void probe_allow_stops(struct probe *p, uint64_t until_ns);

#endif
