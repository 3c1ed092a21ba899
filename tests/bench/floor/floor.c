/*
 * Attaches empty programs to the very sites that alys-bpf would probe: `floor PID`. Prints "ready", holds them
 * until stdin ends. Needs a kernel with uprobe.session.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "floor.skel.h"
#include "probe/link.h"
#include "probe/sites.h"

static struct probe here = { .tier = PROBE_TIER_SESSION };

static int attach_file(struct floor_bpf *skel, uint32_t pid, int fd, const char *path)
{
	struct err err = { 0 };
	struct site_list l;
	struct sites_options o = { .cheap_exits = true };
	struct batch session = { .prog = skel->progs.empty_session, .session = true };
	struct batch entry = { .prog = skel->progs.empty_entry };
	struct elf *e = elf_open(fd, path, &err);
	if (!e || sites_find(e, path, &o, &l, &err))
		return -1;
	bool used[4096] = { false };
	for (size_t i = 0; i < l.sites_cnt; i++) {
		const struct site *s = &l.sites[i];
		const uint32_t *exits;
		size_t n = sites_exits(s, true, &exits);
		if (s->state != SITE_PROBED)
			continue;
		batch_add(s->return_probe ? &session : &entry, s->offset, 0);
		for (size_t k = 0; k < n && !s->return_probe; k++) {
			if (!used[exits[k]])
				batch_add(&entry, l.exits[exits[k]].offset, 0);
			used[exits[k]] = true;
		}
	}
	return batch_attach(&session, &here, pid, fd, &err) || batch_attach(&entry, &here, pid, fd, &err) ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct floor_bpf *skel = floor_bpf__open();
	char line[512], maps[64], path[512];
	if (!skel || argc < 2)
		return 1;
	bpf_program__set_expected_attach_type(skel->progs.empty_session, ATTACH_UPROBE_SESSION);
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
			attach_file(skel, (uint32_t)atoi(argv[1]), fd, path);
	}
	printf("ready\n");
	fflush(stdout);
	while (read(0, line, sizeof(line)) > 0)
		;
	return 0;
}
