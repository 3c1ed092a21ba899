/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/perfmap: see perfmap.h. */
#include "dwarf/perfmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwarf/demangle.h"

#define FILE_MAX (256ull << 20)
#define PIECE (1u << 16)
#define LINE_MAX_SZ 8192 /* longer lines are ignored */

/* Removes node's prefix of a name: the kind of code, then its optimization level. */
static const char *without_kind(const char *name)
{
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Script:", "Eval:" };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t n = strlen(kinds[i]);
		if (!strncmp(name, kinds[i], n))
			return name + n + strspn(name + n, "*~^+");
	}
	return NULL;
}

/* Parses "...:LINE:COLUMN", and cuts it off. */
static bool take_position(char *file, struct symbol *out)
{
	char *column = strrchr(file, ':');
	if (!column || !column[1] || column[1 + strspn(column + 1, "0123456789")])
		return false;
	*column = 0;
	char *line = strrchr(file, ':');
	if (!line || !line[1] || line[1 + strspn(line + 1, "0123456789")]) {
		*column = ':';
		return false;
	}
	*line = 0;
	out->line = (uint32_t)strtoul(line + 1, NULL, 10);
	out->column = (uint32_t)strtoul(column + 1, NULL, 10);
	return true;
}

/* "JS:*fib /srv/app.js:3:14" -> fib, /srv/app.js, line 3. */
static void take_script(const char *text, struct symbol *out)
{
	static const char *const roots[] = { " /", " file:", " node:" };
	const char *at = NULL;
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots) && !at; i++)
		at = strstr(text, roots[i]);
	char *file = at ? strdup(at + 1) : NULL;
	if (!file || !take_position(file, out)) {
		free(file);
		out->name = strdup(text);
		return;
	}
	out->file = file;
	out->name = at == text ? strdup("(anonymous)") : strndup(text, (size_t)(at - text));
}

/*
 * Length of "MODULE:FUNCTION/ARITY" at the start, also before what the Erlang VM says of a part of the code; 0: not of
 * this form.
 */
static size_t erlang_length(const char *name)
{
	static const char part[] = "-CodeInfoPrologue";
	size_t n = strlen(name), tail = sizeof(part) - 1;
	if (n > tail && !strcmp(name + n - tail, part))
		n -= tail;
	size_t digits = n;
	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	return digits < n && digits && name[digits - 1] == '/' && memchr(name, ':', digits) ? n : 0;
}

/* Part of a text. */
struct part {
	const char *at;
	int n;
};

/* The part before the last '/'; `after` receives what follows. Without one: all. */
static struct part cut_arity(struct part p, struct part *after)
{
	const char *slash = memrchr(p.at, '/', (size_t)p.n);
	*after = slash ? (struct part){ slash + 1, (int)(p.at + p.n - slash - 1) } : (struct part){ p.at + p.n, 0 };
	return slash ? (struct part){ p.at, (int)(slash - p.at) } : p;
}

/*
 * "'-build/1-fun-0-'", as compilers name a function without a name -> build and 1. Not "'-map/2-lists^map/1-1-'", a copy of a function within
 * another one.
 */
static bool is_anonymous(struct part function, struct part *in, struct part *in_arity)
{
	static const char digits[] = "0123456789";
	bool made = function.n > 4 && !strncmp(function.at, "'-", 2) && !strncmp(function.at + function.n - 2, "-'", 2);
	if (!made)
		return false;
	struct part rest;
	*in = cut_arity((struct part){ function.at + 2, function.n - 4 }, &rest);
	*in_arity = (struct part){ rest.at, (int)strspn(rest.at, digits) };
	const char *kind = in_arity->at + in_arity->n, *dash = *kind == '-' ? strchr(kind + 1, '-') : NULL;
	return in->n && in_arity->n && dash && dash + 1 + strspn(dash + 1, digits) == rest.at + rest.n;
}

/* Erlang wants quotes around "empty?", "put!" and "+", which Elixir does not. */
static struct part without_quotes(struct part function)
{
	bool quoted = function.n > 1 && *function.at == '\'';
	return quoted ? (struct part){ function.at + 1, function.n - 2 } : function;
}

