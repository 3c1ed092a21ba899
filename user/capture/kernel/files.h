/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/files: what was told to the kernel about each file, by numbers in its tables: the same file
 * has the same numbers again, until it is forgotten. Keeps the books only: attaches nothing, tells
 * the kernel nothing. Not for other modules.
 */
#ifndef ALYS_KERNEL_FILES_H
#define ALYS_KERNEL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alys.h"
#include "kernel/identity.h"
#include "kernel/numbers.h"

/* Which functions get return probes; the others are seen at their exits. */
enum probe_returns {
	PROBE_RETURNS_NONE,
	PROBE_RETURNS_PLAIN, /* those that run no user code, throw nothing and switch no stack */
	PROBE_RETURNS_ALL,   /* can kill the target: only when the user insists */
};

/* One way to see a file's calls. */
struct described {
	enum probe_returns returns;
	bool trial;
	size_t ended;    /* of a trial that is over: its exits' places begin here, and nobody new comes in; 0 = it is not */
	uint64_t digest; /* of its list: equal lists are described once */
	uint32_t object;
	uint32_t *places; /* in the table of sites, in the order in which they are described */
	size_t places_cnt, places_cap;
};

struct probed_file {
	struct probe_file id;
	struct described **ways;
	size_t ways_cnt, ways_cap;
	uint32_t *gc_places; /* in the table of collectors' sites; equal files share them */
	size_t gc_places_cnt, gc_places_cap;
	bool attached;  /* for all processes */
	bool watched;   /* its collections, for all */
	bool linked;    /* its calls to debuggers, for all */
	bool detaching; /* its probes are on their way out: until then it has its numbers */
};

struct files {
	struct probed_file **list;
	size_t list_cnt, list_cap;
	struct numbers objects, sites;
	struct alys_gc_site gc_sites[ALYS_MAX_GC_SITES]; /* as the kernel has them */
	uint32_t gc_users[ALYS_MAX_GC_SITES];            /* files; 0 = free */
};

int files_init(struct files *f);
void files_free(struct files *f);
struct probed_file *files_find(const struct files *f, struct probe_file id);
/* Made when it is new. NULL: no memory. */
struct probed_file *files_put(struct files *f, struct probe_file id);
/*
 * The way that is described by `like`, made when there is none: then *made. NULL, and -ENOMEM or
 * -ENOSPC.
 */
struct described *files_describe(struct files *f, struct probed_file *file, const struct described *like, bool *made, int *rc);
/* The way that has this number; NULL. */
struct described *files_way(const struct files *f, uint32_t object);
/* The number of the way's place no. i, taken when it is the next one. 0, -ENOMEM or -ENOSPC. */
int files_place(struct files *f, struct described *d, size_t i, uint32_t *out);
/* The number of a collector's site; *made: the kernel is to be told. 0, -ENOMEM or -ENOSPC. */
int files_gc_place(struct files *f, struct probed_file *file, const struct alys_gc_site *site, uint32_t *out, bool *made);
/* Takes back what a file has; its probes are gone. */
void files_forget(struct files *f, struct probed_file *file);
/* Places of files that are under probes: those of one that is left are not given to another before all of it is gone. */
uint32_t files_sites(const struct files *f);

#endif
