/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/type: the type of an allocation, derived from its frames. Crystal allocates objects in `Foo.new`, or in a
 * `Foo.allocate` defined by the program, and buffers by Pointer(T).malloc, called from a method of the buffer's owner.
 * A C++ stack names a type only inside a constructor or an allocator<T>: `new Foo` runs the constructor after
 * allocating.
 */
#include "format/type.h"

#include <string.h>

#include "base/text.h"
#include "format/format.h"

/* The start of "#push" in "Array(Foo)#push"; NULL: not a qualified Crystal name. */
static const char *crystal_method(const char *name)
{
	int depth = 0;
	if (!(*name >= 'A' && *name <= 'Z') && *name != '(')
		return NULL;
	for (const char *p = name; *p; p++) {
		depth += (*p == '(' || *p == '{') - (*p == ')' || *p == '}');
		if (depth == 0 && (*p == '.' || *p == '#'))
			return p;
		if (depth == 0 && (*p == ' ' || *p == '<'))
			return NULL;
	}
	return NULL;
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool is_new(const char *method)
{
	return !strcmp(method, "new") || !strcmp(method, "allocate");
}

/* A String::Builder's buffer becomes the String. */
static bool is_string(const char *type, size_t n)
{
	return (n == strlen("String") && starts(type, "String")) ||
	       (n == strlen("String::Builder") && starts(type, "String::Builder"));
}

#define BUFFER " (buffer)"

static void put_owner(const char *type, size_t n, bool buffer, struct buf *out)
{
	if (buffer && is_string(type, n)) {
		buf_adds(out, "String");
		return;
	}
	text_clean(out, type, n);
	if (buffer)
		buf_adds(out, BUFFER);
}

/* Whether the memory comes from Pointer(T), not from an object's own `new`. */
static bool is_pointer_buffer(const struct sink_stack *whole, size_t cut)
{
	const struct sink_frame *f = cut ? &whole->frames[cut - 1] : NULL;
	if (!f || !format_is_named(f))
		return false;
	return starts(f->symbol->name, "Pointer(") ||
	       (f->symbol->file && !strcmp(format_basename(f->symbol->file), "pointer.cr"));
}

/* A class method other than a constructor may allocate for anyone, so its class is not the owner. */
static bool is_owner(const char *type, const char *method, bool buffer)
{
	return buffer || *method == '#' || is_new(method + 1) || starts(type, "String");
}

static bool crystal_type(const struct sink_stack *s, bool buffer, struct buf *out)
{
	const char *first = s->frames[0].symbol->name;
	bool others = false; /* passed class methods that own nothing */
	for (size_t i = 0; i < s->frames_cnt && format_is_named(&s->frames[i]); i++) {
		const char *name = s->frames[i].symbol->name, *dot = crystal_method(name);
		if (!dot)
			break;
		/* The owner of memory from Pointer(T) is named by the next frame. */
		if (starts(name, "Pointer(") || starts(name, "GC.")) {
			buffer = true;
			continue;
		}
		/* Whatever it calls, a program's own allocate makes an object of its class. */
		bool object = !strcmp(dot, ".allocate");
		others |= !is_owner(name, dot, buffer);
		if (others && !object && *dot == '.')
			continue;
		if (others && !object)
			break;
		put_owner(name, (size_t)(dot - name), !object && (buffer || !is_new(dot + 1)), out);
		return true;
	}
	const char *dot = starts(first, "Pointer(") ? crystal_method(first) : NULL;
	if (dot)
		text_clean(out, first, (size_t)(dot - first));
	return dot;
}

static bool is_string_builder(const char *file)
{
	static const char end[] = "/string/builder.cr";
	size_t n = strlen(file);
	return n >= strlen(end) && !strcmp(file + n - strlen(end), end);
}

/* Optimized code has short names, so only the file tells the type. */
static bool crystal_file_type(const struct sink_frame *f, bool buffer, struct buf *out)
{
	const char *file = f->symbol->file ? format_basename(f->symbol->file) : "";
	size_t n = strlen(file);
	if (n < 4 || strcmp(file + n - 3, ".cr") || !strcmp(file, "boehm.cr") || crystal_method(f->symbol->name))
		return false;
	buffer |= !is_new(f->symbol->name);
	if (!strcmp(file, "string.cr") || (buffer && is_string_builder(f->symbol->file))) {
		buf_adds(out, "String");
		return true;
	}
	buf_adds(out, buffer ? "(buffer in " : "(new in ");
	text_clean(out, file, n);
	buf_u8(out, ')');
	return true;
}

/* Length of a C++ name without its parameter list; template arguments may be nested. */
static size_t before_parameters(const char *name)
{
	int depth = 0;
	size_t i = 0;
	for (; name[i] && !(depth == 0 && name[i] == '('); i++)
		depth += (name[i] == '<') - (name[i] == '>');
	return i;
}

/* For a constructor such as "ns::Foo<int>::Foo" (n bytes), the length of "ns::Foo<int>"; otherwise 0. */
static size_t constructed(const char *name, size_t n)
{
	size_t last = n, depth = 0, begin = 0, end = 0;
	while (last && !(name[last - 1] == ':' || name[last - 1] == '>'))
		last--;
	if (last < 2 || name[last - 1] != ':')
		return 0;
	size_t type = last - 2, word = n - last;
	for (size_t i = 0; i < type; i++) {
		depth += name[i] == '<';
		depth -= name[i] == '>' && depth;
		if (!depth && name[i] == ':')
			begin = i + 1;
	}
	end = begin + strcspn(name + begin, "<:");
	return word && end - begin == word && !strncmp(name + begin, name + last, word) ? type : 0;
}

/* "std::allocator<Foo>::allocate(unsigned long)" -> "Foo" */
static bool allocator_type(const char *name, struct buf *out)
{
	const char *at = strstr(name, "allocator<");
	int depth = 1;
	if (!at || !strstr(at, ">::allocate("))
		return false;
	at += strlen("allocator<");
	size_t n = 0;
	for (; at[n] && depth; n++)
		depth += (at[n] == '<') - (at[n] == '>');
	if (depth)
		return false;
	text_clean(out, at, n - 1);
	buf_adds(out, BUFFER);
	return true;
}

static bool cxx_type(const struct sink_stack *s, struct buf *out)
{
	for (size_t i = 0; i < s->frames_cnt && i < 8 && format_is_named(&s->frames[i]); i++) {
		const char *name = s->frames[i].symbol->name;
		size_t n = constructed(name, before_parameters(name));
		if (allocator_type(name, out))
			return true;
		if (n) {
			text_clean(out, name, n);
			return true;
		}
		if (!starts(name, "std::") && !starts(name, "__gnu_cxx::") && !starts(name, "void std::"))
			break;
	}
	return false;
}

void type_of(const struct sink_stack *whole, struct buf *out)
{
	if (whole->type) {
		text_clean(out, whole->type, SIZE_MAX);
		return;
	}
	size_t n = sink_allocator_frames(whole);
	const struct sink_stack cut = { .frames = whole->frames + n, .frames_cnt = whole->frames_cnt - n };
	bool buffer = is_pointer_buffer(whole, n);
	bool known = cut.frames_cnt && format_is_named(&cut.frames[0]) &&
		     (crystal_type(&cut, buffer, out) || cxx_type(&cut, out) || crystal_file_type(&cut.frames[0], buffer, out));
	if (!known)
		buf_adds(out, NO_TYPE);
}

bool type_is_class(const char *type)
{
	size_t n = strlen(type);
	return n && !strchr("([", *type) && (n < strlen(BUFFER) || strcmp(type + n - strlen(BUFFER), BUFFER));
}

void type_name(const char *type, bool buffer, struct buf *out)
{
	put_owner(type, strlen(type), buffer, out);
}

void type_function(const char *type, bool buffer, struct buf *out)
{
	buf_adds(out, type);
	buf_adds(out, buffer ? "#buffer" : ".new");
}

bool type_is_function(const char *function, const char *type)
{
	size_t n = strlen(type);
	return !strncmp(function, type, n) && !strcmp(function + n, ".new");
}
