/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process heaps of the Erlang VM. A process allocates by moving a pointer (htop) in its own heap, which no probe sees. When the
 * heap is full, and when the process ends, one probe reads how many words that were since the last collection. The stack is
 * Erlang's own: it lies at the upper end of the heap, [stop, hend), and each word in it is either a tagged term or a return
 * address or, with frame pointers, an address in the stack.
 */
#ifndef ALYS_BEAM_BPF_H
#define ALYS_BEAM_BPF_H

#include "erlang_function.bpf.h"

#define WORD_SZ 8
#define ADDRESSES (1ull << 47) /* no heap is larger than what a process can address */
#define WORDS_UNROLLED 64      /* of a stack, on kernels without bpf_loop */
#define TERM_TAG 3             /* low bits: never 0 in a term on the stack */

static __noinline int beam_read(struct beam_heap *h, const struct alys_beam *at, __u64 process)
{
	bool ok = at->htop && read_word(&h->id, process) && read_word(&h->heap, process + at->heap) &&
		  read_word(&h->high_water, process + at->high_water) && read_word(&h->htop, process + at->htop) &&
		  read_word(&h->stop, process + at->stop) && read_word(&h->hend, process + at->hend) &&
		  read_word(&h->heap_sz, process + at->heap_sz) && read_word(&h->mbuf_sz, process + at->mbuf_sz) &&
		  read_word(&h->abandoned, process + at->abandoned);
	h->minors = 0;
	if (at->gen_gcs && bpf_probe_read_user(&h->minors, sizeof(h->minors), (void *)(process + at->gen_gcs)))
		return 0;
	return ok && h->heap && h->heap <= h->htop && h->htop <= h->stop && h->stop <= h->hend;
}

/*
 * Bytes allocated since the last collection. While a collection is put off, a fragment serves as the heap: what the process had
 * allocated before is counted already. False if the words do not agree with each other.
 */
static __noinline int beam_allocated(const struct beam_heap *h, __u64 *out)
{
	if (h->abandoned) {
		*out = h->htop - h->heap;
		return *out < ADDRESSES;
	}
	*out = h->htop - h->high_water + WORD_SZ * h->mbuf_sz;
	return *out < ADDRESSES && h->mbuf_sz < ADDRESSES && h->heap <= h->high_water && h->high_water <= h->htop &&
	       h->hend - h->heap == WORD_SZ * h->heap_sz;
}

#define BEAM_WORDS 512 /* of a stack, at most */

/* A scan over the stack, word by word. */
struct beam_scan {
	struct walk_slot *w;
	__u64 heap, size;
	__u32 words;
	__u32 n; /* frames so far */
};

/* 1: the scan is over. */
static long beam_step(__u32 i, struct beam_scan *s)
{
	struct walk_slot *w = s->w;
	__u32 n = s->n;
	if (i >= s->words || i >= BEAM_WORDS)
		return 1;
	__u64 word = w->window[i];
	if (!word || word & TERM_TAG || word - s->heap <= s->size)
		return 0;
	if (n >= config.max_frames || n >= ALYS_MAX_FRAMES) {
		w->rec.end = ALYS_STOP_TRUNCATED;
		return 1;
	}
	w->ips[n] = word;
	w->rec.hash = stack_mix(w->rec.hash, word);
	s->n = n + 1;
	return 0;
}

static __noinline int beam_scan(struct beam_scan *s)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(BEAM_WORDS, beam_step, s, 0);
		return 0;
	}
	for (__u32 i = 0; i < WORDS_UNROLLED; i++) {
		if (beam_step(i, s))
			return 0;
	}
	if (s->words > WORDS_UNROLLED)
		s->w->rec.end = ALYS_STOP_TRUNCATED;
	return 0;
}

/*
 * From the probe to the outermost Erlang function; at most BEAM_WORDS words. Functions written in C are not in it.
 * function: the one that called the VM, where the stack does not have it; else 0.
 */
