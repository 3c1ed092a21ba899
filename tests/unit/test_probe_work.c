/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites: real libraries. Each function is called under ptrace with breakpoints at all
 * sites, and what these show is compared with the arguments and results of the calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/map.h"
#include "code/decode.h"
#include "sites_libraries.h"
#include "stopped_thread.h"

#define SZ (-1)   /* the size */
#define PREV (-2) /* the result of the call before */
#define OUT (-3)  /* where to put the pointer */

struct call {
	const char *symbol;
	long arg[4];
};

/* Each is made with several sizes; its result is PREV of the next. */
static const struct call calls[] = {
	{ "malloc", { SZ } },
	{ "realloc", { PREV, SZ } },
	{ "free", { PREV } },
	{ "calloc", { 3, SZ } },
	{ "realloc", { 0, SZ } },
	{ "reallocarray", { PREV, 2, SZ } },
	{ "memalign", { 64, SZ } },
	{ "aligned_alloc", { 256, SZ } },
	{ "posix_memalign", { OUT, 64, SZ } },
	{ "free", { PREV } },
	{ "valloc", { SZ } },
	{ "mallocx", { SZ, 0 } },
	{ "rallocx", { PREV, SZ, 0 } },
	{ "_Znwm", { SZ } },
	{ "_ZdlPv", { PREV } },
	{ "_ZnwmSt11align_val_t", { SZ, 128 } },
	{ "_ZdlPvSt11align_val_t", { PREV, 128 } },
	{ "mi_zalloc", { SZ } },
	{ "mi_malloc_aligned", { SZ, 64 } },
	{ "mi_realloc", { PREV, SZ } },
	{ "GC_malloc", { SZ } },
	{ "GC_realloc", { PREV, SZ } },
	{ "GC_malloc_atomic", { SZ } },
	{ "GC_realloc", { 0, SZ } },
	{ "GC_free", { PREV } },
	{ "GC_malloc_uncollectable", { SZ } },
	{ "GC_malloc_atomic_uncollectable", { SZ } },
	{ "GC_malloc_ignore_off_page", { SZ } },
	{ "GC_malloc_explicitly_typed", { SZ, 0 } },
	{ "GC_malloc_explicitly_typed_ignore_off_page", { SZ, 0 } },
	{ "GC_calloc_explicitly_typed", { 3, SZ, 0 } },
	{ "GC_memalign", { 512, SZ } },
	{ "GC_memalign", { 8, SZ } },
	{ "GC_posix_memalign", { OUT, 64, SZ } },
};
static const size_t sizes[] = { 1, 24, 24, 100, 1000, 5000, 70000, 300000 };
#define CALLS (sizeof(calls) / sizeof(*calls))
#define SIZES (sizeof(sizes) / sizeof(*sizes))
#define ROUNDS (CALLS * SIZES)

/* Shared by the child that calls and the parent that traces. */
struct shared {
	volatile size_t now; /* number of the call under way + 1, 0 = none */
	volatile uint64_t result[ROUNDS], first[ROUNDS];
	volatile bool made[ROUNDS];
};

#define SHARED_FD 200

static int child(const char *library)
{
	struct shared *sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (sh == MAP_FAILED || !lib)
		return 2;
	void (*gc_init)(void) = (void (*)(void))dlsym(lib, "GC_init");
	if (gc_init)
		gc_init();
	struct link_map *self;
	void *fn[CALLS];
	dlinfo(lib, RTLD_DI_LINKMAP, &self);
	for (size_t i = 0; i < CALLS; i++) {
		Dl_info where = { 0 };
		fn[i] = dlsym(lib, calls[i].symbol);
		/* Not its calls of other libraries. */
		if (fn[i] && (!dladdr(fn[i], &where) || (uint64_t)where.dli_fbase != self->l_addr))
			fn[i] = NULL;
	}
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	void *prev = NULL, *out;
	for (size_t i = 0; i < ROUNDS; i++) {
		const struct call *c = &calls[i % CALLS];
		uint64_t a[4];
		if (!fn[i % CALLS])
			continue;
		for (int k = 0; k < 4; k++)
			a[k] = c->arg[k] == SZ     ? sizes[i / CALLS]
			       : c->arg[k] == PREV ? (uint64_t)prev
			       : c->arg[k] == OUT  ? (uint64_t)&out
						   : (uint64_t)c->arg[k];
		uint64_t (*f)(uint64_t, uint64_t, uint64_t, uint64_t) =
			(uint64_t(*)(uint64_t, uint64_t, uint64_t, uint64_t))fn[i % CALLS];
		sh->first[i] = a[0];
		sh->now = i + 1;
		uint64_t r = f(a[0], a[1], a[2], a[3]);
		sh->now = 0;
		prev = c->arg[0] == OUT ? out : (void *)r;
		sh->result[i] = r;
		sh->made[i] = true;
	}
	return 0;
}

