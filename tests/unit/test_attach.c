/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach: how a file is examined, and which probes it gets. The processes are this one and its children, which map the C
 * library; findings and the kernel's answers are mocks (tests/tests.mk wraps probe's functions).
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/attach.h"
#include "calibrate/results.h"
#include "probe/linker.h"
#include "sites/collections.h"
#include "target/target.h"

/* Requests to the kernel, and its answers. */
static struct {
	size_t attached, on_trial, ended, left, collections;
	uint32_t tgid;       /* of the last link */
	size_t functions;    /* in the last list */
	uint64_t ended_func; /* the first function of the list that a trial ended with */
	int refusal, collections_refusal;
	bool calibrates;
	enum calibration_outcome outcome;
	uint64_t agreed, wrong;
} kernel;

int __wrap_probe_attach(struct probe *p, const struct probe_order *o, struct err *err);
int __wrap_probe_attach(struct probe *p, const struct probe_order *o, struct err *err)
{
	(void)p;
	if (kernel.refusal)
		return err_set(err, kernel.refusal, "refused");
	kernel.attached++;
	kernel.tgid = o->tgid;
	kernel.functions = o->sites->sites_cnt;
	return 0;
}

int __wrap_probe_attach_on_trial(struct probe *p, const struct probe_order *o, struct probe_trial *out, struct err *err);
int __wrap_probe_attach_on_trial(struct probe *p, const struct probe_order *o, struct probe_trial *out, struct err *err)
{
	(void)p, (void)err;
	kernel.on_trial++;
	*out = (struct probe_trial){ .number = 1, .tgid = o->tgid };
	return 0;
}

int __wrap_probe_trial_read(const struct probe *p, struct probe_trial *t);
int __wrap_probe_trial_read(const struct probe *p, struct probe_trial *t)
{
	(void)p;
	t->agreed = kernel.agreed;
	t->wrong = kernel.wrong;
	return 0;
}

int __wrap_probe_trial_end(struct probe *p, const struct probe_trial *t, const struct probe_order *o, struct err *err);
int __wrap_probe_trial_end(struct probe *p, const struct probe_trial *t, const struct probe_order *o, struct err *err)
{
	(void)p, (void)t, (void)err;
	kernel.ended++;
	kernel.ended_func = o->sites->sites[0].func;
	return 0;
}

void __wrap_probe_detach_file(struct probe *p, struct probe_file file);
void __wrap_probe_detach_file(struct probe *p, struct probe_file file)
{
	(void)p, (void)file;
	kernel.left++;
}

void __wrap_probe_detach(struct probe *p, uint32_t tgid);
void __wrap_probe_detach(struct probe *p, uint32_t tgid)
{
	(void)p, (void)tgid;
}

bool __wrap_probe_returns_kill_seccomp(const struct probe *p);
bool __wrap_probe_returns_kill_seccomp(const struct probe *p)
{
	(void)p;
	return false;
}

int __wrap_probe_attach_collections(struct probe *p, uint32_t tgid, int file_fd, const struct collection_sites *c,
				    struct err *err);
int __wrap_probe_attach_collections(struct probe *p, uint32_t tgid, int file_fd, const struct collection_sites *c,
				    struct err *err)
{
	(void)p, (void)tgid, (void)file_fd, (void)c;
	kernel.collections++;
	return kernel.collections_refusal ? err_set(err, kernel.collections_refusal, "no room") : 0;
}

bool __wrap_calibrate_wanted(const struct site_list *l, enum probe_returns returns);
bool __wrap_calibrate_wanted(const struct site_list *l, enum probe_returns returns)
{
	(void)l, (void)returns;
	return kernel.calibrates;
}

static struct site_list list_of(uint64_t func, size_t n);

void __wrap_calibration_now(struct calibration_request *o, struct calibration_result *out);
void __wrap_calibration_now(struct calibration_request *o, struct calibration_result *out)
{
	*out = (struct calibration_result){ .module = o->module, .said = { .outcome = kernel.outcome } };
	if (kernel.outcome == CALIBRATION_WRONG)
		out->plain = list_of(0x3000, 3);
}

struct scene {
	struct handles h;
	struct record_options o;
	struct attach *attach;
	uint32_t self, child;
	struct module_id libc;
	struct { /* of the recording */
		size_t wanted, collectors, unseen;
		struct unseen why;
	} asked;
};

static struct site_list list_of(uint64_t func, size_t n)
{
	struct site_list l = { .sites = calloc(n, sizeof(*l.sites)), .sites_cnt = n };
	for (size_t i = 0; i < n; i++)
		l.sites[i] = (struct site){ .state = SITE_PROBED, .func = func + i };
	return l;
}

static void on_module(void *ctx, const struct proc *p, const struct module *m, int fd)
{
	struct scene *s = ctx;
	(void)fd, (void)p;
	if (strstr(m->path, "/libc.so"))
		s->libc = m->id;
}

