/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The acceptance test of the stack walk: probes a function of a program, walks the stack at each hit, and compares the
 * result with libdw's on the same registers and memory.
 *
 *   walk_test [OPTIONS] -- COMMAND [ARG...]
 *   walk_test [OPTIONS] -p PID
 *
 * With --site the function is an allocator's, probed where alys-bpf probes it: often behind its entry.
 *
 * Exit status 0 if at least 99.9 % of the comparable stacks are equal and all requirements are met, 1 if not, 2 if the
 * test could not run. The last line of output is a summary.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach.h"
#include "machine/pac.h"
#include "record.h"
#include "finder/find.h"
#include "intake/ring.h"
#include "target.h"
#include "walk.skel.h"

#define PERCENT_EQUAL 99.9
#define EVENTS_SZ (16u << 20)

struct options {
	const char *file, *symbol;
	uint64_t size;
	uint32_t every, max, pid, cfa_off, fp_off;
	double seconds;
	bool sleep, plain, verbose, site;
	/* requirements */
	uint64_t at_least, known, walks;
	uint32_t ended;    /* how walks have to end ... */
	uint64_t ended_so; /* ... for at least this many stacks */
	uint32_t frames;
	int end;             /* of all stacks; -1 = any */
	double complete;     /* percent of stacks */
	const char *record;  /* directory in which some of the equal stacks are saved */
	const char *pending; /* file with functions p_0.., which get return probes half-way */
};

struct sums {
	uint64_t snaps, equal, cut, differ, fresh, wrong_frames, wrong_end;
	uint64_t changed; /* stacks that differ from the first one */
	uint64_t hidden;  /* libdw was stopped by the kernel's trampoline */
	uint64_t first_hash;
	uint32_t frames_min, frames_max;
	uint64_t misses;
};

static struct options opt = {
	.file = SNAP_LIBC,
	.symbol = "malloc",
	.every = 1,
	.max = 256,
	.seconds = 60,
	.cfa_off = SNAP_CFA_OFF,
	.end = -1,
};
static struct sums sums = { .frames_min = UINT32_MAX };
static struct target target;
static struct walk_bpf *skel;

static void show(const char *what, const struct snap *s, const struct oracle_stack *truth)
{
	static int shown;
	if (shown++ >= 3 && !opt.verbose)
		return;
	printf("%s: end %u, %u frames, libdw %u%s\n", what, s->end, s->n, truth->n, truth->cut ? " (cut)" : "");
	uint32_t n = s->n > truth->n ? s->n : truth->n;
	for (uint32_t i = 0; i < n && i < 80; i++)
		printf("  %2u %#18lx %#18lx\n", i, i < s->n ? (unsigned long)s->ips[i] : 0ul,
		       i < truth->n ? truth->at[i].pc : 0ul);
}

static void check_demands(const struct snap *s)
{
	if (!sums.first_hash)
		sums.first_hash = s->hash;
	sums.changed += s->hash != sums.first_hash;
	sums.wrong_frames += opt.frames && s->n != opt.frames;
	sums.wrong_end += opt.end >= 0 && s->end != (uint32_t)opt.end;
	if (s->n < sums.frames_min)
		sums.frames_min = s->n;
	if (s->n > sums.frames_max)
		sums.frames_max = s->n;
}

/* Keeps one stack of each length. */
static void keep(const struct snap *s)
{
	static bool kept[ALYS_MAX_FRAMES + 1];
	char path[512];
	if (!opt.record || kept[s->n])
		return;
	snprintf(path, sizeof(path), "%s/%u-%u", opt.record, s->tgid, s->n);
	kept[s->n] = record_stack(s, s->regs[7] + opt.cfa_off, path);
}

