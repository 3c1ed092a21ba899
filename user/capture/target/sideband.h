/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target/sideband: the kernel says when a process maps code: which processes have changed, and so have to be
 * looked at again. In: perf's side-band records of all processes (executable mappings only). Out:
 * these, nearly in the order of time. Needs CAP_PERFMON. One thread.
 */
#ifndef ALYS_TARGET_SIDEBAND_H
#define ALYS_TARGET_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "target/reports.h"

struct sideband;

struct sideband_ops {
	void *ctx;
	void (*on_mapped)(void *ctx, const struct report *report);
	/* What it has mapped is part of a translator, see translator.h. */
	void (*on_translator)(void *ctx, uint32_t tgid, const char *name);
	/* Records were lost: any process may have changed. */
	void (*on_lost)(void *ctx);
};

struct sideband *sideband_open(const struct sideband_ops *ops, struct err *err);
void sideband_close(struct sideband *n);
/* Readable when there is something to read; level-triggered until sideband_read. */
int sideband_fd(const struct sideband *n);
/* Does nothing when called from an op: what is being read comes first. */
void sideband_read(struct sideband *n);

#endif