struct pending {
	const struct site *site;
	uint64_t cfa;
};

struct watch {
	pid_t pid;
	uint64_t bias;
	struct opened o;
	struct map entries, exits; /* address in the child -> index + 1 */
	struct map bytes;          /* address -> what is under the breakpoint */
	struct shared *sh;
	size_t call; /* the one that pending belongs to */
	struct pending wait;
	unsigned int entered[ROUNDS], left[ROUNDS];
	uint64_t seen[ROUNDS];
	unsigned int cheap_hits;
	uint64_t done_cfa; /* of the call that has been seen to end */
};

static void poke(struct watch *w, uint64_t addr, const void *bytes)
{
	uint64_t at = addr & ~7ull;
	long word = ptrace(PTRACE_PEEKTEXT, w->pid, at, NULL);
	memcpy((uint8_t *)&word + (addr - at), bytes, sizeof(breakpoint));
	assert_int_equal(ptrace(PTRACE_POKETEXT, w->pid, at, word), 0);
}

static void plant(struct watch *w, uint64_t vaddr, struct map *kind, size_t index)
{
	uint64_t addr = w->bias + vaddr;
	if (!map_get(&w->bytes, addr)) {
		memcpy(map_put(&w->bytes, addr), elf_bytes(w->o.elf, vaddr, sizeof(breakpoint)), sizeof(breakpoint));
		poke(w, addr, breakpoint);
	}
	*map_put(kind, addr) = index + 1;
}

static uint64_t bias_of(pid_t pid, const char *library)
{
	char path[64], line[512], real[PATH_MAX] = "";
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "r");
	uint64_t bias = 0;
	assert_non_null(f);
	assert_non_null(realpath(library, real));
	while (!bias && fgets(line, sizeof(line), f))
		if (strstr(line, real))
			bias = strtoull(line, NULL, 16);
	fclose(f);
	assert_true(bias);
	return bias;
}

/* Of the elements of a call whose arguments have been multiplied by then, as of other calls. */
static uint64_t held_in(const struct user_regs_struct *r, uint8_t arg)
{
	return arg < ALYS_ARG_IN(0) ? argument(r, arg) : result_in(r, (uint8_t)(arg - ALYS_ARG_IN(0)));
}

static uint64_t size_in(const struct site *s, const struct call *c, const struct user_regs_struct *r)
{
	unsigned int size_arg = s->row->shape == ALYS_SHAPE_MULREALLOC ? 2 : s->row->shape == ALYS_SHAPE_SIZE ? 0 : 1;
	return s->multiplied ? held_in(r, s->arg[0]) / (uint64_t)c->arg[0] : held_in(r, s->arg[size_arg]);
}

static void at_entry(struct watch *w, const struct site *s, const struct user_regs_struct *r)
{
	size_t i = w->sh->now - 1;
	uint64_t cfa = sp_of(r) + s->cfa_off;
	uint64_t caller = caller_of(w->pid, r, cfa) - w->bias;
	if (s->row->nest == ALYS_NEST_CALLER && caller >= w->o.list.text_lo && caller < w->o.list.text_hi)
		return;
	bool again = w->wait.site && w->call == i;
	if (again && (s->row->nest != ALYS_NEST_THREAD || cfa < w->wait.cfa) && cfa != w->wait.cfa)
		return;
	const struct call *c = &calls[i % CALLS];
	bool is_free = s->row->shape == ALYS_SHAPE_FREE;
	if (is_free != !!(strstr(c->symbol, "free") || !strncmp(c->symbol, "_Zd", 3)))
		return;
	w->entered[i] += again ? 0 : 1;
	w->done_cfa = 0;
	w->call = i;
	w->wait = (struct pending){ s, cfa };
	if (is_free) {
		assert_int_equal(argument(r, s->arg[0]), w->sh->first[i]);
		w->wait.site = NULL;
		return;
	}
	/* A collector that jumps to its slow path has subtracted the byte that it would have added. */
	assert_true(size_in(s, c, r) + (s->row->nest == ALYS_NEST_CALLER) >= sizes[i / CALLS]);
	if (!strcmp(c->symbol, s->row->symbol))
		assert_int_equal(size_in(s, c, r), sizes[i / CALLS]);
}

