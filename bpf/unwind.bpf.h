/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stack walk over unwind rows (rows.h): from the registers at a probe to the bottom of the stack,
 * without frame pointers. In: a walk slot prepared by walk_begin. Out: rec.n addresses in ips, how it
 * ended in rec.end, their hash. It sends nothing. Also compiled for the host (tests/bpfhost).
 *
 *   known_find (is the stack known? see known.bpf.h; then nothing is walked)
 *   walk_tables (in the main program)
 *     walk_open (global: the first frames)
 *     walk_turns, walk_on (global: verified once; 6 frames a call)
 *       walk_merge (takes over frames of the last walk, see recall.bpf.h)
 *       walk_frames
 *         row_lookup (global), window_fill, rule_special (rare or slow paths), rules of one machine (frame.bpf.h)
 *     walk_resolve (global: looks for a return probe)
 *     walk_fetch (global: reads in a page, and may sleep)
 *
 * What every walk passes is inline: on processors that guard returns against speculation, each return of a function or a
 * helper costs over 10 ns, and an event had fifty of them.
 *
 * A walk may sleep, and others may preempt it. So its state lives in a claimed slot, and programs that walk keep their own
 * stack (own_stack.bpf.h).
 */
#ifndef ALYS_UNWIND_BPF_H
#define ALYS_UNWIND_BPF_H

#include "machine.bpf.h"
#include "unwind_maps.bpf.h"
#include "walk_start.bpf.h"

#define WALK_SLOTS 512 /* at most; a walk that finds none of WALK_SLOTS_NEAR free is counted */
#define WALK_SLOTS_OF_CPU 8
#define WALK_SLOTS_NEAR 64
#define WALK_REMEMBERED 128 /* frames, a power of two: the outer ones of deeper stacks are walked each time */
#define WALK_FRAMES 6       /* per call of walk_on */
#define WALK_FRAMES_FIRST 2
#define WALK_TURNS 16
/* Enough for all frames, and for as many page faults. */
#define WALK_CALLS (ALYS_MAX_FRAMES / WALK_FRAMES)
#define WINDOW_SZ 16384
#define WINDOW_NEXT 1024 /* what is read when the length of the walk is unknown */
#define WINDOW_WORDS (WINDOW_SZ / 8)
/*
 * A window begins at such an address, and the copy of it, too. Else some processors read beyond the end of what is copied; where that
 * is a page that is not mapped, as behind a fiber's stack, they try each time, and take six times as long.
 */
#define WINDOW_ALIGN 64
#define PAGE_CACHE_BITS 16
#define USER_PAGE 4096
/* If fp is further above sp than this, it is not taken for a frame pointer. */
#define FP_SPAN (1 << 20)
/* uprobes refuse to nest deeper (MAX_URETPROBE_DEPTH). */
#define RETURN_PROBES 64
#define ROW_MISS 0xffffffffu /* no row looks like this: its pc bits are zero */

