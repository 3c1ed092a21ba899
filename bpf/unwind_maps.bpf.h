/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps of the stack walk: writer, reader, size, and what happens when full. */
#ifndef ALYS_UNWIND_MAPS_BPF_H
#define ALYS_UNWIND_MAPS_BPF_H

#include "rows.h"

struct chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	/* Sizes, not types: clang leaves the types of an inner map out of the object. */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct alys_chunk));
};

/* Page indexes and rows of files. Written by the loader (mapped into its memory), read by the walk.
 * A chunk is made when it is needed. Full: files that come later have no rows; counted by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, ALYS_MAX_CHUNKS);
	__type(key, __u32);
	__array(values, struct chunk_map);
} chunks SEC(".maps") __weak;

/* Rules that do not fit into a row, of all files. Written by the loader, read by the walk. Full: the
 * loader makes their rows unsupported. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALYS_MAX_SPECS);
	__type(key, __u32);
	__type(value, struct alys_spec);
} specs SEC(".maps") __weak;

/* Executable mappings of all traced processes, each process' in one sorted run. Written by the
 * loader (mapped into its memory), read by the walk. Full: a process keeps its old run. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALYS_MAX_MAPPINGS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct alys_mapping);
} mappings SEC(".maps") __weak;

/* Where a process' run is, by tgid: one update replaces the whole list. Written by the loader, on
 * fork by BPF (the child begins with its parent's mappings), removed on exec. Sized like targets. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ALYS_MAX_TARGETS);
	__type(key, __u32);
	__type(value, struct alys_map_list);
} map_lists SEC(".maps") __weak;

/* Number of changes to any list: incremented after the change, also by the loader. */
__u64 map_list_changes __weak = 0;

/* A forked child uses its parent's list until the loader has read its own. */
static __always_inline void map_list_fork(__u32 parent, __u32 child)
{
	struct alys_map_list *list = bpf_map_lookup_elem(&map_lists, &parent);
	if (list && !bpf_map_update_elem(&map_lists, &child, list, BPF_NOEXIST))
		__sync_fetch_and_add(&map_list_changes, 1);
}

/* After exec the old list describes another program: until there is a new one every address misses. */
static __always_inline void map_list_drop(__u32 tgid)
{
	bpf_map_delete_elem(&map_lists, &tgid);
	__sync_fetch_and_add(&map_list_changes, 1);
}

#endif