static void at_exit_site(struct watch *w, const struct site_exit *x, const struct user_regs_struct *r)
{
	size_t i = w->sh->now - 1;
	if (!w->wait.site && w->call == i && sp_of(r) + x->cfa_off == w->done_cfa)
		fail_msg("%s(%zu): seen to end twice", calls[i % CALLS].symbol, sizes[i / CALLS]);
	if (!w->wait.site || w->call != i || sp_of(r) + x->cfa_off != w->wait.cfa)
		return;
	w->seen[i] = result_in(r, x->reg);
	w->left[i]++;
	w->cheap_hits += x->emulated;
	w->done_cfa = w->wait.cfa;
	w->wait.site = NULL;
}

/* A call that is seen whole begins and ends there. */
static void at_whole(struct watch *w, const struct site_exit *x, const struct user_regs_struct *r)
{
	struct site seen = w->o.list.sites[x->whole_call_of - 1];
	seen.cfa_off = x->cfa_off;
	seen.arg[0] = x->whole.size_arg;
	if (x->takes && result_in(r, x->reg) <= w->o.list.lists.top)
		return;
	at_entry(w, &seen, r);
	if (w->wait.site == &seen)
		at_exit_site(w, x, r);
}

static void at_exit(struct watch *w, const struct site_exit *x, const struct user_regs_struct *r)
{
	if (x->whole_call_of && w->o.list.sites[x->whole_call_of - 1].whole)
		at_whole(w, x, r);
	else
		at_exit_site(w, x, r);
}

/* At a breakpoint: read the registers, then step the real instruction and set the breakpoint again. */
static int at_breakpoint(struct watch *w)
{
	struct user_regs_struct r;
	struct iovec all = { &r, sizeof(r) };
	int status;
	assert_int_equal(ptrace(PTRACE_GETREGSET, w->pid, NT_PRSTATUS, &all), 0);
	uint64_t addr = ip_of(&r) - BREAKPOINT_PASSED;
	const uint64_t *bytes = map_get(&w->bytes, addr), *k;
	assert_non_null(bytes);
	set_ip(&r, addr);
	if (w->sh->now && (k = map_get(&w->exits, addr)))
		at_exit(w, &w->o.list.exits[*k - 1], &r);
	if (w->sh->now && (k = map_get(&w->entries, addr)))
		at_entry(w, &w->o.list.sites[*k - 1], &r);
	assert_int_equal(ptrace(PTRACE_SETREGSET, w->pid, NT_PRSTATUS, &all), 0);
	poke(w, addr, bytes);
	assert_int_equal(ptrace(PTRACE_SINGLESTEP, w->pid, NULL, NULL), 0);
	waitpid(w->pid, &status, 0);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	poke(w, addr, breakpoint);
	return 0;
}

static void start_child(struct watch *w, const char *library)
{
	int fd = memfd_create("shared", 0), status;
	assert_int_equal(ftruncate(fd, sizeof(*w->sh)), 0);
	w->sh = mmap(NULL, sizeof(*w->sh), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(w->sh != MAP_FAILED);
	w->pid = fork();
	if (!w->pid) {
		dup2(fd, SHARED_FD);
		/* Preloaded: most of them need static thread-local storage, which dlopen cannot provide. */
		if (strcmp(library, GLIBC) && strcmp(library, LIBGC))
			setenv("LD_PRELOAD", library, 1);
		setenv("GC_MARKERS", "1", 1);
		execl("/proc/self/exe", "child", library, NULL);
		_exit(3);
	}
	close(fd);
	/* A stop before exec's own: TRACEME comes after it. */
	assert_int_equal(waitpid(w->pid, &status, WUNTRACED), w->pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	/* After a failed assertion it must not continue with our breakpoints. */
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, w->pid, NULL, PTRACE_O_EXITKILL), 0);
	w->bias = bias_of(w->pid, library);
}

