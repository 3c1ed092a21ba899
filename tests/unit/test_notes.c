/* SPDX-License-Identifier: Apache-2.0 */
/* notes: the notes of a program, and arguments as they are received. Their texts are in test_notes_x86_64.c and its twin. */
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
#include "note_words.h"
#include "prog/usdt.h"

static void test_received_places(void **state)
{
	(void)state;
	assert_false(note_arg_ok(&(struct alys_note_arg){ .form = 9, .size = 8 }));
	assert_false(note_arg_ok(&(struct alys_note_arg){ .form = ALYS_NOTE_REGISTER, .size = 9 }));
	assert_false(note_arg_ok(&(struct alys_note_arg){ .form = ALYS_NOTE_REGISTER, .size = 8, .reg = ALYS_REG_LIST }));
	assert_false(note_arg_ok(&(struct alys_note_arg){ .form = ALYS_NOTE_MEMORY, .size = 8, .reg = ALYS_REG_LIST + 1 }));
}

/* --- notes of this program ------------------------------------------------------------------------ */

#define WELL_NOTED IN_REGISTER("%") " " CONSTANT("5")

USDT_COUNTER test_counter;

__attribute__((noipa)) static void with_probes(void)
{
	USDT("otel_memory", "alloc", "test_counter", "nop", IN_REGISTER("%%") " " CONSTANT("5"));
	USDT("other", "", "0", "nop", "");
	/* Counts tracers in code. */
	USDT("ddheap", "alloc", "with_probes", "nop", IN_REGISTER("%%") " " CONSTANT("1"));
	USDT("ddheap", "alloc", "0", OTHER_NOP, IN_REGISTER("%%") " " CONSTANT("2"));
	USDT("ddheap", "alloc", "0", "nop", IN_REGISTER("%%"));
	USDT("ddheap", "alloc", "0", "nop", IN_REGISTER("%%") " " AT_SYMBOL("%%"));
	USDT("ddheap", "free", "0", "nop", IN_REGISTER("%%") " " IN_VECTOR("%%"));
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
		assert_string_equal(n->args, WELL_NOTED);
		assert_non_null(code);
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
		{ WELL_NOTED, ENTRY_NOTED },
		{ IN_REGISTER("%") " " CONSTANT("1"), ENTRY_NOTE_SEMAPHORE },
		{ IN_REGISTER("%") " " CONSTANT("2"), ENTRY_NOTE_NOP },
		{ IN_REGISTER("%"), ENTRY_NOTE_ARGS },
		{ IN_REGISTER("%") " " AT_SYMBOL("%"), ENTRY_NOTE_PLACES },
		{ IN_REGISTER("%") " " IN_VECTOR("%"), ENTRY_NOTED },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct site *s = site_with(l, cases[i].said);
		assert_non_null(s);
		assert_int_equal(s->why.choice, cases[i].choice);
		assert_int_equal(s->state, cases[i].choice == ENTRY_NOTED ? SITE_PROBED : SITE_REFUSED);
	}
	assert_int_equal(l->sites_cnt, sizeof(cases) / sizeof(*cases));
	assert_true(site_with(l, WELL_NOTED)->semaphore);
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
		cmocka_unit_test(test_received_places),
		cmocka_unit_test(test_own_notes),
		cmocka_unit_test(test_own_sites),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
