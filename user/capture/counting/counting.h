/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counting: calls of the functions that --calls chooses. In: what was found in each mapped file. Out: probes at their
 * entries, which count. Says which patterns match nothing, or too much.
 */
#ifndef ALYS_COUNTING_H
#define ALYS_COUNTING_H

#include "base/buf.h"
#include "base/err.h"
#include "event/event.h"
#include "examine/findings.h"
#include "recording/handles.h"

struct counting;

/* Borrows h. NULL: out of memory. */
struct counting *counting_new(const struct handles *h);
void counting_free(struct counting *c);

/* What to look for in this file: FINDINGS_FUNCTIONS or 0. c may be NULL. */
uint32_t counting_parts(const struct counting *c, const char *path);
/* The functions found in a file; takes them from f. */
void counting_found(struct counting *c, const char *path, struct findings *f);
/* Are inlined copies to be looked for in this file? */
bool counting_wants_inlined(const struct counting *c, struct module_id module);
void counting_found_inlined(struct counting *c, struct findings *f);

/* Attaches the file's functions for a process, or for all (0). */
void counting_attach(struct counting *c, uint32_t tgid, struct module_id module, int fd);
/* The process' links are gone; 0: all links. */
void counting_forget(struct counting *c, uint32_t tgid);

/* Where the function with this number is; false: there is none. */
bool counting_function(const struct counting *c, uint32_t number, struct module_id *module, uint64_t *vaddr);
/* Inlined copies, whose calls are not counted: "NAME\tN" lines. */
void counting_inlined_text(const struct counting *c, struct buf *out);
/* Before the recording: too many functions; for running processes that load nothing new also a pattern without any. */
int counting_check(const struct counting *c, bool complete, struct err *err);
/* After it: a line for each pattern that matched nothing. */
void counting_warn(const struct counting *c);

#endif
