/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every format over scripted recordings, byte by byte against tests/golden/sink (GOLDEN_UPDATE=1
 * rewrites them), and hostile names through all of them. The outputs stay in the folder "sink"
 * beside this program, where tests/e2e/test_formats.py reads them with the tools of these formats.
 */
#include "unit/sink_recordings.h"

#include <errno.h>
#include <zlib.h>
#include <zstd.h>

#include "user/output/profiles/pprof.pb-c.h"

static char out_dir[PATH_MAX];

static void write_file(const char *path, const struct buf *b)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	if (b->len)
		assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
	assert_int_equal(fclose(f), 0);
}

static void read_file(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "r");
	if (!f)
		fail_msg("no %s: GOLDEN_UPDATE=1 makes it", path);
	size_t n;
	do {
		uint8_t *room = buf_room(b, 4096);
		assert_non_null(room);
		n = fread(room, 1, 4096, f);
		b->len += n;
	} while (n);
	fclose(f);
}

static void unzip(struct buf *b)
{
	struct buf plain = { 0 };
	z_stream z = { .next_in = b->data, .avail_in = (uInt)b->len };
	int rc;
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	do {
		z.next_out = buf_room(&plain, 4096);
		z.avail_out = 4096;
		rc = inflate(&z, Z_NO_FLUSH);
		plain.len += 4096 - z.avail_out;
	} while (rc == Z_OK);
	assert_int_equal(rc, Z_STREAM_END);
	inflateEnd(&z);
	buf_free(b);
	*b = plain;
}

static void unzstd(struct buf *b)
{
	struct buf plain = { 0 };
	uint8_t *room = buf_room(&plain, 1 << 20);
	assert_non_null(room);
	plain.len = ZSTD_decompress(room, 1 << 20, b->data, b->len);
	assert_false(ZSTD_isError(plain.len));
	buf_free(b);
	*b = plain;
}

/* Compressed bytes differ between versions of the libraries: goldens hold the content. */
static const char *unpack(const char *ext, struct buf *b)
{
	if (!strcmp(ext, ".pb.gz")) {
		unzip(b);
		return ".pb";
	}
	if (!strcmp(ext, ".heaptrack.zst")) {
		unzstd(b);
		return ".heaptrack";
	}
	return ext;
}

static void compare_golden(const char *name, const char *ext, struct buf *b)
{
	char path[PATH_MAX];
	struct buf want = { 0 };
	ext = unpack(ext, b);
	snprintf(path, sizeof(path), "tests/golden/sink/%s%s", name, ext);
	if (getenv("GOLDEN_UPDATE"))
		write_file(path, b);
	read_file(path, &want);
	if (want.len != b->len || (b->len && memcmp(want.data, b->data, b->len)))
		fail_msg("%s differs from what is written now (%zu bytes, was %zu)", path, b->len, want.len);
	buf_free(&want);
}

static void render_to(const struct recording *r, const char *name, const struct sink_ops *ops, const struct sink_options *o,
		      struct buf *b)
{
	char path[PATH_MAX + 64];
	render(r, ops, o, b);
	assert_false(b->failed);
	snprintf(path, sizeof(path), "%s/%s%s", out_dir, name, ops->ext);
	write_file(path, b);
}

/* Pages are mostly their program: test_sink_exports_html checks the data in them. */
static const struct sink_ops *next_format(size_t *i)
{
	const struct sink_ops *ops = sink_next(i);
	return ops && !strcmp(ops->name, "html") ? sink_next(i) : ops;
}

/* Formats without sampling refuse samples and write nothing. */
static bool refuses_samples(const struct recording *r, const struct sink_ops *ops)
{
	struct buf b = { 0 };
	struct sink_out to = { collect, &b };
	struct sink_input in = { .catalog = r->c, .options = &(struct sink_options){ 0 } };
	struct err err = { 0 };
	void *s;
	if (!r->n || !r->events[0].interval || (strcmp(ops->name, "dhat") && strcmp(ops->name, "heaptrack")))
		return false;
	assert_int_equal(ops->begin(&in, &to, &s, &err), -EINVAL);
	assert_non_null(strstr(err.text, "this trace contains samples"));
	assert_int_equal(b.len, 0);
	return true;
}

static void check_all(struct recording r, const char *name, const struct sink_options *o)
{
	const struct sink_ops *ops;
	for (size_t i = 0; (ops = next_format(&i));) {
		struct buf b = { 0 };
		if (refuses_samples(&r, ops))
			continue;
		render_to(&r, name, ops, o, &b);
		compare_golden(name, ops->ext, &b);
		buf_free(&b);
	}
	forget(&r);
}

