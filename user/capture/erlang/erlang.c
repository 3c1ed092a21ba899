/* SPDX-License-Identifier: Apache-2.0 */
/* erlang/erlang: see erlang.h. */
#include "erlang/erlang.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "catalog/consumer.h"
#include "target/target.h"

#define ROOM (4u << 20) /* of a VM, which may begin any number of processes */
#define ARITY_MAX 255

static struct atoms atoms_of(const struct erlang_names *w, const struct proc *p)
{
	const struct mapping *m;
	struct atoms found = { .tgid = p->tgid };
	for (size_t i = 0; !found.pages && (m = target_mapping(w->h->targets, p->id, i)); i++) {
		const struct beam_atoms *a = attach_atoms(w->attach, m->module);
		if (a)
			atoms_find(p->tgid, m->bias, a, &found);
	}
	return found;
}

/* NULL: no memory, or no such process. */
static struct erlang_vm *vm_of(struct erlang_names *w, struct proc_id proc)
{
	for (size_t i = w->vms_cnt; i--;) {
		if (w->vms[i].proc.n == proc.n)
			return &w->vms[i];
	}
	const struct proc *p = catalog_proc(w->h->catalog, proc);
	struct erlang_vm *vm = p ? VEC_PUSH(w, vms) : NULL;
	if (vm)
		*vm = (struct erlang_vm){ .proc = proc, .atoms = atoms_of(w, p) };
	return vm;
}

/* "Elixir.Shop" -> Shop, as Elixir writes it. *is_elixir: is it a name of Elixir's? */
static bool module_text(struct atoms *a, uint64_t atom, struct buf *out, bool *is_elixir)
{
	static const char elixir[] = "Elixir.";
	const size_t prefix = sizeof(elixir) - 1;
	struct buf name = { 0 };
	bool known = atoms_text(a, atom, &name);
	*is_elixir = known && name.len > prefix && !memcmp(name.data, elixir, prefix);
	if (known)
		buf_adds(out, buf_str(&name) + (*is_elixir ? prefix : 0));
	buf_free(&name);
	return known;
}

/* The arity is a plain number in struct Process (erl_process.h: initial.arity), written as Erlang or Elixir does. */
static bool initial_text(struct atoms *a, const struct intake_name *n, struct buf *out)
{
	bool is_elixir;
	if (n->arity > ARITY_MAX || !module_text(a, n->module, out, &is_elixir))
		return false;
	buf_adds(out, is_elixir ? "." : ":");
	if (!atoms_text(a, n->function, out))
		return false;
	buf_addf(out, "/%" PRIu64, n->arity);
	return true;
}

/* Names of Elixir's processes are mostly those of modules. */
static bool process_text(struct atoms *a, const struct intake_name *n, struct buf *out)
{
	bool is_elixir;
	return module_text(a, n->registered, out, &is_elixir) || initial_text(a, n, out);
}

int erlang_name(struct erlang_names *w, struct proc_id proc, const struct intake_name *n)
{
	struct buf name = { 0 };
	struct erlang_vm *vm = vm_of(w, proc);
	int rc = 0;
	if (vm && vm->used < ROOM && process_text(&vm->atoms, n, &name)) {
		struct erlang_process row = { proc, n->process, buf_str(&name) };
		rc = catalog_put_erlang_process(w->h->catalog, &row);
		if (!rc)
			consumer_define(w->h->out, &(struct definition){ DEFINITION_ERLANG_PROCESS, .erlang = &row });
		vm->used += name.len + sizeof(row);
	}
	buf_free(&name);
	return rc;
}

void erlang_forget(struct erlang_names *w, uint32_t tgid)
{
	size_t kept = 0;
	for (size_t i = 0; i < w->vms_cnt; i++) {
		if (w->vms[i].atoms.tgid != tgid)
			w->vms[kept++] = w->vms[i];
	}
	w->vms_cnt = kept;
}

void erlang_free(struct erlang_names *w)
{
	free(w->vms);
}
