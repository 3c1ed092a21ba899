/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/find: which rows of the allocator table apply to a file, which of its functions need no probe of their own, and
 * where each probe goes. See find.h.
 */
#include "finder/find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/own.h"
#include "base/vec.h"
#include "beam/generations.h"
#include "beam/pids.h"
#include "beam/process_layout.h"
#include "beam/reclaimed.h"
#include "finder/direct.h"
#include "finder/entry.h"
#include "finder/list_users.h"
#include "finder/lists.h"
#include "finder/ownfrees.h"
#include "finder/plan.h"
#include "finder/reach.h"
#include "finder/result_exits.h"
#include "finder/taken.h"
#include "functions/functions.h"
#include "functions/patterns.h"

static bool defines(void *ctx, const char *symbol)
{
	return funcs_named(ctx, symbol) != NULL;
}

static bool is_wanted(const struct plan *p, enum alloc_family family)
{
	uint32_t families = p->options->families ?: ALLOC_UNASKED;
	return families & (1u << family);
}

/* ld-linux-x86-64.so.2; musl's is its libc. */
static bool is_loader(const char *path)
{
	const char *base = strrchr(path, '/');
	return !strncmp(base ? base + 1 : path, "ld-", 3) && !strstr(path, "musl");
}

/* Why a row that the file defines is not probed; ENTRY_UNKNOWN when it may be. */
static enum entry_choice refusal(const struct plan *p, const struct allocator *row, const struct func *fn)
{
	if (fn->indirect)
		return ENTRY_IFUNC;
	if (row->family == ALLOC_LIBC && is_loader(p->path))
		return ENTRY_LOADER;
	return ENTRY_UNKNOWN;
}

static bool applies(const struct plan *p, const struct allocator *row)
{
	if (row->family == ALLOC_USDT || (row->at && row->at != p->list->at))
		return false;
	if (row->unless && funcs_named(&p->funcs, row->unless))
		return false;
	/* If a library imports malloc, its operator new ends in that, which is probed. */
	return row->family != ALLOC_CXX || !p->funcs.imports_malloc;
}

static struct site *site_at(struct site_list *l, uint64_t func)
{
	for (size_t i = 0; i < l->sites_cnt; i++)
		if (l->sites[i].func == func)
			return &l->sites[i];
	return NULL;
}

static int select_function(struct plan *p, size_t no, const struct func *fn)
{
	const struct allocator *row = allocator_at(no);
	enum alloc_family family = row->family == ALLOC_LIBC && p->provider ? p->provider->family : row->family;
	if (!applies(p, row) || !is_wanted(p, family) || site_at(p->list, fn->vaddr))
		return 0;
	struct site *s = VEC_PUSH(p->list, sites);
	if (!s)
		return -ENOMEM;
	*s = (struct site){ .row = row, .row_no = (uint16_t)no, .family = family, .func = fn->vaddr, .size = fn->size };
	if (row->family == ALLOC_OWN)
		snprintf(s->said, sizeof(s->said), "%s", fn->name);
	s->why.choice = refusal(p, row, fn);
	if (s->why.choice)
		s->state = SITE_REFUSED;
	return 0;
}

/* The functions that the user has named; the last pattern that matches counts. One of the table stays what it is. */
static int select_own(struct plan *p, size_t first)
{
	struct patterns *own = patterns_of(own_patterns(), p->path);
	int rc = own ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && own->n && i < p->funcs.list_cnt; i++) {
		const struct func *fn = &p->funcs.list[i];
		uint64_t by = function_is_part(fn) ? 0 : patterns_match(own, fn->name);
		p->list->own |= by;
		rc = by ? select_function(p, first + 63 - (size_t)__builtin_clzll(by), fn) : 0;
	}
	patterns_free(own);
	return rc;
}

static int select_rows(struct plan *p)
{
	size_t n;
	const struct allocator *rows = allocators(&n);
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		const struct func *fn = funcs_named(&p->funcs, rows[i].symbol);
		rc = fn ? select_function(p, i, fn) : 0;
	}
	return rc ?: select_own(p, n);
}

