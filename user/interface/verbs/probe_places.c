/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/probe_places: see probe_places.h. */
#include "verbs/probe_places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "calibrate/results.h"
#include "examine/examination.h"
#include "target/target.h"

struct listing {
	struct examinations *examinations;
	struct buf *out;
};

static struct elf *outline(void *ctx, int fd, const char *path)
{
	const struct listing *l = ctx;
	return examinations_outline(l->examinations, fd, path);
}

/* If calibration found wrong results, refill sites are not used either. */
static void list_sites(struct findings *f, struct calibration_result *v, struct buf *out)
{
	sites_print(v->said.outcome == CALIBRATION_WRONG ? &v->plain : &f->sites.calls, out);
	if (v->said.outcome == CALIBRATION_AGREED)
		sites_use_whole(&f->sites.list, true);
	if (v->said.outcome != CALIBRATION_WRONG)
		sites_print_refills(&f->sites.calls, &f->sites.list, out);
}

/* As a recording would: places of whole calls are used if they agree. */
static void calibrate_findings(struct listing *l, const struct examination *e, struct findings *f, struct calibration_result *v)
{
	bool exits = calibrate_wanted(&f->sites.calls, PROBE_RETURNS_PLAIN);
	struct calibration_request o = { .module = e->module, .fd = e->fd };
	if (!exits && !sites_have_whole(&f->sites.calls, true))
		return;
	sites_use_whole(&f->sites.calls, true);
	o.calls = f->sites.calls;
	o.plain = f->sites.plain;
	calibration_now(&o, v);
	f->sites.calls = o.calls;
	f->sites.plain = o.plain;
	if (v->said.outcome == CALIBRATION_UNPROVEN) {
		findings_free(f);
		examinations_now(l->examinations, e, f);
	}
	calibration_text(&v->said, l->out);
	bool compares = exits && v->said.outcome == CALIBRATION_UNPROVEN;
	buf_addf(l->out, "%s\n", compares ? "; a recording compares the first thousand calls" : "");
}

static void list_findings(struct listing *l, const struct examination *e, struct findings *f)
{
	struct calibration_result v = { 0 };
	calibrate_findings(l, e, f, &v);
	list_sites(f, &v, l->out);
	sites_free(&v.plain);
}

/* Probes that the file defines: only asked for on their own. */
static void list_noted(struct listing *l, const struct module *m, int fd)
{
	const struct examination e = {
		.module = m->id, .fd = fd, .path = m->path, .ask = { .parts = FINDINGS_SITES, .families = 1u << ALLOC_USDT }
	};
	struct findings f;
	examinations_now(l->examinations, &e, &f);
	if (f.sites.calls.sites_cnt) {
		text_clean(l->out, m->path, SIZE_MAX);
		buf_adds(l->out, "\n");
		sites_print(&f.sites.calls, l->out);
	}
	findings_free(&f);
}

static void list_module(void *ctx, const struct proc *p, const struct module *m, int fd)
{
	struct listing *l = ctx;
	const struct examination e = {
		.module = m->id, .fd = fd, .path = m->path, .ask = { .parts = FINDINGS_SITES, .refill = true }
	};
	struct findings f;
	(void)p;
	examinations_now(l->examinations, &e, &f);
	const struct err *err = f.failed.code ? &f.failed : &f.sites.err;
	bool told = f.sites.calls.sites_cnt || (err->code && err->code != ENOEXEC);
	if (told) {
		text_clean(l->out, m->path, SIZE_MAX);
		buf_adds(l->out, "\n");
	}
	if (told && err->code)
		buf_addf(l->out, "not probed: %s\n", err->text);
	else if (told)
		list_findings(l, &e, &f);
	findings_free(&f);
	list_noted(l, m, fd);
}

static void ignore_proc(void *ctx, const struct proc *p)
{
	(void)ctx, (void)p;
}

static void ignore_maps(void *ctx, const struct proc *p)
{
	(void)ctx, (void)p;
}

static void ignore_mapping(void *ctx, const struct mapping *map, const struct module *m)
{
	(void)ctx, (void)map, (void)m;
}

static void ignore_translated(void *ctx, const struct proc *p, const char *name)
{
	(void)ctx, (void)p, (void)name;
}

static int list_process(struct listing *l, uint32_t tgid, struct err *err)
{
	struct target_ops ops = {
		.ctx = l,
		.outline = outline,
		.on_module = list_module,
		.on_proc = ignore_proc,
		.on_mapping = ignore_mapping,
		.on_maps = ignore_maps,
		.on_translated = ignore_translated,
	};
	struct catalog *c = catalog_new();
	struct target_table *t = c ? target_new(c, &ops) : NULL;
	int rc = t ? 0 : err_set(err, ENOMEM, "out of memory");
	struct proc_id id = { 0 };
	if (!rc) {
		id = target_add(t, tgid, id, err);
		rc = id.n ? target_read_maps(t, id, UINT64_MAX, err) : -err->code;
	}
	if (!rc && !l->out->len)
		rc = err_set(err, ENOENT, "no allocator found in the files of process %u", tgid);
	target_free(t);
	catalog_free(c);
	return rc;
}

int places_list(uint32_t tgid, struct buf *out, struct err *err)
{
	struct listing l = { .out = out, .examinations = examinations_new(NULL, err) };
	int rc = l.examinations ? list_process(&l, tgid, err) : -err->code;
	examinations_free(l.examinations);
	return rc;
}
