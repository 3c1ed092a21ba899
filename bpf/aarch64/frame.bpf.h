/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How frames are linked on aarch64: a call leaves the return address in x30. A function that calls others saves it,
 * mostly beside x29, in a frame record (AAPCS64, 6.4.6); it may be signed there. Part of unwind.bpf.h; the twin in
 * ../x86_64 has the same names.
 */
#ifndef ALYS_FRAME_BPF_H
#define ALYS_FRAME_BPF_H

/*
 * Has the probed function made its own frame record already? Then x29 points to it, below the CFA and not below sp; its
 * caller's would point above (AAPCS64, 6.4.6). No probe is placed where x29 is something else (finder/entry.c).
 */
#define HAS_RECORD(s) ((s)->bp - (s)->sp < (s)->entry_cfa - (s)->sp)
/* The lowest word that a walk reads, before its first step. */
#define STACK_FROM(s) (HAS_RECORD(s) ? (s)->bp : (s)->entry_cfa)
/* At a function's entry. */
#define ENTRY_CFA(sp) (sp)
#define ENTRY_SP(cfa) (cfa)
/* What a pending return probe calls its frame (struct return_instance, stack). */
#define RETURN_PROBE_AT(cfa) (cfa)
/* Where the return address was that led from one frame to the next: beside x29. */
#define RETURN_AT(f, next) (((f)->at & ~(__u64)WALK_FRAME_FLAGS) + 8)
/* The return address of the probed function was in x30, see link_is. */
#define STEP_READS_NOTHING(f) ((f)->at & WALK_FRAME_KEEPS_BP)
/* x30 of a caller: it has held other return addresses since. */
#define LINK_LOST (~0ull)

static __always_inline void link_begin(struct walk_state *s, struct pt_regs *ctx)
{
	s->link.now = CODE_ADDRESS(LINK_REGISTER(ctx));
}

/* x30 of an interrupted function. */
static __always_inline int link_of_signal(struct walk_slot *w)
{
	return stack_word(w, w->s.sp + SIGNAL_LINK, &w->s.link.caller);
}

/* To the caller. */
static __always_inline void link_pass(struct walk_state *s)
{
	s->link.now = s->signal ? CODE_ADDRESS(s->link.caller) : LINK_LOST;
}

/* Frames were taken over from the last walk. */
static __always_inline void link_lose(struct walk_state *s)
{
	s->link.now = LINK_LOST;
}

/* Would the probed function return to this address? In a record the word is compared like all others. */
static __always_inline bool link_is(const struct walk_slot *w, __u64 caller)
{
	return HAS_RECORD(&w->s) || w->s.link.now == caller;
}

/* What the walk begins with, beside ip, sp and fp. */
static __always_inline __u64 link_key(const struct walk_state *s)
{
	return HAS_RECORD(s) ? 0 : s->link.now;
}

/* The caller's x29 and the return address are in the record; before there is one, x29 is the caller's, and x30 the address. */
static __always_inline void rule_entry(struct walk_state *s)
{
	s->bp_at = HAS_RECORD(s) ? s->bp : 0;
	s->ra_at = s->bp_at ? s->bp_at + 8 : 0;
	s->at = (s->bp_at ?: WALK_FRAME_KEEPS_BP) | WALK_FRAME_BY_BP;
}

/*
 * After a step by frame pointer sp is only a lower bound, because a record may lie anywhere in its frame. But x29 is
 * exact, and the row says how far from the CFA it points to. It always points to a record, so no walk does without it.
 */
static __always_inline void rule_plain(struct walk_state *s, __u32 row)
{
	__u64 words = (row >> ALYS_ROW_CFA_SHIFT) & ALYS_ROW_CFA_MAX;
	__u64 slot = row & ALYS_ROW_SLOT_MAX;
	s->cfa = (row & ALYS_ROW_BP ? s->bp : s->sp) + 8 * words;
	if (s->by_fp && slot)
		s->cfa = s->bp + 8 * (slot + 1);
	s->bp_at = slot ? s->cfa - 8 * (slot + 1) : 0;
	s->ra_at = slot ? s->bp_at + 8 : 0;
	s->at = (slot ? s->bp_at : WALK_FRAME_OPAQUE) | WALK_FRAME_BY_BP;
}

/* No such rows here. */
static __always_inline int rule_plt(struct walk_slot *w, __u32 aux)
{
	return rule_stop(w, ALYS_STOP_UNSUPPORTED);
}

static __always_inline void rule_return(struct walk_state *s, const struct alys_spec *spec)
{
	s->ra_at = spec->ra_off ? s->cfa + (__s64)spec->ra_off : 0;
}

/* A caller's frame lies above, unless the function has put nothing on the stack. */
static __always_inline bool frame_grows(const struct walk_state *s)
{
	return s->cfa > s->sp || (s->cfa == s->sp && !s->ra_at);
}

static __always_inline int return_read(struct walk_slot *w, __u64 *ip)
{
	if (!w->s.ra_at) {
		*ip = w->s.link.now;
		return *ip == LINK_LOST ? rule_stop(w, ALYS_STOP_UNSUPPORTED) : RULE_OK;
	}
	int read = stack_word(w, w->s.ra_at, ip);
	*ip = CODE_ADDRESS(*ip);
	return read;
}

/* The caller of a probed function whose walk has begun. */
static __always_inline int entry_return(struct walk_slot *w, __u64 cfa, __u64 *ip)
{
	if (!HAS_RECORD(&w->s)) {
		*ip = w->s.link.now;
		return RULE_OK;
	}
	int read = stack_word(w, w->s.bp + 8, ip);
	*ip = CODE_ADDRESS(*ip);
	return read;
}

#endif
