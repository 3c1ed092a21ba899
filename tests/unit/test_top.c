/* SPDX-License-Identifier: Apache-2.0 */
/* top: input of lists and keys, output of screen lines; no terminal. */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "top/view.h"

#define S 1000000000ull

/* Two processes; site Cart.add has two stacks. %1$d: bytes that Page.render has allocated and holds. */
static const char list[] = "alys-feed\t1\n"
			   "when\t1\t1\t524288\t1\n"
			   "ledger\t%2$d\t%2$d\t0\t0\n"
			   "process\t42\tshop\t/usr/bin/shop\t%1$d\t8\t%1$d\t9\n"
			   "process\t50\tcron\t/usr/sbin/cron\t3000\t3\t3000\t3\n"
			   "frame\tPage.render\t/src/page.cr:7\n"
			   "frame\tmain\t/src/main.cr:9\n"
			   "stack\t42\t%1$d\t4\t%1$d\t4\tString\t0,1\n"
			   "frame\tCart.add\t/src/very/deep/cart.cr:3\n"
			   "stack\t42\t2000\t2\t2000\t2\tItem\t2,1\n"
			   "frame\tCart.checkout\t/src/cart.cr:30\n"
			   "stack\t42\t1000\t2\t1000\t3\tArray(Item) (buffer)\t2,3,1\n"
			   "frame\tload_users\t\n"
			   "stack\t50\t3000\t3\t3000\t3\t[no type]\t4\n"
			   "unheard\tof\n"
			   "end\n";

struct shown {
	struct view v;
	struct screen s;
};

static void take(struct view *v, int bytes, int hits, uint64_t ns)
{
	char text[2048];
	struct feed f;
	int n = snprintf(text, sizeof(text), list, bytes, hits);
	assert_int_equal(feed_parse(&f, text, (size_t)n, NULL), 0);
	view_take(v, &f, ns);
	feed_free(&f);
}

static struct shown *open_view(uint32_t pid)
{
	struct shown *t = calloc(1, sizeof(*t));
	view_begin(&t->v, pid);
	t->s.rows = 24;
	t->s.cols = 80;
	return t;
}

static void close_view(struct shown *t)
{
	view_free(&t->v);
	screen_free(&t->s);
	free(t);
}

/* The lines as one text; each fits. */
static const char *draw(struct shown *t)
{
	static char text[64 * 1024];
	size_t len = 0;
	view_draw(&t->v, &t->s);
	for (int i = 0; i < t->s.rows; i++) {
		assert_int_equal(t->s.line[i].len ? t->s.line[i].len : (size_t)t->s.cols, t->s.cols);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", buf_str(&t->s.line[i]));
	}
	return text;
}

static void assert_shows(struct shown *t, const char *what)
{
	const char *text = draw(t);
	if (!strstr(text, what))
		fail_msg("no \"%s\" in:\n%s", what, text);
}

static void assert_hides(struct shown *t, const char *what)
{
	const char *text = draw(t);
	if (strstr(text, what))
		fail_msg("\"%s\" in:\n%s", what, text);
}

/* The row of the screen that holds this, 0 = none. */
static int row_with(struct shown *t, const char *what)
{
	draw(t);
	for (int i = 4; i < t->s.rows; i++) {
		if (strstr(buf_str(&t->s.line[i]), what))
			return i;
	}
	return 0;
}

static void type(struct shown *t, const char *keys)
{
	for (; *keys; keys++)
		assert_true(view_key(&t->v, *keys));
}

static void test_processes_then_sites(void **state)
{
	struct shown *t = open_view(0);
	(void)state;
	assert_shows(t, "waiting for the first numbers");
	take(&t->v, 5000, 10, 1 * S);
	assert_shows(t, "alys-bpf top: 2 processes, by process, largest live first");
	assert_shows(t, "live 7.8K");
	assert_shows(t, "sampled by 512.0K");
	assert_shows(t, "lost 0; hits 10 = recorded 10 + skipped 0 + lost 0");
	assert_int_equal(row_with(t, "42       shop  /usr/bin/shop"), 4);
	assert_int_equal(row_with(t, "cron"), 5);
	view_key(&t->v, VIEW_ENTER);
	assert_shows(t, "process 42 shop, by site");
	assert_int_equal(row_with(t, "String         Page.render  page.cr:7"), 4);
	assert_int_equal(row_with(t, "several        Cart.add  cart.cr:3"), 5);
	assert_hides(t, "load_users");
	view_key(&t->v, VIEW_ESCAPE);
	assert_shows(t, "2 processes");
	view_key(&t->v, VIEW_DOWN);
	view_key(&t->v, VIEW_ENTER);
	assert_shows(t, "process 50 cron");
	assert_shows(t, "load_users");
	assert_false(view_key(&t->v, 'q'));
	close_view(t);
}

