/* SPDX-License-Identifier: Apache-2.0 */
/* examine/examination: findings of processes without rights, the order of files, and when an examination is abandoned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/handover.h"
#include "sandbox/spawn.h"
#include "examine/examination.h"
#include "examine/examiner.h"
#include "finder/find.h"

#define GLIBC "/lib/" TEST_MACHINE "-linux-gnu/libc.so.6"
#define LIBGC "/usr/lib/" TEST_MACHINE "-linux-gnu/libgc.so.1"
#define LIBM "/lib/" TEST_MACHINE "-linux-gnu/libm.so.6"
#define ALL (FINDINGS_OUTLINE | FINDINGS_SITES | FINDINGS_ROWS | FINDINGS_START)

static const char *const paths[] = { GLIBC, LIBGC, "/proc/self/exe", LIBM, "/usr/bin/env" };
static const struct findings_ask all = { .parts = ALL, .refill = true };

static void make(const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	findings_make(fd, path, &all, out);
	close(fd);
}

static void same_sites(const struct site_list *a, const struct site_list *b)
{
	struct buf x = { 0 }, y = { 0 };
	sites_print(a, &x);
	sites_print(b, &y);
	assert_string_equal(buf_str(&x), buf_str(&y));
	assert_int_equal(a->takes_lists, b->takes_lists);
	assert_memory_equal(&a->lists, &b->lists, sizeof(a->lists));
	assert_int_equal(a->text_lo, b->text_lo);
	buf_free(&x);
	buf_free(&y);
}

static void same_rows(const struct unwind_table *a, const struct unwind_table *b)
{
	assert_int_equal(a->rows_cnt, b->rows_cnt);
	assert_int_equal(a->pages_cnt, b->pages_cnt);
	assert_int_equal(a->page0, b->page0);
	assert_memory_equal(a->rows, b->rows, a->rows_cnt * sizeof(*a->rows));
	assert_memory_equal(a->pages, b->pages, (a->pages_cnt + 1) * sizeof(*a->pages));
	assert_memory_equal(a->specs, b->specs, a->specs_cnt * sizeof(*a->specs));
}

static void check(const char *path, const struct findings *f)
{
	const struct sites_options o = { .cheap_exits = true, .refill = true }, calls = { .cheap_exits = true };
	struct err err = { 0 };
	struct site_list list;
	uint8_t id[64], other[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, path, &err);
	assert_int_equal(sites_find(e, path, &o, &list, &err), 0);
	same_sites(&list, &f->sites.list);
	sites_free(&list);
	assert_int_equal(sites_find(e, path, &calls, &list, &err), 0);
	same_sites(&list, &f->sites.calls);
	sites_free(&list);
	struct unwind_table *rows = unwind_compile(e, &err);
	same_rows(rows, f->rows.table);
	unwind_free(rows);
	assert_int_equal(elf_build_id(e, id, sizeof(id)), elf_build_id(f->outline, other, sizeof(other)));
	assert_memory_equal(id, other, elf_build_id(e, id, sizeof(id)));
	assert_int_equal(f->starts_programs, !strcmp(path, GLIBC));
	assert_int_equal(f->sites.collections.sites_cnt > 0, !strcmp(path, LIBGC));
	assert_int_equal(f->sites.link_offset != 0, !strncmp(path, "/lib64/ld", 9));
	assert_string_equal(f->refused, "");
	elf_close(e);
	close(fd);
}

static void test_as_if_found_here(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct buf bytes = { 0 };
		struct findings f;
		make(paths[i], &bytes);
		assert_int_equal(findings_read(bytes.data, bytes.len, ALL, &f), 0);
		check(paths[i], &f);
		findings_free(&f);
		assert_int_not_equal(findings_read(bytes.data, bytes.len - 1, ALL, &f), 0);
		assert_int_not_equal(findings_read(bytes.data, bytes.len, FINDINGS_ROWS, &f), 0);
		buf_free(&bytes);
	}
}

static void look_everywhere(struct findings *f)
{
	struct buf text = { 0 };
	struct unwind_row row;
	sites_print(&f->sites.list, &text);
	sites_use_whole(&f->sites.list, true);
	sites_print_refills(&f->sites.calls, &f->sites.list, &text);
	for (uint64_t page = 0; f->rows.table && page < f->rows.table->pages_cnt; page++)
		unwind_row_at(f->rows.table, (f->rows.table->page0 + page) << 12, &row);
	buf_free(&text);
}

/* A process that reads a hostile file may send any answer. */
static void test_lies(void **state)
{
	struct buf bytes = { 0 };
	unsigned int seed = 1;
	(void)state;
	make(LIBGC, &bytes);
	uint8_t *copy = malloc(bytes.len);
	for (int i = 0; i < 2000; i++) {
		struct findings f;
		/* The lists come before the rows: most damage is put there. */
		size_t reach = i % 4 ? bytes.len / 4 : bytes.len;
		memcpy(copy, bytes.data, bytes.len);
		for (int n = i % 7; n >= 0; n--)
			copy[(size_t)rand_r(&seed) % reach] = (uint8_t)(i % 3 ? rand_r(&seed) : 0xff);
		if (findings_read(copy, bytes.len, ALL, &f))
			continue;
		look_everywhere(&f);
		findings_free(&f);
	}
	free(copy);
	buf_free(&bytes);
}

