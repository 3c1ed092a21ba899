/* SPDX-License-Identifier: Apache-2.0 */
/* probe/link: attaches one BPF program to many addresses of one file. */
#ifndef ALYS_PROBE_LINK_H
#define ALYS_PROBE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "probe/state.h"

/* libbpf's attach types end with Linux 6.1: these two are newer (enum bpf_attach_type, linux/bpf.h). */
#define ATTACH_UPROBE_MULTI 48
#define ATTACH_UPROBE_SESSION 57
#define MULTI_RETURN 1u /* BPF_F_UPROBE_MULTI_RETURN */

struct bpf_program;

/* Addresses for one program, all in one file. */
struct batch {
	struct bpf_program *prog;
	bool at_return; /* a plain return probe */
	bool session;
	bool not_allocator; /* not in an allocator, in a file that may contain one */
	bool window;        /* attached during windows only */
	bool lingers;       /* the same, and afterwards until probe_window_leave */
	bool gc_calls;      /* calls of a collector, attached all the time: then none of those that linger may leave */
	uint32_t trial;     /* detached when this trial ends, 0 = none */
	uint64_t *offsets;  /* file offsets */
	size_t offsets_cnt, offsets_cap;
	uint64_t *cookies; /* index into the sites map, and ALYS_COOKIE_FILTERED */
	size_t cookies_cnt, cookies_cap;
	uint64_t *counters; /* of sites that count their tracers: file offsets, 0 = none; empty if no site has one */
	size_t counters_cnt, counters_cap;
};

int batch_add(struct batch *b, uint64_t offset, uint64_t cookie);
/*
 * The same, and the kernel raises the 16-bit word at `counter` as long as the probe is attached; for all sites of a
 * batch or none.
 */
int batch_add_counted(struct batch *b, uint64_t offset, uint64_t cookie, uint64_t counter);
/* Attaches the batch to one process (tgid) or to all (0). An empty batch is fine. */
int batch_attach(const struct batch *b, struct probe *p, uint32_t tgid, int file_fd, struct err *err);
void batch_free(struct batch *b);
/* The process has links of its own on the file. */
bool is_attached(const struct probe *p, uint32_t tgid, struct probe_file file);
void detach_trial(struct probe *p, uint32_t trial);
/* The links of one process on allocators in a file. */
void detach_of(struct probe *p, uint32_t tgid, struct probe_file file);
/*
 * Call before a process (tgid, or 0) gets probes of this file: waits until old ones are detached, since both would see
 * each call. NULL: out of memory.
 */
struct probed_file *file_prepare(struct probe *p, struct probe_file id, uint32_t tgid);
/* Out of indexes: waits for those being released. False if there are none. */
bool files_await(struct probe *p);

#endif
