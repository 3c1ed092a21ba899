/* SPDX-License-Identifier: Apache-2.0 */
/* globs/glob: see glob.h. */
#include "globs/glob.h"

#include <fnmatch.h>
#include <string.h>

/* The colon behind FILE; not one of "::", which C++, Rust and Crystal have in names. */
static const char *file_end(const char *pattern)
{
	for (const char *at = pattern; (at = strchr(at, ':')); at += strspn(at, ":")) {
		if (at[1] != ':')
			return at;
	}
	return NULL;
}

/* fnmatch(3) would take [] for a set of characters, but operator[] and Array#[] are names. */
static bool escape(const char *glob, size_t n, char *out, size_t cap)
{
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		if (at + 3 > cap)
			return false;
		if (glob[i] == '[' || glob[i] == '\\')
			out[at++] = '\\';
		out[at++] = glob[i];
	}
	out[at] = 0;
	return n;
}

bool glob_split(const char *pattern, size_t n, struct glob *out)
{
	const char *colon = file_end(pattern);
	size_t file_n = colon && colon < pattern + n ? (size_t)(colon - pattern) : 0;
	const char *name = pattern + file_n + (file_n || colon == pattern);
	*out->file = 0;
	if (colon == pattern || (file_n && !escape(pattern, file_n, out->file, sizeof(out->file))))
		return false;
	return escape(name, (size_t)(pattern + n - name), out->name, sizeof(out->name));
}

bool glob_fits_file(const struct glob *g, const char *path)
{
	const char *slash = strrchr(path, '/');
	return !*g->file || !fnmatch(g->file, path, 0) || !fnmatch(g->file, slash ? slash + 1 : path, 0);
}
