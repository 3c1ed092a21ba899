/* SPDX-License-Identifier: Apache-2.0 */
/* helper/heapfill: see heapfill.h. */
#include "helper/heapfill.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "helper/child.h"

struct filling {
	void *(*malloc[3])(size_t); /* by kind */
	void *(*base)(void *);
	size_t (*size)(const void *);
	int (*is_marked)(const void *);
	void (*collect)(void);
	uint64_t (*gc_no)(void), (*heap_bytes)(void), (*unmapped_bytes)(void);
	void **kept; /* in memory that the collector scans */
	struct heapfill_object done[HEAPFILL_MAX];
	size_t done_cnt;
};

/* Complemented, so that the collector does not find the addresses of dropped objects. */
#define HIDDEN(p) (~(uint64_t)(uintptr_t)(p))

static bool load(struct filling *f)
{
	void *library = child_library();
	if (!library)
		return false;
	const struct {
		void *place;
		const char *name;
		bool needed;
	} functions[] = {
		{ &f->malloc[0], "GC_malloc_atomic", true },
		{ &f->malloc[1], "GC_malloc", true },
		{ &f->malloc[2], "GC_malloc_uncollectable", true },
		{ &f->base, "GC_base", true },
		{ &f->size, "GC_size", true },
		{ &f->is_marked, "GC_is_marked", true },
		{ &f->collect, "GC_gcollect", true },
		{ &f->gc_no, "GC_get_gc_no", false },
		{ &f->heap_bytes, "GC_get_heap_size", false },
		{ &f->unmapped_bytes, "GC_get_unmapped_bytes", false },
	};
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlsym(library, functions[i].name);
		memcpy(functions[i].place, &found, sizeof(found));
		if (!found && functions[i].needed) {
			child_fail("it lacks functions that tell about objects");
			return false;
		}
	}
	return true;
}

static void allocate(struct filling *f, uint32_t kind, size_t size, bool keep)
{
	void *p = f->done_cnt < HEAPFILL_MAX ? f->malloc[kind](size) : NULL;
	if (!p)
		return;
	if (keep)
		f->kept[f->done_cnt] = p;
	f->done[f->done_cnt++] = (struct heapfill_object){ .addr = HIDDEN(p), .kind = kind };
}

static void fill(struct filling *f)
{
	static const size_t large[] = { 2049, 4096, 5000, 40000, 300000 };
	f->kept = f->malloc[2](HEAPFILL_MAX * sizeof(*f->kept));
	if (!f->kept)
		return;
	memset(f->kept, 0, HEAPFILL_MAX * sizeof(*f->kept));
	for (uint32_t i = 0; i < 6000; i++)
		allocate(f, i % 16 == 5 ? 2 : i & 1, 1 + i * 37 % 2048, i % 3 != 0);
	for (uint32_t i = 0; i < 60; i++)
		allocate(f, i & 1, large[i % 5], i % 4 != 0);
	f->collect();
	for (uint32_t i = 0; i < 600; i++)
		allocate(f, i & 1, 1 + i * 53 % 700, true);
}

static void ask(struct filling *f)
{
	for (size_t i = 0; i < f->done_cnt; i++) {
		struct heapfill_object *o = &f->done[i];
		/* Some by a pointer into them. */
		o->addr = HIDDEN(o->addr) + (i % 7 == 1);
		o->base = (uintptr_t)f->base((void *)(uintptr_t)o->addr);
		if (o->base) {
			o->size = f->size((void *)(uintptr_t)o->base);
			o->marked = f->is_marked((void *)(uintptr_t)o->base) != 0;
		}
	}
}

int heapfill_main(void)
{
	static struct filling f; /* too large for a stack */
	if (!load(&f) || !child_ready())
		return 1;
	fill(&f);
	ask(&f);
	struct heapfill_truth truth = {
		.objects = f.done_cnt,
		.gc_no = f.gc_no ? f.gc_no() : UINT64_MAX,
		.heap_bytes = f.heap_bytes ? f.heap_bytes() : UINT64_MAX,
		.unmapped_bytes = f.unmapped_bytes ? f.unmapped_bytes() : UINT64_MAX,
	};
	if (child_put(&truth, sizeof(truth)) && child_put(f.done, f.done_cnt * sizeof(f.done[0])))
		child_await();
	_exit(0);
}
