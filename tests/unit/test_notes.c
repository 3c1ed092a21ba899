/* SPDX-License-Identifier: Apache-2.0 */
/* notes: arguments of probes in every form, and the notes of a program and of damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "notes/noted.h"
#include "notes/notes.h"
#include "sites/listing.h"
#include "prog/usdt.h"

static void test_places(void **state)
{
	static const struct {
		const char *text;
		struct alys_note_arg arg;
	} cases[] = {
		{ "8@%rdi", { .form = ALYS_NOTE_REGISTER, .reg = ALYS_REG_RDI, .size = 8 } },
		{ "-4@%eax", { .form = ALYS_NOTE_REGISTER, .reg = ALYS_REG_RAX, .size = 4, .is_signed = 1 } },
		{ "1@%r9b", { .form = ALYS_NOTE_REGISTER, .reg = ALYS_REG_R8 + 1, .size = 1 } },
		{ "2@%sp", { .form = ALYS_NOTE_REGISTER, .reg = ALYS_REG_RSP, .size = 2 } },
		{ "-4@-20(%rbp)", { .form = ALYS_NOTE_MEMORY, .value = -20, .reg = ALYS_REG_RBP, .size = 4, .is_signed = 1 } },
		{ "8@(%r15)", { .form = ALYS_NOTE_MEMORY, .reg = ALYS_REG_R8 + 7, .size = 8 } },
		{ "8@0x10(%rsp)", { .form = ALYS_NOTE_MEMORY, .value = 16, .reg = ALYS_REG_RSP, .size = 8 } },
		{ "-4@$-1", { .form = ALYS_NOTE_CONSTANT, .value = -1, .size = 4, .is_signed = 1 } },
		{ "8@$18446744073709551615", { .form = ALYS_NOTE_CONSTANT, .value = -1, .size = 8 } },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct alys_note_arg a;
		assert_int_equal(note_args(cases[i].text, &a, 1), 1);
		assert_memory_equal(&a, &cases[i].arg, sizeof(a));
		assert_true(note_arg_ok(&a));
	}
}

static void test_refused_places(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		{ "8@block(%rip)", -ENOTSUP },
		{ "8@block+4(%rip)", -ENOTSUP },
		{ "8@(%rax,%rbx,8)", -ENOTSUP },
		{ "8@%xmm0", -ENOTSUP },
		{ "8@16", -ENOTSUP },
		{ "16@%rax", -ENOTSUP },
		{ "8f@%xmm1", -EINVAL },
		{ "%rdi", -EINVAL },
		{ "8@", -ENOTSUP },
		{ "8@$", -ENOTSUP },
		{ "8@$x", -ENOTSUP },
		{ "8@%", -ENOTSUP },
		{ "8@%rdix", -ENOTSUP },
		{ "8@(%eax)", -ENOTSUP },
		{ "8@%gs:0x28", -ENOTSUP },
		{ "8@4(%rax", -ENOTSUP },
		{ "8@4(%rax)x", -EINVAL },
		{ "@%rax", -EINVAL },
		{ "8@$1x", -EINVAL },
		{ "99999999999999999999@%rax", -EINVAL },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct alys_note_arg a;
		if (note_args(cases[i].text, &a, 1) != cases[i].rc)
			fail_msg("%s: %d", cases[i].text, note_args(cases[i].text, &a, 1));
	}
}

static void test_lists(void **state)
{
	struct alys_note_arg a[ALYS_NOTE_ARGS];
	(void)state;
	assert_int_equal(note_args("", a, ALYS_NOTE_ARGS), 0);
	assert_int_equal(note_args("   8@%rdi   8@%rsi ", a, ALYS_NOTE_ARGS), 2);
	assert_int_equal(a[1].reg, ALYS_REG_RSI);
	assert_int_equal(a[2].form, ALYS_NOTE_NONE);
	assert_true(note_arg_ok(&a[2]));
	/* What comes behind those that are wanted may be anything. */
	assert_int_equal(note_args("8@%rdi 8@%xmm0 8@$1 16@%ymm1", a, 1), 4);
	assert_int_equal(note_args("8@%rdi 8@%xmm0", a, 2), -ENOTSUP);
}

static void test_received_places(void **state)
{
	(void)state;
	assert_false(note_arg_ok(&(struct alys_note_arg){ .form = 9, .size = 8 }));
	assert_false(note_arg_ok(&(struct alys_note_arg){ .form = ALYS_NOTE_REGISTER, .size = 9 }));
	assert_false(note_arg_ok(&(struct alys_note_arg){ .form = ALYS_NOTE_REGISTER, .size = 8, .reg = ALYS_REG_LIST }));
	assert_false(note_arg_ok(&(struct alys_note_arg){ .form = ALYS_NOTE_MEMORY, .size = 8, .reg = 17 }));
}

