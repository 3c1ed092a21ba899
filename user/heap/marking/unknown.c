/* marking/unknown: see unknown.h. Waves: all objects that were reached in one are read together. */
#include "marking/unknown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define WORD 8
#define PART (1u << 20)     /* of variables, read at once */
#define BATCH_BYTES (4u << 20)
#define HIDDEN_SHIFT 47     /* the complement of a user's address has all bits from here on */
#define HIDDEN_LEAST 0x10000
#define LINK_WORDS 3
#define FINALIZER_WORDS 6
#define GRANULE 16
#define ROUNDED(bytes) (((bytes) + GRANULE - 1) / GRANULE * GRANULE)
#define ENTRIES 256 /* of a table, read at once */

/* LED: the collector's, right from a variable. */
enum { NOT_MARKED, KNOWN, UNKNOWN, OWN, LED, TABLE, PASSED, EMPTY };

struct object {
	size_t block;
	uint32_t index;
};

struct search {
	struct memory *m;
	const struct boehm_heap *h;
	const struct own_places *own;
	const struct map *tables; /* known before */
	uint8_t taken;   /* what becomes of what is found now */
	uint8_t *state; /* in the order of marks */
	struct object *wave, *next;
	size_t wave_cnt, wave_cap, next_cnt, next_cap;
	uint64_t left; /* UNKNOWN ones */
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

/*
 * An object that begins at this address and may be the collector's. Younger ones are not marked, but older ones hang
 * from them: a list that was put in front of others.
 */
static bool may_be_own(const struct search *s, uint64_t addr, struct heap_object *o)
{
	return addr && boehm_heap_find(s->h, addr, o) && o->base == addr &&
	       (*state_of(s, o) == UNKNOWN || *state_of(s, o) == NOT_MARKED);
}

static int take(struct search *s, const struct heap_object *o)
{
	struct object *to = VEC_PUSH(s, next);
	if (!to)
		return -ENOMEM;
	*to = (struct object){ o->block, o->index };
	uint8_t *state = state_of(s, o);
	s->left -= *state == UNKNOWN;
	*state = *state == UNKNOWN ? s->taken : PASSED;
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

/* A thread's record: side by side lists of objects, each of a granule more than the one before. */
static bool leads_to_lists(const struct search *s, const uint64_t *words, size_t n)
{
	struct heap_object to;
	for (size_t i = 0, seen = SIZE_MAX, size = 0; i < n; i++) {
		if (!may_be_own(s, words[i], &to))
			continue;
		if (seen != SIZE_MAX && to.size == size + (i - seen) * GRANULE)
			return true;
		seen = i;
		size = to.size;
	}
	return false;
}

/* The lists of a kind: as many granules as their place says. */
static bool is_lists(const struct search *s, const uint64_t *words, size_t n)
{
	struct heap_object to;
	for (size_t i = 0; i < n; i++) {
		if (words[i] && (!may_be_own(s, words[i], &to) || to.size != i * GRANULE))
			return false;
	}
	return true;
}

/*
 * Where a block begins variables point for other reasons, too: a section of the heap begins there, a scan has come so far.
 * 1, 0, or -ENOMEM, -ESRCH, -EPERM.
 */
static int is_meant(struct search *s, const struct heap_object *o)
{
	struct rights_range all = { o->base, o->size };
	if (o->base % BOEHM_BLOCK)
		return 1;
	bool large = s->h->blocks[o->block].objects == 1;
	uint64_t *words = malloc(o->size);
	size_t n = o->size / WORD;
	int rc = words ? memory_read_ranges(s->m, &all, 1, words, NULL) : -ENOMEM;
	if (!rc)
		rc = large ? o->kind == HEAP_NORMAL && all_zero(words, n) : is_lists(s, words, n) || leads_to_lists(s, words, n);
	free(words);
	return rc;
}

static int take_words(struct search *s, const uint64_t *words, size_t n)
{
	struct heap_object o;
	int rc = 0;
	for (size_t i = 0; i < n && rc >= 0; i++) {
		rc = may_be_own(s, words[i], &o) ? is_meant(s, &o) : 0;
		if (rc > 0)
			rc = take(s, &o);
	}
	return rc < 0 ? rc : 0;
}

static int take_variables(struct search *s, const struct root_exclude *v, size_t cnt)
{
	uint64_t *words = malloc(PART);
	int rc = words ? 0 : -ENOMEM;
	for (size_t i = 0; i < cnt && !rc; i++) {
		for (uint64_t at = v[i].start, end = v[i].end; at < end && !rc;) {
			struct rights_range part = { at, end - at < PART ? end - at : PART };
			rc = memory_read_ranges(s->m, &part, 1, words, NULL);
			if (!rc)
				rc = take_words(s, words, part.n / WORD);
			at += part.n;
		}
	}
	free(words);
	return rc;
}

/*
 * What a variable leads to may be a table or a thread's record: all its words count. Of entries and further on only links
 * of lists do, for the collector's own ones hold the program's, too.
 */
static int follow(struct search *s, const struct object *from, const uint64_t *words, bool first)
{
	struct heap_object o = boehm_heap_object(s->h, from->block, from->index), to;
	if (first && o.size > ROUNDED(FINALIZER_WORDS * WORD + 1))
		return take_words(s, words, o.size / WORD);
	return may_be_own(s, words[0], &to) && to.size == o.size && to.kind == o.kind ? take(s, &to) : 0;
}

static size_t fill_ranges(const struct search *s, size_t from, struct rights_range *ranges)
{
	size_t n = 0;
	for (uint64_t sum = 0; from + n < s->wave_cnt; n++) {
		struct heap_object o = boehm_heap_object(s->h, s->wave[from + n].block, s->wave[from + n].index);
		if (n && sum + o.size > BATCH_BYTES)
			break;
		sum += o.size;
		ranges[n] = (struct rights_range){ o.base, o.size };
	}
	return n;
}

static int run_wave(struct search *s, bool first)
{
	struct rights_range *ranges = malloc(s->wave_cnt * sizeof(*ranges));
	int rc = ranges ? 0 : -ENOMEM;
	for (size_t at = 0, n; at < s->wave_cnt && !rc; at += n) {
		uint64_t sum = 0;
		n = fill_ranges(s, at, ranges);
		for (size_t i = 0; i < n; i++)
			sum += ranges[i].n;
		uint64_t *words = malloc(sum), *next = words;
		rc = words ? memory_read_ranges(s->m, ranges, n, words, NULL) : -ENOMEM;
		for (size_t i = 0; i < n && !rc; next += ranges[i++].n / WORD)
			rc = follow(s, &s->wave[at + i], next, first);
		free(words);
	}
	free(ranges);
	return rc;
}

static int take_own(struct search *s)
{
	s->taken = LED;
	int rc = take_variables(s, s->own->variables, s->own->variables_cnt);
	s->taken = OWN;
	for (bool first = true; !rc && s->next_cnt; first = false) {
		struct object *was = s->wave;
		size_t cap = s->wave_cap;
		s->wave = s->next;
		s->wave_cnt = s->next_cnt;
		s->wave_cap = s->next_cap;
		s->next = was;
		s->next_cap = cap;
		s->next_cnt = 0;
		rc = run_wave(s, first);
	}
	free(s->wave);
	free(s->next);
	return rc;
}

/* --- by their looks ------------------------------------------------------------------------------ */

static void settle(struct search *s, const struct heap_object *o, uint8_t state)
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

/* Objects without pointers are not cleared when they are given back. */
static bool looks_free(const struct search *s, const struct heap_object *o, const uint64_t *words)
{
	struct heap_object to;
	return boehm_heap_find(s->h, words[0], &to) && to.base == words[0] && to.size == o->size && to.kind == o->kind &&
	       (o->kind == HEAP_ATOMIC || all_zero(words + 1, o->size / WORD - 1));
}

/* With and without the byte that pointers to an object's end cost. */
static bool holds(uint64_t size, uint64_t words)
{
	return size == ROUNDED(words * WORD) || size == ROUNDED(words * WORD + 1);
}

/* Whose link it is, the next entry, whose object. */
static bool looks_linked(const struct search *s, const struct heap_object *o, const uint64_t *words)
{
	struct heap_object next;
	bool ends = !words[1] || (boehm_heap_find(s->h, words[1], &next) && next.base == words[1] && next.size == o->size);
	return holds(o->size, LINK_WORDS) && ends && is_hidden(words[0]) && is_hidden_object(s, words[2]);
}

/* Whose finalizer it is (hidden until it is due), the next entry, what to call with what, a size, how to mark. */
static bool looks_final(const struct search *s, const struct heap_object *o, const uint64_t *words)
{
	const struct root_exclude *code = &s->own->code;
	return holds(o->size, FINALIZER_WORDS) && words[2] && words[5] >= code->start && words[5] < code->end;
}

static int judge_small(struct search *s, size_t block)
{
	const struct heap_block *b = &s->h->blocks[block];
	uint64_t words[BOEHM_BLOCK / WORD];
	struct rights_range all = { b->addr, sizeof(words) };
	int rc = b->objects > 1 ? memory_read_ranges(s->m, &all, 1, words, NULL) : 0;
	for (uint32_t i = 0; i < b->objects && b->objects > 1 && !rc; i++) {
		struct heap_object o = boehm_heap_object(s->h, block, i);
		const uint64_t *at = words + (o.base - b->addr) / WORD;
		if (*state_of(s, &o) != UNKNOWN)
			continue;
		if (all_zero(at, o.size / WORD))
			settle(s, &o, EMPTY);
		else if (looks_free(s, &o, at) || looks_linked(s, &o, at) || looks_final(s, &o, at))
			settle(s, &o, OWN);
	}
	return rc;
}

/* --- tables that were given up for larger ones ---------------------------------------------------- */

/* As the collector places entries (gc_priv.h: HASH3). */
static uint64_t place(uint64_t key, uint64_t slots)
{
	return (key >> 3 ^ key >> (3 + __builtin_ctzll(slots))) & (slots - 1);
}

static bool may_be_entry(const struct search *s, uint64_t word)
{
	struct heap_object to;
	return boehm_heap_find(s->h, word, &to) && to.base == word && *state_of(s, &to) == OWN &&
	       (holds(to.size, LINK_WORDS) || holds(to.size, FINALIZER_WORDS));
}

/* Of an entry: whose it is, 0 = it is none. Of finalizers that are due it is told plainly. */
static uint64_t key_of(const struct search *s, const uint64_t *entry)
{
	if (is_hidden(entry[0]))
		return ~entry[0];
	return entry[5] >= s->own->code.start && entry[5] < s->own->code.end ? entry[0] : 0;
}

/*
 * Nobody but the collector knows where its entries are: one at the very place that its key has in a table of this size is
 * proof. 1 or 0, or -ESRCH, -EPERM.
 */
static int holds_entries(struct search *s, const uint64_t *words, uint64_t slots)
{
	struct rights_range ranges[ENTRIES];
	uint64_t entries[ENTRIES][FINALIZER_WORDS], places[ENTRIES];
	int rc = 0;
	for (uint64_t i = 0; i < slots && !rc;) {
		size_t n = 0;
		for (; i < slots && n < ENTRIES; i++) {
			if (!may_be_entry(s, words[i]))
				continue;
			places[n] = i;
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

/* Entries may be gone, and used for something else: their addresses stay. */
static bool holds_addresses(const struct search *s, const uint64_t *words, size_t n)
{
	const struct heap_block *first = s->h->blocks, *last = first + s->h->blocks_cnt - 1;
	for (size_t i = 0; i < n; i++) {
		if (words[i] && (words[i] % GRANULE || words[i] < first->addr || words[i] >= last->addr + last->bytes))
			return false;
	}
	return true;
}

/*
 * What is behind the table is what the collector rounds up: twice its size at most. One that has been marked ever since it
 * was known is still the same.
 */
static int judge_object(struct search *s, const struct heap_object *o, const uint64_t *words)
{
	uint64_t all = o->size / WORD, slots = 1;
	int rc = 0;
	while (slots <= all / 2)
		slots *= 2;
	for (int i = 0; i < 2 && slots && !rc; i++, slots /= 2) {
		if (all_zero(words + slots, all - slots) && holds_addresses(s, words, slots))
			rc = map_get(s->tables, o->base) ? 1 : holds_entries(s, words, slots);
	}
	if (rc > 0)
		settle(s, o, TABLE);
	return rc < 0 ? rc : 0;
}

static int judge_tables(struct search *s, size_t block)
{
	const struct heap_block *b = &s->h->blocks[block];
	struct rights_range all = { b->addr, b->objects > 1 ? BOEHM_BLOCK : b->size };
	uint64_t *words = b->kind == HEAP_NORMAL ? malloc(all.n) : NULL;
	int rc = words ? memory_read_ranges(s->m, &all, 1, words, NULL) : b->kind == HEAP_NORMAL ? -ENOMEM : 0;
	for (uint32_t i = 0; words && i < b->objects && !rc; i++) {
		struct heap_object o = boehm_heap_object(s->h, block, i);
		if (*state_of(s, &o) == UNKNOWN || *state_of(s, &o) == LED)
			rc = judge_object(s, &o, words + (o.base - b->addr) / WORD);
	}
	free(words);
	return rc;
}

static bool has(const struct search *s, const struct heap_block *b, uint8_t state)
{
	return memchr(s->state + b->marks, state, b->objects) != NULL;
}

static int judge_left(struct search *s, int (*judge)(struct search *s, size_t block), uint8_t other)
{
	int rc = 0;
	for (size_t b = 0; b < s->h->blocks_cnt && !rc; b++) {
		const struct heap_block *block = &s->h->blocks[b];
		if (has(s, block, UNKNOWN) || has(s, block, other))
			rc = judge(s, b);
	}
	return rc;
}

static int put(struct map *to, uint64_t addr, uint64_t size)
{
	uint64_t *slot = map_put(to, addr);
	if (slot)
		*slot = size;
	return slot ? 0 : -ENOMEM;
}

static int put_left(const struct search *s, struct unknown *out)
{
	int rc = 0;
	for (size_t b = 0; b < s->h->blocks_cnt; b++) {
		const struct heap_block *block = &s->h->blocks[b];
		for (uint32_t i = 0; i < block->objects && !rc; i++) {
			uint8_t state = s->state[block->marks + i];
			out->marked_cnt += state == KNOWN || state == UNKNOWN;
			out->marked_bytes += state == KNOWN || state == UNKNOWN ? block->size : 0;
			struct map *to = state == UNKNOWN ? &out->objects : state == EMPTY ? &out->empty : state == TABLE ? &out->tables : NULL;
			if (to)
				rc = put(to, block->addr + i * block->size, block->size);
		}
	}
	return rc;
}

int unknown_find(struct memory *m, const struct own_places *own, const struct boehm_heap *h, const struct recorded *o,
		 const struct map *tables, struct unknown *out)
{
	struct search s = { .m = m, .h = h, .own = own, .tables = tables, .state = malloc(h->marks_cnt + 1) };
	*out = (struct unknown){ 0 };
	int rc = s.state ? 0 : -ENOMEM;
	if (!rc) {
		note_marked(&s);
		note_recorded(&s, o);
	}
	if (!rc && s.left)
		rc = take_own(&s);
	if (!rc && s.left)
		rc = judge_left(&s, judge_small, UNKNOWN);
	if (!rc)
		rc = judge_left(&s, judge_tables, LED);
	if (!rc)
		rc = put_left(&s, out);
	free(s.state);
	if (rc)
		unknown_free(out);
	return rc;
}

void unknown_free(struct unknown *u)
{
	map_free(&u->objects);
	map_free(&u->empty);
	map_free(&u->tables);
	*u = (struct unknown){ 0 };
}
