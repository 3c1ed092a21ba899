/* SPDX-License-Identifier: Apache-2.0 */
/* elf: this test's own executable, libc and small files made by the compiler, whole and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/arch.h"
#include "elf/elf.h"

static int memory_file(const void *data, size_t n)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), (ssize_t)n);
	return fd;
}

static uint8_t *slurp(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	uint8_t *data = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	*n = (size_t)st.st_size;
	return data;
}

static const char *libc_path(void)
{
	Dl_info info;
	assert_true(dladdr((void *)(uintptr_t)&gnu_get_libc_version, &info));
	return info.dli_fname;
}

struct wanted {
	const char *name;
	bool dynamic;
	struct elf_symbol found;
	unsigned int hits;
};

static int look_for(void *ctx, const struct elf_symbol *s)
{
	struct wanted *w = ctx;
	if (!strcmp(s->name, w->name) && s->dynamic == w->dynamic) {
		w->found = *s;
		w->hits++;
	}
	return 0;
}

static struct wanted find(const struct elf *e, const char *name, bool dynamic)
{
	struct wanted w = { .name = name, .dynamic = dynamic };
	assert_int_equal(elf_each_symbol(e, look_for, &w), 0);
	return w;
}

static uint64_t own_bias(void)
{
	struct link_map *map;
	Dl_info info;
	assert_true(dladdr1((void *)(uintptr_t)&own_bias, &info, (void **)&map, RTLD_DL_LINKMAP));
	return map->l_addr;
}

static void test_own_symbols(void **state)
{
	(void)state;
	struct err err = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, "self", &err);
	assert_non_null(e);
	assert_true(elf_is_pie(e));
	struct wanted w = find(e, "own_bias", false);
	assert_int_equal(w.hits, 1);
	assert_true(w.found.defined);
	assert_int_equal(w.found.type, STT_FUNC);
	assert_int_equal(w.found.vaddr + own_bias(), (uint64_t)(uintptr_t)&own_bias);
	const uint8_t *code = elf_bytes(e, w.found.vaddr, w.found.size);
	assert_non_null(code);
	assert_memory_equal(code, (void *)(uintptr_t)&own_bias, w.found.size);
	uint64_t offset, back;
	assert_true(elf_offset_of(e, w.found.vaddr, &offset));
	assert_true(elf_mapped_vaddr(e, &(struct elf_mapped){ offset, 1, true }, &back));
	assert_int_equal(back, w.found.vaddr);
	/* .symtab says memfd_create@GLIBC_2.27. */
	w = find(e, "memfd_create", false);
	assert_int_equal(w.hits, 1);
	assert_false(w.found.defined);
	elf_close(e);
	close(fd);
}

static int stop_at_third(void *ctx, const struct elf_symbol *s)
{
	(void)s;
	return ++*(int *)ctx == 3 ? 42 : 0;
}

static void test_libc(void **state)
{
	(void)state;
	struct err err = { 0 };
	int fd = open(libc_path(), O_RDONLY | O_CLOEXEC), calls = 0;
	struct elf *e = elf_open(fd, "libc", &err);
	assert_non_null(e);
	struct wanted w = find(e, "malloc", true);
	assert_int_equal(w.hits, 1);
	assert_true(w.found.defined && w.found.size);
	assert_int_equal(find(e, "strlen", true).found.type, STT_GNU_IFUNC);
	assert_int_equal(find(e, "GLIBC_2.2.5", true).hits, 0); /* a version, no place */
	assert_int_equal(find(e, "errno", true).found.type, STT_TLS);
	assert_int_equal(elf_each_symbol(e, stop_at_third, &calls), 42);
	assert_int_equal(calls, 3);

	const struct elf_segment *seg;
	size_t n = elf_segments(e, &seg), exec = 0;
	for (size_t i = 0; i < n; i++)
		exec += seg[i].exec && w.found.vaddr - seg[i].vaddr < seg[i].filesz;
	assert_int_equal(exec, 1);
	const struct elf_segment *last = &seg[n - 1];
	assert_true(last->memsz > last->filesz);
	assert_null(elf_bytes(e, last->vaddr + last->filesz, 1)); /* .bss */
	assert_null(elf_bytes(e, last->vaddr + last->filesz - 1, 2));
	assert_non_null(elf_bytes(e, last->vaddr + last->filesz - 1, 1));
	assert_null(elf_bytes(e, last->vaddr, SIZE_MAX));

	size_t size = 0;
	uint64_t vaddr = 0;
	const uint8_t *frames = elf_section(e, ".eh_frame", &size, &vaddr);
	assert_non_null(frames);
	assert_true(size > 1000);
	assert_ptr_equal(frames, elf_bytes(e, vaddr, size));
	assert_null(elf_section(e, ".bss", &size, &vaddr));
	assert_null(elf_section(e, ".nothing", &size, &vaddr));
	elf_close(e);
	close(fd);
}

