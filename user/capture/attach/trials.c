/* SPDX-License-Identifier: Apache-2.0 */
/* attach/trials: see trials.h. */
#include "attach/trials.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "calibrate/results.h"
#include "catalog/catalog.h"
#include "target/target.h"

/* Number of calls that must agree before cheap exits are trusted that no helper could calibrate. */
#define TRIAL_CALLS 1000
/*
 * A thread may be preempted between the two exits of a call, when it has passed the first one before that was probed.
 * It then ends the call at the second, however late.
 */
#define LEAVE_NS 1000000000ull

static const char *path_of(const struct trials *t, const struct file_sites *f)
{
	return catalog_module(t->h->catalog, f->module)->path;
}

/* Unproven files are attached on trial, together with the exits of their proof. */
int trials_attach(const struct trials *t, uint32_t tgid, struct file_sites *f, int fd, enum probe_returns returns,
		  struct err *err)
{
	struct probe_order o = { .tgid = tgid, .file_fd = fd, .sites = &f->list, .returns = returns };
	if (!f->unproven)
		return probe_attach(t->h->probe, &o, err);
	struct trial *one = VEC_PUSH(f, trials);
	if (!one)
		return err_set(err, ENOMEM, "out of memory");
	one->returns = returns;
	o.proof = &f->proof;
	int rc = probe_attach_on_trial(t->h->probe, &o, &one->at, err);
	f->trials_cnt -= rc || !one->at.number;
	return rc;
}

/* sites: the file's list if it was right, otherwise the plain sites, whose exits a trial has already probed. */
static void end(struct trials *t, const struct file_sites *f, const struct trial *one, const struct site_list *sites)
{
	struct err err = { 0 };
	const struct probe_order o = {
		.tgid = one->at.tgid,
		.file_fd = target_module_fd(t->h->targets, f->module),
		.sites = sites,
		.returns = one->returns,
	};
	if (probe_trial_end(t->h->probe, &one->at, &o, &err)) {
		log_warn("%s: %s", path_of(t, f), err.text);
		return;
	}
	struct ended_trial *e = VEC_PUSH(t, ended);
	if (e)
		*e = (struct ended_trial){ one->at.number, now_ns() };
	else
		probe_trial_detach(t->h->probe, one->at.number);
}

static void settle(struct trials *t, struct file_sites *f, bool right, struct site_list *plain)
{
	for (size_t i = 0; i < f->trials_cnt; i++)
		end(t, f, &f->trials[i], right ? &f->list : plain);
	f->unproven = false;
	if (!right) {
		sites_free(&f->list);
		f->list = sitecache_take_list(plain);
	}
	sitecache_end_trials(f, 0);
}

static void decide_trial(struct trials *t, struct file_sites *f, const struct probe_trial *decisive)
{
	bool right = !decisive->wrong;
	log_info("%s: %" PRIu64 " first calls agreed, %" PRIu64 " did not: results are read %s", path_of(t, f), decisive->agreed,
		 decisive->wrong, right ? "at cheap exits now" : "where functions return");
	settle(t, f, right, &f->proof);
}

/* One wrong call decides at once; without one, the calibration's result is awaited, too. */
void trials_check(struct trials *t, struct file_sites *f)
{
	for (size_t i = 0; i < f->trials_cnt; i++) {
		struct probe_trial *one = &f->trials[i].at;
		if (!probe_trial_read(t->h->probe, one) && (one->wrong || (one->agreed >= TRIAL_CALLS && !f->asked))) {
			decide_trial(t, f, one);
			return;
		}
	}
}

void trials_leave_ended(struct trials *t, uint64_t now_ns)
{
	size_t kept = 0;
	for (size_t i = 0; i < t->ended_cnt; i++) {
		if (now_ns - t->ended[i].since_ns < LEAVE_NS)
			t->ended[kept++] = t->ended[i];
		else
			probe_trial_detach(t->h->probe, t->ended[i].number);
	}
	t->ended_cnt = kept;
}

/* Uses the calibration's result, unless a trial was faster. */
static void use_calibration(struct trials *t, struct file_sites *f, struct calibration_result *v)
{
	struct buf text = { 0 };
	calibration_text(&v->said, &text);
	if (text.len)
		log_info("%s: %s", path_of(t, f), buf_str(&text));
	buf_free(&text);
	f->asked = false;
	/* A trial may have found the sites wrong meanwhile. */
	if ((f->unproven || f->whole) && v->said.outcome != CALIBRATION_UNPROVEN) {
		bool agreed = v->said.outcome == CALIBRATION_AGREED, untouched = !f->trials_cnt && !f->served;
		settle(t, f, agreed, &v->plain);
		/* This moves entries, so only if none is attached yet. */
		if (agreed && untouched && f->whole)
			sites_use_whole(&f->list, !t->h->o->interval);
	}
	sites_free(&v->plain);
}

struct file_sites *trials_take(struct trials *t, const struct site_cache *c)
{
	struct calibration_result v;
	while (t->calibrations && calibration_queue_take(t->calibrations, &v)) {
		struct file_sites *f = sitecache_find(c, v.module);
		if (f) {
			use_calibration(t, f, &v);
			return f;
		}
		sites_free(&v.plain); /* the file was dropped meanwhile */
	}
	return NULL;
}

static bool is_at_leisure(const struct trials *t)
{
	return !t->h->flowing || t->h->held;
}

/* Plain calls are not probed late for it. A collector's wait in any case. */
static bool has_time(const struct trials *t, const struct file_sites *f)
{
	return is_at_leisure(t) ? !t->calibrations : sites_collect(&f->list);
}

void trials_calibrate(struct trials *t, struct file_sites *f, int fd, bool exits, bool whole)
{
	f->whole = whole && !f->served && has_time(t, f);
	f->calibrated = exits || f->whole;
	f->unproven = exits;
	if (!f->calibrated)
		return;
	struct calibration_request o = {
		.module = f->module, .fd = fd, .calls = sitecache_take_list(&f->calls), .plain = sitecache_take_list(&f->plain)
	};
	struct calibration_result v;
	/* Refills are no calls: the sites that they share facts with are tried as they are. */
	if (f->whole && f->list.at == SAMPLE_AT_CALL)
		sites_use_whole(&o.calls, !t->h->o->interval);
	bool waiting = is_at_leisure(t);
	if (!waiting && !t->calibrations)
		t->calibrations = calibration_queue_new();
	f->asked = !waiting && t->calibrations && !calibration_queue_ask(t->calibrations, &o);
	if (f->asked)
		return;
	/* Not while the calibration thread may be running: helpers run one at a time. Then only trials decide. */
	if (!t->calibrations) {
		calibration_now(&o, &v);
		use_calibration(t, f, &v);
	}
	calibration_request_free(&o);
}

int trials_fd(const struct trials *t)
{
	return t->calibrations ? calibration_queue_fd(t->calibrations) : -1;
}

void trials_free(struct trials *t)
{
	calibration_queue_free(t->calibrations);
	t->calibrations = NULL;
	free(t->ended);
	t->ended = NULL;
	t->ended_cnt = t->ended_cap = 0;
}
