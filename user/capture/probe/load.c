/* SPDX-License-Identifier: Apache-2.0 */
/* probe/load: opens, configures and loads the BPF programs; reads their counters. See probe.h. */
#include "probe/balance.h"
#include "probe/link.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "access/pidns.h"
#include "access/rights.h"
#include "alys.skel.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernel/faults.h"
#include "kernel/object.h"
#include "kernel/programs.h"
#include "kernel/sizes.h"
#include "machine/pac.h"
#include "probe/load.h"
#include "sandbox/caps.h"

/* For a refused program libbpf prints the verifier's whole log, which is of use with -v only. */
static int on_libbpf_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (log_get_level() >= LOG_DEBUG || (level == LIBBPF_WARN && log_get_level() >= LOG_VERBOSE))
		return vfprintf(stderr, fmt, ap);
	return 0;
}

/* lib/percpu_counter.c: compute_batch_value. */
static uint32_t counter_batch(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	return cpus > 16 ? 2 * (uint32_t)cpus : 32;
}

static uint64_t secret(void)
{
	uint64_t random;
	return getrandom(&random, sizeof(random), 0) == (ssize_t)sizeof(random) ? random : now_ns();
}

static void set_config(struct probe *p, const struct probe_config *cfg)
{
	const struct pidns own = pidns_own();
	p->skel->rodata->config = (struct alys_config){
		.interval = cfg->interval,
		.page_interval = cfg->page_interval,
		.min_size = cfg->min_size,
		.pidns_dev = own.dev,
		.pidns_ino = own.ino,
		.pac_mask = pac_mask(),
		.max_frames = cfg->max_frames,
		.ring_sz = cfg->ring_sz,
		.wake_bytes = cfg->ring_sz / 4,
		.follow = cfg->follow,
		.free_stacks = cfg->free_stacks,
		.walk = p->walk,
		.all = cfg->all,
		.report_all = cfg->report_all,
		.stop_at_gc = cfg->stop_at_gc,
		.windowed = cfg->windowed,
		.page_windows = cfg->page_windows,
		.no_frees = cfg->no_frees,
		.noted = cfg->noted,
		.recall = cfg->check_stacks ? ALYS_RECALL_CHECK : ALYS_RECALL_ALIKE,
		.walk_slots = sizes_of(cfg).slots,
		.known_stacks = sizes_of(cfg).known,
		.known_secret = secret(),
		.preempt_off = p->facts.preempt_off,
		.hit_context = p->facts.hit_context && p->tier != PROBE_TIER_PERF,
		.rss_batch = counter_batch(),
	};
	p->skel->bss->interval = cfg->interval;
	for (int i = 0; i < ALYS_NEG_LN_CNT; i++)
		p->skel->rodata->neg_ln_q32[i] = ALYS_NEG_LN_Q32(i);
}

/* Sleepable programs read in missing stack pages. */
static uint8_t choose_walk(const struct probe *p, uint8_t wanted)
{
	return wanted == ALYS_WALK_SLEEP && !p->facts.sleeps ? ALYS_WALK_TABLES : wanted;
}

static void let_sleep(struct probe *p)
{
	struct bpf_program *walking[] = {
		p->skel->progs.call_session, p->skel->progs.plain_enter,     p->skel->progs.frame_enter, p->skel->progs.refill,
		p->skel->progs.whole_call,   p->skel->progs.whole_collected, p->skel->progs.free_enter,  p->skel->progs.gc_begin,
		p->skel->progs.noted_alloc,  p->skel->progs.noted_free,
	};
	for (size_t i = 0; i < sizeof(walking) / sizeof(walking[0]) && p->walk == ALYS_WALK_SLEEP; i++)
		bpf_program__set_flags(walking[i], BPF_F_SLEEPABLE);
}

static bool watches(uint32_t subjects, uint32_t subject)
{
	return subjects & 1u << subject;
}

