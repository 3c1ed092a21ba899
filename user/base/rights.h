/*
 * base/rights: the few things that a daemon does with rights that others have not: each a function here, done
 * by this process itself, or by one that kept its rights while this one gave them up. What comes back is
 * checked by nobody but the kernel: descriptors and lengths.
 */
#ifndef ALYS_BASE_RIGHTS_H
#define ALYS_BASE_RIGHTS_H

#include <stddef.h>
#include <stdint.h>

/* One BPF program on many addresses of a file. */
struct rights_link {
	int prog_fd, file_fd;
	uint32_t attach_type, flags; /* as of BPF_LINK_CREATE with a multi uprobe */
	uint32_t tgid;               /* 0 = all */
	uint32_t cnt;
	const uint64_t *offsets, *cookies;
};

/* All give a descriptor, now the caller's, or -errno. */
struct rights {
	void *ctx;
	int (*open)(void *ctx, const char *path, int flags);                         /* below /proc/PID */
	int (*read_link)(void *ctx, const char *path, char *out, size_t cap);        /* gives a length */
	int (*link)(void *ctx, const struct rights_link *l);
	int (*tracepoint)(void *ctx, const char *name, int prog_fd);                 /* a raw one */
	int (*array)(void *ctx, const char *name, uint32_t value_sz);                /* one value, mappable */
	int (*mappings)(void *ctx, int cpu); /* perf event that tells of executable mappings of all processes */
};

/* From here on somebody else does it; NULL: this process itself. Borrowed. */
void rights_lend(const struct rights *r);
const struct rights *rights_lent(void);
/* What this process does itself. */
extern const struct rights rights_own;

int rights_open(const char *path, int flags);
int rights_read_link(const char *path, char *out, size_t cap);
int rights_link(const struct rights_link *l);
int rights_tracepoint(const char *name, int prog_fd);
int rights_array(const char *name, uint32_t value_sz);
int rights_mappings(int cpu);

#endif
