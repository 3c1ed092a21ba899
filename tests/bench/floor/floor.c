/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches empty programs to the sites that alys-bpf would probe: `floor PID`; at the sites of refills
 * `floor PID refill`; for all processes, as when calls are sampled, `floor PID all`, or only at frees, without reallocs, `floor PID frees`.
 * `floor PID least` and `floor PID least-stacks` attach the least recorder instead, see floor.bpf.c.
 * Prints "ready", holds them until stdin ends; fails if the least recorder missed more than one call in a hundred. Needs a kernel
 * with uprobe.session.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "floor.skel.h"
#include "sites/collections.h"
#include "probe/link.h"
#include "finder/find.h"

#define POLL_MS 10

static struct probe here = { .tier = PROBE_TIER_SESSION };

struct mode {
	const char *name;
	bool refill;
	bool frees;
	bool all;     /* processes; returns are skipped, as for nearly all calls when sampling */
	bool records; /* the least recorder */
	bool stacks;
};

static const struct mode modes[] = {
	{ .name = "refill", .refill = true },
	{ .name = "all", .all = true },
	{ .name = "frees", .all = true, .frees = true },
	{ .name = "least", .records = true },
	{ .name = "least-stacks", .records = true, .stacks = true },
};

struct floor {
	struct floor_bpf *skel;
	struct mode mode;
	uint32_t tgid; /* 0 = all */
};

/* By what the program does there: at calls of allocators, of free, and where calls end. */
struct batches {
	struct batch alloc, free, entry;
};

static struct batch *batch_of(struct batches *b, const struct floor *f, const struct site *s)
{
	if (f->mode.records)
		return s->row->shape == ALYS_SHAPE_FREE ? &b->free : &b->alloc;
	return s->return_probe ? &b->alloc : &b->entry;
}

static void add_calls(const struct floor *f, const struct site_list *l, struct batches *b)
{
	bool used[4096] = { false };
	for (size_t i = 0; i < l->sites_cnt; i++) {
		const struct site *s = &l->sites[i];
		const uint32_t *exits;
		size_t n = sites_exits(s, true, &exits);
		if (s->state != SITE_PROBED || (f->mode.frees && s->row->shape != ALYS_SHAPE_FREE))
			continue;
		batch_add(batch_of(b, f, s), s->offset, 0);
		for (size_t k = 0; k < n && !s->return_probe; k++) {
			if (!used[exits[k]])
				batch_add(&b->entry, l->exits[exits[k]].offset, 0);
			used[exits[k]] = true;
		}
	}
	for (size_t x = 0; x < l->exits_cnt; x++) {
		uint32_t of = l->exits[x].whole_call_of;
		if (of && l->sites[of - 1].whole)
			batch_add(&b->entry, l->exits[x].offset, 0);
	}
}

static void add_collections(const struct elf *e, struct batch *entry)
{
	struct collection_sites c = { 0 };
	if (!collections_find(e, &c)) {
		for (size_t i = 0; i < c.sites_cnt; i++)
			batch_add(entry, c.sites[i].offset, 0);
	}
	collections_free(&c);
}

static struct batches batches_new(const struct floor *f)
{
	struct batches b = {
		.alloc = { .session = true, .prog = f->skel->progs.empty_session },
		.free = { .prog = f->skel->progs.least_free },
		.entry = { .prog = f->skel->progs.empty_entry },
	};
	if (f->mode.records)
		b.alloc.prog = f->skel->progs.least_alloc;
	else if (f->mode.all)
		b.alloc.prog = f->skel->progs.skipped_session;
	return b;
}

static int attach_file(const struct floor *f, int fd, const char *path)
{
	struct err err = { 0 };
	struct site_list l;
	struct sites_options o = { .cheap_exits = true, .refill = f->mode.refill };
	struct batches b = batches_new(f);
	struct elf *e = elf_open(fd, path, &err);
	if (!e || sites_find(e, path, &o, &l, &err))
		return -1;
	if (l.at == SAMPLE_AT_REFILL)
		sites_use_whole(&l, true);
	add_calls(f, &l, &b);
	if (sites_collect(&l))
		add_collections(e, &b.entry);
	int rc = batch_attach(&b.alloc, &here, f->tgid, fd, &err);
	if (!rc)
		rc = batch_attach(&b.free, &here, f->tgid, fd, &err);
	return rc ? rc : batch_attach(&b.entry, &here, f->tgid, fd, &err);
}

static int load(const struct floor *f)
{
	bpf_program__set_expected_attach_type(f->skel->progs.empty_session, ATTACH_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(f->skel->progs.skipped_session, ATTACH_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(f->skel->progs.least_alloc, ATTACH_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(f->skel->progs.least_free, ATTACH_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(f->skel->progs.empty_entry, ATTACH_UPROBE_MULTI);
	f->skel->rodata->with_stacks = f->mode.stacks;
	return floor_bpf__load(f->skel);
}

static int attach(const struct floor *f, const char *pid)
{
	char line[512], maps[64], path[512];
	snprintf(maps, sizeof(maps), "/proc/%s/maps", pid);
	FILE *in = fopen(maps, "r");
	if (!in)
		return -1;
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%*s r-xp %*s %*s %*s %511s", path) != 1 || path[0] != '/')
			continue;
		int fd = open(path, O_RDONLY);
		if (fd >= 0)
			attach_file(f, fd, path);
	}
	return fclose(in);
}

static int on_record(void *ctx, void *data, size_t size)
{
	(void)data;
	(void)size;
	++*(uint64_t *)ctx;
	return 0;
}

/* Records are read as often as alys-bpf reads them, and nothing is done with them. False if many calls have none. */
static bool hold(const struct floor *f)
{
	char byte;
	uint64_t records = 0;
	struct pollfd in = { .fd = 0, .events = POLLIN };
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(f->skel->maps.records), on_record, &records, NULL);
	while (poll(&in, 1, f->mode.records ? POLL_MS : -1) <= 0 || read(0, &byte, 1) > 0)
		ring_buffer__consume(ring);
	ring_buffer__consume(ring);
	return f->skel->bss->missed <= records / 100;
}

int main(int argc, char **argv)
{
	struct floor floor = { .skel = floor_bpf__open() };
	if (!floor.skel || argc < 2)
		return 1;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (argc > 2 && !strcmp(argv[2], modes[i].name))
			floor.mode = modes[i];
	}
	floor.tgid = floor.mode.all ? 0 : (uint32_t)atoi(argv[1]);
	if (load(&floor) || attach(&floor, argv[1]))
		return 1;
	printf("ready\n");
	fflush(stdout);
	return hold(&floor) ? 0 : 1;
}