static void test_rates_and_growth(void **state)
{
	struct shown *t = open_view(42);
	(void)state;
	take(&t->v, 1000, 10, 1 * S);
	assert_int_equal(row_with(t, "     1000       4        0        0"), 0);
	take(&t->v, 1000 + 2048, 20, 3 * S);
	/* 2048 bytes in two seconds: 1 KiB a second, 60 KiB a minute. */
	assert_shows(t, "    3.0K       4     1.0K   +60.0K  String");
	assert_shows(t, "live 3.0K, +60.0K/min; new 1.0K/s");
	take(&t->v, 1000, 20, 5 * S);
	assert_shows(t, "    1000       4        0        0  String");
	close_view(t);
}

static void test_what_comes_later_grows_from_nothing(void **state)
{
	static const char before[] = "alys-feed\t1\nend\n";
	struct shown *t = open_view(42);
	struct feed f;
	(void)state;
	assert_int_equal(feed_parse(&f, before, sizeof(before) - 1, NULL), 0);
	view_take(&t->v, &f, 1 * S);
	feed_free(&f);
	assert_shows(t, "nothing was allocated yet");
	take(&t->v, 1024, 1, 2 * S);
	assert_shows(t, "    1.0K       4     1.0K   +60.0K");
	close_view(t);
}

static void take_text(struct shown *t, const char *text, uint64_t ns)
{
	struct feed f;
	assert_int_equal(feed_parse(&f, text, strlen(text), NULL), 0);
	view_take(&t->v, &f, ns);
	feed_free(&f);
}

/*
 * What they had allocated is in the row without a stack then, though nothing was allocated there since.
 */
static void test_forgotten_stacks_are_no_news(void **state)
{
	struct shown *t = open_view(42);
	(void)state;
	take_text(t,
		  "alys-feed\t1\nprocess\t42\tshop\t/shop\t1\t1\t5000\t5\n"
		  "frame\tbusy\t\nframe\tonce\t\n"
		  "stack\t42\t1\t1\t3000\t3\tT\t0\nstack\t42\t0\t0\t2000\t2\tT\t1\nend\n",
		  1 * S);
	take_text(t,
		  "alys-feed\t1\nprocess\t42\tshop\t/shop\t1\t1\t7048\t7\n"
		  "frame\tbusy\t\nframe\t[no stack]\t\n"
		  "stack\t42\t1\t1\t5048\t5\tT\t0\nstack\t42\t0\t0\t2000\t2\t-\t1\nend\n",
		  3 * S);
	assert_shows(t, "       1       1     1.0K");
	assert_shows(t, "       0       0        0        0");
	/* Calls without a known stack are new. */
	take_text(t,
		  "alys-feed\t1\nprocess\t42\tshop\t/shop\t1\t1\t9096\t9\n"
		  "frame\tbusy\t\nframe\t[no stack]\t\n"
		  "stack\t42\t1\t1\t5048\t5\tT\t0\nstack\t42\t0\t0\t4048\t4\t-\t1\nend\n",
		  5 * S);
	assert_shows(t, "       1       1        0");
	assert_shows(t, "       0       0     1.0K        0");
	close_view(t);
}

