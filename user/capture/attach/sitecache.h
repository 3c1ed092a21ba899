/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/sitecache: the sites found in each mapped file, shared by all processes that map it, and where they are
 * attached. Plain storage for attach and trials; it makes no decisions.
 */
#ifndef ALYS_ATTACH_SITECACHE_H
#define ALYS_ATTACH_SITECACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "examine/findings.h"
#include "probe/probe.h"
#include "sites/collections.h"

struct trial {
	struct probe_trial at;
	enum probe_returns returns;
};

struct file_sites {
	struct module_id module;
	struct probe_file file;
	uint64_t unused_ns; /* unmapped by all processes since; 0 = mapped at the last look */
	bool left;          /* its probes were removed for that reason */
	bool pending;       /* findings are expected */
	struct site_list list;
	struct site_list proof;        /* the same without cheap exits, for trials */
	struct site_list calls, plain; /* until the calibration: see struct findings */
	size_t probed;                 /* number of functions */
	size_t counted;                /* of these, counted in attach_facts.functions */
	bool served;                   /* attached for some process */
	bool calibrated;               /* calibrated or being calibrated, whatever the result */
	bool asked;                    /* the calibration's result is expected */
	bool whole;                    /* places that see whole calls are used if they agree */
	bool unproven;                 /* not calibrated (yet): the first calls are compared to prove the sites */
	uint32_t *waiting;             /* processes that wait for findings, or for the result */
	size_t waiting_cnt, waiting_cap;
	struct trial *trials; /* running trials, one per process; the first result ends all */
	size_t trials_cnt, trials_cap;
	struct collection_sites collections; /* of a collector */
	uint64_t link_offset;                /* of a dynamic linker, see probe/linker.h */
	enum gc_unseen unseen;               /* why collections of this file cannot be observed in any process */
	int unseen_error;                    /* as in struct unseen */
};

struct site_cache {
	struct file_sites *files;
	size_t files_cnt, files_cap;
	struct map done; /* tgid << 32 | module: attached */
};

struct file_sites *sitecache_find(const struct site_cache *c, struct module_id module);
/* A new entry without findings. NULL: out of memory. Invalidates pointers from sitecache_find. */
struct file_sites *sitecache_add(struct site_cache *c, struct module_id module, int fd);
/* Takes the sites from `found`. */
void sitecache_fill(struct file_sites *f, struct findings *found);
/* Keeps only wanted files; calls `leave` for each other before it is forgotten. */
void sitecache_prune(struct site_cache *c, bool (*wanted)(void *ctx, struct module_id module),
		     void (*leave)(void *ctx, struct file_sites *f), void *ctx);
void sitecache_free(struct site_cache *c);
struct site_list sitecache_take_list(struct site_list *l);

/* For a process (0: all that share probes): true if it was not marked done before; marks it. */
bool sitecache_do(struct site_cache *c, uint32_t tgid, struct module_id module);
void sitecache_undo(struct site_cache *c, uint32_t tgid, struct module_id module);
/* For all processes. */
void sitecache_undo_all(struct site_cache *c, struct module_id module);

/* Adds the process to those that wait; idempotent. False: out of memory. */
bool sitecache_wait(struct file_sites *f, uint32_t pid);
/* True if it was the last one. */
bool sitecache_stop_waiting(struct file_sites *f, uint32_t pid);
/* Ends the trials of one process, or all (0). */
void sitecache_end_trials(struct file_sites *f, uint32_t tgid);

#endif
