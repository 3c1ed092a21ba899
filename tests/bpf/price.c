/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of stacks: one process calls malloc from three depths with each program attached in turn; medians over rounds
 * of the nanoseconds added to a call. Exit status 1 if our walk costs more than 0.6 of the kernel's at some depth, or
 * if sending a stack costs more than its limit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach.h"
#include "intake/ring.h"
#include "machine/pac.h"
#include "target.h"
#include "walk.skel.h"

#define ROUNDS 15
#define CALLS 20000 /* many: the first ones behind an attached probe take longer */
#define BASE_FRAMES 7 /* malloc, leaf, deep(0), main, three of libc and crt */
#define KERNEL_SHARE 0.6
#define ALIKE_SHARE 0.4 /* limit relative to the full walk */
#define NEW_SHARE 1.1   /* limit relative to a walk without cache */
#define SEND_MAX_NS 100
#define EVENTS_SZ (8u << 20)

static const int frames[] = { 12, 27, 67 };
#define DEPTHS 3

struct column {
	const char *name;
	struct walk_bpf *skel;
	struct bpf_program *prog;
	bool anew; /* no stack has come before */
	double ns[DEPTHS][ROUNDS];
};

enum { NONE, EMPTY, EVENT, KERNEL, WALK, TAKE, ALIKE, TAKE_ALIKE, WALK_SLEEP, TAKE_SLEEP, EMPTY_NEW, WALK_NEW, ALIKE_NEW, COLUMNS };

static struct column columns[COLUMNS];
static FILE *to, *from;
static uint32_t tgid;
static struct target targets[3];

static struct ring events_of(struct walk_bpf *s)
{
	struct ring r;
	if (ring_open(&r, bpf_map__fd(s->maps.events), EVENTS_SZ))
		exit(2);
	return r;
}

static void drop_events(struct ring *r)
{
	size_t n;
	while (ring_front(r, &n))
		ring_pass(r);
	ring_tell(r);
}

static struct walk_bpf *load(uint8_t walk, uint8_t recall)
{
	struct walk_bpf *s = walk_bpf__open();
	struct bpf_program *p;
	if (!s)
		exit(2);
	s->rodata->config.walk = walk;
	s->rodata->config.recall = recall;
	s->rodata->config.known_stacks = bpf_map__max_entries(s->maps.known_stacks);
	s->rodata->config.max_frames = 256;
	s->rodata->config.ring_sz = EVENTS_SZ;
	s->rodata->config.wake_bytes = EVENTS_SZ;
	s->rodata->config.pac_mask = pac_mask();
	s->rodata->snap_config.cfa_off = SNAP_CFA_OFF;
	s->rodata->snap_config.every = 1;
	bpf_object__for_each_program(p, s->obj) {
		bool wanted = !strncmp(bpf_program__name(p), "price_", 6);
		bpf_program__set_autoload(p, wanted);
		attach_prepare(p, true);
		if (walk == ALYS_WALK_SLEEP && wanted)
			bpf_program__set_flags(p, BPF_F_SLEEPABLE);
	}
	if (bpf_map__set_value_size(s->maps.events, ALYS_RING_SZ(EVENTS_SZ)) || walk_bpf__load(s))
		exit(2);
	return s;
}

static void publish(struct walk_bpf *s, struct target *t)
{
	struct table_maps maps = {
		.chunks = bpf_map__fd(s->maps.chunks),
		.specs = bpf_map__fd(s->maps.specs),
		.mappings = bpf_map__fd(s->maps.mappings),
		.map_lists = bpf_map__fd(s->maps.map_lists),
		.changes = &s->bss->map_list_changes,
	};
	uint8_t value = 1;
	t->tgid = tgid;
	t->tables = tables_new(&maps, NULL);
	if (!t->tables || bpf_map_update_elem(bpf_map__fd(s->maps.targets), &tgid, &value, BPF_ANY))
		exit(2);
	target_read(t);
	s->bss->recording = 1;
}

/* Number of frames found by the last walk, in whichever slot. */
static uint32_t frames_walked(struct walk_bpf *s)
{
	uint32_t n = 0;
	struct walk_slot *w = malloc(bpf_map__value_size(s->maps.walk_slots));
	for (uint32_t i = 0; i < bpf_map__max_entries(s->maps.walk_slots); i++) {
		uint32_t *rec = (uint32_t *)w;
		if (!bpf_map_lookup_elem(bpf_map__fd(s->maps.walk_slots), &i, w)) {
			uint32_t got = rec[offsetof(struct alys_ev_stack, n) / 4];
			n = got > n ? got : n;
		}
	}
	free(w);
	return n;
}

