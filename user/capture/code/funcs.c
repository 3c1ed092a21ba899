/* SPDX-License-Identifier: Apache-2.0 */
/* code/funcs: function symbols of both symbol tables, sorted by address and by name. */
#include "code/funcs.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vec.h"
#include "code/unnamed.h"

static int by_vaddr(const void *a, const void *b)
{
	const struct func *x = a, *y = b;
	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	const struct func *x = a, *y = b;
	int c = strcmp(x->name, y->name);
	return c ? c : by_vaddr(a, b);
}

bool funcs_is_code(const struct funcs *f, uint64_t vaddr)
{
	const struct elf_segment *seg;
	size_t n = elf_segments(f->elf, &seg);
	for (size_t i = 0; i < n; i++)
		if (seg[i].exec && vaddr >= seg[i].vaddr && vaddr - seg[i].vaddr < seg[i].filesz)
			return true;
	return false;
}

static int collect(void *ctx, const struct elf_symbol *s)
{
	struct funcs *f = ctx;
	if (!s->defined) {
		if (!strcmp(s->name, "malloc"))
			f->imports_malloc = true;
		return 0;
	}
	if (s->type == STT_OBJECT && !strcmp(s->name, "GC_gc_no"))
		f->gc_no_vaddr = s->vaddr;
	if (s->type == STT_OBJECT && !strcmp(s->name, "GC_all_interior_pointers"))
		f->gc_extra_vaddr = s->vaddr;
	if ((s->type != STT_FUNC && s->type != STT_GNU_IFUNC) || !funcs_is_code(f, s->vaddr))
		return 0;
	struct func *fn = VEC_PUSH(f, list);
	if (!fn)
		return -ENOMEM;
	*fn = (struct func){ s->name, s->vaddr, s->size, s->type == STT_GNU_IFUNC };
	return 0;
}

int funcs_load(struct funcs *f, const struct elf *e, struct err *err)
{
	*f = (struct funcs){ .elf = e };
	int rc = elf_each_symbol(e, collect, f);
	if (!rc && f->list_cnt) {
		f->names = calloc(f->list_cnt, sizeof(*f->names));
		rc = f->names ? 0 : -ENOMEM;
	}
	if (rc) {
		funcs_free(f);
		return err_set(err, -rc, "reading symbols: %s", strerror(-rc));
	}
	if (!f->list_cnt)
		return 0;
	memcpy(f->names, f->list, f->list_cnt * sizeof(*f->names));
	qsort(f->list, f->list_cnt, sizeof(*f->list), by_vaddr);
	qsort(f->names, f->list_cnt, sizeof(*f->names), by_name);
	return 0;
}

void funcs_free(struct funcs *f)
{
	free(f->list);
	free(f->names);
	*f = (struct funcs){ 0 };
}

const struct func *funcs_named(const struct funcs *f, const char *name)
{
	size_t lo = SORTED_UNTIL(f->list_cnt, i, strcmp(f->names[i].name, name) < 0);
	return lo < f->list_cnt && !strcmp(f->names[lo].name, name) ? &f->names[lo] : NULL;
}

/* Index of the first function that begins after vaddr. */
static size_t first_behind(const struct funcs *f, uint64_t vaddr)
{
	size_t lo = SORTED_UNTIL(f->list_cnt, i, f->list[i].vaddr <= vaddr);
	return lo;
}

const struct func *funcs_at(const struct funcs *f, uint64_t vaddr)
{
	size_t i = first_behind(f, vaddr);
	if (!i)
		return NULL;
	const struct func *fn = &f->list[i - 1];
	/* Of several symbols at one address the largest comes first. */
	while (fn > f->list && fn[-1].vaddr == fn->vaddr)
		fn--;
	return vaddr == fn->vaddr || vaddr - fn->vaddr < fn->size ? fn : NULL;
}

uint64_t funcs_end(const struct funcs *f, uint64_t vaddr, uint64_t max)
{
	const struct elf_segment *seg;
	size_t n = elf_segments(f->elf, &seg);
	uint64_t end = vaddr;

	for (size_t i = 0; i < n; i++)
		if (seg[i].exec && vaddr >= seg[i].vaddr && vaddr - seg[i].vaddr < seg[i].filesz)
			end = seg[i].vaddr + seg[i].filesz;
	size_t behind = first_behind(f, vaddr);
	if (behind < f->list_cnt && f->list[behind].vaddr < end)
		end = f->list[behind].vaddr;
	return end - vaddr > max ? vaddr + max : end;
}

static bool follow_name(const struct funcs *f, const char *name, uint64_t *to)
{
	const struct func *fn = name ? funcs_named(f, name) : NULL;
	if (!fn || fn->indirect)
		return false;
	*to = fn->vaddr;
	return true;
}

bool funcs_follow_slot(const struct funcs *f, uint64_t vaddr, uint64_t *to, const char **name)
{
	*name = elf_got_target(f->elf, vaddr);
	return follow_name(f, *name, to);
}

bool funcs_follow(const struct funcs *f, uint64_t vaddr, uint64_t *to, const char **name)
{
	*name = elf_plt_target(f->elf, vaddr);
	if (*name)
		return follow_name(f, *name, to);
	uint64_t resolver = elf_got_resolver(f->elf, vaddr);
	const struct func *fn = funcs_at(f, resolver ? resolver : vaddr);
	if (fn && fn->vaddr == (resolver ? resolver : vaddr)) {
		*name = fn->name;
		if (fn->indirect)
			return false;
	} else if (!resolver) {
		*name = unnamed_function(f->elf, vaddr);
	}
	*to = vaddr;
	return funcs_is_code(f, vaddr);
}
