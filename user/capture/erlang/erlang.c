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

#define TRIED_MAX 65536 /* of a recording: a VM may begin any number of processes, and change their names as often */
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
static const struct atoms *vm_of(struct erlang_names *w, struct proc_id proc)
{
	for (size_t i = w->vms_cnt; i--;) {
		if (w->vms[i].proc.n == proc.n)
			return &w->vms[i].atoms;
	}
	const struct proc *p = catalog_proc(w->h->catalog, proc);
	if (!p || !VEC_PUSH(w, vms))
		return NULL;
	w->vms[w->vms_cnt - 1].proc = proc;
	w->vms[w->vms_cnt - 1].atoms = atoms_of(w, p);
	return &w->vms[w->vms_cnt - 1].atoms;
}

/* The arity is a plain number in struct Process (erl_process.h: initial.arity), written as Erlang or Elixir does. */
static bool initial_text(const struct atoms *a, const struct intake_name *n, struct buf *out)
{
	static const char elixir[] = "Elixir.";
	const size_t prefix = sizeof(elixir) - 1;
	struct buf module = { 0 };
	bool known = n->arity <= ARITY_MAX && atoms_text(a, n->module, &module);
	bool is_elixir = known && module.len > prefix && !memcmp(module.data, elixir, prefix);
	if (known && is_elixir)
		buf_addf(out, "%.*s.", (int)(module.len - prefix), (const char *)module.data + prefix);
	else if (known)
		buf_addf(out, "%.*s:", (int)module.len, (const char *)module.data);
	known = known && atoms_text(a, n->function, out);
	if (known)
		buf_addf(out, "/%" PRIu64, n->arity);
	buf_free(&module);
	return known;
}

int erlang_name(struct erlang_names *w, struct proc_id proc, const struct intake_name *n)
{
	struct buf name = { 0 };
	const struct atoms *a = w->tried++ < TRIED_MAX ? vm_of(w, proc) : NULL;
	int rc = 0;
	if (a && (atoms_text(a, n->registered, &name) || initial_text(a, n, &name))) {
		struct erlang_process row = { proc, n->process, buf_str(&name) };
		rc = catalog_put_erlang_process(w->h->catalog, &row);
		if (!rc)
			consumer_define(w->h->out, &(struct definition){ DEFINITION_ERLANG_PROCESS, .erlang = &row });
	}
	buf_free(&name);
	return rc;
}

void erlang_free(struct erlang_names *w)
{
	free(w->vms);
}