static void shop_is_golden(void **state)
{
	(void)state;
	check_all(record_shop(), "shop", &(struct sink_options){ 0 });
}

static void fleet_is_golden(void **state)
{
	(void)state;
	check_all(record_fleet(), "fleet", &(struct sink_options){ 0 });
}

static void options_are_golden(void **state)
{
	const struct sink_options o = { .indent = true,
					.keep_allocator_frames = true,
					.no_addresses = true,
					.value = "inuse_space",
					.title = "Shop <1>",
					.top = 1 };
	(void)state;
	check_all(record_shop(), "options", &o);
}

/* The frames of each stack once: in a table before the events, or in a line before the stack's first event. */
static void stacks_once_are_golden(void **state)
{
	static const char *const formats[] = { "json", "jsonl" };
	(void)state;
	for (size_t i = 0; i < 2 * LEN(formats); i++) {
		struct recording r = i < LEN(formats) ? record_shop() : record_fleet();
		const struct sink_ops *ops = sink_find(formats[i % LEN(formats)]);
		const char *name = i < LEN(formats) ? "shop-once" : "fleet-once";
		struct buf b = { 0 };
		render_to(&r, name, ops, &(struct sink_options){ .stacks_once = true }, &b);
		compare_golden(name, ops->ext, &b);
		buf_free(&b);
		forget(&r);
	}
}

static void empty_recording_is_golden(void **state)
{
	struct recording r = { .c = catalog_new() };
	(void)state;
	replay(&r, NULL, 0);
	check_all(r, "empty", &(struct sink_options){ 0 });
}

static bool has(const struct buf *b, const char *text)
{
	return memmem(b->data, b->len, text, strlen(text));
}

/* No byte below space but the newline, no DEL, no C1, no bidi control; 10 kB name whole. */
static void assert_clean(const struct buf *b, const char *format)
{
	for (size_t i = 0; i < b->len; i++) {
		uint8_t c = b->data[i];
		/* The SVG's own script is indented with tabs. */
		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || c >= 0xf8)
			fail_msg("%s has byte 0x%02x at %zu", format, c, i);
	}
	assert_false(has(b, "\xe2\x80\xae"));
	assert_false(has(b, "\xc2\x85"));
	assert_false(has(b, "\xed\xa0\x80"));
	assert_true(has(b, "\\x1b[31mred"));
}

static void hostile_names_are_harmless(void **state)
{
	struct recording r = record_hostile();
	const struct sink_ops *ops;
	(void)state;
	for (size_t i = 0; (ops = next_format(&i));) {
		struct buf b = { 0 };
		render_to(&r, "hostile", ops, &(struct sink_options){ 0 }, &b);
		unpack(ops->ext, &b);
		if (strcmp(ops->name, "pprof") && strcmp(ops->name, "otlp") && strcmp(ops->name, "perfetto"))
			assert_clean(&b, ops->name);
		assert_true(b.len > HOSTILE_LONG);
		if (!strcmp(ops->name, "flamegraph")) {
			assert_false(has(&b, "</script><script>"));
			assert_false(has(&b, "\xef\xbf\xbe"));
		}
		if (!strcmp(ops->name, "folded-stacks"))
			assert_true(has(&b, "a:b:c 12 109\n"));
		buf_free(&b);
	}
	forget(&r);
}

struct tape {
	size_t calls, fail_at;
};

static int break_off(void *ctx, const void *bytes, size_t n)
{
	struct tape *t = ctx;
	(void)bytes;
	assert_true(n > 0);
	return ++t->calls >= t->fail_at ? -ENOSPC : 0;
}

static void full_disk_ends_each_format(void **state)
{
	struct recording r = record_shop();
	const struct sink_ops *ops;
	const struct sink_options o = { 0 };
	(void)state;
	for (size_t i = 0; (ops = next_format(&i));) {
		struct tape t = { .fail_at = 1 };
		struct sink_out out = { break_off, &t };
		struct heap *h = heap_new();
		struct sink_input in = { r.c, r.s, h, &o };
		struct err err = { 0 };
		void *s;
		if (ops->render) {
			assert_int_equal(ops->render(&in, &out, &err), -ENOSPC);
		} else {
			struct applied a;
			assert_int_equal(ops->begin(&in, &out, &s, &err), 0);
			assert_int_equal(heap_apply(h, &r.events[0], &a), 0);
			assert_int_equal(ops->event(s, &r.events[0], &a, &err), 0);
			assert_int_equal(ops->end(s, &err), -ENOSPC);
		}
		heap_free(h);
		assert_int_equal(t.calls, 1);
		assert_int_equal(err.code, ENOSPC);
		assert_non_null(strstr(err.text, "No space left"));
	}
	forget(&r);
}

