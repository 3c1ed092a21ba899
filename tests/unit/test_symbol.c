/* SPDX-License-Identifier: Apache-2.0 */
/* symbol: this test's own functions, a stripped copy with its debug file, and damaged files. */
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
#include <unistd.h>

#include "dwarf/answer.h"
#include "dwarf/spans.h"
#include "elf/elf.h"
#include "sandbox/jail.h"
#include "symbol/symbol.h"

static void test_spans(void **state)
{
	(void)state;
	struct spans s = { 0 };
	assert_int_equal(spans_find(&s, 0), SPANS_NONE);
	assert_int_equal(spans_add(&s, 5, 8, 3, 2), 0);
	assert_int_equal(spans_add(&s, 3, 10, 2, 1), 0);
	assert_int_equal(spans_add(&s, 0, 16, 1, 0), 0);
	assert_int_equal(spans_add(&s, 20, 20, 9, 0), 0); /* empty */
	assert_int_equal(spans_add(&s, 30, 40, 4, 0), 0);
	assert_int_equal(spans_add(&s, 30, 40, 5, 1), 0); /* as large, deeper */
	assert_int_equal(spans_add(&s, 38, 50, 6, 1), 0); /* sticks out */
	assert_int_equal(spans_add(&s, UINT64_MAX - 1, UINT64_MAX, 7, 0), 0);
	assert_int_equal(spans_seal(&s), 0);
	static const struct {
		uint64_t addr;
		uint32_t item;
	} rows[] = {
		{ 0, 1 },
		{ 2, 1 },
		{ 3, 2 },
		{ 4, 2 },
		{ 5, 3 },
		{ 7, 3 },
		{ 8, 2 },
		{ 9, 2 },
		{ 10, 1 },
		{ 15, 1 },
		{ 16, SPANS_NONE },
		{ 20, SPANS_NONE },
		{ 30, 5 },
		{ 37, 5 },
		{ 38, 6 },
		{ 49, 6 },
		{ 50, SPANS_NONE },
		{ UINT64_MAX - 1, 7 },
		{ UINT64_MAX, SPANS_NONE },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(spans_find(&s, rows[i].addr), rows[i].item);
	spans_free(&s);
}

/* Spans against the plain reading of "the innermost that holds it", on random nests. */
static void nest(struct spans *s, uint32_t *owner, uint64_t low, uint64_t high, uint32_t depth)
{
	static uint32_t items;
	if (depth == 0)
		items = 0;
	uint32_t item = items++;
	assert_int_equal(spans_add(s, low, high, item, depth), 0);
	for (uint64_t at = low; at < high; at++)
		owner[at] = item;
	for (uint64_t at = low; depth < 6 && at < high;) {
		uint64_t from = at + (uint64_t)rand() % 5, to = from + 1 + (uint64_t)rand() % (high - low);
		if (to > high)
			break;
		nest(s, owner, from, to, depth + 1);
		at = to;
	}
}

static void test_spans_nested(void **state)
{
	(void)state;
	srand(3);
	for (unsigned int round = 0; round < 300; round++) {
		struct spans s = { 0 };
		uint32_t owner[200];
		nest(&s, owner, 0, 200, 0);
		assert_int_equal(spans_seal(&s), 0);
		for (uint64_t at = 0; at < 200; at++)
			assert_int_equal(spans_find(&s, at), owner[at]);
		spans_free(&s);
	}
}

static char dir[64];

static const char source[] = "extern volatile int sink;\n" /* 1 */
			     "static inline __attribute__((always_inline)) void inner(int x)\n"
			     "{\n"
			     "	sink = x;\n" /* 4 */
			     "}\n"
			     "static inline __attribute__((always_inline)) void middle(int x)\n"
			     "{\n"
			     "	inner(x + 1);\n" /* 8 */
			     "}\n"
			     "void outer(int x)\n"
			     "{\n"
			     "	middle(x * 3);\n" /* 12 */
			     "}\n"
			     "void single(void) {}\n"
			     "volatile int sink;\n";

static void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	assert_int_equal(system(command), 0);
}

static int make_dir(void **state)
{
	(void)state;
	char path[128];
	strcpy(dir, "/tmp/test_symbol.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/t.c", dir);
	FILE *f = fopen(path, "w");
	if (!f)
		return -1;
	fputs(source, f);
	return fclose(f);
}

static int remove_dir(void **state)
{
	(void)state;
	run("rm -r %s", dir);
	return 0;
}