static int on_snap(void *ctx, void *data, size_t n)
{
	(void)ctx, (void)n;
	const struct snap *s = data;
	static struct oracle_stack truth;
	sums.snaps++;
	/* An unknown mapping: the loader has been notified, and the next stack will be complete. */
	if (s->missed || !target.oracle) {
		sums.fresh++;
		return 0;
	}
	check_demands(s);
	oracle_unwind(target.oracle, s, &truth);
	if (opt.pending && truth.n < s->n) {
		sums.hidden++;
		return 0;
	}
	switch (oracle_compare(&truth, s)) {
	case CALIBRATION_EQUAL:
		sums.equal++;
		keep(s);
		break;
	case CALIBRATION_CUT: sums.cut++; break;
	case CALIBRATION_DIFFERS: sums.differ++; show("differs", s, &truth);
	}
	return 0;
}

static void read_events(struct ring *events)
{
	const struct alys_head *h;
	size_t n;
	while ((h = ring_front(events, &n))) {
		if (h->kind == ALYS_EV_MISS) {
			sums.misses++;
			target_read(&target);
		}
		ring_pass(events);
	}
	ring_tell(events);
}

static int on_call(void *ctx, void *data, size_t n)
{
	(void)data, (void)n;
	read_events(ctx);
	return 0;
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, ap) : 0;
}

static struct bpf_program *load(bool multi)
{
	libbpf_set_print(quiet);
	skel = walk_bpf__open();
	if (!skel)
		exit(2);
	skel->rodata->config.walk = opt.sleep ? ALYS_WALK_SLEEP : ALYS_WALK_TABLES;
	skel->rodata->config.max_frames = opt.max;
	skel->rodata->config.ring_sz = EVENTS_SZ;
	skel->rodata->config.wake_bytes = 1;
	skel->rodata->config.recall = ALYS_RECALL_ALIKE;
	skel->rodata->config.known_stacks = bpf_map__max_entries(skel->maps.known_stacks);
	skel->rodata->snap_config.every = opt.every;
	skel->rodata->config.pac_mask = pac_mask();
	skel->rodata->snap_config.cfa_off = opt.cfa_off;
	skel->rodata->snap_config.fp_off = opt.fp_off;
	skel->rodata->snap_config.size = opt.size;
	struct bpf_program *prog = opt.sleep ? skel->progs.check_sleep : skel->progs.check, *p;
	bpf_object__for_each_program(p, skel->obj)
		bpf_program__set_autoload(p, p == prog || (opt.pending && p == skel->progs.pending));
	attach_prepare(prog, multi);
	attach_prepare(skel->progs.pending, multi);
	if (bpf_map__set_value_size(skel->maps.events, ALYS_RING_SZ(EVENTS_SZ)) || walk_bpf__load(skel))
		exit(2);
	return prog;
}

static void add_target(uint32_t tgid)
{
	uint8_t t = 1;
	struct err err = { 0 };
	struct table_maps maps = {
		.chunks = bpf_map__fd(skel->maps.chunks),
		.specs = bpf_map__fd(skel->maps.specs),
		.mappings = bpf_map__fd(skel->maps.mappings),
		.map_lists = bpf_map__fd(skel->maps.map_lists),
		.changes = &skel->bss->map_list_changes,
	};
	target.tgid = tgid;
	target.tables = tables_new(&maps, &err);
	if (!target.tables || bpf_map_update_elem(bpf_map__fd(skel->maps.targets), &tgid, &t, BPF_ANY)) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
	skel->bss->recording = 1;
}

/* Where alys-bpf would probe the function, how far from sp the CFA is there, and where rbp was saved. */
static uint64_t site_offset(const char *path, const char *symbol)
{
	struct site_list list = { 0 };
	struct err err = { 0 };
	uint64_t offset = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || sites_find_in(fd, path, &(struct sites_options){ .cheap_exits = true }, &list, &err)) {
		fprintf(stderr, "%s: %s\n", path, fd < 0 ? strerror(errno) : err.text);
		exit(2);
	}
	for (size_t i = 0; i < list.sites_cnt; i++) {
		const struct site *s = &list.sites[i];
		if (s->state != SITE_PROBED || strcmp(s->row->symbol, symbol))
			continue;
		offset = s->offset;
		opt.cfa_off = s->cfa_off;
		opt.fp_off = s->fp_off;
		printf("%s+%u, %u bytes below the CFA\n", symbol, (uint32_t)(s->vaddr - s->func), s->cfa_off);
	}
	sites_free(&list);
	close(fd);
	if (!offset) {
		fprintf(stderr, "%s: %s is not probed\n", path, symbol);
		exit(2);
	}
	return offset;
}

