/* SPDX-License-Identifier: Apache-2.0 */
/* helper/calls: see calls.h. */
#include "helper/calls.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <unistd.h>

#include "helper/child.h"

#define GRANULE 16
#define CLASSES 28   /* small size classes, a few more than libgc keeps lists for */
#define COUNTING 256 /* granules of a class that libgc allocates before it starts a list */
#define PAGE 4096

typedef void *(*size_fn)(size_t);
typedef void *(*pair_fn)(size_t, size_t);
typedef void *(*realloc_fn)(void *, size_t);
typedef void (*free_fn)(void *);

struct calling {
	void *fn[CALLED_CNT];
	struct call done[CALLS_MAX];
	size_t done_cnt;
};

const char *called_name(enum called called, int collector)
{
	static const char *const names[2][CALLED_CNT] = {
		{ [CALLED_MALLOC] = "malloc",
		  [CALLED_MEMALIGN] = "memalign",
		  [CALLED_REALLOC] = "realloc",
		  [CALLED_FREE] = "free" },
		{ [CALLED_MALLOC] = "GC_malloc",
		  [CALLED_ATOMIC] = "GC_malloc_atomic",
		  [CALLED_UNCOLLECTABLE] = "GC_malloc_uncollectable",
		  [CALLED_OFF_PAGE] = "GC_malloc_ignore_off_page",
		  [CALLED_MEMALIGN] = "GC_memalign",
		  [CALLED_REALLOC] = "GC_realloc",
		  [CALLED_FREE] = "GC_free" },
	};
	return names[!!collector][called];
}

static bool load(struct calling *c)
{
	void *library = child_library();
	bool collector = library && dlsym(library, "GC_init");
	for (int i = 0; library && i < CALLED_CNT; i++) {
		const char *name = called_name((enum called)i, collector);
		c->fn[i] = name ? dlsym(library, name) : NULL;
	}
	if (library && !c->fn[CALLED_MALLOC])
		child_fail("it has no function of that name that could be called alone");
	return c->fn[CALLED_MALLOC];
}

static void *note(struct calling *c, enum called called, size_t size, const void *old, void *result)
{
	if (c->done_cnt < CALLS_MAX)
		c->done[c->done_cnt++] = (struct call){
			.called = called,
			.size = size,
			.old = (uintptr_t)old,
			.result = (uintptr_t)result,
		};
	return result;
}

static void *allocate(struct calling *c, enum called called, size_t size)
{
	void *fn = c->fn[called];
	if (!fn)
		return NULL;
	return note(c, called, size, NULL, called == CALLED_MEMALIGN ? ((pair_fn)fn)(64, size) : ((size_fn)fn)(size));
}

static void *reallocate(struct calling *c, void *old, size_t size)
{
	void *fn = c->fn[CALLED_REALLOC];
	return fn ? note(c, CALLED_REALLOC, size, old, ((realloc_fn)fn)(old, size)) : old;
}

static void release(struct calling *c, void *block)
{
	if (c->fn[CALLED_FREE] && block) {
		((free_fn)c->fn[CALLED_FREE])(block);
		note(c, CALLED_FREE, 0, block, NULL);
	}
}

/*
 * Allocates until each list of each kind was started, used up and refilled, because results are predicted from lists.
 * Blocks freed in between make lists that are not in address order.
 */
static void call_small(struct calling *c)
{
	for (size_t class = 1; class <= CLASSES; class ++) {
		size_t n = COUNTING / (class + 1) + PAGE / (class * GRANULE) + 8;
		for (size_t i = 0; i < n; i++) {
			void *p = allocate(c, CALLED_MALLOC, class * GRANULE - 1);
			allocate(c, CALLED_ATOMIC, class * GRANULE - i % GRANULE - 1);
			if (i % 16 == 0)
				release(c, p);
		}
	}
}

static void call_others(struct calling *c)
{
	static const size_t sizes[] = { 1, 40, 700, 2000, 2049, 5000, 60000, 300000, 1100000 };
	size_t n = sizeof(sizes) / sizeof(sizes[0]);
	for (size_t i = 0; i < 4 * n; i++) {
		size_t size = sizes[i % n];
		allocate(c, CALLED_MALLOC, size);
		allocate(c, CALLED_ATOMIC, size);
		release(c, allocate(c, CALLED_OFF_PAGE, size));
		release(c, allocate(c, CALLED_UNCOLLECTABLE, size));
		release(c, allocate(c, CALLED_MEMALIGN, size));
		void *p = reallocate(c, NULL, size);
		p = reallocate(c, p, size + size / 8 + 1);
		p = reallocate(c, p, size * 3);
		release(c, reallocate(c, p, size / 2 + 1));
	}
}

int calls_main(void)
{
	static struct calling calling; /* too large for a stack */
	if (!load(&calling) || !child_ready() || !child_await())
		return 1;
	call_small(&calling);
	call_others(&calling);
	child_put(calling.done, calling.done_cnt * sizeof(calling.done[0]));
	/* Skips what the library does at exit. */
	_exit(0);
}
