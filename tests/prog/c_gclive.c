/* libs: -lgc */
/*
 * libgc: objects that are kept and dropped. Each has a disappearing link, which the collector clears when the object is
 * dead: a truth independent of any tracer. live and live_bytes in the truth are those after the last collection.
 * c_gclive [ROUNDS [SECONDS [fork]]]: then collects repeatedly for SECONDS; with fork, a child does the same.
 */
#define GC_NO_THREAD_REDIRECTS
#include <gc.h>
#include <sys/wait.h>
#include <time.h>

#include "truth.h"

#define SLOTS 2000
#define LINKS (1 << 20)

/* Roots of the collector. */
static void *volatile kept[SLOTS];

struct link {
	void *hidden; /* the complement of the address, so no pointer to the object; cleared by the collector */
	uint32_t size, site;
};

/* The array is not in a data segment, so the collector does not scan it. */
static struct link *links;
static size_t links_cnt;

static void *linked(const char *name, void *p, size_t size)
{
	struct link *l = &links[links_cnt++];

	if (!p || links_cnt == LINKS)
		abort();
	l->hidden = (void *)GC_HIDE_POINTER(p);
	l->size = size;
	truth_lock();
	l->site = truth_site_of(name);
	truth_sites[l->site].allocs++;
	truth_sites[l->site].bytes += size;
	truth_unlock();
	if (GC_register_long_link(&l->hidden, GC_base(p)))
		abort();
	return p;
}

#define LINKED(call, size) linked(__func__, (call), (size))

SITE void *site_small(size_t n) { return LINKED((GC_malloc)(n), n); }
SITE void *site_atomic(size_t n) { return LINKED((GC_malloc_atomic)(n), n); }
SITE void *site_large(size_t n) { return LINKED((GC_malloc)(n), n); }
SITE void *site_aligned(size_t n) { return LINKED((GC_memalign)(128, n), n); }
SITE void *site_fixed(size_t n) { return LINKED((GC_malloc_uncollectable)(n), n); }
SITE void *site_final(size_t n) { return LINKED((GC_malloc)(n), n); }
SITE void *site_moved(void *p, size_t n) { return (GC_realloc)(p, n); }
SITE void site_free(void *p) { GC_free(p); NO_TAIL_CALL(); }

static int finalized;

static void on_final(void *obj, void *data)
{
	(void)obj, (void)data;
	finalized++;
}

/* Frees an object explicitly, after its link: a link must not outlive its object. */
static void give_back(void)
{
	struct link *l = &links[links_cnt];
	void *p = site_small(48);

	GC_unregister_long_link(&l->hidden);
	l->hidden = NULL;
	site_free(p);
}

static void round_of(unsigned i)
{
	/* Objects are dropped in an order that leaves holes in their blocks. */
	void *volatile *slot = &kept[i * 7919u % SLOTS];

	switch (i % 8) {
	case 0: *slot = site_small(16 + i % 200); break;
	case 1: *slot = site_atomic(16 + i % 500); break;
	case 2: *slot = i % 64 == 2 ? site_large(5000 + i % 9000) : site_small(32); break;
	case 3: *slot = i % 32 == 3 ? site_aligned(300) : site_atomic(64); break;
	case 4: give_back(); break;
	case 5:
		*slot = site_final(40);
		GC_register_finalizer(*slot, on_final, NULL, NULL, NULL);
		break;
	case 6:
		if (i % 256 == 6)
			site_fixed(100);
		else
			site_small(24);
		break;
	default:
		site_moved(site_moved((GC_malloc)(20), 100), 3000);
	}
}

/* Addresses that the last rounds left in registers and on the stack must not keep objects alive. */
static __attribute__((noipa)) void wipe_stack(void)
{
	volatile char junk[16384];

	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = 0;
}

static void count_alive(void)
{
	for (size_t i = 0; i < links_cnt; i++) {
		if (!links[i].hidden)
			continue;
		truth_sites[links[i].site].live++;
		truth_sites[links[i].site].live_bytes += links[i].size;
	}
}

static void work(unsigned rounds, double seconds)
{
	for (unsigned i = 0; i < rounds; i++)
		round_of(i);
	wipe_stack();
	GC_gcollect();
	GC_invoke_finalizers();
	wipe_stack();
	GC_gcollect();
	/* Pauses in which nothing happens, so that marks can be read. */
	for (double t = 0; t < seconds; t += 0.05) {
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
		GC_gcollect();
	}
	count_alive();
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 60000;
	double seconds = argc > 2 ? atof(argv[2]) : 0;
	pid_t child = -1;
	int status = 0;

	GC_set_handle_fork(argc > 3);
	GC_INIT();
	links = malloc(LINKS * sizeof(*links));
	/* Makes the collector allocate its own tables before probes are attached. */
	(GC_malloc)(1);
	truth_ready();
	if (argc > 3) {
		/* The child does not count inherited objects as its own. */
		work(rounds / 2, 0);
		child = fork();
		if (child == 0) {
			truth_forget();
			links_cnt = 0;
			links = malloc(LINKS * sizeof(*links));
		}
		for (uint32_t i = 0; i < TRUTH_SITES; i++)
			truth_sites[i].live = truth_sites[i].live_bytes = 0;
	}
	work(rounds, seconds);
	if (GC_get_gc_no() < 5 || !finalized)
		return 7; /* no collections: the test would prove nothing */
	if (child == 0) {
		truth_print();
		_exit(0);
	}
	if (child > 0)
		waitpid(child, &status, 0);
	return truth_done() || status;
}
/* SPDX-License-Identifier: Apache-2.0 */
