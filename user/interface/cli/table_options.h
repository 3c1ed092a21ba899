/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/table_options: options shared by several verbs: grouping, filtering and format of tables, frames to skip, whether frees
 * are recorded, and sources of names.
 */
#ifndef ALYS_CLI_TABLE_OPTIONS_H
#define ALYS_CLI_TABLE_OPTIONS_H

#include "allocators/own.h"
#include "cli/opts.h"
#include "recording/options.h"
#include "report/report.h"

#define TABLE_DEFAULTS                                                                                                       \
	{                                                                                                                    \
		.by = BY_STANDARD, .show = SHOW_STANDARD, .sort = SORT_STANDARD, .per = PER_STANDARD, .depth = REPORT_DEPTH, \
		.top = REPORT_TOP_STANDARD,                                                                                  \
	}

/* A regular expression or a number of frames into a struct skip; a flag to skip none. */
int opt_skip(const struct opt *o, const char *text, void *dest, struct err *err);
int opt_no_skip(const struct opt *o, const char *text, void *dest, struct err *err);

/* AT(skip): offset of a struct skip, used by all views of stacks. */
#define SKIP_OPTIONS(AT, ENV)                                                                                                    \
	{ "skip",   0,    "REGEX|N", opt_skip,                                                                                   \
	  AT(skip), NULL, ENV,       "skip innermost frames that match (function, file or library), or N of them; repeatable" }, \
	{                                                                                                                        \
		"no-skip", 0, NULL, opt_no_skip, AT(skip), NULL, NULL,                                                           \
			"skip none: keep zmalloc, std::allocator and other known wrappers"                                       \
	}

/* KEY=VALUE appended to the text of catalog/attributes.h at `dest`, of ATTRIBUTES_MAX bytes. */
int opt_label(const struct opt *o, const char *text, void *dest, struct err *err);

#define LABEL_OPTION(at)                                                                            \
	{                                                                                           \
		"label", 0, "KEY=VALUE", opt_label, at, NULL, NULL,                                 \
			"a label of all processes in what is written, such as team=pay; repeatable" \
	}

/* A format of an output (sink/registry.h), or the one more that the verb has. */
int opt_format(const struct opt *o, const char *text, const char *more, void *dest, struct err *err);

/* Words of --allocator, kept as they are given. */
int opt_allocators(const struct opt *o, const char *text, void *dest, struct err *err);

/* Appends a function to a struct own_functions; the option's name is the kind. */
int opt_own(const struct opt *o, const char *text, void *dest, struct err *err);

/* The option's name is the subject, or-ed into a uint32_t. */
int opt_subject(const struct opt *o, const char *text, void *dest, struct err *err);

/* Do the options fit what is recorded? */
int check_subjects(const struct record_options *r, struct err *err);

/* AT(field): offset of a field of struct record_options. */
#define SUBJECT_OPTIONS(AT)                                                                                                  \
	{ "rss",        0,                                                                                                   \
	  NULL,         opt_subject,                                                                                         \
	  AT(subjects), NULL,                                                                                                \
	  NULL,         "record which stacks touch pages first, instead of allocations: where resident memory comes from" }, \
		{ "maps",                                                                                                    \
		  0,                                                                                                         \
		  NULL,                                                                                                      \
		  opt_subject,                                                                                               \
		  AT(subjects),                                                                                              \
		  NULL,                                                                                                      \
		  NULL,                                                                                                      \
		  "record which stacks map and unmap address space, instead of allocations: mmap, munmap, mremap, brk" },    \
	{                                                                                                                    \
		"beside", 0, NULL, opt_flag, AT(beside), NULL, NULL, "with --rss or --maps: allocations are recorded, too"   \
	}

/* A subject's number and 1, into a uint32_t. */
int opt_shown(const struct opt *o, const char *text, void *dest, struct err *err);

#define SHOWN_OPTION(at, live)                                                                            \
	{                                                                                                 \
		"subject", 0, "allocations|rss|maps", opt_shown, at, NULL, NULL,                          \
			live "of a trace with several: what it is about (default: allocations, else rss)" \
	}

/* AT(own): offset of a struct own_functions. */
#define OWN_OPTIONS(AT, whose)                                                                                                   \
	{ "alloc",    0,                                                                                                         \
	  "FUNCTION", opt_own,                                                                                                   \
	  AT(own),    NULL,                                                                                                      \
	  NULL,       whose "record this function of yours, too, such as 'libpool.so:pool_alloc(size=2)'; repeatable" },         \
		{ "realloc", 0, "FUNCTION", opt_own, AT(own), NULL, NULL, whose "the same, such as 'pool_grow(ptr=1,size=2)'" }, \
		{ "free", 0, "FUNCTION", opt_own, AT(own), NULL, NULL, whose "the same, such as 'pool_free(ptr=1)'" },           \
	{                                                                                                                        \
		"nested", 0, "HOW", opt_choice, AT(own.beside), "instead|beside", NULL,                                          \
			whose "whether they count instead of what they call, such as malloc, or beside it"                       \
	}

