/* SPDX-License-Identifier: Apache-2.0 */
/* liveness/marks: the thread that reads marks. The kernel's rings and the heap reader are mocks (tests/tests.mk wraps them). */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "heapreader/heapreader.h"
#include "intake/wakeup.h"
#include "liveness/marks.h"

#define PROBE ((struct probe *)&world)
#define TGID 70u
#define OBJECT 0x7000u
#define WHOLE_DUE_US 60000 /* until a complete reading is due again */

/* Answers of the kernel and the process. `lock` protects what two threads use. */
static struct {
	pthread_mutex_t lock;
	uint64_t begun, gc_no;
	int find, prove, heap, count; /* results */
	uint32_t bad_headers;         /* readings that find some, from now on */
	uint32_t heaps, finds, proofs;
	bool torn, at_begins;
	int fd;
	void (*fn)(void *ctx, const void *record, size_t size);
	void *ctx;
	struct intake_collection record;
	bool waits, over;
	uint32_t era;
	bool leaves;     /* probes at collections, while marks are read */
	uint64_t logged; /* sampled objects: their addresses are multiples of 16 from OBJECT on */
	struct alys_gc_idle idle;
	uint32_t idles;
} world = { .lock = PTHREAD_MUTEX_INITIALIZER };

#define SAY(field, value)                          \
	do {                                       \
		pthread_mutex_lock(&world.lock);   \
		world.field = (value);             \
		pthread_mutex_unlock(&world.lock); \
	} while (0)
#define ASK(field)                                      \
	({                                              \
		pthread_mutex_lock(&world.lock);        \
		typeof(world.field) was_ = world.field; \
		pthread_mutex_unlock(&world.lock);      \
		was_;                                   \
	})

struct wakeup *__wrap_wakeup_new(int ring, void (*fn)(void *ctx, const void *record, size_t size), void *ctx, struct err *err);
struct wakeup *__wrap_wakeup_new(int ring, void (*fn)(void *ctx, const void *record, size_t size), void *ctx, struct err *err)
{
	(void)ring, (void)err;
	world.fn = fn;
	world.ctx = ctx;
	world.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return (struct wakeup *)&world;
}

void __wrap_wakeup_free(struct wakeup *b);
void __wrap_wakeup_free(struct wakeup *b)
{
	(void)b;
	close(world.fd);
}

int __wrap_wakeup_fd(const struct wakeup *b);
int __wrap_wakeup_fd(const struct wakeup *b)
{
	(void)b;
	return world.fd;
}

void __wrap_wakeup_drain(struct wakeup *b);
void __wrap_wakeup_drain(struct wakeup *b)
{
	uint64_t word;
	(void)b;
	if (read(world.fd, &word, sizeof(word)) == sizeof(word) && ASK(waits))
		world.fn(world.ctx, &world.record, sizeof(world.record));
}

bool __wrap_intake_collection_of(const void *data, size_t size, struct intake_collection *out, bool *over);
bool __wrap_intake_collection_of(const void *data, size_t size, struct intake_collection *out, bool *over)
{
	(void)data, (void)size;
	*out = ASK(record);
	*over = ASK(over);
	return true;
}

uint64_t __wrap_probe_objects_logged(const struct probe *p);
uint64_t __wrap_probe_objects_logged(const struct probe *p)
{
	(void)p;
	return ASK(logged);
}

uint32_t __wrap_probe_gc_era(const struct probe *p);
uint32_t __wrap_probe_gc_era(const struct probe *p)
{
	(void)p;
	return ASK(era);
}

uint64_t __wrap_probe_collections_begun(const struct probe *p, uint32_t tgid);
uint64_t __wrap_probe_collections_begun(const struct probe *p, uint32_t tgid)
{
	(void)p, (void)tgid;
	return ASK(begun);
}

int __wrap_probe_collections_fd(const struct probe *p);
int __wrap_probe_collections_fd(const struct probe *p)
{
	(void)p;
	return -1;
}

