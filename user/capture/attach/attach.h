/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach: when a traced process maps a file, decides which functions of the file are allocators and how they are
 * probed. A file is examined once, however many processes map it. In: processes, their files, and the findings about
 * these. Out: probes.
 */
#ifndef ALYS_ATTACH_H
#define ALYS_ATTACH_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "examine/findings.h"
#include "recording/handles.h"

struct attach;

struct attach_ops {
	void *ctx;
	/* The file's sites are needed: call attach_found once they are known, possibly before this returns. */
	void (*wanted)(void *ctx, const struct module *m, int fd);
	/* The process' collections are about to be probed. -errno: do not probe them. */
	int (*collector)(void *ctx, uint32_t tgid, struct err *err);
	/* They cannot be observed: why. flagged: events mark its objects (EVENT_F_GC). */
	void (*unseen)(void *ctx, const struct proc *p, const struct unseen *u, bool flagged);
};

struct attach_facts {
	uint64_t examined;                /* files searched for allocators so far */
	size_t functions;                 /* probed functions, over all files */
	size_t refills;                   /* attached files that are sampled at refills */
	size_t takers;                    /* files whose own code takes over libgc's lists */
	char *taker;                      /* the first of them */
	bool collected;                   /* some target has a garbage-collected heap */
	uint64_t renewals;                /* how often all probes were attached anew, see attach_split */
	uint64_t own_matched, own_probed; /* bit i: function i of allocators/own, in some file */
	struct err failed;                /* the first file that could not be probed */
};

/* Borrows h. NULL: out of memory. */
struct attach *attach_new(const struct handles *h, const struct attach_ops *ops);
void attach_free(struct attach *a);
const struct attach_facts *attach_facts(const struct attach *a);
/* The probes that files define themselves: how many were found in each, and how many of them cannot be used. */
void attach_noted_text(const struct attach *a, struct buf *out);
/* One file is sampled at refills while another fills free lists of its own. */
bool attach_sample_gap(const struct attach *a);
/* Number of probed files with allocators. */
size_t attach_files(const struct attach *a);
/* The file's own counter of allocated bytes; NULL: it has none, or is not probed. */
const struct byte_counter *attach_counter(const struct attach *a, struct module_id module);

/* What the file's own allocators call this type of blocks; NULL: not known. */
const char *attach_block_type(const struct attach *a, struct module_id module, uint32_t number);

/* Where a VM in this file has its atoms; NULL: not known. */
const struct beam_atoms *attach_atoms(const struct attach *a, struct module_id module);

/* Processes share links, and BPF filters them by process. Call before the first process is attached. */
void attach_share(struct attach *a, bool shared);
bool attach_is_shared(const struct attach *a);
/* Stops sharing links: each process gets its own. Calls made meanwhile are missed. */
void attach_split(struct attach *a);

/* Errors are logged, and the first is kept. */
void attach_module(struct attach *a, const struct proc *p, const struct module *m, int fd);
/* The process executes another program now. Its mappings come next. */
void attach_exec(struct attach *a, uint32_t tgid);
/* The findings that `wanted` asked for; takes what is in f. */
void attach_found(struct attach *a, struct findings *f);
/* A forked child has its parent's mappings. */
void attach_child(struct attach *a, const struct proc *p);
/* For a process that is stopped: waits for findings requested earlier about its files. */
void attach_settle(struct attach *a, const struct proc *p);
/* The process is gone: removes its links. */
void attach_forget(struct attach *a, uint32_t tgid);
/* All links were removed: mapped files must be attached again. */
void attach_reset(struct attach *a);
/* Forgets files that `kept` does not contain. */
void attach_prune(struct attach *a, const struct catalog *kept);

/* Call often, and when attach_fd is readable: ends trials that have seen enough calls. */
void attach_update(struct attach *a);
/* Readable when a calibration has finished; -1 before the first one. */
int attach_fd(const struct attach *a);

#endif
