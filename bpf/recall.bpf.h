/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Remembered walks. A walk depends on the registers it starts from, the words it reads, and the tables. So if a new
 * walk reaches a frame with the same registers as a frame of this slot's last walk, and the words read from there on
 * are unchanged, it continues as before. Comparing a word costs a tenth of walking a frame.
 *
 * A frame's caller was found by two words, its return address and the saved fp, and both are in the frame that
 * follows. Frames whose step read other words, or whose code has no table, are walked again.
 *
 * Optimized code keeps data in rbp, which differs from call to call. It matters only to steps that go by it, and to those before
 * them that leave it alone (WALK_FRAME_NEEDS_BP). Other frames are the same whatever their fp, which then is not the remembered one.
 */
#ifndef ALYS_RECALL_BPF_H
#define ALYS_RECALL_BPF_H

/* Frames per call: the verifier follows each of them. */
#define MERGE_FRAMES 12

/*
 * Reads all that an earlier walk needed at once, across page boundaries: it was readable a moment ago. Whole lines: they are copied
 * faster than a part of one.
 */
static __always_inline int window_reach(struct walk_slot *w, __u64 at, __u64 top)
{
	w->s.window_sz = 0;
	if (at & 7 || top - at < 8)
		return RULE_STOP;
	at &= -WINDOW_ALIGN;
	__u64 span = (top - at + WINDOW_ALIGN - 1) & -WINDOW_ALIGN;
	if (span > WINDOW_SZ)
		span = WINDOW_SZ;
	if (bpf_probe_read_user(w->window, span, (void *)at)) {
		span = USER_PAGE - (at & (USER_PAGE - 1));
		if (span > WINDOW_SZ || bpf_probe_read_user(w->window, span, (void *)at))
			return RULE_FAULT;
	}
	w->s.window_at = at;
	w->s.window_sz = span;
	return RULE_OK;
}

enum { RECALL_SAME, RECALL_OTHER, RECALL_AWAY };

/* Is the saved fp part of the step from f to next? */
static __always_inline bool step_has_bp(const struct walk_frame *f, const struct walk_frame *next)
{
	return !(f->at & WALK_FRAME_KEEPS_BP) && next->at & WALK_FRAME_NEEDS_BP;
}

/* fp after the step from f, whose words are in the window. */
static __always_inline __u64 step_bp(const struct walk_slot *w, const struct walk_frame *f, __u64 bp)
{
	__u64 off = (f->at & ~WALK_FRAME_FLAGS) - w->s.window_at;
	return f->at & WALK_FRAME_KEEPS_BP ? bp : w->window[(off >> 3) & (WINDOW_WORDS - 1)];
}

/*
 * Would the step from f lead to next again? Up to two words are compared. *away: the word to be read first; fp lies below the return
 * address.
 */
static __always_inline int step_is(const struct walk_slot *w, const struct walk_frame *f, const struct walk_frame *next,
				   __u64 *away)
{
	__u64 begin = w->s.window_at, end = w->s.window_sz;
	if (f->at & WALK_FRAME_OPAQUE)
		return RECALL_OTHER;
	if (STEP_READS_NOTHING(f))
		return RECALL_SAME;
	*away = f->at & ~WALK_FRAME_FLAGS;
	__u64 off = *away - begin;
	if (off >= end)
		return RECALL_AWAY;
	if (step_has_bp(f, next) && CODE_ADDRESS(w->window[(off >> 3) & (WINDOW_WORDS - 1)] ^ next->bp))
		return RECALL_OTHER;
	*away = RETURN_AT(f, next);
	off = *away - begin;
	if (off >= end)
		return RECALL_AWAY;
	return CODE_ADDRESS(w->window[(off >> 3) & (WINDOW_WORDS - 1)] ^ next->ip) ? RECALL_OTHER : RECALL_SAME;
}

/* Reads the word that was away, and what follows it. */
static __always_inline int recall_more(struct walk_slot *w)
{
	return window_reach(w, w->s.wanted, frame_of(w, w->s.old + w->s.old_n - 1)->sp) == RULE_OK ? RECALL_SAME : RECALL_OTHER;
}

static __always_inline bool bp_is(const struct walk_state *s, const struct walk_frame *f)
{
	return f->bp == s->bp || !(f->at & WALK_FRAME_NEEDS_BP);
}

/* Begins a new walk. */
static __always_inline void walk_renew(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	s->old = w->m.first;
	s->old_n = config.recall ? w->m.kept : 0;
	s->recalled = 0;
	s->opaque = 0;
	w->m.kept = 0; /* until the walk is done */
	w->rec.n = 0;
	w->rec.end = ALYS_STOP_UNKNOWN;
	w->rec.hash = s->hash;
	s->next = 0;
	s->new = s->old ^ WALK_REMEMBERED;
	s->bp_from = 0;
	s->bp_old = 0;
	s->no_row = 0;
	s->probe_at = 0;
	s->max = config.max_frames;
	s->may_sleep = config.walk == ALYS_WALK_SLEEP;
	s->by_fp = 0;
	s->signal = 0;
	s->far = 0;
	s->at = 0;
}

