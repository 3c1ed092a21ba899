/* SPDX-License-Identifier: Apache-2.0 */
/* attach/sitecache: see sitecache.h. */
#include "attach/sitecache.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct file_sites *sitecache_find(const struct site_cache *c, struct module_id module)
{
	for (size_t i = 0; i < c->files_cnt; i++) {
		if (c->files[i].module.n == module.n)
			return &c->files[i];
	}
	return NULL;
}

struct file_sites *sitecache_add(struct site_cache *c, struct module_id module, int fd)
{
	struct file_sites *f = VEC_PUSH(c, files);
	if (f)
		*f = (struct file_sites){ .module = module, .file = probe_file_of(fd), .pending = true };
	return f;
}

struct site_list sitecache_take_list(struct site_list *l)
{
	struct site_list taken = *l;
	*l = (struct site_list){ 0 };
	return taken;
}

static size_t count_probed(const struct site_list *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->sites_cnt; i++)
		n += l->sites[i].state == SITE_PROBED;
	return n;
}

void sitecache_fill(struct file_sites *f, struct findings *found)
{
	f->pending = false;
	f->list = sitecache_take_list(&found->sites.list);
	f->proof = sitecache_take_list(&found->sites.proof);
	f->calls = sitecache_take_list(&found->sites.calls);
	f->plain = sitecache_take_list(&found->sites.plain);
	f->link_offset = found->sites.link_offset;
	f->probed = count_probed(&f->list);
	if (!f->probed || !sites_collect(&f->list))
		return;
	f->collections = found->sites.collections;
	found->sites.collections = (struct collection_sites){ 0 };
	f->unseen = found->sites.unseen;
}

static void file_free(struct file_sites *f)
{
	sites_free(&f->list);
	sites_free(&f->proof);
	sites_free(&f->calls);
	sites_free(&f->plain);
	free(f->trials);
	free(f->waiting);
	collections_free(&f->collections);
}

void sitecache_prune(struct site_cache *c, bool (*wanted)(void *ctx, struct module_id module),
		     void (*leave)(void *ctx, struct file_sites *f), void *ctx)
{
	size_t n = 0;
	for (size_t i = 0; i < c->files_cnt; i++) {
		struct file_sites *f = &c->files[i];
		if (wanted(ctx, f->module)) {
			c->files[n++] = *f;
			continue;
		}
		leave(ctx, f);
		file_free(f);
	}
	c->files_cnt = n;
}

void sitecache_free(struct site_cache *c)
{
	for (size_t i = 0; i < c->files_cnt; i++)
		file_free(&c->files[i]);
	free(c->files);
	map_free(&c->done);
	*c = (struct site_cache){ 0 };
}

static uint64_t done_key(uint32_t tgid, struct module_id module)
{
	return (uint64_t)tgid << 32 | module.n;
}

bool sitecache_do(struct site_cache *c, uint32_t tgid, struct module_id module)
{
	uint64_t *done = map_put(&c->done, done_key(tgid, module));
	bool fresh = done && !*done;
	if (fresh)
		*done = 1;
	return fresh;
}

void sitecache_undo(struct site_cache *c, uint32_t tgid, struct module_id module)
{
	map_del(&c->done, done_key(tgid, module));
}

/* Starts again after each deletion, because the table must not change during iteration; a file has few entries. */
void sitecache_undo_all(struct site_cache *c, struct module_id module)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&c->done, &i));) {
		if ((uint32_t)s->key != module.n)
			continue;
		map_del(&c->done, s->key);
		i = 0;
	}
}

bool sitecache_wait(struct file_sites *f, uint32_t pid)
{
	for (size_t i = 0; i < f->waiting_cnt; i++) {
		if (f->waiting[i] == pid)
			return true;
	}
	uint32_t *place = VEC_PUSH(f, waiting);
	if (place)
		*place = pid;
	return place;
}

bool sitecache_stop_waiting(struct file_sites *f, uint32_t pid)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->waiting_cnt; i++) {
		if (f->waiting[i] != pid)
			f->waiting[kept++] = f->waiting[i];
	}
	bool last = f->waiting_cnt && !kept;
	f->waiting_cnt = kept;
	return last;
}

void sitecache_end_trials(struct file_sites *f, uint32_t tgid)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->trials_cnt; i++) {
		if (tgid && f->trials[i].at.tgid != tgid)
			f->trials[kept++] = f->trials[i];
	}
	f->trials_cnt = kept;
}
