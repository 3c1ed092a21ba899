/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident: the recorded pages that processes have now. The kernel tells of each page that comes, and of ranges that go or
 * move; a heap frees by address. So what is known to lie in a range becomes a free for each page here. A page that left
 * unheard (reclaimed, or moved by a call with a fixed place) is found when the process' page table is asked.
 */
#ifndef ALYS_RESIDENT_H
#define ALYS_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"

/* One page, or several that came at once: address, size, stack, sampling. */
struct resident_page;

struct resident {
	void *ctx;
	void (*event)(void *ctx, const struct event *e); /* frees, and what is left of pages or has moved (EVENT_F_CARRIED) */
	struct map places;                               /* page and process -> index in pages */
	struct resident_page *pages;
	size_t pages_cnt, pages_cap;
	uint64_t largest; /* bytes that came at once */
	uint64_t swept;   /* found to have gone when asked */
};

struct resident_range {
	struct proc_id proc;
	uint32_t tid;
	uint64_t time_ns;
	uint64_t start, end;
	uint64_t enter_ns; /* of mappings: when the call began that took them away */
};

/* 0 or -ENOMEM. */
int resident_come(struct resident *r, const struct event *alloc);
int resident_gone(struct resident *r, const struct resident_range *gone);
int resident_moved(struct resident *r, const struct resident_range *from, uint64_t to);
/* The process has ended or become another program: its heap ends as a whole. */
void resident_forget(struct resident *r, struct proc_id proc);
/* Which pages are resident: a byte for each, 0 = it is not. Returns not 0 if nothing is known of them. */
typedef int resident_ask(void *ctx, const uint64_t *at, size_t n, uint8_t *out);
/* The heap ends at gone->start now; it is not known where it ended. What else lies above is still there. */
int resident_shrunk(struct resident *r, const struct resident_range *gone, resident_ask *are_there, void *ctx);
/* Frees what is not there. */
int resident_sweep(struct resident *r, struct proc_id proc, uint64_t now_ns, resident_ask *are_there, void *ctx);
void resident_free(struct resident *r);

#endif
