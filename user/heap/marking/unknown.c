/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/unknown: see unknown.h. The search is breadth-first: all objects reached in one step are read together. Large
 * objects are read in pieces.
 */
#include "marking/unknown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "boehm/strings.h"
#include "machine/address.h"

#define WORD 8
#define PIECE (1u << 20) /* bytes read at once */
#define BATCH 4096       /* objects whose links are read at once */
/* Hidden pointers are complements: for user space addresses all bits from this one on are set. */
#define HIDDEN_SHIFT ADDRESS_BITS
#define HIDDEN_LEAST 0x10000
#define LINK_WORDS 3
#define FINALIZER_WORDS 6
#define GRANULE 16
#define ROUNDED(bytes) (((bytes) + GRANULE - 1) / GRANULE * GRANULE)
#define ENTRIES 256 /* table entries read at once */

/* REFERENCED: the collector's, directly by a variable. PROGRAM: judged, not the collector's. */
enum { NOT_MARKED, KNOWN, UNKNOWN, PROGRAM, COLLECTOR, REFERENCED, TABLE, PASSED, EMPTY };

struct object {
	size_t block;
	uint32_t index;
};

struct search {
	struct memory *m;
	const struct boehm_heap *h;
	const struct own_places *own;
	struct unknown *out;
	uint64_t limit;          /* on m->bytes */
	uint64_t *piece, *other; /* buffers of PIECE bytes */
	uint8_t taken;           /* state given to objects found in this step */
	uint8_t *state;          /* one per object, same order as the heap's marks */
	struct object *wave, *next;
	size_t wave_cnt, wave_cap, next_cnt, next_cap;
	uint64_t left; /* objects still UNKNOWN */
};

static void note_marked(struct search *s)
{
	for (size_t i = 0; i < s->h->marks_cnt; i++) {
		s->state[i] = s->h->marks[i] ? UNKNOWN : NOT_MARKED;
		s->left += s->h->marks[i] != 0;
	}
}

static void note_recorded(struct search *s, const struct recorded *o)
{
	uint64_t addr;
	for (size_t i = 0; recorded_next(o, &i, &addr);) {
		struct heap_object found;
		size_t at = boehm_heap_find(s->h, addr, &found) ? s->h->blocks[found.block].marks + found.index : SIZE_MAX;
		if (at == SIZE_MAX || s->state[at] != UNKNOWN)
			continue;
		s->state[at] = KNOWN;
		s->left--;
	}
}

static uint8_t *state_of(const struct search *s, const struct heap_object *o)
{
	return &s->state[s->h->blocks[o->block].marks + o->index];
}

static bool is_table_still(void *ctx, const struct map_slot *slot)
{
	const struct search *s = ctx;
	struct heap_object o;
	return boehm_heap_find(s->h, slot->key, &o) && o.base == slot->key && o.size == slot->value &&
	       *state_of(s, &o) == UNKNOWN;
}

/* The result of an earlier reading still holds for objects that stayed marked and were not recorded. */
static void note_judged(struct search *s)
{
	struct heap_object o;
	map_keep(&s->out->tables, is_table_still, s);
	heapset_keep_marked(&s->out->objects, s->h);
	for (struct heapset_at at = { 0 }; heapset_next(&s->out->objects, &at);) {
		if (!boehm_heap_find(s->h, at.addr, &o) || *state_of(s, &o) != UNKNOWN) {
			heapset_take(&s->out->objects, at.addr);
			continue;
		}
		*state_of(s, &o) = PROGRAM;
		s->left--;
	}
}

/* 1 if fn returned 1 for every piece, otherwise what fn returned, or -ESRCH, -EPERM. */
static int each_piece(struct search *s, uint64_t *words, uint64_t addr, uint64_t size,
		      int (*fn)(struct search *s, const uint64_t *words, size_t n, uint64_t at, uint64_t slots), uint64_t slots)
{
	int rc = 1;
	for (uint64_t at = 0; at < size && rc == 1; at += PIECE) {
		struct rights_range part = { addr + at, size - at < PIECE ? size - at : PIECE };
		rc = memory_read_ranges(s->m, &part, 1, words, NULL);
		if (!rc)
			rc = fn(s, words, part.n / WORD, at / WORD, slots);
	}
	return rc;
}