/* `at`: offset of a uint32_t, 1 for allocations. */
#define PROFILE_OPTION(at, whose)                                                                                        \
	{                                                                                                                \
		"profile", 0, "TYPE", opt_choice, at, "in-use|allocations", NULL,                                        \
			whose "allocations leaves out frees, which saves their probes; what is in use is then known of " \
			      "collected heaps only"                                                                     \
	}

/* AT(field): offset of a field of struct report_options in the verb's options. */
#define TABLE_OPTIONS(AT)                                                                                                        \
	{ "by", 0, "WHAT", opt_choice, AT(by), REPORT_BY, NULL, "what a row stands for (default site; diff: function)" },        \
		{ "show",   0,           "WHAT", opt_choice,                                                                     \
		  AT(show), REPORT_SHOW, NULL,   "which blocks count (default live, where frees are known)" },                   \
		{ "sort", 0, "HOW", opt_choice, AT(sort), REPORT_SORT, NULL, "order of rows, largest first (default size)" },    \
		{ "top", 0, "N", opt_rows, AT(top), NULL, NULL, "rows, 0 = all (default: text 30, other formats all)" },         \
		{ "focus",   0,    "REGEX", opt_text,                                                                            \
		  AT(focus), NULL, NULL,    "only stacks with a function, file or library that matches" },                       \
		{ "ignore",   0,    "REGEX", opt_text,                                                                           \
		  AT(ignore), NULL, NULL,    "no stacks with a function, file or library that matches" },                        \
		{ "inclusive", 0, NULL, opt_flag, AT(inclusive), NULL, NULL, "by function: include what its callees allocate" }, \
		{ "callers",   0,    "FUNCTION", opt_text,                                                                       \
		  AT(callers), NULL, NULL,       "its callers, and how much they allocated through it" },                        \
	{                                                                                                                        \
		"format", 'f', "FORMAT", opt_choice, AT(format), REPORT_FORMAT, NULL, "how to write the table (default text)"    \
	}

/* More of them, in a section of their own. */
#define TABLE_MORE_OPTIONS(AT)                                                                                                     \
	SECTION("Rows and columns"), { "ascending", 0, NULL, opt_flag, AT(ascending), NULL, NULL, "reverse the order" },           \
		{ "min-bytes", 0, "N", opt_size, AT(min_bytes), NULL, "MEMPROF_MIN_BYTES", "hide smaller rows" },                  \
		{ "min-count", 0, "N", opt_count, AT(min_count), NULL, "TRACE_MIN_COUNT", "hide rows of fewer allocations" },      \
		{ "depth",                                                                                                         \
		  0,                                                                                                               \
		  "N",                                                                                                             \
		  opt_count,                                                                                                       \
		  AT(depth),                                                                                                       \
		  NULL,                                                                                                            \
		  "MEMPROF_STACK_DEPTH",                                                                                           \
		  "by stack: frames shown and told apart (default 5, 0 = all)" },                                                  \
		SKIP_OPTIONS(AT, "MEMPROF_STACK_SKIP"), { "callees",   0,                                                          \
							  "FUNCTION",  opt_text,                                                   \
							  AT(callees), NULL,                                                       \
							  NULL,        "its callees, and how much they allocated for it" },        \
		{ "columns", 0, "NAME,...", opt_text, AT(columns), NULL, NULL, "these columns in this order; -f csv names them" }, \
	{                                                                                                                          \
		"keep-allocator-frames", 0, NULL, opt_flag, AT(keep_allocator_frames), NULL, NULL,                                 \
			"keep malloc and the like in stacks"                                                                       \
	}

/* Sources of names; AT(field): offset of a field of struct name_options. */
#define NAME_OPTIONS(AT)                                                                                                       \
	{ "symbolize", 0, "BINARY", opt_text, AT(symbolize), NULL, NULL, "symbolize with this copy of the program" },          \
		{ "sysroot", 0, "DIR", opt_text, AT(sysroot), NULL, NULL, "symbolize with the traced files below DIR" },       \
		{ "any-build",   0,    NULL, opt_flag,                                                                         \
		  AT(any_build), NULL, NULL, "for both: accept another build (wrong names are likely)" },                      \
		{ "debuginfod",   0,    NULL, opt_flag,                                                                        \
		  AT(debuginfod), NULL, NULL, "fetch missing debug information from DEBUGINFOD_URLS" },                        \
	{                                                                                                                      \
		"raw-names", 0, NULL, opt_flag, AT(raw_names), NULL, NULL, "keep mangled names where they are looked up again" \
	}

#endif