void __wrap_probe_call_at_begins(struct probe *p, int on);
void __wrap_probe_call_at_begins(struct probe *p, int on)
{
	(void)p;
	SAY(at_begins, on);
}

void __wrap_probe_allow_stops(struct probe *p, uint64_t until_ns);
void __wrap_probe_allow_stops(struct probe *p, uint64_t until_ns)
{
	(void)p, (void)until_ns;
}

void __wrap_probe_collections_idle(struct probe *p, uint32_t tgid, const struct alys_gc_idle *idle);
void __wrap_probe_collections_idle(struct probe *p, uint32_t tgid, const struct alys_gc_idle *idle)
{
	(void)p;
	assert_int_equal(tgid, TGID);
	SAY(idle, *idle);
	SAY(idles, world.idles + 1);
}

void __wrap_probe_collections_not_idle(struct probe *p, uint32_t tgid);
void __wrap_probe_collections_not_idle(struct probe *p, uint32_t tgid)
{
	(void)p, (void)tgid;
}

int __wrap_probe_next_logged_object(const struct probe *p, uint64_t *at, struct alys_sampled_object *out);
int __wrap_probe_next_logged_object(const struct probe *p, uint64_t *at, struct alys_sampled_object *out)
{
	(void)p;
	if (*at >= ASK(logged))
		return 0;
	*out = (struct alys_sampled_object){ .addr = OBJECT + 16 * (*at)++, .tgid = TGID, .time = 1 };
	return 1;
}

struct heapreader *__wrap_heapreader_new(bool prompt, struct err *err);
struct heapreader *__wrap_heapreader_new(bool prompt, struct err *err)
{
	(void)prompt, (void)err;
	return (struct heapreader *)&world;
}

void __wrap_heapreader_free(struct heapreader *r);
void __wrap_heapreader_free(struct heapreader *r)
{
	(void)r;
}

static int answer(int rc, struct err *err)
{
	return rc ? err_set(err, -rc, "refused by %d", rc) : 0;
}

int __wrap_heapreader_find(struct heapreader *r, uint32_t tgid, struct heapreader_place *out, struct err *err);
int __wrap_heapreader_find(struct heapreader *r, uint32_t tgid, struct heapreader_place *out, struct err *err)
{
	(void)r;
	*out = (struct heapreader_place){ .tgid = tgid, .layout = { .gc_no = 1 } };
	SAY(finds, world.finds + 1);
	return answer(ASK(find), err);
}

int __wrap_heapreader_prove(struct heapreader *r, const struct heapreader_place *p, struct heapreader_proof *out,
			    struct err *err);
int __wrap_heapreader_prove(struct heapreader *r, const struct heapreader_place *p, struct heapreader_proof *out, struct err *err)
{
	(void)r, (void)p;
	*out = (struct heapreader_proof){ .typed = true };
	SAY(proofs, world.proofs + 1);
	return answer(ASK(prove), err);
}

static int read_world(struct boehm_heap *out, struct err *err)
{
	pthread_mutex_lock(&world.lock);
	*out = (struct boehm_heap){ .gc_no = world.gc_no, .torn = world.torn, .bad_headers = world.bad_headers != 0 };
	world.heaps++;
	world.bad_headers -= world.bad_headers != 0;
	world.era += world.leaves;
	int rc = world.heap;
	pthread_mutex_unlock(&world.lock);
	return answer(rc, err);
}

int __wrap_heapreader_heap(struct heapreader *r, const struct heapreader_place *p, struct boehm_heap *out, struct err *err);
int __wrap_heapreader_heap(struct heapreader *r, const struct heapreader_place *p, struct boehm_heap *out, struct err *err)
{
	(void)r, (void)p;
	return read_world(out, err);
}

int __wrap_heapreader_marks(struct heapreader *r, const struct heapreader_place *p, uint64_t *asked, size_t cnt,
			    struct boehm_heap *out, struct err *err);