/*
 * An object that begins at this address and may be the collector's. Young objects are not marked yet, but they may be
 * the head of a list of older ones.
 */
static bool may_be_collector(const struct search *s, uint64_t addr, struct heap_object *o)
{
	return addr && boehm_heap_find(s->h, addr, o) && o->base == addr &&
	       (*state_of(s, o) == UNKNOWN || *state_of(s, o) == PROGRAM || *state_of(s, o) == NOT_MARKED);
}

static int take(struct search *s, const struct heap_object *o)
{
	struct object *to = VEC_PUSH(s, next);
	if (!to)
		return -ENOMEM;
	*to = (struct object){ o->block, o->index };
	uint8_t *state = state_of(s, o);
	s->left -= *state == UNKNOWN;
	*state = *state == NOT_MARKED ? PASSED : s->taken;
	return 0;
}

static bool all_zero(const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (words[i])
			return false;
	}
	return true;
}

/* A thread's record holds arrays of free lists: the object size grows by one granule per slot. */
static bool refers_to_lists(const struct search *s, const uint64_t *words, size_t n)
{
	struct heap_object to;
	for (size_t i = 0, seen = SIZE_MAX, size = 0; i < n; i++) {
		if (!may_be_collector(s, words[i], &to))
			continue;
		if (seen != SIZE_MAX && to.size == size + (i - seen) * GRANULE)
			return true;
		seen = i;
		size = to.size;
	}
	return false;
}

/* The free lists of a kind: slot i leads to objects of i granules. */
static bool is_lists(const struct search *s, const uint64_t *words, size_t n)
{
	struct heap_object to;
	for (size_t i = 0; i < n; i++) {
		if (words[i] && (!may_be_collector(s, words[i], &to) || to.size != i * GRANULE))
			return false;
	}
	return true;
}

static int zero_piece(struct search *s, const uint64_t *words, size_t n, uint64_t at, uint64_t slots)
{
	(void)s, (void)at, (void)slots;
	return all_zero(words, n);
}

static int begins_lists(struct search *s, const struct heap_object *o)
{
	uint64_t words[BOEHM_BLOCK / WORD];
	struct rights_range all = { o->base, o->size };
	int rc = memory_read_ranges(s->m, &all, 1, words, NULL);
	return rc ?: is_lists(s, words, o->size / WORD) || refers_to_lists(s, words, o->size / WORD);
}

/*
 * Addresses where a block begins also appear in variables for other reasons: as the start of a heap section, or as the
 * position of a scan. 1, 0, or -ESRCH, -EPERM.
 */
static int is_reference(struct search *s, const struct heap_object *o)
{
	if (o->base % BOEHM_BLOCK)
		return 1;
	if (s->h->blocks[o->block].objects > 1)
		return begins_lists(s, o);
	return o->kind == HEAP_NORMAL ? each_piece(s, s->other, o->base, o->size, zero_piece, 0) : 0;
}

/* 1, or -ENOMEM, -ESRCH, -EPERM. */
static int take_words(struct search *s, const uint64_t *words, size_t n, uint64_t at, uint64_t slots)
{
	struct heap_object o;
	int rc = 0;
	(void)at, (void)slots;
	for (size_t i = 0; i < n && rc >= 0; i++) {
		rc = may_be_collector(s, words[i], &o) ? is_reference(s, &o) : 0;
		if (rc > 0)
			rc = take(s, &o);
	}
	return rc < 0 ? rc : 1;
}

