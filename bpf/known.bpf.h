/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Known stacks. A walk depends on the registers it starts from, the words it reads, and the tables. While these are as they were,
 * the stack is the same, and comparing a word costs a tenth of walking a frame.
 *
 * A stack is looked for by the words in which it differs from others that begin at the same probe and depth: `branches` says which
 * word is the first of them, the value of that word leads to the next branch, or to the stack. Where one stack has a return address,
 * another may have data, of any value. All stacks that have data there share one branch. That is only where to look: all words are
 * compared.
 *
 * A frame's caller was found by two words, its return address and the saved fp. A stack of which a step read other words, or was
 * in code of no mapping, is not known.
 */
#ifndef ALYS_KNOWN_BPF_H
#define ALYS_KNOWN_BPF_H

#include "known_maps.bpf.h"
#include "branches.bpf.h"

/*
 * Where stacks do not come again, looking for them is in vain. A stack that is found is worth some more that are not; when that is
 * used up, one walk in TRY_EVERY is looked for, and learned. Until then, one in LEARN_EVERY of those that were not found. Both are prime,
 * and stacks that were found do not count: else, in a loop that passes the same few probes, it could never be a certain one's turn.
 */
#define WORTH 8
#define WORTH_MOST 64
#define TRY_EVERY 61
#define LEARN_EVERY 5
/* Frames per call: the verifier follows each of them. */
#define LIST_FRAMES 8

/* Reads what walks from here needed until now. */
static __always_inline void window_begin(struct walk_slot *w)
{
	struct walk_state *s = &w->s;
	s->root = stack_mix(s->hash ^ s->ip ^ config.known_secret ^ stack_mix(0, link_key(s)), s->sp);
	s->branch = config.recall ? branch_at(s->root) : 0;
	__u64 reach = branch_reach(s->branch);
	window_reach(w, s->from, s->from + (reach ?: window_span(s->from)));
}

/* Where a stack with these words would be; NULL if there is none. */
static __always_inline struct known_stack *known_key(struct walk_slot *w)
{
	__u64 key = w->s.root, b = w->s.branch;
	__u32 depth;
	for (depth = 0; depth < BRANCH_DEPTH; depth++) {
		__u64 word = b & BRANCH_WORD;
		if (!word || word * 8 > w->s.window_sz)
			break;
		b = branch_next(w, &key, word);
	}
	struct known_stack *k = branch_stack(b, key);
	w->s.key = key;
	w->s.depth = depth;
	w->s.entry = k ? branch_entry(b) : KNOWN_NOWHERE;
	return k;
}

static __always_inline bool known_begins(const struct walk_slot *w, const struct known_stack *k)
{
	const struct walk_state *s = &w->s;
	return k->owner == s->hash && k->ip == s->ip && k->sp == s->sp && k->cfa == s->entry_cfa && link_is(w, k->caller) &&
	       k->reach <= s->window_sz;
}

static __always_inline __u64 word_differs(const struct walk_slot *w, const struct known_words *g, int i)
{
	return CODE_ADDRESS(*(const __u64 *)((const char *)w->window + (g->at[i] & (WINDOW_SZ - 8))) ^ g->value[i]);
}

/* Without a branch for each word, because they nearly always are as before. */
static __always_inline __u64 group_differs(const struct walk_slot *w, const struct known_words *g)
{
	__u64 differs = 0;
#pragma unroll
	for (int i = 0; i < GROUP_WORDS; i++)
		differs |= word_differs(w, g, i);
	return differs;
}

/* Returns the first group that is not as before. */
static __always_inline __u32 words_same(const struct walk_slot *w, const struct known_stack *k)
{
	__u32 n = k->groups, i;
	for (i = 0; i < KNOWN_GROUPS; i++) {
		if (i >= n || group_differs(w, &k->words[i]))
			break;
	}
	return i;
}

#define NO_WORD WINDOW_SZ

