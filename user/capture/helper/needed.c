/* SPDX-License-Identifier: Apache-2.0 */
/* helper/needed: see needed.h. */
#include "helper/needed.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "elf/elf.h"

static const char *const places[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/usr/local/lib/x86_64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
};

int needed_find(const struct needed *n, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (size_t i = 0; i < n->cnt; i++) {
		if (!strcmp(n->at[i].name, name))
			return n->at[i].fd;
	}
	return -1;
}

static void open_one(struct needed *n, const char *name)
{
	char path[128];
	int fd = -1;
	if (!*name || strchr(name, '/') || strlen(name) >= sizeof(n->at[0].name) || n->cnt == NEEDED_MAX ||
	    needed_find(n, name) >= 0)
		return;
	for (size_t i = 0; fd < 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", places[i], name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return;
	strcpy(n->at[n->cnt].name, name);
	n->at[n->cnt++].fd = fd;
}

static void open_direct(struct needed *n, int library)
{
	struct elf *e = elf_open(library, "", NULL);
	size_t size = 0, names_sz = 0;
	uint64_t vaddr;
	const uint8_t *at = e ? elf_section(e, ".dynamic", &size, &vaddr) : NULL;
	const char *names = at ? (const char *)elf_section(e, ".dynstr", &names_sz, &vaddr) : NULL;
	for (Elf64_Dyn d; names && size >= sizeof(d); at += sizeof(d), size -= sizeof(d)) {
		memcpy(&d, at, sizeof(d));
		if (d.d_tag == DT_NEEDED && d.d_un.d_val < names_sz && memchr(names + d.d_un.d_val, 0, names_sz - d.d_un.d_val))
			open_one(n, names + d.d_un.d_val);
	}
	elf_close(e);
}

void needed_open(struct needed *n, int library)
{
	n->cnt = 0;
	open_direct(n, library);
	for (size_t i = 0; i < n->cnt; i++)
		open_direct(n, n->at[i].fd);
}
