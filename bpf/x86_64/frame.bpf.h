/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How frames are linked on x86-64: each call pushes the return address, so it is at CFA - 8 in every frame. Part of
 * unwind.bpf.h; the twin in ../aarch64 has the same names.
 */
#ifndef ALYS_FRAME_BPF_H
#define ALYS_FRAME_BPF_H

/* The lowest word that a walk reads, before its first step. */
#define STACK_FROM(s) ((s)->entry_cfa - 8)
/* At a function's entry. */
#define ENTRY_CFA(sp) ((sp) + 8)
#define ENTRY_SP(cfa) ((cfa)-8)
/* What a pending return probe calls its frame (struct return_instance, stack). */
#define RETURN_PROBE_AT(cfa) ((cfa)-8)
/* Where the return address was that led from one frame to the next. */
#define RETURN_AT(f, next) ((next)->sp - 8)
/* No step does without. */
#define STEP_READS_NOTHING(f) false

static __always_inline void link_begin(struct walk_state *s, struct pt_regs *ctx)
{
}

static __always_inline int link_of_signal(struct walk_slot *w)
{
	return RULE_OK;
}

static __always_inline void link_pass(struct walk_state *s)
{
}

static __always_inline void link_lose(struct walk_state *s)
{
}

/* Would the probed function return to this address? The word is compared like all others. */
static __always_inline bool link_is(const struct walk_slot *w, __u64 caller)
{
	return true;
}

/* What the walk begins with, beside ip, sp and fp. */
static __always_inline __u64 link_key(const struct walk_state *s)
{
	return 0;
}

/* At a probe no frame has been set up yet: rbp is the caller's. */
static __always_inline void rule_entry(struct walk_state *s)
{
	s->ra_at = s->cfa - 8;
	s->bp_at = 0;
	s->at = s->ra_at | WALK_FRAME_KEEPS_BP;
}

static __always_inline void rule_plain(struct walk_state *s, __u32 row)
{
	__u64 words = (row >> ALYS_ROW_CFA_SHIFT) & ALYS_ROW_CFA_MAX;
	__u64 slot = row & ALYS_ROW_SLOT_MAX;
	s->cfa = (row & ALYS_ROW_BP ? s->bp : s->sp) + 8 * words;
	s->ra_at = s->cfa - 8;
	s->bp_at = slot ? s->ra_at - 8 * slot : 0;
	s->at = slot ? s->bp_at : s->ra_at | WALK_FRAME_KEEPS_BP;
	if (row & ALYS_ROW_BP)
		s->at |= WALK_FRAME_BY_BP;
}

static __always_inline int rule_plt(struct walk_slot *w, __u32 aux)
{
	struct walk_state *s = &w->s;
	s->cfa = s->sp + 8 + (((s->ip - 1) & 15) >= aux ? 8 : 0);
	s->ra_at = s->cfa - 8;
	s->bp_at = 0;
	s->at = s->ra_at | WALK_FRAME_KEEPS_BP;
	return RULE_OK;
}

static __always_inline void rule_return(struct walk_state *s, const struct alys_spec *spec)
{
	s->ra_at = s->cfa - 8;
}

/* A caller's frame lies above, because the stack grows down. */
static __always_inline bool frame_grows(const struct walk_state *s)
{
	return s->cfa > s->sp;
}

static __always_inline int return_read(struct walk_slot *w, __u64 *ip)
{
	return stack_word(w, w->s.ra_at, ip);
}

/* The caller of a probed function whose walk has begun. */
static __always_inline int entry_return(struct walk_slot *w, __u64 cfa, __u64 *ip)
{
	return stack_word(w, cfa - 8, ip);
}

#endif