/* Offset of the first word of this kind that differs in a group. Not inline: the verifier would follow each combination of words. */
static __noinline __u32 differing_word(const struct walk_slot *w, const struct known_stack *k, __u32 group, __u32 kind)
{
	const struct known_words *g = &k->words[group & (KNOWN_GROUPS - 1)];
	for (int i = 0; i < GROUP_WORDS; i++)
		if ((g->at[i] & WORD_IS_FP) == kind && word_differs(w, g, i))
			return g->at[i] & (WINDOW_SZ - 8);
	return NO_WORD;
}

/* Finds the word at this offset of the stack in s->entry: sets s->value; 0 if it has none there. Global, so that it is verified once. */
__noinline int word_find(__u32 slot, __u32 at)
{
	struct walk_slot *w = slot_at(slot);
	struct known_stack *k = w ? known_at(w->s.entry) : NULL;
	if (!k)
		return 0;
	for (__u32 i = 0; i < KNOWN_GROUPS * GROUP_WORDS; i++) {
		const struct known_words *g = &k->words[i / GROUP_WORDS];
		if (i >= k->groups * GROUP_WORDS)
			break;
		if ((g->at[i & (GROUP_WORDS - 1)] & ~WORD_IS_FP) != at)
			continue;
		w->s.value = CODE_ADDRESS(g->value[i & (GROUP_WORDS - 1)]);
		return 1;
	}
	return 0;
}

/*
 * Another stack begins like the known one, but differs in this group: from now on, both are looked for by the first return address
 * that differs, if it is near, else by the first saved fp. Global, so that it is verified once.
 */
__noinline int branch_grow(__u32 slot, __u32 group)
{
	struct walk_slot *w = slot_at(slot);
	struct known_stack *k = w ? known_at(w->s.entry) : NULL;
	if (!k)
		return 0;
	__u32 at = differing_word(w, k, group, 0);
	if (at == NO_WORD && group + 1 < k->groups)
		at = differing_word(w, k, group + 1, 0);
	if (at == NO_WORD)
		at = differing_word(w, k, group, WORD_IS_FP);
	if (at == NO_WORD || !word_find(slot, at)) /* changed meanwhile */
		return 0;
	__u64 key = w->s.key;
	branch_set(key, branch_reach(branch_at(key)), at / 8 + 1);
	/* If another stack has got the entry meanwhile, that is only looked for in vain from now on. */
	k->key = stack_mix(key, w->s.value);
	branch_set(k->key, 0, BRANCH_ENDS | w->s.entry);
	return 0;
}

static __always_inline bool known_claim(struct known_stack *k, __u32 version)
{
	return !(version & 1) && __sync_val_compare_and_swap(&k->version, version, version + 1) == version;
}

/* Lists have changed. Is this process' still the same? */
static __always_inline bool known_renew(struct walk_slot *w, struct known_stack *k, __u32 *version, __u64 changes)
{
	lists_find(w);
	if (k->salt != w->s.salt || !known_claim(k, *version))
		return false;
	k->changes = changes;
	*version += 2;
	word_publish(&k->version, *version);
	return true;
}

/* Is it the stack of this walk? Then rec has its hash, n and end. */
static __always_inline bool known_is(struct walk_slot *w, struct known_stack *k)
{
	__u32 version = word_acquire(&k->version);
	__u64 changes = *(volatile __u64 *)&map_list_changes + 1;
	if (version & 1 || !k->groups || !known_begins(w, k))
		return false;
	__u32 same = words_same(w, k);
	if (same < k->groups) {
		if (w->s.learns && w->s.depth < BRANCH_DEPTH)
			branch_grow(w->number, same);
		return false;
	}
	if (k->needs_bp && k->bp != w->s.bp)
		return false;
	if (k->changes != changes && !known_renew(w, k, &version, changes))
		return false;
	w->rec.hash = k->hash;
	w->rec.n = k->n;
	w->rec.end = k->end;
	w->s.sent = k->sent;
	w->s.known_salt = k->salt;
	return word_acquire(&k->version) == version;
}

/* Shall the stack be looked for? */
static __always_inline bool known_pays(struct walk_slot *w)
{
	w->s.learns = !w->m.to_learn;
	if (!w->m.worth)
		return w->s.learns;
	w->m.worth--;
	return true;
}