/* The programs for calls, those for pages and those for mappings. */
static void choose_subjects(struct probe *p, const struct probe_config *cfg)
{
	const struct {
		struct bpf_program *prog;
		uint32_t subject;
	} kernel[] = {
		{ p->skel->progs.on_touch, ALYS_SUBJECT_PAGES },     { p->skel->progs.on_rss, ALYS_SUBJECT_PAGES },
		{ p->skel->progs.on_place, ALYS_SUBJECT_PAGES },     { p->skel->progs.on_call, ALYS_SUBJECT_MAPPINGS },
		{ p->skel->progs.on_called, ALYS_SUBJECT_MAPPINGS },
	};
	struct bpf_program *prog;
	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++)
		bpf_program__set_autoload(kernel[i].prog, watches(cfg->subjects, kernel[i].subject));
	bpf_object__for_each_program(prog, p->skel->obj)
	{
		if (!watches(cfg->subjects, ALYS_SUBJECT_ALLOCATIONS) && !strcmp(bpf_program__section_name(prog), "uprobe"))
			bpf_program__set_autoload(prog, false);
	}
}

static void choose_programs(struct probe *p, const struct probe_config *cfg)
{
	struct bpf_program *session = p->skel->progs.call_session, *timed = p->skel->progs.heapful_session;
	struct bpf_program *multi[] = {
		p->skel->progs.plain_enter,   p->skel->progs.plain_return, p->skel->progs.frame_enter,
		p->skel->progs.frame_exit,    p->skel->progs.free_enter,   p->skel->progs.refill,
		p->skel->progs.gc_begin,      p->skel->progs.gc_mark,      p->skel->progs.gc_end,
		p->skel->progs.frame_predict, p->skel->progs.on_link,      p->skel->progs.count_entry,
		p->skel->progs.noted_alloc,   p->skel->progs.noted_free,   p->skel->progs.heapful,
		p->skel->progs.heapful_exit,  p->skel->progs.whole_call,   p->skel->progs.whole_collected,
	};
	bool has_session = p->tier == PROBE_TIER_SESSION;
	bpf_program__set_autoload(p->skel->progs.on_oom, p->facts.oom);
	bpf_program__set_autoload(session, has_session);
	bpf_program__set_autoload(timed, has_session);
	bpf_program__set_autoload(p->skel->progs.plain_enter, !has_session);
	bpf_program__set_autoload(p->skel->progs.plain_return, !has_session);
	bpf_program__set_autoload(p->skel->progs.refill, cfg->interval != 0);
	bpf_program__set_autoload(p->skel->progs.whole_call, cfg->interval == 0);
	bpf_program__set_autoload(p->skel->progs.whole_collected, cfg->interval == 0);
	bpf_program__set_autoload(p->skel->progs.count_entry, cfg->counts_calls);
	bpf_program__set_autoload(p->skel->progs.noted_alloc, cfg->noted);
	bpf_program__set_autoload(p->skel->progs.noted_free, cfg->noted);
	bpf_program__set_expected_attach_type(session, (enum bpf_attach_type)ATTACH_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(timed, (enum bpf_attach_type)ATTACH_UPROBE_SESSION);
	for (size_t i = 0; i < sizeof(multi) / sizeof(multi[0]) && p->tier != PROBE_TIER_PERF; i++)
		bpf_program__set_expected_attach_type(multi[i], (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	choose_subjects(p, cfg);
}

static int explain_load(int rc, struct err *err)
{
	if (rc == -EPERM)
		return err_set(err, EPERM, "not allowed to load BPF programs: %s", caps_advice());
	return err_set(err, -rc, "the kernel refused the BPF programs: %s; see `alys-bpf doctor`; -v shows the kernel's log",
		       strerror(-rc));
}

/* Programs for C libraries, loaded in the background: most recordings need no others. */
static int load_programs(struct probe *p)
{
	struct bpf_program *const first[] = {
		p->skel->progs.whole_call,   p->skel->progs.call_session, p->skel->progs.plain_enter,
		p->skel->progs.plain_return, p->skel->progs.free_enter,
	};
	int rc;
	p->programs = programs_load(p->skel, first, sizeof(first) / sizeof(first[0]), &rc);
	return rc;
}

int program_ready(const struct probe *p, const struct bpf_program *prog, struct err *err)
{
	int rc = programs_await(p->programs, prog);
	return rc ? explain_load(rc, err) : 0;
}

int probe_settle_loading(const struct probe *p, struct err *err)
{
	int rc = programs_await_first(p->programs);
	return rc ? explain_load(rc, err) : 0;
}

int probe_ready(const struct probe *p, struct err *err)
{
	int rc = programs_await_all(p->programs);
	return rc ? explain_load(rc, err) : 0;
}

/* NULL: then all marks are read at each collection, which takes longer. */
static const struct alys_sampled_object *map_object_log(const struct probe *p)
{
	void *at = mmap(NULL, OBJECT_LOG_SZ, PROT_READ, MAP_SHARED, bpf_map__fd(p->skel->maps.object_log), 0);
	return at == MAP_FAILED ? NULL : at;
}

static int check_kernel(const struct kernel_facts *facts, const struct probe_config *cfg, struct err *err)
{
	if (!facts->btf)
		return err_set(err, ENOTSUP,
			       "this kernel has no type information (/sys/kernel/btf/vmlinux): "
			       "boot one built with CONFIG_DEBUG_INFO_BTF");
	if (watches(cfg->subjects, ALYS_SUBJECT_MAPPINGS) && !facts->calls)
		return err_set(err, ENOTSUP, "--maps: this kernel does not report system calls (CONFIG_FTRACE_SYSCALLS)");
	if (watches(cfg->subjects, ALYS_SUBJECT_PAGES) && !facts->resident)
		return err_set(err, ENOTSUP,
			       "--rss needs Linux 6.2 or later: this kernel does not report each page that becomes resident");
	return 0;
}

/* On a stack that threads share, one could spoil what another goes by in the kernel. */
static int check_stack(const struct probe *p, struct err *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int rc = bpf_prog_test_run_opts(bpf_program__fd(p->skel->progs.is_on_own_stack), &opts);
	if (rc)
		return err_set(err, -rc, "cannot run a BPF program: %s; see `alys-bpf doctor`", strerror(-rc));
	if (!opts.retval)
		return err_set(err, ENOTSUP,
			       "this kernel runs BPF programs on stacks that threads share, which could harm them: use a newer "
			       "alys-bpf, or an older kernel");
	return 0;
}

static int make_tables(struct probe *p, const struct probe_config *cfg, struct err *err)
{
	struct table_maps maps = {
		.chunks = bpf_map__fd(p->skel->maps.chunks),
		.specs = bpf_map__fd(p->skel->maps.specs),
		.mappings = bpf_map__fd(p->skel->maps.mappings),
		.map_lists = bpf_map__fd(p->skel->maps.map_lists),
		.changes = &p->skel->bss->map_list_changes,
		.chunks_max = sizes_of(cfg).chunks,
		.mappings_max = sizes_of(cfg).mappings,
	};
	p->tables = tables_new(&maps, err);
	return p->tables ? 0 : -err->code;
}

static int load(struct probe *p, const struct probe_config *cfg, struct err *err)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	setrlimit(RLIMIT_MEMLOCK, &all); /* BPF memory counts against it before 5.11 */
	libbpf_set_print(on_libbpf_print);
	p->facts = kernel_facts();
	int rc = check_kernel(&p->facts, cfg, err);
	if (rc)
		return rc;
	p->tier = tier_of(&p->facts);
	p->subjects = cfg->subjects;
	/* Pages come while the kernel holds locks: stacks of all subjects are walked in the same way, without sleeping. */
	p->walk = cfg->subjects == 1u << ALYS_SUBJECT_ALLOCATIONS ? choose_walk(p, cfg->walk) : ALYS_WALK_TABLES;
	programs_register();
	p->skel = object_open(&p->facts);
	if (!p->skel)
		return explain_load(-errno, err);
	set_config(p, cfg);
	choose_programs(p, cfg);
	let_sleep(p);
	rc = sizes_set(p->skel, cfg);
	if (!rc)
		rc = load_programs(p);
	if (rc)
		return explain_load(rc, err);
	rc = check_stack(p, err) ?: make_tables(p, cfg, err);
	if (rc)
		return rc;
	if (cfg->interval)
		p->object_log = map_object_log(p);
	return probe_listen(p, true, err);
}

struct probe *probe_open(const struct probe_config *cfg, struct err *err)
{
	struct probe *p = calloc(1, sizeof(*p));
	if (!p) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	p->windowed = cfg->windowed;
	p->lingering = true;
	p->page_windows = cfg->page_windows;
	p->no_frees = cfg->no_frees;
	if (files_init(&p->files) ? err_set(err, ENOMEM, "out of memory") : load(p, cfg, err)) {
		probe_close(p);
		return NULL;
	}
	return p;
}

enum probe_tier probe_tier(const struct probe *p)
{
	return p->tier;
}

bool probe_returns_kill_seccomp(const struct probe *p)
{
	return p->facts.kills_seccomp;
}

struct tables *probe_tables(struct probe *p)
{
	return p->tables;
}

uint8_t probe_walk(const struct probe *p)
{
	return p->walk;
}

int probe_ring_fd(const struct probe *p)
{
	return bpf_map__fd(p->skel->maps.events);
}

int probe_calls_fd(const struct probe *p)
{
	return bpf_map__fd(p->skel->maps.event_calls);
}

static int mark_target(struct probe *p, uint32_t tgid, uint8_t mark, struct err *err)
{
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.targets), &tgid, &mark, BPF_ANY))
		return err_set(err, errno, "cannot trace process %u: %s (at most %d at a time)", tgid, strerror(errno),
			       ALYS_MAX_TARGETS);
	return 0;
}