/* Does a site of `by`'s kind see what one of `what`'s kind would? */
static bool same_effect(const struct allocator *what, const struct allocator *by)
{
	bool grows = what->shape == ALYS_SHAPE_REALLOC || what->shape == ALYS_SHAPE_MULREALLOC;
	bool by_grows = by->shape == ALYS_SHAPE_REALLOC || by->shape == ALYS_SHAPE_MULREALLOC;
	if (what->shape == ALYS_SHAPE_REFILL || by->shape == ALYS_SHAPE_REFILL)
		return false;
	if (what->shape == ALYS_SHAPE_HEAPFUL || by->shape == ALYS_SHAPE_HEAPFUL)
		return false;
	if (what->shape == ALYS_SHAPE_OUTPTR || by->shape == ALYS_SHAPE_OUTPTR)
		return false;
	if (what->shape == ALYS_SHAPE_BATCH || by->shape == ALYS_SHAPE_BATCH)
		return false;
	return grows == by_grows && (what->shape == ALYS_SHAPE_FREE) == (by->shape == ALYS_SHAPE_FREE);
}

struct cover {
	struct plan *plan;
	const struct site *what;
	const struct site *by;
};

/* A collector's calls of its own functions are dropped as nested; only one that is reached by a jump is recorded. */
static bool is_counted(void *ctx, uint64_t vaddr, bool call)
{
	struct cover *c = ctx;
	const struct site *by = site_at(c->plan->list, vaddr);
	if (!by || by == c->what || by->state == SITE_REFUSED || !same_effect(c->what->row, by->row) || by->row->open ||
	    (call && by->row->nest == ALYS_NEST_CALLER))
		return false;
	c->by = by;
	return true;
}

static int cover_sites(struct plan *p)
{
	for (size_t i = 0; i < p->list->sites_cnt; i++) {
		struct site *s = &p->list->sites[i];
		struct cover c = { p, s, NULL };
		if (s->state != SITE_PROBED || s->row->family == ALLOC_OWN)
			continue;
		struct body *b = plan_body(p, s->func, s->size);
		if (!b)
			return -ENOMEM;
		bool covered = s->row->shape == ALYS_SHAPE_FREE
				       ? values_go_counted(&b->flow, plan_arg_reg(s->row->arg[0]), is_counted, &c)
				       : values_come_counted(&b->flow, is_counted, &c);
		if (!covered || !c.by)
			continue;
		s->state = SITE_COVERED;
		s->why = (struct entry_reason){ .choice = ENTRY_COVERED, .by = c.by->row_no };
	}
	return 0;
}

static bool may_probe_return(const struct plan *p, const struct site *s)
{
	return alloc_returns_block(s->row) && !s->row->runs_user_code && !insn_machine.cheap_ret &&
	       (s->row->family != ALLOC_LIBC || p->provider);
}

/* Once a function has pushed registers, the return address is no longer on top of the stack. */
static bool stays_at_entry(const struct plan *p, const struct site *s)
{
	bool asked = p->options->at_entry && s->row->shape != ALYS_SHAPE_FREE;
	return asked || may_probe_return(p, s) || (s->row->timed && !plan_ends_wanted(s));
}

static int place_probes(struct plan *p)
{
	for (size_t i = 0; i < p->list->sites_cnt; i++) {
		struct site *s = &p->list->sites[i];
		if (s->state != SITE_PROBED)
			continue;
		struct body *b = plan_body(p, s->func, s->size);
		if (!b)
			return -ENOMEM;
		int rc = s->row->shape == ALYS_SHAPE_REFILL ? lists_refill(p, s)
							    : entry_choose(p, &b->flow, s, stays_at_entry(p, s));
		if (rc)
			return rc;
		if (!elf_offset_of(p->funcs.elf, s->vaddr, &s->offset)) {
			s->state = SITE_REFUSED;
			s->why = (struct entry_reason){ .choice = ENTRY_NO_CODE };
		}
		s->return_probe = s->state == SITE_PROBED && s->unchanged && may_probe_return(p, s);
	}
	return 0;
}

