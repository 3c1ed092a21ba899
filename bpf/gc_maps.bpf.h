/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps of the programs that observe collections. */
#ifndef ALYS_GC_MAPS_BPF_H
#define ALYS_GC_MAPS_BPF_H

/* The state of a process' collector. One collection at a time: a collector holds its lock. */
struct gc_state {
	__u64 serial; /* collections seen to begin so far */
	__u64 stop;   /* time of the last SIGSTOP, never 0. Not a count, which would start again at exec */
	__u64 frame;  /* CFA at the last begin */
	__u64 begun, marked;
	__u64 stack;
	__u32 gc_no;
	__u32 pending; /* marked, and not over yet */
	__u32 era;     /* gc_era at its last begin */
};

/*
 * By tgid. Written by the collection programs, read by the loader, which learns from `serial` whether another
 * collection began meanwhile. Full: the process' collections are not observed; counted (GC_NO_ROOM).
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ALYS_MAX_TARGETS);
	__type(key, __u32);
	__type(value, struct gc_state);
} gc_states SEC(".maps") __weak;

/* Probed addresses of collectors by attach cookie. Written by the loader before it attaches. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALYS_MAX_GC_SITES);
	__type(key, __u32);
	__type(value, struct alys_gc_site);
} gc_sites SEC(".maps") __weak;

/*
 * Log of sampled objects, a circular buffer; object_log_cnt is the number written so far. Written by the allocation programs,
 * read by the loader (mapped into its memory). If entries are overwritten before it has read them, the loader reads all
 * marks from then on.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALYS_OBJECT_LOG_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct alys_sampled_object);
} object_log SEC(".maps") __weak;

__u64 object_log_cnt __weak = 0;

/*
 * Begins and ends of collections; each record wakes the mark reader. Full (a thousand unread collections): the reader
 * finds the marks overwritten and reports it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} gc_wakes SEC(".maps") __weak;

/* By tgid. Written by the loader, read by programs. Full, or no entry: each collection wakes the mark reader. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ALYS_MAX_TARGETS);
	__type(key, __u32);
	__type(value, struct alys_gc_idle);
} gc_idle SEC(".maps") __weak;

/*
 * Incremented by the loader whenever probes at collections come or go, in recordings with windows: what a process' state says
 * of a collection of another era is void.
 */
__u32 gc_era __weak = 0;

/* Set by the loader while it lacks the collector of some process: then begins wake it too. */
int gc_wake_begins __weak = 0;

/* Incremented at each reported collection and each exec: cached counters (struct gc_known) are invalid then. */
__u32 gc_epoch __weak = 0;

/* A counter has changed without a report: counters are no longer cached. */
int gc_unreported __weak = 0;

/* No process is stopped after this time (CLOCK_MONOTONIC). The loader keeps moving it ahead while it runs. */
__u64 gc_stop_until __weak = 0;

#endif
