/* SPDX-License-Identifier: Apache-2.0 */
/* symbol: workers that die, hang and lie; what the real one may still do; files that shrink under it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/jail.h"
#include "symbol/symbol.h"

static char dir[64];

/* Even on a busy machine a worker that works answers sooner than this. */
#define PATIENT_MS 20000

/*
 * A worker that speaks the protocol, so that each deviation of it is one line: what OPENED sends
 * after the file came, what ASKED sends for each question.
 */
static const char fake[] =
	"#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include <sys/socket.h>\n#include <sys/stat.h>\n"
	"static unsigned char in[70000], out[70000]; static size_t n; static ssize_t got;\n"
	"static void u8(int c) { out[n++] = (unsigned char)c; }\n"
	"static void number(unsigned long v) { for (; v > 127; v >>= 7) u8((int)(v | 128)); u8((int)v); }\n"
	"static void text(size_t len) { u8(1); number(len); while (len--) u8('x'); }\n"
	"static void answer(int frames, int quality, int name, unsigned long line)\n"
	"{ u8(2); number((unsigned long)frames); u8(quality); number((unsigned long)name); number(0);\n"
	"  number(line); number(0); }\n"
	"static void sent(void) { send(3, out, n, MSG_NOSIGNAL); n = 0; }\n"
	"static void say(int kind) { u8(kind); sent(); }\n"
	"static int asks(unsigned char what) { for (ssize_t i = 1; i < got; i += 8) if (in[i] == what) return 1;\n"
	"  return 0; }\n"
	"static void meet(const char *a, const char *b) { if (mkdir(a, 0700)) mkdir(b, 0700);\n"
	"  for (int i = 0; i < 15000 && access(b, 0); i++) usleep(1000);\n"
	"  if (access(b, 0)) abort(); }\n"
	"static size_t asked(void) { return (size_t)(got - 1) / 8; }\n"
	"int main(void) { recv(3, in, sizeof(in), 0); OPENED;\n"
	"  while ((got = recv(3, in, sizeof(in), 0)) > 0) { ASKED; } return 0; }\n";

static void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *fmt, ...)
{
	char command[2048];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	assert_int_equal(system(command), 0);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test_worker.XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0755))
		return -1;
	write_file("fake.c", fake);
	write_file("t.c", "int one(int x) { return x * 3; }\nint two(int x) { return x + 7; }\n");
	run("cd %s && gcc -O1 -g -shared -fPIC -o t.so t.c", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	run("rm -r %s", dir);
	return 0;
}

#define ADDRESSES 200

/* Two stacks a module ask for its addresses 0x100 to 0x1c7. */
static struct catalog *ask(uint32_t modules)
{
	struct catalog *c = catalog_new();
	struct frame frames[ADDRESSES];
	for (uint32_t m = 1; m <= modules; m++) {
		for (uint64_t i = 0; i < ADDRESSES; i++)
			frames[i] = (struct frame){ .map = { m }, .rel = 0x100 + i + (i > 0) };
		catalog_put_mapping(c, &(struct mapping){ .id = { m }, .module = { m } });
		for (uint32_t id = 2 * m; id < 2 * m + 2; id++)
			catalog_put_stack(c, &(struct stack){ .id = { id }, .n = ADDRESSES, .frames = frames });
	}
	return c;
}

static unsigned int problems;

static void note(void *ctx, const char *path, const char *why)
{
	(void)ctx;
	assert_non_null(strstr(path, "t.so"));
	assert_true(strlen(why) > 10);
	problems++;
}