/* Keeps the other marks of the process. */
static int add_mark(struct probe *p, uint32_t tgid, uint8_t mark, struct err *err)
{
	uint8_t marked = 0;
	bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.targets), &tgid, &marked);
	return mark_target(p, tgid, marked | mark, err);
}

int probe_add_target(struct probe *p, uint32_t tgid, struct err *err)
{
	return mark_target(p, tgid, ALYS_TRACED, err);
}

int probe_add_own(struct probe *p, uint32_t tgid, struct err *err)
{
	return add_mark(p, tgid, ALYS_OURS, err);
}

int probe_leave_to_notes(struct probe *p, uint32_t tgid, struct err *err)
{
	return add_mark(p, tgid, ALYS_TRACED | ALYS_NOTED, err);
}

void probe_take_from_notes(struct probe *p, uint32_t tgid)
{
	uint8_t mark;
	int fd = bpf_map__fd(p->skel->maps.targets);
	if (bpf_map_lookup_elem(fd, &tgid, &mark))
		return;
	mark &= (uint8_t)~ALYS_NOTED;
	bpf_map_update_elem(fd, &tgid, &mark, BPF_EXIST);
}

void probe_remove_target(struct probe *p, uint32_t tgid)
{
	bpf_map_delete_elem(bpf_map__fd(p->skel->maps.targets), &tgid);
}