/* Text and constants share the file's first page, which is mapped twice, as by lld and mold. */
static void test_segments_that_share_a_page(void **state)
{
	static const struct {
		struct elf_mapped part;
		bool found;
		uint64_t vaddr;
	} wanted[] = {
		{ { 0, 0x1000, false }, true, 0x200000 },      { { 0, 0x3000, true }, true, 0x201000 },
		{ { 0, 0x1000, true }, true, 0x201000 },       /* the begin of it, after mprotect */
		{ { 0x1000, 0x2000, true }, true, 0x202000 },  /* the rest */
		{ { 0x2000, 0x2000, true }, true, 0x204000 },  /* another one with code */
		{ { 0x3000, 0x1000, false }, true, 0x206000 }, /* data */
		{ { 0x4000, 0x1000, true }, false, 0 },
	};
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[4];
	} file = {
		.eh = { .e_ident = ELFMAG,
			.e_machine = elf_arch.machine,
			.e_type = ET_EXEC,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 4 },
		.ph = { { .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x200000, .p_filesz = 0x5d0 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x5d0, .p_vaddr = 0x2015d0, .p_filesz = 0x2000 },
			{ .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_offset = 0x25d0,
			  .p_vaddr = 0x2045d0,
			  .p_filesz = 0x1000 },
			{ .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_W,
			  .p_offset = 0x35d0,
			  .p_vaddr = 0x2065d0,
			  .p_filesz = 0x100 } },
	};
	(void)state;
	file.eh.e_ident[EI_CLASS] = ELFCLASS64;
	file.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	for (size_t i = 0; i < 4; i++)
		file.ph[i].p_memsz = file.ph[i].p_filesz;
	struct elf *e = elf_open_bytes(&file, sizeof(file), "layout", NULL);
	assert_non_null(e);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		uint64_t vaddr = 0;
		assert_int_equal(elf_mapped_vaddr(e, &wanted[i].part, &vaddr), wanted[i].found);
		assert_int_equal(vaddr, wanted[i].vaddr);
	}
	elf_close(e);
}

static int first_note(struct dl_phdr_info *info, size_t sz, void *ctx)
{
	(void)sz;
	for (int i = 0; i < info->dlpi_phnum && !info->dlpi_name[0]; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const ElfW(Nhdr) *nh = (const void *)(info->dlpi_addr + ph->p_vaddr);
		if (ph->p_type == PT_NOTE && nh->n_type == NT_GNU_BUILD_ID)
			memcpy(ctx, (const uint8_t *)(nh + 1) + 4, 20);
	}
	return 0;
}

static void test_build_id(void **state)
{
	(void)state;
	struct err err = { 0 };
	uint8_t want[20] = { 0 }, got[32], zero[20] = { 0 };
	dl_iterate_phdr(first_note, want);
	if (!memcmp(want, zero, 20))
		skip();
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, "self", &err);
	assert_int_equal(elf_build_id(e, got, sizeof(got)), 20);
	assert_memory_equal(got, want, 20);
	assert_int_equal(elf_build_id(e, got, 4), 4);
	elf_close(e);
	close(fd);
}

