/* SPDX-License-Identifier: Apache-2.0 */
/* attach/study: see study.h. */
#include "attach/study.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/allocators.h"
#include "target/target.h"

#define LOOK_MAX 8 /* findings per call: events and requests wait meanwhile */

/* The most that a refill provides: with a smaller interval, refills are too coarse. */
#define REFILL_FROM ALYS_REFILL_SPAN

struct study {
	const struct handles *h;
	uint32_t families;
	struct study_ops ops;
	struct examinations *files;
};

static bool open_module(void *ctx, struct module_id module, int *fd, const char **path)
{
	const struct handles *h = ((const struct study *)ctx)->h;
	const struct module *m = catalog_module(h->catalog, module);
	*fd = m ? target_module_fd(h->targets, module) : -1;
	*path = m ? m->path : NULL;
	return *fd >= 0;
}

/* Functions that the user names are wanted whatever else is. */
static uint32_t with_own(uint32_t families)
{
	return families && own_cnt() ? families | 1u << ALLOC_OWN : families;
}

struct study *study_new(const struct handles *h, uint32_t families, const struct study_ops *ops, struct err *err)
{
	struct study *s = calloc(1, sizeof(*s));
	const struct examinations_ops open = { .ctx = s, .open = open_module };
	if (!s) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	own_use(&h->o->own);
	*s = (struct study){ .h = h, .families = with_own(families), .ops = *ops, .files = examinations_new(&open, err) };
	if (s->files)
		return s;
	free(s);
	return NULL;
}

void study_free(struct study *s)
{
	if (!s)
		return;
	examinations_free(s->files);
	free(s);
}

bool study_wants_counted(const struct study *s)
{
	return s->families && !(s->families & ~(1u << ALLOC_LIBGC | 1u << ALLOC_BEAM));
}

bool study_comes_first(const char *path)
{
	return alloc_family_of_file(path) >= 0;
}

struct elf *study_outline(struct study *s, int fd, const char *path)
{
	return examinations_outline(s->files, fd, path);
}

bool study_starts_programs(struct study *s, int fd, const char *path)
{
	const struct examination e = { .fd = fd, .path = path, .ask = { .parts = FINDINGS_START } };
	struct findings f;
	examinations_now(s->files, &e, &f);
	bool yes = f.starts_programs;
	findings_free(&f);
	return yes;
}

static void pass_findings(struct study *s, struct findings *f)
{
	s->ops.found(s->ops.ctx, f);
	findings_free(f);
}

static struct findings refused(const struct module *m, uint32_t parts)
{
	struct findings f = { .module = m->id, .asked = parts };
	err_set(&f.failed, ENOBUFS, "not examined: too many files of its user are waiting");
	return f;
}

/*
 * Sample at refills, in files that have them? A refill knows only the size of blocks, not whether a request was smaller
 * than --min-size.
 */
static bool wants_refill(const struct record_options *o)
{
	if (!o->interval || o->return_probes || o->sample_at == SAMPLE_AT_CALL)
		return false;
	return o->sample_at == SAMPLE_AT_REFILL || (o->interval >= REFILL_FROM && !o->min_size);
}

static struct examination examination_of(const struct study *s, const struct module *m, int fd, uint32_t parts)
{
	return (struct examination){
		.module = m->id,
		.fd = fd,
		.path = m->path,
		.ask = { .parts = parts,
			 .families = s->families,
			 .refill = wants_refill(s->h->o),
			 .at_entry = s->h->o->walk == ALYS_WALK_KERNEL || s->h->o->return_probes,
			 .functions = { s->h->o->calls, s->h->o->calls_limit } },
		.first = study_comes_first(m->path),
	};
}

void study_now(struct study *s, const struct module *m, int fd, uint32_t parts)
{
	const struct examination e = examination_of(s, m, fd, parts);
	struct findings f;
	examinations_now(s->files, &e, &f);
	pass_findings(s, &f);
}

void study_file(struct study *s, const struct module *m, int fd, uint32_t parts)
{
	const struct examination e = examination_of(s, m, fd, parts);
	if (s->h->held || (!s->h->flowing && !s->h->select)) {
		study_now(s, m, fd, parts);
	} else if (examinations_ask(s->files, &e)) {
		struct findings f = refused(m, parts);
		pass_findings(s, &f);
	}
}

void study_look(struct study *s)
{
	struct findings f;
	for (int i = 0; i < LOOK_MAX && examinations_take(s->files, &f); i++)
		pass_findings(s, &f);
}

int study_fd(const struct study *s)
{
	return examinations_fd(s->files);
}

struct examinations_counts study_counts(const struct study *s)
{
	struct examinations_counts n;
	examinations_counts(s->files, &n);
	return n;
}

bool study_is_reading(const struct study *s)
{
	return examinations_are_busy(s->files);
}

bool study_is_busy(const struct study *s)
{
	return study_counts(s).waiting || study_is_reading(s);
}

void study_set_room(struct study *s, uint64_t bytes)
{
	examinations_set_room(s->files, bytes);
}
