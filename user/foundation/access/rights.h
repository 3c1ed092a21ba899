/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/rights: the few things that a daemon does with rights that others have not: each a function here, done
 * by this process itself, or by one that kept its rights while this one gave them up. What comes back is
 * checked by nobody but the kernel: descriptors and lengths.
 */
#ifndef ALYS_ACCESS_RIGHTS_H
#define ALYS_ACCESS_RIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "access/threads.h"

/* One BPF program on many addresses of a file. */
struct rights_link {
	int prog_fd, file_fd;
	uint32_t attach_type, flags; /* as of BPF_LINK_CREATE with a multi uprobe */
	uint32_t tgid;               /* 0 = all */
	uint32_t cnt;
	const uint64_t *offsets, *cookies;
};

/* base/places: number is the process' for the first, the place's for the others. */
enum rights_place { PLACE_OPEN, PLACE_SHARE, PLACE_CLOSE, PLACE_MAP };

/* What everybody may read below /proc/TID, but where that is hidden from others (hidepid of proc(5)). */
enum rights_fact { FACT_STAT, FACT_STATUS, FACT_STATM, FACT_COMM, FACT_CNT };

/* A part of a process' memory. */
struct rights_range {
	uint64_t addr, n;
};

/* All give a descriptor, now the caller's, or what stands beside them; or -errno. tid: of any thread that is still there. */
struct rights {
	void *ctx;
	int (*maps)(void *ctx, uint32_t tid); /* /proc/PID/maps */
	int (*fact)(void *ctx, uint32_t tid, enum rights_fact what);
	int (*exe)(void *ctx, uint32_t tid, char *out, size_t cap);           /* the path of its program: a length */
	int (*mapped)(void *ctx, uint32_t tid, uint64_t start, uint64_t end); /* the file that is mapped there */
	int (*file)(void *ctx, uint32_t tid, const char *path);               /* as the process sees it */
	/* Its memory, ranges behind each other: bytes that could be read from the front. */
	int64_t (*memory)(void *ctx, uint32_t tid, const struct rights_range *r, size_t cnt, void *out);
	int (*threads)(void *ctx, uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap);
	int (*place)(void *ctx, enum rights_place what, int number); /* as of base/places */
	int (*link)(void *ctx, const struct rights_link *l);
	int (*tracepoint)(void *ctx, const char *name, int prog_fd);  /* a raw one */
	int (*array)(void *ctx, const char *name, uint32_t value_sz); /* one value, mappable */
	int (*mappings)(void *ctx, int cpu); /* perf event that tells of executable mappings of all processes */
	int (*ours)(void *ctx, int fd);      /* is it a file that we see under its name? 1, 0 or -errno */
	int (*footprint)(void *ctx);         /* KiB of it and of all processes that come from it, see access/smaps */
};

/* From here on somebody else does it; NULL: this process itself. Borrowed. */
void rights_lend(const struct rights *r);
const struct rights *rights_lent(void);
/* What this process does itself. */
extern const struct rights rights_own;

int rights_maps(uint32_t tid);
int rights_fact(uint32_t tid, enum rights_fact what);
int rights_exe(uint32_t tid, char *out, size_t cap);
int rights_mapped(uint32_t tid, uint64_t start, uint64_t end);
int rights_file(uint32_t tid, const char *path);
int64_t rights_memory(uint32_t tid, const struct rights_range *r, size_t cnt, void *out);
int rights_threads(uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap);
int rights_place(enum rights_place what, int number);
int rights_link(const struct rights_link *l);
int rights_tracepoint(const char *name, int prog_fd);
int rights_array(const char *name, uint32_t value_sz);
int rights_mappings(int cpu);
int rights_ours(int fd);
int rights_footprint(void);

#endif
