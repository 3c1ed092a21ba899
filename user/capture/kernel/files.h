/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/files: bookkeeping of what the kernel's tables contain about each file: the same file gets the same numbers
 * again until it is forgotten. Attaches nothing and writes nothing to the kernel. Private to kernel/ and probe/.
 */
#ifndef ALYS_KERNEL_FILES_H
#define ALYS_KERNEL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alys.h"
#include "kernel/probe_file.h"
#include "kernel/numbers.h"

/* Which functions get return probes; the others are probed at their exits. */
enum probe_returns {
	PROBE_RETURNS_NONE,
	PROBE_RETURNS_PLAIN, /* those that run no user code, never throw and never switch stacks */
	PROBE_RETURNS_ALL,   /* can kill the target: only on explicit request */
};

/* One set of sites for a file. */
struct site_set {
	enum probe_returns returns;
	bool trial;
	size_t ended;    /* of a finished trial: its exits start here, and no process is added; 0 = running */
	uint64_t digest; /* of the list of sites: equal lists are stored once */
	uint32_t object;
	uint32_t *places; /* indexes in the table of sites, in order */
	size_t places_cnt, places_cap;
};

struct probed_file {
	struct probe_file id;
	struct probe_file *alike; /* others for which its probes have to serve, though they may be different files */
	size_t alike_cnt, alike_cap;
	struct site_set **sets;
	size_t sets_cnt, sets_cap;
	uint32_t *gc_places; /* indexes in the table of collectors' sites; shared by equal files */
	size_t gc_places_cnt, gc_places_cap;
	bool attached;  /* attached for all processes */
	bool watched;   /* its collections, for all processes */
	bool linked;    /* its debugger hook, for all processes */
	bool entered;   /* its functions chosen by --calls, for all processes */
	bool detaching; /* being detached: keeps its numbers until done */
};

struct files {
	struct probed_file **list;
	size_t list_cnt, list_cap;
	struct numbers objects, sites;
	struct alys_gc_site gc_sites[ALYS_MAX_GC_SITES]; /* as written to the kernel */
	uint32_t gc_users[ALYS_MAX_GC_SITES];            /* files; 0 = free */
};

int files_init(struct files *f);
void files_free(struct files *f);
struct probed_file *files_find(const struct files *f, struct probe_file id);
/* Added if new. NULL: out of memory. */
struct probed_file *files_put(struct files *f, struct probe_file id);
/* The set that is like `like`, added if new: then *made. NULL, and -ENOMEM or -ENOSPC. */
struct site_set *files_put_set(struct files *f, struct probed_file *file, const struct site_set *like, bool *made, int *rc);
/* The set with this number; or NULL. */
struct site_set *files_set_of(const struct files *f, uint32_t object);
/* The index of the set's site no. i, allocated if it is the next one. 0, -ENOMEM or -ENOSPC. */
int files_place(struct files *f, struct site_set *d, size_t i, uint32_t *out);
/* The index of a collector's site; *made: must be written to the kernel. 0, -ENOMEM or -ENOSPC. */
int files_gc_place(struct files *f, struct probed_file *file, const struct alys_gc_site *site, uint32_t *out, bool *made);
/* Releases everything of a file whose probes are gone. */
void files_forget(struct files *f, struct probed_file *file);
/* Its probes serve `id`, too. */
void files_serve(struct probed_file *file, struct probe_file id);
/* Files that are taken for another one because they look alike. */
uint32_t files_alike(const struct files *f);
/* Indexes in use by probed files; those of a file are not reused before all of its probes are gone. */
uint32_t files_sites(const struct files *f);

#endif
