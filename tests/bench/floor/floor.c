/*
 * Attaches empty programs to the sites that alys-bpf would probe: `floor PID`; at the sites of refills
 * `floor PID refill`; for all processes, as when calls are sampled, `floor PID all`, or only at frees, without reallocs, `floor PID frees`.
 * Prints "ready", holds them until stdin ends. Needs a kernel with uprobe.session.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "floor.skel.h"
#include "sites/collections.h"
#include "probe/link.h"
#include "sites/sites.h"

static struct probe here = { .tier = PROBE_TIER_SESSION };

struct floor {
	struct floor_bpf *skel;
	uint32_t tgid; /* 0 = all */
	bool refill;
	bool frees;
	bool sampled; /* returns are skipped, as for nearly all calls when sampling */
};

static void add_calls(const struct floor *f, const struct site_list *l, struct batch *session, struct batch *entry)
{
	bool used[4096] = { false };
	for (size_t i = 0; i < l->sites_cnt; i++) {
		const struct site *s = &l->sites[i];
		const uint32_t *exits;
		size_t n = sites_exits(s, true, &exits);
		if (s->state != SITE_PROBED || (f->frees && s->row->shape != ALYS_SHAPE_FREE))
			continue;
		batch_add(s->return_probe ? session : entry, s->offset, 0);
		for (size_t k = 0; k < n && !s->return_probe; k++) {
			if (!used[exits[k]])
				batch_add(entry, l->exits[exits[k]].offset, 0);
			used[exits[k]] = true;
		}
	}
	for (size_t x = 0; x < l->exits_cnt && l->direct; x++) {
		if (l->exits[x].whole_call_of)
			batch_add(entry, l->exits[x].offset, 0);
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

static int attach_file(const struct floor *f, int fd, const char *path)
{
	struct err err = { 0 };
	struct site_list l;
	struct sites_options o = { .cheap_exits = true, .refill = f->refill };
	struct batch session = { .session = true };
	struct batch entry = { .prog = f->skel->progs.empty_entry };
	session.prog = f->sampled ? f->skel->progs.skipped_session : f->skel->progs.empty_session;
	struct elf *e = elf_open(fd, path, &err);
	if (!e || sites_find(e, path, &o, &l, &err))
		return -1;
	if (l.at == SAMPLE_AT_REFILL)
		sites_use_whole_exits(&l);
	add_calls(f, &l, &session, &entry);
	if (sites_collect(&l))
		add_collections(e, &entry);
	int rc = batch_attach(&session, &here, f->tgid, fd, &err);
	return rc ? rc : batch_attach(&entry, &here, f->tgid, fd, &err);
}

int main(int argc, char **argv)
{
	struct floor_bpf *skel = floor_bpf__open();
	struct floor floor = { .skel = skel };
	char line[512], maps[64], path[512];
	if (!skel || argc < 2)
		return 1;
	floor.frees = argc > 2 && !strcmp(argv[2], "frees");
	floor.sampled = floor.frees || (argc > 2 && !strcmp(argv[2], "all"));
	floor.tgid = floor.sampled ? 0 : (uint32_t)atoi(argv[1]);
	floor.refill = argc > 2 && !strcmp(argv[2], "refill");
	bpf_program__set_expected_attach_type(skel->progs.empty_session, ATTACH_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(skel->progs.skipped_session, ATTACH_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(skel->progs.empty_entry, ATTACH_UPROBE_MULTI);
	snprintf(maps, sizeof(maps), "/proc/%s/maps", argv[1]);
	FILE *f = fopen(maps, "r");
	if (floor_bpf__load(skel) || !f)
		return 1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s r-xp %*s %*s %*s %511s", path) != 1 || path[0] != '/')
			continue;
		int fd = open(path, O_RDONLY);
		if (fd >= 0)
			attach_file(&floor, fd, path);
	}
	printf("ready\n");
	fflush(stdout);
	while (read(0, line, sizeof(line)) > 0)
		;
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
