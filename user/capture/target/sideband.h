/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target/sideband: reads perf's side-band records (executable mappings of all processes), which say which processes
 * must be examined again. Out: these records, nearly in order of time. Needs CAP_PERFMON. Single-threaded.
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
	/* It has mapped a file of a translator, see translator.h. */
	void (*on_translator)(void *ctx, uint32_t tgid, const char *name);
	/* Records were lost: any process may have changed. */
	void (*on_lost)(void *ctx);
};

struct sideband *sideband_open(const struct sideband_ops *ops, struct err *err);
void sideband_close(struct sideband *n);
/* Level-triggered until sideband_read. */
int sideband_fd(const struct sideband *n);
/* Does nothing when called from an op: no recursion. */
void sideband_read(struct sideband *n);

#endif