static int take_variables(struct search *s, const struct root_exclude *v, size_t cnt)
{
	int rc = 1;
	for (size_t i = 0; i < cnt && rc == 1; i++)
		rc = each_piece(s, s->piece, v[i].start, v[i].end - v[i].start, take_words, 0);
	return rc < 0 ? rc : 0;
}

/* A variable may lead to a table or to a thread's record: all its words are followed. */
static int follow_referenced(struct search *s)
{
	int rc = 1;
	for (size_t i = 0; i < s->wave_cnt && rc == 1; i++) {
		struct heap_object o = boehm_heap_object(s->h, s->wave[i].block, s->wave[i].index);
		bool link = o.size <= ROUNDED(FINALIZER_WORDS * WORD + 1);
		rc = each_piece(s, s->piece, o.base, link ? WORD : o.size, take_words, 0);
	}
	return rc < 0 ? rc : 0;
}

/* Of other objects only the link word is followed: the collector's own entries also point to the program's objects. */
static int follow_links(struct search *s)
{
	struct rights_range *ranges = malloc(BATCH * sizeof(*ranges));
	struct heap_object o, to;
	int rc = ranges ? 0 : -ENOMEM;
	for (size_t at = 0, n; at < s->wave_cnt && !rc; at += n) {
		for (n = 0; n < BATCH && at + n < s->wave_cnt; n++) {
			o = boehm_heap_object(s->h, s->wave[at + n].block, s->wave[at + n].index);
			ranges[n] = (struct rights_range){ o.base, WORD };
		}
		rc = memory_read_ranges(s->m, ranges, n, s->piece, NULL);
		for (size_t i = 0; i < n && !rc; i++) {
			o = boehm_heap_object(s->h, s->wave[at + i].block, s->wave[at + i].index);
			if (may_be_collector(s, s->piece[i], &to) && to.size == o.size && to.kind == o.kind)
				rc = take(s, &to);
		}
	}
	free(ranges);
	return rc;
}

static int take_own(struct search *s)
{
	s->taken = REFERENCED;
	int rc = take_variables(s, s->own->variables, s->own->variables_cnt);
	s->taken = COLLECTOR;
	for (bool first = true; !rc && s->next_cnt; first = false) {
		struct object *was = s->wave;
		size_t cap = s->wave_cap;
		s->wave = s->next;
		s->wave_cnt = s->next_cnt;
		s->wave_cap = s->next_cap;
		s->next = was;
		s->next_cap = cap;
		s->next_cnt = 0;
		rc = first ? follow_referenced(s) : follow_links(s);
	}
	free(s->wave);
	free(s->next);
	return rc;
}

/* --- recognition by content ----------------------------------------------------------------------- */

static void set_state(struct search *s, const struct heap_object *o, uint8_t state)
{
	s->left -= *state_of(s, o) == UNKNOWN;
	*state_of(s, o) = state;
}

static bool is_hidden(uint64_t word)
{
	return word >> HIDDEN_SHIFT == UINT64_MAX >> HIDDEN_SHIFT && ~word >= HIDDEN_LEAST;
}

static bool is_hidden_object(const struct search *s, uint64_t word)
{
	struct heap_object to;
	return is_hidden(word) && boehm_heap_find(s->h, ~word, &to);
}

/*
 * A free object: it links to another of its size, the rest is zero. Objects without pointers are not cleared when
 * freed.
 */
static bool looks_free(const struct search *s, const struct heap_object *o, const uint64_t *words)
{
	struct heap_object to;
	return boehm_heap_find(s->h, words[0], &to) && to.base == words[0] && to.size == o->size && to.kind == o->kind &&
	       (o->kind == HEAP_ATOMIC || all_zero(words + 1, o->size / WORD - 1));
}

/* The collector may add one byte to each request, so that pointers to an object's end keep it. */
static bool holds(uint64_t size, uint64_t words)
{
	return size == ROUNDED(words * WORD) || size == ROUNDED(words * WORD + 1);
}