static __noinline int beam_walk(struct pt_regs *ctx, struct walk_slot *w, const struct beam_heap *h, __u64 function)
{
	__u64 words = (h->hend - h->stop) / WORD_SZ;
	struct beam_scan s = { .w = w, .heap = h->heap, .size = h->hend - h->heap, .n = 1 };
	s.words = words < BEAM_WORDS ? words : BEAM_WORDS;
	w->m.kept = 0; /* no walk by tables may go on from here */
	slot_renew(w);
	w->ips[0] = PT_REGS_IP(ctx);
	w->rec.hash = stack_mix(stack_owner(), w->ips[0]);
	if (function && config.max_frames > 1) {
		w->ips[s.n++] = function;
		w->rec.hash = stack_mix(w->rec.hash, function);
	}
	w->rec.end = words <= BEAM_WORDS ? ALYS_STOP_COMPLETE : ALYS_STOP_TRUNCATED;
	if (bpf_probe_read_user(w->window, s.words * WORD_SZ, (void *)h->stop))
		w->rec.end = ALYS_STOP_FAULT;
	else
		beam_scan(&s);
	w->rec.n = s.n;
	w->rec.memory = 0;
	return 0;
}

static __noinline __u64 beam_stack(struct pt_regs *ctx, const struct beam_heap *h, __u64 function)
{
	struct walk_slot *w = stack_slot();
	if (!w)
		return stack_missing();
	beam_walk(ctx, w, h, function);
	return walk_finish(w);
}

#define GOLDEN 0x9e3779b97f4a7c15ull /* 2^64 / the golden ratio: multiplicative hashing */

/*
 * Was the collection put off at which the process was met last? Where words were asked for, a fragment serves as the heap then. A heap that
 * was collected may be in the same block again, but has other survivors, or one minor collection more, or fewer words in heap or fragments.
 * Between windows nothing is known.
 */
static __always_inline bool beam_put_off(const struct beam_past *p, const struct beam_heap *h)
{
	bool same = p->heap == h->heap && p->hend == h->hend && p->high_water == h->high_water && p->minors == h->minors;
	return p->stays && same && p->htop <= h->htop && p->mbuf_sz <= h->mbuf_sz && p->window == windows_opened;
}

/* Bytes that no probe has met. A collection that is put off meets probes more than once, and what is allocated meanwhile comes on top. */
static __always_inline __u64 beam_unmet(struct beam_past *p, const struct beam_heap *h, bool put_off, __u64 size)
{
	__u64 met = put_off && p->counted <= size ? p->counted : 0;
	p->stays = !h->need;
	p->minors = h->minors;
	p->high_water = h->high_water;
	p->htop = h->htop;
	p->mbuf_sz = h->mbuf_sz;
	p->heap = h->heap;
	p->hend = h->hend;
	p->window = windows_opened;
	p->counted = size;
	return size - met;
}

/* What the last collection left. */
static __always_inline void beam_collected(struct beam_past *p, const struct alys_beam *at, const struct beam_heap *h)
{
	if (p->heap_sz) {
		count(ALYS_ST_HEAP_COLLECTED);
		count_sum(ALYS_ST_HEAP_KEPT, h->high_water - h->heap);
		if (h->hend - h->heap > p->heap_sz)
			count(ALYS_ST_HEAP_GREW);
		if (at->gen_gcs)
			count(h->minors ? ALYS_ST_HEAP_MINOR : ALYS_ST_HEAP_MAJOR);
	}
	p->heap_sz = h->hend - h->heap;
}

static __always_inline struct beam_past *beam_past_of(__u64 process)
{
	__u32 slot = (process * GOLDEN) >> 50;
	return bpf_map_lookup_elem(&beam_pasts, &slot);
}

/*
 * The heap-fulls before this one, which is added to them; its size becomes what no probe has met. Only one thread executes a process at a
 * time.
 */