/* The current frame's registers, and the state of the walk. */
struct walk_state {
	__u64 ip; /* return address; of a frame interrupted by a signal, its pc + 1 */
	__u64 sp, bp;
	__u64 ip_at;             /* names a pending return probe, see RETURN_PROBE_AT */
	__u64 entry_cfa;         /* of the probed function */
	__u64 salt;              /* of the mapping list */
	__u64 cfa, bp_at, ra_at; /* of the current rule */
	__u64 window_at;
	__u64 wanted;     /* address that could not be read without sleeping */
	__u64 missed;     /* first address in no mapping, 0 = none */
	__u64 no_row;     /* the last one, known to be no trampoline either */
	__u64 probe_at;   /* the last ip_at that was checked for a return probe */
	__u64 at;         /* the same as in struct walk_frame */
	__u64 hash;       /* initial value of rec.hash */
	__u64 from;       /* where the first window begins: at or below the lowest word of the stack that the walk may read */
	__u64 root, key;  /* in `branches`: where it begins, and where it is known, or will be */
	__u64 branch;     /* at root, when the walk began */
	__u64 value;      /* of the word that was looked for */
	__u64 walked;     /* rec.hash when it had ended */
	__u64 sent;       /* see stack_send */
	__u64 known_salt; /* of the mapping list by which a known stack was walked */
	struct walk_link link;
	__u32 window_sz;
	__u32 first, n_maps; /* run in `mappings` */
	__u32 max;
	__u32 old, old_n; /* the last walk's frames: first and number */
	__u32 next;       /* of these: the first that lies no lower than the current frame */
	__u32 new;        /* first of this walk's frames */
	__u32 kept;       /* how many */
	__u32 bp_from;    /* first of them that has the current fp */
	__u32 words;      /* listed of this walk */
	__u32 depth;      /* branches on the way to key */
	__u32 entry;      /* in known_stacks, of the stack at key, or KNOWN_NOWHERE; then the one that is written */
	__u8 may_sleep;   /* unreadable memory is reported and does not end the walk */
	__u8 by_fp;       /* the last step went by the frame pointer */
	__u8 signal;      /* the current rule is a signal frame */
	__u8 far;         /* the current rule leads to another stack */
	__u8 found;       /* the stack in `entry` is this one */
	__u8 known;       /* the stack was known, and not walked */
	__u8 learns;      /* it will be known if it is walked, or if it was found, that it is sent */
	__u8 recalled;    /* some of the frames were taken from the last walk */
	__u8 opaque;      /* a step cannot be compared */
	__u8 bp_old;      /* a step went by the fp of an inner frame */
	__u8 anywhere;    /* the walk begins at any instruction, not at a function's entry; set by walk_interrupted */
};

/* The registers of a frame, and where its caller's fp was saved; if fp was not saved, where the return address was. */
struct walk_frame {
	__u64 ip, sp, bp;
	__u64 at; /* a multiple of 8, and WALK_FRAME_* */
};

#define WALK_FRAME_BY_FP 1  /* its own registers were found by the frame pointer */
#define WALK_FRAME_OPAQUE 2 /* the step to its caller cannot be compared: it read other words, or no table knew it */
#define WALK_FRAME_KEEPS_BP 4
#define WALK_FRAME_USES_BP (1ull << 62)  /* the step to its caller goes by its fp */
#define WALK_FRAME_NEEDS_BP (1ull << 63) /* so does that step, or the step of an outer frame with the same fp */
#define WALK_FRAME_BY_BP (WALK_FRAME_USES_BP | WALK_FRAME_NEEDS_BP)
#define WALK_FRAME_FLAGS (7 | WALK_FRAME_BY_BP)

/* What the slot remembers: of its last walk, and of how many came again. */
struct walk_memory {
	__u64 owner;    /* process and program: initial value of its stack hashes */
	__u64 changes;  /* map_list_changes + 1 when its mapping list was looked up */
	__u32 first;    /* in `frames`: 0 or WALK_REMEMBERED */
	__u32 kept;     /* frames; 0 = nothing */
	__u32 to_learn; /* walks whose stack is not known, until one of them is learned */
	__u32 worth;    /* so many stacks may be looked for in vain */
	__u8 sure;      /* all of it follows from its first registers and the words that can be compared */
};

struct walk_slot {
	struct alys_ev_stack rec; /* sent as it is, with rec.n of ips */
	__u64 ips[ALYS_MAX_FRAMES];
	struct walk_state s;
	struct walk_memory m;
	__u32 busy;                                                        /* the slot is claimed */
	__u32 number;                                                      /* in walk_slots */
	struct walk_frame frames[2 * WALK_REMEMBERED];                     /* the last walk's, and this one's */
	__u64 window[WINDOW_WORDS] __attribute__((aligned(WINDOW_ALIGN))); /* of the target's stack */
};

