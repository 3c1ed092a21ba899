/* SPDX-License-Identifier: Apache-2.0 */
/* Correction of old traces: each frame once, however many mappings and stacks there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "naming/rebase.h"

#define MODULES 200000
#define MANY 20000u /* with a scan for each stack it would take minutes */

/* Text and constants share the file's first page. */
static struct elf *shared_page(void)
{
	static struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[2];
	} file = {
		.eh = { .e_ident = ELFMAG,
			.e_machine = EM_X86_64,
			.e_type = ET_DYN,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2 },
		.ph = { { .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x200000, .p_filesz = 0x5d0, .p_memsz = 0x5d0 },
			{ .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_offset = 0x5d0,
			  .p_vaddr = 0x2015d0,
			  .p_filesz = 0x2000,
			  .p_memsz = 0x2000 } },
	};
	file.eh.e_ident[EI_CLASS] = ELFCLASS64;
	file.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	return elf_open_bytes(&file, sizeof(file), "shared", NULL);
}

/* Every other mapping is of another module. */
static void fill(struct catalog *c)
{
	for (uint32_t i = 1; i <= MANY; i++) {
		const uint64_t start = i * 0x10000ull;
		const struct mapping m = { .id = { i },
					   .proc = { 1 },
					   .module = { 1 + i % 2 },
					   .start = start,
					   .end = start + 0x3000,
					   .bias = start - 0x200000 };
		const struct frame frames[] = { { { 0 }, 0x77 }, { { i }, 0x200600 }, { { i % MANY + 1 }, 0x200700 } };
		const struct stack s = { .id = { i }, .proc = { 1 }, .n = 3, .frames = frames };
		assert_int_equal(catalog_put_mapping(c, &m), 0);
		assert_int_equal(catalog_put_stack(c, &s), 0);
	}
}

static void test_many_mappings(void **state)
{
	struct catalog *c = catalog_new();
	struct elf *e = shared_page();
	(void)state;
	assert_non_null(e);
	fill(c);
	struct rebase r = { .catalog = c };
	assert_int_equal(rebase_module(&r, (struct module_id){ 1 }, e), 0);
	assert_int_equal(rebase_stacks(&r), 0);
	for (uint32_t i = 1; i <= MANY; i++) {
		const struct stack *s = catalog_stack(c, (struct stack_id){ i });
		const bool first = i % 2 == 0, second = (i % MANY + 1) % 2 == 0;
		assert_int_equal(s->frames[0].rel, 0x77);
		assert_int_equal(s->frames[1].rel, first ? 0x201600 : 0x200600);
		assert_int_equal(s->frames[2].rel, second ? 0x201700 : 0x200700);
		assert_int_equal(catalog_mapping(c, (struct map_id){ i })->bias, i * 0x10000ull - (first ? 0x201000 : 0x200000));
	}
	/* Once more changes nothing. */
	assert_int_equal(rebase_module(&r, (struct module_id){ 1 }, e), 0);
	assert_int_equal(rebase_stacks(&r), 0);
	assert_int_equal(catalog_stack(c, (struct stack_id){ 2 })->frames[1].rel, 0x201600);
	elf_close(e);
	catalog_free(c);
}

/* Many modules of one build, each with a mapping, and many stacks: a scan of all stacks for each module would take hours. */
static void test_many_modules(void **state)
{
	struct catalog *c = catalog_new();
	struct elf *e = shared_page();
	struct rebase r = { .catalog = c };
	(void)state;
	for (uint32_t i = 1; i <= MODULES; i++) {
		const uint64_t start = i * 0x10000ull;
		const struct mapping m = { .id = { i },
					   .proc = { 1 },
					   .module = { i },
					   .start = start,
					   .end = start + 0x3000,
					   .bias = start - 0x200000 };
		const struct frame frame = { { i }, 0x200600 };
		const struct stack s = { .id = { i }, .proc = { 1 }, .n = 1, .frames = &frame };
		assert_int_equal(catalog_put_mapping(c, &m), 0);
		assert_int_equal(catalog_put_stack(c, &s), 0);
	}
	for (uint32_t i = 1; i <= MODULES; i++)
		assert_int_equal(rebase_module(&r, (struct module_id){ i }, e), 0);
	assert_int_equal(rebase_stacks(&r), 0);
	for (uint32_t i = 1; i <= MODULES; i++)
		assert_int_equal(catalog_stack(c, (struct stack_id){ i })->frames[0].rel, 0x201600);
	elf_close(e);
	catalog_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_many_mappings), cmocka_unit_test(test_many_modules) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
