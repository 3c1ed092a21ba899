/* SPDX-License-Identifier: Apache-2.0 */
/* catalog: definitions by id; see catalog.h. Memory is managed by store.c, the ledger's text is made by ledger.c. */
#include "catalog/catalog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/store.h"
#include "machine/address.h"

struct meta {
	const char *key, *value;
};

/* A stack; its frames may be replaced in place by fewer ones, so borrowed pointers stay valid. */
struct stack_row {
	struct stack s;
	struct frame *frames;
	uint32_t cap;
};

struct module_symbols {
	struct map by_pc; /* pc -> struct symbols */
};

struct catalog {
	struct store store;
	struct table procs, modules, mappings, stacks; /* by id */
	struct table symbols;                          /* by module id */
	struct table metas, counts;                    /* by the address of the interned name */
	struct table older;                            /* by process and address of the type's name */
	struct table called;                           /* by stack id */
	struct table erlang;                           /* by process of the system and of the VM */
	bool shows;                                    /* `shown` was chosen */
	uint8_t shown;
};

struct catalog *catalog_new(void)
{
	return calloc(1, sizeof(struct catalog));
}

void catalog_free(struct catalog *c)
{
	if (!c)
		return;
	struct module_symbols *m;
	for (size_t i = 0; (m = table_next(&c->symbols, &i));)
		map_free(&m->by_pc);
	struct table *tables[] = { &c->procs, &c->modules, &c->mappings, &c->stacks, &c->symbols,
				   &c->metas, &c->counts,  &c->older,    &c->called, &c->erlang };
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		table_free(tables[i]);
	store_free(&c->store);
	free(c);
}

uint64_t catalog_memory(const struct catalog *c)
{
	return c->store.bytes + table_memory(&c->stacks) + table_memory(&c->mappings) + table_memory(&c->procs) +
	       table_memory(&c->erlang);
}

size_t catalog_stacks(const struct catalog *c)
{
	return c->stacks.rows_cnt;
}

const char *catalog_text(struct catalog *c, const char *text)
{
	return store_text(&c->store, text);
}

