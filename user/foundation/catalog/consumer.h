/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog/consumer: the receiver of a recording's events and definitions, in order: a trace file (trace/consumer.c), a
 * heap (verbs/watching.c), or both (monitor/continuous.c). The caller of the recording chooses. Data flows one way: a
 * consumer asks the recording for nothing, and may look ids up in its catalog, which is updated first.
 */
#ifndef ALYS_CATALOG_CONSUMER_H
#define ALYS_CATALOG_CONSUMER_H

#include "catalog/catalog.h"

enum definition_kind {
	DEFINITION_META,
	DEFINITION_PROC,
	DEFINITION_MODULE,
	DEFINITION_MAPPING,
	DEFINITION_STACK,
	DEFINITION_SYMBOLS,
	DEFINITION_COUNT,
	DEFINITION_OLDER,
	DEFINITION_CALLED,
	DEFINITION_ERLANG_PROCESS,
};

/* The meaning of an id, or metadata of the recording, valid from here on. */
struct definition {
	enum definition_kind kind;
	union {
		struct {
			const char *key, *value;
		} meta;
		const struct proc *proc;
		const struct module *module;
		const struct mapping *mapping;
		const struct stack *stack;
		struct {
			struct module_id module;
			uint64_t pc;
			const struct symbols *list;
		} symbols;
		const struct count *count;
		const struct older *older;
		const struct called *called;
		const struct erlang_process *erlang;
	};
};

struct consumer {
	void *ctx;
	int (*event)(void *ctx, const struct event *e);       /* -ENOMEM ends the recording */
	int (*define)(void *ctx, const struct definition *d); /* likewise; NULL: uses the catalog only */
	void (*tick)(void *ctx, uint64_t now_ns);             /* several times a second; NULL */
	int (*done)(void *ctx);                               /* 1: needs no more; -EPIPE: its reader is gone; NULL */
	uint64_t (*dropped)(void *ctx);                       /* events lost by it so far; NULL */
};

/* c NULL: no consumer yet. */
static inline int consumer_event(const struct consumer *c, const struct event *e)
{
	return c ? c->event(c->ctx, e) : 0;
}

static inline int consumer_define(const struct consumer *c, const struct definition *d)
{
	return c && c->define ? c->define(c->ctx, d) : 0;
}

static inline void consumer_tick(const struct consumer *c, uint64_t now_ns)
{
	if (c && c->tick)
		c->tick(c->ctx, now_ns);
}

static inline int consumer_done(const struct consumer *c)
{
	return c && c->done ? c->done(c->ctx) : 0;
}

static inline uint64_t consumer_dropped(const struct consumer *c)
{
	return c && c->dropped ? c->dropped(c->ctx) : 0;
}

static inline int consumer_meta(const struct consumer *c, const char *key, const char *value)
{
	return consumer_define(c, &(struct definition){ DEFINITION_META, .meta = { key, value } });
}

static inline int consumer_count(const struct consumer *c, const struct count *n)
{
	return consumer_define(c, &(struct definition){ DEFINITION_COUNT, .count = n });
}

#endif
