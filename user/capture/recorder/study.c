/* recorder/study: see study.h. */
#include "recorder/study.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "recorder/attach.h"
#include "recorder/rows.h"

#define LOOK_MAX 8             /* findings at a time: events and requests wait meanwhile */
#define RENEW_NS 100000000ull

static bool open_module(void *ctx, struct module_id module, int *fd, const char **path)
{
	const struct live *l = ctx;
	const struct module *m = catalog_module(l->h.catalog, module);
	*fd = m ? target_module_fd(l->h.targets, module) : -1;
	*path = m ? m->path : NULL;
	return *fd >= 0;
}

int study_open(struct live *l, struct err *err)
{
	const struct examinations_ops ops = { .ctx = l, .open = open_module };
	l->examinations = examinations_new(&ops, err);
	return l->examinations ? 0 : -err->code;
}

void study_close(struct live *l)
{
	examinations_free(l->examinations);
	map_free(&l->unlisted);
}

bool study_comes_first(const char *path)
{
	static const char *const names[] = {
		"/libc.", "/libc-", "/libstdc++.", "/libgc.", "/libjemalloc.", "/libtcmalloc", "/libmimalloc.", "/ld-",
	};
	const char *name = path ? strrchr(path, '/') : NULL;
	bool known = false;
	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		known |= !strncmp(name, names[i], strlen(names[i]));
	return known;
}

struct elf *study_outline(struct live *l, int fd, const char *path)
{
	return examinations_outline(l->examinations, fd, path);
}

bool study_starts_programs(struct live *l, int fd, const char *path)
{
	const struct examination e = { .fd = fd, .path = path, .ask = { .parts = FINDINGS_START } };
	struct findings f;
	examinations_now(l->examinations, &e, &f);
	bool yes = f.starts_programs;
	findings_free(&f);
	return yes;
}

/* A process has a list of all its mappings, so that many files at once are to cost one new list. */
static void renew(struct live *l)
{
	if (l->unlisted.count)
		rows_renew(l, &l->unlisted);
	map_free(&l->unlisted);
	l->unlisted = (struct map){ 0 };
	l->renewed_ns = now_ns();
}

/* Rows first: what probes show from their first moment on is walked by them. */
static void hand_on(struct live *l, struct findings *f)
{
	if (f->asked & FINDINGS_ROWS)
		rows_found(l, f);
	bool noted = f->asked & FINDINGS_ROWS && l->flowing && map_put(&l->unlisted, f->module.n);
	if (noted && f->sites.list.sites_cnt)
		renew(l);
	if (f->asked & FINDINGS_SITES)
		attach_found(l, f);
	findings_free(f);
}

static struct findings refused(const struct module *m, uint32_t parts)
{
	struct findings f = { .module = m->id, .asked = parts };
	err_set(&f.failed, ENOBUFS, "it is not looked into: too many files of its user wait for that");
	return f;
}

static struct examination examination_of(const struct live *l, const struct module *m, int fd, uint32_t parts)
{
	return (struct examination){
		.module = m->id, .fd = fd, .path = m->path,
		.ask = { .parts = parts, .families = l->families, .refill = attach_wants_refill(l->h.o) },
		.first = study_comes_first(m->path),
	};
}

void study_now(struct live *l, const struct module *m, int fd, uint32_t parts)
{
	const struct examination e = examination_of(l, m, fd, parts);
	struct findings f;
	examinations_now(l->examinations, &e, &f);
	hand_on(l, &f);
}

void study_file(struct live *l, const struct module *m, int fd, uint32_t parts)
{
	const struct examination e = examination_of(l, m, fd, parts);
	if (l->held || (!l->flowing && !l->h.select)) {
		study_now(l, m, fd, parts);
	} else if (examinations_ask(l->examinations, &e)) {
		struct findings f = refused(m, parts);
		hand_on(l, &f);
	}
}

void study_look(struct live *l)
{
	struct findings f;
	for (int i = 0; i < LOOK_MAX && examinations_take(l->examinations, &f); i++)
		hand_on(l, &f);
	if (l->unlisted.count && (!study_is_busy(l) || now_ns() - l->renewed_ns >= RENEW_NS))
		renew(l);
}

int study_fd(const struct live *l)
{
	return examinations_fd(l->examinations);
}

bool study_is_busy(const struct live *l)
{
	struct examinations_counts n;
	examinations_counts(l->examinations, &n);
	return n.waiting || examinations_are_busy(l->examinations);
}