/*
 * A plain function that gets a size. Only to see its calls whole, which calibrations prove: else its return is probed, whatever its code
 * does.
 */
static bool is_plain(const struct site *s)
{
	return s->state == SITE_PROBED && s->return_probe && s->row->shape == ALYS_SHAPE_SIZE;
}

static int presume_ends(struct plan *p)
{
	for (size_t i = 0; i < p->list->sites_cnt && p->options->cheap_exits; i++) {
		struct site *s = &p->list->sites[i];
		struct body *b = is_plain(s) ? plan_body(p, s->func, s->size) : NULL;
		if (is_plain(s) && !b)
			return -ENOMEM;
		if (b)
			flow_presume_ends(&b->flow);
	}
	return 0;
}

static bool is_library(const struct funcs *f, size_t gc)
{
	size_t size;
	uint64_t vaddr;
	return gc > f->list_cnt / 2 && elf_is_pie(f->elf) && !elf_section(f->elf, ".interp", &size, &vaddr) &&
	       !funcs_named(f, "_start") && !funcs_named(f, "main");
}

static int find_predictions(struct plan *p)
{
	int rc = 0;
	for (size_t i = 0; i < p->list->sites_cnt && !rc && p->options->cheap_exits; i++) {
		struct site *s = &p->list->sites[i];
		if (s->state != SITE_PROBED || !(s->row->flags & ALYS_SITE_GC_KIND))
			continue;
		rc = lists_find(p, s);
	}
	return rc;
}

/* Does its code take the first block of a thread's cache, and return that? All such functions share one cache. */
static bool takes_cached(struct plan *p, const struct body *b)
{
	struct tcache_place *known = &p->list->tcache, here = tcache_find(&b->flow);
	if (!known->known)
		*known = here;
	return here.known && here.slot_vaddr == known->slot_vaddr && here.tls_offset == known->tls_offset;
}

static int find_cached(struct plan *p)
{
	struct site *resizes = NULL;
	for (size_t i = 0; i < p->list->sites_cnt; i++) {
		struct site *s = &p->list->sites[i];
		bool plain = !strcmp(s->row->symbol, "malloc") || !strcmp(s->row->symbol, "calloc");
		if (s->return_probe && !strcmp(s->row->symbol, "realloc"))
			resizes = s;
		if (!s->return_probe || !plain)
			continue;
		struct body *b = plan_body(p, s->func, s->size);
		if (!b)
			return -ENOMEM;
		s->cached = takes_cached(p, b);
	}
	/* It keeps a block that is large enough: beside a malloc that is glibc's, it is most likely glibc's, too. */
	if (resizes)
		resizes->cached = p->list->tcache.known;
	return 0;
}

/* GC_malloc_kind_global only when sampling at refills: otherwise GC_malloc_kind is probed, which comes before. */
static bool may_be_direct(const struct site *s)
{
	bool collects = s->state == SITE_PROBED && s->row->at == SAMPLE_AT_REFILL && s->row->flags & ALYS_SITE_GC_KIND;
	/* A call of another probed function before the place would not be known to be its own. */
	return collects || (is_plain(s) && s->leaf);
}

static int find_direct(struct plan *p)
{
	int rc = 0;
	for (size_t i = 0; i < p->list->sites_cnt && !rc && p->options->cheap_exits; i++) {
		struct site *s = &p->list->sites[i];
		if (s->predicted)
			rc = taken_find(p, s);
		else if (may_be_direct(s))
			rc = direct_find(p, s);
	}
	return rc;
}

/*
 * Functions of the collector that allocate on the program's behalf and are not in the table: their calls count as the
 * program's. When sampling at refills, the rows of calls are not used, so their functions are among these.
 */