int probe_exclude(struct probe *p, uint32_t tgid, struct err *err)
{
	return mark_target(p, tgid, ALYS_EXCLUDED, err);
}

/* As in bpf/maps.bpf.h. */
struct block_key {
	uint64_t addr, tgid;
};

/* In batches: key by key, each step would search from the start of the table, which takes a minute for a full one. */
void probe_forget_blocks(struct probe *p)
{
	static struct block_key keys[4096];
	static uint64_t values[4096];
	uint32_t at = 0, n;
	int fd = bpf_map__fd(p->skel->maps.sampled), rc;
	bool first = true;
	do {
		n = sizeof(keys) / sizeof(keys[0]);
		rc = bpf_map_lookup_and_delete_batch(fd, first ? NULL : &at, &at, keys, values, &n, NULL);
		first = false;
	} while (!rc);
	memset(p->skel->bss->sampled_marks, 0, sizeof(p->skel->bss->sampled_marks));
}

/* The mark last: a free that sees no mark does not look for the entry. */
static void forget_block(struct probe *p, const struct block_key *key, uint64_t time, const struct map *ended)
{
	const uint64_t *end = map_get(ended, key->tgid);
	if (end && time <= *end && !bpf_map_delete_elem(bpf_map__fd(p->skel->maps.sampled), key))
		__atomic_fetch_sub(&p->skel->bss->sampled_marks[ALYS_MARK_OF(key->addr, key->tgid)], 1, __ATOMIC_RELAXED);
}

