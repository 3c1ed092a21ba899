/* SPDX-License-Identifier: Apache-2.0 */
/* functions/patterns: see patterns.h. */
#include "functions/patterns.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/demangle.h"

int pattern_check(const char *pattern, struct err *err)
{
	struct glob p;
	if (!strchr(pattern, '\n') && glob_split(pattern, strlen(pattern), &p))
		return 0;
	return err_set(err, EINVAL,
		       "--calls wants the name of a function, with * and ? for any characters, or FILE:NAME, got \"%.200s\"",
		       pattern);
}

struct patterns *patterns_of(const char *text, const char *path)
{
	struct patterns *p = calloc(1, sizeof(*p));
	uint32_t index = 0;
	for (size_t n; p && *text && index < PATTERNS_MAX; text += n + (text[n] != 0), index++) {
		n = strcspn(text, "\n");
		if (!glob_split(text, n, &p->at[p->n]) || !glob_fits_file(&p->at[p->n], path))
			continue;
		p->index[p->n++] = index;
	}
	return p;
}

bool patterns_concern(const char *text, const char *path)
{
	struct patterns *p = patterns_of(text, path);
	bool any = p && p->n;
	patterns_free(p);
	return any;
}

/* Where the parameters at the end of "name(int, char*) const" begin; 0: there are none. */
static size_t before_parameters(const char *name)
{
	const char *at = strrchr(name, ')');
	int depth = 0;
	for (; at && at >= name; at--) {
		depth += (*at == ')') - (*at == '(');
		if (!depth)
			return (size_t)(at - name);
	}
	return 0;
}

/* Where the name begins in the first n characters of "std::vector<int, char> copy<int>": templates have a result. */
static size_t behind_result(const char *name, size_t n)
{
	const char *operator_at = strstr(name, "operator");
	size_t end = operator_at && operator_at < name + n ? (size_t)(operator_at - name) : n, begin = 0;
	int depth = 0;
	for (size_t i = 0; i < end; i++) {
		depth += (name[i] == '<' || name[i] == '(') - (name[i] == '>' || name[i] == ')');
		if (name[i] == ' ' && !depth)
			begin = i + 1;
	}
	return begin;
}

/* Owned by the caller; NULL: nothing can be left out. */
static char *without_parameters(const char *shown)
{
	size_t n = before_parameters(shown), begin = n ? behind_result(shown, n) : 0;
	return n ? strndup(shown + begin, n - begin) : NULL;
}

/* "grow" of "grow.constprop.0.isra.0", a copy that GCC or LLVM made. Owned by the caller; NULL: it is none. */
static char *without_marks(const char *symbol)
{
	static const char *const marks[] = { ".constprop.", ".isra.", ".lto_priv.", ".llvm." };
	size_t all = strlen(symbol), n = all;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *at = strstr(symbol, marks[i]);
		if (at && (size_t)(at - symbol) < n)
			n = (size_t)(at - symbol);
	}
	return n && n < all ? strndup(symbol, n) : NULL;
}

static bool fits_name(const struct glob *p, const char *symbol, const char *shown, const char *brief)
{
	return !fnmatch(p->name, symbol, 0) || !fnmatch(p->name, shown, 0) || (brief && !fnmatch(p->name, brief, 0));
}

uint64_t patterns_match(struct patterns *p, const char *symbol)
{
	uint64_t found = 0;
	buf_reset(&p->shown);
	demangle(&p->shown, symbol);
	const char *shown = buf_str(&p->shown);
	char *brief = is_mangled(symbol) ? without_parameters(shown) : without_marks(symbol);
	for (size_t i = 0; i < p->n; i++) {
		if (fits_name(&p->at[i], symbol, shown, brief))
			found |= 1ull << p->index[i];
	}
	free(brief);
	return found;
}

/* The method in "Type#method" or "Type.method"; NULL: it has no such form, or may be any method. */
static const char *method_of(const char *pattern)
{
	const char *sign = strrchr(pattern, '#') ?: strrchr(pattern, '.');
	return sign && sign > pattern && sign[1 + strspn(sign + 1, "*?")] ? sign + 1 : NULL;
}

uint64_t patterns_match_inlined(struct patterns *p, const char *name)
{
	uint64_t found = patterns_match(p, name);
	for (size_t i = 0; !found && i < p->n; i++) {
		const char *method = method_of(p->at[i].name);
		if (!method || fnmatch(method, name, 0))
			continue;
		found |= 1ull << p->index[i];
		buf_adds(&p->shown, " of any type");
	}
	return found;
}

void patterns_free(struct patterns *p)
{
	if (!p)
		return;
	buf_free(&p->shown);
	free(p);
}