/* Attaches return probes to p_0, p_1, ..., so that return addresses on the stack are replaced by trampolines. */
static void attach_pending(bool multi)
{
	uint64_t offsets[64];
	char name[16];
	uint32_t n = 0;
	for (; n < 4; n++) {
		snprintf(name, sizeof(name), "p_%u", n);
		offsets[n] = function_offset(opt.pending, name);
	}
	attach_probe(skel->progs.pending, multi, true, target.tgid, opt.pending, offsets, n);
}

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Until the program exits or the time is up; then drains the ring buffers. */
static int run(pid_t child, bool multi)
{
	struct ring events;
	struct ring_buffer *rings = ring_buffer__new(bpf_map__fd(skel->maps.event_calls), on_call, &events, NULL);
	if (!rings || ring_buffer__add(rings, bpf_map__fd(skel->maps.snaps), on_snap, NULL) ||
	    ring_open(&events, bpf_map__fd(skel->maps.events), EVENTS_SZ))
		exit(2);
	int status = 0;
	double end = now() + opt.seconds, half = now() + opt.seconds / 2;
	bool ended = false, attached = false;
	while (!ended && now() < end) {
		ring_buffer__poll(rings, 20);
		read_events(&events);
		if (opt.pending && !attached && now() > half) {
			attach_pending(multi);
			attached = true;
		}
		ended = child ? waitpid(child, &status, WNOHANG) == child : kill((pid_t)target.tgid, 0) != 0;
	}
	skel->bss->recording = 0;
	ring_buffer__consume(rings);
	ring_buffer__free(rings);
	ring_close(&events);
	if (child && !ended) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		status = 0; /* killed by this test */
	}
	return status;
}

static void demand(bool met, const char *what, bool *all)
{
	if (!met)
		printf("NOT MET: %s\n", what);
	*all &= met;
}

static bool report(int status)
{
	static const char *const ends[] = { "complete", "unknown", "truncated", "fault", "no-table", "bad-cfa", "unsupported" };
	const struct snap_counts *c = &skel->bss->counts;
	uint64_t compared = sums.equal + sums.differ;
	double percent = compared ? 100.0 * (double)sums.equal / (double)compared : 0;
	struct tables_counts tc = tables_counts(target.tables);
	bool ok = true;
	printf("walks %llu (%.1f frames), ends:", (unsigned long long)c->walks,
	       c->walks ? (double)c->frames / (double)c->walks : 0);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (c->ends[i])
			printf(" %s %llu", ends[i], (unsigned long long)c->ends[i]);
	}
	printf("; before the tables %llu, no slot %llu, ring full %llu\n", (unsigned long long)c->fresh,
	       (unsigned long long)c->no_slot, (unsigned long long)c->ring_full);
	printf("known: %llu, other stacks than known: %llu\n", (unsigned long long)c->known, (unsigned long long)c->differ);
	printf("tables: %zu files, %zu bytes, %zu mappings; maps read %lu times, %lu misses; .eh_frame %zu bytes in %.1f ms\n",
	       tc.files, tc.bytes, tc.mappings, target.reads, sums.misses, target.eh_bytes, target.compile_ms);
	demand(status == 0, "the program ends well", &ok);
	demand(percent >= PERCENT_EQUAL, "equal to libdw", &ok);
	demand(compared >= opt.at_least, "enough stacks compared", &ok);
	demand(!opt.walks || c->walks == opt.walks, "number of walks", &ok);
	demand(!sums.wrong_frames, "number of frames of every stack", &ok);
	demand(!sums.wrong_end, "end of every stack", &ok);
	demand(100.0 * (double)c->ends[0] >= opt.complete * (double)(c->walks - c->fresh), "stacks complete", &ok);
	demand(c->ends[opt.ended] >= opt.ended_so, "enough stacks that ended as wanted", &ok);
	if (opt.pending) {
		printf("%lu stacks with return probes pending\n", sums.hidden);
		demand(sums.hidden >= opt.at_least, "stacks with pending return probes", &ok);
		demand(!sums.changed, "all stacks the same", &ok);
	}
	demand(!c->no_slot, "a slot for every walk", &ok);
	demand(c->known >= opt.known, "enough stacks known", &ok);
	demand(!c->differ, "known stacks are those that the walk finds", &ok);
	printf("%s: %lu snapped, %lu equal (%.3f %%), %lu differ, %lu beyond the copy, %lu before the tables, frames %u..%u\n",
	       ok ? "ok" : "FAILED", sums.snaps, sums.equal, percent, sums.differ, sums.cut, sums.fresh, sums.frames_min,
	       sums.frames_max);
	return ok;
}