static int open_at(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

struct spot {
	const char *name;
	uint64_t vaddr, size;
};

static int take_spot(void *ctx, const struct elf_symbol *s)
{
	struct spot *spot = ctx;
	if (strcmp(s->name, spot->name))
		return 0;
	spot->vaddr = s->vaddr;
	spot->size = s->size;
	return 1;
}

static struct spot spot_of(const char *file, const char *function)
{
	char path[128];
	struct spot spot = { .name = function };
	int fd = open_at(file, path);
	struct elf *e = elf_open(fd, path, NULL);
	assert_non_null(e);
	assert_int_equal(elf_each_symbol(e, take_spot, &spot), 1);
	elf_close(e);
	close(fd);
	return spot;
}

/* A catalog with one stack that has one frame at every byte of the function. */
static struct catalog *ask(enum symbol_depth depth, int fd, const char *path, struct spot spot)
{
	struct catalog *c = catalog_new();
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_config){ .depth = depth });
	struct frame *frames = calloc(spot.size, sizeof(*frames));
	struct err err = { 0 };
	for (uint64_t i = 0; i < spot.size; i++)
		frames[i] = (struct frame){ .map = { 4 }, .rel = spot.vaddr + i + (i > 0) };
	assert_int_equal(catalog_put_mapping(c, &(struct mapping){ .id = { 4 }, .module = { 9 } }), 0);
	assert_int_equal(catalog_put_stack(c, &(struct stack){ .id = { 1 }, .n = (uint32_t)spot.size, .frames = frames }), 0);
	assert_int_equal(symbolizer_add_file(s, (struct module_id){ 9 }, dup(fd), path, &err), 0);
	assert_int_equal(symbolizer_run(s, c, NULL, NULL, &err), 0);
	symbolizer_free(s);
	free(frames);
	return c;
}

/* The address inside the function where the most calls are inlined. */
static const struct symbols *deepest(const struct catalog *c, struct spot spot)
{
	const struct symbols *best = NULL;
	for (uint64_t i = 0; i < spot.size; i++) {
		const struct symbols *s = catalog_symbols(c, (struct module_id){ 9 }, spot.vaddr + i);
		assert_non_null(s);
		assert_true(s->n >= 1);
		assert_string_equal(s->at[s->n - 1].name, spot.name);
		assert_false(s->at[s->n - 1].inlined);
		if (!best || s->n > best->n)
			best = s;
	}
	return best;
}

static void check_inlined(const char *file)
{
	static const struct {
		const char *name;
		uint32_t line;
	} want[] = { { "inner", 4 }, { "middle", 8 }, { "outer", 12 } };
	char path[128], c_file[128];
	struct spot spot = spot_of(file, "outer");
	int fd = open_at(file, path);
	struct catalog *c = ask(SYMBOL_DEPTH_FULL, fd, path, spot);
	const struct symbols *s = deepest(c, spot);
	snprintf(c_file, sizeof(c_file), "%s/t.c", dir);
	assert_int_equal(s->n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(s->at[i].name, want[i].name);
		assert_string_equal(s->at[i].file, c_file);
		assert_int_equal(s->at[i].line, want[i].line);
		assert_true(s->at[i].column > 0);
		assert_int_equal(s->at[i].quality, SYMBOL_EXACT);
		assert_int_equal(s->at[i].owner, SYMBOL_OWNER_PROGRAM);
		assert_int_equal(s->at[i].inlined, i < 2);
	}
	catalog_free(c);
	close(fd);
}

static void check_table(const char *file, enum symbol_depth depth)
{
	char path[128];
	struct spot spot = spot_of(file, "outer");
	int fd = open_at(file, path);
	struct catalog *c = ask(depth, fd, path, spot);
	const struct symbols *s = deepest(c, spot);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->at[0].quality, SYMBOL_TABLE);
	assert_null(s->at[0].file);
	catalog_free(c);
	close(fd);
}

static void test_inlined(void **state)
{
	(void)state;
	/* The directory of the compiler and a relative path make the whole path. */
	run("cd %s && gcc -O2 -g -shared -fPIC -o five.so t.c", dir);
	check_inlined("five.so");
	run("cd %s && gcc -O2 -gdwarf-4 -shared -fPIC -o four.so ./t.c", dir);
	check_inlined("four.so");
	run("cd %s && $(command -v clang-14 || command -v clang) -O2 -g -shared -fPIC -o clang.so %s/t.c", dir, dir);
	check_inlined("clang.so");
	run("cd %s && gcc -O2 -g -gz=zlib -shared -fPIC -o zlib.so %s/t.c", dir, dir);
	check_inlined("zlib.so");
	check_table("five.so", SYMBOL_DEPTH_NAME);
}