static void on_proc(void *ctx, const struct proc *p)
{
	(void)ctx, (void)p;
}

static void on_mapping(void *ctx, const struct mapping *map, const struct module *m)
{
	(void)ctx, (void)map, (void)m;
}

static void on_wanted(void *ctx, const struct module *m, int fd)
{
	struct scene *s = ctx;
	assert_true(fd >= 0);
	s->asked.wanted += m->id.n == s->libc.n;
}

static int on_collector(void *ctx, uint32_t tgid, struct err *err)
{
	(void)tgid, (void)err;
	((struct scene *)ctx)->asked.collectors++;
	return 0;
}

static void on_unseen(void *ctx, const struct proc *p, const struct unseen *u, bool flagged)
{
	struct scene *s = ctx;
	(void)p, (void)flagged;
	s->asked.unseen++;
	s->asked.why = *u;
}

static uint32_t take_in(struct scene *s, uint32_t tgid)
{
	struct err err;
	struct proc_id id = target_add(s->h.targets, tgid, (struct proc_id){ 0 }, &err);
	assert_int_not_equal(id.n, 0);
	assert_int_equal(target_read_maps(s->h.targets, id, UINT64_MAX, &err), 0);
	return tgid;
}

static uint32_t start_child(void)
{
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return (uint32_t)pid;
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	const struct attach_ops ops = { .ctx = s, .wanted = on_wanted, .collector = on_collector, .unseen = on_unseen };
	const struct target_ops sees = {
		.ctx = s, .on_module = on_module, .on_proc = on_proc, .on_maps = on_proc, .on_mapping = on_mapping
	};
	memset(&kernel, 0, sizeof(kernel));
	s->h.o = &s->o;
	s->h.catalog = catalog_new();
	s->h.targets = target_new(s->h.catalog, &sees);
	s->attach = attach_new(&s->h, &ops);
	s->self = take_in(s, (uint32_t)getpid());
	s->child = take_in(s, start_child());
	*state = s;
	return s->attach && s->libc.n ? 0 : -1;
}

static int tear_down(void **state)
{
	struct scene *s = *state;
	kill((pid_t)s->child, SIGKILL);
	waitpid((pid_t)s->child, NULL, 0);
	attach_free(s->attach);
	target_free(s->h.targets);
	catalog_free(s->h.catalog);
	free(s);
	return 0;
}

/* The process maps the C library. */
static void map_libc(struct scene *s, uint32_t tgid)
{
	const struct proc *p = catalog_proc(s->h.catalog, target_find(s->h.targets, tgid));
	attach_module(s->attach, p, catalog_module(s->h.catalog, s->libc), target_module_fd(s->h.targets, s->libc));
}

static struct findings found(const struct scene *s)
{
	return (struct findings){ .module = s->libc, .sites = { .list = list_of(0x1000, 2), .proof = list_of(0x2000, 2) } };
}

static void give(struct scene *s, struct findings f)
{
	attach_found(s->attach, &f);
	findings_free(&f);
}

static void test_a_file_is_asked_for_once(void **state)
{
	struct scene *s = *state;
	map_libc(s, s->self);
	map_libc(s, s->self);
	map_libc(s, s->child);
	assert_int_equal(s->asked.wanted, 1);
	assert_int_equal(kernel.attached, 0);
	give(s, found(s));
	assert_int_equal(kernel.attached, 2); /* each its own */
	assert_int_equal(kernel.tgid, s->child);
	assert_int_equal(kernel.functions, 2);
	assert_int_equal(attach_facts(s->attach)->functions, 2);
	assert_int_equal(attach_facts(s->attach)->examined, 1);
	assert_int_equal(attach_files(s->attach), 1);
}

static void test_shared_links(void **state)
{
	struct scene *s = *state;
	attach_share(s->attach, true);
	map_libc(s, s->self);
	map_libc(s, s->child);
	give(s, found(s));
	assert_int_equal(kernel.attached, 1);
	assert_int_equal(kernel.tgid, 0);
	/* A translator starts: from then on each process has links of its own. */
	attach_split(s->attach);
	assert_false(attach_is_shared(s->attach));
	assert_int_equal(kernel.attached, 3);
	assert_int_equal(attach_facts(s->attach)->renewals, 1);
	assert_int_equal(s->asked.wanted, 1);
}

static void test_who_ended_is_not_waited_for(void **state)
{
	struct scene *s = *state;
	attach_share(s->attach, true);
	map_libc(s, s->child);
	attach_forget(s->attach, s->child);
	give(s, found(s));
	assert_int_equal(kernel.attached, 0);
	map_libc(s, s->self); /* the next process asks again, and the answer is known */
	assert_int_equal(kernel.attached, 1);
	assert_int_equal(s->asked.wanted, 1);
}