/*
 * Walks in progress. Plain array instead of per-CPU memory: while one task sleeps in its walk, another one on the same
 * CPU may begin. Written and read by the walk that has claimed the slot.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALK_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE); /* so they begin on a page, and windows are aligned */
	__type(key, __u32);
	__type(value, struct walk_slot);
} walk_slots SEC(".maps") __weak;

/*
 * Recently found rows, direct-mapped, all processes together: 44 bits of the salted pc, then the row. One load replaces
 * both searches. Entries are whole words, so a reader sees an old or a new one.
 */
__u64 pc_cache[1 << PAGE_CACHE_BITS] __weak = {};

enum { WALK_DONE, WALK_MORE, WALK_FAULT, WALK_MISS };
enum { RULE_OK, RULE_STOP, RULE_FAULT };

static __always_inline struct walk_slot *slot_at(__u32 slot)
{
	return bpf_map_lookup_elem(&walk_slots, &slot);
}

static __always_inline struct walk_slot *slot_try(__u32 near)
{
	__u32 slot = near & (config.walk_slots - 1) & (WALK_SLOTS - 1);
	struct walk_slot *w = slot_at(slot);
	if (!w || __sync_lock_test_and_set(&w->busy, 1))
		return NULL;
	w->number = slot;
	return w;
}

/*
 * Other processors' spare ones, too: any number of tasks may wait for a page in the middle of their walks. Global, because
 * otherwise the verifier would follow each of the loop's exits through the rest of the program.
 */
__noinline int slot_search(__u32 near)
{
	for (__u32 i = 1; i < WALK_SLOTS_NEAR; i++) {
		struct walk_slot *w = i % WALK_SLOTS_OF_CPU ? slot_try(near + i) : NULL;
		if (w)
			return w->number;
	}
	return -1;
}

/*
 * The processor's first one again and again, which is then in its cache; others if a task there was interrupted in its walk. NULL: none
 * is free.
 */
static __always_inline struct walk_slot *slot_claim(void)
{
	__u32 near = bpf_get_smp_processor_id() * WALK_SLOTS_OF_CPU;
	struct walk_slot *w = slot_try(near);
	return w ?: slot_at(slot_search(near));
}

static __always_inline void slot_release(struct walk_slot *w)
{
	word_release(&w->busy);
}