/* What runs at the place of an IFUNC is its resolver; a stripped library has no other name for it. */
static void test_ifunc(void **state)
{
	char path[128];
	(void)state;
	run("cd %s && echo 'volatile int wide; static void a(void) {} static void b(void) {}"
	    " static void (*resolver(void))(void) { return wide ? a : b; }"
	    " void picked(void) __attribute__((ifunc(\"resolver\")));' > ifunc.c &&"
	    " gcc -O0 -g0 -shared -fPIC -o ifunc.so ifunc.c && strip ifunc.so",
	    dir);
	struct spot spot = spot_of("ifunc.so", "picked");
	assert_true(spot.size > 0);
	int fd = open_at("ifunc.so", path);
	struct catalog *c = ask(SYMBOL_DEPTH_FULL, fd, path, spot);
	assert_int_equal(deepest(c, spot)->at[0].quality, SYMBOL_TABLE);
	catalog_free(c);
	close(fd);
}

static void test_debug_link(void **state)
{
	(void)state;
	run("cd %s && gcc -O2 -g -shared -fPIC -Wl,--build-id=none -o whole.so t.c && mkdir -p .debug &&"
	    " objcopy --only-keep-debug whole.so .debug/linked.debug &&"
	    " strip -o linked.so whole.so && objcopy --add-gnu-debuglink=.debug/linked.debug linked.so",
	    dir);
	check_inlined("linked.so");
	/* A debug file of another build: the checksum says so. */
	run("cd %s && gcc -O1 -g -shared -fPIC -Wl,--build-id=none -o .debug/linked.debug t.c", dir);
	check_table("linked.so", SYMBOL_DEPTH_FULL);
	/* Neither a missing one nor a FIFO in its place stops the work. */
	run("cd %s && rm .debug/linked.debug && mkfifo .debug/linked.debug", dir);
	check_table("linked.so", SYMBOL_DEPTH_FULL);
	run("cd %s && rm -r .debug", dir);
	check_table("linked.so", SYMBOL_DEPTH_FULL);
}

static void test_build_id(void **state)
{
	(void)state;
	run("cd %s && gcc -O2 -g -shared -fPIC -Wl,--build-id -o whole.so t.c && mkdir -p .debug &&"
	    " objcopy --only-keep-debug whole.so .debug/id.debug &&"
	    " strip -o id.so whole.so && objcopy --add-gnu-debuglink=.debug/id.debug id.so",
	    dir);
	check_inlined("id.so");
	/* The same code, but not the same build. */
	run("cd %s && gcc -O2 -g -shared -fPIC -Wl,--build-id=0x01020304 -o .debug/id.debug t.c", dir);
	check_table("id.so", SYMBOL_DEPTH_FULL);
	run("cd %s && rm -r .debug", dir);
}

/* What dwz moved out of two libraries into a third file, beside them. */
static void test_shared(void **state)
{
	(void)state;
	run("cd %s && gcc -O2 -g -shared -fPIC -Wl,--build-id -o a.so t.c &&"
	    " gcc -O2 -g -shared -fPIC -Wl,--build-id=0x0506 -o b.so t.c && dwz -m shared.dwz a.so b.so",
	    dir);
	check_inlined("a.so");
	check_inlined("b.so");
	run("cd %s && mkdir -p .debug && objcopy --only-keep-debug a.so .debug/a.debug &&"
	    " strip -o stripped.so a.so && objcopy --add-gnu-debuglink=.debug/a.debug stripped.so",
	    dir);
	check_inlined("stripped.so");
	/* Of another build: its names would be any. A file that has its own symbols does with those. */
	run("cd %s && objcopy --remove-section .note.gnu.build-id shared.dwz", dir);
	check_table("a.so", SYMBOL_DEPTH_FULL);
	run("cd %s && rm -r shared.dwz .debug", dir);
	check_table("b.so", SYMBOL_DEPTH_FULL);
}