static char dir[64];

/* A small shared library, or program with -pie, by the compiler in the test's own directory. */
static char *compile(const char *source, const char *flags)
{
	static char out[128];
	char command[512], path[128];
	snprintf(path, sizeof(path), "%s/t.c", dir);
	snprintf(out, sizeof(out), "%s/t.so", dir);
	FILE *f = fopen(path, "w");
	fputs(source, f);
	fclose(f);
	snprintf(command, sizeof(command), TEST_CC " %s -fPIC -nostdlib -o %s %s %s", strstr(flags, "-pie") ? "" : "-shared", out,
		 path, flags);
	assert_int_equal(system(command), 0);
	return out;
}

/* Where objdump sees a stub, it is one of that function. */
static void check_stub(const struct elf *e, const char *path, const char *name)
{
	char command[512];
	unsigned long long at = 0;
	snprintf(command, sizeof(command), TEST_OBJDUMP " -d %s | sed -n 's/ <%s@plt>:$//p'", path, name);
	FILE *f = popen(command, "r");
	assert_int_equal(fscanf(f, "%llx", &at), 1);
	pclose(f);
	const char *target = elf_plt_target(e, at);
	assert_non_null(target);
	assert_string_equal(target, name);
}

static void check_plt(const char *flags)
{
	struct err err = { 0 };
	char *path = compile("void *malloc(unsigned long); void free(void *); void *p = free;\n"
			     "void *take(void) { void *m = malloc(8); free(m); return m; }\n",
			     flags);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, path, &err);
	struct wanted w = find(e, "take", true);
	assert_non_null(e);
	assert_int_equal(w.hits, 1);
	check_stub(e, path, "malloc");
	check_stub(e, path, "free");
	assert_null(elf_plt_target(e, w.found.vaddr));
	elf_close(e);
	close(fd);
}

static void test_plt(void **state)
{
	(void)state;
	check_plt("-O0");
	check_plt("-O0 " TEST_PROTECTED);
	check_plt("-O0 -Wl,-z,now");
}

/* Symbols as in Crystal programs: names with @ inside, beside versioned ones. */
static void test_at_names(void **state)
{
	(void)state;
	struct err err = { 0 };
	char *path = compile("__asm__(\".text\\n.globl \\\"*Array(Foo)@Array(T)#push<Foo>:Nil\\\"\\n.type "
			     "\\\"*Array(Foo)@Array(T)#push<Foo>:Nil\\\",@function\\n\"\n"
			     "\"\\\"*Array(Foo)@Array(T)#push<Foo>:Nil\\\": ret\\n\");\n"
			     "int puts(const char *); int plain(void) { return puts(\"x\"); }\n",
			     "-pie -rdynamic -Wl,-e,plain -lc");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, path, &err);
	assert_non_null(e);
	assert_int_equal(find(e, "*Array(Foo)@Array(T)#push<Foo>:Nil", false).hits, 1);
	/* In .dynsym ld makes a version of the second half. */
	struct wanted joined = find(e, "*Array(Foo)@Array(T)#push<Foo>:Nil", true);
	assert_int_equal(joined.hits, 1);
	assert_int_equal(joined.found.vaddr, find(e, joined.name, false).found.vaddr);
	assert_int_equal(find(e, "*Array(Foo)", true).hits, 0);
	assert_int_equal(find(e, "plain", false).hits, 1);
	assert_int_equal(find(e, "puts", false).hits, 1); /* puts@GLIBC_2.2.5 in the file */
	elf_close(e);
	close(fd);
}

static void refused(const void *data, size_t n, const char *why)
{
	struct err err = { 0 };
	int fd = memory_file(data, n);
	assert_null(elf_open(fd, "thing", &err));
	assert_int_equal(err.code, ENOEXEC);
	assert_non_null(strstr(err.text, why));
	close(fd);
}