static __always_inline __u64 stack_mix(__u64 h, __u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

static __always_inline int rule_stop(struct walk_slot *w, __u32 why)
{
	w->rec.end = why;
	return RULE_STOP;
}

/* Never into the next page, which may be unreadable although the word in question is not. */
static __always_inline __u32 window_span(__u64 at)
{
	__u32 span = USER_PAGE - (at & (USER_PAGE - 1));
	return span < WINDOW_NEXT ? span : WINDOW_NEXT;
}

static __noinline int window_fill(struct walk_slot *w, __u64 at)
{
	__u64 begin = at & -WINDOW_ALIGN;
	__u32 span = window_span(begin);
	if (at & 7)
		return rule_stop(w, ALYS_STOP_BAD_CFA);
	w->s.window_sz = 0;
	if (bpf_probe_read_user(w->window, span, (void *)begin)) {
		w->s.wanted = at;
		return RULE_FAULT;
	}
	w->s.window_at = begin;
	w->s.window_sz = span;
	return RULE_OK;
}

/* A read costs the same for 8 bytes and for 1024, and the next frames are most likely in them. */
static __always_inline int stack_word(struct walk_slot *w, __u64 at, __u64 *out)
{
	__u64 off = at - w->s.window_at;
	if (off >= w->s.window_sz || (off & 7)) {
		int filled = window_fill(w, at);
		if (filled != RULE_OK)
			return filled;
		off = at - w->s.window_at;
	}
	*out = w->window[(off >> 3) & (WINDOW_WORDS - 1)];
	return RULE_OK;
}

#include "frame.bpf.h"

/* The last mapping that begins at or before pc. */
static __always_inline struct alys_mapping *mapping_at(__u32 lo, __u32 n, __u64 pc)
{
	/* 16: ALYS_MAX_MAPPINGS is 2^16. lo and n are not masked, so that the verifier can merge states. */
	for (int i = 0; i < 16; i++) {
		if (n <= 1)
			break;
		__u32 half = n >> 1, at = (lo + half) & (ALYS_MAX_MAPPINGS - 1);
		struct alys_mapping *m = bpf_map_lookup_elem(&mappings, &at);
		if (m && m->start <= pc)
			lo += half;
		n -= half;
	}
	lo &= ALYS_MAX_MAPPINGS - 1;
	struct alys_mapping *m = n ? bpf_map_lookup_elem(&mappings, &lo) : NULL;
	return m && pc >= m->start && pc < m->end ? m : NULL;
}

static __always_inline __u32 row_in_page(const struct alys_chunk *c, __u32 lo, __u32 n, __u32 key)
{
	/* 12: a page has at most 4096 rows. */
	for (int i = 0; i < 12; i++) {
		if (n <= 1)
			break;
		__u32 half = n >> 1;
		if (c->w[(lo + half) & (ALYS_CHUNK_WORDS - 1)] <= key)
			lo += half;
		n -= half;
	}
	return c->w[lo & (ALYS_CHUNK_WORDS - 1)] & ALYS_ROW_INFO;
}

_Static_assert(ALYS_MAX_MAPPINGS == 1 << 16, "mapping_at's loop");
_Static_assert(ALYS_PAGE_SHIFT == 12, "row_in_page's loop");

/* maps, maps_cnt: the process' run in `mappings`. Global, so that it is verified once. */
__noinline __u32 row_lookup(__u32 maps, __u32 maps_cnt, __u64 pc)
{
	const __u32 none = ALYS_ROW_SPECIAL_OF(ALYS_ROW_NONE, 0);
	__u32 zero = 0;
	struct alys_mapping *m = mapping_at(maps, maps_cnt, pc);
	if (!m)
		return ROW_MISS;
	__u64 vaddr = pc - m->bias;
	__u64 page = (vaddr >> ALYS_PAGE_SHIFT) - m->page0;
	if (page >= m->pages)
		return none;
	__u32 index = m->chunk, base = m->page_off;
	void *chunk = bpf_map_lookup_elem(&chunks, &index);
	struct alys_chunk *c = chunk ? bpf_map_lookup_elem(chunk, &zero) : NULL;
	if (!c)
		return none;
	__u32 lo = c->w[(base + page) & (ALYS_CHUNK_WORDS - 1)];
	__u32 hi = c->w[(base + page + 1) & (ALYS_CHUNK_WORDS - 1)];
	__u32 key = (vaddr & (USER_PAGE - 1)) << ALYS_ROW_PC_SHIFT | ALYS_ROW_INFO;
	return row_in_page(c, base + lo, hi - lo, key);
}

/* Multiplication by an odd number loses nothing: index and tag together identify 60 bits of the pc. */
static __always_inline __u32 row_at(struct walk_slot *w, __u64 pc)
{
	__u64 h = (pc ^ w->s.salt) * 0x9e3779b97f4a7c15ull;
	__u64 *entry = &pc_cache[h >> (64 - PAGE_CACHE_BITS)];
	__u64 tag = h << 20, seen_row = *(volatile __u64 *)entry;
	if (((seen_row ^ tag) & ~(__u64)ALYS_ROW_INFO) == 0)
		return seen_row & ALYS_ROW_INFO;
	__u32 row = row_lookup(w->s.first, w->s.n_maps, pc);
	if (row != ROW_MISS)
		*(volatile __u64 *)entry = tag | row;
	return row;
}

/* Code without rows: mostly generated code, which keeps frame pointers. */
static __always_inline int rule_fp(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	s->at |= WALK_FRAME_BY_BP;
	if (!s->bp && s->by_fp)
		return rule_stop(w, ALYS_STOP_COMPLETE); /* psABI 3.4.1, AAPCS64 6.4.6: 0 marks the deepest frame */
	if (s->bp < s->sp || s->bp - s->sp > FP_SPAN || (s->bp & 7))
		return rule_stop(w, ALYS_STOP_NO_TABLE);
	s->cfa = s->bp + 16;
	s->bp_at = s->bp;
	s->ra_at = s->bp + 8; /* above the saved fp on all machines */
	s->at |= s->bp_at;
	s->by_fp = 1;
	return RULE_OK;
}

/* The registers are where the kernel has put them. */
static __always_inline int rule_signal(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	int read = stack_word(w, s->sp + SIGNAL_SP, &s->cfa);
	if (read == RULE_OK)
		read = link_of_signal(w);
	if (read != RULE_OK)
		return read;
	s->bp_at = s->sp + SIGNAL_FP;
	s->ra_at = s->sp + SIGNAL_IP;
	s->signal = 1;
	s->at = WALK_FRAME_OPAQUE;
	return RULE_OK;
}

/* Go saves a stack pointer as its distance from the upper end of the goroutine's stack. */
static __always_inline int go_stack(struct walk_slot *w, __u32 g_off, __u64 *at)
{
	__u64 g, hi;
	int read = stack_word(w, w->s.sp + g_off, &g);
	if (read == RULE_OK)
		read = stack_word(w, g + ALYS_SPEC_GO_STACK_HI, &hi);
	if (read == RULE_OK)
		*at = hi - *at;
	return read;
}

static __always_inline int rule_spec(struct walk_slot *w, __u32 index)
{
	struct walk_state *s = &w->s;
	struct alys_spec *spec = bpf_map_lookup_elem(&specs, &index);
	if (!spec)
		return rule_stop(w, ALYS_STOP_UNSUPPORTED);
	__u64 cfa = (spec->base_bp ? s->bp : s->sp) + (__s64)spec->off;
	s->at = WALK_FRAME_OPAQUE;
	if (spec->deref) {
		int read = stack_word(w, cfa, &cfa);
		if (read == RULE_OK && spec->far)
			read = go_stack(w, spec->far - ALYS_SPEC_GO, &cfa);
		if (read != RULE_OK)
			return read;
		cfa += (__s64)spec->add;
	}
	s->far = spec->far;
	s->cfa = cfa;
	rule_return(s, spec);
	s->bp_at = 0;
	if (spec->bp == ALYS_SPEC_BP_AT_CFA)
		s->bp_at = cfa + (__s64)spec->bp_off;
	else if (spec->bp == ALYS_SPEC_BP_AT_BP)
		s->bp_at = s->bp + (__s64)spec->bp_off;
	else if (spec->bp == ALYS_SPEC_BP_AT_SP)
		s->bp_at = s->sp + (__s64)spec->bp_off;
	return RULE_OK;
}

static __noinline int rule_special(struct walk_slot *w, __u32 row)
{
	__u32 aux = (row & ~ALYS_ROW_SPECIAL) >> ALYS_ROW_AUX_SHIFT;
	switch (row & ALYS_ROW_KIND) {
	case ALYS_ROW_NONE: return rule_fp(w);
	case ALYS_ROW_END: return rule_stop(w, ALYS_STOP_COMPLETE);
	case ALYS_ROW_PLT: return rule_plt(w, aux);
	case ALYS_ROW_SIGNAL: return rule_signal(w);
	case ALYS_ROW_SPEC: return rule_spec(w, aux);
	default: return rule_stop(w, ALYS_STOP_UNSUPPORTED);
	}
}

/* Replaces the frame's registers by its caller's. Changes nothing before everything has been read. */
static __always_inline int step_up(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	__u64 bp = s->bp, ip;
	/* Unless it is on another stack. */
	if (!s->signal && !s->far && (!frame_grows(s) || (s->cfa & 7)))
		return rule_stop(w, ALYS_STOP_BAD_CFA);
	/* fp first: it lies below, so that a window that begins there holds both. */
	int read = s->bp_at ? stack_word(w, s->bp_at, &bp) : RULE_OK;
	if (read == RULE_OK)
		read = return_read(w, &ip);
	if (read != RULE_OK)
		return read;
	link_pass(s);
	if (s->bp_at)
		s->bp_from = w->rec.n + 1;
	s->bp = bp;
	s->sp = s->cfa;
	/* A return address is looked up one byte before, in the call; the pc of an interrupted instruction is exact. */
	s->ip = ip + s->signal;
	s->ip_at = RETURN_PROBE_AT(s->cfa);
	return RULE_OK;
}

static __always_inline struct walk_frame *frame_of(struct walk_slot *w, __u32 i)
{
	return &w->frames[i & (2 * WALK_REMEMBERED - 1)];
}

static __always_inline void frame_add(struct walk_slot *w, __u64 ip)
{
	__u32 n = w->rec.n;
	barrier_var(n); /* verifier: otherwise clang counts with a pointer that has no bounds */
	w->ips[n & (ALYS_MAX_FRAMES - 1)] = ip;
	w->rec.n = n + 1;
	w->rec.hash = stack_mix(w->rec.hash, ip);
}

static __always_inline int walk_end(struct walk_slot *w, __u32 why)
{
	w->rec.end = why;
	return WALK_DONE;
}

/* The frame belongs to the stack even if the step to its caller failed. */
static __always_inline int frame_take(struct walk_slot *w, __u64 ip, int step)
{
	if (step == RULE_FAULT && w->s.may_sleep)
		return WALK_FAULT;
	frame_add(w, ip);
	if (step == RULE_FAULT)
		w->rec.end = ALYS_STOP_FAULT;
	return step == RULE_OK ? WALK_MORE : WALK_DONE;
}

/* Before the step; rule_keep adds the rule once it is known. */
static __always_inline void frame_keep(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	__u32 n = w->rec.n;
	if (n < WALK_REMEMBERED) {
		struct walk_frame *f = frame_of(w, s->new + n);
		f->ip = s->ip;
		f->sp = s->sp;
		f->bp = s->bp;
		f->at = s->by_fp; /* WALK_FRAME_BY_FP */
	}
	s->kept = n + 1;
}

static __always_inline void rule_keep(struct walk_slot *w)
{
	__u32 n = w->rec.n;
	if (n >= WALK_REMEMBERED)
		return;
	frame_of(w, w->s.new + n)->at |= w->s.at;
	w->s.opaque |= w->s.at & WALK_FRAME_OPAQUE;
	if (w->s.at & WALK_FRAME_NEEDS_BP)
		w->s.bp_old |= w->s.bp_from < n;
}

/* At the probe the caller is found by entry_cfa. */
static __always_inline int frame_first(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	__u64 ip = s->ip;
	s->cfa = s->entry_cfa;
	frame_keep(w);
	rule_entry(s);
	rule_keep(w);
	return frame_take(w, ip, step_up(w));
}

static __always_inline int frame_next(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	int step = RULE_OK;
	frame_keep(w);
	s->at = 0;
	/*
	 * The outermost frame of a fiber or thread has return address 0; after a step by frame pointer, the guess was
	 * wrong.
	 */
	if (!s->ip)
		return walk_end(w, s->by_fp ? ALYS_STOP_NO_TABLE : ALYS_STOP_COMPLETE);
	if (w->rec.n >= s->max)
		return walk_end(w, ALYS_STOP_TRUNCATED);
	__u64 ip = s->ip;
	__u32 row = row_at(w, ip - 1);
	if (row == ROW_MISS) {
		if (s->no_row != ip)
			return WALK_MISS;
		s->at = WALK_FRAME_OPAQUE;
		row = ALYS_ROW_SPECIAL_OF(ALYS_ROW_NONE, 0);
	}
	s->signal = 0;
	s->far = 0;
	if (row & ALYS_ROW_SPECIAL)
		step = rule_special(w, row);
	else
		rule_plain(s, row);
	rule_keep(w);
	if (step == RULE_OK)
		step = step_up(w);
	if ((row & (ALYS_ROW_SPECIAL | ALYS_ROW_KIND)) != ALYS_ROW_SPECIAL_OF(ALYS_ROW_NONE, 0))
		s->by_fp = !!s->far; /* Go keeps frame pointers */
	return frame_take(w, ip, step);
}

/* At first few, before the last walk may be joined: often no more differs than the address that a caller is at. */
static __always_inline int walk_frames(struct walk_slot *w)
{
	bool merges = !w->rec.n && w->s.old_n;
	int r = WALK_MORE;
	if (!w->rec.n && !w->s.anywhere)
		r = frame_first(w);
#pragma unroll
	for (int i = 0; i < WALK_FRAMES; i++) {
		if (r == WALK_MORE && (i < WALK_FRAMES_FIRST || !merges))
			r = frame_next(w);
	}
	return r;
}

/* Finds the process' mappings. Not looked up again if no list has changed since the slot's last walk. */
static __always_inline void lists_find(struct walk_slot *w)
{
	__u64 changes = *(volatile __u64 *)&map_list_changes + 1; /* 0 means a new slot */
	struct walk_state *s = &w->s;
	struct walk_memory *m = &w->m;
	if (config.recall && m->owner == s->hash && m->changes == changes)
		return;
	__u32 tgid = current_tgid();
	struct alys_map_list *list = bpf_map_lookup_elem(&map_lists, &tgid);
	__u64 salt = list ? list->salt : 0;
	if (m->owner != s->hash || s->salt != salt)
		m->kept = 0;
	s->first = list ? list->first : 0;
	s->n_maps = list ? list->n : 0;
	s->salt = salt;
	m->owner = s->hash;
	m->changes = changes;
}

__noinline int walk_on(__u32 slot);

#include "recall.bpf.h"
#include "known.bpf.h"

/*
 * Walks some more frames. Global, so that it is verified once and not for each iteration of the loop around it; takes a
 * number, because old kernels do not allow map values as arguments.
 */
__noinline int walk_on(__u32 slot)
{
	struct walk_slot *w = slot_at(slot);
	int r = WALK_MORE;
	if (!w)
		return WALK_DONE;
	if (!w->s.old_n || !walk_merge(w) || w->s.next + 1 >= w->s.old_n)
		r = walk_frames(w);
	if (r == WALK_DONE)
		walk_keep(w);
	return r;
}

/*
 * A pending return probe has replaced the return address by the kernel's trampoline; the real one is in the task's
 * list, under the address of its frame. Entries for tail calls share both.
 */
static __noinline __u64 return_probe_at(__u64 slot)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct return_instance *ri = BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < RETURN_PROBES; i++) {
		if (!ri)
			break;
		if (BPF_CORE_READ(ri, stack) == slot)
			return BPF_CORE_READ(ri, orig_ret_vaddr);
		ri = BPF_CORE_READ(ri, next);
	}
	return 0;
}