/* Interns the text; NULL stays NULL. */
static int keep_text(struct catalog *c, const char **text)
{
	if (*text && !(*text = store_text(&c->store, *text)))
		return -ENOMEM;
	return 0;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

int catalog_put_meta(struct catalog *c, const char *key, const char *value)
{
	struct meta kept = { .key = key, .value = or_empty(value) };
	if (keep_text(c, &kept.key) || keep_text(c, &kept.value))
		return -ENOMEM;
	struct meta *m = table_put(&c->metas, &c->store, (uintptr_t)kept.key, sizeof(*m));
	if (!m)
		return -ENOMEM;
	*m = kept;
	return 0;
}

int catalog_put_count(struct catalog *c, const struct count *n)
{
	struct count kept = *n;
	kept.help = or_empty(kept.help);
	if (keep_text(c, &kept.name) || keep_text(c, &kept.help))
		return -ENOMEM;
	struct count *row = table_put(&c->counts, &c->store, (uintptr_t)kept.name, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = kept;
	return 0;
}

/*
 * Process ids that differ by multiples of 2^16 could collide, as the types' addresses have 48 bits; such rows would be
 * counted as one.
 */
static uint64_t older_key(struct proc_id proc, const char *type)
{
	return (uint64_t)proc.n << ADDRESS_BITS ^ (uintptr_t)type;
}

int catalog_put_older(struct catalog *c, const struct older *o)
{
	struct older kept = *o;
	kept.type = or_empty(kept.type);
	if (!o->proc.n)
		return -EINVAL;
	if (keep_text(c, &kept.type))
		return -ENOMEM;
	struct older *row = table_put(&c->older, &c->store, older_key(o->proc, kept.type), sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = kept;
	return 0;
}

/* Of two that collide the later one has a name. */
static uint64_t erlang_key(struct proc_id proc, uint64_t process)
{
	return (process ^ (uint64_t)proc.n << 40) * 0x9e3779b97f4a7c15ull;
}

int catalog_put_erlang_process(struct catalog *c, const struct erlang_process *w)
{
	struct erlang_process kept = *w;
	if (!w->proc.n || !w->name)
		return -EINVAL;
	if (keep_text(c, &kept.name))
		return -ENOMEM;
	struct erlang_process *row = table_put(&c->erlang, &c->store, erlang_key(w->proc, w->process), sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = kept;
	return 0;
}

int catalog_put_called(struct catalog *c, const struct called *n)
{
	struct called *row = n->proc.n && n->stack.n ? table_put(&c->called, &c->store, n->stack.n, sizeof(*row)) : NULL;
	if (!row)
		return n->proc.n && n->stack.n ? -ENOMEM : -EINVAL;
	*row = *n;
	return 0;
}

int catalog_put_proc(struct catalog *c, const struct proc *p)
{
	struct proc kept = *p;
	kept.comm = or_empty(kept.comm);
	kept.exe = or_empty(kept.exe);
	kept.attributes = or_empty(kept.attributes);
	if (!p->id.n)
		return -EINVAL;
	if (keep_text(c, &kept.comm) || keep_text(c, &kept.exe) || keep_text(c, &kept.attributes))
		return -ENOMEM;
	struct proc *row = table_put(&c->procs, &c->store, p->id.n, sizeof(*row));
	if (!row)
		return -ENOMEM;
	kept.program = p->program.n ? p->program : row->program;
	*row = kept;
	return 0;
}

int catalog_put_module(struct catalog *c, const struct module *m)
{
	struct module kept = *m;
	kept.path = or_empty(kept.path);
	if (!m->id.n || m->build_id_sz > BUILD_ID_MAX)
		return -EINVAL;
	if (keep_text(c, &kept.path))
		return -ENOMEM;
	struct module *row = table_put(&c->modules, &c->store, m->id.n, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = kept;
	return 0;
}

int catalog_put_mapping(struct catalog *c, const struct mapping *m)
{
	if (!m->id.n)
		return -EINVAL;
	struct mapping *row = table_put(&c->mappings, &c->store, m->id.n, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = *m;
	struct proc *p = table_get(&c->procs, m->proc.n);
	const struct module *file = table_get(&c->modules, m->module.n);
	if (p && file && p->exe == file->path) /* texts are interned */
		p->program = file->id;
	return 0;
}

int catalog_put_stack(struct catalog *c, const struct stack *s)
{
	if (!s->id.n)
		return -EINVAL;
	struct stack_row *row = table_put(&c->stacks, &c->store, s->id.n, sizeof(*row));
	if (!row)
		return -ENOMEM;
	if (s->n > row->cap) {
		struct frame *frames = store_take(&c->store, s->n * sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		row->frames = frames;
		row->cap = s->n;
	}
	if (s->n)
		memmove(row->frames, s->frames, s->n * sizeof(*row->frames));
	row->s = *s;
	row->s.frames = row->frames;
	return s->type ? keep_text(c, &row->s.type) : 0;
}

/* A copy in the store; NULL: out of memory. */
static struct symbols *keep_symbols(struct catalog *c, const struct symbols *s)
{
	struct symbols *kept = store_take(&c->store, sizeof(*kept));
	struct symbol *at = store_take(&c->store, s->n * sizeof(*at));
	if (!kept || !at)
		return NULL;
	for (size_t i = 0; i < s->n; i++) {
		at[i] = s->at[i];
		if (keep_text(c, &at[i].name) || keep_text(c, &at[i].file))
			return NULL;
	}
	*kept = (struct symbols){ .n = s->n, .at = at };
	return kept;
}

int catalog_put_symbols(struct catalog *c, struct module_id m, uint64_t pc, const struct symbols *s)
{
	struct module_symbols *of = table_put(&c->symbols, &c->store, m.n, sizeof(*of));
	struct symbols *kept = of ? keep_symbols(c, s) : NULL;
	uint64_t *slot = kept ? map_put(&of->by_pc, pc) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = (uintptr_t)kept;
	return 0;
}

const char *subject_name(enum subject s)
{
	static const char *const names[] = {
		[SUBJECT_ALLOCATIONS] = "allocations", [SUBJECT_PAGES] = "resident pages", [SUBJECT_MAPPINGS] = "mappings"
	};
	return s < SUBJECT_CNT ? names[s] : NULL;
}

static enum subject first_subject(const struct catalog *c)
{
	const char *name = catalog_meta(c, SUBJECT_KEY);
	enum subject s = name ? SUBJECT_CNT - 1 : SUBJECT_ALLOCATIONS;
	while (s && strcmp(subject_name(s), name))
		s--;
	return s;
}

bool catalog_has_subject(const struct catalog *c, enum subject s)
{
	const char *beside = catalog_meta(c, BESIDE_KEY);
	return s == first_subject(c) || (beside && strstr(beside, subject_name(s)));
}

enum subject catalog_subject(const struct catalog *c)
{
	return c->shows ? c->shown : first_subject(c);
}

void catalog_show(struct catalog *c, enum subject s)
{
	c->shows = true;
	c->shown = (uint8_t)s;
}

const char *catalog_meta(const struct catalog *c, const char *key)
{
	const char *known = store_known_text(&c->store, key);
	const struct meta *m = known ? table_get(&c->metas, (uintptr_t)known) : NULL;
	return m ? m->value : NULL;
}

const struct proc *catalog_proc(const struct catalog *c, struct proc_id id)
{
	return table_get(&c->procs, id.n);
}

const struct module *catalog_module(const struct catalog *c, struct module_id id)
{
	return table_get(&c->modules, id.n);
}

const char *module_build_id(const struct module *m, char out[BUILD_ID_TEXT])
{
	*out = '\0';
	for (size_t i = 0; i < m->build_id_sz && i < BUILD_ID_MAX; i++)
		snprintf(out + 2 * i, 3, "%02x", m->build_id[i]);
	return out;
}

const char *catalog_build_id(const struct catalog *c, const struct proc *p, char out[BUILD_ID_TEXT])
{
	const struct module *m = catalog_module(c, p->program);
	*out = '\0';
	return m ? module_build_id(m, out) : out;
}

const struct mapping *catalog_mapping(const struct catalog *c, struct map_id id)
{
	return table_get(&c->mappings, id.n);
}

bool catalog_shows(const struct catalog *c, struct proc_id id)
{
	const struct proc *p = catalog_proc(c, id);
	return !p || (p->subject ?: first_subject(c)) == catalog_subject(c);
}

const struct stack *catalog_stack(const struct catalog *c, struct stack_id id)
{
	const struct stack_row *row = table_get(&c->stacks, id.n);
	return row ? &row->s : NULL;
}

const struct symbols *catalog_symbols(const struct catalog *c, struct module_id m, uint64_t pc)
{
	const struct module_symbols *of = table_get(&c->symbols, m.n);
	const uint64_t *slot = of ? map_get(&of->by_pc, pc) : NULL;
	return slot ? (const struct symbols *)(uintptr_t)*slot : NULL;
}

uint64_t catalog_count(const struct catalog *c, const char *name)
{
	const char *known = store_known_text(&c->store, name);
	const struct count *n = known ? table_get(&c->counts, (uintptr_t)known) : NULL;
	return n ? n->value : 0;
}

const struct proc *catalog_next_proc(const struct catalog *c, size_t *i)
{
	return table_next(&c->procs, i);
}

const struct module *catalog_next_module(const struct catalog *c, size_t *i)
{
	return table_next(&c->modules, i);
}

const struct mapping *catalog_next_mapping(const struct catalog *c, size_t *i)
{
	return table_next(&c->mappings, i);
}

const struct stack *catalog_next_stack(const struct catalog *c, size_t *i)
{
	const struct stack_row *row = table_next(&c->stacks, i);
	return row ? &row->s : NULL;
}

const struct count *catalog_next_count(const struct catalog *c, size_t *i)
{
	return table_next(&c->counts, i);
}

const struct older *catalog_next_older(const struct catalog *c, size_t *i)
{
	return table_next(&c->older, i);
}

const struct older *catalog_older(const struct catalog *c, struct proc_id proc, const char *type)
{
	const char *known = store_known_text(&c->store, type);
	return known ? table_get(&c->older, older_key(proc, known)) : NULL;
}

const struct erlang_process *catalog_next_erlang_process(const struct catalog *c, size_t *i)
{
	return table_next(&c->erlang, i);
}

const struct erlang_process *catalog_erlang_process(const struct catalog *c, struct proc_id proc, uint64_t process)
{
	const struct erlang_process *w = table_get(&c->erlang, erlang_key(proc, process));
	return w && w->proc.n == proc.n && w->process == process ? w : NULL;
}

const struct called *catalog_next_called(const struct catalog *c, size_t *i)
{
	return table_next(&c->called, i);
}

const struct called *catalog_called(const struct catalog *c, struct stack_id stack)
{
	return table_get(&c->called, stack.n);
}

bool catalog_next_meta(const struct catalog *c, size_t *i, const char **key, const char **value)
{
	const struct meta *m = table_next(&c->metas, i);
	if (!m)
		return false;
	*key = m->key;
	*value = m->value;
	return true;
}

uint64_t frame_ip(const struct catalog *c, const struct frame *f)
{
	const struct mapping *m = catalog_mapping(c, f->map);
	return m ? f->rel + m->bias : f->rel;
}

static const struct {
	const char *name, *help;
} ends[STACK_END_CNT] = {
#define X(n, id, text, long_text) [n] = { text, long_text },
	STACK_END_LIST(X)
#undef X
};

const char *stack_end_name(enum stack_end end)
{
	return ends[(unsigned int)end < STACK_END_CNT ? end : STACK_END_UNKNOWN].name;
}

const char *stack_end_help(enum stack_end end)
{
	return ends[(unsigned int)end < STACK_END_CNT ? end : STACK_END_UNKNOWN].help;
}
