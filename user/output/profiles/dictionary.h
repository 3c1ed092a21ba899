/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles/dictionary: the tables that samples refer to by number: strings, mappings, functions, locations. Each entry is
 * written once, when it is first used, so that numbers have no holes. Strings count from 0, which is "", all else from 1;
 * 0 = none. Numbers are valid for one writer. Private to profiles/.
 */
#ifndef ALYS_PROFILES_DICTIONARY_H
#define ALYS_PROFILES_DICTIONARY_H

#include "base/map.h"
#include "format/format.h"
#include "format/field_names.h"

struct dictionary_line {
	uint64_t function;
	uint32_t line, column; /* 0 = unknown */
};

/* An address in a process. Inlined functions come first, the one that holds the machine code last. */
struct dictionary_location {
	uint64_t mapping, address;
	const struct dictionary_line *lines;
	size_t lines_cnt;
};

/* Written last, because only then is it known which of them were symbolized. */
struct dictionary_mapping {
	uint64_t start, limit, file_offset; /* 0 with options.no_addresses */
	int64_t filename, build_id;         /* strings; the build id in hexadecimal */
	bool symbolized;
};

/* How a format writes entries; called in the order of their numbers. */
struct dictionary_ops {
	void (*string)(void *writer, const char *text);
	void (*function)(void *writer, uint64_t id, int64_t name, int64_t file);
	void (*location)(void *writer, uint64_t id, const struct dictionary_location *l);
	void (*mapping)(void *writer, uint64_t id, const struct dictionary_mapping *m);
};

struct used_mapping {
	struct map_id map;
	bool symbolized;
};

/* Zeroed but for in, ops, writer; then dictionary_begin. */
struct dictionary {
	const struct sink_input *in;
	const struct dictionary_ops *ops;
	void *writer;
	bool resolved; /* names were looked up: frames of known files have theirs */
	bool failed;   /* out of memory; sticky */
	uint64_t *ids; /* locations of the stack given last, innermost first */
	size_t ids_cnt, ids_cap;
	struct names strings;   /* id = number */
	struct names locations; /* struct location_key -> id = number - 1 */
	struct map functions;   /* name << 32 | file -> number */
	struct map map_index;   /* map_id -> number */
	struct used_mapping *maps;
	size_t maps_cnt, maps_cap;
	struct dictionary_line *lines; /* of the location at hand */
	size_t lines_cnt, lines_cap;
};

/* Writes string 0 and gives the first process' program the mapping 1, as pprof wants it. */
void dictionary_begin(struct dictionary *d);
int64_t dictionary_string(struct dictionary *d, const char *text);
/* Bytes from outside: control characters and bad UTF-8 are escaped. */
int64_t dictionary_clean(struct dictionary *d, const char *text);
/* Fills d->ids. */
void dictionary_stack(struct dictionary *d, const struct sink_stack *s);
/*
 * What the collector's marks say of objects from before the recording, by process; the caller frees it, NULL for a part of the
 * recording. A type is known and no stack: d->ids becomes a location that is no address. In use, and allocated at no time.
 */
struct before_row *dictionary_before_rows(const struct dictionary *d, size_t *cnt);
void dictionary_before(struct dictionary *d, const struct before_row *row, int64_t values[VALUE_CNT]);
void dictionary_end(struct dictionary *d); /* writes the mappings */
void dictionary_free(struct dictionary *d);

#endif
