/*
 * target/news: the kernel says when a process maps code: which processes have changed, and so have to be
 * looked at again. In: perf's side-band records of all processes (executable mappings only). Out:
 * these, nearly in the order of time. Needs CAP_PERFMON. One thread.
 */
#ifndef ALYS_TARGET_NEWS_H
#define ALYS_TARGET_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "target/reports.h"

struct news;

struct news_ops {
	void *ctx;
	void (*on_mapped)(void *ctx, const struct report *report);
	/* What it has mapped is part of a translator, see translator.h. */
	void (*on_translator)(void *ctx, uint32_t tgid, const char *name);
	/* Records were lost: any process may have changed. */
	void (*on_lost)(void *ctx);
};

struct news *news_open(const struct news_ops *ops, struct err *err);
void news_close(struct news *n);
/* Readable when there is something to read; level-triggered until news_read. */
int news_fd(const struct news *n);
/* Does nothing when called from an op: what is being read comes first. */
void news_read(struct news *n);

#endif
