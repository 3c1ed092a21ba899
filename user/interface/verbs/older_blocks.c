/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/older_blocks: see older_blocks.h. */
#include "verbs/older_blocks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"
#include "recorder/stacks.h"

#define NAMED_MAX (4u << 20)
#define AT_ONCE 100000 /* blocks between two looks at the ring */

/* --- how it came out -------------------------------------------------------------------------------- */

static void put_meta(struct older_blocks *o, const char *value)
{
	catalog_put_meta(o->live->h.catalog, "census", value);
	consumer_meta(o->to, "census", value);
}

static void end(struct older_blocks *o)
{
	o->state = OLDER_OVER;
	malloc_blocks_free(&o->blocks);
	map_free(&o->named);
}

static void give_up(struct older_blocks *o, const char *why)
{
	struct buf said = { 0 };
	buf_addf(&said, "none: %s", why);
	put_meta(o, buf_str(&said));
	buf_free(&said);
	log_warn("--census: blocks from before the recording are not in it: %s", why);
	end(o);
}

static void complete(struct older_blocks *o)
{
	struct buf said = { 0 };
	text_count(&said, o->written);
	buf_adds(&said, " blocks from before the recording, ");
	text_bytes(&said, (double)o->bytes);
	buf_addf(&said, "; %" PRIu64 " others were recorded or freed while the heap was read", o->named_first);
	if (o->blocks.frozen_ns)
		buf_addf(&said, "; frozen for %.1f ms", (double)o->blocks.frozen_ns / 1e6);
	if (o->blocks.odd)
		buf_addf(&said, "; %" PRIu64 " things did not fit together, because the program ran meanwhile (--freeze)",
			 o->blocks.odd);
	put_meta(o, buf_str(&said));
	log_info("census: %s", buf_str(&said));
	buf_free(&said);
	end(o);
}

/* --- events ----------------------------------------------------------------------------------------- */

static int name(struct older_blocks *o, uint64_t addr)
{
	return !addr || map_put(&o->named, addr) ? 0 : -ENOMEM;
}

static int note(struct older_blocks *o, const struct event *e)
{
	if (o->proc.n && e->proc.n != o->proc.n)
		return 0;
	switch (e->kind) {
	case EVENT_REALLOC: return name(o, e->addr) ?: name(o, e->old_addr);
	case EVENT_ALLOC:
	case EVENT_FREE: return name(o, e->addr);
	case EVENT_EXEC:
	case EVENT_EXIT: give_up(o, "the program ended while its heap was read"); return 0;
	default: return 0;
	}
}

static int take_event(void *ctx, const struct event *e)
{
	struct older_blocks *o = ctx;
	int rc = o->state == OLDER_OVER ? 0 : note(o, e);
	if (!rc && o->named.count > NAMED_MAX)
		give_up(o, "the program allocates faster than its heap is read");
	return rc ?: consumer_event(o->to, e);
}

static struct stack_id stack_of(struct older_blocks *o, size_t class)
{
	struct buf type = { 0 };
	if (!o->stacks[class].n) {
		text_clean(&type, o->blocks.classes[class], SIZE_MAX);
		o->stacks[class] = stacks_older(&o->live->stacks, o->proc, buf_str(&type));
		buf_free(&type);
	}
	return o->stacks[class];
}

static int write_block(struct older_blocks *o, const struct malloc_block *b)
{
	const struct event e = {
		.kind = EVENT_ALLOC,
		.flags = EVENT_F_CARRIED,
		.proc = o->proc,
		.stack = stack_of(o, b->class),
		.time_ns = o->blocks.read_ns,
		.enter_ns = o->live->started_ns,
		.addr = b->addr,
		.size = b->bytes,
	};
	if (map_get(&o->named, b->addr)) {
		o->named_first++;
		return 0;
	}
	o->written++;
	o->bytes += b->bytes;
	return consumer_event(o->to, &e);
}

static void write_some(struct older_blocks *o, size_t cnt)
{
	int rc = 0;
	for (size_t i = 0; i < cnt && o->next < o->blocks.all_cnt && rc != -ENOMEM; i++)
		rc = write_block(o, &o->blocks.all[o->next++]);
	if (rc == -ENOMEM)
		give_up(o, "out of memory");
	else if (o->next == o->blocks.all_cnt)
		complete(o);
}

/* --- one step after the other ----------------------------------------------------------------------- */

static void start(struct older_blocks *o)
{
	const struct record_options *options = o->live->h.o;
	/* What does not fit together counts for nothing, since several readings must agree. */
	const struct malloc_how how = { options->pids[0], options->freeze ? MALLOC_READINGS : 1, options->freeze };
	struct err err = { 0 };
	o->proc = target_find(o->live->h.targets, how.tgid);
	if (malloc_blocks_begin(&o->blocks, &how, &err))
		give_up(o, err.text);
	else
		o->state = OLDER_READS;
}

static void poll_reader(struct older_blocks *o)
{
	int rc = malloc_blocks_poll(&o->blocks);
	if (rc > 0) {
		o->stacks = calloc(o->blocks.classes_cnt + 1, sizeof(*o->stacks));
		o->state = OLDER_CATCHES;
	}
	if (rc < 0 || (rc && !o->stacks))
		give_up(o, rc == -ECHILD ? "its heap could not be read" : "out of memory, or the reader's answer makes no sense");
}

static void go_on(struct older_blocks *o, size_t at_once)
{
	struct live *l = o->live;
	if (o->state == OLDER_WAITS && l->started_ns)
		start(o);
	if (o->state == OLDER_READS)
		poll_reader(o);
	if (o->state == OLDER_CATCHES && l->read_ns >= o->blocks.read_ns)
		o->state = OLDER_WRITES;
	if (o->state == OLDER_WRITES)
		write_some(o, at_once);
}

static int is_done(void *ctx)
{
	struct older_blocks *o = ctx;
	go_on(o, AT_ONCE);
	return consumer_done(o->to);
}

/* When probes are gone the ring has been read to its end; a heap that was read later has changed unseen. */
static void settle(struct older_blocks *o)
{
	if (o->state == OLDER_READS)
		poll_reader(o);
	if (o->state == OLDER_CATCHES && o->blocks.read_ns < o->live->stopped_ns)
		o->state = OLDER_WRITES;
	if (o->state == OLDER_WRITES)
		write_some(o, SIZE_MAX);
	else if (o->state != OLDER_OVER)
		give_up(o, "the recording ended before its heap was read");
}

static void tick(void *ctx, uint64_t now_ns)
{
	struct older_blocks *o = ctx;
	if (o->live->stopped_ns && o->state != OLDER_OVER)
		settle(o);
	consumer_tick(o->to, now_ns);
}

static int define(void *ctx, const struct definition *d)
{
	return consumer_define(((struct older_blocks *)ctx)->to, d);
}

static uint64_t dropped(void *ctx)
{
	return consumer_dropped(((struct older_blocks *)ctx)->to);
}

void older_blocks_begin(struct older_blocks *o, struct live *l)
{
	*o = (struct older_blocks){ .to = l->h.out, .live = l, .blocks.fd = -1 };
	o->out = (struct consumer){
		.ctx = o, .event = take_event, .define = define, .tick = tick, .done = is_done, .dropped = dropped
	};
	l->h.out = &o->out;
}

void older_blocks_free(struct older_blocks *o)
{
	if (!o->live)
		return;
	end(o);
	free(o->stacks);
}