/* "\"" if Elixir wants quotes around the name, else "". */
static const char *quote_of(struct part name)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyz_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", signs[] = "+-*/<>=!&|^~@:";
	size_t n = strspn(name.at, word), all = (size_t)name.n;
	bool begins = n && memchr(word, *name.at, 'z' - 'a' + 2);
	if (n < all && (name.at[n] == '?' || name.at[n] == '!'))
		n++;
	return (begins && n == all) || (all && strspn(name.at, signs) == all) ? "" : "\"";
}

/* Of "FUNCTION/ARITY" in a module of Elixir. NULL: no memory. */
static char *elixir_name(struct part module, struct part call)
{
	struct part arity, name, in_arity, function = cut_arity(call, &arity);
	char *out = NULL;
	int length;
	if (is_anonymous(function, &name, &in_arity)) {
		const char *quote = quote_of(name);
		length = asprintf(&out, "anonymous fn/%.*s in %.*s.%s%.*s%s/%.*s", arity.n, arity.at, module.n, module.at, quote,
				  name.n, name.at, quote, in_arity.n, in_arity.at);
	} else {
		name = without_quotes(function);
		const char *quote = quote_of(name);
		length = asprintf(&out, "%.*s.%s%.*s%s/%.*s", module.n, module.at, quote, name.n, name.at, quote, arity.n,
				  arity.at);
	}
	return length < 0 ? NULL : out;
}

/*
 * "$lists:map/2" -> lists:map/2; "$'Elixir.Enum':map/2" -> Enum.map/2, as Elixir writes it. NULL: another name, or no
 * memory.
 */
static char *erlang_name(const char *name)
{
	static const char elixir[] = "'Elixir.";
	size_t prefix = sizeof(elixir) - 1, n = *name == '$' ? erlang_length(name + 1) : 0;
	const char *module = name + 1, *end = n ? strstr(module, "':") : NULL;
	if (!n)
		return NULL;
	if (strncmp(module, elixir, prefix) != 0 || !end || end >= module + n)
		return strndup(module, n);
	struct part call = { end + 2, (int)(module + n - (end + 2)) };
	module += prefix;
	return elixir_name((struct part){ module, (int)(end - module) }, call);
}

static void set(struct symbol *out, const char *name)
{
	free((void *)(uintptr_t)out->name);
	free((void *)(uintptr_t)out->file);
	*out = (struct symbol){ .quality = SYMBOL_TABLE };
	const char *script = without_kind(name);
	if (script)
		take_script(script, out);
	else
		out->name = erlang_name(name) ?: strndup(name, DEMANGLE_MAX);
	if (out->file)
		out->quality = SYMBOL_EXACT;
	else if (!out->name)
		out->quality = SYMBOL_MODULE;
}

static size_t first_at_or_after(const uint64_t *pcs, size_t n, uint64_t addr)
{
	size_t low = 0;
	while (low < n) {
		size_t mid = low + (n - low) / 2;
		if (pcs[mid] < addr)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

static void take_line(const char *line, const uint64_t *pcs, size_t n, struct symbol *out)
{
	char *end;
	uint64_t start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return;
	char *name;
	uint64_t size = strtoull(end, &name, 16);
	if (name == end || *name != ' ' || !name[1])
		return;
	for (size_t i = first_at_or_after(pcs, n, start); i < n && pcs[i] - start < size; i++)
		set(&out[i], name + 1);
}

/* Processes complete lines; returns the length of the incomplete one at the end. */
static size_t take_lines(char *piece, size_t len, const uint64_t *pcs, size_t n, struct symbol *out)
{
	char *at = piece, *end = piece + len, *newline;
	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		*newline = 0;
		take_line(at, pcs, n, out);
		at = newline + 1;
	}
	size_t rest = (size_t)(end - at);
	if (rest > LINE_MAX_SZ)
		rest = 0;
	memmove(piece, at, rest);
	return rest;
}

int perfmap_find(int fd, const uint64_t *pcs, size_t n, struct symbol *out)
{
	char piece[PIECE];
	size_t have = 0;
	ssize_t got = 0;
	for (size_t i = 0; i < n; i++)
		out[i] = (struct symbol){ .quality = SYMBOL_MODULE };
	for (uint64_t at = 0; at < FILE_MAX; at += (uint64_t)got) {
		got = pread(fd, piece + have, sizeof(piece) - have - 1, (off_t)at);
		if (got <= 0)
			break;
		have = take_lines(piece, have + (size_t)got, pcs, n, out);
	}
	return got < 0 ? -errno : 0;
}