static void spawn(char *program)
{
	int in[2], out[2];
	if (pipe(in) || pipe(out))
		exit(2);
	pid_t pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execl(program, program, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	tgid = (uint32_t)pid;
	to = fdopen(in[1], "w");
	from = fdopen(out[0], "r");
}

static double ask(int depth, int calls, bool anew)
{
	unsigned long ns;
	fprintf(to, "%d %d %d\n", depth, calls, anew);
	fflush(to);
	if (fscanf(from, "%lu", &ns) != 1)
		exit(2);
	return (double)ns / calls;
}

static void measure(struct column *c, int round, uint64_t offset)
{
	int fd = -1;
	if (c->prog)
		fd = attach_probe(c->prog, true, false, tgid, SNAP_LIBC, &offset, 1);
	for (int d = 0; d < DEPTHS; d++) {
		ask(frames[d] - BASE_FRAMES, CALLS / 10, c->anew);
		c->ns[d][round] = ask(frames[d] - BASE_FRAMES, CALLS, c->anew);
	}
	if (fd >= 0)
		close(fd);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static double median(const struct column *c, int d)
{
	double sorted[ROUNDS];
	memcpy(sorted, c->ns[d], sizeof(sorted));
	qsort(sorted, ROUNDS, sizeof(double), by_value);
	return sorted[ROUNDS / 2];
}

/* The median of differences per round, so that drift of the machine's speed cancels out. */
static double median_over(const struct column *c, const struct column *base, int d)
{
	struct column diff = { 0 };
	for (int r = 0; r < ROUNDS; r++)
		diff.ns[d][r] = c->ns[d][r] - base->ns[d][r];
	return median(&diff, d);
}

static bool report(void)
{
	bool ok = true;
	printf("ns added to a malloc by an empty probe: %.0f\nns added over the empty probe:\n%6s",
	       median_over(&columns[EMPTY], &columns[NONE], 0), "frames");
	for (int c = EVENT; c < EMPTY_NEW; c++)
		printf(" %22s", columns[c].name);
	putchar('\n');
	for (int d = 0; d < DEPTHS; d++) {
		printf("%6d", frames[d]);
		for (int c = EVENT; c < EMPTY_NEW; c++)
			printf(" %22.0f", median_over(&columns[c], &columns[EMPTY], d));
		double share = median_over(&columns[WALK], &columns[EMPTY], d) / median_over(&columns[KERNEL], &columns[EMPTY], d);
		double send = median_over(&columns[TAKE], &columns[WALK], d);
		double alike = median_over(&columns[ALIKE], &columns[EMPTY], d) / median_over(&columns[WALK], &columns[EMPTY], d);
		double anew = median_over(&columns[ALIKE_NEW], &columns[EMPTY_NEW], d) /
			      median_over(&columns[WALK_NEW], &columns[EMPTY_NEW], d);
		printf("   walk/kernel %.2f, remembered/walk %.2f, new/walk %.2f, dedupe + event %.0f\n", share, alike, anew, send);
		ok &= share < KERNEL_SHARE && alike <= ALIKE_SHARE && anew <= NEW_SHARE && send <= SEND_MAX_NS;
	}
	printf("%s: walk below %.1f of the kernel's, dedupe and event at most %d ns\n", ok ? "ok" : "NOT MET", KERNEL_SHARE,
	       SEND_MAX_NS);
	return ok;
}

int main(int argc, char **argv)
{
	if (argc != 2 || !attach_has_multi())
		return 77;
	uint64_t offset = function_offset(SNAP_LIBC, "malloc");
	struct walk_bpf *plain = load(ALYS_WALK_TABLES, ALYS_RECALL_NEVER), *sleeping = load(ALYS_WALK_SLEEP, ALYS_RECALL_ALIKE);
	struct walk_bpf *alike = load(ALYS_WALK_TABLES, ALYS_RECALL_ALIKE);
	struct ring rings[] = { events_of(plain), events_of(sleeping), events_of(alike) };
	columns[NONE].name = "none";
	columns[EMPTY] = (struct column){ "empty", plain, plain->progs.price_empty, false, { { 0 } } };
	columns[EVENT] = (struct column){ "event", plain, plain->progs.price_event, false, { { 0 } } };
	columns[KERNEL] = (struct column){ "bpf_get_stack", plain, plain->progs.price_get_stack, false, { { 0 } } };
	columns[WALK] = (struct column){ "walk", plain, plain->progs.price_walk, false, { { 0 } } };
	columns[TAKE] = (struct column){ "walk+dedupe+event", plain, plain->progs.price_take, false, { { 0 } } };
	columns[ALIKE] = (struct column){ "remembered walk", alike, alike->progs.price_walk, false, { { 0 } } };
	columns[TAKE_ALIKE] = (struct column){ "remembered, all", alike, alike->progs.price_take, false, { { 0 } } };
	columns[WALK_SLEEP] = (struct column){ "sleepable walk", sleeping, sleeping->progs.price_walk, false, { { 0 } } };
	columns[TAKE_SLEEP] = (struct column){ "sleepable, all", sleeping, sleeping->progs.price_take, false, { { 0 } } };
	columns[EMPTY_NEW] = (struct column){ "empty, new", plain, plain->progs.price_empty, true, { { 0 } } };
	columns[WALK_NEW] = (struct column){ "walk, new", plain, plain->progs.price_walk, true, { { 0 } } };
	columns[ALIKE_NEW] = (struct column){ "remembering, new", alike, alike->progs.price_walk, true, { { 0 } } };
	spawn(argv[1]);
	ask(1, 1, false); /* warm-up: everything is mapped afterwards */
	publish(plain, &targets[0]);
	publish(sleeping, &targets[1]);
	publish(alike, &targets[2]);
	for (int r = 0; r < ROUNDS; r++) {
		for (int c = 0; c < COLUMNS; c++) {
			measure(&columns[c], r, offset);
			for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++)
				drop_events(&rings[i]);
			if (c == WALK && frames_walked(plain) != (uint32_t)frames[DEPTHS - 1]) {
				printf("%u frames walked, not %d\n", frames_walked(plain), frames[DEPTHS - 1]);
				return 1;
			}
		}
	}
	bool ok = report();
	fclose(to);
	waitpid((pid_t)tgid, NULL, 0);
	return ok ? 0 : 1;
}