/* A disappearing link: hidden address of the link, next entry, hidden object. */
static bool looks_linked(const struct search *s, const struct heap_object *o, const uint64_t *words)
{
	struct heap_object next;
	bool ends = !words[1] || (boehm_heap_find(s->h, words[1], &next) && next.base == words[1] && next.size == o->size);
	return holds(o->size, LINK_WORDS) && ends && is_hidden(words[0]) && is_hidden_object(s, words[2]);
}

/* A finalizer: hidden object (plain once it is due), next entry, function, its argument, size, mark procedure. */
static bool looks_final(const struct search *s, const struct heap_object *o, const uint64_t *words)
{
	const struct root_exclude *code = &s->own->code;
	return holds(o->size, FINALIZER_WORDS) && words[2] && words[5] >= code->start && words[5] < code->end;
}

/* The object's first number, if it may be a type id. */
static uint16_t tag_of(const struct heap_object *o, uint64_t word)
{
	uint32_t first = (uint32_t)word;
	if (first == TYPE_ID_STRING)
		return is_string(word, o->size, o->kind) ? TYPE_ID_STRING : 0;
	return first <= UINT16_MAX ? (uint16_t)first : 0;
}

static int set_program(struct search *s, const struct heap_object *o, uint64_t word)
{
	set_state(s, o, PROGRAM);
	return heapset_put(&s->out->objects, o, tag_of(o, word));
}

/* --- tables that were replaced by larger ones ------------------------------------------------------- */

/* The collector's hash function (gc_priv.h: HASH3). */
static uint64_t place(uint64_t key, uint64_t slots)
{
	return (key >> 3 ^ key >> (3 + __builtin_ctzll(slots))) & (slots - 1);
}

static bool may_be_entry(const struct search *s, uint64_t word)
{
	struct heap_object to;
	return boehm_heap_find(s->h, word, &to) && to.base == word && *state_of(s, &to) == COLLECTOR &&
	       (holds(to.size, LINK_WORDS) || holds(to.size, FINALIZER_WORDS));
}

/* The object of an entry, 0 = not an entry. Finalizers that are due hold it unhidden. */
static uint64_t key_of(const struct search *s, const uint64_t *entry)
{
	if (is_hidden(entry[0]))
		return ~entry[0];
	return entry[5] >= s->own->code.start && entry[5] < s->own->code.end ? entry[0] : 0;
}

/*
 * Only the collector's tables hold its entries: one entry in exactly the slot to which its key hashes in a table of
 * this size is proof. 1 or 0, or -ESRCH, -EPERM.
 */
static int holds_entries(struct search *s, const uint64_t *words, uint64_t cnt, uint64_t first, uint64_t slots)
{
	struct rights_range ranges[ENTRIES];
	uint64_t entries[ENTRIES][FINALIZER_WORDS], places[ENTRIES];
	int rc = 0;
	for (uint64_t i = 0; i < cnt && !rc;) {
		size_t n = 0;
		for (; i < cnt && n < ENTRIES; i++) {
			if (!may_be_entry(s, words[i]))
				continue;
			places[n] = first + i;
			ranges[n++] = (struct rights_range){ words[i], sizeof(entries[0]) };
		}
		rc = memory_read_ranges(s->m, ranges, n, entries, NULL);
		for (size_t k = 0; k < n && !rc; k++) {
			uint64_t key = key_of(s, entries[k]);
			rc = key && place(key, slots) == places[k];
		}
	}
	return rc;
}

/* In a replaced table, entries may have been freed and reused, so only the addresses can be checked. */
static bool holds_addresses(const struct search *s, const uint64_t *words, size_t n)
{
	const struct heap_block *first = s->h->blocks, *last = first + s->h->blocks_cnt - 1;
	for (size_t i = 0; i < n; i++) {
		if (words[i] && (words[i] % GRANULE || words[i] < first->addr || words[i] >= last->addr + last->bytes))
			return false;
	}
	return true;
}