int __wrap_heapreader_marks(struct heapreader *r, const struct heapreader_place *p, uint64_t *asked, size_t cnt,
			    struct boehm_heap *out, struct err *err)
{
	(void)r, (void)p, (void)cnt;
	free(asked);
	return read_world(out, err);
}

int __wrap_heapreader_count(struct heapreader *r, const struct heapreader_place *p, uint64_t *gc_no);
int __wrap_heapreader_count(struct heapreader *r, const struct heapreader_place *p, uint64_t *gc_no)
{
	(void)r, (void)p;
	*gc_no = ASK(gc_no);
	return ASK(count);
}

static int set_up(void **state)
{
	struct err err;
	pthread_mutex_lock(&world.lock);
	world.begun = world.gc_no = 5;
	world.find = world.prove = world.heap = world.count = 0;
	world.bad_headers = world.heaps = world.finds = world.proofs = world.idles = 0;
	world.logged = 0;
	world.torn = world.waits = world.over = world.leaves = false;
	pthread_mutex_unlock(&world.lock);
	*state = marks_new(PROBE, false, false, &err);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	marks_free(*state);
	return 0;
}

/* A collection begins or ends. */
static void tell(uint64_t serial, uint32_t gc_no, bool over)
{
	uint64_t one = 1;
	pthread_mutex_lock(&world.lock);
	world.record = (struct intake_collection){ .who = { .tgid = TGID }, .gc_no = gc_no, .serial = serial };
	world.over = over;
	world.waits = true;
	pthread_mutex_unlock(&world.lock);
	assert_int_equal(write(world.fd, &one, sizeof(one)), sizeof(one));
}

/* Until the first search for the collector is over. */
static void watch(struct marks *m)
{
	struct marks_facts f = { 0 };
	marks_watch(m, TGID);
	for (int i = 0; i < 60 && f.state == MARKS_WAITING && !f.failed.code; i++) {
		marks_settle(m, TGID);
		f = marks_facts(m, TGID);
	}
}

/* The proving thread takes a while to start. */
static struct marks_facts await_state(struct marks *m, enum marks_state state)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	struct marks_facts f = marks_facts(m, TGID);
	for (int i = 0; i < 30000 && f.state != state; i++, f = marks_facts(m, TGID))
		nanosleep(&moment, NULL);
	assert_int_equal(f.state, state);
	return f;
}

static bool is_good(struct marks *m, uint64_t serial)
{
	struct mark_reading *r = NULL;
	for (int i = 0; i < 30 && !r; i++) /* it waits for two seconds each */
		r = marks_take(m, TGID, serial);
	assert_non_null(r);
	assert_int_equal(r->serial, serial);
	bool good = r->good;
	mark_reading_free(r);
	return good;
}

static void collect(struct marks *m, uint32_t no)
{
	SAY(begun, no);
	SAY(gc_no, no);
	tell(no, no, true);
	assert_true(is_good(m, no));
}

static void test_each_collection_is_read_once(void **state)
{
	struct marks *m = *state;
	watch(m);
	assert_int_equal(marks_facts(m, TGID).state, MARKS_READY);
	assert_true(marks_facts(m, TGID).counted);
	tell(5, 5, true);
	assert_true(is_good(m, 5));
	assert_null(marks_take(m, TGID, 5));
	assert_int_equal(marks_cost(m).readings, 1);
	assert_int_equal(marks_cost(m).late, 0);
}

static void test_what_came_too_late_is_no_reading(void **state)
{
	struct marks *m = *state;
	watch(m);
	tell(4, 4, true); /* the fifth has begun */
	assert_false(is_good(m, 4));
	assert_int_equal(ASK(heaps), 0);
	SAY(gc_no, 6); /* its marks exist, but its number is another one's */
	tell(5, 5, true);
	assert_false(is_good(m, 5));
	assert_int_equal(marks_cost(m).late, 2);
}

/* Where probes came or went meanwhile, the next collection may have begun unseen. */
static void test_unsure_whose_the_marks_are(void **state)
{
	struct marks *m = *state;
	watch(m);
	SAY(leaves, true);
	tell(5, 5, true);
	assert_false(is_good(m, 5));
	SAY(leaves, false);
	collect(m, 6);
}

