/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/demangle: see demangle.h. C++ and Rust names are demangled by libiberty. */
#include "dwarf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct limited {
	struct buf *out;
	size_t start;
	jmp_buf enough;
};

static void cut(struct buf *out, size_t start)
{
	static const char dots[] = "...";
	if (out->failed || out->len - start <= DEMANGLE_MAX)
		return;
	out->len = start + DEMANGLE_MAX - strlen(dots);
	/* Do not cut within a UTF-8 sequence. */
	while (out->len > start && (out->data[out->len] & 0xc0) == 0x80)
		out->len--;
	buf_adds(out, dots);
}

static void collect(const char *text, size_t n, void *ctx)
{
	struct limited *l = ctx;
	buf_add(l->out, text, n);
	if (l->out->failed || l->out->len - l->start > DEMANGLE_MAX)
		longjmp(l->enough, 1);
}

/*
 * A hundred bytes with substitutions can expand to gigabytes, so the length is limited by longjmp. This is safe:
 * through the callback interface, libiberty uses only the stack, except for one identifier of a Rust name in punycode,
 * which is leaked.
 */
static bool by_libiberty(struct buf *out, const char *name, const char *original)
{
	struct limited l = { .out = out, .start = out->len };
	bool known = true;
	if (setjmp(l.enough))
		return true;
	if (!rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, collect, &l)) {
		out->len = l.start;
		known = cplus_demangle_v3_callback(original, DMGL_PARAMS | DMGL_ANSI, collect, &l);
	}
	if (!known)
		out->len = l.start;
	return known;
}

/*
 * Parts and copies of a function, "foo() [clone .cold]", are shown as foo(). A coroutine's resume and destroy functions
 * are different functions, and keep their suffix.
 */
static void drop_copies(struct buf *out, size_t start)
{
	static const char clone[] = " [clone .";
	static const char *const parts[] = { "actor]", "resume]", "destroy]", "cleanup]" };
	for (;;) {
		size_t at = out->len;
		if (out->failed || at == start || out->data[at - 1] != ']')
			return;
		while (at > start && out->data[at] != '[')
			at--;
		if (at <= start || strncmp((const char *)out->data + at - 1, clone, strlen(clone)))
			return;
		const char *part = (const char *)out->data + at - 1 + strlen(clone);
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			if (strlen(parts[i]) == out->len - (size_t)(part - (const char *)out->data) &&
			    !strncmp(part, parts[i], strlen(parts[i])))
				return;
		out->len = at - 1;
	}
}

/* First with suffixes that libiberty knows, then without: _Z3foov.llvm.123@ is foo(), too. */
static bool mangled(struct buf *out, const char *name)
{
	struct buf original = { 0 };
	size_t start = out->len, n = strcspn(name, ".");
	if (name[n] && by_libiberty(out, name, name)) {
		drop_copies(out, start);
		return true;
	}
	buf_add(&original, name, n);
	bool known = by_libiberty(out, name, buf_str(&original));
	buf_free(&original);
	return known;
}

bool is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "__Z", 3) || !strncmp(name, "_R", 2);
}

void demangle(struct buf *out, const char *name)
{
	size_t start = out->len, len = strnlen(name, DEMANGLE_MAX + 1);
	if (!(is_mangled(name) && mangled(out, name)) && !demangle_crystal(out, name))
		buf_add(out, name, len);
	cut(out, start);
}