static bool is_wrapper(const char *name, enum sample_at at)
{
	static const char *const at_refill[] = { "GC_realloc", "GC_memalign", "GC_posix_memalign" };
	static const char *const prefixes[] = {
		"GC_strdup",           "GC_strndup",       "GC_wcsdup",
		"GC_finalized_malloc", "GC_malloc_many",   "GC_debug_malloc",
		"GC_debug_free",       "GC_debug_realloc", "GC_debug_generic_or_special_malloc",
		"GC_debug_strdup",     "GC_debug_strndup", "GC_debug_wcsdup",
	};
	for (size_t k = 0; k < sizeof(prefixes) / sizeof(*prefixes); k++) {
		if (!strncmp(name, prefixes[k], strlen(prefixes[k])))
			return true;
	}
	for (size_t k = 0; at == SAMPLE_AT_REFILL && k < sizeof(at_refill) / sizeof(*at_refill); k++) {
		if (!strcmp(name, at_refill[k]))
			return true;
	}
	return false;
}

/* Adjacent functions make one range, since nothing else lies between them. */
static void find_wrappers(struct plan *p)
{
	struct alys_range *run = NULL;
	size_t n = 0;
	for (size_t i = 0; i < p->funcs.list_cnt; i++) {
		const struct func *f = &p->funcs.list[i];
		if (!is_wrapper(f->name, p->list->at)) {
			run = NULL;
			continue;
		}
		if (!run && n < ALYS_MAX_WRAPPERS) {
			run = &p->list->wrappers[n++];
			run->lo = f->vaddr;
		}
		if (run)
			run->hi = f->vaddr + f->size;
	}
}

/*
 * The collector's own code. In its shared library that is all code; linked into a program, what lies between the first
 * and the last of the functions found, and adjacent functions with the same prefix.
 */
static void find_text(struct plan *p)
{
	struct site_list *l = p->list;
	const struct funcs *f = &p->funcs;
	const struct elf_segment *seg;
	size_t n = elf_segments(f->elf, &seg), gc = 0, lo = SIZE_MAX, hi = 0;

	for (size_t i = 0; i < f->list_cnt; i++) {
		const struct site *s = site_at(l, f->list[i].vaddr);
		gc += !strncmp(f->list[i].name, "GC_", 3);
		if (!s || s->row->family != ALLOC_LIBGC)
			continue;
		lo = lo == SIZE_MAX ? i : lo;
		hi = i;
	}
	if (lo == SIZE_MAX)
		return;
	l->gc_no_vaddr = f->gc_no_vaddr;
	l->counter = counter_find(f);
	for (size_t i = 0; is_library(f, gc) && i < n; i++) {
		if (!seg[i].exec || f->list[lo].vaddr - seg[i].vaddr >= seg[i].memsz)
			continue;
		l->text_lo = seg[i].vaddr;
		l->text_hi = seg[i].vaddr + seg[i].memsz;
		return;
	}
	while (lo && !strncmp(f->list[lo - 1].name, "GC_", 3))
		lo--;
	while (hi + 1 < f->list_cnt && !strncmp(f->list[hi + 1].name, "GC_", 3))
		hi++;
	l->text_lo = f->list[lo].vaddr;
	l->text_hi = f->list[hi].vaddr + f->list[hi].size;
}

/* Without the layout of its processes nothing can be read; without JIT, stacks would name nothing. */
static enum entry_choice beam_choice(struct plan *p)
{
	if (!funcs_named(&p->funcs, "beamasm_init"))
		return ENTRY_NO_JIT;
	if (!funcs_named(&p->funcs, BEAM_LAYOUT_FUNCTION))
		return ENTRY_NO_GC_INFO;
	return beam_layout_find(&p->funcs, &p->list->beam) ? ENTRY_UNKNOWN : ENTRY_NO_LAYOUT;
}

static int find_beam(struct plan *p)
{
	struct site_list *l = p->list;
	bool known = false;
	for (size_t i = 0; i < l->sites_cnt; i++) {
		struct site *s = &l->sites[i];
		if (s->row->family != ALLOC_BEAM)
			continue;
		enum entry_choice choice = known ? ENTRY_UNKNOWN : beam_choice(p);
		known = choice == ENTRY_UNKNOWN;
		if (known)
			continue;
		s->state = SITE_REFUSED;
		s->why = (struct entry_reason){ .choice = choice };
	}
	if (known) {
		l->counter = beam_reclaimed_find(&p->funcs);
		l->beam.counted = l->counter.known;
		beam_pids_find(&p->funcs, &l->beam);
		beam_generations_find(&p->funcs, &l->beam);
		beam_process_names_find(&p->funcs, &l->beam, &l->atoms);
	}
	return 0;
}

