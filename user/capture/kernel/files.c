/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/files: see files.h. */
#include "kernel/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

int files_init(struct files *f)
{
	int rc = numbers_init(&f->objects, ALYS_MAX_OBJECTS);
	return rc ? rc : numbers_init(&f->sites, ALYS_MAX_SITES);
}

static void set_free(struct site_set *d)
{
	free(d->places);
	free(d);
}

static void file_free(struct probed_file *file)
{
	for (size_t i = 0; i < file->sets_cnt; i++)
		set_free(file->sets[i]);
	free(file->sets);
	free(file->gc_places);
	free(file->alike);
	free(file);
}

void files_free(struct files *f)
{
	for (size_t i = 0; i < f->list_cnt; i++)
		file_free(f->list[i]);
	free(f->list);
	numbers_free(&f->objects);
	numbers_free(&f->sites);
	*f = (struct files){ 0 };
}

struct probed_file *files_find(const struct files *f, struct probe_file id)
{
	for (size_t i = 0; i < f->list_cnt; i++) {
		if (probe_file_same(f->list[i]->id, id))
			return f->list[i];
	}
	return NULL;
}

struct probed_file *files_put(struct files *f, struct probe_file id)
{
	struct probed_file *file = files_find(f, id);
	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	struct probed_file **slot = file ? VEC_PUSH(f, list) : NULL;
	if (!slot) {
		free(file);
		return NULL;
	}
	file->id = id;
	return *slot = file;
}

static struct site_set *known_set(const struct probed_file *file, const struct site_set *like)
{
	for (size_t i = 0; i < file->sets_cnt; i++) {
		struct site_set *d = file->sets[i];
		if (d->returns == like->returns && d->trial == like->trial && d->digest == like->digest && !d->ended)
			return d;
	}
	return NULL;
}

struct site_set *files_put_set(struct files *f, struct probed_file *file, const struct site_set *like, bool *made, int *rc)
{
	struct site_set *d = known_set(file, like);
	*made = !d;
	*rc = 0;
	if (d)
		return d;
	d = calloc(1, sizeof(*d));
	struct site_set **slot = d ? VEC_PUSH(file, sets) : NULL;
	if (slot) {
		*d = *like;
		*rc = numbers_take(&f->objects, &d->object);
		file->sets_cnt -= *rc != 0;
	} else {
		*rc = -ENOMEM;
	}
	if (!*rc)
		return *slot = d;
	free(d);
	return NULL;
}

int files_place(struct files *f, struct site_set *d, size_t i, uint32_t *out)
{
	if (i < d->places_cnt) {
		*out = d->places[i];
		return 0;
	}
	uint32_t *slot = VEC_PUSH(d, places);
	if (!slot)
		return -ENOMEM;
	int rc = numbers_take(&f->sites, slot);
	d->places_cnt -= rc != 0;
	*out = rc ? 0 : *slot;
	return rc;
}

static bool has_gc_place(const struct probed_file *file, uint32_t number)
{
	for (size_t i = 0; i < file->gc_places_cnt; i++) {
		if (file->gc_places[i] == number)
			return true;
	}
	return false;
}

/* Addresses are relative to the file, so equal descriptions can be shared between files. */
static uint32_t find_gc_site(const struct files *f, const struct alys_gc_site *site)
{
	uint32_t unused = ALYS_MAX_GC_SITES;
	for (uint32_t i = 0; i < ALYS_MAX_GC_SITES; i++) {
		if (f->gc_users[i] && !memcmp(&f->gc_sites[i], site, sizeof(*site)))
			return i;
		if (!f->gc_users[i] && unused == ALYS_MAX_GC_SITES)
			unused = i;
	}
	return unused;
}

int files_gc_place(struct files *f, struct probed_file *file, const struct alys_gc_site *site, uint32_t *out, bool *made)
{
	uint32_t number = find_gc_site(f, site);
	if (number == ALYS_MAX_GC_SITES)
		return -ENOSPC;
	*made = !f->gc_users[number];
	*out = number;
	if (has_gc_place(file, number))
		return 0;
	uint32_t *slot = VEC_PUSH(file, gc_places);
	if (!slot)
		return -ENOMEM;
	*slot = number;
	f->gc_users[number]++;
	f->gc_sites[number] = *site;
	return 0;
}

struct site_set *files_set_of(const struct files *f, uint32_t object)
{
	for (size_t i = 0; i < f->list_cnt; i++) {
		for (size_t k = 0; k < f->list[i]->sets_cnt; k++) {
			if (f->list[i]->sets[k]->object == object)
				return f->list[i]->sets[k];
		}
	}
	return NULL;
}

void files_forget(struct files *f, struct probed_file *file)
{
	for (size_t i = 0; i < file->sets_cnt; i++) {
		const struct site_set *d = file->sets[i];
		for (size_t k = 0; k < d->places_cnt; k++)
			numbers_give(&f->sites, d->places[k]);
		numbers_give(&f->objects, d->object);
	}
	for (size_t i = 0; i < file->gc_places_cnt; i++)
		f->gc_users[file->gc_places[i]]--;
	for (size_t i = 0; i < f->list_cnt; i++) {
		if (f->list[i] == file)
			f->list[i] = f->list[--f->list_cnt];
	}
	file_free(file);
}

void files_serve(struct probed_file *file, struct probe_file id)
{
	if (probe_file_is_certain(file->id, id))
		return;
	for (size_t i = 0; i < file->alike_cnt; i++) {
		if (probe_file_is_certain(file->alike[i], id))
			return;
	}
	struct probe_file *slot = VEC_PUSH(file, alike);
	if (slot)
		*slot = id;
}

uint32_t files_alike(const struct files *f)
{
	size_t sum = 0;
	for (size_t i = 0; i < f->list_cnt; i++)
		sum += f->list[i]->alike_cnt;
	return (uint32_t)sum;
}

uint32_t files_sites(const struct files *f)
{
	size_t sum = 0;
	for (size_t i = 0; i < f->list_cnt; i++) {
		const struct probed_file *file = f->list[i];
		for (size_t k = 0; !file->detaching && k < file->sets_cnt; k++)
			sum += file->sets[k]->places_cnt;
	}
	return (uint32_t)sum;
}
