/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/arena_layout: see layout.h. */
#include "glibc/arena_layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MAX (64u << 20)
#define PIECE (256u << 10)
#define LOOKS 20    /* bins may change while they are read */
#define CHANGING 2  /* bins: a thread that does not run may be in the middle of taking a block out of one, or of putting one in */
#define EMPTY_MIN 8 /* bins that point to themselves */
#define VERSION_TEXT "GNU C Library"
#define RELEASE "release version 2."
/* A program that malloc is linked into need not name its version: this is said since 2.32, and the layout is the same since. */
#define SAYING "malloc(): unaligned tcache chunk detected"

uint32_t glibc_version(const struct elf *e)
{
	size_t n = 0;
	uint64_t vaddr;
	const uint8_t *text = elf_section(e, ".rodata", &n, &vaddr);
	const char *at = text ? memmem(text, n, VERSION_TEXT, strlen(VERSION_TEXT)) : NULL;
	char line[200] = "";
	unsigned minor = 0;
	if (!at)
		return text && memmem(text, n, SAYING, strlen(SAYING)) ? GLIBC_UNNAMED : 0;
	size_t left = (size_t)((const char *)text + n - at);
	memcpy(line, at, left < sizeof(line) - 1 ? left : sizeof(line) - 1);
	const char *release = strstr(line, RELEASE);
	return release && sscanf(release + strlen(RELEASE), "%u", &minor) == 1 ? minor : 0;
}

/* --- its data ------------------------------------------------------------------------------------- */

struct data { /* of the library, with what goes on behind it in memory of no file */
	uint64_t start;
	uint64_t *words;
	size_t cnt;
};

static bool is_data(const struct space_region *r, const struct space_region *file, uint64_t end)
{
	bool own = r->ino == file->ino && r->dev == file->dev;
	return r->readable && r->writable && !r->exec && (own || (!r->ino && !*r->path && r->start == end));
}

static int read_words(struct memory *m, struct data *d)
{
	for (size_t at = 0; at < d->cnt * 8; at += PIECE) {
		size_t n = d->cnt * 8 - at < PIECE ? d->cnt * 8 - at : PIECE;
		int rc = memory_read_ranges(m, &(struct rights_range){ d->start + at, n }, 1, (uint8_t *)d->words + at, NULL);
		if (rc)
			return rc;
	}
	return 0;
}

static int read_data(struct memory *m, const struct space_region *r, struct data *d)
{
	uint64_t n = r->end - r->start < DATA_MAX ? r->end - r->start : DATA_MAX;
	*d = (struct data){ .start = r->start, .cnt = n / 8, .words = malloc(n) };
	return d->words ? read_words(m, d) : -ENOMEM;
}

/* --- the main arena ------------------------------------------------------------------------------- */

/* Bins that are empty, of an arena whose bins may begin at word i; 0: they do not. */
static unsigned empty_bins(const struct data *d, size_t i)
{
	unsigned empty = 0, changing = 0;
	for (size_t k = 0; k < GLIBC_BINS; k++, i += 2) {
		uint64_t self = d->start + i * 8 - 16, fd = d->words[i], bk = d->words[i + 1];
		changing += (fd == self) != (bk == self);
		if (!fd || !bk || fd & 15 || bk & 15 || changing > CHANGING)
			return 0;
		empty += fd == self;
	}
	return empty;
}

/* The list of arenas leads back to the first. */
static bool is_circle(struct memory *m, const struct glibc_layout *l, uint64_t next)
{
	for (size_t n = 0; n < GLIBC_ARENAS_MAX; n++) {
		if (next == l->main_arena)
			return true;
		if (!next || next & 15 || memory_read(m, next + ARENA_NEXT(l), &next, 8))
			return false;
	}
	return false;
}

static bool is_arena(struct memory *m, const struct data *d, size_t i, struct glibc_layout *l)
{
	uint64_t bins = d->start + i * 8, system, most;
	/* Arenas are aligned, so where their bins begin shows which of the two layouts this is. */
	l->bins = bins % 16 ? 0x68 : 0x70;
	l->main_arena = bins - l->bins;
	size_t next = i + 0x800 / 8;
	if (i < l->bins / 8 || next + 4 >= d->cnt || empty_bins(d, i) < EMPTY_MIN)
		return false;
	system = d->words[next + 3];
	most = d->words[next + 4];
	return system && system <= most && d->words[i - 2] && is_circle(m, l, d->words[next]);
}