/* The types of blocks of the VM's own allocators. Blocks of heaps are not recorded if their words are. */
static int find_types(struct plan *p)
{
	struct site_list *l = p->list;
	size_t found = 0;
	for (size_t i = 0; i < l->sites_cnt; i++)
		found += l->sites[i].row->typed && l->sites[i].state == SITE_PROBED;
	int rc = found ? beam_types_find(p->funcs.elf, &l->types) : 0;
	if (l->beam.htop)
		beam_types_of_heaps(&l->types, l->beam.own_types);
	return rc;
}

static int choose_place(struct plan *p)
{
	bool can = false;
	int rc = p->options->refill ? lists_can_refill(p, &can) : 0;
	p->list->at = can ? SAMPLE_AT_REFILL : SAMPLE_AT_CALL;
	return rc;
}

struct wanted {
	const char **names; /* of all rows, sorted */
	size_t n;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int is_row(void *ctx, const struct elf_symbol *s)
{
	const struct wanted *w = ctx;
	return s->defined && bsearch(&s->name, w->names, w->n, sizeof(*w->names), compare_names);
}

/*
 * May the file define one? Checked first: most do not, and sorting the functions of a large one takes a tenth of a
 * second. 1, 0 or -ENOMEM.
 */
static int has_row(const struct elf *e, const char *path)
{
	struct wanted w;
	const struct allocator *rows = allocators(&w.n);
	if (patterns_concern(own_patterns(), path))
		return 1;
	w.names = calloc(w.n, sizeof(*w.names));
	if (!w.names)
		return -ENOMEM;
	for (size_t i = 0; i < w.n; i++)
		w.names[i] = rows[i].symbol;
	qsort(w.names, w.n, sizeof(*w.names), compare_names);
	int rc = elf_each_symbol(e, is_row, &w);
	free(w.names);
	return rc;
}

static int find(const struct elf *e, const char *path, const struct sites_options *o, struct site_list *out, struct err *err)
{
	static int (*const steps[])(struct plan *) = {
		choose_place, select_rows,       find_beam,  find_types,       cover_sites, place_probes,
		presume_ends, result_exits_find, reach_find, find_predictions, find_cached, find_direct,
	};
	struct plan p = { .options = o, .list = out, .path = path };
	*out = (struct site_list){ .program = elf_is_program(e) };
	int rc = has_row(e, path);
	if (rc <= 0) {
		out->takes_lists = !rc && o->refill && list_users_in(e, out);
		return rc ? err_set(err, ENOMEM, "out of memory") : 0;
	}
	rc = funcs_load(&p.funcs, e, err);
	if (rc)
		return rc;
	p.provider = alloc_provider(defines, &p.funcs, path);
	for (size_t i = 0; !rc && i < sizeof(steps) / sizeof(steps[0]); i++)
		rc = steps[i](&p);
	if (rc) {
		sites_free(out);
		err_set(err, -rc, "%s: looking for probe sites: %s", path, strerror(-rc));
	} else {
		out->provider = p.provider && funcs_named(&p.funcs, "malloc") ? p.provider->name : NULL;
		find_text(&p);
		out->takes_lists = o->refill && list_users_in(e, out);
		find_wrappers(&p);
		ownfrees_find(&p);
	}
	plan_free(&p);
	return rc;
}

int sites_find(const struct elf *e, const char *path, const struct sites_options *o, struct site_list *out, struct err *err)
{
	int rc = find(e, path, o, out, err);
	if (!rc && !out->sites_cnt && elf_refusal(e))
		return err_set(err, EFBIG, "not searched for allocators: %s", elf_refusal(e));
	return rc;
}

int sites_find_in(int fd, const char *path, const struct sites_options *o, struct site_list *out, struct err *err)
{
	struct elf *e = elf_open(fd, path, err);
	if (!e)
		return -err->code;
	int rc = sites_find(e, path, o, out, err);
	elf_close(e);
	return rc;
}