/* All but the heaviest stacks share a row: a stack that gets its own row was not allocated just now. */
static void test_moved_stacks_are_no_news(void **state)
{
	struct shown *t = open_view(42);
	(void)state;
	take_text(t,
		  "alys-feed\t1\nprocess\t42\tshop\t/shop\t900\t9\t9000\t90\n"
		  "frame\tbusy\t\nframe\t[other]\t\n"
		  "stack\t42\t100\t1\t3000\t30\tT\t0\nstack\t42\t800\t8\t6000\t60\tT\t1\nend\n",
		  1 * S);
	take_text(t,
		  "alys-feed\t1\nprocess\t42\tshop\t/shop\t900\t9\t11048\t92\n"
		  "frame\tbusy\t\nframe\t[other]\t\nframe\tmoved\t\n"
		  "stack\t42\t100\t1\t5048\t32\tT\t0\nstack\t42\t300\t3\t2000\t20\tT\t1\n"
		  "stack\t42\t500\t5\t4000\t40\tT\t2\nend\n",
		  3 * S);
	assert_shows(t, "     100       1     1.0K        0  T              busy");
	assert_shows(t, "     500       5        0        0  T              moved");
	/* From then on it is like others. A new row was in the shared one, or is new: then all rates are known. */
	take_text(t,
		  "alys-feed\t1\nprocess\t42\tshop\t/shop\t5896\t9\t16044\t92\n"
		  "frame\tbusy\t\nframe\t[other]\t\nframe\tmoved\t\nframe\tnew\t\n"
		  "stack\t42\t100\t1\t5048\t32\tT\t0\nstack\t42\t300\t3\t2000\t20\tT\t1\n"
		  "stack\t42\t1400\t5\t4900\t40\tT\t2\nstack\t42\t4096\t4\t4096\t4\tT\t3\nend\n",
		  5 * S);
	assert_shows(t, "     300       3        0");
	assert_shows(t, "    1.4K       5      450   +26.4K  T              moved");
	assert_shows(t, "    4.0K       4        0        0  T              new");
	close_view(t);
}

/* Two calls in one line: two stacks for the kernel, one for the reader. */
static void test_stacks_that_read_the_same(void **state)
{
	static const char one[] = "alys-feed\t1\nprocess\t42\tshop\t/shop\t30\t3\t%d\t9\nframe\tboth\t\n"
				  "stack\t42\t10\t1\t%d\t4\tT\t0\nerror\t3\n"
				  "stack\t42\t20\t2\t%d\t5\tT\t0\nerror\t4\nend\n";
	struct shown *t = open_view(42);
	char text[512];
	(void)state;
	snprintf(text, sizeof(text), one, 5000, 1000, 4000);
	take_text(t, text, 1 * S);
	snprintf(text, sizeof(text), one, 9096, 2024, 7072);
	take_text(t, text, 3 * S);
	assert_int_equal(t->v.feed.stacks_cnt, 1);
	assert_true(t->v.feed.stacks[0].error == 5);
	assert_shows(t, "2.0K");
	assert_int_equal(t->v.rows_cnt, 1);
	assert_true(t->v.rows[0].live_sz == 30 && t->v.rows[0].rate_sz == 2048);
	close_view(t);
}

static void test_sorting(void **state)
{
	struct shown *t = open_view(42);
	(void)state;
	take(&t->v, 2500, 10, 1 * S);
	assert_true(row_with(t, "Cart.add") < row_with(t, "Page.render"));
	take(&t->v, 2900, 10, 2 * S);
	type(t, "a");
	assert_shows(t, "largest allocation rate first");
	assert_true(row_with(t, "Page.render") < row_with(t, "Cart.add"));
	type(t, "r");
	assert_true(row_with(t, "Cart.add") < row_with(t, "Page.render"));
	type(t, "n");
	assert_true(row_with(t, "Cart.add") < row_with(t, "Page.render"));
	type(t, "g");
	assert_true(row_with(t, "Page.render") < row_with(t, "Cart.add"));
	type(t, "s");
	assert_shows(t, "largest blocks first");
	close_view(t);
}

static void test_a_chosen_row_stays_chosen(void **state)
{
	struct shown *t = open_view(42);
	(void)state;
	take(&t->v, 5000, 10, 1 * S);
	view_key(&t->v, VIEW_DOWN);
	draw(t);
	assert_int_equal(t->s.look[5], LOOK_CHOSEN);
	take(&t->v, 100, 10, 2 * S);
	assert_int_equal(row_with(t, "Cart.add"), 4);
	assert_int_equal(t->s.look[4], LOOK_CHOSEN);
	close_view(t);
}

