/* SPDX-License-Identifier: Apache-2.0 */
/* probe/link: see link.h. */
#include "probe/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "access/rights.h"
#include "base/vec.h"
#include "kernel/perf_link.h"
#include "probe/detaching.h"
#include "probe/stayers.h"
#include "sandbox/caps.h"

int batch_add(struct batch *b, uint64_t offset, uint64_t cookie)
{
	uint64_t *o = VEC_PUSH(b, offsets), *c = VEC_PUSH(b, cookies);
	if (!o || !c)
		return -ENOMEM;
	*o = offset;
	*c = cookie;
	return 0;
}

int batch_add_counted(struct batch *b, uint64_t offset, uint64_t cookie, uint64_t counter)
{
	uint64_t *at = VEC_PUSH(b, counters);
	if (!at)
		return -ENOMEM;
	*at = counter;
	return batch_add(b, offset, cookie);
}

void batch_free(struct batch *b)
{
	free(b->counters);
	free(b->offsets);
	free(b->cookies);
	*b = (struct batch){ 0 };
}

static int refused(int code, const char *path, struct err *err)
{
	if (code == EPERM || code == EACCES)
		return err_set(err, code, "not allowed to probe %s: %s", path, caps_advice());
	if (code == ESRCH)
		return err_set(err, code, "the process ended before it could be probed");
	if (code == ESTALE)
		return err_set(err, code, "the process no longer maps this file");
	return err_set(err, code, "cannot probe %s: %s", path, strerror(code));
}

/* A link for windows is made even between windows, to find out now whether it can be, and detached again unless it lingers. */
static int add_multi(const struct batch *b, struct probe *p, const struct rights_link *l, struct reattach *reattach)
{
	struct attachment *a = VEC_PUSH(p, attachments);
	if (!a)
		return -ENOMEM;
	*a = (struct attachment){ .tgid = l->tgid,
				  .trial = b->trial,
				  .not_allocator = b->not_allocator,
				  .file = probe_file_of(l->file_fd),
				  .fd = rights_link(l),
				  .stay_fd = -1 };
	if (a->fd < 0) {
		p->attachments_cnt--;
		return a->fd;
	}
	if (reattach && p->windows_detached && !b->lingers) {
		detaching_put(a, 1);
		a->fd = -1;
	}
	a->reattach = reattach;
	a->lingers = b->lingers;
	a->gc_calls = b->gc_calls;
	return 0;
}

static int attach_multi(const struct batch *b, struct probe *p, uint32_t tgid, int file_fd, const char *path, struct err *err)
{
	const struct rights_link l = {
		.prog_fd = bpf_program__fd(b->prog),
		.file_fd = file_fd,
		.attach_type = b->session ? ATTACH_UPROBE_SESSION : ATTACH_UPROBE_MULTI,
		.flags = b->at_return ? MULTI_RETURN : 0,
		.tgid = tgid,
		.cnt = (uint32_t)b->offsets_cnt,
		.offsets = b->offsets,
		.cookies = b->cookies,
		.counters = b->counters,
	};
	struct reattach *reattach = b->window ? reattach_new(&l) : NULL;
	if (b->window && !reattach)
		return err_set(err, ENOMEM, "out of memory");
	pthread_mutex_lock(&p->lock);
	int rc = add_multi(b, p, &l, reattach);
	pthread_mutex_unlock(&p->lock);
	if (!rc)
		return 0;
	reattach_free(reattach);
	return rc == -ENOMEM ? err_set(err, ENOMEM, "out of memory") : refused(-rc, path, err);
}

static int attach_perf(const struct batch *b, struct probe *p, uint32_t tgid, int file_fd, const char *path, struct err *err)
{
	for (size_t i = 0; i < b->offsets_cnt; i++) {
		const struct perf_site s = {
			.prog_fd = bpf_program__fd(b->prog),
			.file_fd = file_fd,
			.tgid = tgid,
			.at_return = b->at_return,
			.offset = b->offsets[i],
			.cookie = b->cookies[i],
			.counter = b->counters ? b->counters[i] : 0,
		};
		struct attachment *a = VEC_PUSH(p, attachments);
		if (!a)
			return err_set(err, ENOMEM, "out of memory");
		a->tgid = tgid;
		a->trial = b->trial;
		a->not_allocator = b->not_allocator;
		a->file = probe_file_of(file_fd);
		a->stay_fd = -1;
		a->fd = perf_link_open(&s);
		if (a->fd >= 0)
			continue;
		int code = -a->fd;
		p->attachments_cnt--;
		return refused(code, path, err);
	}
	return 0;
}