static double seconds(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static struct catalog *work_with(const char *worker, uint32_t modules, uint32_t patience_ms)
{
	char path[128];
	struct err err = { 0 };
	struct catalog *c = ask(modules);
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_config){
		.depth = SYMBOL_DEPTH_FULL, .worker = worker, .patience_ms = patience_ms, .problem = note });
	snprintf(path, sizeof(path), "%s/t.so", dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	problems = 0;
	double from = seconds();
	for (uint32_t m = 1; m <= modules; m++)
		assert_int_equal(symbolizer_add_file(s, (struct module_id){ m }, dup(fd), path, &err), 0);
	assert_int_equal(symbolizer_run(s, c, NULL, NULL, &err), 0);
	assert_true(seconds() - from < 60 + 4e-3 * patience_ms);
	symbolizer_free(s);
	close(fd);
	/* Nothing is left of any worker. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return c;
}

/* How many addresses have a name; each has an answer. */
static unsigned int named(const struct catalog *c, uint32_t module)
{
	unsigned int n = 0;
	for (uint64_t i = 0; i < ADDRESSES; i++) {
		const struct symbols *s = catalog_symbols(c, (struct module_id){ module }, 0x100 + i);
		assert_non_null(s);
		assert_int_equal(s->n, 1);
		n += s->at[0].name != NULL;
		assert_int_equal(s->at[0].quality == SYMBOL_MODULE, s->at[0].name == NULL);
	}
	return n;
}

static const char good[] = "u8(13); text(4); for (size_t i = 0; i < asked(); i++) answer(1, 2, 1, 7); sent()";

static struct catalog *with_silent(const char *opened, const char *asked, uint32_t modules, uint32_t patience_ms)
{
	char program[128];
	run("cd %s && gcc -O1 -o fake -D'OPENED=%s' -D'ASKED=%s' fake.c", dir, opened, asked);
	snprintf(program, sizeof(program), "%s/fake", dir);
	return work_with(program, modules, patience_ms);
}

static struct catalog *with_fake(const char *opened, const char *asked, uint32_t modules)
{
	return with_silent(opened, asked, modules, PATIENT_MS);
}

static void test_good(void **state)
{
	(void)state;
	struct catalog *c = with_fake("say(11)", good, 1);
	assert_int_equal(named(c, 1), ADDRESSES);
	assert_string_equal(catalog_symbols(c, (struct module_id){ 1 }, 0x100)->at[0].name, "xxxx");
	assert_int_equal(catalog_symbols(c, (struct module_id){ 1 }, 0x100)->at[0].line, 7);
	assert_int_equal(catalog_count(c, "symbols-unanswered"), 0);
	assert_int_equal(problems, 0);
	catalog_free(c);
}

static void test_bad(void **state)
{
	(void)state;
	static const struct {
		const char *opened, *asked, *count;
	} rows[] = {
		{ "abort()", "", "symbols-worker-died" },
		{ "_exit(0)", "", "symbols-worker-died" },
		{ "say(11)", "abort()", "symbols-worker-died" },
		{ "say(11); close(3); pause()", "", "symbols-worker-died" },
		{ "pause()", "", "symbols-worker-silent" },
		{ "say(11)", "pause()", "symbols-worker-silent" },
		{ "for (;;)", "", "symbols-worker-silent" },
		{ "say(77)", "", "symbols-worker-lied" },
		{ "say(11); say(11)", "", "symbols-worker-lied" },
		{ "say(13)", "", "symbols-worker-lied" }, /* answers before it is ready */
		{ "say(11); say(12)", "", "symbols-worker-lied" },
		{ "say(11); say(10)", "", "symbols-worker-lied" },
		{ "for (;;) { u8(10); u8(1); number(1UL << 60); sent(); }", "", "symbols-worker-lied" },
		{ "for (;;) { u8(10); u8(1); u8(2); u8(1); u8(2); u8(0); sent(); }", "", "symbols-worker-lied" },
		{ "say(11); say(13)", "", "symbols-worker-lied" }, /* an answer of nothing */
		{ "say(11); u8(13); text(1); for (int i = 0; i < 201; i++) answer(1, 1, 0, 0); sent()", "",
		  "symbols-worker-lied" }, /* more than was asked */
		{ "say(11)", "u8(13); answer(0, 1, 0, 0); sent()", "symbols-worker-lied" },
		{ "say(11)", "u8(13); answer(1 << 30, 1, 0, 0); sent()", "symbols-worker-lied" },
		{ "say(11)", "u8(13); answer(1, 2, 1, 0); sent()", "symbols-worker-lied" }, /* no such text */
		{ "say(11)", "u8(13); answer(1, 1, 0, -3UL); sent()", "symbols-worker-lied" },
		{ "say(11)", "u8(13); answer(1, 1, 0, 1UL << 31); sent()", "symbols-worker-lied" },
		{ "say(11)", "u8(13); answer(1, 2, 0, 0); sent()", "symbols-worker-lied" }, /* a name, but none */
		{ "say(11)", "u8(13); answer(1, 99, 0, 0); sent()", "symbols-worker-lied" },
		{ "say(11)", "u8(13); answer(1, 0, 0, 0); sent()", "symbols-worker-lied" },
		{ "say(11)", "u8(13); answer(1, 128 + 1, 0, 0); sent()", "symbols-worker-lied" },
		{ "say(11)", "u8(13); answer(2, 1, 0, 0); sent()", "symbols-worker-lied" },
		{ "say(11)", "u8(13); u8(1); number(1UL << 32); sent()", "symbols-worker-lied" },
		{ "say(11)", "u8(13); text(60000); sent()", "symbols-worker-lied" },
		{ "say(11)", "for (;;) { u8(13); for (int i = 0; i < 15; i++) text(4096); sent(); }", "symbols-worker-lied" },
		{ "say(11)", "u8(13); for (int i = 0; i < 9000; i++) answer(1, 1, 0, 0); sent()", "symbols-worker-lied" },
		{ "say(11)", "u8(13); n += 69000; sent()", "symbols-worker-lied" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool silent = strstr(rows[i].count, "silent");
		struct catalog *c = with_silent(rows[i].opened, rows[i].asked, 1, silent ? 300 : PATIENT_MS);
		print_message("%s | %s\n", rows[i].opened, rows[i].asked);
		assert_true(catalog_count(c, rows[i].count) > 0);
		assert_in_range(problems, 1, 8);
		assert_int_equal(named(c, 1), 0);
		catalog_free(c);
	}
}

static void test_one_address_kills(void **state)
{
	(void)state;
	char asked[256];
	snprintf(asked, sizeof(asked), "if (asks(0x66)) abort(); %s", good);
	struct catalog *c = with_fake("say(11)", asked, 1);
	assert_int_equal(named(c, 1), ADDRESSES - 1);
	assert_null(catalog_symbols(c, (struct module_id){ 1 }, 0x166)->at[0].name);
	assert_int_equal(catalog_count(c, "symbols-worker-died"), 2);
	assert_int_equal(catalog_count(c, "symbols-unanswered"), 1);
	catalog_free(c);
}

/* DWARF kills, the symbol tables do not: the third byte of the first message is the depth. */
static void test_depth_kills(void **state)
{
	(void)state;
	struct catalog *c = with_fake("if (in[2]) abort(); say(11)", good, 1);
	assert_int_equal(named(c, 1), ADDRESSES);
	assert_int_equal(catalog_count(c, "symbols-worker-died"), 3);
	assert_int_equal(catalog_count(c, "symbols-unanswered"), 0);
	catalog_free(c);
}

static void test_refuses(void **state)
{
	(void)state;
	struct catalog *c = with_fake("u8(12); u8(10); for (int i = 0; i < 10; i++) u8(27); sent()", "", 1);
	assert_int_equal(named(c, 1), 0);
	assert_int_equal(problems, 1); /* no use to ask again */
	catalog_free(c);
}

static void test_no_program(void **state)
{
	(void)state;
	struct catalog *c = work_with("/nonexistent/worker", 1, PATIENT_MS);
	assert_int_equal(named(c, 1), 0);
	assert_int_equal(catalog_count(c, "symbols-unanswered"), ADDRESSES);
	catalog_free(c);
}

/* A page of a truncated mapping would be a SIGBUS for its reader. */
static void test_truncated(void **state)
{
	(void)state;
	run("cp %s/t.so %s/keep.so && truncate -s 5000 %s/t.so", dir, dir, dir);
	struct catalog *c = work_with(NULL, 1, PATIENT_MS);
	assert_int_equal(named(c, 1), 0);
	assert_int_equal(catalog_count(c, "symbols-worker-died"), 0);
	catalog_free(c);
	run("mv %s/keep.so %s/t.so", dir, dir);
}

static int refused(long result)
{
	return result < 0 && errno == EPERM;
}

static void cut_off(void *ctx, uint64_t done, uint64_t total)
{
	bool *cut = ctx;
	char path[128];
	if (*cut || !done || done == total)
		return;
	snprintf(path, sizeof(path), "%s/large.so", dir);
	*cut = truncate(path, 5000) == 0;
}

/* A stack of every eighth byte of 40 units: many more addresses than are asked at once. */
static struct catalog *ask_of_large(void)
{
	struct catalog *c = catalog_new();
	const uint32_t n = 64000;
	struct frame *frames = calloc(n, sizeof(*frames));
	for (uint64_t i = 0; i < n; i++)
		frames[i] = (struct frame){ .map = { 1 }, .rel = 0x1000 + 8 * i + (i > 0) };
	catalog_put_mapping(c, &(struct mapping){ .id = { 1 }, .module = { 1 } });
	catalog_put_stack(c, &(struct stack){ .id = { 1 }, .n = n, .frames = frames });
	free(frames);
	return c;
}

/* The file shrinks while its debug information is read: that worker gets a SIGBUS, the trace its rest. */
static void test_truncated_meanwhile(void **state)
{
	(void)state;
	struct err err = { 0 };
	char path[128];
	bool cut = false;
	run("cd %s && for i in $(seq 40); do"
	    " echo \"void f$i(void) { __asm__ volatile(\\\".skip 12800, 0x90\\\"); }\" > l$i.c &&"
	    " gcc -g -fPIC -c l$i.c || exit; done; gcc -shared -o large.so l[0-9]*.o",
	    dir);
	struct catalog *c = ask_of_large();
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_config){ .depth = SYMBOL_DEPTH_FULL });
	snprintf(path, sizeof(path), "%s/large.so", dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(symbolizer_add_file(s, (struct module_id){ 1 }, fd, path, &err), 0);
	assert_int_equal(symbolizer_run(s, c, cut_off, &cut, &err), 0);
	assert_true(cut);
	assert_true(catalog_count(c, "symbols-worker-died") > 0);
	assert_int_equal(catalog_symbols(c, (struct module_id){ 1 }, 0x1200)->at[0].quality, SYMBOL_EXACT);
	assert_non_null(catalog_symbols(c, (struct module_id){ 1 }, 0x1000 + 8 * 63999));
	symbolizer_free(s);
	catalog_free(c);
}

/* Four million units, 12 bytes each: what libdw keeps of them is more than a worker may have. */
static void test_hog(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* it takes memory of its own, so there is no limit */
#endif
	write_file("hog.s", ".section .note.GNU-stack\n.section .debug_abbrev\n.byte 1, 0x11, 0, 0, 0, 0\n"
			    ".section .debug_info\n.rept 4000000\n.long 8\n.short 4\n.long 0\n.byte 8, 1\n.endr\n");
	run("cd %s && mv t.so keep.so && gcc -O1 -shared -fPIC -o t.so t.c hog.s", dir);
	struct catalog *c = work_with(NULL, 1, PATIENT_MS);
	assert_int_equal(catalog_count(c, "symbols-worker-died"), 3);
	assert_int_equal(catalog_count(c, "symbols-unanswered"), 0); /* the symbol tables answer */
	catalog_free(c);
	run("cd %s && mv keep.so t.so && rm hog.s", dir);
}

/* Each of two workers gives up unless the other one is there at the same time. */
static void test_at_once(void **state)
{
	(void)state;
	char opened[256];
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	snprintf(opened, sizeof(opened), "meet(\"%s/one\", \"%s/two\"); say(11)", dir, dir);
	struct catalog *c = with_fake(opened, good, 2);
	assert_int_equal(named(c, 1), ADDRESSES);
	assert_int_equal(named(c, 2), ADDRESSES);
	assert_int_equal(catalog_count(c, "symbols-worker-died"), 0);
	catalog_free(c);
}

/* Two stacks with the same addresses: each is asked once. */
static void test_once(void **state)
{
	(void)state;
	char asked[256];
	snprintf(asked, sizeof(asked), "if (asks(0x66) && mkdir(\"%s/asked\", 0700)) abort(); %s", dir, good);
	struct catalog *c = with_fake("say(11)", asked, 1);
	assert_int_equal(named(c, 1), ADDRESSES);
	assert_int_equal(catalog_count(c, "symbols-worker-died"), 0);
	catalog_free(c);
}

/* In the jail: 0 when nothing of it is possible, else the number of what was. */
static int try_to_break_out(void)
{
	struct err err = { 0 };
	struct stat st;
	void *m;
	if (jail_enter(0, &err))
		return 1;
	if (!refused(open("/etc/passwd", O_RDONLY)) || !refused(open("/tmp/x", O_CREAT | O_WRONLY, 0600)))
		return 3;
	if (!refused(socket(AF_INET, SOCK_STREAM, 0)) || !refused(socket(AF_UNIX, SOCK_STREAM, 0)))
		return 4;
	if (!refused(fork()) || !refused(execl("/bin/true", "true", NULL)))
		return 5;
	if (!refused(kill(getppid(), 0)) || !refused(setuid(0)) || !refused(mkdir("/tmp/y", 0700)))
		return 6;
	if (fstat(0, &st)) /* still allowed */
		return 7;
	m = mmap(NULL, 2 * JAIL_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m != MAP_FAILED)
		return 8;
	m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (m != MAP_FAILED)
		return 10;
	m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return m == MAP_FAILED ? 9 : 0;
}

static int take_more_than_was_given(void)
{
	struct err err = { 0 };
	if (jail_memory() != JAIL_MEMORY || jail_enter(64 << 20, &err) || jail_memory() != 64 << 20)
		return 1;
	if (mmap(NULL, 96 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		return 2;
	return mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 3 : 0;
}

static void expect_none(int (*tried)(void))
{
#ifdef __SANITIZE_ADDRESS__
	skip(); /* it makes calls of its own */
#endif
	int status, pid = fork();
	if (pid == 0)
		_exit(tried());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_jail(void **state)
{
	(void)state;
	expect_none(try_to_break_out);
}

static void test_less_memory(void **state)
{
	(void)state;
	expect_none(take_more_than_was_given);
}

static long status_value(int pid, const char *key, int base)
{
	char line[256];
	long value = -1;
	size_t n = strlen(key);
	snprintf(line, sizeof(line), "/proc/%d/status", pid);
	FILE *f = fopen(line, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n) && line[n] == ':')
			value = strtol(line + n + 1, NULL, base);
	fclose(f);
	return value;
}

static void test_jailed_rights(void **state)
{
	(void)state;
	struct err err;
	int done[2], stop[2];
	char byte = 0;
	assert_int_equal(pipe(done) || pipe(stop), 0);
	int pid = fork();
	if (pid == 0) {
		close(stop[1]);
		if (!jail_enter(0, &err))
			byte = 'j';
		_exit(write(done[1], &byte, 1) != 1 || read(stop[0], &byte, 1) != 0);
	}
	assert_int_equal(read(done[0], &byte, 1), 1);
	assert_int_equal(byte, 'j');
	assert_true(status_value(pid, "Uid", 10) != 0);
	assert_true(status_value(pid, "Gid", 10) != 0);
	assert_int_equal(status_value(pid, "CapEff", 16), 0);
	assert_int_equal(status_value(pid, "CapPrm", 16), 0);
	assert_int_equal(status_value(pid, "NoNewPrivs", 10), 1);
	assert_int_equal(status_value(pid, "Seccomp", 10), 2);
	close(stop[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(stop[0]);
	close(done[0]);
	close(done[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_one_address_kills),
		cmocka_unit_test(test_depth_kills),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_no_program),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_truncated_meanwhile),
		cmocka_unit_test(test_hog),
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_jail),
		cmocka_unit_test(test_less_memory),
		cmocka_unit_test(test_jailed_rights),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