static void test_a_stack(void **state)
{
	struct shown *t = open_view(42);
	(void)state;
	take(&t->v, 100, 10, 1 * S);
	view_key(&t->v, VIEW_ENTER);
	assert_shows(t, "stack 1 of 2 (left, right): 2.0K in 2 blocks of Item, process 42");
	assert_int_equal(row_with(t, "      Cart.add  /src/very/deep/cart.cr:3"), 6);
	assert_int_equal(row_with(t, "      main  /src/main.cr:9"), 7);
	view_key(&t->v, VIEW_RIGHT);
	assert_shows(t, "stack 2 of 2 (left, right): 1000 in 2 blocks of Array(Item) (buffer)");
	assert_int_equal(row_with(t, "      Cart.checkout  /src/cart.cr:30"), 7);
	view_key(&t->v, VIEW_RIGHT);
	assert_shows(t, "stack 2 of 2");
	view_key(&t->v, VIEW_LEFT);
	assert_shows(t, "stack 1 of 2");
	view_key(&t->v, VIEW_ESCAPE);
	assert_hides(t, "stack 1");
	close_view(t);
}

static void test_what_is_counted(void **state)
{
	struct shown *t = open_view(0);
	struct feed f;
	const char *bad = "alys-feed\t1\nsubject\t3\nend\n";
	(void)state;
	assert_shows(t, "BLOCKS  ALLOC/S");
	take_text(t,
		  "alys-feed\t1\nsubject\t1\nprocess\t42\tshop\t/shop\t8192\t2\t8192\t2\nframe\tmain\t\n"
		  "stack\t42\t8192\t2\t8192\t2\tshared memory\t0\nend\n",
		  1 * S);
	assert_shows(t, "alys-bpf top: resident pages of 1 process, by process");
	assert_shows(t, "PAGES  TOUCH/S");
	assert_shows(t, "pages/s");
	assert_hides(t, "BLOCKS");
	assert_int_equal(feed_parse(&f, bad, strlen(bad), NULL), -EINVAL);
	feed_free(&f);
	close_view(t);
}

/* Of 60 frames, f_0 innermost, and of another site. */
static void take_deep_stack(struct shown *t)
{
	struct buf text = { 0 };
	buf_adds(&text, "alys-feed\t1\n");
	for (int i = 0; i < 60; i++)
		buf_addf(&text, "frame\tf_%d\t\n", i);
	buf_adds(&text, "frame\tflat\t\nstack\t42\t10\t1\t10\t1\tT\t60\nstack\t42\t20\t1\t20\t1\tT\t0");
	for (int i = 1; i < 60; i++)
		buf_addf(&text, ",%d", i);
	buf_adds(&text, "\nend\n");
	take_text(t, buf_str(&text), 1 * S);
	buf_free(&text);
}

static void test_a_stack_longer_than_the_screen(void **state)
{
	struct shown *t = open_view(42);
	bool seen[60] = { false };
	char name[32];
	(void)state;
	take_deep_stack(t);
	view_key(&t->v, VIEW_ENTER);
	assert_int_equal(row_with(t, "... 44 more (down)"), 22);
	for (int key = 0; key < 60; key++) {
		for (int i = 0; i < 60; i++) {
			snprintf(name, sizeof(name), "      f_%d ", i);
			seen[i] |= row_with(t, name) > 0;
		}
		if (!row_with(t, "(down)"))
			break;
		view_key(&t->v, key ? VIEW_DOWN : VIEW_PAGE_DOWN);
	}
	for (int i = 0; i < 60; i++)
		assert_true(seen[i]);
	assert_int_equal(row_with(t, "      f_59"), 22);
	assert_int_equal(t->s.look[4], LOOK_CHOSEN);
	/* The next row, moved down by the stack, is selected and visible. */
	view_key(&t->v, VIEW_DOWN);
	assert_int_equal(t->s.look[row_with(t, "flat")], LOOK_CHOSEN);
	view_key(&t->v, VIEW_UP);
	assert_int_equal(t->s.look[row_with(t, "f_0")], LOOK_CHOSEN);
	for (int key = 0; key < 60 && row_with(t, "(up)"); key++)
		view_key(&t->v, 'k');
	assert_shows(t, "      f_1 ");
	assert_shows(t, "... 44 more (down)");
	close_view(t);
}