static void unknown_value_is_refused(void **state)
{
	struct recording r = record_shop();
	const struct sink_options o = { .value = "cpu" };
	struct buf b = { 0 };
	struct sink_out out = { collect, &b };
	struct sink_input in = { .catalog = r.c, .snapshot = r.s, .options = &o };
	const struct sink_ops *ops;
	(void)state;
	for (size_t i = 0; (ops = next_format(&i));) {
		struct err err = { 0 };
		if (!ops->render)
			continue;
		assert_int_equal(ops->render(&in, &out, &err), -EINVAL);
		assert_non_null(strstr(err.text, "'cpu'"));
		assert_int_equal(b.len, 0);
	}
	forget(&r);
}

/* The same recording with other ids: orders must come from content. */
static void order_does_not_depend_on_ids(void **state)
{
	static const char *const formats[] = { "folded-stacks", "flamegraph", "text" };
	struct recording a = { .c = catalog_new() }, b = { .c = catalog_new() };
	struct event ea[3], eb[3];
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		/* Equal values, so that only the content can order them. */
		ea[i] = (struct event){ .kind = EVENT_ALLOC, .proc = { 1 }, .stack = { i + 1 }, .addr = 64 * (i + 1), .size = 8 };
		eb[i] = ea[i];
		eb[i].stack.n = 21 - 5 * i;
	}
	put_shop_files(a.c);
	put_shop_files(b.c);
	put_shop(a.c, 1, 1, 1);
	put_mapping(b.c, 9, 1, 1, SHOP_BIAS);
	put_mapping(b.c, 4, 1, 2, LIBC_BIAS);
	put_mapping(b.c, 2, 1, 3, BLOB_BIAS);
	for (uint32_t i = 0; i < 3; i++) {
		const struct stack *s = catalog_stack(a.c, (struct stack_id){ i + 1 });
		struct frame f[8];
		for (uint32_t k = 0; k < s->n; k++) {
			static const uint32_t other[] = { 0, 9, 4, 2 };
			f[k] = (struct frame){ { other[s->frames[k].map.n] }, s->frames[k].rel };
		}
		put_stack(b.c, 21 - 5 * i, 1, f, s->n);
	}
	replay(&a, ea, 3);
	replay(&b, eb, 3);
	for (size_t i = 0; i < LEN(formats); i++) {
		struct buf x = { 0 }, y = { 0 };
		render(&a, sink_find(formats[i]), &(struct sink_options){ 0 }, &x);
		render(&b, sink_find(formats[i]), &(struct sink_options){ 0 }, &y);
		assert_string_equal(buf_str(&x), buf_str(&y));
		buf_free(&x);
		buf_free(&y);
	}
	forget(&a);
	forget(&b);
}

static void read_times(struct recording *r, bool moment, int64_t *time, int64_t *duration)
{
	struct buf b = { 0 };
	render(r, sink_find("pprof"), &(struct sink_options){ .moment = moment }, &b);
	unzip(&b);
	Perftools__Profiles__Profile *p = perftools__profiles__profile__unpack(NULL, b.len, b.data);
	assert_non_null(p);
	*time = p->time_nanos;
	*duration = p->duration_nanos;
	perftools__profiles__profile__free_unpacked(p, NULL);
	buf_free(&b);
}

/* Repeated requests must not all have the same start time. */
static void a_moment_is_dated_at_its_end(void **state)
{
	struct recording r = record_shop();
	int64_t start, length, moment, none;
	(void)state;
	read_times(&r, false, &start, &length);
	read_times(&r, true, &moment, &none);
	assert_true(start == 1700000000000000000 && length == 2500000000);
	assert_true(moment == start + length && !none);
	forget(&r);
}

static void formats_are_found(void **state)
{
	(void)state;
	assert_string_equal(sink_find("pprof")->ext, ".pb.gz");
	assert_string_equal(sink_find("flamegraph")->ext, ".svg");
	assert_null(sink_find(""));
	assert_null(sink_find("jso"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shop_is_golden),
		cmocka_unit_test(fleet_is_golden),
		cmocka_unit_test(options_are_golden),
		cmocka_unit_test(empty_recording_is_golden),
		cmocka_unit_test(stacks_once_are_golden),
		cmocka_unit_test(hostile_names_are_harmless),
		cmocka_unit_test(full_disk_ends_each_format),
		cmocka_unit_test(unknown_value_is_refused),
		cmocka_unit_test(order_does_not_depend_on_ids),
		cmocka_unit_test(a_moment_is_dated_at_its_end),
		cmocka_unit_test(formats_are_found),
	};
	make_out_dir(out_dir);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