void probe_forget_blocks_of(struct probe *p, const struct map *ended)
{
	static struct block_key keys[4096];
	static uint64_t times[4096];
	uint32_t at = 0, n;
	int rc = 0;
	for (bool first = true; !rc; first = false) {
		n = sizeof(keys) / sizeof(keys[0]);
		rc = bpf_map_lookup_batch(bpf_map__fd(p->skel->maps.sampled), first ? NULL : &at, &at, keys, times, &n, NULL);
		for (uint32_t i = 0; (!rc || rc == -ENOENT) && i < n; i++)
			forget_block(p, &keys[i], times[i], ended);
	}
}

int probe_hold_ring_fd(const struct probe *p, bool odd)
{
	return bpf_map__fd(odd ? p->skel->maps.hold_calls_odd : p->skel->maps.hold_calls_even);
}

void probe_allow_holds(struct probe *p)
{
	__atomic_store_n(&p->skel->bss->hold_answered, 1, __ATOMIC_RELEASE);
}

static int listen_to_faults(struct probe *p, bool on, struct err *err)
{
	size_t cnt = faults_sources();
	p->faulting = p->faulting ?: calloc(cnt, sizeof(*p->faulting));
	if (!p->faulting)
		return err_set(err, ENOMEM, "cannot watch page faults: out of memory");
	for (size_t i = 0; i < cnt; i++) {
		int *fd = &p->faulting[i];
		if (*fd > 0)
			close(*fd);
		*fd = on ? faults_open(i, bpf_program__fd(p->skel->progs.on_touch)) : 0;
		if (*fd < 0 && *fd != -ENODEV)
			return err_set(err, -*fd, "cannot watch page faults: %s", strerror(-*fd));
	}
	return 0;
}

/* Slots of p->listening; those for pages come and go with windows. */
#define PAGE_SLOTS_FROM 4
#define PAGE_SLOTS_END 6

static int listen_to(struct probe *p, int from, int end, bool on, struct err *err)
{
	bool pages = watches(p->subjects, ALYS_SUBJECT_PAGES), maps = watches(p->subjects, ALYS_SUBJECT_MAPPINGS);
	const struct {
		const char *name;
		const struct bpf_program *prog;
	} all[LISTENING] = {
		{ "sched_process_fork", p->skel->progs.on_fork },
		{ "sched_process_exec", p->skel->progs.on_exec },
		{ "sched_process_exit", p->skel->progs.on_exit },
		{ "mark_victim", p->facts.oom ? p->skel->progs.on_oom : NULL },
		{ "rss_stat", pages ? p->skel->progs.on_rss : NULL },
		{ "vm_unmapped_area", pages ? p->skel->progs.on_place : NULL },
		{ "sys_enter", maps ? p->skel->progs.on_call : NULL },
		{ "sys_exit", maps ? p->skel->progs.on_called : NULL },
	};
	for (int i = from; i < end; i++) {
		int *fd = &p->listening[i];
		if (*fd > 0)
			close(*fd);
		*fd = on && all[i].prog ? rights_tracepoint(all[i].name, bpf_program__fd(all[i].prog)) : 0;
		if (*fd < 0)
			return err_set(err, -*fd, "cannot watch processes: tracepoint %s: %s", all[i].name, strerror(-*fd));
	}
	return 0;
}

int probe_listen(struct probe *p, bool on, struct err *err)
{
	p->listening_pages = on;
	int rc = watches(p->subjects, ALYS_SUBJECT_PAGES) ? listen_to_faults(p, on, err) : 0;
	return rc ?: listen_to(p, 0, LISTENING, on, err);
}

int listen_pages(struct probe *p, bool on)
{
	return listen_to_faults(p, on, NULL) ?: listen_to(p, PAGE_SLOTS_FROM, PAGE_SLOTS_END, on, NULL);
}

