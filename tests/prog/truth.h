/*
 * A test program's own record of what it allocates, its truth. Functions named site_* call allocators directly
 * and report each call here; truth_done prints one line of JSON per process: for each site the calls and bytes
 * requested, and what is live at the end. Does not allocate, so it never appears in a trace.
 *
 *   prints "ready", waits for a byte on stdin | works | prints the truth, waits for the end of stdin
 *
 * With ALYS_NO_WAIT set it does not wait. An allocation at a live address replaces the older block (a
 * collector reused it), as when a trace is replayed.
 */
#ifndef ALYS_PROG_TRUTH_H
#define ALYS_PROG_TRUTH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Neither inlined nor cloned, so that its name is in every stack; the barrier prevents tail calls. */
#ifdef __clang__
#define SITE __attribute__((noinline)) static
#else
#define SITE __attribute__((noipa)) static
#endif
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

#define TRUTH_SITES 96
#define TRUTH_SLOTS (1u << 17)

struct truth_site {
	const char *name;
	uint64_t allocs, bytes, reallocs, realloc_bytes, frees, live, live_bytes;
};

struct truth_block {
	uintptr_t hidden; /* ~address: a conservative collector must not see it; 0 = empty */
	size_t size;
	uint32_t site;
};

static struct truth_site truth_sites[TRUTH_SITES];
static struct truth_block truth_blocks[TRUTH_SLOTS];
static uint64_t truth_failed, truth_free_null;
static int truth_locked;

static inline void truth_lock(void)
{
	while (__atomic_exchange_n(&truth_locked, 1, __ATOMIC_ACQUIRE))
		;
}

static inline void truth_unlock(void)
{
	__atomic_store_n(&truth_locked, 0, __ATOMIC_RELEASE);
}

static inline uint32_t truth_site_of(const char *name)
{
	uint32_t i = 0;

	while (truth_sites[i].name && strcmp(truth_sites[i].name, name))
		if (++i == TRUTH_SITES)
			abort();
	truth_sites[i].name = name;
	return i;
}

static inline uint32_t truth_home(uintptr_t hidden)
{
	return (uint32_t)((~hidden >> 4) * 2654435761u) % TRUTH_SLOTS;
}

static inline uint32_t truth_find(uintptr_t hidden)
{
	uint32_t i = truth_home(hidden);

	for (uint32_t n = 0; truth_blocks[i].hidden && truth_blocks[i].hidden != hidden; n++) {
		if (n == TRUTH_SLOTS - 1)
			abort();
		i = (i + 1) % TRUTH_SLOTS;
	}
	return i;
}

/* Linear probing without tombstones: entries behind the hole move up. */
static inline void truth_clear_slot(uint32_t hole)
{
	uint32_t i = hole;

	for (;;) {
		uint32_t home;

		truth_blocks[hole].hidden = 0;
		do {
			i = (i + 1) % TRUTH_SLOTS;
			if (!truth_blocks[i].hidden)
				return;
			home = truth_home(truth_blocks[i].hidden);
		} while ((i - home) % TRUTH_SLOTS < (i - hole) % TRUTH_SLOTS);
		truth_blocks[hole] = truth_blocks[i];
		hole = i;
	}
}

static inline struct truth_block truth_take(void *p)
{
	uint32_t i = truth_find(~(uintptr_t)p);
	struct truth_block b = truth_blocks[i];

	if (b.hidden) {
		truth_sites[b.site].live--;
		truth_sites[b.site].live_bytes -= b.size;
		truth_clear_slot(i);
	}
	return b;
}

static inline void truth_put(uint32_t site, void *p, size_t size)
{
	uint32_t i;

	truth_take(p);
	i = truth_find(~(uintptr_t)p);
	truth_blocks[i].hidden = ~(uintptr_t)p;
	truth_blocks[i].size = size;
	truth_blocks[i].site = site;
	truth_sites[site].live++;
	truth_sites[site].live_bytes += size;
}

static inline void *truth_alloc(const char *name, void *p, size_t size)
{
	uint32_t site;

	truth_lock();
	site = truth_site_of(name);
	if (p) {
		truth_sites[site].allocs++;
		truth_sites[site].bytes += size;
		truth_put(site, p, size);
	} else {
		truth_failed++;
	}
	truth_unlock();
	return p;
}

