/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe: with kernel, the only module that sends anything to the kernel: config, tables, attach, start/stop.
 * It does not decode what comes up: it hands out the ring's descriptor. One thread.
 *
 * Nothing is pinned, so whatever happens to this process, the kernel takes all probes away with it.
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
#include "kernel/identity.h"
#include "kernel/sizes.h"
#include "kernel/tables.h"
#include "kernel/tier.h"
#include "sites/sites.h"

struct probe;

/*
 * Begins to load the programs; nothing is attached to any target yet. probe_attach waits for those
 * it needs.
 */
struct probe *probe_open(const struct probe_config *cfg, struct err *err);
/* Waits until the kernel has accepted all of them. */
int probe_ready(const struct probe *p, struct err *err);
/* Detaches everything. */
void probe_close(struct probe *p);

enum probe_tier probe_tier(const struct probe *p);
/* This kernel makes a return probe a system call that seccomp filters do not know. */
bool probe_returns_kill_seccomp(const struct probe *p);
/* ALYS_WALK_* in use: the wanted one, or the next best that this kernel has. */
uint8_t probe_walk(const struct probe *p);
int probe_ring_fd(const struct probe *p);

int probe_add_target(struct probe *p, uint32_t tgid, struct err *err);
/* The same for a process that we started: it, and its children, may be held from probe_allow_holds on. */
int probe_add_own(struct probe *p, uint32_t tgid, struct err *err);
/* Where calls come through from processors of even or odd number, as struct alys_hold. */
int probe_hold_ring_fd(const struct probe *p, bool odd);
void probe_allow_holds(struct probe *p);
void probe_remove_target(struct probe *p, uint32_t tgid);
/* This process and its children to come are left alone. */
int probe_exclude(struct probe *p, uint32_t tgid, struct err *err);
/* Forgets the sampled blocks whose frees are waited for. */
void probe_forget_blocks(struct probe *p);
/* Those only that were allocated before their process ended; ended: tgid -> when, CLOCK_MONOTONIC, ns. */
void probe_forget_blocks_of(struct probe *p, const struct map *ended);
/*
 * Forgets the calls that processes (tgid -> anything) were in when they ended: no return will ask
 * for them. They are lost.
 */
void probe_forget_calls_of(struct probe *p, const struct map *ended);
/* The recording is over: calls that nobody can be in any more are lost. */
void probe_settle_calls(struct probe *p);

#define PROBE_FUNCTION_LEN 128

/* The account of one function, in all processes: calls that were followed from their entry on. */
struct probe_calls {
	const char *function; /* malloc@libc.so.6; the first one stands for all that found no place */
	uint64_t begun, ended;
	uint64_t lost; /* of those ended: nobody saw them leave */
};
/* The name alone, for as long as the probe is open; NULL when there is no such function. */
const char *probe_function(const struct probe *p, uint64_t number);
/* All of them, *n, to be freed. 0 or -errno. */
int probe_calls(const struct probe *p, struct probe_calls **out, size_t *n);
/* Whether processes that begin and end are told of at all; they are after probe_open. */
int probe_listen(struct probe *p, bool on, struct err *err);
/* Stacks that were sent are sent again: the reader has thrown some away. */
void probe_forget_stacks(struct probe *p);
/* What is to be attached, and to whom. */
struct probe_order {
	uint32_t tgid; /* 0 = all that the target list names */
	int file_fd;
	const struct site_list *sites;
	const struct site_list *proof; /* with a trial: where results are really seen */
	enum probe_returns returns;
};

/*
 * A file is described to the kernel once, however often it is attached.
 * Puts the listed sites of one file under probes.
 */
int probe_attach(struct probe *p, const struct probe_order *o, struct err *err);
/*
 * The same for sites that could not be proven before: the first calls are seen at the plain exits of `proof`,
 * the same file's list without cheap ones, and those of `sites` only say what they would have said.
 */
struct probe_trial {
	uint32_t number;        /* 0 = none began: the file had its probes already */
	uint32_t tgid, object;  /* whose, and where it is described */
	uint64_t agreed, wrong; /* calls so far */
};
int probe_attach_on_trial(struct probe *p, const struct probe_order *o, struct probe_trial *out, struct err *err);
int probe_trial_look(const struct probe *p, struct probe_trial *t);
/* Ends a trial: from now on calls are seen at the exits of `sites`, whichever list that is. Of the same process. */
int probe_trial_end(struct probe *p, const struct probe_trial *t, const struct probe_order *o, struct err *err);
/*
 * No process uses the file any more: takes all its probes away, in its own time, and its
 * description.
 */
void probe_leave_file(struct probe *p, struct probe_file file);
/* Takes the probes of one process away, in its own time; or all of them (0), and waits until they are gone. */
void probe_detach(struct probe *p, uint32_t tgid);
/* Until those of single processes are gone, too. */
void probe_await_detached(void);

/* Where unwind rows and mapping lists go; borrowed. */
struct tables *probe_tables(struct probe *p);

/* Events flow only between these two. */
void probe_start(struct probe *p);
void probe_stop(struct probe *p);
/* From now on one sample every so many bytes. An exact recording stays exact. */
void probe_set_interval(struct probe *p, uint64_t interval);

struct probe_stats {
	uint64_t n[ALYS_ST_CNT];
	uint64_t misses; /* program runs that the kernel refused (recursion) */
	uint32_t links, sites;
};

int probe_stats(const struct probe *p, struct probe_stats *out);
/* The part of the losses that programs counted for this process, since it was forgotten last; mostly zeros. */
void probe_losses(const struct probe *p, uint32_t tgid, struct alys_losses *out);
/* tgid 0: of all processes. */
void probe_forget_losses(struct probe *p, uint32_t tgid);

/* What this kernel offers and what this user may do, in words, a line each; true when -p would work. */
bool probe_doctor(struct buf *out);

#endif