static __noinline __u32 beam_past(__u64 process, const struct alys_beam *at, const struct beam_heap *h, __u64 *size)
{
	struct beam_past *p = beam_past_of(process);
	if (!p)
		return 0;
	if (p->process != process || p->id != h->id)
		*p = (struct beam_past){ .process = process, .id = h->id };
	bool put_off = beam_put_off(p, h);
	if (!put_off && !h->abandoned)
		beam_collected(p, at, h);
	*size = beam_unmet(p, h, put_off, *size);
	__u32 past = p->sizes;
	p->sizes = past << BEAM_PAST_BITS | (*size * GOLDEN) >> (64 - BEAM_PAST_BITS);
	return past << 2; /* three */
}

/* The heap-full as an allocation, in the thread's room. False if the words of the process are not to be read. */
static __noinline int beam_begin(struct call_room *room, const struct alys_object *o, __u64 process, __u32 need)
{
	struct pending *p = &room->now;
	*p = no_call;
	room->beam.need = need;
	if (!beam_read(&room->beam, &o->beam, process) || !beam_allocated(&room->beam, &p->size))
		return 0;
	__u64 all = p->size;
	__u32 past = beam_past(process, &o->beam, &room->beam, &p->size);
	p->batch = config.interval ? past : 0;
	bool only_met = all && !p->size;
	if (!only_met && p->size >= config.min_size) {
		p->interval = config.interval ? sample_point(p->size) : 0;
		p->sampled = p->interval || !config.interval;
	}
	p->flags = ALYS_F_UNFOLLOWED | ALYS_F_HEAPFUL | (config.windowed && !o->beam.counted ? ALYS_F_PLAIN : 0);
	return 1;
}

/*
 * How the VM permutes the bits of a pid, so that processes that began one after the other do not share a line of the cache in its
 * table (erl_ptab.h, struct ErtsPTabReadOnlyData): it is line << line_shift | slot, and the pid's own order slot << slot_shift | line.
 */
struct beam_table {
	__u64 mask, line_mask, slot_mask;
	__u32 line_shift, slot_shift;
};

static __always_inline bool beam_table_fits(const struct beam_table *t)
{
	return t->line_shift < 32 && t->slot_shift < 32 && t->slot_mask + 1 == 1ull << t->line_shift &&
	       t->line_mask + 1 == 1ull << t->slot_shift && t->mask + 1 == 1ull << (t->line_shift + t->slot_shift);
}

/* What identifies the process: its pid, which is the first word of it, or else its address. */
static __noinline __u64 beam_pid(const struct alys_beam *at, __u64 bias, __u64 process)
{
	struct beam_table t;
	__u64 id, number;
	if (!at->pid_bits || at->pid_bits > ALYS_PID_NUMBER_BITS || !read_word(&id, process) ||
	    (id & ((1 << ALYS_PID_TAG_BITS) - 1)) != ALYS_PID_TAG)
		return process;
	__u64 data = id >> ALYS_PID_TAG_BITS;
	if (!at->pid_table) {
		data &= (1 << ALYS_PID_NUMBER_BITS) - 1; /* behind these is the index in the table */
	} else {
		if (bpf_probe_read_user(&t, sizeof(t), (void *)(bias + at->pid_table)) || !beam_table_fits(&t))
			return process;
		data = (data & ~t.mask) | (data & t.mask) >> t.line_shift | (data & t.slot_mask) << t.slot_shift;
	}
	number = data & ((1ull << at->pid_bits) - 1);
	data >>= at->pid_bits;
	return (data << ALYS_PID_NUMBER_BITS | number) << ALYS_PID_TAG_BITS | ALYS_PID_TAG;
}

static __noinline __u64 beam_registered(const struct alys_beam *at, __u64 process)
{
	__u64 entry = 0, name = 0;
	if (!read_word(&entry, process + at->registered) || !entry || !read_word(&name, entry + at->registered_name))
		return 0;
	return name;
}

#define MET_ONCE 2 /* no atom */

/*
 * Sends what the process is called, unless that has been sent. If the ring is full, its next heap-full does. Of those without a registered
 * name most fill no second heap, and are not worth it.
 */
