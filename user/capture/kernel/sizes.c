/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/sizes: see sizes.h. */
#include "kernel/sizes.h"

#include <bpf/libbpf.h>

#include "alys.h"
#include "alys.skel.h"
#include "kernel/tier.h"
#include "rows.h"

/* Kernel memory of an entry, including its hash bucket. */
#define SAMPLED_SZ 88
#define CALL_SZ 200
#define BUCKET_SZ 16 /* included in these */
#define SAMPLED_MAX (1u << 18)
/* With small intervals more blocks are sampled. */
#define SAMPLED_FINE_MAX (1u << 20)
#define FINE 4096 /* bytes */
#define CALLS_MAX 65536u
/* Accounts are per CPU, and there may be hundreds of CPUs. */
#define ACCOUNTS_LEAST 256
/* Slots of walks in progress. On few CPUs some more: any number of threads may wait for a page. */
#define SLOT_SZ 29100
#define SLOTS_OF_CPU 8
#define SLOTS_LEAST 64u
#define SLOTS_MAX 512u
#define KNOWN_SZ 2700
#define KNOWN_MAX 2048u
#define RING_MAX (4u << 20)
#define RING_MAX_BEFORE_6_0 (2u << 20) /* with its head, no map's value was larger than 4 MiB */
/* For the probes with which one helper is tried. */
#define SMALL 64

/* As many entries as fit into its share of memory, within limits. Not rounded, so that more memory never gives fewer. */
static uint32_t within(uint64_t share, uint64_t entry_sz, uint32_t least, uint32_t most)
{
	uint64_t n = share / entry_sz;
	return n < least ? least : n < most ? (uint32_t)n : most;
}

/* All possible CPUs, present or not: per-CPU maps have a value for each. */
static uint32_t processors(void)
{
	int n = libbpf_num_possible_cpus();
	return n > 0 ? (uint32_t)n : 1;
}

static uint64_t memory_of(const struct probe_config *cfg)
{
	return cfg->memory ? cfg->memory : UINT64_MAX;
}

/* A power of two. */
static uint32_t slots_of(uint32_t cpus, uint64_t share)
{
	uint32_t n = SLOTS_OF_CPU;
	while (n < SLOTS_MAX && (n < SLOTS_LEAST || n / SLOTS_OF_CPU < cpus) && 2ull * n * SLOT_SZ <= share)
		n *= 2;
	return n;
}

/* A power of two: the more there are, the fewer displace each other. */
static uint32_t known_of(uint64_t share)
{
	uint32_t n = 1;
	while (n < KNOWN_MAX && 2ull * n * KNOWN_SZ <= share)
		n *= 2;
	return n;
}

struct sizes sizes_of(const struct probe_config *cfg)
{
	uint64_t memory = memory_of(cfg);
	bool samples = (cfg->interval || cfg->min_size) && cfg->subjects & 1u << ALYS_SUBJECT_ALLOCATIONS,
	     fine = cfg->interval && cfg->interval < FINE, small = cfg->calls_max;
	uint32_t sampled = fine ? within(memory / 6, SAMPLED_SZ, 4096, SAMPLED_FINE_MAX)
				: within(memory / 11, SAMPLED_SZ, 4096, SAMPLED_MAX);
	uint32_t cpus = processors();
	return (struct sizes){
		.sampled = samples ? sampled : 1,
		.calls = small ? cfg->calls_max : within(memory / 20, CALL_SZ, 1024, CALLS_MAX),
		.mappings = small ? SMALL : within(memory / 50, sizeof(struct alys_mapping), 1024, ALYS_MAX_MAPPINGS),
		.chunks = within(memory / 4, sizeof(struct alys_chunk), 1, ALYS_MAX_CHUNKS),
		.accounts = small ? SMALL
				  : within(memory / 100, cpus * sizeof(struct alys_calls), ACCOUNTS_LEAST, ALYS_MAX_ACCOUNTS),
		.slots = slots_of(cpus, small ? 0 : memory / 20),
		.known = known_of(small || !cfg->max_frames ? 0 : memory / 50),
	};
}

int sizes_set(struct alys_bpf *skel, const struct probe_config *cfg)
{
	struct sizes s = sizes_of(cfg);
	const struct {
		struct bpf_map *map;
		uint32_t entries;
		bool small; /* for small probes only */
	} sized[] = {
		{ skel->maps.sampled, s.sampled, false },
		{ skel->maps.frame_calls, s.calls, false },
		{ skel->maps.mappings, s.mappings, false },
		{ skel->maps.calls, s.accounts, false },
		{ skel->maps.walk_slots, s.slots, false },
		{ skel->maps.known_stacks, s.known, false },
		{ skel->maps.taken, cfg->windowed ? ALYS_TAKEN_SLOTS : 1, false },
		{ skel->maps.entered, cfg->counts_calls ? ALYS_MAX_ENTERED : 1, false },
		{ skel->maps.targets, SMALL, true },
		{ skel->maps.losses, SMALL, true },
		{ skel->maps.gc_states, SMALL, true },
		{ skel->maps.gc_idle, SMALL, true },
		{ skel->maps.map_lists, SMALL, true },
		{ skel->maps.seen, SMALL, true },
	};
	int rc = bpf_map__set_value_size(skel->maps.events, ALYS_RING_SZ(cfg->ring_sz));
	for (size_t i = 0; i < sizeof(sized) / sizeof(sized[0]) && !rc; i++) {
		if (!sized[i].small || cfg->calls_max)
			rc = bpf_map__set_max_entries(sized[i].map, sized[i].entries);
	}
	return rc;
}

/* Memory of a hash table; its number of buckets is a power of two. */
static uint64_t hash_sz(uint32_t entries, uint64_t entry_sz)
{
	uint64_t buckets = 1;
	while (buckets < entries)
		buckets *= 2;
	return entries * (entry_sz - BUCKET_SZ) + buckets * BUCKET_SZ;
}

uint64_t probe_sized(const struct probe_config *cfg)
{
	struct sizes s = sizes_of(cfg);
	return ALYS_RING_SZ(cfg->ring_sz) + hash_sz(s.sampled, SAMPLED_SZ) + hash_sz(s.calls, CALL_SZ) +
	       s.mappings * sizeof(struct alys_mapping) + s.accounts * processors() * sizeof(struct alys_calls) +
	       (uint64_t)s.slots * SLOT_SZ + (uint64_t)s.known * KNOWN_SZ;
}

uint32_t probe_ring_share(uint64_t memory, uint32_t room)
{
	while (room > 65536 && room > memory / 32)
		room /= 2;
	return room;
}

uint32_t probe_ring_part(uint64_t room)
{
	uint32_t most = kernel_since(6, 0) ? RING_MAX : RING_MAX_BEFORE_6_0;
	return room < most ? (uint32_t)room : most;
}
