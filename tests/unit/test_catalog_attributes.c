/* SPDX-License-Identifier: Apache-2.0 */
/* catalog/attributes: written attributes are read back, anything else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "catalog/attributes.h"

static void every_byte_comes_back(void **state)
{
	char value[ATTRIBUTE_VALUE_MAX] = "";
	struct buf text = { 0 };
	struct attribute a;
	(void)state;
	for (int i = 1; i < 256; i++)
		value[i - 1] = (char)i;
	attributes_add(&text, "service.name", value);
	attributes_add(&text, "a=b,c", "%41");
	assert_true(attributes_get(buf_str(&text), "service.name", &a));
	assert_string_equal(a.value, value);
	assert_true(attributes_get(buf_str(&text), "a=b,c", &a));
	assert_string_equal(a.value, "%41");
	assert_false(attributes_get(buf_str(&text), "a", &a));
	assert_string_equal(a.value, "");
	buf_free(&text);
}

static void the_first_of_a_name_holds(void **state)
{
	struct buf text = { 0 };
	(void)state;
	attributes_add(&text, "service.name", "one");
	attributes_add(&text, "service.name", "two");
	attributes_add(&text, "container.id", "");
	assert_string_equal(buf_str(&text), "service.name=one");
	buf_free(&text);
}

static void it_stays_small(void **state)
{
	struct buf text = { 0 };
	char name[16], value[200];
	(void)state;
	memset(value, '%', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		attributes_add(&text, name, value);
	}
	assert_in_range(text.len, ATTRIBUTES_MAX / 2, ATTRIBUTES_MAX - 1);
	buf_free(&text);
}

static void what_is_malformed_is_passed_over(void **state)
{
	static const char text[] = ",=x,novalue,empty=,%00=zero, team = pay%20ments ,half=%4,tail=100%";
	static const char *const want[] = { "team", "pay ments", "half", "%4", "tail", "100%" };
	struct attribute a;
	size_t at = 0, n = 0;
	(void)state;
	for (; attributes_next(text, &at, &a); n++) {
		assert_true(n < 3);
		assert_string_equal(a.name, want[2 * n]);
		assert_string_equal(a.value, want[2 * n + 1]);
	}
	assert_int_equal(n, 3);
}

static void labels_are_legal_and_occur_once(void **state)
{
	static const char text[] =
		"service.name=till,k8s.pod.uid=u,k8s_pod_uid=other,pid=7,__delta__=x,1st=one,b%FFr=v,comm=c,exe=e";
	static const char *const want[] = { "k8s_pod_uid", "u", "_st", "one", "b_r", "v" };
	struct attribute a;
	size_t at = 0, n = 0;
	(void)state;
	for (; attributes_next_label(text, &at, &a); n++) {
		assert_true(n < 3);
		assert_string_equal(a.name, want[2 * n]);
		assert_string_equal(a.value, want[2 * n + 1]);
	}
	assert_int_equal(n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_comes_back),
		cmocka_unit_test(the_first_of_a_name_holds),
		cmocka_unit_test(it_stays_small),
		cmocka_unit_test(what_is_malformed_is_passed_over),
		cmocka_unit_test(labels_are_legal_and_occur_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
