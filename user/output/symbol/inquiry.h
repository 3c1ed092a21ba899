/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol/inquiry: one file, the addresses asked of it, and the worker that answers. The worker may
 * die, fall silent or lie; then another one goes on, with less to do, and at last nobody does.
 */
#ifndef ALYS_SYMBOL_INQUIRY_H
#define ALYS_SYMBOL_INQUIRY_H

#include "catalog/catalog.h"
#include "dwarf/hire.h"
#include "symbol/config.h"

enum inquiry_trouble {
	INQUIRY_UNANSWERED, /* an address that was left without a name because of the others */
	INQUIRY_DIED,       /* the worker ended before its work did */
	INQUIRY_SILENT,     /* nothing heard of it for too long */
	INQUIRY_LIED,       /* an answer that cannot be */
	INQUIRY_LARGE,      /* it has to do without debug information */
	INQUIRY_TROUBLE_CNT
};

struct inquiry_file {
	int fd;
	char *path;
	bool perf_map;
};

struct inquiry {
	const struct symbolizer_config *config;
	const struct inquiry_file *file;
	struct catalog *catalog;
	struct module_id module;
	uint64_t *pcs; /* ours, sorted */
	size_t pcs_cnt;

	size_t sent, answered;
	struct hired worker;
	unsigned int hires;
	bool ready, over;
	unsigned int wants;
	uint64_t frames;
	uint64_t heard_ns, hired_ns;
	const char **texts; /* of this worker, by number - 1; the catalog's */
	size_t texts_cnt, texts_cap;
	uint64_t texts_sz;
	uint64_t troubles[INQUIRY_TROUBLE_CNT]; /* how often */
};

/* Starts the first worker. 0 or -ENOMEM; whatever else goes wrong leads to answers of no quality. */
int inquiry_begin(struct inquiry *q);
/* The worker has said something, or hung up. 0 or -ENOMEM. */
int inquiry_hear(struct inquiry *q);
/* To be called now and then: looks whether the worker takes too long. 0 or -ENOMEM. */
int inquiry_check_time(struct inquiry *q);
/* Somebody was kept waiting by us, not by the workers. */
void inquiry_excuse(struct inquiry *q, uint64_t waited_ns);
void inquiry_end(struct inquiry *q);

#endif
