/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/typed_sites: see typed_sites.h. */
#include "heapview/typed_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/sink.h"
#include "format/type.h"
#include "heapview/blocks.h"

struct vote {
	uint32_t id;
	const char *name; /* points into votes.names */
};

struct votes {
	struct vote *votes;
	size_t votes_cnt, votes_cap;
	struct map stacks; /* stack id -> index in names + 1, 0 = names no type */
	char **names;
	size_t names_cnt, names_cap;
};

/* The class that a stack allocates, as "Array(Foo)"; NULL: none is named. To be freed. */
static char *type_of_stack(const struct catalog *c, struct stack_id id)
{
	const struct sink_options o = { .keep_allocator_frames = true };
	struct sink_stack whole = { 0 };
	struct buf text = { 0 };
	if (!sink_stack_of(c, &o, id, &whole))
		type_of(&whole, &text);
	char *type = !text.failed && type_is_class(buf_str(&text)) ? strdup(buf_str(&text)) : NULL;
	buf_free(&text);
	sink_stack_free(&whole);
	return type;
}

static const char *name_of(struct votes *v, const struct catalog *c, struct stack_id id)
{
	size_t known = v->stacks.count;
	uint64_t *place = map_put(&v->stacks, id.n);
	if (!place)
		return NULL;
	if (v->stacks.count != known) {
		char *name = type_of_stack(c, id);
		char **to = name ? VEC_PUSH(v, names) : NULL;
		if (to)
			*to = name, *place = v->names_cnt;
		else
			free(name);
	}
	return *place ? v->names[*place - 1] : NULL;
}

static int by_id_name(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Each type number gets the name with most votes. */
static int count_votes(struct types *t, struct votes *v)
{
	int rc = 0;
	if (v->votes_cnt)
		qsort(v->votes, v->votes_cnt, sizeof(*v->votes), by_id_name);
	for (size_t i = 0; i < v->votes_cnt && !rc;) {
		const struct vote *best = NULL;
		uint32_t best_cnt = 0, id = v->votes[i].id;
		while (i < v->votes_cnt && v->votes[i].id == id) {
			size_t first = i;
			while (i < v->votes_cnt && v->votes[i].id == id && !strcmp(v->votes[i].name, v->votes[first].name))
				i++;
			if (i - first > best_cnt)
				best = &v->votes[first], best_cnt = (uint32_t)(i - first);
		}
		rc = types_put(t, id, best->name, strlen(best->name), TYPE_LEARNED);
	}
	return rc;
}

int learn_types(struct types *t, const char *trace, uint32_t tgid, const struct boehm_heap *h, const struct words *w,
		struct err *err)
{
	struct blocks b;
	struct votes v = { 0 };
	int rc = blocks_read(&b, trace, tgid, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < b.all_cnt && !rc; i++) {
		struct heap_object o;
		const struct block *at = &b.all[i];
		if (!at->size || !boehm_heap_find(h, at->addr, &o) || o.base != at->addr)
			continue;
		uint32_t id = w->first[h->blocks[o.block].marks + o.index];
		const char *name = id && id < 1u << 20 ? name_of(&v, b.replay.catalog, at->stack) : NULL;
		struct vote *vote = name ? VEC_PUSH(&v, votes) : NULL;
		if (vote)
			*vote = (struct vote){ .id = id, .name = name };
	}
	rc = count_votes(t, &v) ? err_set(err, ENOMEM, "out of memory") : 0;
	for (size_t i = 0; i < v.names_cnt; i++)
		free(v.names[i]);
	free(v.names);
	free(v.votes);
	map_free(&v.stacks);
	blocks_free(&b);
	return rc;
}