static void plant_all(struct watch *w)
{
	for (size_t i = 0; i < w->o.list.sites_cnt; i++)
		if (w->o.list.sites[i].state == SITE_PROBED)
			plant(w, w->o.list.sites[i].vaddr, &w->entries, i);
	for (size_t i = 0; i < w->o.list.exits_cnt; i++)
		if (!w->o.list.exits[i].takes || w->o.list.sites[w->o.list.exits[i].whole_call_of - 1].whole)
			plant(w, w->o.list.exits[i].vaddr, &w->exits, i);
}

static void run_child(struct watch *w)
{
	int status, sig = 0;
	for (;;) {
		assert_int_equal(ptrace(PTRACE_CONT, w->pid, NULL, sig), 0);
		assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
		if (WIFEXITED(status))
			break;
		assert_true(WIFSTOPPED(status));
		sig = WSTOPSIG(status) == SIGTRAP ? at_breakpoint(w) : WSTOPSIG(status);
		assert_int_not_equal(sig, SIGSEGV);
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Each call is seen once at its entry and once with its result, or its exit is named as not covered. */
static void check_calls(const struct watch *w, unsigned int *made)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		const char *symbol = calls[i % CALLS].symbol;
		if (!w->sh->made[i])
			continue;
		(*made)++;
		if (w->entered[i] != 1)
			fail_msg("%s(%zu): seen to begin %u times", symbol, sizes[i / CALLS], w->entered[i]);
		if (strstr(symbol, "free") || !strncmp(symbol, "_Zd", 3))
			continue;
		const struct site *s = site_named(&w->o.list, symbol);
		if (!w->left[i] && s && s->lost)
			continue;
		if (w->left[i] != 1 || w->seen[i] != w->sh->result[i])
			fail_msg("%s(%zu): %u exits, %" PRIx64 " instead of %" PRIx64, symbol, sizes[i / CALLS], w->left[i],
				 w->seen[i], w->sh->result[i]);
	}
}

enum exits { RETS, CHEAP, WHOLE };

static unsigned int watch_library(const char *library, enum exits which)
{
	struct sites_options opts = { .cheap_exits = which != RETS };
	struct watch *w = calloc(1, sizeof(*w));
	unsigned int made = 0, cheap_hits;
	open_sites(&w->o, library, &opts);
	if (which == WHOLE)
		sites_use_whole(&w->o.list, true);
	start_child(w, library);
	plant_all(w);
	run_child(w);
	check_calls(w, &made);
	if (made < 40)
		fail_msg("%s: only %u calls made", library, made);
	cheap_hits = w->cheap_hits;
	munmap(w->sh, sizeof(*w->sh));
	map_free(&w->entries);
	map_free(&w->exits);
	map_free(&w->bytes);
	close_sites(&w->o);
	free(w);
	return cheap_hits;
}

/* It returns where no emulated instruction is. */
static bool is_mimalloc_3(void)
{
	return access(LIB "libmimalloc.so.3", F_OK) == 0;
}

static void test_sites_at_work(void **state)
{
	static const char mimalloc[] = MIMALLOC;
	static const char *const at_work[] = { GLIBC, LIBGC, JEMALLOC, TCMALLOC, mimalloc };
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* the sanitizer brings its own malloc */
#endif
	for (size_t i = 0; i < sizeof(at_work) / sizeof(*at_work); i++) {
		unsigned int jumps = watch_library(at_work[i], RETS);
		/* Emulated: every `ret`, or only calloc's jump to memset. */
		bool emulated = insn_machine.cheap_ret || !strcmp(at_work[i], GLIBC);
		assert_true(emulated ? jumps > 0 : !jumps);
		unsigned int cheap = watch_library(at_work[i], CHEAP);
		bool wanted = strcmp(at_work[i], GLIBC) && (at_work[i] != mimalloc || !is_mimalloc_3());
		if (wanted && cheap <= 20)
			fail_msg("%s: only %u hits of cheap exits", at_work[i], cheap);
		unsigned int whole = watch_library(at_work[i], WHOLE);
		if (insn_machine.link < 0 && i < 2 && whole < 10)
			fail_msg("%s: only %u hits of places that see whole calls", at_work[i], whole);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[0], "child"))
		return child(argv[1]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites_at_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
