/* SPDX-License-Identifier: Apache-2.0 */
/* allocators/own: see own.h. */
#include "allocators/own.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alys.h"
#include "globs/glob.h"

#define ARGS_MAX 6 /* in registers: psABI 3.2.3 */

const char *const own_kinds[OWN_KINDS] = { [OWN_ALLOC] = "alloc", [OWN_REALLOC] = "realloc", [OWN_FREE] = "free" };

enum key { KEY_SIZE, KEY_COUNT, KEY_PTR, KEY_OUT, KEY_ALIGN, KEYS };
#define HAS(key) (1u << (key))

static const char *const keys[KEYS] = { "size", "count", "ptr", "out", "align" };

/* What each kind of function must have, and may have. */
static const struct {
	uint32_t needs, may;
	const char *example;
} kinds[OWN_KINDS] = {
	[OWN_ALLOC] = { HAS(KEY_SIZE), HAS(KEY_SIZE) | HAS(KEY_COUNT) | HAS(KEY_OUT) | HAS(KEY_ALIGN),
			"libpool.so:pool_alloc(size=2)" },
	[OWN_REALLOC] = { HAS(KEY_PTR) | HAS(KEY_SIZE), HAS(KEY_PTR) | HAS(KEY_SIZE) | HAS(KEY_COUNT) | HAS(KEY_ALIGN),
			  "libpool.so:pool_realloc(ptr=2,size=3)" },
	[OWN_FREE] = { HAS(KEY_PTR), HAS(KEY_PTR), "libpool.so:pool_free(ptr=2)" },
};

/* Which argument each key is, from 1; 0 = not given. */
struct arguments {
	uint32_t of[KEYS];
	uint32_t given; /* HAS(key) */
};

/* Where the arguments begin: the last opening parenthesis, for names may have some, too. NULL: there are none. */
static const char *arguments_in(const char *spec)
{
	size_t n = strlen(spec);
	const char *open = strrchr(spec, '(');
	return n && spec[n - 1] == ')' && open > spec ? open : NULL;
}

/* "size=2" of at; false: no such key, or number. */
static bool take_argument(const char *at, size_t n, struct arguments *out)
{
	const char *equals = memchr(at, '=', n);
	size_t name = equals ? (size_t)(equals - at) : 0;
	for (uint32_t k = 0; equals && k < KEYS; k++) {
		char *end;
		unsigned long no = strtoul(equals + 1, &end, 10);
		if (strlen(keys[k]) != name || memcmp(keys[k], at, name) || !isdigit((unsigned char)equals[1]) || end != at + n ||
		    no < 1 || no > ARGS_MAX)
			continue;
		out->of[k] = (uint32_t)no;
		bool twice = out->given & HAS(k);
		out->given |= HAS(k);
		return !twice;
	}
	return false;
}

static bool take_arguments(const char *open, enum own_kind kind, struct arguments *out)
{
	*out = (struct arguments){ 0 };
	for (const char *at = open + 1; *at; at++) {
		size_t n = strcspn(at, ",)");
		if (!take_argument(at, n, out))
			return false;
		at += n;
	}
	return (out->given & kinds[kind].needs) == kinds[kind].needs && !(out->given & ~kinds[kind].may) &&
	       (out->given & (HAS(KEY_COUNT) | HAS(KEY_OUT))) != (HAS(KEY_COUNT) | HAS(KEY_OUT));
}

static bool split(const char *spec, enum own_kind kind, struct glob *pattern, struct arguments *args)
{
	const char *open = arguments_in(spec);
	return open && !strchr(spec, '\n') && take_arguments(open, kind, args) &&
	       glob_split(spec, (size_t)(open - spec), pattern);
}

static void say_keys(uint32_t set, const char *between, struct buf *out)
{
	const char *sep = "";
	for (uint32_t k = 0; k < KEYS; k++) {
		if (!(set & HAS(k)))
			continue;
		buf_addf(out, "%s%s=N", sep, keys[k]);
		sep = between;
	}
}

static int refuse(enum own_kind kind, const char *spec, struct err *err)
{
	uint32_t needs = kinds[kind].needs, more = kinds[kind].may & ~needs;
	struct buf text = { 0 };
	buf_addf(&text, "--%s wants [FILE:]FUNCTION(", own_kinds[kind]);
	say_keys(needs, ",", &text);
	buf_adds(&text, more ? "), and " : ")");
	say_keys(more, " or ", &text);
	buf_addf(&text, "%s, such as %s, where N is the number of an argument from 1 to %d, got \"%.200s\"",
		 more ? " if it has that" : "", kinds[kind].example, ARGS_MAX, spec);
	err_set(err, EINVAL, "%s", buf_str(&text));
	buf_free(&text);
	return -EINVAL;
}