static __noinline int beam_name(const struct alys_beam *at, __u64 process, __u64 pid)
{
	struct beam_past *p = beam_past_of(process);
	__u64 name = at->registered ? beam_registered(at, process) : 0, mark = name | 1; /* of an atom it is set */
	if (!at->initial || !p || p->process != process || p->named == mark)
		return 0;
	if (!p->named && !name) {
		p->named = MET_ONCE;
		return 0;
	}
	struct alys_ev_named *e = ring_reserve(sizeof(*e));
	if (!e)
		return 0;
	head_fill(&e->h, ALYS_EV_NAMED);
	e->process = pid;
	e->registered = name;
	if (bpf_probe_read_user(e->initial, sizeof(e->initial), (void *)(process + at->initial)))
		e->initial[0] = 0;
	ring_submit(e, sizeof(*e), wakes(0));
	p->named = mark;
	return 0;
}

static __noinline int beam_end(struct pt_regs *ctx, const struct alys_site *site, const struct alys_object *o,
			       struct call_room *room)
{
	const struct alys_beam *at = &o->beam;
	__u64 bias = bias_of(ctx, site);
	struct pending *p = &room->now;
	if (!p->sampled) {
		count(ALYS_ST_UNSAMPLED);
		return 0;
	}
	note_window(site, p);
	p->stack = beam_stack(ctx, &room->beam, erlang_function(ctx, o, bias));
	__u64 process = argument(ctx, site->arg[0]), pid = beam_pid(at, bias, process);
	emit_alloc(p, pid);
	beam_name(at, process, pid);
	return 0;
}

/* Words that the call asks for. */
static __always_inline __u32 beam_need(struct pt_regs *ctx, const struct alys_site *site)
{
	return site->arg[1] == site->arg[0] ? 0 : argument(ctx, site->arg[1]);
}

/* The thread's room; NULL if the hit is not wanted. A heap has to be read whether or not the call is sampled. */
static __noinline struct call_room *beam_take(struct pt_regs *ctx)
{
	const struct alys_site *site = wanted_call(ctx);
	const struct alys_object *o = site ? object_of(site) : NULL;
	if (!o)
		return NULL;
	count(ALYS_ST_HIT_ALLOC);
	__u64 begun = sample_begins();
	struct call_room *room = thread_room();
	if (!room)
		count_loss(ALYS_ST_LOST_PENDING);
	else if (!beam_begin(room, o, argument(ctx, site->arg[0]), beam_need(ctx, site)))
		count_loss(ALYS_ST_LOST_READ);
	else
		beam_end(ctx, site, o, room);
	charge_sample(begun);
	return room;
}

#define TIMED_EVERY 16 /* a power of two */

/* Begins to time the call, or not: chosen at random, because programs repeat themselves. 0 if its return must be seen. */
static __noinline int beam_time(struct call_room *room)
{
	if (!room)
		return 1;
	room->collecting = bpf_get_prandom_u32() & (TIMED_EVERY - 1) ? 0 : bpf_ktime_get_ns();
	return !room->collecting;
}

/* At the end of a call, chosen or not: a collection runs on its thread from begin to end. */
static __noinline int beam_timed(void)
{
	struct call_room *room = recording ? thread_room() : NULL;
	if (!room || !room->collecting)
		return 0;
	__u64 took = bpf_ktime_get_ns() - room->collecting, units = took >> ALYS_HEAP_TIME_SHIFT;
	room->collecting = 0;
	count(ALYS_ST_HEAP_TIMED);
	count_sum(ALYS_ST_HEAP_TIME, took);
	count_sum(ALYS_ST_HEAP_TIME_SQUARES, units * units);
	return 0;
}

/* Of a chosen call: that its return traps was asked for at its entry. */
static __always_inline int beam_return(void)
{
	charge_return();
	return beam_timed();
}

SEC("uprobe")
int heapful(struct pt_regs *ctx)
{
	beam_time(beam_take(ctx));
	return 0;
}

SEC("uprobe")
int heapful_exit(struct pt_regs *ctx)
{
	return wanted_site(ctx) ? beam_timed() : 0;
}

#endif