/* Words behind the table are padding, and zero: the collector rounds sizes up. */
static int table_piece(struct search *s, const uint64_t *words, size_t n, uint64_t at, uint64_t slots)
{
	size_t inside = slots <= at ? 0 : slots - at < n ? slots - at : n;
	return holds_addresses(s, words, inside) && all_zero(words + inside, n - inside);
}

static int no_entries_piece(struct search *s, const uint64_t *words, size_t n, uint64_t at, uint64_t slots)
{
	size_t inside = slots <= at ? 0 : slots - at < n ? slots - at : n;
	int rc = holds_entries(s, words, inside, at, slots);
	return rc < 0 ? rc : !rc;
}

static uint64_t most_slots(uint64_t size)
{
	uint64_t slots = 1;
	while (slots <= size / WORD / 2)
		slots *= 2;
	return slots;
}

/*
 * slots: size of the table; the object is at most twice as large. words: the whole object; NULL: it is too large. 1, 0,
 * or -ESRCH, -EPERM.
 */
static int may_be_table(struct search *s, const struct heap_object *o, const uint64_t *words, uint64_t slots)
{
	if (o->kind != HEAP_NORMAL || !slots)
		return 0;
	return words ? table_piece(s, words, o->size / WORD, 0, slots)
		     : each_piece(s, s->piece, o->base, o->size, table_piece, slots);
}

static int judge_table(struct search *s, const struct heap_object *o)
{
	uint64_t slots = most_slots(o->size), word = 0;
	bool unknown = *state_of(s, o) == UNKNOWN;
	int rc = 0;
	for (int i = 0; i < 2 && slots && !rc; i++, slots /= 2) {
		rc = may_be_table(s, o, NULL, slots);
		if (rc == 1) {
			rc = each_piece(s, s->piece, o->base, o->size, no_entries_piece, slots);
			rc = rc < 0 ? rc : !rc;
		}
	}
	if (rc > 0)
		set_state(s, o, TABLE);
	else if (!rc && unknown)
		rc = memory_read(s->m, o->base, &word, sizeof(word)) == -ESRCH ? -ESRCH : set_program(s, o, word);
	return rc < 0 ? rc : 0;
}

static int judge_tables(struct search *s, size_t block)
{
	const struct heap_block *b = &s->h->blocks[block];
	int rc = 0;
	for (uint32_t i = 0; i < b->objects && !rc; i++) {
		struct heap_object o = boehm_heap_object(s->h, block, i);
		if (*state_of(s, &o) == UNKNOWN || *state_of(s, &o) == REFERENCED)
			rc = judge_table(s, &o);
	}
	return rc;
}

/* Possible tables are left until all entries are known. */
static int judge_one(struct search *s, const struct heap_object *o, const uint64_t *words, uint64_t first)
{
	uint64_t slots = most_slots(o->size);
	/* A table that stayed marked is still the same one, though its entries may be younger than the marks. */
	if (map_get(&s->out->tables, o->base)) {
		set_state(s, o, TABLE);
		return 0;
	}
	int rc = may_be_table(s, o, words, slots) ?: may_be_table(s, o, words, slots / 2);
	return rc < 0 ? rc : rc ? 0 : set_program(s, o, first);
}

static int judge_small(struct search *s, const struct heap_object *o, const uint64_t *words)
{
	if (all_zero(words, o->size / WORD))
		set_state(s, o, EMPTY);
	else if (looks_free(s, o, words) || looks_linked(s, o, words) || looks_final(s, o, words))
		set_state(s, o, COLLECTOR);
	else
		return judge_one(s, o, words, words[0]);
	return 0;
}

/*
 * The collector abandons blocks into which stale words seem to point: they stay marked like an object without pointers,
 * but were never allocated (GC_allochblk_nth). So an object of exactly one block is read whole.
 */
