/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/crystal: Crystal's symbol names; see demangle.h.
 *
 *   *Array(Foo)@Array(T)#push<Foo>:Array(Foo)        *Foo::Bar::new:x<Int32>:Foo::Bar
 *    self type  owner    name args  result            self type name named args result
 *   -> Array(Foo)#push                               -> Foo::Bar.new
 *
 * Private top-level types are prefixed with their file's path:
 *   *Array(/src/app.cr::Foo)@Array(T)#push</src/app.cr::Foo>:Nil -> Array(Foo)#push
 *
 * Types are nested only by () and {}, so < and > may be operators: "#<<<Foo>" is << of a Foo, but "#<<Int32>" is < of an
 * Int32.
 */
#include <stdlib.h>
#include <string.h>

#include "dwarf/demangle.h"

/* Longest first: the first operator that is followed by a valid rest is the name. */
static const char *const operators[] = {
	"[]?", "[]=", "<=>", "===", "&**", "[]", "==", "=~", "!~", "!=", "<<", "<=", ">>", ">=", "**", "//",
	"&+",  "&-",  "&*",  "!",   "<",   ">",  "*",  "&",  "+",  "-",  "/",  "%",  "|",  "^",  "~",  "`",
};

static bool ends_name(char c)
{
	return c == '\0' || c == '<' || c == ':' || c == '\'';
}

static size_t method_length(const char *p)
{
	size_t n = 0;
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		n = strlen(operators[i]);
		if (!strncmp(p, operators[i], n) && ends_name(p[n]))
			return n;
	}
	for (n = 0; !ends_name(p[n]);)
		n++;
	return n;
}

/* A type starts with a capital, a union with (, a C struct with its kind; method names with none of these. */
static bool starts_type(const char *p)
{
	return (*p >= 'A' && *p <= 'Z') || (unsigned char)*p >= 0x80 || *p == '(' || !strncmp(p, "struct.", 7) ||
	       !strncmp(p, "union.", 6);
}

/* The end of a type: # or :: before a method's name, or @; NULL: not a type. */
static const char *type_end(const char *p)
{
	unsigned int depth = 0;
	for (; *p; p++) {
		if (*p == '(' || *p == '{')
			depth++;
		else if (*p == ')' || *p == '}')
			depth -= depth > 0;
		else if (depth)
			continue;
		else if (*p == '#' || *p == '@')
			return p;
		else if (p[0] == ':' && p[1] == ':' && !starts_type(p + 2))
			return p;
		else if (p[0] == ':' && p[1] == ':')
			p++;
		else if (ends_name(*p))
			return NULL;
	}
	return NULL;
}

/* Foo+ means Foo or a subclass, which is of no interest here. */
static void add_type(struct buf *out, const char *type, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (type[i] != '+' || !i)
			buf_u8(out, (uint8_t)type[i]);
}

static bool method_of_type(struct buf *out, const char *type)
{
	const char *end = type_end(type), *at = end;
	while (at && *at == '@')
		at = type_end(at + 1);
	if (!at)
		return false;
	const char *name = *at == '#' ? at + 1 : at + 2;
	size_t n = method_length(name), type_n = (size_t)(end - type);
	if (!n || !type_n)
		return false;
	add_type(out, type, type_n);
	buf_adds(out, *at == '#' ? "#" : ".");
	buf_add(out, name, n);
	return true;
}

static bool procedure(struct buf *out, const char *name)
{
	static const char prefix[] = "~procProc(";
	const char *at = strrchr(name, '@');
	if (strncmp(name, prefix, strlen(prefix)) || !at)
		return false;
	buf_adds(out, "proc");
	buf_adds(out, at);
	return true;
}

void demangle_crystal_short(struct buf *out, const char *name)
{
	size_t n = method_length(name);
	buf_add(out, name, n ? n : strlen(name));
}

static bool method(struct buf *out, const char *name)
{
	if (starts_type(name))
		return method_of_type(out, name);
	size_t n = method_length(name);
	buf_add(out, name, n);
	return n;
}

/* The rest of the name behind a file's path; NULL: no path begins at p. */
static const char *behind_path(const char *name, const char *p)
{
	if (*p != '/' || (p > name && !strchr("(<{@ ", p[-1])))
		return NULL;
	p = strstr(p, "::");
	return p ? p + 2 : NULL;
}

static void add_without_paths(struct buf *out, const char *name)
{
	for (const char *p = name, *next; *p; p = next) {
		next = behind_path(name, p);
		if (!next) {
			buf_u8(out, (uint8_t)*p);
			next = p + 1;
		}
	}
}

static bool constant(struct buf *out, const char *name)
{
	if (!behind_path(name, name))
		return false;
	buf_u8(out, '~');
	add_without_paths(out, name);
	return true;
}

bool demangle_crystal(struct buf *out, const char *name)
{
	struct buf plain = { 0 };
	if (*name == '~')
		return procedure(out, name) || constant(out, name + 1);
	if (*name != '*')
		return false;
	add_without_paths(&plain, name + 1);
	bool known = !plain.failed && method(out, buf_str(&plain));
	buf_free(&plain);
	return known;
}
