/* SPDX-License-Identifier: Apache-2.0 */
/* sites tests: the libraries under test, and a file opened with its sites. TEST_MACHINE is as in the names of Debian's folders. */
#ifndef ALYS_TEST_PROBE_SHOP_H
#define ALYS_TEST_PROBE_SHOP_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "finder/find.h"

#define LIB "/usr/lib/" TEST_MACHINE "-linux-gnu/"
#define GLIBC "/lib/" TEST_MACHINE "-linux-gnu/libc.so.6"
#define MUSL "/lib/ld-musl-" TEST_MACHINE ".so.1"
#define LIBGC LIB "libgc.so.1"
#define JEMALLOC LIB "libjemalloc.so.2"
#define TCMALLOC LIB "libtcmalloc_minimal.so.4"
#define MIMALLOC LIB "libmimalloc.so"
struct opened {
	int fd;
	struct elf *elf;
	struct site_list list;
};

static void open_sites(struct opened *o, const char *path, const struct sites_options *opts)
{
	struct err err = { 0 };
	o->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (o->fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	o->elf = elf_open(o->fd, path, &err);
	if (!o->elf || sites_find(o->elf, path, opts, &o->list, &err))
		fail_msg("%s", err.text);
}

static void close_sites(struct opened *o)
{
	sites_free(&o->list);
	elf_close(o->elf);
	close(o->fd);
}

static const struct site *site_named(const struct site_list *l, const char *symbol)
{
	for (size_t i = 0; i < l->sites_cnt; i++)
		if (!strcmp(l->sites[i].row->symbol, symbol))
			return &l->sites[i];
	return NULL;
}

#endif