/* Of an arena that was never used all is zero but the pointer to the next one: itself. */
static bool is_unused(const struct data *d, size_t i)
{
	size_t words = 0x870 / 8;
	if (i + words >= d->cnt || d->words[i + words] != d->start + i * 8)
		return false;
	for (size_t k = 0; k < words; k++) {
		if (d->words[i + k])
			return false;
	}
	return true;
}

/* 1: it is there; 0; -ENODATA: unused. */
static int look_for_arena(struct memory *m, const struct data *d, struct glibc_layout *l)
{
	int rc = 0;
	for (size_t i = 0; i + 2 * GLIBC_BINS <= d->cnt; i++) {
		if (is_arena(m, d, i, l))
			return 1;
		if (!(i & 3) && is_unused(d, i))
			rc = -ENODATA;
	}
	return rc;
}

/* --- mmapped chunks: struct malloc_par -------------------------------------------------------------- */

/*
 * In front of where the heap begins stand the bytes of mmapped chunks, and the most that there ever were.
 * l->mapped_bytes is set if that place is there.
 */
static int look_for_mapped(struct memory *m, const struct data *d, struct glibc_layout *l)
{
	uint64_t top, system, head;
	int rc = memory_read(m, l->main_arena + ARENA_TOP(l), &top, 8);
	rc = rc ?: memory_read(m, l->main_arena + ARENA_SYSTEM(l), &system, 8);
	rc = rc ?: memory_read(m, top + 8, &head, 8);
	if (rc)
		return rc == -EFAULT ? 0 : rc;
	uint64_t begin = top + (head & ~7ull) - system;
	for (size_t i = 2; i < d->cnt; i++) {
		uint64_t mapped = d->words[i - 2], most = d->words[i - 1];
		if (d->words[i] == begin && mapped <= most && !(mapped & 4095) && !(most & 4095) && !l->mapped_bytes)
			l->mapped_bytes = d->start + (i - 2) * 8;
	}
	return 0;
}

static int look_in(struct memory *m, const struct space_region *r, struct glibc_layout *l, bool *unused)
{
	struct data d;
	int rc = read_data(m, r, &d);
	if (!rc && !l->main_arena) {
		struct glibc_layout found = *l;
		rc = look_for_arena(m, &d, &found);
		*l = rc == 1 ? found : *l;
		*unused |= rc == -ENODATA;
		rc = 0;
	}
	if (!rc && l->main_arena)
		rc = look_for_mapped(m, &d, l);
	free(d.words);
	return rc;
}

static int look_once(struct memory *m, const struct space *s, const struct space_region *file, struct glibc_layout *out,
		     bool *unused)
{
	uint64_t end = 0;
	int rc = 0;
	for (size_t i = 0; i < s->regions_cnt && !out->mapped_bytes && !rc; i++) {
		const struct space_region *r = &s->regions[i];
		if (!is_data(r, file, end))
			continue;
		end = r->end;
		rc = look_in(m, r, out, unused);
	}
	return rc;
}

int glibc_layout_find(struct memory *m, const struct space *s, const struct space_region *file, uint32_t version,
		      struct glibc_layout *out, struct err *err)
{
	bool unused = false;
	int rc = 0;
	*out = (struct glibc_layout){ .version = version };
	if (version < GLIBC_OLDEST || version > GLIBC_NEWEST)
		return err_set(err, ENOTSUP, "its malloc is of glibc 2.%u; versions 2.%u to 2.%u can be read", version,
			       GLIBC_OLDEST, GLIBC_NEWEST);
	for (int looks = 0; looks < LOOKS && !rc && !out->main_arena && !unused; looks++)
		rc = look_once(m, s, file, out, &unused);
	if (rc)
		return err_set(err, -rc, "its data cannot be read: %s", strerror(-rc));
	if (!out->main_arena && unused)
		return err_set(err, ENODATA, "it has not called malloc yet");
	return out->main_arena ? 0 : err_set(err, ENOTSUP, "no arena of glibc's malloc was found in its data");
}