static void test_the_head_is_of_what_the_filter_leaves(void **state)
{
	struct shown *t = open_view(0);
	(void)state;
	take(&t->v, 100, 10, 1 * S);
	assert_shows(t, "alys-bpf top: 2 processes, by process,");
	type(t, "/cron");
	assert_shows(t, "alys-bpf top: 1 of 2 processes, by process, /cron,");
	assert_shows(t, "filtered: live 2.9K, ");
	view_key(&t->v, VIEW_ENTER);
	view_key(&t->v, VIEW_ESCAPE);
	view_key(&t->v, VIEW_TAB);
	type(t, "/add");
	/* Of the sites' stacks: those of one process have it. */
	assert_shows(t, "alys-bpf top: 1 of 2 processes, by site, /add,");
	type(t, "q");
	assert_shows(t, "alys-bpf top: 0 of 2 processes, by site, /addq,");
	close_view(t);
}

static void test_tracing_that_is_off_is_in_the_title(void **state)
{
	struct shown *t = open_view(0);
	(void)state;
	take_text(t, "alys-feed\t1\noff\nnote\ttracing is off\nprocess\t42\tshop\t/x\t1\t1\t1\t1\nend\n", 1 * S);
	assert_shows(t, "alys-bpf top [OFF]: 1 process, by process");
	take_text(t, "alys-feed\t1\nprocess\t42\tshop\t/x\t1\t1\t1\t1\nend\n", 2 * S);
	assert_shows(t, "alys-bpf top: 1 process, by process");
	close_view(t);
}

static void test_state_and_filter_fit_the_title(void **state)
{
	struct shown *t = open_view(4194304);
	(void)state;
	take_text(t, "alys-feed\t1\nprocess\t4194304\tfifteen-letters\t/x\t1\t1\t1\t1\nend\n", 1 * S);
	type(t, "ap/slow");
	view_key(&t->v, VIEW_ENTER);
	assert_shows(t, "alys-bpf top [PAUSED]: process 4194304 fifteen-letters, by site, /slow, largest");
	close_view(t);
}

static void test_errors_of_estimates(void **state)
{
	static const char estimated[] =
		"alys-feed\t1\nwhen\t1\t1\t524288\t1\nprocess\t42\tshop\t/usr/bin/shop\t4000\t8\t4000\t9\nerror\t500\n"
		"process\t50\tcron\t/usr/sbin/cron\t6000\t1\t6000\t1\nframe\tCart.add\t/src/cart.cr:3\nframe\tmain\t\n"
		"stack\t42\t1000\t2\t2000\t2\tItem\t0\nerror\t300\nstack\t42\t3000\t2\t2000\t2\tItem\t0,1\nerror\t400\nend\n";
	static const char *const bad[] = { "alys-feed\t1\nerror\t1\nend\n",
					   "alys-feed\t1\nprocess\t1\ta\tb\t1\t1\t1\t1\nerror\t-1\nend\n" };
	struct shown *t = open_view(0);
	struct feed f;
	(void)state;
	assert_int_equal(feed_parse(&f, estimated, sizeof(estimated) - 1, NULL), 0);
	view_take(&t->v, &f, 1 * S);
	feed_free(&f);
	assert_shows(t, "live 9.8K +-6%, ");
	assert_shows(t, "    LIVE  ERR  BLOCKS");
	assert_int_equal(row_with(t, "    3.9K  13%       8"), 5);
	assert_int_equal(row_with(t, "    5.9K            1"), 4);
	view_key(&t->v, VIEW_DOWN);
	view_key(&t->v, VIEW_ENTER);
	/* Errors of independent parts: 300 and 400 make 500. */
	assert_int_equal(row_with(t, "    3.9K  13%       4"), 4);
	view_key(&t->v, VIEW_ENTER);
	assert_shows(t, "stack 1 of 2 (left, right): 2.9K +-14% in 2 blocks");
	t->s.cols = 59;
	assert_hides(t, "ERR");
	close_view(t);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(feed_parse(&f, bad[i], strlen(bad[i]), NULL), -EINVAL);
		feed_free(&f);
	}
}