/* Nothing was sampled: between complete readings nothing is read, and no object is judged. */
static void test_nothing_sampled(void **state)
{
	struct marks *m = *state;
	watch(m);
	for (uint32_t no = 5; no < 25; no++)
		collect(m, no);
	assert_in_range(ASK(heaps), 1, 19);
	assert_int_equal(marks_cost(m).parts, 20 - ASK(heaps));
}

/* Whether the thread has said so after what came last. */
static bool is_idle(struct marks *m)
{
	uint32_t before = ASK(idles);
	mark_reading_free(marks_take(m, TGID, 1000)); /* a collection that never was: some rounds of the thread */
	return ASK(idles) > before;
}

/* Known as of the last round of the thread, for objects that were logged before it. */
static void test_none_is_left(void **state)
{
	struct marks *m = *state;
	watch(m);
	collect(m, 5);
	is_idle(m);
	assert_true(marks_none_left(m));
	SAY(logged, 1);
	assert_false(marks_none_left(m));
	collect(m, 6);
	is_idle(m);
	assert_false(marks_none_left(m)); /* it lives */
	marks_forget(m, TGID, now_ns());
	for (int i = 0; i < 30000 && !marks_none_left(m); i++)
		usleep(1000);
	assert_true(marks_none_left(m));
}

/* The kernel learns when no collection is of interest, until when, and up to which logged object. */
static void test_idle_while_nothing_is_sampled(void **state)
{
	struct marks *m = *state;
	watch(m);
	collect(m, 5);
	is_idle(m);
	assert_true(ASK(idle).until_ns > 0);
	assert_int_equal(ASK(idle).logged, 0);
	SAY(logged, 1);
	collect(m, 6); /* its object is there, and stays */
	assert_false(is_idle(m));
	assert_int_equal(ASK(idle).logged, 0);
}

/* A half-written header is invalid: three attempts. */
static void test_bad_headers_are_read_again(void **state)
{
	struct marks *m = *state;
	watch(m);
	SAY(bad_headers, 2);
	tell(5, 5, true);
	assert_true(is_good(m, 5));
	assert_int_equal(ASK(heaps), 3);
	SAY(bad_headers, 9);
	usleep(WHOLE_DUE_US);
	SAY(begun, 6);
	SAY(gc_no, 6);
	tell(6, 6, true);
	assert_false(is_good(m, 6));
	assert_int_equal(ASK(heaps), 6);
	assert_int_equal(marks_cost(m).late, 1);
}

/* A collector that is not found yet is searched for again, at the latest when it collects. */
static void test_not_yet_is_not_never(void **state)
{
	struct marks *m = *state;
	SAY(find, -ENODATA);
	watch(m);
	struct marks_facts f = marks_facts(m, TGID);
	assert_int_equal(f.state, MARKS_WAITING);
	assert_int_equal(f.failed.code, ENODATA);
	SAY(find, 0);
	tell(5, 5, true);
	assert_true(is_good(m, 5));
	assert_int_equal(await_state(m, MARKS_READY).failed.code, 0);
}

static void test_never(void **state)
{
	struct marks *m = *state;
	uint64_t gc_no;
	SAY(find, -EACCES);
	watch(m);
	assert_int_equal(marks_facts(m, TGID).state, MARKS_IMPOSSIBLE);
	assert_string_equal(marks_facts(m, TGID).failed.text, "refused by -13");
	tell(5, 5, true);
	assert_false(is_good(m, 5));
	assert_int_equal(ASK(heaps), 0);
	assert_int_equal(ASK(finds), 1);
	assert_int_equal(marks_count(m, TGID, &gc_no), -ENOENT);
	assert_null(marks_read(m, TGID));
}

static void test_proven_wrong(void **state)
{
	struct marks *m = *state;
	SAY(prove, -ENOTSUP);
	watch(m);
	assert_int_equal(await_state(m, MARKS_IMPOSSIBLE).failed.code, ENOTSUP);
}

