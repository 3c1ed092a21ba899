/* boehm/unknown: see unknown.h. Waves: all objects that were reached in one are read together. */
#include "boehm/unknown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define WORD 8
#define PART (1u << 20)     /* of variables, read at once */
#define BATCH_BYTES (4u << 20)
#define HIDDEN_SHIFT 47     /* the complement of a user's address has all bits from here on */
#define HIDDEN_LEAST 0x10000
#define LINK_SZ 32       /* of three words, and what the collector adds */
#define FINALIZER_SZ 64  /* of six */
#define BATCH_BLOCKS 1024

enum { NOT_MARKED, KNOWN, UNKNOWN, OWN, PASSED };

struct object {
	size_t block;
	uint32_t index;
};

struct search {
	struct memory *m;
	const struct boehm_heap *h;
	const struct own_places *own;
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
	*state = *state == UNKNOWN ? OWN : PASSED;
	return 0;
}

static int take_words(struct search *s, const uint64_t *words, size_t n)
{
	struct heap_object o;
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		if (may_be_own(s, words[i], &o))
			rc = take(s, &o);
	}
	return rc;
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
 * What a variable leads to may be a table or a thread's record: all its words count. Further on only links of lists do,
 * for the collector's own ones hold the program's, too.
 */
static int follow(struct search *s, const struct object *from, const uint64_t *words, bool first)
{
	struct heap_object o = boehm_heap_object(s->h, from->block, from->index), to;
	if (first)
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
	int rc = take_variables(s, s->own->variables, s->own->variables_cnt);
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

static bool all_zero(const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (words[i])
			return false;
	}
	return true;
}

static bool is_hidden(uint64_t word)
{
	return word >> HIDDEN_SHIFT == UINT64_MAX >> HIDDEN_SHIFT && ~word >= HIDDEN_LEAST;
}

static bool looks_free(const struct search *s, const struct heap_object *o, const uint64_t *words)
{
	struct heap_object to;
	bool links = !words[0] || (boehm_heap_find(s->h, words[0], &to) && to.base == words[0] && to.size == o->size &&
				   to.kind == o->kind);
	return links && all_zero(words + 1, o->size / WORD - 1);
}

/* Whose link it is, the next entry, whose object. */
static bool looks_linked(const struct heap_object *o, const uint64_t *words)
{
	return o->size == LINK_SZ && is_hidden(words[0]) && is_hidden(words[2]);
}

/* Whose finalizer it is (hidden until it is due), the next entry, what to call with what, a size, how to mark. */
static bool looks_final(const struct search *s, const struct heap_object *o, const uint64_t *words)
{
	const struct root_exclude *code = &s->own->code;
	return o->size == FINALIZER_SZ && words[2] && words[5] >= code->start && words[5] < code->end;
}

/* A table that was given up for a larger one: all that it holds are entries. */
static bool looks_tabled(const struct search *s, const uint64_t *words)
{
	bool any = false;
	for (size_t i = 0; i < BOEHM_BLOCK / WORD; i++) {
		struct heap_object to;
		if (!words[i])
			continue;
		any = boehm_heap_find(s->h, words[i], &to) && to.base == words[i] && *state_of(s, &to) == OWN;
		if (!any)
			return false;
	}
	return any;
}

static void judge_large(struct search *s, size_t block, const uint64_t *words)
{
	struct heap_object o = boehm_heap_object(s->h, block, 0);
	if (!looks_tabled(s, words))
		return;
	*state_of(s, &o) = OWN;
	s->left--;
}

static void judge_block(struct search *s, size_t block, const uint64_t *words)
{
	const struct heap_block *b = &s->h->blocks[block];
	for (uint32_t i = 0; i < b->objects; i++) {
		struct heap_object o = boehm_heap_object(s->h, block, i);
		const uint64_t *at = words + (o.base - b->addr) / WORD;
		uint8_t *state = state_of(s, &o);
		if (*state == UNKNOWN && (looks_free(s, &o, at) || looks_linked(&o, at) || looks_final(s, &o, at))) {
			*state = OWN;
			s->left--;
		}
	}
}

static bool has_unknown(const struct search *s, const struct heap_block *b, bool large)
{
	return (b->objects == 1) == large && memchr(s->state + b->marks, UNKNOWN, b->objects);
}

/* Of large ones the first page. */
static int judge_left(struct search *s, bool large)
{
	struct rights_range ranges[BATCH_BLOCKS];
	size_t blocks[BATCH_BLOCKS];
	uint64_t *words = malloc((size_t)BATCH_BLOCKS * BOEHM_BLOCK);
	int rc = words ? 0 : -ENOMEM;
	for (size_t b = 0; b < s->h->blocks_cnt && !rc;) {
		size_t n = 0;
		for (; b < s->h->blocks_cnt && n < BATCH_BLOCKS; b++) {
			if (!has_unknown(s, &s->h->blocks[b], large))
				continue;
			blocks[n] = b;
			ranges[n++] = (struct rights_range){ s->h->blocks[b].addr, BOEHM_BLOCK };
		}
		rc = memory_read_ranges(s->m, ranges, n, words, NULL);
		for (size_t i = 0; i < n && !rc; i++)
			(large ? judge_large : judge_block)(s, blocks[i], words + i * (BOEHM_BLOCK / WORD));
	}
	free(words);
	return rc;
}

static int put_left(const struct search *s, struct unknown *out)
{
	for (size_t b = 0; b < s->h->blocks_cnt; b++) {
		const struct heap_block *block = &s->h->blocks[b];
		for (uint32_t i = 0; i < block->objects; i++) {
			uint8_t state = s->state[block->marks + i];
			uint64_t *size = state == UNKNOWN ? map_put(&out->objects, block->addr + i * block->size) : NULL;
			if (state == UNKNOWN && !size)
				return -ENOMEM;
			if (size)
				*size = block->size;
			out->marked_cnt += state == KNOWN || state == UNKNOWN;
			out->marked_bytes += state == KNOWN || state == UNKNOWN ? block->size : 0;
		}
	}
	return 0;
}

int unknown_find(struct memory *m, const struct own_places *own, const struct boehm_heap *h, const struct recorded *o,
		 struct unknown *out)
{
	struct search s = { .m = m, .h = h, .own = own, .state = malloc(h->marks_cnt + 1) };
	*out = (struct unknown){ 0 };
	int rc = s.state ? 0 : -ENOMEM;
	if (!rc) {
		note_marked(&s);
		note_recorded(&s, o);
	}
	if (!rc && s.left)
		rc = take_own(&s);
	for (int large = 0; !rc && s.left && large < 2; large++)
		rc = judge_left(&s, large);
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
	*u = (struct unknown){ 0 };
}
