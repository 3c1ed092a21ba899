/* SPDX-License-Identifier: Apache-2.0 */
/* collector: see collector.h. */
#include "collector/collector.h"

#include <errno.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "boehm/detection.h"
#include "collector/place.h"
#include "collector/prove.h"

/* --- which file --------------------------------------------------------------------------------- */

struct functions {
	bool malloc, init;
};

static int note_function(void *ctx, const struct elf_symbol *s)
{
	struct functions *f = ctx;
	if (!s->defined || s->type != STT_FUNC || strncmp(s->name, "GC_", 3))
		return 0;
	f->malloc |= !strcmp(s->name, "GC_malloc") || !strcmp(s->name, "GC_malloc_kind");
	f->init |= !strcmp(s->name, "GC_init");
	return f->malloc && f->init;
}

static bool has_collector(const struct elf *e)
{
	struct functions f = { 0 };
	return elf_each_symbol(e, note_function, &f) != 0;
}

static bool seen_before(const struct space *s, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (s->regions[k].exec && s->regions[k].ino == s->regions[i].ino && s->regions[k].dev == s->regions[i].dev)
			return true;
	}
	return false;
}

/* The first mapped file whose symbols include a collector's. */
static const struct space_region *find_by_name(struct collector *c)
{
	for (size_t i = 0; i < c->space.regions_cnt; i++) {
		const struct space_region *r = &c->space.regions[i];
		if (!r->exec || !r->ino || seen_before(&c->space, i))
			continue;
		c->elf = place_file(c->memory.tgid, r, &c->fd);
		if (c->elf && has_collector(c->elf) && place_bias(c->elf, &c->space, r->dev, r->ino, &c->bias))
			return r;
		if (c->elf) {
			elf_close(c->elf);
			close(c->fd);
		}
		c->elf = NULL;
		c->fd = -1;
	}
	return NULL;
}

static const struct space_region *program_region(const struct collector *c)
{
	for (size_t i = 0; i < c->space.regions_cnt; i++) {
		const struct space_region *r = &c->space.regions[i];
		if (r->exec && r->ino && !strcmp(r->path, c->exe))
			return r;
	}
	return NULL;
}

struct elf *collector_program(const struct collector *c, int *fd, uint64_t *bias)
{
	const struct space_region *r = program_region(c);
	struct elf *e = r ? place_file(c->memory.tgid, r, fd) : NULL;
	if (e && !place_bias(e, &c->space, r->dev, r->ino, bias)) {
		elf_close(e);
		close(*fd);
		e = NULL;
	}
	*fd = e ? *fd : -1;
	return e;
}

/* --- opening ------------------------------------------------------------------------------------ */

static int no_collector(const struct collector *c, struct err *err)
{
	return err_set(err, ENOENT,
		       "process %u (%s) has no collector of Boehm's: no file mapped into it has GC_malloc among its symbols, and "
		       "its own data shows no block index",
		       c->memory.tgid, c->comm);
}

static int begin(struct collector *c, struct err *err)
{
	struct place p;
	int rc = place_begin(&c->memory, &c->space, &p, err);
	memcpy(c->comm, p.comm, sizeof(c->comm));
	memcpy(c->exe, p.exe, sizeof(c->exe));
	c->start_ns = p.start_ns;
	return rc;
}

static int find_layout(struct collector *c, const struct space_region *file, bool named, struct err *err)
{
	struct buf path = { 0 };
	text_clean(&path, file->path, 200);
	const struct detection_place at = { &c->space, c->elf, c->bias, buf_str(&path) };
	int rc = layout_find(&c->memory, &at, &c->layout, err);
	if (rc == -ENOTSUP && !named)
		rc = no_collector(c, err);
	else if (rc)
		err_wrap(err, "process %u (%s): %s", c->memory.tgid, c->comm, buf_str(&path));
	buf_free(&path);
	return rc;
}

static int find(struct collector *c, struct err *err)
{
	int rc = begin(c, err);
	if (rc)
		return rc;
	const struct space_region *file = find_by_name(c);
	bool named = file;
	/* Otherwise it may be linked statically into a stripped program. */
	if (!file)
		c->elf = collector_program(c, &c->fd, &c->bias);
	if (!c->elf)
		return no_collector(c, err);
	file = file ?: program_region(c);
	c->dev = file->dev;
	c->ino = file->ino;
	c->trust = COLLECTOR_STRUCTURAL;
	return find_layout(c, file, named, err);
}

int collector_find(struct collector *c, uint32_t tgid, struct err *err)
{
	*c = (struct collector){ .memory = { .tgid = tgid }, .fd = -1 };
	int rc = find(c, err);
	if (rc)
		collector_close(c);
	return rc;
}

int collector_prove(struct collector *c, struct err *err)
{
	const struct prove_file f = { c->elf, c->fd, c->dev, c->ino, &c->layout, c->bias };
	prove_layout(&f, &c->proof);
	c->trust = c->proof.outcome == CALIBRATION_AGREED ? COLLECTOR_PROVEN : COLLECTOR_STRUCTURAL;
	if (c->proof.outcome == CALIBRATION_WRONG)
		c->trust = COLLECTOR_WRONG;
	if (c->trust != COLLECTOR_WRONG)
		return 0;
	struct buf text = { 0 };
	prove_text(&c->proof, &text);
	int rc = err_set(err, ENOTSUP, "process %u (%s): the layout found in %s is rejected, %s", c->memory.tgid, c->comm,
			 c->layout.file, buf_str(&text));
	buf_free(&text);
	return rc;
}

int collector_open(struct collector *c, uint32_t tgid, struct err *err)
{
	int rc = collector_find(c, tgid, err);
	if (!rc)
		rc = collector_prove(c, err);
	if (rc)
		collector_close(c);
	return rc;
}

void collector_close(struct collector *c)
{
	space_free(&c->space);
	elf_close(c->elf);
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct collector){ .fd = -1 };
}

int collector_refresh(struct collector *c, struct err *err)
{
	struct space now;
	int rc = place_space(c->memory.tgid, &now, err);
	if (rc)
		return rc;
	space_free(&c->space);
	c->space = now;
	return 0;
}

int collector_read(struct collector *c, struct boehm_heap *out, struct err *err)
{
	int rc = boehm_heap_read(&c->memory, &c->layout, out, err);
	if (rc == -ESRCH)
		return err_set(err, ESRCH, "process %u (%s) ended while its heap was read", c->memory.tgid, c->comm);
	return rc ? err_wrap(err, "process %u (%s)", c->memory.tgid, c->comm) : 0;
}