static void test_types_that_are_long(void **state)
{
	struct shown *t = open_view(42);
	(void)state;
	take_text(t,
		  "alys-feed\t1\nframe\tf\t\nframe\tg\t\n"
		  "stack\t42\t9\t1\t9\t1\tstd::map<int, std::string>\t0\n"
		  "stack\t42\t7\t1\t7\t1\tHash(String, Array(Item))\t1\nend\n",
		  1 * S);
	assert_shows(t, "  std::map<>     f");
	assert_shows(t, "  Hash(String, ~ g");
	close_view(t);
}

static void test_names_have_the_room_of_no_types(void **state)
{
	struct shown *t = open_view(50);
	(void)state;
	take(&t->v, 100, 10, 1 * S);
	assert_shows(t, "GROW/MIN  SITE  ");
	assert_shows(t, "       0        0  load_users");
	t->v.pid = 42;
	view_rows(&t->v);
	assert_shows(t, "GROW/MIN  TYPE           SITE");
	close_view(t);
}

static void test_types(void **state)
{
	struct shown *t = open_view(0);
	(void)state;
	take(&t->v, 100, 10, 1 * S);
	view_key(&t->v, VIEW_TAB);
	assert_shows(t, "by site");
	view_key(&t->v, VIEW_TAB);
	assert_shows(t, "by type");
	assert_true(row_with(t, "Array(Item) (buffer)") && row_with(t, "[no type]"));
	view_key(&t->v, VIEW_TAB);
	assert_shows(t, "by process");
	close_view(t);
}

static void test_filter(void **state)
{
	struct shown *t = open_view(42);
	(void)state;
	take(&t->v, 100, 10, 1 * S);
	type(t, "/CHECKq");
	assert_shows(t, "filter: CHECKq_");
	assert_shows(t, "nothing matches the filter");
	assert_shows(t, "filtered: live 0, ");
	view_key(&t->v, VIEW_ERASE);
	/* A caller's name matches, and other stacks do not count. */
	assert_shows(t, "    1000       2");
	assert_shows(t, "filtered: live 1000, ");
	assert_hides(t, "Page.render");
	view_key(&t->v, VIEW_ENTER);
	assert_shows(t, ", /CHECK");
	view_key(&t->v, VIEW_ESCAPE);
	assert_shows(t, "Page.render");
	assert_hides(t, "filtered:");
	type(t, "/string");
	view_key(&t->v, VIEW_ENTER);
	assert_shows(t, "Page.render");
	assert_hides(t, "Cart.add");
	t->v.fixed = 0;
	view_key(&t->v, VIEW_ESCAPE);
	view_key(&t->v, VIEW_ESCAPE);
	type(t, "/42");
	view_key(&t->v, VIEW_ENTER);
	assert_shows(t, "shop  /usr/bin/shop");
	assert_hides(t, "cron");
	for (int i = 0; i < 200; i++)
		type(t, i ? "x" : "/");
	assert_int_equal(strlen(t->v.filter), FILTER_MAX);
	close_view(t);
}

static void test_pause_holds_all_but_losses(void **state)
{
	struct shown *t = open_view(42);
	(void)state;
	take(&t->v, 100, 10, 1 * S);
	type(t, "p");
	take(&t->v, 9000, 1234, 2 * S);
	assert_shows(t, "[PAUSED]");
	assert_hides(t, "8.8K");
	assert_shows(t, "hits 1,234");
	/* Rates and growth are shown in any order. */
	type(t, "a");
	assert_shows(t, "live 100, +0/min; new 0/s, 0 blocks/s");
	type(t, "lp");
	take(&t->v, 9000, 1234, 3 * S);
	assert_shows(t, "8.8K");
	close_view(t);
}

static void test_losses_are_on_every_screen(void **state)
{
	static const char bad[] = "alys-feed\t1\nledger\t10\t7\t0\t3\nlost\tring-full\t2\nlost\tforeign\t1\nend\n";
	struct shown *t = open_view(0);
	struct feed f;
	(void)state;
	assert_int_equal(feed_parse(&f, bad, sizeof(bad) - 1, NULL), 0);
	view_take(&t->v, &f, 1 * S);
	feed_free(&f);
	for (const char *keys = "\1 h"; *keys; keys++) {
		view_key(&t->v, *keys);
		assert_shows(t, "lost 3; hits 10 = recorded 7 + skipped 0 + lost 3 (ring-full 2, foreign 1)");
		assert_int_equal(t->s.look[2], LOOK_BAD);
	}
	assert_shows(t, "arrows, j k, PgUp PgDn, Home End   choose a row");
	assert_shows(t, "ERR is the standard error");
	close_view(t);
}

