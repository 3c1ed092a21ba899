/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/rights: the operations for which the daemon needs privileges, one function each. They are done by this process
 * itself, or by the broker once this process has dropped its privileges. What comes back (descriptors, lengths) is
 * checked by the kernel only.
 */
#ifndef ALYS_ACCESS_RIGHTS_H
#define ALYS_ACCESS_RIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "access/thread_info.h"

/* One BPF program attached to many addresses of a file. */
struct rights_link {
	int prog_fd, file_fd;
	uint32_t attach_type, flags; /* as for BPF_LINK_CREATE with a multi uprobe */
	uint32_t tgid;               /* 0 = all */
	uint32_t cnt;
	const uint64_t *offsets, *cookies;
	/* File offsets of the counters that the kernel raises while the link is open, 0 = none there; NULL: no site has one. */
	const uint64_t *counters;
};

/* access/perfmap_dir: `number` is the tgid for PLACE_OPEN, the handle for the others. */
enum rights_place { PLACE_OPEN, PLACE_SHARE, PLACE_CLOSE, PLACE_MAP };

/* Files of /proc/TID. Up to FACT_CGROUP they are world-readable, but hidepid (proc(5)) may hide them. */
enum rights_fact { FACT_STAT, FACT_STATUS, FACT_STATM, FACT_COMM, FACT_CGROUP, FACT_SMAPS, FACT_PAGEMAP, FACT_CNT };

/* A range of a process' memory. */
struct rights_range {
	uint64_t addr, n;
};

/*
 * Each returns a descriptor, now owned by the caller, or what its comment says; or -errno. tid: any thread that still
 * exists.
 */
struct rights {
	void *ctx;
	int (*maps)(void *ctx, uint32_t tid); /* /proc/PID/maps */
	int (*fact)(void *ctx, uint32_t tid, enum rights_fact what);
	int (*exe)(void *ctx, uint32_t tid, char *out, size_t cap);           /* path of the executable; returns its length */
	int (*environment)(void *ctx, uint32_t tid, char *out);               /* see access/environment */
	int (*mapped)(void *ctx, uint32_t tid, uint64_t start, uint64_t end); /* the file that is mapped there */
	int (*file)(void *ctx, uint32_t tid, const char *path);               /* path as the process sees it */
	/*
	 * Reads the ranges one after the other into one buffer; returns the number of bytes read before the first
	 * failure.
	 */
	int64_t (*memory)(void *ctx, uint32_t tid, const struct rights_range *r, size_t cnt, void *out);
	/* Whether the page at each address is resident, 1 or 0; 0 or -errno. It tells nothing else of where a page lies. */
	int (*present)(void *ctx, uint32_t tid, const uint64_t *at, size_t cnt, uint8_t *out);
	int (*threads)(void *ctx, uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap);
	int (*place)(void *ctx, enum rights_place what, int number); /* see access/perfmap_dir */
	int (*link)(void *ctx, const struct rights_link *l);
	int (*tracepoint)(void *ctx, const char *name, int prog_fd);  /* a raw tracepoint */
	int (*faults)(void *ctx, int cpu, int prog_fd);               /* perf's page faults of all processes on a processor */
	int (*array)(void *ctx, const char *name, uint32_t value_sz); /* array map of one value, mappable */
	int (*mappings)(void *ctx, int cpu); /* perf event that reports executable mappings of all processes */
	int (*ours)(void *ctx, int fd);      /* is it the file that we see under its path? 1, 0 or -errno */
	int (*footprint)(void *ctx);         /* KiB of this process and all its descendants, see access/smaps */
};

/* From now on `r` does the work; NULL: this process itself. Borrowed. */
void rights_delegate(const struct rights *r);
const struct rights *rights_delegated(void);
/* The implementation for a process with its own privileges. */
extern const struct rights rights_own;

int rights_maps(uint32_t tid);
int rights_fact(uint32_t tid, enum rights_fact what);
int rights_exe(uint32_t tid, char *out, size_t cap);
int rights_environment(uint32_t tid, char *out);
int rights_mapped(uint32_t tid, uint64_t start, uint64_t end);
int rights_file(uint32_t tid, const char *path);
int64_t rights_memory(uint32_t tid, const struct rights_range *r, size_t cnt, void *out);
int rights_present(uint32_t tid, const uint64_t *at, size_t cnt, uint8_t *out);
int rights_threads(uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap);
int rights_place(enum rights_place what, int number);
int rights_link(const struct rights_link *l);
int rights_tracepoint(const char *name, int prog_fd);
int rights_faults(int cpu, int prog_fd);
int rights_array(const char *name, uint32_t value_sz);
int rights_mappings(int cpu);
int rights_ours(int fd);
int rights_footprint(void);

#endif