static void test_refused(void **state)
{
	struct scene *s = *state;
	kernel.refusal = EPERM;
	map_libc(s, s->self);
	give(s, found(s));
	assert_int_equal(attach_facts(s->attach)->functions, 0);
	assert_int_equal(attach_facts(s->attach)->failed.code, EPERM);
	map_libc(s, s->self); /* not tried twice */
	kernel.refusal = 0;
	map_libc(s, s->self);
	assert_int_equal(kernel.attached, 0);
	map_libc(s, s->child);
	assert_int_equal(attach_facts(s->attach)->functions, 2);
}

static void test_gone_meanwhile_may_come_back(void **state)
{
	struct scene *s = *state;
	kernel.refusal = ESRCH; /* such as an exec */
	map_libc(s, s->self);
	give(s, found(s));
	kernel.refusal = 0;
	map_libc(s, s->self);
	assert_int_equal(kernel.attached, 1);
}

static void test_nothing_in_it(void **state)
{
	struct scene *s = *state;
	struct findings none = { .module = s->libc };
	err_set(&none.sites.err, EBADMSG, "damaged");
	map_libc(s, s->self);
	give(s, none);
	assert_int_equal(kernel.attached, 0);
	assert_int_equal(attach_files(s->attach), 0);
	assert_int_equal(attach_facts(s->attach)->failed.code, EBADMSG);
}

static void test_outcomes(void **state)
{
	static const struct {
		enum calibration_outcome outcome;
		size_t attached, on_trial, functions;
	} cases[] = { { CALIBRATION_AGREED, 1, 0, 2 }, { CALIBRATION_WRONG, 1, 0, 3 }, { CALIBRATION_UNPROVEN, 0, 1, 0 } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up(state);
		struct scene *s = *state;
		kernel.calibrates = true;
		kernel.outcome = cases[i].outcome;
		map_libc(s, s->self);
		give(s, found(s));
		assert_int_equal(kernel.attached, cases[i].attached);
		assert_int_equal(kernel.on_trial, cases[i].on_trial);
		assert_int_equal(kernel.functions, cases[i].functions);
		tear_down(state);
	}
}

static void test_trials_end(void **state)
{
	for (int right = 0; right < 2; right++) {
		set_up(state);
		struct scene *s = *state;
		kernel.calibrates = true;
		kernel.outcome = CALIBRATION_UNPROVEN;
		map_libc(s, s->self);
		give(s, found(s));
		kernel.agreed = 999;
		attach_update(s->attach);
		assert_int_equal(kernel.ended, 0); /* not enough calls yet */
		kernel.agreed += right;
		kernel.wrong = !right;
		attach_update(s->attach);
		assert_int_equal(kernel.ended, 1);
		assert_int_equal(kernel.ended_func, right ? 0x1000 : 0x2000);
		map_libc(s, s->child); /* the next process uses the result */
		assert_int_equal(kernel.on_trial, 1);
		assert_int_equal(kernel.attached, 1);
		tear_down(state);
	}
}

static void test_trials_of_who_ended(void **state)
{
	struct scene *s = *state;
	kernel.calibrates = true;
	kernel.outcome = CALIBRATION_UNPROVEN;
	map_libc(s, s->child);
	give(s, found(s));
	attach_forget(s->attach, s->child);
	kernel.wrong = 1;
	attach_update(s->attach);
	assert_int_equal(kernel.ended, 0);
}

static void test_collectors(void **state)
{
	struct scene *s = *state;
	struct findings f = found(s);
	f.sites.list.text_hi = 0x1000;
	f.sites.list.at = SAMPLE_AT_REFILL;
	f.sites.list.takes_lists = true;
	f.sites.collections.sites = calloc(1, sizeof(*f.sites.collections.sites));
	f.sites.collections.sites_cnt = 1;
	map_libc(s, s->self);
	give(s, f);
	assert_int_equal(s->asked.collectors, 1);
	assert_int_equal(kernel.collections, 1);
	assert_int_equal(s->asked.unseen, 0);
	assert_true(attach_facts(s->attach)->collected);
	assert_true(attach_sample_gap(s->attach));
	assert_non_null(strstr(attach_facts(s->attach)->taker, "/libc.so"));
	kernel.collections_refusal = ENOSPC;
	map_libc(s, s->child);
	assert_int_equal(s->asked.unseen, 1);
	assert_int_equal(s->asked.why.why, GC_NO_PROBES);
	assert_int_equal(s->asked.why.error, ENOSPC);
}

static void test_files_without_a_process(void **state)
{
	struct scene *s = *state;
	struct catalog *empty = catalog_new();
	map_libc(s, s->self);
	give(s, found(s));
	attach_prune(s->attach, s->h.catalog);
	assert_int_equal(kernel.left, 0);
	attach_prune(s->attach, empty);
	assert_int_equal(kernel.left, 1);
	assert_int_equal(attach_files(s->attach), 0);
	catalog_free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_file_is_asked_for_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shared_links, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_who_ended_is_not_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gone_meanwhile_may_come_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_in_it, set_up, tear_down),
		cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_trials_end),
		cmocka_unit_test_setup_teardown(test_trials_of_who_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_collectors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_files_without_a_process, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