/* Reported before the call, because from then on another thread may get the address. */
static inline void truth_free(const char *name, void *p)
{
	truth_lock();
	if (p) {
		truth_sites[truth_site_of(name)].frees++;
		truth_take(p);
	} else {
		truth_free_null++;
	}
	truth_unlock();
}

static inline struct truth_block truth_realloc_begin(void *old)
{
	struct truth_block b = { 0, 0, 0 };

	truth_lock();
	if (old)
		b = truth_take(old);
	truth_unlock();
	return b;
}

/* realloc(NULL, n) counts as an allocation, realloc(p, 0) that returns NULL as a free, a failed call as nothing. */
static inline void *truth_realloc_end(const char *name, void *old, struct truth_block was, void *p, size_t size)
{
	uint32_t site;

	if (!old)
		return truth_alloc(name, p, size);
	truth_lock();
	site = truth_site_of(name);
	if (p) {
		truth_sites[site].reallocs++;
		truth_sites[site].realloc_bytes += size;
		truth_put(site, p, size);
	} else if (size) {
		truth_failed++;
		truth_put(was.site, old, was.size);
	} else {
		truth_sites[site].frees++;
	}
	truth_unlock();
	return p;
}

#define ALLOC(call, size) truth_alloc(__func__, (call), (size))
#define FREE(release, p)                       \
	do {                                   \
		truth_free(__func__, (p));     \
		release(p);                    \
		NO_TAIL_CALL();                \
	} while (0)
#define REALLOC(call, old, size)                                                         \
	({                                                                               \
		void *truth_old = (old);                                                 \
		__asm__ volatile("" : "+r"(truth_old));                                  \
		struct truth_block truth_was = truth_realloc_begin(truth_old);           \
		truth_realloc_end(__func__, truth_old, truth_was, (call), (size));       \
	})

static inline int truth_waits(void)
{
	return !getenv("ALYS_NO_WAIT");
}

static inline void truth_say(const char *text, size_t n)
{
	if (write(1, text, n) != (ssize_t)n)
		_exit(9);
}

static inline void truth_ready(void)
{
	char go;

	if (!truth_waits())
		return;
	truth_say("ready\n", 6);
	if (read(0, &go, 1) != 1)
		_exit(8);
}

static inline void truth_print(void)
{
	static char line[TRUTH_SITES * 256];
	int n = snprintf(line, sizeof(line), "{\"pid\":%d,\"failed\":%llu,\"free_null\":%llu,\"sites\":{", (int)getpid(),
			 (unsigned long long)truth_failed, (unsigned long long)truth_free_null);

	for (uint32_t i = 0; i < TRUTH_SITES && truth_sites[i].name; i++) {
		const struct truth_site *s = &truth_sites[i];

		n += snprintf(line + n, sizeof(line) - n,
			      "%s\"%s\":{\"allocs\":%llu,\"bytes\":%llu,\"reallocs\":%llu,\"realloc_bytes\":%llu,"
			      "\"frees\":%llu,\"live\":%llu,\"live_bytes\":%llu}",
			      i ? "," : "", s->name, (unsigned long long)s->allocs, (unsigned long long)s->bytes,
			      (unsigned long long)s->reallocs, (unsigned long long)s->realloc_bytes,
			      (unsigned long long)s->frees, (unsigned long long)s->live,
			      (unsigned long long)s->live_bytes);
	}
	n += snprintf(line + n, sizeof(line) - n, "}}\n");
	truth_say(line, n);
}

/* A forked child counts only its own allocations, not inherited blocks. */
static inline void truth_forget(void)
{
	memset(truth_sites, 0, sizeof(truth_sites));
	memset(truth_blocks, 0, sizeof(truth_blocks));
	truth_failed = truth_free_null = 0;
}

static inline void truth_wait_end(void)
{
	char rest[64];

	while (truth_waits() && read(0, rest, sizeof(rest)) > 0)
		;
}

static inline int truth_done(void)
{
	truth_print();
	truth_wait_end();
	return 0;
}

#endif
/* SPDX-License-Identifier: Apache-2.0 */
