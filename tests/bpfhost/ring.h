/* SPDX-License-Identifier: Apache-2.0 */
/* The writing end of the ring of records, bpf/ring.bpf.h, as ordinary C functions that write to a file in memory. */
#ifndef ALYS_TESTS_BPFHOST_RING_H
#define ALYS_TESTS_BPFHOST_RING_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alys.h"

struct bpf_pidns_info;
struct task_struct;
struct pt_regs;
#include "bpfhost/helpers.h"

#define BPF_RB_FORCE_WAKEUP 2

static struct alys_config config;
static int events, event_calls;
static long bpf_ringbuf_output(void *map, void *data, __u64 n, __u64 flags);
static long bpf_loop(__u32 times, void *turn, void *ctx, __u64 flags);
#define bpf_core_enum_value_exists(type, value) 1
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

#include "ring.bpf.h"

static struct {
	struct alys_ring *at;
	int fd;
	int calls_fd; /* told of calls; -1: there is none */
	unsigned calls;
} host_ring;

void *bpf_map_lookup_elem(const void *map, const void *key)
{
	(void)key;
	return map == &events ? host_ring.at : NULL;
}

static long bpf_ringbuf_output(void *map, void *data, __u64 n, __u64 flags)
{
	(void)data, (void)n;
	bool is_call = map == &event_calls && flags == BPF_RB_FORCE_WAKEUP;
	host_ring.calls += is_call;
	return is_call && host_ring.calls_fd >= 0 ? eventfd_write(host_ring.calls_fd, 1) : 0;
}

static long bpf_loop(__u32 times, void *turn, void *ctx, __u64 flags)
{
	long (*fn)(__u32, void *) = turn;
	__u32 i = 0;
	while (i < times && !fn(i, ctx))
		i++;
	return i;
}

/* size: a power of two */
static int host_ring_open(__u32 size)
{
	config.ring_sz = size;
	host_ring.calls = 0;
	host_ring.calls_fd = -1;
	host_ring.fd = memfd_create("ring", 0);
	if (host_ring.fd < 0 || ftruncate(host_ring.fd, (off_t)ALYS_RING_SZ(size)))
		return -1;
	host_ring.at = mmap(NULL, ALYS_RING_SZ(size), PROT_READ | PROT_WRITE, MAP_SHARED, host_ring.fd, 0);
	return host_ring.at == MAP_FAILED ? -1 : 0;
}

static int host_ring_close(void)
{
	munmap(host_ring.at, ALYS_RING_SZ(config.ring_sz));
	return close(host_ring.fd);
}

#endif
