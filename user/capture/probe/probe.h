/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe: with kernel, the only module that sends anything to the kernel: configuration, tables, attach, start and stop.
 * It does not decode records: it hands out the ring's descriptor. Single-threaded.
 *
 * Nothing is pinned: however this process ends, the kernel removes all probes.
 */
#ifndef ALYS_PROBE_H
#define ALYS_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "alys.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "kernel/config.h"
#include "kernel/files.h"
#include "kernel/probe_file.h"
#include "kernel/sizes.h"
#include "kernel/tables.h"
#include "kernel/tier.h"
#include "sites/sites.h"

struct probe;

/*
 * Starts loading the programs that most recordings need; nothing is attached yet. What attaches something loads the
 * programs that it needs, if they are not there.
 */
struct probe *probe_open(const struct probe_config *cfg, struct err *err);
/* Waits until nothing is being loaded in the background. */
int probe_settle_loading(const struct probe *p, struct err *err);
/* Loads all programs: after that, attaching takes no right to load one. */
int probe_ready(const struct probe *p, struct err *err);
/* Detaches everything. */
void probe_close(struct probe *p);

enum probe_tier probe_tier(const struct probe *p);
/* On this kernel a return probe is a system call that the target's seccomp filter may not allow. */
bool probe_returns_kill_seccomp(const struct probe *p);
/* ALYS_WALK_* in use: the requested one, or the best that this kernel supports. */
uint8_t probe_walk(const struct probe *p);
/* Of maps: the ring of records (struct alys_ring), and the calls of its reader. */
int probe_ring_fd(const struct probe *p);
int probe_calls_fd(const struct probe *p);

int probe_add_target(struct probe *p, uint32_t tgid, struct err *err);
/*
 * The same for a process that we launched: its threads, and its children's, may be stopped once probe_allow_holds was
 * called.
 */
int probe_add_own(struct probe *p, uint32_t tgid, struct err *err);
/* Ring of struct alys_hold requests from even or odd CPUs. */
int probe_hold_ring_fd(const struct probe *p, bool odd);
void probe_allow_holds(struct probe *p);
/* From now on its allocator's calls are passed over: its own probes report its blocks. */
int probe_leave_to_notes(struct probe *p, uint32_t tgid, struct err *err);
/* They are not passed over after all, or it has executed another program. */
void probe_take_from_notes(struct probe *p, uint32_t tgid);
void probe_remove_target(struct probe *p, uint32_t tgid);
/* Never traces this process or its future children. */
int probe_exclude(struct probe *p, uint32_t tgid, struct err *err);
/* Forgets sampled blocks, whose frees would be recorded. */
void probe_forget_blocks(struct probe *p);
/* Only those allocated before their process ended; ended: tgid -> time, CLOCK_MONOTONIC, ns. */
void probe_forget_blocks_of(struct probe *p, const struct map *ended);
/* Forgets calls in flight of processes (the keys) that have ended; they count as lost. */
void probe_forget_calls_of(struct probe *p, const struct map *ended);
/* The recording is over: calls that cannot return any more count as lost. */
void probe_settle_calls(struct probe *p);

#define PROBE_FUNCTION_LEN 128

/* Balance of one function over all processes: calls that were followed from their entry. */
struct probe_calls {
	const char *function; /* malloc@libc.so.6; the first entry stands for all without an index */
	uint64_t begun, ended;
	uint64_t lost; /* of those ended: their exit was not seen */
};
/* The name only, valid while the probe is open; NULL: no such function. */
const char *probe_function(const struct probe *p, uint64_t number);
/* All of them, *n entries, to be freed. 0 or -errno. */
int probe_calls(const struct probe *p, struct probe_calls **out, size_t *n);
/* Turns reports of process start and end on or off; on after probe_open. */
int probe_listen(struct probe *p, bool on, struct err *err);
/* The reader has discarded stacks: they will be sent again. */
void probe_forget_stacks(struct probe *p);
/* What to attach, and to which process. */
struct probe_order {
	uint32_t tgid; /* 0 = all in the target list */
	int file_fd;
	const struct site_list *sites;
	const struct site_list *proof; /* with a trial: where results are really read */
	enum probe_returns returns;
};

/*
 * Attaches the listed sites of one file. The file's sites are written to the kernel once, however often it is attached.
 */
int probe_attach(struct probe *p, const struct probe_order *o, struct err *err);
/*
 * The same for unproven sites: the first calls are observed at the plain exits of `proof`, the same file's list without
 * cheap ones, and results predicted by `sites` are only compared.
 */
struct probe_trial {
	uint32_t number;        /* 0 = none: the file had its probes already */
	uint32_t tgid, object;  /* its process and its object's index */
	uint64_t agreed, wrong; /* calls so far */
};
int probe_attach_on_trial(struct probe *p, const struct probe_order *o, struct probe_trial *out, struct err *err);
int probe_trial_read(const struct probe *p, struct probe_trial *t);
/*
 * Ends a trial: from now on calls are observed at the exits of `sites`, whichever list that is. For the same process. Calls
 * that had passed those exits already are still observed at the trial's, until it leaves.
 */
int probe_trial_end(struct probe *p, const struct probe_trial *t, const struct probe_order *o, struct err *err);
void probe_trial_detach(struct probe *p, uint32_t number);
/* No process uses the file any more: detaches all its probes in the background, and forgets its sites. */
void probe_detach_file(struct probe *p, struct probe_file file);
/* Detaches one process in the background; or all (0), and waits for it. */
void probe_detach(struct probe *p, uint32_t tgid);
/* Waits for background detaching, too. */
void probe_await_detached(void);

/* Where unwind rows and mapping lists are published; borrowed. */
struct tables *probe_tables(struct probe *p);

/* Events are sent only between these two calls. */
void probe_start(struct probe *p);
void probe_stop(struct probe *p);
/* Sets the sampling interval. An exact recording stays exact. */
void probe_set_interval(struct probe *p, uint64_t interval);

struct probe_stats {
	uint64_t n[ALYS_ST_CNT];
	uint64_t misses; /* program runs skipped by the kernel (recursion) */
	uint32_t links, sites;
	uint32_t files_alike; /* not attached: taken for a file that was, because they look alike */
};

int probe_stats(const struct probe *p, struct probe_stats *out);
/* Losses that the programs counted for this process since probe_forget_losses; mostly zeros. */
void probe_losses(const struct probe *p, uint32_t tgid, struct alys_losses *out);
/* tgid 0: of all processes. */
void probe_forget_losses(struct probe *p, uint32_t tgid);

/* Prints what this kernel offers and what this user may do, one line each; true if -p would work. */
bool probe_doctor(struct buf *out);

#endif
