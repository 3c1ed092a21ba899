/* SPDX-License-Identifier: Apache-2.0 */
/* helper/mallocfill: see mallocfill.h. */
#include "helper/mallocfill.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "helper/child.h"

struct filling {
	void *(*malloc)(size_t);
	void *(*memalign)(size_t, size_t);
	void (*free)(void *);
	size_t (*usable)(void *);
	struct mallinfo2 (*info2)(void);
	struct mallinfo (*info)(void);
	void *at[MALLOCFILL_MAX];
	bool freed[MALLOCFILL_MAX];
	struct mallocfill_block done[MALLOCFILL_MAX];
	size_t cnt;
};

static bool load(struct filling *f)
{
	void *library = child_library();
	const struct {
		void *place;
		const char *name;
	} functions[] = {
		{ &f->malloc, "malloc" },   { &f->memalign, "memalign" },
		{ &f->free, "free" },       { &f->usable, "malloc_usable_size" },
		{ &f->info2, "mallinfo2" }, /* since 2.33 */
		{ &f->info, "mallinfo" },
	};
	for (size_t i = 0; library && i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlsym(library, functions[i].name);
		memcpy(functions[i].place, &found, sizeof(found));
		if (!found && functions[i].place != &f->info2) {
			child_fail("it lacks functions that tell about blocks");
			return false;
		}
	}
	return library;
}

static void keep(struct filling *f, void *block)
{
	if (block && f->cnt < MALLOCFILL_MAX)
		f->at[f->cnt++] = block;
}

/* So many that threads' caches, fastbins and bins all get some of those that are freed. */
static void fill(struct filling *f)
{
	for (size_t i = 0; i < 3600; i++)
		keep(f, f->malloc(i < 2400 ? 1 + i % 40 * 29 : 1 + i * 37 % 9000));
	for (size_t i = 0; i < 40; i++)
		keep(f, f->memalign((size_t)32 << i % 9, 100 + i * 1000));
	for (size_t i = 0; i < 12; i++)
		keep(f, i % 3 != 1 ? f->malloc(200000 + i * 5000) : f->memalign((size_t)64 << i, 300000));
	for (size_t i = 0; i < f->cnt; i++) {
		f->freed[i] = i % 3 == 1 || i % 7 == 0;
		if (f->freed[i])
			f->free(f->at[i]);
	}
	for (size_t i = 0; i < 60; i++)
		keep(f, f->malloc(1 + i * 53 % 1500));
}

static bool is_used_again(const struct filling *f, size_t i)
{
	for (size_t k = f->cnt - 60; k < f->cnt; k++) {
		if (f->at[k] == f->at[i])
			return true;
	}
	return false;
}

static void ask(struct filling *f, struct mallocfill_truth *t)
{
	for (size_t i = 0; i < f->cnt; i++) {
		if (!f->freed[i] || !is_used_again(f, i))
			f->done[t->blocks++] =
				(struct mallocfill_block){ (uintptr_t)f->at[i], f->freed[i] ? 0 : f->usable(f->at[i]) };
	}
	if (f->info2) {
		struct mallinfo2 i = f->info2();
		*t = (struct mallocfill_truth){ t->blocks, i.arena,    i.uordblks, i.fordblks,
						i.fsmblks, i.keepcost, i.hblkhd,   i.hblks };
	} else {
		struct mallinfo i = f->info();
		*t = (struct mallocfill_truth){
			t->blocks,           (unsigned)i.arena,    (unsigned)i.uordblks, (unsigned)i.fordblks,
			(unsigned)i.fsmblks, (unsigned)i.keepcost, (unsigned)i.hblkhd,   (unsigned)i.hblks
		};
	}
}

int mallocfill_main(void)
{
	static struct filling f; /* too large for a stack */
	struct mallocfill_truth truth = { 0 };
	if (!load(&f))
		return 1;
	fill(&f);
	if (f.cnt < 60 || !child_ready())
		return 1;
	ask(&f, &truth);
	if (child_put(&truth, sizeof(truth)) && child_put(f.done, truth.blocks * sizeof(f.done[0])))
		child_await();
	_exit(0);
}