static void now(const char *path, int fd, uint32_t parts, struct findings *out)
{
	struct err err;
	struct examinations *x = examinations_new(NULL, &err);
	const struct examination e = { .fd = fd, .path = path, .ask = { .parts = parts, .refill = true } };
	assert_non_null(x);
	examinations_now(x, &e, out);
	examinations_free(x);
}

static void test_by_a_process(void **state)
{
	struct findings f;
	int fd = open(LIBGC, O_RDONLY | O_CLOEXEC);
	(void)state;
	now(LIBGC, fd, ALL, &f);
	assert_int_equal(f.failed.code, 0);
	check(LIBGC, &f);
	findings_free(&f);
	close(fd);
	fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	now("passwd", fd, ALL, &f);
	assert_int_equal(f.failed.code, ENOEXEC);
	assert_null(f.outline);
	findings_free(&f);
	close(fd);
}

/* --- one that takes long ---------------------------------------------------------------------- */

#define LONG_SYMBOLS (2u << 20)
#define LONG_NAME ((32u << 10) - 2) /* compared for each of them */

static void put_at(int fd, const void *bytes, size_t n, uint64_t at)
{
	assert_int_equal(pwrite(fd, bytes, n, (off_t)at), (ssize_t)n);
}

/* Millions of symbols that share one long name: gigabytes to compare, in little memory. */
static int long_file(void)
{
	enum { HEAD = 4096, NAMES = 32u << 10, PART = 1u << 16 };
	const uint64_t symbols = HEAD + NAMES, end = symbols + (uint64_t)LONG_SYMBOLS * sizeof(Elf64_Sym);
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_type = SHT_STRTAB, .sh_offset = HEAD, .sh_size = NAMES },
		{ .sh_type = SHT_SYMTAB,
		  .sh_offset = symbols,
		  .sh_size = end - symbols,
		  .sh_link = 1,
		  .sh_entsize = sizeof(Elf64_Sym) },
	};
	const Elf64_Phdr code = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = HEAD, .p_memsz = HEAD };
	const Elf64_Ehdr head = { .e_ident = ELFMAG "\2\1\1",
				  .e_type = ET_DYN,
				  .e_machine = EM_X86_64,
				  .e_version = 1,
				  .e_phoff = sizeof(head),
				  .e_phentsize = sizeof(code),
				  .e_phnum = 1,
				  .e_shoff = 1024,
				  .e_shentsize = sizeof(*sections),
				  .e_shnum = 3,
				  .e_shstrndx = 1 };
	static uint8_t names[NAMES];
	static Elf64_Sym part[PART];
	char name[] = "/tmp/test_examination.XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);
	assert_true(fd >= 0);
	unlink(name);
	memset(names, 'a', LONG_NAME);
	names[0] = 0;
	for (size_t i = 0; i < PART; i++)
		part[i] = (Elf64_Sym){
			.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_value = 64
		};
	put_at(fd, &head, sizeof(head), 0);
	put_at(fd, &code, sizeof(code), sizeof(head));
	put_at(fd, sections, sizeof(sections), 1024);
	put_at(fd, names, sizeof(names), HEAD);
	for (uint64_t i = 0; i < LONG_SYMBOLS; i += PART)
		put_at(fd, part, sizeof(part), symbols + i * sizeof(*part));
	return fd;
}

/* It takes as long as it may, and is then ended by the kernel. */
static void test_takes_long(void **state)
{
	const struct examiner_order order = { .ask = { .parts = ALL, .refill = true }, .seconds = 1, .path = "long" };
	struct examiner_reply reply;
	struct spawned examiner = { 0 };
	struct rusage used;
	int pipe = -1, status = 0, fd = long_file();
	char byte;
	(void)state;
	assert_int_equal(spawn_worker(&examiner, NULL, examiner_name), 0);
	fcntl(examiner.sock, F_SETFL, 0);
	assert_int_equal(handover_send(examiner.sock, &order, sizeof(order), fd, 0), 0);
	assert_int_equal(handover_receive(examiner.sock, &reply, sizeof(reply), &pipe), sizeof(reply));
	assert_true(reply.pid > 0);
	assert_int_equal(read(pipe, &byte, 1), 0);
	assert_int_equal(wait4(reply.pid, &status, 0, &used), reply.pid);
	assert_true(WIFSIGNALED(status));
	assert_true(WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU);
	spawn_end(&examiner);
	close(pipe);
	close(fd);
}

/* --- whose come first ---------------------------------------------------------------------------- */

