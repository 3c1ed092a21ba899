/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/stacks: see stacks.h. */
#include "recorder/stacks.h"

#include <errno.h>

#include "catalog/consumer.h"
#include "probe/probe.h"
#include "target/target.h"

static uint64_t known_as(uint32_t epoch, uint32_t id)
{
	return (uint64_t)epoch << 32 | id;
}

static void note_sent(struct stacks *s, uint32_t id)
{
	s->failed |= s->forgets && !map_put(&s->recalled, id);
}

/* A new id, for catalog and consumer; 0: no memory. */
static uint32_t put_unwalked(struct stacks *s, struct proc_id proc, const struct stack *found)
{
	struct stack out = *found;
	out.id.n = ++s->count;
	out.proc = proc;
	const struct definition d = { DEFINITION_STACK, .stack = &out };
	note_sent(s, out.id.n);
	if (!catalog_put_stack(s->h->catalog, &out) && consumer_define(s->h->out, &d) != -ENOMEM)
		return s->count;
	s->failed = true;
	return 0;
}

static uint32_t put(struct stacks *s, struct proc_id proc, const struct stack *found)
{
	s->ends[found->end < STACK_END_CNT ? found->end : STACK_END_UNKNOWN]++;
	return put_unwalked(s, proc, found);
}

struct stack_id stacks_entry(struct stacks *s, struct proc_id proc, const struct frame *entry)
{
	const struct stack one = { .end = STACK_END_COMPLETE, .n = 1, .frames = entry };
	return (struct stack_id){ put_unwalked(s, proc, &one) };
}

struct stack_id stacks_older(struct stacks *s, struct proc_id proc, const char *type)
{
	const struct stack none = { .end = STACK_END_OLDER, .type = type };
	return (struct stack_id){ put_unwalked(s, proc, &none) };
}

/* A stack of an older epoch as it is now: the same one, unless something else has been mapped at its addresses. */
static uint32_t again(struct stacks *s, struct proc_id proc, uint32_t id)
{
	const struct stack *old = catalog_stack(s->h->catalog, (struct stack_id){ id });
	struct frame frames[ALYS_MAX_FRAMES];
	bool same = true;
	if (!old || old->n > ALYS_MAX_FRAMES)
		return id;
	for (uint32_t i = 0; i < old->n; i++) {
		target_resolve(s->h->targets, proc, frame_ip(s->h->catalog, &old->frames[i]), &frames[i]);
		same &= frames[i].map.n == old->frames[i].map.n;
	}
	struct stack now = *old;
	now.frames = frames;
	return same ? id : put(s, proc, &now) ?: id;
}

struct stack_id stacks_find(struct stacks *s, const struct stack_of *of, uint64_t hash)
{
	uint64_t *known = map_get(&s->known, hash);
	if (known && *known >> 32 != of->epoch)
		*known = known_as(of->epoch, again(s, of->proc, (uint32_t)*known));
	return (struct stack_id){ known ? (uint32_t)*known : 0 };
}

/* Known stacks are sent again after a collision in the BPF map `seen`, or after that was cleared. */
bool stacks_want(struct stacks *s, const struct stack_of *of, uint64_t hash)
{
	struct stack_id known = stacks_find(s, of, hash);
	s->refused += s->refusing && !known.n;
	if (known.n)
		note_sent(s, known.n);
	return !known.n && !s->refusing;
}

void stacks_put(struct stacks *s, const struct stack_of *of, uint64_t hash, const struct stack *found)
{
	uint64_t *place = map_put(&s->known, hash);
	uint32_t id = place ? put(s, of->proc, found) : 0;
	if (id)
		*place = known_as(of->epoch, id);
	else
		s->failed = true;
}

void stacks_recall(struct stacks *s)
{
	s->forgets = true;
	map_free(&s->recalled);
}

bool stacks_is_recalled(const struct stacks *s, struct stack_id id)
{
	return map_get(&s->recalled, id.n);
}

bool stacks_kept(const struct stacks *s, const struct catalog *kept, struct map *out)
{
	const struct map_slot *slot;
	for (size_t i = 0; (slot = map_next(&s->known, &i));) {
		if (!catalog_stack(kept, (struct stack_id){ (uint32_t)slot->value }))
			continue;
		uint64_t *place = map_put(out, slot->key);
		if (!place)
			return false;
		*place = slot->value;
	}
	return true;
}

void stacks_replace(struct stacks *s, const struct map *known)
{
	map_free(&s->known);
	s->known = *known;
}

uint64_t stacks_left(const struct stacks *s)
{
	return s->forgets && s->known.count < s->count ? s->known.count : 0;
}

void stacks_free(struct stacks *s)
{
	map_free(&s->known);
	map_free(&s->recalled);
}
