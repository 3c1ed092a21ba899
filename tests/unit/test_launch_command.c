/* SPDX-License-Identifier: Apache-2.0 */
/* launch/command: programs that we start are held until their first instruction, and no longer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/signals.h"
#include "examine/examination.h"
#include "launch/command.h"
#include "target/proc.h"

#define HANGS_S 120 /* a test that takes longer fails */

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test_command.XXXXXX");
	alarm(HANGS_S);
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[128];
	(void)state;
	alarm(0);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

/* `name` in the test's directory, of this source. */
static char *compile(const char *cc, const char *name, const char *source)
{
	static char out[128];
	char command[1024];
	snprintf(out, sizeof(out), "%s/%s", dir, name);
	snprintf(command, sizeof(command), "cd %s && echo '%s' | %s -x c -o %s -", dir, source, cc, name);
	assert_int_equal(system(command), 0);
	return out;
}

static void count(void *ctx)
{
	++*(int *)ctx;
}

/* As a recording does it. */
static bool is_c_library(void *ctx, int fd, const char *path)
{
	struct err err;
	struct examinations *x = examinations_new(NULL, &err);
	const struct examination e = { .fd = fd, .path = path, .ask = { .parts = FINDINGS_START } };
	struct findings f;
	(void)ctx;
	assert_non_null(x);
	examinations_now(x, &e, &f);
	bool yes = f.starts_programs;
	findings_free(&f);
	examinations_free(x);
	return yes;
}

static int release(struct command *c, int *mapped, struct err *err)
{
	const struct command_ops ops = { .ctx = mapped, .mapped = count, .is_c_library = is_c_library };
	return command_release(c, &ops, err);
}

static void start(struct command *c, char *program, int *mapped)
{
	char *argv[] = { program, NULL };
	struct err err = { 0 };
	assert_int_equal(command_spawn(c, argv, &err), 0);
	assert_int_equal(release(c, mapped, &err), 0);
	assert_int_equal(proc_status_value((uint32_t)c->pid, "TracerPid"), 0);
}

static int end_of(struct command *c)
{
	int status;
	while ((status = command_status(c)) < 0)
		usleep(1000);
	return status;
}

static void test_let_go(void **state)
{
	struct command c = { 0 };
	int mapped = 0;
	(void)state;
	start(&c, compile("gcc", "t", "#include <unistd.h>\nint main(void) { usleep(1000); return 7; }"), &mapped);
	assert_true(mapped > 1); /* the C library came after the first look */
	assert_int_equal(end_of(&c), 7);
}

/* Its linker is its C library: all its system calls come from there. */
static void test_musl_let_go(void **state)
{
	static const char waits[] = "#include <unistd.h>\nint main(void) { for (;;) pause(); }";
	struct command c = { 0 };
	int mapped = 0;
	(void)state;
	start(&c, compile("musl-gcc", "t", waits), &mapped);
	assert_true(mapped > 0);
	assert_int_equal(command_status(&c), -1);
	command_kill(&c);
	start(&c, compile("musl-gcc", "t", "int main(void) { return 7; }"), &mapped);
	assert_int_equal(end_of(&c), 7);
}

/* After a process was waited for, its number may belong to another one. */
static void test_ended_while_loaded(void **state)
{
	struct command c = { 0 };
	struct err err = { 0 };
	int mapped = 0;
	(void)state;
	char *library = strdup(compile("gcc -shared -fPIC", "libgone.so", "void gone(void) { }"));
	char *argv[] = { compile("gcc -Wl,--no-as-needed,libgone.so", "t", "int main(void) { return 0; }"), NULL };
	assert_int_equal(unlink(library), 0);
	free(library);
	assert_int_equal(command_spawn(&c, argv, &err), 0);
	assert_int_equal(release(&c, &mapped, &err), -ENOENT);
	assert_non_null(strstr(err.text, "exited with status 127 while its libraries were being loaded"));
	assert_int_equal(c.pid, 0);
	assert_int_equal(command_status(&c), 127);
}

/* A started program does not inherit a recording's signal settings. */
static void test_signals_are_the_program_s(void **state)
{
	static const char looks[] = "#include <signal.h>\nstatic int ignored(int s) { struct sigaction a; sigaction(s, 0, &a); "
				    "return a.sa_handler == SIG_IGN; }\nint main(void) { sigset_t m; sigprocmask(0, 0, &m); "
				    "return ignored(SIGPIPE) + 2 * ignored(SIGXFSZ) + 4 * sigismember(&m, SIGINT); }";
	struct command c = { 0 };
	struct err err = { 0 };
	int mapped = 0, fd = signals_open(false, &err);
	(void)state;
	assert_true(fd >= 0);
	start(&c, compile("gcc", "t", looks), &mapped);
	assert_int_equal(end_of(&c), 0);
	signals_close(fd);
}

static void test_none(void **state)
{
	struct command c = { 0 };
	struct err err = { 0 };
	char *argv[] = { (char *)"/nowhere/at/all", NULL };
	(void)state;
	assert_int_equal(command_spawn(&c, argv, &err), -ENOENT);
	assert_int_equal(command_status(&c), -1);
	command_kill(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_let_go, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_musl_let_go, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_ended_while_loaded, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_signals_are_the_program_s, make_dir, remove_dir),
		cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
