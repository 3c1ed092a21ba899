/* SPDX-License-Identifier: Apache-2.0 */
/* counting/entries: see entries.h. */
#include "counting/entries.h"

#include <stdlib.h>

#include "catalog/consumer.h"
#include "counting/counting.h"
#include "probe/entered.h"
#include "target/target.h"

/* The function's entry in a mapping of the process, even one that is gone. False: it maps no such file. */
static bool find_entry(const struct catalog *c, struct proc_id proc, struct module_id module, uint64_t vaddr, struct frame *out)
{
	const struct mapping *m;
	for (size_t i = 0; (m = catalog_next_mapping(c, &i));) {
		uint64_t ip = vaddr + m->bias;
		if (m->proc.n != proc.n || m->module.n != module.n || ip < m->start || ip >= m->end)
			continue;
		*out = (struct frame){ m->id, vaddr };
		return true;
	}
	return false;
}

/* The stack of one frame that stands for the function; 0: not known (yet). */
static struct stack_id stack_of(struct entries *e, struct proc_id proc, uint32_t number)
{
	uint64_t key = (uint64_t)proc.n << 32 | number, *known = map_get(&e->known, key);
	struct module_id module;
	struct frame entry;
	uint64_t vaddr;
	if (known)
		return (struct stack_id){ (uint32_t)*known };
	if (!counting_function(e->h->counting, number, &module, &vaddr) ||
	    !find_entry(e->h->catalog, proc, module, vaddr, &entry))
		return (struct stack_id){ 0 };
	struct stack_id id = e->entry(e->ctx, proc, &entry);
	uint64_t *place = id.n ? map_put(&e->known, key) : NULL;
	e->failed |= !place;
	if (place)
		*place = id.n;
	return id;
}

static void define(struct entries *e, struct proc_id proc, uint32_t number, uint64_t calls)
{
	const struct called row = { proc, stack_of(e, proc, number), calls };
	if (!row.stack.n)
		return;
	e->failed |= catalog_put_called(e->h->catalog, &row) != 0;
	consumer_define(e->h->out, &(struct definition){ DEFINITION_CALLED, .called = &row });
}

/*
 * Of several programs of a process the first is the current one: the record that it has been replaced has not been read
 * yet.
 */
void entries_publish(struct entries *e)
{
	struct entered_count *all = NULL;
	size_t n = 0, first = 0;
	if (probe_entered(e->h->probe, &all, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct alys_entered *of = &all[i].of;
		first = of->tgid == all[first].of.tgid ? first : i;
		struct proc_id proc = target_find(e->h->targets, of->tgid);
		if (proc.n && of->program == all[first].of.program)
			define(e, proc, of->function, all[i].calls);
	}
	free(all);
}

/* Until its record was read, calls of the next program may have been taken for this one's. */
static void clear(struct entries *e, struct proc_id proc)
{
	const struct called *row;
	for (size_t i = 0; (row = catalog_next_called(e->h->catalog, &i));) {
		if (row->proc.n == proc.n)
			catalog_put_called(e->h->catalog, &(struct called){ proc, row->stack, 0 });
	}
}

/* Rows of the process, as its consumer has not seen them yet. */
static void pass(struct entries *e, struct proc_id proc)
{
	const struct called *row;
	for (size_t i = 0; (row = catalog_next_called(e->h->catalog, &i));) {
		if (row->proc.n == proc.n)
			consumer_define(e->h->out, &(struct definition){ DEFINITION_CALLED, .called = row });
	}
}

static void settle(struct entries *e, uint32_t tgid, uint64_t next)
{
	struct proc_id proc = target_find(e->h->targets, tgid);
	struct entered_count *all = NULL;
	size_t n = 0;
	if (!proc.n || probe_entered(e->h->probe, &all, &n))
		return;
	clear(e, proc);
	for (size_t i = 0; i < n; i++) {
		if (all[i].of.tgid != tgid || all[i].of.program == next)
			continue;
		define(e, proc, all[i].of.function, all[i].calls);
		probe_forget_entered(e->h->probe, &all[i].of);
	}
	pass(e, proc);
	free(all);
}

void entries_exec(struct entries *e, uint32_t tgid, uint64_t program)
{
	settle(e, tgid, program);
}

void entries_end(struct entries *e, uint32_t tgid)
{
	settle(e, tgid, UINT64_MAX);
}

void entries_free(struct entries *e)
{
	map_free(&e->known);
}
