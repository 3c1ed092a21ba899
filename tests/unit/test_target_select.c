/* SPDX-License-Identifier: Apache-2.0 */
/* target/select: which processes each condition selects, and conditions that can never hold. */
#include <errno.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/select.h"

static bool wants(const struct select *s, const struct proc_facts *f)
{
	return select_wants(s, (uint32_t)getpid(), f);
}

#define WORD(...)                                                                                                         \
	{                                                                                                                 \
		.at = (const char *[]){ __VA_ARGS__ }, .at_cnt = sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *) \
	}

static void test_names(void **state)
{
	const struct select s = { .names = WORD("nginx", "a-name-of-16-ch16-and-more") };
	(void)state;
	assert_true(wants(&s, &(struct proc_facts){ .comm = "nginx" }));
	assert_true(wants(&s, &(struct proc_facts){ .comm = "a-name-of-16-ch" }));
	assert_false(wants(&s, &(struct proc_facts){ .comm = "nginx2" }));
	assert_false(wants(&s, &(struct proc_facts){ .comm = "ngin" }));
	assert_false(wants(&s, &(struct proc_facts){ .comm = "" }));
	assert_false(wants(&s, &(struct proc_facts){ .comm = "nginx", .kernel_thread = true }));
	assert_false(wants(&s, &(struct proc_facts){ .comm = "nginx", .ended = true }));
}

static void test_executables(void **state)
{
	const struct select s = { .exes = WORD("/srv/*", "red?s") };
	(void)state;
	assert_true(wants(&s, &(struct proc_facts){ .exe = "/srv/a/b" }));
	assert_true(wants(&s, &(struct proc_facts){ .exe = "/srv/gone (deleted)" }));
	assert_true(wants(&s, &(struct proc_facts){ .exe = "/opt/redis" }));
	assert_true(wants(&s, &(struct proc_facts){ .exe = "/opt/redis (deleted)" }));
	assert_false(wants(&s, &(struct proc_facts){ .exe = "/usr/srv/a" }));
	assert_false(wants(&s, &(struct proc_facts){ .exe = "/red1s/other" }));
	assert_false(wants(&s, &(struct proc_facts){ .exe = "" }));
}

static void test_users(void **state)
{
	char own[32], other[32];
	const struct passwd *p = getpwuid(getuid());
	(void)state;
	snprintf(own, sizeof(own), "%u", (unsigned int)getuid());
	snprintf(other, sizeof(other), "%u", (unsigned int)getuid() + 1);
	const struct select mine = { .users = WORD(other, own) }, theirs = { .users = WORD(other) };
	assert_true(wants(&mine, &(struct proc_facts){ 0 }));
	assert_false(wants(&theirs, &(struct proc_facts){ 0 }));
	const struct select by_name = { .users = WORD(p ? p->pw_name : own) };
	assert_true(wants(&by_name, &(struct proc_facts){ 0 }));
}

/* The root group contains this test, wherever it runs. */
static void test_groups(void **state)
{
	const struct select root = { .cgroups = WORD("/sys/fs/cgroup") }, same = { .cgroups = WORD("/sys/fs/cgroup/") };
	const struct select own = { .cgroups = WORD("/") },
			    none = { .cgroups = WORD("/no-such-group", "/sys/fs/cgroup/no-such") };
	char first[2];
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool any = f && fgets(first, sizeof(first), f);
	(void)state;
	if (f)
		fclose(f);
	if (!any)
		skip(); /* a kernel without groups */
	assert_true(wants(&root, &(struct proc_facts){ 0 }));
	assert_true(wants(&same, &(struct proc_facts){ 0 }));
	assert_true(wants(&own, &(struct proc_facts){ 0 }));
	assert_false(wants(&none, &(struct proc_facts){ 0 }));
}

static void test_never_fulfilled(void **state)
{
	const struct select user = { .users = WORD("root", "no such user") }, group = { .cgroups = WORD("system.slice") },
			    good = { .all = true };
	struct err err = { 0 };
	(void)state;
	assert_int_equal(select_check(&user, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no such user"));
	assert_int_equal(select_check(&group, &err), -EINVAL);
	assert_non_null(strstr(err.text, "system.slice"));
	assert_int_equal(select_check(&good, &err), 0);
}

/* Where only numbers are given, nothing needs to be known of other processes. */
static void test_numbers(void **state)
{
	const uint32_t pids[] = { 7, 9 };
	const struct select numbers = { .pids = pids, .pids_cnt = 2 };
	const struct select open = { .pids = pids, .pids_cnt = 2, .names = WORD("nginx") };
	const struct proc_facts f = { .comm = "other" };
	(void)state;
	assert_true(select_may_want(&numbers, 9) && select_wants(&numbers, 9, &f));
	assert_false(select_may_want(&numbers, 8) || select_wants(&numbers, 8, &f));
	assert_true(select_may_want(&open, 8));
	assert_false(select_wants(&open, 8, &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),  cmocka_unit_test(test_executables),     cmocka_unit_test(test_users),
		cmocka_unit_test(test_groups), cmocka_unit_test(test_never_fulfilled), cmocka_unit_test(test_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
