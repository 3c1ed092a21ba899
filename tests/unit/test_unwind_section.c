/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/section: this program as a file, intact and without the headers that usually lead to its .eh_frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/unwind.h"

struct copy {
	uint8_t *bytes;
	size_t size;
};

static struct copy copy_self(void)
{
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	struct copy c = { malloc((size_t)st.st_size), (size_t)st.st_size };
	assert_int_equal(read(fd, c.bytes, c.size), st.st_size);
	close(fd);
	return c;
}

static struct unwind_table *compile(const struct copy *c, struct err *err)
{
	int fd = memfd_create("copy", MFD_CLOEXEC);
	assert_int_equal(write(fd, c->bytes, c->size), (ssize_t)c->size);
	struct elf *e = elf_open(fd, "copy", err);
	assert_non_null(e);
	struct unwind_table *t = unwind_compile(e, err);
	elf_close(e);
	close(fd);
	return t;
}

static Elf64_Ehdr *head_of(struct copy *c)
{
	return (Elf64_Ehdr *)c->bytes;
}

static void cut_sections(struct copy *c)
{
	head_of(c)->e_shoff = 0;
	head_of(c)->e_shnum = 0;
	head_of(c)->e_shstrndx = 0;
}

/* The PLT has no unwind information on arm64, so only its section header tells where it is. */
static void cut_plt(struct copy *c)
{
	static const char name[] = ".plt";
	uint8_t *found = memmem(c->bytes, c->size, name, sizeof(name));
	for (; found; found = memmem(found, (size_t)(c->bytes + c->size - found), name, sizeof(name)))
		*found = '_';
}

static Elf64_Phdr *index_of(struct copy *c)
{
	Elf64_Phdr *ph = (Elf64_Phdr *)(c->bytes + head_of(c)->e_phoff);
	while (ph->p_type != PT_GNU_EH_FRAME)
		ph++;
	return ph;
}

static void refused(struct copy *c, int code)
{
	struct err err = { 0 };
	assert_null(compile(c, &err));
	assert_int_equal(err.code, code);
	free(c->bytes);
}

static void test_without_section_headers(void **state)
{
	struct copy c = copy_self();
	struct err err = { 0 };
	(void)state;
	cut_plt(&c);
	struct unwind_table *whole = compile(&c, &err);
	assert_non_null(whole);
	cut_sections(&c);
	struct unwind_table *cut = compile(&c, &err);
	assert_non_null(cut);
	assert_true(whole->rows_cnt > 100);
	assert_int_equal(whole->rows_cnt, cut->rows_cnt);
	assert_memory_equal(whole->rows, cut->rows, cut->rows_cnt * sizeof(*cut->rows));
	unwind_free(whole);
	unwind_free(cut);
	free(c.bytes);
}

static void test_without_anything(void **state)
{
	struct copy c = copy_self();
	(void)state;
	index_of(&c)->p_type = PT_NULL;
	cut_sections(&c);
	refused(&c, ENODATA);
}

/* Each byte of the index's header, and entries outside the file. */
static void test_damaged_index(void **state)
{
	(void)state;
	for (size_t i = 0; i < 8; i++) {
		struct copy c = copy_self();
		struct err err = { 0 };
		uint8_t *index = c.bytes + index_of(&c)->p_offset;
		cut_sections(&c);
		index[i] ^= 0x55;
		assert_null(compile(&c, &err));
		assert_true(err.code == ENODATA || err.code == EBADMSG);
		free(c.bytes);
	}
	struct copy c = copy_self();
	uint8_t *index = c.bytes + index_of(&c)->p_offset;
	cut_sections(&c);
	memset(index + 12, 0x7f, index_of(&c)->p_filesz - 12);
	refused(&c, ENODATA);
}

/* A section of another name takes .debug_frame's place. */
static void test_debug_frame_is_refused(void **state)
{
	struct copy c = copy_self();
	Elf64_Shdr *sh = (Elf64_Shdr *)(c.bytes + head_of(&c)->e_shoff);
	uint8_t *names = c.bytes + sh[head_of(&c)->e_shstrndx].sh_offset;
	uint32_t spare = 0;
	(void)state;
	for (unsigned int i = 0; i < head_of(&c)->e_shnum; i++) {
		if (!strcmp((char *)names + sh[i].sh_name, ".note.gnu.build-id"))
			spare = sh[i].sh_name;
	}
	assert_true(spare);
	strcpy((char *)names + spare, ".debug_frame");
	for (unsigned int i = 0; i < head_of(&c)->e_shnum; i++) {
		if (!strcmp((char *)names + sh[i].sh_name, ".eh_frame"))
			sh[i].sh_name = spare;
	}
	index_of(&c)->p_type = PT_NULL;
	refused(&c, ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_section_headers),
		cmocka_unit_test(test_without_anything),
		cmocka_unit_test(test_damaged_index),
		cmocka_unit_test(test_debug_frame_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