/* The first frames. Global, so that it is verified once. */
__noinline int walk_open(__u32 slot)
{
	struct walk_slot *w = slot_at(slot);
	if (!w)
		return WALK_DONE;
	lists_find(w);
	walk_renew(w);
	return walk_on(slot);
}

/* Advances to the first frame of the last walk that lies no lower than this one. */
static __always_inline void old_frames_pass(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	__u32 k = s->next;
	for (int i = 0; i < MERGE_FRAMES; i++) {
		if (k + 1 >= s->old_n || frame_of(w, s->old + k)->sp >= s->sp)
			break;
		k++;
	}
	s->next = k;
}

static __always_inline bool is_at(const struct walk_state *s, const struct walk_frame *f)
{
	return f->ip == s->ip && f->sp == s->sp && bp_is(s, f) && !(f->at & WALK_FRAME_BY_FP) == !s->by_fp;
}

/* As frame n, with its own fp; goes on to the next one's. */
static __always_inline void frame_copy(struct walk_slot *w, const struct walk_frame *f, __u32 n)
{
	struct walk_state *s = &w->s;
	struct walk_frame *to = frame_of(w, s->new + n);
	to->ip = f->ip;
	to->sp = f->sp;
	to->bp = s->bp;
	to->at = f->at;
	if (!(f->at & WALK_FRAME_USES_BP))
		to->at &= ~WALK_FRAME_NEEDS_BP;
	else
		s->bp_old |= s->bp_from < n;
	if (!(f->at & WALK_FRAME_KEEPS_BP))
		s->bp_from = n + 1;
	s->bp = step_bp(w, f, s->bp);
}

/*
 * The current frame is known from the last walk: copies what follows it there, as long as the steps are the same. Not inline, for
 * kernel 6.1: the compiler would enter this loop in its middle, which its verifier refuses (back-edge).
 */
static __noinline int frames_take_over(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	__u64 away = 0;
	int is = RECALL_SAME;
	for (int left = MERGE_FRAMES; left; left--) {
		__u32 n = w->rec.n;
		if (s->next + 1 >= s->old_n || n + 1 >= WALK_REMEMBERED || n >= s->max)
			break;
		struct walk_frame *f = frame_of(w, s->old + s->next);
		is = step_is(w, f, frame_of(w, s->old + s->next + 1), &away);
		if (is != RECALL_SAME)
			break;
		frame_copy(w, f, n);
		frame_add(w, f->ip);
		s->next++;
	}
	s->wanted = away;
	return is;
}

/* Does the walk continue like the last one? Then as far as it does, but only some frames per call. */
static __always_inline bool walk_merge(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	__u32 n = w->rec.n;
	if (!n)
		return false;
	old_frames_pass(w);
	if (!is_at(s, frame_of(w, s->old + s->next)))
		return false;
	int is = frames_take_over(w);
	struct walk_frame *f = frame_of(w, s->old + s->next);
	s->ip = f->ip;
	s->sp = f->sp;
	s->by_fp = !!(f->at & WALK_FRAME_BY_FP);
	s->ip_at = RETURN_PROBE_AT(f->sp);
	if (w->rec.n != n)
		link_lose(s);
	s->recalled |= w->rec.n != n;
	return is == RECALL_AWAY ? recall_more(w) == RECALL_SAME : w->rec.n != n;
}

/* From the outermost frame inwards: whose fp is that of a frame that needs it? Global, so that it is verified once. */
__noinline int frames_need_bp(__u32 slot)
{
	struct walk_slot *w = slot_at(slot);
	__u64 needs = 0;
	if (!w)
		return 0;
	for (__u32 i = 1; i <= WALK_REMEMBERED; i++) {
		if (i > w->m.kept)
			break;
		struct walk_frame *f = frame_of(w, w->m.first + w->m.kept - i);
		__u64 keeps_bp = -(f->at / WALK_FRAME_KEEPS_BP & 1);
		needs = (f->at | (needs & keeps_bp)) & WALK_FRAME_NEEDS_BP;
		f->at |= needs;
	}
	return 0;
}

/* The walk is over and becomes the slot's last one. Words read after the last step are not remembered. */
static __always_inline void walk_keep(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	bool all = s->kept <= WALK_REMEMBERED;
	w->m.first = s->new;
	w->m.kept = all ? s->kept : WALK_REMEMBERED;
	if (s->bp_old)
		frames_need_bp(w->number);
	w->m.sure = all && !s->opaque && w->rec.end != ALYS_STOP_FAULT;
}

#endif