/* Is the walk that begins in this slot known? */
static __always_inline bool known_find(struct walk_slot *w)
{
	struct known_stack *k = known_key(w);
	if (!k || !known_is(w, k))
		return false;
	w->s.found = 1;
	w->m.worth = w->m.worth < WORTH_MOST - WORTH ? w->m.worth + WORTH : WORTH_MOST;
	return true;
}

/* Counts down to the next one that is learned. */
static __always_inline void known_missed(struct walk_slot *w)
{
	__u32 every = w->m.worth ? LEARN_EVERY : TRY_EVERY;
	w->m.to_learn = (w->m.to_learn ?: every) - 1;
}

/* The same for one that is looked for only if that pays. */
static __always_inline bool known_look(struct walk_slot *w)
{
	if (known_pays(w) && known_find(w))
		return true;
	known_missed(w);
	return false;
}

/* Index of a word in the first window; more than it has if the word lies elsewhere. */
static __always_inline __u64 word_index(const struct walk_state *s, __u64 at)
{
	return (at - s->from) / 8;
}

static __always_inline void word_add(struct known_stack *k, __u32 n, __u32 at, __u64 value)
{
	struct known_words *g = &k->words[n / GROUP_WORDS & (KNOWN_GROUPS - 1)];
	g->value[n & (GROUP_WORDS - 1)] = value;
	g->at[n & (GROUP_WORDS - 1)] = at;
}

/* Lists what step_is compares in the step from f to next; false if that is not all in the window. */
static __always_inline bool step_list(struct walk_state *s, struct known_stack *k, const struct walk_frame *f,
				      const struct walk_frame *next)
{
	__u64 saved = word_index(s, f->at & ~WALK_FRAME_FLAGS), back = word_index(s, RETURN_AT(f, next));
	__u32 n = s->words;
	if (STEP_READS_NOTHING(f))
		return true;
	if (saved > back || back >= WINDOW_WORDS || n + 2 > KNOWN_GROUPS * GROUP_WORDS)
		return false;
	word_add(k, n, saved * 8 | WORD_IS_FP, next->bp);
	n += step_has_bp(f, next); /* if not, the next word replaces it */
	word_add(k, n, back * 8, next->ip);
	s->words = n + 1;
	if (k->reach < (back + 1) * 8)
		k->reach = (back + 1) * 8;
	return true;
}

/* Lists the words of some more frames; 0 when it is done, or cannot. Global, so that it is verified once. */
__noinline int words_list(__u32 slot)
{
	struct walk_slot *w = slot_at(slot);
	struct known_stack *k = w ? known_at(w->s.entry) : NULL;
	if (!k)
		return 0;
	for (int i = 0; i < LIST_FRAMES; i++) {
		__u32 at = w->m.first + w->s.next;
		if (w->s.next + 1 >= w->m.kept || !step_list(&w->s, k, frame_of(w, at), frame_of(w, at + 1)))
			return 0;
		w->s.next++;
	}
	return 1;
}

static __always_inline void words_pad(struct walk_slot *w, struct known_stack *k)
{
	__u32 n = w->s.words;
	struct known_words *g = &k->words[(n - 1) / GROUP_WORDS & (KNOWN_GROUPS - 1)];
	__u32 last = (n - 1) & (GROUP_WORDS - 1);
	for (__u32 i = 1; i < GROUP_WORDS; i++) {
		if (i <= last)
			continue;
		g->value[i] = g->value[last];
		g->at[i] = g->at[last];
	}
	k->groups = (n + GROUP_WORDS - 1) / GROUP_WORDS;
}