static void test_small_and_large_screens(void **state)
{
	static const int sizes[][2] = { { 1, 1 }, { 3, 10 }, { 5, 40 }, { 8, 40 }, { 24, 79 }, { 200, 500 }, { 12, 120 } };
	struct shown *t = open_view(42);
	(void)state;
	take(&t->v, 100, 10, 1 * S);
	view_key(&t->v, VIEW_ENTER);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		t->s.rows = sizes[i][0];
		t->s.cols = sizes[i][1];
		draw(t);
		view_key(&t->v, VIEW_PAGE_DOWN);
		view_key(&t->v, i % 2 ? VIEW_END : VIEW_HOME);
	}
	close_view(t);
}

static void test_scrolling(void **state)
{
	struct shown *t = open_view(42);
	struct buf text = { 0 };
	struct feed f;
	(void)state;
	buf_adds(&text, "alys-feed\t1\n");
	for (int i = 0; i < 100; i++)
		buf_addf(&text, "frame\tsite_%02d\t\nstack\t42\t%d\t1\t1\t1\tT\t%d\n", i, 1000 - i, i);
	buf_adds(&text, "end\n");
	assert_int_equal(feed_parse(&f, buf_str(&text), text.len, NULL), 0);
	view_take(&t->v, &f, 1 * S);
	feed_free(&f);
	buf_free(&text);
	assert_int_equal(row_with(t, "site_18"), 22);
	for (int i = 0; i < 30; i++)
		view_key(&t->v, VIEW_DOWN);
	assert_int_equal(row_with(t, "site_30"), 22);
	view_key(&t->v, VIEW_PAGE_UP);
	assert_true(row_with(t, "site_11") == 4 || row_with(t, "site_11") > 0);
	view_key(&t->v, VIEW_END);
	assert_int_equal(row_with(t, "site_99"), 22);
	/* An expanded row has room for its stack. */
	view_key(&t->v, VIEW_ENTER);
	assert_true(row_with(t, "stack 1 of 1") > 0);
	view_key(&t->v, VIEW_HOME);
	assert_int_equal(row_with(t, "site_00"), 4);
	close_view(t);
}

static void test_columns_of_wide_text(void **state)
{
	struct buf b = { 0 };
	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		skip();
	screen_put(&b, "na\xc3\xafve", 7, false);
	assert_string_equal(buf_str(&b), "na\xc3\xafve  ");
	buf_reset(&b);
	screen_put(&b, "\xe6\xbc\xa2\xe5\xad\x97xyz", 4, false); /* two of two columns each */
	assert_string_equal(buf_str(&b), "\xe6\xbc\xa2~ ");
	buf_reset(&b);
	screen_put(&b, "a\x1b[31m\xe2\x80\xae\x80", 20, true);
	assert_string_equal(buf_str(&b), "            a?[31m??");
	buf_reset(&b);
	setlocale(LC_CTYPE, "C");
	screen_put(&b, "na\xc3\xafve", 7, true);
	assert_string_equal(buf_str(&b), "  na?ve");
	buf_reset(&b);
	screen_put(&b, "abc", 0, false);
	assert_int_equal(b.len, 0);
	buf_free(&b);
}