/* The real return address of a frame, if a return probe has replaced it by its trampoline; else 0. */
static __always_inline __u64 caller_hidden(__u64 cfa)
{
	struct uprobe_task *probes = current_task()->utask;
	return probes && probes->return_instances ? return_probe_at(RETURN_PROBE_AT(cfa)) : 0;
}

/*
 * No known mapping contains the address: a trampoline, generated code, or a new mapping. Global, like walk_fetch, so
 * that it is verified once.
 */
__noinline int walk_resolve(__u32 slot)
{
	struct walk_slot *w = slot_at(slot);
	if (!w)
		return 0;
	struct walk_state *s = &w->s;
	__u64 ip = s->ip_at != s->probe_at ? return_probe_at(s->ip_at) : 0;
	s->probe_at = s->ip_at;
	if (ip) {
		s->ip = ip;
		s->opaque = 1;
		return 0;
	}
	s->no_row = s->ip;
	if (!s->missed)
		s->missed = s->ip;
	return 0;
}

/*
 * Reads in the page that the walk waits for. The test of config, which is rodata, is for kernels before 6.8: they
 * verify global functions even if nothing calls them.
 */
__noinline int walk_fetch(__u32 slot)
{
	struct walk_slot *w = slot_at(slot);
	if (!w || config.walk != ALYS_WALK_SLEEP)
		return 0;
	__u64 at = w->s.wanted;
	__u32 span = window_span(at);
	w->s.window_sz = 0;
	if (bpf_copy_from_user(w->window, span, (void *)at)) {
		w->s.may_sleep = 0; /* unmapped: the next fault ends the walk */
		return 0;
	}
	w->s.window_at = at;
	w->s.window_sz = span;
	return 0;
}

