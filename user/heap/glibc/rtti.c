/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/rtti: see rtti.h. */
#include "glibc/rtti.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sorted.h"
#include "base/text.h"
#include "collector/place.h"
#include "dwarf/demangle.h"

#define NAME_MAX_BYTES 1024
#define OFFSET_AND_INFO 16 /* what stands in front of the functions */
#define AT_ONCE 4096

bool rtti_may_hold(const struct space *s, uint64_t addr)
{
	const struct space_region *r = addr & 7 ? NULL : space_find(s, addr);
	return r && r->ino && r->readable && !r->exec && !r->writable;
}

int rtti_find(struct memory *m, const struct space *s, const uint64_t *vtables, size_t cnt, uint64_t *infos)
{
	struct rights_range *ranges = malloc(AT_ONCE * sizeof(*ranges));
	uint64_t(*heads)[2] = malloc(AT_ONCE * sizeof(*heads));
	int rc = ranges && heads ? 0 : -ENOMEM;
	for (size_t from = 0; from < cnt && !rc; from += AT_ONCE) {
		size_t n = cnt - from < AT_ONCE ? cnt - from : AT_ONCE;
		for (size_t i = 0; i < n; i++)
			ranges[i] = (struct rights_range){ vtables[from + i] - OFFSET_AND_INFO, OFFSET_AND_INFO };
		rc = memory_read_ranges(m, ranges, n, heads, NULL);
		for (size_t i = 0; i < n && !rc; i++) {
			const struct space_region *r = heads[i][0] || heads[i][1] & 7 ? NULL : space_find(s, heads[i][1]);
			infos[from + i] = r && r->ino && r->readable && !r->exec ? heads[i][1] : 0;
		}
	}
	free(ranges);
	free(heads);
	return rc;
}

/* Appends what follows the first words of "typeinfo for Foo" and "vtable for Foo". */
static bool put_class(struct buf *out, const char *mangled, const char *before)
{
	struct buf text = { 0 };
	demangle(&text, mangled);
	bool known = !strncmp(buf_str(&text), before, strlen(before));
	if (known)
		text_clean(out, buf_str(&text) + strlen(before), SIZE_MAX);
	buf_free(&text);
	return known;
}

/* As much of a text as can be read. */
static bool read_text(struct memory *m, const struct space *s, uint64_t addr, char *out, size_t cap)
{
	const struct space_region *r = space_find(s, addr);
	size_t n = r && r->ino && r->readable && !r->writable ? r->end - addr : 0;
	n = n < cap - 1 ? n : cap - 1;
	out[n] = 0;
	return n && !memory_read(m, addr, out, n) && strlen(out) < cap - 1;
}

bool rtti_name(struct memory *m, const struct space *s, uint64_t info, struct buf *out)
{
	uint64_t words[2];
	char name[NAME_MAX_BYTES], mangled[NAME_MAX_BYTES + 8];
	if (memory_read(m, info, words, sizeof(words)) || !rtti_may_hold(s, words[0]) ||
	    !read_text(m, s, words[1], name, sizeof(name)))
		return false;
	const char *bare = name + (*name == '*'); /* its address is not compared */
	if (!isdigit((unsigned char)*bare) && !strchr("NSZ", *bare))
		return false;
	strcpy(mangled, "_ZTI");
	strcat(mangled, bare);
	return put_class(out, mangled, "typeinfo for ");
}

/* --- by symbols ----------------------------------------------------------------------------------- */

struct search {
	uint64_t bias;
	const uint64_t *vtables; /* ascending */
	size_t cnt;
	char **names;
	bool failed;
};

static int match(void *ctx, const struct elf_symbol *sym)
{
	struct search *f = ctx;
	uint64_t at = sym->vaddr + f->bias + OFFSET_AND_INFO;
	if (!sym->defined || strncmp(sym->name, "_ZTV", 4))
		return 0;
	size_t i = SORTED_UNTIL(f->cnt, k, f->vtables[k] < at);
	struct buf name = { 0 };
	if (i == f->cnt || f->vtables[i] != at || f->names[i] || !put_class(&name, sym->name, "vtable for "))
		return 0;
	f->names[i] = strdup(buf_str(&name));
	f->failed |= !f->names[i];
	buf_free(&name);
	return f->failed;
}

static bool points_into(const struct search *f, const struct space_region *r)
{
	size_t i = SORTED_UNTIL(f->cnt, k, f->vtables[k] < r->start);
	return i < f->cnt && f->vtables[i] < r->end;
}

int rtti_by_symbols(uint32_t tgid, const struct space *s, const uint64_t *vtables, size_t cnt, char **names)
{
	struct search f = { .vtables = vtables, .cnt = cnt, .names = names };
	const struct space_region *done = NULL;
	for (size_t i = 0; i < s->regions_cnt && !f.failed; i++) {
		const struct space_region *r = &s->regions[i];
		bool same = done && done->ino == r->ino && done->dev == r->dev;
		if (same || !rtti_may_hold(s, r->start) || !points_into(&f, r))
			continue;
		done = r;
		int fd;
		struct elf *e = place_file(tgid, r, &fd);
		if (!e)
			continue;
		if (place_bias(e, s, r->dev, r->ino, &f.bias))
			elf_each_symbol(e, match, &f);
		elf_close(e);
		close(fd);
	}
	return f.failed ? -ENOMEM : 0;
}