/* The end of a qualified name matters most, template arguments least. */
static void test_names_too_long(void **state)
{
	static const struct {
		const char *name, *place;
		int cols;
		const char *shown;
	} cases[] = {
		{ "shop::Cart::add(Item const&)", "cart.cc:7", 39, "shop::Cart::add(Item const&)  cart.cc:7" },
		{ "shop::Cart::add(Item const&)", "cart.cc:7", 38, "shop::Cart::add  cart.cc:7            " },
		{ "shop::Cart::add(Item const&)", "cart.cc:7", 25, "shop::Cart::add  ~rt.cc:7" },
		{ "shop::Cart::add(Item const&)", "cart.cc:7", 15, "~add  cart.cc:7" },
		{ "shop::Cart::put_item_away()", "", 10, "~put_item~" },
		{ "void std::vector<std::pair<int, A<(b)1> > >::_M_insert<A*>(A*) const", "", 30,
		  "std::vector<>::_M_insert<>    " },
		{ "std::map<int, long>& (anonymous namespace)::made(std::map<int, long>)", "", 30,
		  "~made                         " },
		{ "main::{lambda(a::b)#1}::operator()(a::b) const", "", 25, "~operator()(a::b) const  " },
		{ "a_plain_function_of_c.part.0", "main.c:1", 24, "a_plain_functi~  ~in.c:1" },
		{ "cut::off<std::map<int, long>, st...", "", 14, "cut::off<...  " },
		{ "cut::off(std::map<int, long> const&, st...", "", 14, "cut::off      " },
		{ "<", "", 1, "<" },
		{ "::", "", 1, "~" },
		{ "(((((((", "", 3, "((~" },
		{ ">>>->::<<<(", "", 4, ">>>~" },
	};
	struct buf b = { 0 };
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_reset(&b);
		screen_put_place(&b, cases[i].name, cases[i].place, cases[i].cols);
		assert_string_equal(buf_str(&b), cases[i].shown);
	}
	buf_free(&b);
}

static void test_lists_that_are_none(void **state)
{
	static const char *const bad[] = {
		"",
		"alys-feed\t2\nend\n",
		"alys-feed\t1\n",
		"alys-feed\t1\nwhen\t1\n",
		"x",
		"alys-feed\t1\nstack\t1\t1\t1\t1\t1\tT\t0\nend\n",
		"alys-feed\t1\nframe\ta\t\nstack\t1\t1\t1\t1\t1\tT\t\nend\n",
		"alys-feed\t1\nframe\ta\t\nstack\t1\t1\t1\t1\t-1\tT\t0\nend\n",
		"alys-feed\t1\nledger\t1\t2\t3\tx\nend\n",
		"alys-feed\t1\nframe\ta\t\nstack\t99999999999\t1\t1\t1\t1\tT\t0\nend\n",
		"alys-feed\t1\nnote\t\x1b[31m\nend\n",
		"alys-feed\t1\nframe\ta\tb\tc\td\te\tf\tg\th\ti\nend\n",
		"alys-feed\t1\nend",
		"alys-feed\t1\nen",
		"alys-feed\t1\nlost\ta\nend\n",
		"alys-feed\t1\nlost\ta\t-1\nend\n",
	};
	struct feed f;
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool whole = !strcmp(bad[i], "alys-feed\t1\nend");
		assert_int_equal(feed_parse(&f, bad[i], strlen(bad[i]), &err), whole ? 0 : -EINVAL);
		feed_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes_then_sites),
		cmocka_unit_test(test_forgotten_stacks_are_no_news),
		cmocka_unit_test(test_moved_stacks_are_no_news),
		cmocka_unit_test(test_stacks_that_read_the_same),
		cmocka_unit_test(test_what_is_counted),
		cmocka_unit_test(test_a_stack_longer_than_the_screen),
		cmocka_unit_test(test_names_too_long),
		cmocka_unit_test(test_types_that_are_long),
		cmocka_unit_test(test_names_have_the_room_of_no_types),
		cmocka_unit_test(test_state_and_filter_fit_the_title),
		cmocka_unit_test(test_the_head_is_of_what_the_filter_leaves),
		cmocka_unit_test(test_tracing_that_is_off_is_in_the_title),
		cmocka_unit_test(test_rates_and_growth),
		cmocka_unit_test(test_what_comes_later_grows_from_nothing),
		cmocka_unit_test(test_sorting),
		cmocka_unit_test(test_a_chosen_row_stays_chosen),
		cmocka_unit_test(test_a_stack),
		cmocka_unit_test(test_errors_of_estimates),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_pause_holds_all_but_losses),
		cmocka_unit_test(test_losses_are_on_every_screen),
		cmocka_unit_test(test_small_and_large_screens),
		cmocka_unit_test(test_scrolling),
		cmocka_unit_test(test_columns_of_wide_text),
		cmocka_unit_test(test_lists_that_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