/* A stripped library that keeps the names of its hidden functions as distributions do. */
static void test_packed(void **state)
{
	(void)state;
	run("cd %s && gcc -O2 -g -fvisibility=hidden -shared -fPIC -Wl,--undefined=outer -o whole.so t.c &&"
	    " strip -o bare.so whole.so && echo outer > keep &&"
	    " objcopy -S --keep-symbols=keep whole.so mini && xz -kf mini &&"
	    " objcopy --add-section .gnu_debugdata=mini.xz bare.so packed.so",
	    dir);
	char path[128];
	struct spot spot = spot_of("whole.so", "outer");
	int fd = open_at("bare.so", path);
	struct catalog *c = ask(SYMBOL_DEPTH_FULL, fd, path, spot);
	assert_int_equal(catalog_symbols(c, (struct module_id){ 9 }, spot.vaddr)->at[0].quality, SYMBOL_MODULE);
	catalog_free(c);
	close(fd);
	for (enum symbol_depth depth = SYMBOL_DEPTH_NAME; depth <= SYMBOL_DEPTH_FULL; depth++) {
		fd = open_at("packed.so", path);
		c = ask(depth, fd, path, spot);
		assert_int_equal(deepest(c, spot)->at[0].quality, SYMBOL_TABLE);
		catalog_free(c);
		close(fd);
	}
}

/* Half a stream, no stream, a stream of no ELF file, and one that unpacks to a gigabyte. */
static void test_packed_damaged(void **state)
{
	(void)state;
	static const char *const made[] = {
		"head -c 300 mini.xz",
		"echo no xz",
		"echo no ELF | xz",
		"head -c 1G /dev/zero | xz -0 -T2",
	};
	char path[128];
	struct spot spot = spot_of("whole.so", "outer");
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		run("cd %s && (%s) > bad.xz && objcopy --add-section .gnu_debugdata=bad.xz bare.so bad.so", dir, made[i]);
		int fd = open_at("bad.so", path);
		struct catalog *c = ask(SYMBOL_DEPTH_FULL, fd, path, spot);
		assert_int_equal(catalog_symbols(c, (struct module_id){ 9 }, spot.vaddr)->at[0].quality, SYMBOL_MODULE);
		assert_int_equal(catalog_count(c, "symbols-worker-died"), 0);
		catalog_free(c);
		close(fd);
	}
}

/* Debug information is mapped, not loaded: there may be more of it than a worker may write to. */
static void test_larger_than_memory(void **state)
{
	(void)state;
	run("cd %s && printf '.section .note.GNU-stack\n.section .debug_str\n.skip %llu\n.byte 0\n' > large.s &&"
	    " gcc -O2 -g -shared -fPIC -o large.so t.c large.s",
	    dir, JAIL_MEMORY + (8ull << 20));
	check_inlined("large.so");
	run("rm %s/large.so", dir);
}

/* Compressed sections say how large they are: 2^40 bytes is more than a worker may have. */
static void test_too_large(void **state)
{
	(void)state;
	static const uint8_t packed[] = { 1, 0, 0, 0, 0, 0, 0, 0 };
	char path[128], bytes[1 << 16];
	struct spot spot = spot_of("zlib.so", "outer");
	int fd = open_at("zlib.so", path);
	size_t n = (size_t)pread(fd, bytes, sizeof(bytes), 0), hits = 0;
	close(fd);
	for (size_t i = 0; i + 26 < n; i += 8) {
		if (memcmp(bytes + i, packed, 8) || memcmp(bytes + i + 16, packed, 8) || bytes[i + 24] != 'x')
			continue;
		bytes[i + 13] = 1;
		hits++;
	}
	assert_true(hits > 0);
	fd = memfd_create("large", MFD_CLOEXEC);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	struct catalog *c = ask(SYMBOL_DEPTH_FULL, fd, path, spot);
	assert_int_equal(deepest(c, spot)->at[0].quality, SYMBOL_TABLE);
	assert_int_equal(catalog_count(c, "symbols-too-large"), 1);
	catalog_free(c);
	close(fd);
}