static void test_refused(void **state)
{
	(void)state;
	size_t n;
	uint8_t *data = slurp("/proc/self/exe", &n);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)data;
	refused("#!/bin/sh\n", 10, "thing: ");
	refused("", 0, "thing: ");
	refused(data, sizeof(*eh) - 1, "thing: ");
	refused(data, sizeof(*eh), "thing: "); /* program headers are missing */
	eh->e_machine = elf_arch.machine == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
	refused(data, n, elf_arch.whole);
	eh->e_machine = elf_arch.machine;
	eh->e_ident[EI_CLASS] = ELFCLASS32;
	refused(data, n, elf_arch.whole);
	free(data);

	struct err err = { 0 };
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_null(elf_open(fd, "dir", &err));
	assert_int_equal(err.code, ENOEXEC);
	close(fd);
	assert_null(elf_open(-1, "none", &err));
	assert_int_equal(err.code, EBADF);
}

/* Calls everything in the interface; only crashes matter, not results. */
static void exercise(int fd)
{
	struct err err = { 0 };
	struct elf *e = elf_open(fd, "damaged", &err);
	if (!e)
		return;
	static const char *const sections[] = { ".text", ".symtab", ".eh_frame", ".debug_line" };
	uint8_t id[32];
	const struct elf_segment *seg;
	uint64_t at = 0, n = 0;
	size_t sz = 0;
	elf_build_id(e, id, sizeof(id));
	find(e, "main", false);
	for (size_t i = 0; i < 4; i++) {
		const uint8_t *bytes = elf_section(e, sections[i], &sz, &at);
		if (bytes && sz)
			n += bytes[0] + bytes[sz - 1];
	}
	for (size_t i = 0, cnt = elf_segments(e, &seg); i < cnt && i < 16; i++) {
		const uint8_t *bytes = elf_bytes(e, seg[i].vaddr, seg[i].filesz);
		if (bytes && seg[i].filesz)
			n += bytes[seg[i].filesz - 1];
		elf_offset_of(e, seg[i].vaddr + 1, &at);
		elf_mapped_vaddr(e, &(struct elf_mapped){ seg[i].offset + 1, seg[i].memsz, true }, &at);
		elf_plt_target(e, seg[i].vaddr + 0x20);
	}
	assert_true(n < UINT64_MAX);
	elf_close(e);
}

static void test_damaged(void **state)
{
	(void)state;
	size_t n;
	uint8_t *good = slurp(compile("void *malloc(long); void *f(void) { return malloc(1); }", "-g"), &n);
	uint8_t *bad = malloc(n);
	Elf64_Ehdr eh;
	memcpy(&eh, good, sizeof(eh));
	srand(1);
	for (unsigned int round = 0; round < 1500; round++) {
		memcpy(bad, good, n);
		for (unsigned int hit = 0; hit < 1 + round % 8; hit++) {
			/* Half of the hits in the headers, where they matter. */
			size_t at = (size_t)rand() % n;
			if (round % 2)
				at = hit % 2 ? eh.e_shoff + (size_t)rand() % (n - eh.e_shoff) : (size_t)rand() % 1024;
			bad[at] = rand() % 3 ? (uint8_t)rand() : 0xff;
		}
		int fd = memory_file(bad, round % 5 ? n : (size_t)rand() % n);
		exercise(fd);
		close(fd);
	}
	free(bad);
	free(good);
}