#define FILES 8

struct queue {
	struct examinations *x;
	int fds[FILES];
	uint32_t fds_cnt;
	uint32_t begun[FILES]; /* files in the order in which their examinations began */
	size_t begun_cnt;
};

static bool open_queued(void *ctx, struct module_id module, int *fd, const char **path)
{
	struct queue *q = ctx;
	q->begun[q->begun_cnt++] = module.n;
	*fd = q->fds[module.n];
	*path = "file";
	return *fd >= 0;
}

static int copy_of(const char *path, uid_t owner)
{
	char name[] = "/tmp/test_examination.XXXXXX";
	char bytes[65536];
	ssize_t n;
	int in = open(path, O_RDONLY | O_CLOEXEC), out = mkostemp(name, O_CLOEXEC);
	assert_true(in >= 0 && out >= 0);
	unlink(name);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(out, bytes, (size_t)n), n);
	assert_int_equal(fchown(out, owner, owner), 0);
	close(in);
	return out;
}

static void queue_open(struct queue *q)
{
	const struct examinations_ops ops = { .ctx = q, .open = open_queued };
	struct err err;
	*q = (struct queue){ .x = examinations_new(&ops, &err) };
	assert_non_null(q->x);
}

static void queue_close(struct queue *q)
{
	examinations_free(q->x);
	for (uint32_t i = 0; i < q->fds_cnt; i++)
		close(q->fds[i]);
}

/* It is closed in the end. */
static void ask(struct queue *q, int fd, bool first)
{
	const struct examination e = { .module = { q->fds_cnt }, .fd = fd, .ask = all, .first = first };
	q->fds[q->fds_cnt++] = fd;
	assert_int_equal(examinations_ask(q->x, &e), 0);
}

static uint32_t next_done(struct queue *q)
{
	struct pollfd bell = { .fd = examinations_fd(q->x), .events = POLLIN };
	struct findings f;
	while (!examinations_take(q->x, &f))
		poll(&bell, 1, 10);
	uint32_t n = f.module.n;
	assert_int_equal(f.failed.code, 0);
	findings_free(&f);
	return n;
}

static int system_file(void)
{
	return open(GLIBC, O_RDONLY | O_CLOEXEC);
}

/* Files of several users are made by root only. */
static void need_root(void)
{
	if (geteuid())
		skip();
}

/* One user has many files; another user's single file, requested last, does not wait for all of them. */
static void test_fair(void **state)
{
	struct queue q;
	(void)state;
	need_root();
	queue_open(&q);
	for (uint32_t i = 0; i < FILES; i++)
		ask(&q, copy_of(GLIBC, i == FILES - 1 ? 1001 : 1000), false);
	for (uint32_t i = 0; i < FILES; i++)
		next_done(&q);
	assert_int_equal(q.begun_cnt, FILES);
	assert_int_equal(q.begun[1], FILES - 1);
	queue_close(&q);
}

/* A second file of the system's is read beside the first, but after another user's. */
static void test_system_beside(void **state)
{
	static const uint32_t begun[] = { 0, 2, 1 };
	struct queue q;
	(void)state;
	need_root();
	queue_open(&q);
	ask(&q, system_file(), false);
	ask(&q, system_file(), false);
	ask(&q, copy_of(GLIBC, 1000), false);
	for (int i = 0; i < 3; i++)
		next_done(&q);
	assert_memory_equal(q.begun, begun, sizeof(begun));
	queue_close(&q);
}

/* Of one user's files, those that other processes need are not behind all the others. */
static void test_first(void **state)
{
	struct queue q;
	(void)state;
	queue_open(&q);
	for (uint32_t i = 0; i < FILES; i++)
		ask(&q, copy_of(GLIBC, geteuid() ?: 1000), i == FILES - 1);
	assert_int_equal(next_done(&q), FILES - 1);
	assert_int_equal(q.begun[0], FILES - 1);
	queue_close(&q);
}

/* The same, of the system's. */
static void test_system_first(void **state)
{
	struct queue q;
	(void)state;
	queue_open(&q);
	for (uint32_t i = 0; i < FILES; i++)
		ask(&q, system_file(), i == FILES - 1);
	next_done(&q);
	assert_int_equal(q.begun[0], FILES - 1);
	queue_close(&q);
}

/* A file that is gone when its turn comes is skipped; the next one is examined. */
static void test_not_wanted_any_more(void **state)
{
	struct queue q;
	(void)state;
	queue_open(&q);
	ask(&q, system_file(), false);
	ask(&q, system_file(), false);
	close(q.fds[0]);
	q.fds[0] = -1;
	assert_int_equal(next_done(&q), 1);
	assert_false(examinations_are_busy(q.x));
	queue_close(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_if_found_here),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_by_a_process),
		cmocka_unit_test(test_takes_long),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_system_beside),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_system_first),
		cmocka_unit_test(test_not_wanted_any_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