int batch_attach(const struct batch *b, struct probe *p, uint32_t tgid, int file_fd, struct err *err)
{
	/* Through our own descriptor: the file's name may be gone, replaced, or of another namespace. */
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), file_fd);
	if (!b->offsets_cnt)
		return 0;
	return p->tier == PROBE_TIER_PERF ? attach_perf(b, p, tgid, file_fd, path, err)
					  : attach_multi(b, p, tgid, file_fd, path, err);
}

/* Which attachments; 0 and NULL match any. */
struct chosen {
	uint32_t tgid, trial;
	const struct probe_file *file;
	bool allocators; /* only those */
};

static bool is_of(const struct attachment *a, const struct chosen *c)
{
	return (!c->tgid || a->tgid == c->tgid) && (!c->trial || a->trial == c->trial) &&
	       (!c->file || probe_file_same(a->file, *c->file)) && !(c->allocators && a->not_allocator);
}

bool is_attached(const struct probe *p, uint32_t tgid, struct probe_file file)
{
	const struct chosen c = { .tgid = tgid, .file = &file, .allocators = true };
	for (size_t i = 0; i < p->attachments_cnt; i++) {
		if (is_of(&p->attachments[i], &c))
			return true;
	}
	return false;
}

static void detach(struct probe *p, const struct chosen *c)
{
	size_t kept = 0;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->attachments_cnt; i++) {
		struct attachment a = p->attachments[i];
		if (is_of(&a, c)) {
			stayers_leave(&p->attachments[i]);
			reattach_free(a.reattach);
			p->attachments[i].reattach = NULL;
			continue;
		}
		p->attachments[i] = p->attachments[kept];
		p->attachments[kept++] = a;
	}
	detaching_put(p->attachments + kept, p->attachments_cnt - kept);
	p->attachments_cnt = kept;
	pthread_mutex_unlock(&p->lock);
}

/* Forgets files whose probes are detached: no program can use their numbers any more. */
static void forget_left(struct probe *p)
{
	for (size_t i = p->files.list_cnt; i--;) {
		struct probed_file *file = p->files.list[i];
		if (file->detaching && !detaching_holds(file->id, 0))
			files_forget(&p->files, file);
	}
}

struct probed_file *file_prepare(struct probe *p, struct probe_file id, uint32_t tgid)
{
	const struct probed_file *known = files_find(&p->files, id);
	detaching_await_of(id, known && known->detaching ? 0 : tgid);
	forget_left(p);
	return files_put(&p->files, id);
}

bool files_await(struct probe *p)
{
	size_t before = p->files.list_cnt;
	detaching_await();
	forget_left(p);
	return p->files.list_cnt < before;
}

void probe_detach_file(struct probe *p, struct probe_file id)
{
	struct probed_file *file = files_find(&p->files, id);
	if (!file)
		return;
	file->detaching = true;
	detach(p, &(struct chosen){ .file = &id });
}

void probe_detach(struct probe *p, uint32_t tgid)
{
	detach(p, &(struct chosen){ .tgid = tgid });
	if (tgid)
		return;
	for (size_t i = 0; i < p->files.list_cnt; i++)
		p->files.list[i]->attached = p->files.list[i]->watched = p->files.list[i]->linked = p->files.list[i]->entered =
			false;
	probe_await_detached();
}

void probe_await_detached(void)
{
	detaching_await();
}

void detach_of(struct probe *p, uint32_t tgid, struct probe_file file)
{
	detach(p, &(struct chosen){ .tgid = tgid, .file = &file, .allocators = true });
}

void detach_trial(struct probe *p, uint32_t trial)
{
	detach(p, &(struct chosen){ .trial = trial });
}
