/* probe/link: puts one BPF program on many addresses of one file. */
#ifndef ALYS_PROBE_LINK_H
#define ALYS_PROBE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "probe/load.h"

/* libbpf's attach types end at 6.1: these two are newer (enum bpf_attach_type, linux/bpf.h). */
#define ATTACH_UPROBE_MULTI 48
#define ATTACH_UPROBE_SESSION 57

struct bpf_program;

/* Addresses for one program, all in one file. */
struct batch {
	struct bpf_program *prog;
	bool at_return; /* a plain return probe */
	bool session;
	uint32_t trial; /* its attachments end with that trial, 0 = none */
	uint64_t *offsets; /* in the file */
	size_t offsets_cnt, offsets_cap;
	uint64_t *cookies; /* index into the sites map, and ALYS_COOKIE_FILTERED */
	size_t cookies_cnt, cookies_cap;
};

int batch_add(struct batch *b, uint64_t offset, uint64_t cookie);
/* Attaches the batch to one process (tgid) or to all (0). An empty batch is fine. */
int batch_attach(const struct batch *b, struct probe *p, uint32_t tgid, int file_fd, struct err *err);
void batch_free(struct batch *b);
void detach_trial(struct probe *p, uint32_t trial);

#endif
