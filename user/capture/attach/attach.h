/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach: a file is mapped into a traced process: which of its functions are allocators, and may their returns be
 * probed? A file is examined once, however many processes map it. In: processes and their files, what was found in
 * files. Out: probes.
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
	/* What the file offers is wanted: attach_found is to be called, maybe before this returns. */
	void (*wanted)(void *ctx, const struct module *m, int fd);
	/* Collections of the process are about to be probed. -errno: they shall not be. */
	int (*collector)(void *ctx, uint32_t tgid, struct err *err);
	/* They cannot be seen: why. told: its objects are told from others' in events. */
	void (*unseen)(void *ctx, const struct proc *p, const char *why, bool told);
};

struct attach_facts {
	uint64_t examined; /* files so far that were searched for allocators */
	size_t functions;  /* probed, over all files */
	size_t refills;    /* attached files that are sampled at refills */
	size_t takers;     /* files whose code takes libgc's lists for itself */
	char *taker;       /* the first of them */
	bool collected;    /* some target's heap is a collector's */
	uint64_t renewals; /* of all probes, see attach_split */
	struct err failed; /* the first file that could not be probed */
};

/* Borrows h. NULL: no memory. */
struct attach *attach_new(const struct handles *h, const struct attach_ops *ops);
void attach_free(struct attach *a);
const struct attach_facts *attach_facts(const struct attach *a);
/* Sampled at refills, while others fill lists of their own. */
bool attach_sample_gap(const struct attach *a);
/* Files with allocators in them that are under probes. */
size_t attach_files(const struct attach *a);
/* Where the file counts the bytes that it hands out; NULL: it does not, or is not under probes. */
const struct byte_counter *attach_counter(const struct attach *a, struct module_id module);

/* Processes share their links, and our programs tell them apart. To be said before the first one is attached. */
void attach_share(struct attach *a, bool shared);
bool attach_is_shared(const struct attach *a);
/* Links are shared no more: each process gets its own. What happens meanwhile is not seen. */
void attach_split(struct attach *a);

/* Failures are logged, and the first is kept. */
void attach_module(struct attach *a, const struct proc *p, const struct module *m, int fd);
/* What a file offers, which was asked for by the former; what is in f is taken. */
void attach_found(struct attach *a, struct findings *f);
/* A child has what its parent had mapped. */
void attach_child(struct attach *a, const struct proc *p);
/* Of a process that is held: what was asked for of its files before that must be known now, too. */
void attach_settle(struct attach *a, const struct proc *p);
/* The process is gone: its links too. */
void attach_forget(struct attach *a, uint32_t tgid);
/* All links are gone: files that are mapped are to be attached again. */
void attach_reset(struct attach *a);
/* Forgets the files that `kept` does not name. */
void attach_prune(struct attach *a, const struct catalog *kept);

/* To be called often, and when attach_fd is readable: ends trials of sites that have seen enough calls. */
void attach_look(struct attach *a);
/* Readable when a calibration has ended; -1 before there was one. */
int attach_fd(const struct attach *a);

#endif
