/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack walk of bpf/unwind.bpf.h as an ordinary C function over a recorded stack: what the maps
 * hold and what memory can be read is up to the test. Of which machine, the include path says: bpf/x86_64 and
 * tests/bpfhost/x86_64, or their twins.
 */
#ifndef ALYS_TESTS_BPFHOST_HOST_H
#define ALYS_TESTS_BPFHOST_HOST_H

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wattributes"
#include "../../vmlinux/vmlinux.h"
#include "bpfhost/helpers.h"

#include "alys.h"

#define HOST_KNOWN 64
static struct alys_config config = {
	.walk = ALYS_WALK_TABLES, .max_frames = 256, .recall = ALYS_RECALL_ALIKE, .known_stacks = HOST_KNOWN
};

#include "machine.bpf.h"
#include "numbers.bpf.h"
#include "thread.h"
#include "return_address.bpf.h"
#include "unwind.bpf.h"

#include <stdlib.h>
#include <string.h>

/* What the walk sees. One page of code is one mapping. */
static struct {
	struct alys_map_list list;
	struct alys_mapping mappings[256];
	struct alys_spec specs[ALYS_MAX_SPECS];
	uint32_t specs_cnt;
	struct alys_chunk *chunk;
	uint32_t used;
	uint64_t stack_at, stack_sz;
	const uint8_t *stack;
	uint64_t away_from; /* memory from here on is away until it is fetched */
	uint32_t reads, fetches;
	uint64_t link; /* aarch64: x30 where the walk begins */
	bool thrifty;  /* known stacks are looked for and learned as a program does */
	struct task_struct task;
} host;

static struct walk_slot host_slot;
static struct known_stack host_known[HOST_KNOWN];

void *bpf_map_lookup_elem(const void *map, const void *key)
{
	uint32_t i = *(const uint32_t *)key;
	if (map == &walk_slots)
		return &host_slot;
	if (map == &known_stacks)
		return i < HOST_KNOWN ? &host_known[i] : NULL;
	if (map == &map_lists)
		return &host.list;
	if (map == &mappings)
		return i < 256 ? &host.mappings[i] : NULL;
	if (map == &specs)
		return i < host.specs_cnt ? &host.specs[i] : NULL;
	if (map == &chunks)
		return i == 0 ? &host.chunk : NULL;
	if (map == &host.chunk)
		return host.chunk;
	abort();
}

long bpf_map_update_elem(const void *map, const void *key, const void *value, __u64 flags)
{
	(void)map, (void)key, (void)value, (void)flags;
	abort();
}

long bpf_map_delete_elem(const void *map, const void *key)
{
	(void)map, (void)key;
	abort();
}

static long host_read(void *dst, uint32_t n, uint64_t addr)
{
	memset(dst, 0, n);
	if (addr < (host.stack_at & -WINDOW_ALIGN) || addr >= host.stack_at + host.stack_sz)
		return -14;
	/* The recording is of what was needed, not of pages: before and behind it there is nothing but zeros. */
	uint64_t before = addr < host.stack_at ? host.stack_at - addr : 0, from = addr + before - host.stack_at;
	uint64_t left = host.stack_sz - from;
	if (before < n)
		memcpy((char *)dst + before, host.stack + from, left < n - before ? left : n - before);
	return 0;
}

long bpf_probe_read_user(void *dst, __u32 n, const void *addr)
{
	host.reads++;
	if ((uint64_t)addr + n > host.away_from)
		return -14;
	return host_read(dst, n, (uint64_t)addr);
}

long bpf_copy_from_user(void *dst, __u32 n, const void *addr)
{
	host.fetches++;
	return host_read(dst, n, (uint64_t)addr);
}

long bpf_get_ns_current_pid_tgid(__u64 dev, __u64 ino, struct bpf_pidns_info *out, __u32 n)
{
	(void)dev, (void)ino, (void)out, (void)n;
	abort();
}

__u64 bpf_get_current_task(void)
{
	return (uint64_t)&host.task;
}

struct task_struct *current_task(void)
{
	return &host.task;
}

__u32 bpf_get_smp_processor_id(void)
{
	return 0;
}

static void host_reset(void)
{
	free(host.chunk);
	memset(&host, 0, sizeof(host));
	host.chunk = calloc(1, sizeof(*host.chunk));
	host.away_from = UINT64_MAX;
	static struct uprobe_task nothing_pending;
	host.task.utask = &nothing_pending;
	/* What an older walk has cached is of other tables. */
	static uint64_t salts;
	host.list.salt = ++salts << 48;
	map_list_changes++;
	memset(branches, 0, sizeof(branches));
	host_slot.rec.end = 0xffff;
}

/* Rows of the page of code at addr; the numbers of their specs count from the specs given. */
static void host_add_page(uint64_t addr, const uint32_t *rows, uint32_t n, const struct alys_spec *spec, uint32_t spec_cnt)
{
	uint32_t i = host.list.n, base = host.used;
	/* Sorted by address, as the loader sorts them. */
	while (i && host.mappings[i - 1].start > addr) {
		host.mappings[i] = host.mappings[i - 1];
		i--;
	}
	host.mappings[i] = (struct alys_mapping){
		.start = addr,
		.end = addr + 4096,
		.bias = addr,
		.page_off = base,
		.pages = n ? 1 : 0,
	};
	host.list.n++;
	host.chunk->w[host.used++] = 2;
	host.chunk->w[host.used++] = 2 + n;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t row = rows[k];
		if ((row & (ALYS_ROW_SPECIAL | ALYS_ROW_KIND)) == ALYS_ROW_SPECIAL_OF(ALYS_ROW_SPEC, 0))
			row += host.specs_cnt << ALYS_ROW_AUX_SHIFT;
		host.chunk->w[host.used++] = row;
	}
	for (uint32_t k = 0; k < spec_cnt; k++)
		host.specs[host.specs_cnt + k] = spec[k];
	host.specs_cnt += spec_cnt;
}

/*
 * A known stack is walked all the same, and must be what the walk finds. All are looked for, and learned as soon as they come, unless
 * host.thrifty.
 */
static const struct walk_slot *host_walk(uint64_t ip, uint64_t sp, uint64_t bp, uint64_t cfa)
{
	walk_begin(host_regs(ip, sp, bp, host.link), &host_slot, (struct walk_start){ .cfa = cfa }, 1);
	host_slot.s.learns = 1;
	host_slot.s.known = host.thrifty ? known_look(&host_slot) : known_find(&host_slot);
	struct alys_ev_stack known = host_slot.rec;
	walk_tables(&host_slot);
	if (host_slot.s.known) {
		assert_int_equal(known.hash, host_slot.rec.hash);
		assert_int_equal(known.n, host_slot.rec.n);
		assert_int_equal(known.end, host_slot.rec.end);
	}
	host_slot.s.walked = host_slot.rec.hash;
	if (host_slot.s.learns)
		known_learn(0);
	return &host_slot;
}

#endif
