/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol/inquiry: looks up addresses of one file through a worker. If a worker dies, hangs or sends invalid answers, it
 * is replaced by one with fewer addresses, and finally the rest stays without names.
 */
#ifndef ALYS_SYMBOL_INQUIRY_H
#define ALYS_SYMBOL_INQUIRY_H

#include "catalog/catalog.h"
#include "sandbox/spawn.h"
#include "symbol/symbol_config.h"

enum inquiry_trouble {
	INQUIRY_UNANSWERED, /* an address without a name because of the others */
	INQUIRY_DIED,       /* the worker exited early */
	INQUIRY_SILENT,     /* timeout */
	INQUIRY_LIED,       /* an invalid answer */
	INQUIRY_LARGE,      /* too much debug information: done without */
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
	struct spawned worker;
	unsigned int starts;
	bool ready, over;
	unsigned int wants;
	uint64_t frames;
	uint64_t heard_ns, started_ns;
	const char **texts; /* texts of this worker, by number - 1; owned by the catalog */
	size_t texts_cnt, texts_cap;
	uint64_t texts_sz;
	uint64_t troubles[INQUIRY_TROUBLE_CNT]; /* how often */
};

/* Starts the first worker. 0 or -ENOMEM; any other failure leads to answers of quality none. */
int inquiry_begin(struct inquiry *q);
/* The worker has sent something, or closed. 0 or -ENOMEM. */
int inquiry_receive(struct inquiry *q);
/* Call now and then: checks the timeout. 0 or -ENOMEM. */
int inquiry_check_time(struct inquiry *q);
/* We caused a delay, not the workers: extends the timeout. */
void inquiry_extend_deadline(struct inquiry *q, uint64_t waited_ns);
void inquiry_end(struct inquiry *q);

/* Which of a module's symbols are an allocator's. */
void inquiry_note_owners(const struct catalog *c, struct module_id module, struct symbol *symbols, size_t n);

#endif
