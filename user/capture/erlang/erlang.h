/* SPDX-License-Identifier: Apache-2.0 */
/*
 * erlang/erlang: what Erlang processes are called. In: terms, as the VM has them. Out: names, for catalog and consumer: the registered
 * name, or else the function with which the process began.
 */
#ifndef ALYS_ERLANG_H
#define ALYS_ERLANG_H

#include <stddef.h>

#include "attach/attach.h"
#include "intake/intake.h"
#include "erlang/atoms.h"
#include "recording/handles.h"

struct erlang_vm {
	struct proc_id proc;
	struct atoms atoms; /* looked for once */
	size_t used;        /* memory that its names take */
};

struct erlang_names {
	const struct handles *h;
	const struct attach *attach;
	struct erlang_vm *vms;
	size_t vms_cnt, vms_cap;
};

/* -ENOMEM; 0 also if the process is none, its name cannot be read, or its VM has very many. */
int erlang_name(struct erlang_names *w, struct proc_id proc, const struct intake_name *n);
/* The process has ended. Its names stay in the catalog. */
void erlang_forget(struct erlang_names *w, uint32_t tgid);
void erlang_free(struct erlang_names *w);

#endif
