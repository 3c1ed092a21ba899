/* kernel/sizes: see sizes.h. */
#include "kernel/sizes.h"

#include <bpf/libbpf.h>

#include "alys.h"
#include "alys.skel.h"
#include "rows.h"

/* What an entry takes of the kernel's memory, with its place in the table. */
#define SAMPLED_SZ 88
#define CALL_SZ 200
#define SAMPLED_MAX (1u << 18)
/* Small intervals make many of them. */
#define SAMPLED_FINE_MAX (1u << 20)
#define FINE 4096 /* bytes */
#define CALLS_MAX 65536u
#define SLOTS_OF_CPU 8
#define SLOTS_MAX 512
/* A probe that one helper is tried with. */
#define SMALL 64

/* A power of two of entries that takes no more than its share, but is of some use. */
static uint32_t within(uint64_t share, uint64_t entry_sz, uint32_t least, uint32_t most)
{
	uint32_t n = most;
	while (n > least && n * entry_sz > share)
		n /= 2;
	return n;
}

static uint64_t memory_of(const struct probe_config *cfg)
{
	return cfg->memory ? cfg->memory : UINT64_MAX;
}

struct sizes sizes_of(const struct probe_config *cfg)
{
	uint64_t memory = memory_of(cfg);
	bool samples = cfg->interval || cfg->min_size, fine = cfg->interval && cfg->interval < FINE, small = cfg->calls_max;
	uint32_t sampled = fine ? within(memory / 4, SAMPLED_SZ, 4096, SAMPLED_FINE_MAX) :
				  within(memory / 10, SAMPLED_SZ, 4096, SAMPLED_MAX);
	int cpus = libbpf_num_possible_cpus();
	return (struct sizes){
		.sampled = samples ? sampled : 1,
		.calls = small ? cfg->calls_max : within(memory / 20, CALL_SZ, 1024, CALLS_MAX),
		.mappings = small ? SMALL : within(memory / 50, sizeof(struct alys_mapping), 1024, ALYS_MAX_MAPPINGS),
		.chunks = within(memory / 4, sizeof(struct alys_chunk), 1, ALYS_MAX_CHUNKS),
		.slots = cpus > 0 && cpus < SLOTS_MAX / SLOTS_OF_CPU ? (uint32_t)cpus * SLOTS_OF_CPU : SLOTS_MAX,
	};
}

int sizes_set(struct alys_bpf *skel, const struct probe_config *cfg)
{
	struct sizes s = sizes_of(cfg);
	const struct {
		struct bpf_map *map;
		uint32_t entries;
		bool small; /* only a probe that is */
	} sized[] = {
		{ skel->maps.events, cfg->ring_sz, false },
		{ skel->maps.sampled, s.sampled, false },
		{ skel->maps.frame_calls, s.calls, false },
		{ skel->maps.mappings, s.mappings, false },
		{ skel->maps.walk_slots, s.slots, false },
		{ skel->maps.targets, SMALL, true },
		{ skel->maps.losses, SMALL, true },
		{ skel->maps.gc_states, SMALL, true },
		{ skel->maps.map_lists, SMALL, true },
		{ skel->maps.seen, SMALL, true },
	};
	int rc = 0;
	for (size_t i = 0; i < sizeof(sized) / sizeof(sized[0]) && !rc; i++) {
		if (!sized[i].small || cfg->calls_max)
			rc = bpf_map__set_max_entries(sized[i].map, sized[i].entries);
	}
	return rc;
}

uint64_t probe_sized(const struct probe_config *cfg)
{
	struct sizes s = sizes_of(cfg);
	return cfg->ring_sz + (uint64_t)s.sampled * SAMPLED_SZ + (uint64_t)s.calls * CALL_SZ + s.mappings * sizeof(struct alys_mapping);
}

uint32_t probe_ring_share(uint64_t memory, uint32_t ring_sz)
{
	return within(memory / 16, 1, 65536, ring_sz);
}