static void parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "file", 1, 0, 'f' },     { "symbol", 1, 0, 's' },   { "size", 1, 0, 'z' },    { "every", 1, 0, 'e' },
		{ "max", 1, 0, 'm' },      { "time", 1, 0, 't' },     { "sleep", 0, 0, 'S' },   { "verbose", 0, 0, 'v' },
		{ "at-least", 1, 0, 'l' }, { "known", 1, 0, 'k' },    { "walks", 1, 0, 'w' },   { "frames", 1, 0, 'F' },
		{ "end", 1, 0, 'E' },      { "complete", 1, 0, 'c' }, { "pending", 1, 0, 'P' }, { "pid", 1, 0, 'p' },
		{ "record", 1, 0, 'R' },   { "ended", 1, 0, 'T' },    { "site", 1, 0, 'a' },    { 0 },
	};
	int o;
	while ((o = getopt_long(argc, argv, "vp:", longs, NULL)) != -1) {
		switch (o) {
		case 'f': opt.file = optarg; break;
		case 's': opt.symbol = optarg; break;
		case 'a':
			opt.symbol = optarg;
			opt.site = true;
			break;
		case 'z': opt.size = strtoull(optarg, NULL, 0); break;
		case 'e': opt.every = (uint32_t)atoi(optarg); break;
		case 'm': opt.max = (uint32_t)atoi(optarg); break;
		case 't': opt.seconds = atof(optarg); break;
		case 'S': opt.sleep = true; break;
		case 'v': opt.verbose = true; break;
		case 'l': opt.at_least = strtoull(optarg, NULL, 0); break;
		case 'k': opt.known = strtoull(optarg, NULL, 0); break;
		case 'w': opt.walks = strtoull(optarg, NULL, 0); break;
		case 'F': opt.frames = (uint32_t)atoi(optarg); break;
		case 'E': opt.end = atoi(optarg); break;
		case 'c': opt.complete = atof(optarg); break;
		case 'P': opt.pending = optarg; break;
		case 'T':
			if (sscanf(optarg, "%u:%lu", &opt.ended, &opt.ended_so) != 2 || opt.ended > ALYS_STOP_UNSUPPORTED)
				exit(2);
			break;
		case 'R': opt.record = optarg; break;
		case 'p': opt.pid = (uint32_t)atoi(optarg); break;
		default: exit(2);
		}
	}
	if (!opt.pid && optind == argc)
		exit(2);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	bool multi = attach_has_multi();
	uint64_t offset = opt.site ? site_offset(opt.file, opt.symbol) : function_offset(opt.file, opt.symbol);
	struct bpf_program *prog = load(multi);
	int gate = -1;
	pid_t child = opt.pid ? 0 : target_spawn(argv + optind, &gate);
	add_target(opt.pid ? opt.pid : (uint32_t)child);
	target_read(&target);
	attach_probe(prog, multi, false, target.tgid, opt.file, &offset, 1);
	if (child)
		target_go(gate);
	bool ok = report(run(child, multi));
	target_close(&target);
	walk_bpf__destroy(skel);
	return ok ? 0 : 1;
}