static size_t lines_in(const char *text)
{
	size_t n = 0;
	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

int own_add(struct own_functions *f, enum own_kind kind, const char *spec, struct err *err)
{
	size_t had = strlen(f->text), room = sizeof(f->text) - had;
	struct glob pattern;
	struct arguments args;
	if (!split(spec, kind, &pattern, &args))
		return refuse(kind, spec, err);
	if (lines_in(f->text) >= OWN_MAX || strlen(own_kinds[kind]) + strlen(spec) + 3 > room)
		return err_set(err, E2BIG, "--%s: more than %d functions of your own, or more than %d bytes of them",
			       own_kinds[kind], OWN_MAX, OWN_TEXT_MAX);
	snprintf(f->text + had, room, "%s %s\n", own_kinds[kind], spec);
	return 0;
}

/* --- the rows ------------------------------------------------------------------------------------ */

static struct {
	struct own_functions from;
	struct glob patterns[OWN_MAX];
	char symbols[OWN_MAX][64]; /* what the user calls them: the pattern, truncated */
	struct allocator rows[OWN_MAX];
	size_t n;
	char text[OWN_TEXT_MAX]; /* of the patterns */
} own;

/* Numbers of arguments in the order that the shape wants: see ROW in allocators.c. */
static struct allocator row_of(enum own_kind kind, const struct arguments *a)
{
	uint8_t size = (uint8_t)(a->of[KEY_SIZE] - 1), count = (uint8_t)(a->of[KEY_COUNT] - 1);
	uint8_t ptr = (uint8_t)(a->of[KEY_PTR] - 1), out = (uint8_t)(a->of[KEY_OUT] - 1);
	bool counts = a->given & HAS(KEY_COUNT);
	struct allocator row = { .family = ALLOC_OWN, .nest = ALYS_NEST_THREAD, .runs_user_code = true };
	if (kind == OWN_FREE)
		row.shape = ALYS_SHAPE_FREE, row.arg[0] = ptr;
	else if (kind == OWN_REALLOC && counts)
		row.shape = ALYS_SHAPE_MULREALLOC, row.arg[0] = ptr, row.arg[1] = count, row.arg[2] = size;
	else if (kind == OWN_REALLOC)
		row.shape = ALYS_SHAPE_REALLOC, row.arg[0] = ptr, row.arg[1] = size;
	else if (a->given & HAS(KEY_OUT))
		row.shape = ALYS_SHAPE_OUTPTR, row.arg[0] = out, row.arg[1] = size;
	else if (counts)
		row.shape = ALYS_SHAPE_MUL, row.arg[0] = count, row.arg[1] = size;
	else
		row.shape = ALYS_SHAPE_SIZE, row.arg[0] = size;
	return row;
}

static int kind_of(const char *line)
{
	size_t n = strcspn(line, " ");
	for (int k = 0; k < OWN_KINDS; k++) {
		if (strlen(own_kinds[k]) == n && !memcmp(own_kinds[k], line, n))
			return k;
	}
	return -1;
}

static void use_line(const char *line)
{
	int kind = kind_of(line);
	const char *spec = line + strcspn(line, " ") + 1;
	struct arguments args;
	struct glob *pattern = &own.patterns[own.n];
	size_t had = strlen(own.text);
	if (kind < 0 || !split(spec, (enum own_kind)kind, pattern, &args))
		return;
	int n = (int)(arguments_in(spec) - spec);
	struct allocator *row = &own.rows[own.n];
	snprintf(own.symbols[own.n], sizeof(own.symbols[own.n]), "%.*s", n, spec);
	snprintf(own.text + had, sizeof(own.text) - had, "%.*s\n", n, spec);
	*row = row_of((enum own_kind)kind, &args);
	row->symbol = own.symbols[own.n++];
	row->open = own.from.beside;
}

void own_use(const struct own_functions *f)
{
	char text[OWN_TEXT_MAX], *rest = NULL;
	own.from = *f;
	own.n = 0;
	*own.text = 0;
	snprintf(text, sizeof(text), "%s", f->text);
	for (char *line = strtok_r(text, "\n", &rest); line && own.n < OWN_MAX; line = strtok_r(NULL, "\n", &rest))
		use_line(line);
}

const struct own_functions *own_used(void)
{
	return &own.from;
}

size_t own_cnt(void)
{
	return own.n;
}

void own_option(size_t i, struct buf *out)
{
	const char *line = own.from.text;
	while (i--)
		line += strcspn(line, "\n") + 1;
	buf_addf(out, "--%.*s", (int)strcspn(line, "\n"), line);
}

const char *own_patterns(void)
{
	return own.text;
}

const struct allocator *own_row(size_t i)
{
	return i < own.n ? &own.rows[i] : NULL;
}

const struct allocator *allocator_at(size_t no)
{
	size_t n;
	const struct allocator *table = allocators(&n);
	return no < n ? &table[no] : own_row(no - n);
}

/* Also without its parameters. */
static bool is_named(const struct glob *g, const char *shown)
{
	char brief[sizeof(g->name)];
	snprintf(brief, sizeof(brief), "%.*s", (int)strcspn(shown, "("), shown);
	return !fnmatch(g->name, shown, 0) || (*brief && !fnmatch(g->name, brief, 0));
}

bool own_has_frame(const struct alloc_frame *f)
{
	for (size_t i = 0; i < own.n; i++) {
		const struct glob *g = &own.patterns[i];
		if (f->name && *f->name && (!*g->file || (f->path && glob_fits_file(g, f->path))) && is_named(g, f->name))
			return true;
	}
	return false;
}