/* Nothing is known yet of the stack for which the slot was claimed. */
static __always_inline void slot_renew(struct walk_slot *w)
{
	w->s.missed = 0;
	w->s.found = 0;
	w->s.known = 0;
}

/* If its function has saved the caller's fp, the walk begins with that. */
static __always_inline void fp_restore(struct walk_slot *w, const struct walk_start *at)
{
	struct walk_state *s = &w->s;
	if (at->fp_off && stack_word(w, at->cfa - at->fp_off, &s->bp) != RULE_OK)
		s->bp = 0;
}

/*
 * Starts a walk at a probe. hash is the initial value, by which the stacks of different processes differ. A probe behind the entry of
 * its function is taken for one there: so a call has one stack, wherever in the function it is seen.
 */
static __always_inline void walk_begin(struct pt_regs *ctx, struct walk_slot *w, struct walk_start at, __u64 hash)
{
	struct walk_state *s = &w->s;
	__u64 sp = PT_REGS_SP(ctx);
	barrier_var(sp); /* verifier: clang would choose between two addresses, and then read */
	s->ip = PT_REGS_IP(ctx) - at.into;
	s->sp = at.into ? ENTRY_SP(at.cfa) : sp;
	s->bp = PT_REGS_FP(ctx);
	link_begin(s, ctx);
	s->entry_cfa = at.cfa;
	s->hash = hash;
	s->anywhere = 0;
	s->from = (at.fp_off ? at.cfa - at.fp_off : STACK_FROM(s)) & -WINDOW_ALIGN;
	slot_renew(w);
	window_begin(w);
	fp_restore(w, &at);
}

