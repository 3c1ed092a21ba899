/*
 * symbol/crystal: Crystal's symbol names; see demangle.h.
 *
 *   *Array(Foo)@Array(T)#push<Foo>:Array(Foo)        *Foo::Bar::new:x<Int32>:Foo::Bar
 *    self type  owner    name args  result            self type name named args result
 *   -> Array(Foo)#push                               -> Foo::Bar.new
 *
 * Types nest by () {} only, so that < and > are free for operators: "#<<<Foo>" is << of a Foo, but
 * "#<<Int32>" is < of an Int32.
 */
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

/* Longest first: the first that leaves a proper rest is the name. */
static const char *const operators[] = {
	"[]?", "[]=", "<=>", "===", "&**", "[]", "==", "=~", "!~", "!=", "<<", "<=", ">>", ">=", "**",
	"//",  "&+",  "&-",  "&*",  "!",   "<",  ">",  "*",  "&",  "+",  "-",  "/",  "%",  "|",  "^",
	"~",   "`",
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

/* A type starts with a capital, a union with (, a C struct with its kind; a method with none. */
static bool starts_type(const char *p)
{
	return (*p >= 'A' && *p <= 'Z') || (unsigned char)*p >= 0x80 || *p == '(' ||
	       !strncmp(p, "struct.", 7) || !strncmp(p, "union.", 6);
}

/* The end of a type: the # or :: in front of a method's name, or @; NULL when it is no type. */
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
	/* Foo+ is Foo or a subclass: the compiler's business. */
	if (type_n > 1 && type[type_n - 1] == '+')
		type_n--;
	buf_add(out, type, type_n);
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

bool demangle_crystal(struct buf *out, const char *name)
{
	if (*name == '~')
		return procedure(out, name);
	if (*name != '*')
		return false;
	name++;
	if (starts_type(name))
		return method_of_type(out, name);
	size_t n = method_length(name);
	buf_add(out, name, n);
	return n;
}