/* Without a proof, readings are still used. */
static void test_types_come_with_the_proof(void **state)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	struct marks *m = *state;
	const struct types *types = (const struct types *)&world;
	SAY(prove, -ENOENT);
	watch(m);
	for (int i = 0; i < 30000 && !marks_types(m, TGID, &types); i++)
		nanosleep(&moment, NULL);
	assert_true(marks_types(m, TGID, &types));
	assert_null(types); /* the program is not Crystal's */
	assert_int_equal(marks_facts(m, TGID).state, MARKS_READY);
	assert_int_equal(ASK(proofs), 1);
}

/* A process whose collections are not reported. */
static void test_counter_and_marks_on_request(void **state)
{
	struct marks *m = *state;
	uint64_t gc_no;
	watch(m);
	assert_int_equal(marks_count(m, TGID, &gc_no), 0);
	assert_int_equal(gc_no, 5);
	struct mark_reading *r = marks_read(m, TGID);
	assert_non_null(r);
	assert_int_equal(r->gc_no, 5);
	mark_reading_free(r);
	SAY(torn, true);
	assert_null(marks_read(m, TGID));
}

/* A heap whose reader crashed is not read again. */
static void test_lost_reader(void **state)
{
	struct marks *m = *state;
	uint64_t gc_no;
	watch(m);
	SAY(count, -ECONNRESET);
	assert_int_equal(marks_count(m, TGID, &gc_no), -ECONNRESET);
	assert_int_equal(marks_facts(m, TGID).failed.code, ECONNRESET);
	assert_int_equal(marks_facts(m, TGID).state, MARKS_IMPOSSIBLE);
	SAY(count, 0);
	assert_int_equal(marks_count(m, TGID, &gc_no), -ENOENT);
}

static void test_who_is_gone_is_not_waited_for(void **state)
{
	struct marks *m = *state;
	uint64_t gc_no;
	assert_null(marks_take(m, TGID, 5)); /* not watched */
	watch(m);
	marks_forget(m, TGID, now_ns());
	assert_null(marks_take(m, TGID, 5));
	assert_int_equal(marks_count(m, TGID, &gc_no), -ENOENT);
	watch(m); /* the number's next owner */
	tell(5, 5, true);
	assert_true(is_good(m, 5));
}

/* A forked child collects before anybody has read of its birth. */
static void test_a_collection_comes_before_its_process(void **state)
{
	struct marks *m = *state;
	tell(5, 5, true);
	for (int i = 0; i < 30000 && !ASK(heaps); i++)
		usleep(1000);
	marks_watch(m, TGID);
	assert_true(is_good(m, 5));
	assert_int_equal(ASK(finds), 1);
}

/* It had ended by then: nobody would say so again, and the number may get another owner. */
static void test_who_is_met_too_late_is_not_kept(void **state)
{
	struct marks *m = *state;
	struct mark_reading *r = NULL;
	SAY(find, -ESRCH);
	tell(5, 5, true);
	for (int i = 0; i < 30000 && !r; i++, usleep(1000))
		r = marks_take(m, TGID, 5);
	assert_non_null(r);
	assert_false(r->good);
	mark_reading_free(r);
	SAY(find, 0);
	watch(m);
	tell(5, 5, true);
	assert_true(is_good(m, 5));
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_each_collection_is_read_once),
		T(test_what_came_too_late_is_no_reading),
		T(test_unsure_whose_the_marks_are),
		T(test_none_is_left),
		T(test_nothing_sampled),
		T(test_idle_while_nothing_is_sampled),
		T(test_bad_headers_are_read_again),
		T(test_not_yet_is_not_never),
		T(test_never),
		T(test_proven_wrong),
		T(test_types_come_with_the_proof),
		T(test_counter_and_marks_on_request),
		T(test_lost_reader),
		T(test_who_is_gone_is_not_waited_for),
		T(test_a_collection_comes_before_its_process),
		T(test_who_is_met_too_late_is_not_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