void probe_forget_stacks(struct probe *p)
{
	__atomic_add_fetch(&p->skel->bss->seen_generation, 1, __ATOMIC_RELEASE);
}

void probe_start(struct probe *p)
{
	__atomic_store_n(&p->skel->bss->recording, 1, __ATOMIC_RELEASE);
}

void probe_stop(struct probe *p)
{
	__atomic_store_n(&p->skel->bss->recording, 0, __ATOMIC_RELEASE);
}

void probe_set_interval(struct probe *p, uint64_t interval)
{
	if (p->skel->rodata->config.interval && interval)
		__atomic_store_n(&p->skel->bss->interval, interval, __ATOMIC_RELAXED);
}

/* Program runs that the kernel left out because the program was already running on that CPU. */
static uint64_t count_misses(const struct probe *p)
{
	uint64_t sum = 0;
	struct bpf_program *prog;
	bpf_object__for_each_program(prog, p->skel->obj)
	{
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof(info);
		int fd = bpf_program__fd(prog);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
			sum += info.recursion_misses;
	}
	return sum;
}

static int sum_calls(const struct probe *p, struct probe_stats *out)
{
	struct probe_calls *calls;
	size_t n;
	int rc = probe_calls(p, &calls, &n);
	for (size_t i = 0; i < n; i++) {
		out->n[ALYS_ST_WAIT_BEGIN] += calls[i].begun;
		out->n[ALYS_ST_WAIT_END] += calls[i].ended;
		out->n[ALYS_ST_LOST_NO_RETURN] += p->counted.functions[i].settled;
		out->n[ALYS_ST_FAILED] += p->counted.functions[i].thrown;
	}
	free(calls);
	return rc;
}

static int sum_processors(const struct probe *p, uint64_t out[ALYS_ST_CNT])
{
	int cpus = libbpf_num_possible_cpus();
	struct alys_stats *each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	uint32_t zero = 0;
	if (!each)
		return -ENOMEM;
	int rc = bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.stats), &zero, each);
	for (int c = 0; !rc && c < cpus; c++) {
		for (int i = 0; i < ALYS_ST_CNT; i++)
			out[i] += each[c].n[i];
	}
	free(each);
	return rc;
}

/* Last, because counters move: whatever has an outcome, or is in flight, in what was read before is a hit by now. */
static int take_hits(const struct probe *p, struct probe_stats *out)
{
	enum { HIT = 1, REC = 0, SKIPPED = 0, LOST = 0, NOTE = 0 };
	static const bool is_hit[ALYS_ST_CNT] = {
#define X(n, id, class, name, help) [n] = class,
		ALYS_STAT_LIST(X)
#undef X
	};
	uint64_t now[ALYS_ST_CNT] = { 0 };
	int rc = sum_processors(p, now);
	for (int i = 0; !rc && i < ALYS_ST_CNT; i++)
		out->n[i] = is_hit[i] ? now[i] : out->n[i];
	return rc;
}

int probe_stats(const struct probe *p, struct probe_stats *out)
{
	*out = (struct probe_stats){ .sites = files_sites(&p->files),
				     .links = (uint32_t)p->attachments_cnt,
				     .files_alike = files_alike(&p->files) };
	int rc = sum_processors(p, out->n);
	out->misses = count_misses(p);
	rc = rc ? rc : sum_calls(p, out);
	return rc ? rc : take_hits(p, out);
}

void probe_losses(const struct probe *p, uint32_t tgid, struct alys_losses *out)
{
	*out = (struct alys_losses){ 0 };
	bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.losses), &tgid, out);
}

void probe_forget_losses(struct probe *p, uint32_t tgid)
{
	int fd = bpf_map__fd(p->skel->maps.losses);
	if (tgid)
		bpf_map_delete_elem(fd, &tgid);
	/* Always the first key, because the previous one has been deleted. */
	while (!tgid && !bpf_map_get_next_key(fd, NULL, &tgid)) {
		bpf_map_delete_elem(fd, &tgid);
		tgid = 0;
	}
}