static void test_no_answer(void **state)
{
	(void)state;
	struct catalog *c = catalog_new();
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_config){ .depth = SYMBOL_DEPTH_FULL });
	struct err err = { 0 };
	struct frame frames[] = { { { 1 }, 0x10 }, { { 2 }, 0x1001 }, { { 0 }, 0x77 }, { { 8 }, 0x77 } };
	const struct symbol kept = { .name = "kept", .quality = SYMBOL_EXACT };
	char path[128];
	run("cd %s && gcc -O2 -g -shared -fPIC -o five.so t.c", dir);
	int fd = open_at("five.so", path);
	catalog_put_mapping(c, &(struct mapping){ .id = { 1 }, .module = { 5 } });
	catalog_put_mapping(c, &(struct mapping){ .id = { 2 }, .module = { 6 } });
	catalog_put_module(c, &(struct module){ .id = { 6 }, .path = "/gone/libgc.so.1" });
	catalog_put_stack(c, &(struct stack){ .id = { 1 }, .n = 4, .frames = frames });
	assert_int_equal(symbolizer_add_file(s, (struct module_id){ 5 }, fd, path, &err), 0);
	assert_int_equal(symbolizer_run(s, c, NULL, NULL, &err), 0);
	/* In the ELF header; in a module without a file. */
	const struct symbols *none = catalog_symbols(c, (struct module_id){ 5 }, 0x10);
	assert_int_equal(none->n, 1);
	assert_null(none->at[0].name);
	assert_int_equal(none->at[0].quality, SYMBOL_MODULE);
	assert_int_equal(none->at[0].owner, SYMBOL_OWNER_PROGRAM);
	none = catalog_symbols(c, (struct module_id){ 6 }, 0x1000);
	assert_int_equal(none->at[0].quality, SYMBOL_MODULE);
	assert_int_equal(none->at[0].owner, SYMBOL_OWNER_ALLOCATOR);
	/* What is there already stays. */
	catalog_put_symbols(c, (struct module_id){ 5 }, 0x10, &(struct symbols){ .n = 1, .at = (struct symbol *)&kept });
	assert_int_equal(symbolizer_run(s, c, NULL, NULL, &err), 0);
	assert_string_equal(catalog_symbols(c, (struct module_id){ 5 }, 0x10)->at[0].name, "kept");
	assert_int_equal(symbolizer_add_file(s, (struct module_id){ 7 }, -1, "gone", &err), -EBADF);
	assert_non_null(strstr(err.text, "gone"));
	int refused = open(dir, O_RDONLY | O_CLOEXEC);
	assert_int_equal(symbolizer_add_file(s, (struct module_id){ 7 }, refused, dir, &err), -EINVAL);
	assert_int_equal(fcntl(refused, F_GETFD), -1);
	symbolizer_free(s);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	catalog_free(c);
}

/* Whatever the bytes are: an answer or an error, in time. In this process, so that the sanitizers see it. */
static void try_damaged(const uint8_t *data, size_t n, struct spot spot)
{
	struct symbol symbols[SOURCE_DEPTH];
	int fd = memfd_create("damaged", MFD_CLOEXEC);
	assert_int_equal(write(fd, data, n), (ssize_t)n);
	struct answerer *a = answerer_new(fd, SYMBOL_DEPTH_FULL, false, NULL, NULL);
	for (uint64_t i = 0; a && i < 32; i++)
		assert_in_range(answerer_find(a, spot.vaddr + i, symbols), 1, SOURCE_DEPTH);
	answerer_free(a);
	close(fd);
}

static void test_damaged(void **state)
{
	(void)state;
	char path[128];
	run("cd %s && gcc -O2 -g -shared -fPIC -nostdlib -o bare.so t.c", dir);
	struct spot spot = spot_of("bare.so", "outer");
	int fd = open_at("bare.so", path);
	size_t n = (size_t)lseek(fd, 0, SEEK_END), debug = 0;
	uint8_t *good = malloc(n), *bad = malloc(n);
	assert_int_equal(pread(fd, good, n, 0), (ssize_t)n);
	close(fd);
	while (debug < n - 5 && memcmp(good + debug, "GCC: ", 5))
		debug++; /* .comment, in front of the debug sections */
	srand(11);
	for (unsigned int round = 0; round < 2000; round++) {
		memcpy(bad, good, n);
		for (unsigned int hit = 0; hit < 1 + round % 6; hit++) {
			size_t at = round % 4 ? debug + (size_t)rand() % (n - debug) : (size_t)rand() % n;
			bad[at] = rand() % 3 ? (uint8_t)rand() : rand() % 2 ? 0xff : 0;
		}
		try_damaged(bad, round % 9 ? n : (size_t)rand() % n, spot);
	}
	free(good);
	free(bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spans),     cmocka_unit_test(test_spans_nested),
		cmocka_unit_test(test_inlined),   cmocka_unit_test(test_debug_link),
		cmocka_unit_test(test_build_id),  cmocka_unit_test(test_shared),
		cmocka_unit_test(test_packed),    cmocka_unit_test(test_packed_damaged),
		cmocka_unit_test(test_too_large), cmocka_unit_test(test_larger_than_memory),
		cmocka_unit_test(test_no_answer), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_ifunc),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