/*
 * The same for a thread that was interrupted anywhere: its frame is walked like one below a signal frame, from its
 * instruction and not from the one before.
 */
static __always_inline void walk_interrupted(struct pt_regs *regs, struct walk_slot *w, __u64 hash)
{
	walk_begin(regs, w, (struct walk_start){ .cfa = ENTRY_CFA(PT_REGS_SP(regs) & ~7ull) }, hash);
	w->s.ip++;
	w->s.ip_at = 0;
	w->s.anywhere = 1;
}

/* Walks on, until the end or a page that must be read in, for WALK_TURNS at most. Global, so that it is verified once. */
__noinline int walk_turns(__u32 slot)
{
	for (int i = 0; i < WALK_TURNS; i++) {
		int r = walk_on(slot);
		if (r == WALK_DONE || r == WALK_FAULT)
			return r;
		if (r == WALK_MISS)
			walk_resolve(slot);
	}
	return WALK_MORE;
}

static __always_inline void walk_tables(const struct walk_slot *w)
{
	__u32 slot = w->number;
	int r = walk_open(slot);
	for (int i = 0; i < WALK_CALLS && r != WALK_DONE; i++) {
		if (r == WALK_MISS)
			walk_resolve(slot);
		if (config.walk == ALYS_WALK_SLEEP && r == WALK_FAULT)
			walk_fetch(slot);
		r = walk_turns(slot);
	}
}

#endif
