/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps of the programs that watch a collector at work. */
#ifndef ALYS_GC_MAPS_BPF_H
#define ALYS_GC_MAPS_BPF_H

/* The collection that a process is in. One at a time: collectors work under their own lock. */
struct gc_state {
	__u64 serial; /* collections begun so far */
	__u64 stop;   /* the last one of the process, at an end: when, never 0. Exec begins at 0 again, so it is no count */
	__u64 frame;  /* CFA at the begin of the last one */
	__u64 begun, marked;
	__u64 stack;
	__u32 gc_no;
	__u32 pending; /* marked, and not over yet */
};

/* By tgid. Written by the collection programs, read by the loader, which learns from `serial` whether
 * another collection began meanwhile. Full: the process' collections are not seen, and counted (GC_NO_ROOM). */
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

/* Sampled objects, round and round; born_cnt says how many there have been. Written by the allocation programs,
 * read by the loader (mapped into its memory). Overwritten before they were read: it reads all marks from then on. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALYS_BORN_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct alys_born);
} born SEC(".maps") __weak;

__u64 born_cnt __weak = 0;

/* Begins and ends of collections for the thread that reads marks: each wakes it. Full: it finds the
 * marks overwritten and says so; a thousand collections would have to pass unread. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} gc_wakes SEC(".maps") __weak;

/* Set by the loader while it lacks the collector of some process: then begins wake it too. */
int gc_wake_begins __weak = 0;

/* Goes up with each collection that is told of, and each exec: what is known of counters must be read again. */
__u32 gc_epoch __weak = 0;

/* A counter has changed untold: all are read at each call. */
int gc_untold __weak = 0;

/* Nobody is stopped behind this time (CLOCK_MONOTONIC): the loader moves it on as long as it lives. */
__u64 gc_stop_until __weak = 0;

#endif
