/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/sitecache: what each mapped file offers, found once however many processes map it, and where it is under
 * probes already. Holds it for attach and trials, and decides nothing.
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
	uint64_t unused_ns; /* no process has it mapped since then; 0 = some had at the last look */
	bool left;          /* its probes were taken away for that */
	bool pending;       /* what it offers is being found out */
	struct site_list list;
	struct site_list proof;        /* the same without cheap exits, for trials */
	struct site_list calls, plain; /* until the calibration: see struct findings */
	size_t probed;                 /* functions */
	size_t counted;                /* of them, in attach_facts.functions */
	bool served;                   /* they were put under probes for somebody */
	bool calibrated;               /* tried once, or being tried, whatever comes of it */
	bool asked;                    /* the result is to come */
	bool unproven;     /* until it is there, or without one: the first calls are to show whether the sites are right */
	uint32_t *waiting; /* processes, for what it offers, or for the result */
	size_t waiting_cnt, waiting_cap;
	struct trial *trials; /* that go on, one a process; the first result ends all */
	size_t trials_cnt, trials_cap;
	struct collection_sites collections; /* of a collector */
	uint64_t link_offset;                /* of a dynamic linker, see probe/linker.h */
	char *unwatched;                     /* why no process' collections by it can be seen, NULL = they can */
};

struct site_cache {
	struct file_sites *files;
	size_t files_cnt, files_cap;
	struct map done; /* tgid << 32 | module: attached */
};

struct file_sites *sitecache_find(const struct site_cache *c, struct module_id module);
/* Nothing is known of it yet. NULL: no memory. What sitecache_find gave before is somewhere else now. */
struct file_sites *sitecache_add(struct site_cache *c, struct module_id module, int fd);
/* What it offers is taken from found. */
void sitecache_fill(struct file_sites *f, struct findings *found);
/* Only those files stay that are wanted; `leave` hears of each other one before it is forgotten. */
void sitecache_prune(struct site_cache *c, bool (*wanted)(void *ctx, struct module_id module),
		     void (*leave)(void *ctx, struct file_sites *f), void *ctx);
void sitecache_free(struct site_cache *c);
struct site_list sitecache_take_list(struct site_list *l);
void sitecache_set_unwatched(struct file_sites *f, const char *why);

/* For a process (0: all that share probes): true when it was not done yet, and is from now on. */
bool sitecache_do(struct site_cache *c, uint32_t tgid, struct module_id module);
void sitecache_undo(struct site_cache *c, uint32_t tgid, struct module_id module);
/* For whatever process. */
void sitecache_undo_all(struct site_cache *c, struct module_id module);

/* The process waits for the file; more than once is fine. False: no memory. */
bool sitecache_wait(struct file_sites *f, uint32_t pid);
/* True when it was the last one that did. */
bool sitecache_stop_waiting(struct file_sites *f, uint32_t pid);
/* Trials of one process, or all of them (0), are over. */
void sitecache_end_trials(struct file_sites *f, uint32_t tgid);

#endif
