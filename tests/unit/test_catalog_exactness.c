/* SPDX-License-Identifier: Apache-2.0 */
/* catalog/exactness: states go through a recording's metadata and become text in the reader; older traces carry the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "catalog/exactness.h"

static const struct unseen blind = { GC_NO_SYMBOL, 0, "/bin/a b=c" };

static void put(struct catalog *c, const struct exactness *e)
{
	struct buf facts = { 0 };
	exactness_write(e, &facts);
	catalog_put_meta(c, EXACTNESS_KEY, exactness_state_word(e->state));
	catalog_put_meta(c, EXACTNESS_FACTS_KEY, buf_str(&facts));
	buf_free(&facts);
}

static void expect(const struct catalog *c, enum exactness_state state, const char *text, const char *reason, const char *part)
{
	struct buf said = { 0 }, why = { 0 };
	assert_int_equal(exactness_state_of(c), state);
	exactness_text_of(c, &said);
	assert_string_equal(buf_str(&said), text);
	exactness_reason_of(c, &why);
	assert_string_equal(buf_str(&why), reason);
	assert_string_equal(exactness_part_of(c), part);
	buf_free(&said);
	buf_free(&why);
}

static void test_states_become_text(void **state)
{
	(void)state;
	struct catalog *c = catalog_new();
	expect(c, EXACTNESS_NO_HEAP, "", "", "");
	put(c, &(struct exactness){ .state = EXACTNESS_EXACT, .part = PART_SAMPLED });
	expect(c, EXACTNESS_EXACT, "exact for what was sampled", "", "what was sampled");
	put(c, &(struct exactness){ .state = EXACTNESS_EXACT });
	expect(c, EXACTNESS_EXACT, "exact", "", "");
	put(c, &(struct exactness){ .state = EXACTNESS_BOUND, .missed = 2, .collections = 40 });
	expect(c, EXACTNESS_BOUND, "upper bound (2 of 40 collections missed)", "2 of 40 collections missed", "");
	put(c, &(struct exactness){ .state = EXACTNESS_BOUND, .incremental_tgid = 7, .lost = 3 });
	expect(c, EXACTNESS_BOUND, "upper bound (process 7 collects incrementally; 3 records of collections lost)",
	       "process 7 collects incrementally; 3 records of collections lost", "");
	put(c, &(struct exactness){ .state = EXACTNESS_BOUND, .uncompared = true });
	expect(c, EXACTNESS_BOUND, "upper bound (no collection could be compared with the records in time)",
	       "no collection could be compared with the records in time", "");
	catalog_free(c);
}

static void test_heaps_are_named(void **state)
{
	static const char one[] = "process 70 (server): /bin/a b=c: no symbol GC_gc_no: collections cannot be watched";
	char text[400];
	(void)state;
	struct catalog *c = catalog_new();
	struct exactness e = { .state = EXACTNESS_NONE };
	exactness_note(&e.unjudged, 70, "server", &blind);
	put(c, &e);
	snprintf(text, sizeof(text), "none (%s)", one);
	expect(c, EXACTNESS_NONE, text, one, "");
	e.state = EXACTNESS_BOUND;
	put(c, &e);
	snprintf(text, sizeof(text), "nothing of %s; of the others all was seen", one);
	char whole[500];
	snprintf(whole, sizeof(whole), "upper bound (%s)", text);
	expect(c, EXACTNESS_BOUND, whole, text, "");
	exactness_note(&e.unjudged, 71, "other", &(struct unseen){ GC_UNREADABLE, 0, "process 71: gone" });
	e.missed = 1;
	e.collections = 4;
	put(c, &e);
	expect(c, EXACTNESS_BOUND,
	       "upper bound (nothing of process 71 (other): process 71: gone, and 1 more process; 1 of 4 collections missed)",
	       "nothing of process 71 (other): process 71: gone, and 1 more process; 1 of 4 collections missed", "");
	catalog_free(c);
}

static void test_every_reason_has_a_text(void **state)
{
	(void)state;
	for (int why = 0; why < GC_UNSEEN_CNT; why++) {
		struct buf text = { 0 };
		unseen_text(&(struct unseen){ (enum gc_unseen)why, 0, "x" }, &text);
		assert_true(why == GC_UNREADABLE || text.len > 10);
		buf_free(&text);
	}
}

static void expect_old(const char *liveness, enum exactness_state state, const char *reason, const char *part)
{
	struct catalog *c = catalog_new();
	catalog_put_meta(c, EXACTNESS_KEY, liveness);
	expect(c, state, liveness, reason, part);
	catalog_free(c);
}

static void test_older_traces_say_it_themselves(void **state)
{
	(void)state;
	expect_old("exact", EXACTNESS_EXACT, "", "");
	expect_old("exact for what was recorded", EXACTNESS_EXACT, "", "what was recorded");
	expect_old("upper bound (a (b) c)", EXACTNESS_BOUND, "a (b) c", "");
	expect_old("none (no memory)", EXACTNESS_NONE, "no memory", "");
	expect_old("something newer", EXACTNESS_BOUND, "", "");
}

/* A file may contain anything. */
static void test_damage(void **state)
{
	static const char *const facts[] = { "unjudged=1\tunjudged_why=99999\t", "part=77\t", "=\t\t=", "missed",
					     "unjudged_comm=\033[2J\tunjudged=1" };
	(void)state;
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		struct catalog *c = catalog_new();
		struct buf text = { 0 };
		catalog_put_meta(c, EXACTNESS_KEY, "upper bound");
		catalog_put_meta(c, EXACTNESS_FACTS_KEY, facts[i]);
		exactness_text_of(c, &text);
		assert_null(strchr(buf_str(&text), '\033'));
		assert_non_null(exactness_part_of(c));
		buf_free(&text);
		catalog_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states_become_text),
		cmocka_unit_test(test_heaps_are_named),
		cmocka_unit_test(test_every_reason_has_a_text),
		cmocka_unit_test(test_older_traces_say_it_themselves),
		cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
