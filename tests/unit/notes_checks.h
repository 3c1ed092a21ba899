/* SPDX-License-Identifier: Apache-2.0 */
/* notes tests: what is expected of the texts of arguments, on either machine. */
#ifndef ALYS_TEST_NOTES_CHECKS_H
#define ALYS_TEST_NOTES_CHECKS_H

#include "notes/notes.h"
#include "sites/listing.h"

struct place {
	const char *text;
	struct alys_note_arg arg;
};

struct refusal {
	const char *text;
	int rc;
};

static void check_places(const struct place *places, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct alys_note_arg a;
		int rc = note_args(places[i].text, &a, 1);
		if (rc != 1)
			fail_msg("%s: %d", places[i].text, rc);
		assert_memory_equal(&a, &places[i].arg, sizeof(a));
		assert_true(note_arg_ok(&a));
	}
}

static void check_refusals(const struct refusal *refusals, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct alys_note_arg a;
		int rc = note_args(refusals[i].text, &a, 1);
		if (rc != refusals[i].rc)
			fail_msg("%s: %d", refusals[i].text, rc);
	}
}

/* Texts of two arguments, of which the second is in register reg; of four and of two, of which only the first is a place. */
static void check_lists(const char *two, int reg, const char *four, const char *first)
{
	struct alys_note_arg a[ALYS_NOTE_ARGS];
	assert_int_equal(note_args("", a, ALYS_NOTE_ARGS), 0);
	assert_int_equal(note_args(two, a, ALYS_NOTE_ARGS), 2);
	assert_int_equal(a[1].reg, reg);
	assert_int_equal(a[2].form, ALYS_NOTE_NONE);
	assert_true(note_arg_ok(&a[2]));
	/* What comes behind those that are wanted may be anything. */
	assert_int_equal(note_args(four, a, 1), 4);
	assert_int_equal(note_args(first, a, 2), -ENOTSUP);
}

#endif