/* The walk that has ended in this slot, into the entry claimed. */
static __always_inline void known_fill(struct walk_slot *w, struct known_stack *k, __u32 slot)
{
	struct walk_state *s = &w->s;
	struct walk_frame *f = frame_of(w, w->m.first);
	k->groups = 0;
	k->reach = 0;
	k->key = 0;
	k->owner = s->hash;
	k->salt = s->salt;
	k->changes = w->m.changes;
	k->ip = f->ip;
	k->sp = f->sp;
	k->bp = f->bp;
	k->needs_bp = !!(f->at & WALK_FRAME_NEEDS_BP);
	k->cfa = s->entry_cfa;
	k->caller = frame_of(w, w->m.first + 1)->ip;
	k->hash = s->walked;
	k->sent = s->sent;
	k->n = w->rec.n;
	k->end = w->rec.end;
	s->next = 0;
	s->words = 0;
	for (int i = 0; i < WALK_REMEMBERED / LIST_FRAMES; i++) {
		if (!words_list(slot))
			break;
	}
	if (s->words && s->next + 1 >= w->m.kept)
		words_pad(w, k);
}

/*
 * Sets s->key to that of the branch for the stack in s->entry; returns the bytes of stack that hold the words by which branches on the
 * way go. Global, so that it is verified once.
 */
__noinline int known_place(__u32 slot)
{
	struct walk_slot *w = slot_at(slot);
	__u64 reach = 0;
	if (!w)
		return 0;
	w->s.key = w->s.root;
	for (int i = 0; i < BRANCH_DEPTH; i++) {
		__u64 word = branch_at(w->s.key) & BRANCH_WORD;
		if (!word || word & BRANCH_ENDS)
			break;
		reach = word * 8 > reach ? word * 8 : reach;
		w->s.key = stack_mix(w->s.key, word_find(slot, word * 8 - 8) ? w->s.value : BRANCH_DATA);
	}
	return reach;
}

/* Walks from where this one began need so many bytes. */
static __always_inline void reach_raise(const struct walk_state *s, __u64 reach)
{
	__u64 first = branch_at(s->root);
	if (branch_reach(first) < reach)
		branch_set(s->root, reach, first & BRANCH_WORD);
}

/*
 * The stack in s->entry can be found from now on. If it was there already, there is by chance another's return address in its data,
 * so it was looked for elsewhere: it is entered there, too, if nothing else is. The entry of a stack that it replaces is used next.
 */
static __always_inline void known_enter(struct walk_slot *w, struct known_stack *k, const struct known_stack *looked_at,
					__u32 slot)
{
	struct walk_state *s = &w->s;
	__u64 looked_for = s->key;
	__u32 far = known_place(slot);
	const struct known_stack *other = branch_stack(branch_at(s->key), s->key);
	reach_raise(s, far > k->reach ? far : k->reach);
	if (other && other != looked_at && other->hash == k->hash && other->salt == k->salt) {
		if (branch_at(looked_for))
			return;
		s->key = looked_for;
		other = NULL;
	}
	__u64 b = branch_at(s->key);
	k->key = s->key;
	branch_set(s->key, branch_reach(b), BRANCH_ENDS | s->entry);
	*(volatile __u32 *)&known_next = other ? branch_entry(b) : s->entry + 1;
}

/* Is more of the stack needed than a window holds? */
static __always_inline bool known_is_far(struct walk_slot *w)
{
	return word_index(&w->s, frame_of(w, w->m.first + w->m.kept - 1)->sp) > WINDOW_WORDS;
}

/*
 * The walk in this slot has ended, in s->walked. Of a stack that was found, only what says that it was sent is new. Global, so that it
 * is verified once.
 */
__noinline int known_learn(__u32 slot)
{
	struct walk_slot *w = slot_at(slot);
	struct known_stack *looked_at = w ? known_at(w->s.entry) : NULL;
	if (looked_at && w->s.found)
		looked_at->sent = w->s.sent;
	if (!w || w->s.found || !w->m.sure || w->m.kept < 2 || known_is_far(w))
		return 0;
	w->s.entry = *(volatile __u32 *)&known_next & (config.known_stacks - 1);
	struct known_stack *k = known_at(w->s.entry);
	__u32 version = k ? word_acquire(&k->version) : 1;
	if (!k || !known_claim(k, version)) {
		known_next = w->s.entry + 1;
		return 0;
	}
	known_fill(w, k, slot);
	if (k->groups)
		known_enter(w, k, looked_at, slot);
	word_publish(&k->version, version + 2);
	return 0;
}

#endif