/* A traced program truncates its own file: what was read stays, the rest is missing, no SIGBUS. */
static void test_truncated_meanwhile(void **state)
{
	(void)state;
	size_t n;
	struct err err = { 0 };
	uint8_t *data = slurp(libc_path(), &n);
	int fd = memory_file(data, n);
	struct elf *e = elf_open(fd, "libc", &err);
	struct wanted w = find(e, "malloc", true);
	const uint8_t *code = elf_bytes(e, w.found.vaddr, 16);
	uint8_t before[16];
	memcpy(before, code, 16);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_memory_equal(elf_bytes(e, w.found.vaddr, 16), before, 16);
	assert_null(elf_section(e, ".eh_frame", &n, NULL));
	assert_int_equal(find(e, "malloc", true).hits, 1);
	elf_close(e);
	close(fd);
	free(data);
}

static void test_sparse(void **state)
{
	(void)state;
	size_t n;
	struct err err = { 0 };
	uint8_t *data = slurp("/proc/self/exe", &n);
	int fd = memory_file(data, n);
	free(data);
	assert_int_equal(ftruncate(fd, 1ll << 45), 0);
	assert_null(elf_open(fd, "sparse", &err));
	assert_int_equal(err.code, EFBIG);
	close(fd);
}

/* A file of at most 64 KiB that claims a gigabyte for the named section. */
static struct elf *open_huge(const char *name, int *fd, bool stored)
{
	size_t n;
	struct err err = { 0 };
	uint8_t *data = slurp(libc_path(), &n);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)data;
	Elf64_Shdr *sh = (Elf64_Shdr *)(data + eh->e_shoff);
	const char *names = (const char *)data + sh[eh->e_shstrndx].sh_offset;
	uint64_t most = stored ? 4ull << 20 : 1ull << 30;
	for (int i = 1; i < eh->e_shnum; i++) {
		if (strcmp(names + sh[i].sh_name, name))
			continue;
		sh[i].sh_offset = n;
		sh[i].sh_size = most;
	}
	*fd = memory_file(data, n);
	assert_int_equal(ftruncate(*fd, (off_t)(n + most)), 0);
	free(data);
	struct elf *e = elf_open(*fd, "huge", &err);
	assert_non_null(e);
	return e;
}

static void test_huge_sections(void **state)
{
	(void)state;
	static const char *const names[] = { ".dynsym", ".dynstr", ".eh_frame", ".rela.dyn", ".rodata", ".gnu.version_d" };
	for (size_t i = 0; i < 2 * sizeof(names) / sizeof(names[0]); i++) {
		size_t size;
		int fd;
		struct elf *e = open_huge(names[i / 2], &fd, i % 2);
		assert_null(elf_section(e, names[i / 2], &size, NULL));
		assert_non_null(elf_refusal(e));
		elf_close(e);
		close(fd);
	}
}

/* The sum of all parts is bounded, too, and what was read before stays. */
static void test_huge_altogether(void **state)
{
	(void)state;
	size_t n;
	struct err err = { 0 };
	uint8_t *data = slurp("/proc/self/exe", &n);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)data;
	Elf64_Phdr *ph = (Elf64_Phdr *)(data + eh->e_phoff);
	for (int i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		ph[i].p_vaddr = ph[i].p_offset = 0;
		ph[i].p_filesz = ph[i].p_memsz = 4ull << 30;
	}
	int fd = memory_file(data, n);
	free(data);
	assert_int_equal(ftruncate(fd, 4ll << 30), 0);
	struct elf *e = elf_open(fd, "huge", &err);
	assert_non_null(e);
	const uint8_t *first = elf_bytes(e, 0, 4);
	size_t given = 0;
	for (uint64_t at = 0; at < 4ull << 30; at += 1 << 20)
		given += elf_bytes(e, at, 512 << 10) != NULL;
	assert_true(given <= 1024);
	assert_non_null(elf_refusal(e));
	assert_memory_equal(first, ELFMAG, SELFMAG);
	elf_close(e);
	close(fd);
}

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test_elf.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	char path[128];
	static const char *const names[] = { "t.c", "t.so" };
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_symbols),
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_segments_that_share_a_page),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_at_names),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_truncated_meanwhile),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_huge_sections),
		cmocka_unit_test(test_huge_altogether),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
