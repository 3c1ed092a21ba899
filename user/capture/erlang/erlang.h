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

struct erlang_names {
	const struct handles *h;
	const struct attach *attach;
	struct {
		struct proc_id proc;
		struct atoms atoms;
	} * vms; /* each is looked at once */
	size_t vms_cnt, vms_cap;
	size_t tried; /* names */
};

/* -ENOMEM; 0 also if the process is none, its name cannot be read, or there are very many. */
int erlang_name(struct erlang_names *w, struct proc_id proc, const struct intake_name *n);
void erlang_free(struct erlang_names *w);

#endif
