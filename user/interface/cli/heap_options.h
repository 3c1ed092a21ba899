/* SPDX-License-Identifier: Apache-2.0 */
/* cli/heap_options: options shared by graph and dump: which heap, and how it is read. */
#ifndef ALYS_CLI_HEAP_OPTIONS_H
#define ALYS_CLI_HEAP_OPTIONS_H

#include <errno.h>

#include "cli/opts.h"
#include "heapview/heapview.h"

/* AT(field): offset of a field of struct heap_ask in the verb's options. */
#define HEAP_OPTIONS(AT)                                                                                                            \
	{ "pid", 'p', "PID", opt_count, AT(pid), NULL, NULL, "the process" },                                                       \
		{ "freeze", 0, NULL, opt_flag, AT(freeze), NULL, NULL, "stop it while its heap is copied: exact, at most 2 s" },    \
		{ "malloc",   0,    NULL, opt_flag,                                                                                 \
		  AT(malloc), NULL, NULL, "glibc's malloc, also of a program that has a garbage collector" },                       \
		{ "live",   0,                                                                                                      \
		  "HOW",    opt_choice,                                                                                             \
		  AT(live), "reached|marked",                                                                                       \
		  NULL,     "by roots now (default), or by the last collection" },                                                  \
		{ "type-ids",   0,    "FILE", opt_text,                                                                             \
		  AT(type_ids), NULL, NULL,   "names of types: what CRYSTAL_DUMP_TYPE_ID=1 crystal build prints" },                 \
		{ "fields", 0, "BINARY", opt_text, AT(fields), NULL, NULL, "names of fields: a --debug build of the same source" }, \
	{                                                                                                                           \
		"learn", 0, "TRACE", opt_text, AT(learn), NULL, NULL, "names of types from a recording of this process"             \
	}

static inline int heap_options_check(const struct heap_ask *a, struct err *err)
{
	if (a->malloc && (a->live || a->type_ids || a->fields || a->learn))
		return err_set(err, EINVAL,
			       "--live, --type-ids, --fields and --learn are for collected heaps: leave out --malloc");
	return 0;
}

#endif