static int judge_block(struct search *s, size_t block)
{
	const struct heap_block *b = &s->h->blocks[block];
	uint64_t words[BOEHM_BLOCK / WORD];
	bool whole = b->objects > 1 || b->size == sizeof(words);
	struct rights_range part = { b->addr, whole ? sizeof(words) : WORD };
	int rc = memory_read_ranges(s->m, &part, 1, words, NULL);
	for (uint32_t i = 0; i < b->objects && !rc; i++) {
		struct heap_object o = boehm_heap_object(s->h, block, i);
		if (*state_of(s, &o) == UNKNOWN)
			rc = whole ? judge_small(s, &o, words + (o.base - b->addr) / WORD) : judge_one(s, &o, NULL, words[0]);
	}
	return rc;
}

static bool has(const struct search *s, const struct heap_block *b, uint8_t state)
{
	return memchr(s->state + b->marks, state, b->objects) != NULL;
}

/* -EAGAIN: the limit was reached before all objects were judged. */
static int judge_left(struct search *s, int (*judge)(struct search *s, size_t block), uint8_t other)
{
	int rc = 0;
	for (size_t b = 0; b < s->h->blocks_cnt && !rc; b++) {
		const struct heap_block *block = &s->h->blocks[b];
		if (!has(s, block, UNKNOWN) && !has(s, block, other))
			continue;
		rc = s->m->bytes > s->limit ? -EAGAIN : judge(s, b);
	}
	return rc;
}

static int put_table(struct unknown *out, const struct heap_object *o)
{
	uint64_t *size = map_put(&out->tables, o->base);
	if (size)
		*size = o->size;
	return size ? 0 : -ENOMEM;
}

static int put_one(struct search *s, const struct heap_object *o, uint8_t state)
{
	struct unknown *out = s->out;
	bool counts = state == KNOWN || state == UNKNOWN || state == PROGRAM;
	out->marked_cnt += counts;
	out->marked_bytes += counts ? o->size : 0;
	if (state == COLLECTOR || state == REFERENCED || state == TABLE)
		heapset_take(&out->objects, o->base);
	if (state == EMPTY)
		return heapset_put(&out->empty, o, 0);
	return state == TABLE ? put_table(out, o) : 0;
}

static int put_all(struct search *s)
{
	struct unknown *out = s->out;
	int rc = 0;
	heapset_free(&out->empty);
	out->marked_cnt = out->marked_bytes = 0;
	for (size_t b = 0; b < s->h->blocks_cnt; b++) {
		const struct heap_block *block = &s->h->blocks[b];
		for (uint32_t i = 0; i < block->objects && !rc; i++) {
			struct heap_object o = boehm_heap_object(s->h, b, i);
			rc = put_one(s, &o, s->state[block->marks + i]);
		}
	}
	return rc;
}

static int search(struct search *s, const struct recorded *o)
{
	note_marked(s);
	note_recorded(s, o);
	note_judged(s);
	int rc = s->left ? take_own(s) : 0;
	if (!rc && s->left)
		rc = judge_left(s, judge_block, UNKNOWN);
	if (!rc)
		rc = judge_left(s, judge_tables, REFERENCED);
	s->out->whole = !rc;
	return rc && rc != -EAGAIN ? rc : put_all(s);
}

int unknown_find(struct memory *m, const struct own_places *own, const struct boehm_heap *h, const struct recorded *o,
		 uint64_t most, struct unknown *out)
{
	struct search s = { .m = m,
			    .h = h,
			    .own = own,
			    .out = out,
			    .state = malloc(h->marks_cnt + 1),
			    .piece = malloc(PIECE),
			    .other = malloc(PIECE) };
	s.limit = most > UINT64_MAX - m->bytes ? UINT64_MAX : m->bytes + most;
	out->whole = false;
	int rc = s.state && s.piece && s.other ? search(&s, o) : -ENOMEM;
	free(s.state);
	free(s.piece);
	free(s.other);
	out->whole &= !rc;
	return rc;
}

void unknown_free(struct unknown *u)
{
	heapset_free(&u->objects);
	heapset_free(&u->empty);
	map_free(&u->tables);
	*u = (struct unknown){ 0 };
}