/* --- notes of this program ------------------------------------------------------------------------ */

USDT_COUNTER test_counter;

__attribute__((noipa)) static void with_probes(void)
{
	USDT("otel_memory", "alloc", "test_counter", "nop", "8@%%rdi 8@$5", "D"(0l));
	USDT("other", "", "0", "nop", "", "D"(0l));
	USDT("ddheap", "alloc", "with_probes", "nop", "8@%%rdi 8@$1", "D"(0l)); /* counts tracers in code */
	USDT("ddheap", "alloc", "0", ".byte 0x0f, 0x1f, 0x44, 0, 0", "8@%%rdi 8@$2", "D"(0l));
	USDT("ddheap", "alloc", "0", "nop", "8@%%rdi", "D"(0l));
	USDT("ddheap", "alloc", "0", "nop", "8@%%rdi 8@test_counter(%%rip)", "D"(0l));
	USDT("ddheap", "free", "0", "nop", "8@%%rdi 8@%%xmm0", "D"(0l));
}

struct seen {
	const struct elf *elf;
	int notes, ours, stop_after;
};

static int see(void *ctx, const struct note *n)
{
	struct seen *s = ctx;
	const uint8_t *code = elf_bytes(s->elf, n->vaddr, 1);
	s->notes++;
	if (!strcmp(n->provider, "otel_memory")) {
		s->ours++;
		assert_string_equal(n->name, "alloc");
		assert_string_equal(n->args, "8@%rdi 8@$5");
		assert_non_null(code);
		assert_int_equal(*code, 0x90);
		assert_true(n->semaphore);
	}
	return s->stop_after && s->notes == s->stop_after ? 7 : 0;
}

static void test_own_notes(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, "self", NULL);
	struct seen all = { .elf = e }, one = { .elf = e, .stop_after = 1 };
	(void)state;
	with_probes();
	assert_non_null(e);
	assert_int_equal(notes_each(e, see, &all), 0);
	assert_int_equal(all.ours, 1);
	assert_true(all.notes >= 2);
	assert_int_equal(notes_each(e, see, &one), 7);
	assert_int_equal(one.notes, 1);
	elf_close(e);
	close(fd);
}

static const struct site *site_with(const struct site_list *l, const char *said)
{
	for (size_t i = 0; i < l->sites_cnt; i++) {
		if (!strcmp(l->sites[i].said, said))
			return &l->sites[i];
	}
	return NULL;
}

static void check_own_sites(const struct site_list *l)
{
	static const struct {
		const char *said;
		enum entry_choice choice;
	} cases[] = {
		{ "8@%rdi 8@$5", ENTRY_NOTED },
		{ "8@%rdi 8@$1", ENTRY_NOTE_SEMAPHORE },
		{ "8@%rdi 8@$2", ENTRY_NOTE_NOP },
		{ "8@%rdi", ENTRY_NOTE_ARGS },
		{ "8@%rdi 8@test_counter(%rip)", ENTRY_NOTE_PLACES },
		{ "8@%rdi 8@%xmm0", ENTRY_NOTED },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct site *s = site_with(l, cases[i].said);
		assert_non_null(s);
		assert_int_equal(s->why.choice, cases[i].choice);
		assert_int_equal(s->state, cases[i].choice == ENTRY_NOTED ? SITE_PROBED : SITE_REFUSED);
	}
	assert_int_equal(l->sites_cnt, sizeof(cases) / sizeof(*cases));
	assert_true(site_with(l, "8@%rdi 8@$5")->semaphore);
}

/* Also after they were sent by the process that reads hostile files. */
static void test_own_sites(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, "self", NULL);
	struct site_list found, sent;
	struct buf b = { 0 };
	(void)state;
	assert_int_equal(noted_find(e, &found, NULL), 0);
	check_own_sites(&found);
	sites_write(&found, &b);
	struct cursor c = cursor_over(b.data, b.len);
	assert_int_equal(sites_read(&c, &sent), 0);
	check_own_sites(&sent);
	assert_int_equal(sites_digest(&found), sites_digest(&sent));
	buf_reset(&b);
	found.sites[0].note.arg[0].reg = 200;
	sites_write(&found, &b);
	c = cursor_over(b.data, b.len);
	sites_free(&sent);
	assert_int_equal(sites_read(&c, &sent), -EPROTO);
	sites_free(&found);
	buf_free(&b);
	elf_close(e);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),          cmocka_unit_test(test_refused_places), cmocka_unit_test(test_lists),
		cmocka_unit_test(test_received_places), cmocka_unit_test(test_own_notes),      cmocka_unit_test(test_own_sites),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
