/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http and push without tracing, for tests: three processes with a scripted heap that grows over time.
 * webfake [--listen A] [--insecure] [--push URL] [--every S] [--queue BYTES] [--later MS] [--many N]
 * [--push-header H] [--push-header-file F] [--push-user-file F] [--push-ca F]
 * Prints its address in one line; SIGTERM ends it.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "http/http.h"
#include "lib/feed.h"
#include "model/model.h"
#include "push/credentials.h"
#include "push/push.h"
#include "format/sink.h"
#include "sink/registry.h"

static const char script[] =
	"meta command shop\n"
	"proc p1 4242 shop\n"
	"proc p2 4243 evil\n"
	"stack A p1 malloc [/lib/libc.so.6] < ~Cart.add [/bin/shop /src/cart.cr:3:5] < main [/bin/shop /src/main.cr:9]\n"
	"stack B p1 malloc [/lib/libc.so.6] < Page.render [/bin/shop /src/page.cr:7:1] < main [/bin/shop /src/main.cr:9]\n"
	"stack C p2 malloc [/lib/libc.so.6] < <img/onerror=alert(1)> [/bin/evil /src/<b>.c:1:1] < main [/bin/evil /src/e.c:9]\n"
	"0.1 malloc p1 0x10 1024 A\n"
	"0.2 malloc p1 0x20 4096 B\n"
	"0.3 malloc p2 0x10 512 C\n";

#define STACK_B 2

struct http_mark {
	struct snapshot *at;
	uint64_t time_ns;
};

struct fake {
	struct catalog *catalog;
	struct heap *heap;
	double history[60];
	uint64_t grown;
	uint64_t begun_ns;
	uint64_t later_ms;
	uint32_t many;
	size_t marks;
};

static int to_heap(void *ctx, const struct event *e)
{
	return heap_apply(((struct fake *)ctx)->heap, e, NULL);
}

/* Allocates 1000 bytes at Page.render. */
static void grow(struct fake *f)
{
	struct event e = { .kind = EVENT_ALLOC, .proc = { 1 }, .tid = 4242, .stack = { STACK_B }, .size = 1000 };
	e.addr = 0x100000 + f->grown * 4096;
	e.time_ns = FEED_START_NS + 1000000000 + f->grown++;
	heap_apply(f->heap, &e, NULL);
	memmove(f->history, f->history + 1, sizeof(f->history) - sizeof(f->history[0]));
	f->history[59] = 5120 + (double)f->grown * 1000;
}

static int each_process(void *ctx, int (*fn)(void *fn_ctx, const struct http_process *p), void *fn_ctx)
{
	struct fake *f = ctx;
	struct http_process shop = { .pid = 4242,
				     .comm = "shop",
				     .exe = "/bin/shop",
				     .live_bytes = f->history[59],
				     .alloc_rate = 20000,
				     .recorded = f->grown + 2,
				     .history = f->history,
				     .history_cnt = 60,
				     .history_step_s = 5,
				     .resident_bytes = 3 << 20,
				     .traced_s = 725 };
	struct http_process evil = { .pid = 4243,
				     .comm = "<b>\x1b[31m\"\\\n",
				     .exe = "/bin/</td><script>alert(1)</script>",
				     .live_bytes = 512,
				     .recorded = 1,
				     .lost = 4,
				     .resident_bytes = 9 << 20,
				     .traced_s = 3 };
	memset(evil.comm + 10, 'x', 6); /* no terminating NUL */
	int rc = fn(fn_ctx, &shop);
	if (!rc)
		rc = fn(fn_ctx, &evil);
	for (uint32_t i = 0; !rc && i < f->many; i++) {
		struct http_process more = { .pid = 10000 + i, .comm = "crowd", .exe = "/bin/crowd" };
		/* Alternates between the smallest and the largest of all. */
		more.live_bytes = i + (f->grown / 10 % 2 ? 1e9 : 0);
		rc = fn(fn_ctx, &more);
	}
	return rc;
}

static int to_buf(void *ctx, const void *bytes, size_t n)
{
	buf_add(ctx, bytes, n);
	return 0;
}

struct html_feed {
	struct fake *f;
	void *state;
	struct heap *heap;
};

static int to_html(void *ctx, const struct event *e)
{
	struct html_feed *h = ctx;
	struct applied a;
	heap_apply(h->heap, e, &a);
	return sink_find("html")->event(h->state, e, &a, NULL);
}

static int render_report(struct fake *f, struct buf *out, struct err *err)
{
	struct sink_options o = { 0 };
	struct sink_out to = { to_buf, out };
	struct html_feed h = { f, NULL, heap_new() };
	struct sink_input in = { .catalog = f->catalog, .heap = h.heap, .options = &o };
	int rc = sink_find("html")->begin(&in, &to, &h.state, err);
	if (!rc) {
		struct catalog *again = catalog_new();
		feed_run(script, again, to_html, &h);
		catalog_free(again);
		rc = sink_find("html")->end(h.state, err);
	}
	heap_free(h.heap);
	return rc;
}

static bool is_known(const struct fake *f, uint32_t pid)
{
	return !pid || pid == 4242 || pid == 4243 || (pid >= 10000 && pid < 10000 + f->many);
}

static void keep(struct snapshot *s, uint32_t pid)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (!pid || s->rows[i].proc.n == pid - 4241)
			s->rows[n++] = s->rows[i];
	}
	s->n = n;
}

/* Rows of both are in the same order: new stacks are only appended. */
static void subtract(struct snapshot *now, const struct snapshot *then)
{
	for (size_t i = 0, k = 0; i < now->n && k < then->n; i++) {
		const struct totals *base = &then->rows[k].t;
		if (now->rows[i].stack.n != then->rows[k].stack.n)
			continue;
		now->rows[i].t.alloc_cnt -= base->alloc_cnt;
		now->rows[i].t.alloc_sz -= base->alloc_sz;
		now->rows[i].t.est_alloc_cnt -= base->est_alloc_cnt;
		now->rows[i].t.est_alloc_sz -= base->est_alloc_sz;
		k++;
	}
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void put_time(struct catalog *c, const char *key, uint64_t ns)
{
	char text[32];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)ns);
	catalog_put_meta(c, key, text);
}

static void put_window(const struct fake *f, const struct http_profile_request *r)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), begin = r->since ? r->since->time_ns : f->begun_ns;
	put_time(f->catalog, "start_mono_ns", begin);
	put_time(f->catalog, "start_real_ns", clock_ns(CLOCK_REALTIME) - (now - begin));
	put_time(f->catalog, "end_mono_ns", now);
}

static int render(struct fake *f, const struct http_profile_request *r, struct buf *out, struct err *err)
{
	struct sink_options o = { .value = r->what == HTTP_PROFILE_ALLOCS ? "alloc_space" : "inuse_space", .moment = !r->since };
	struct snapshot *s = heap_snapshot(f->heap);
	if (r->since)
		subtract(s, r->since->at);
	int rc = is_known(f, r->pid) ? 0 : err_set(err, ENOENT, "process %u is not traced\x1b", r->pid);
	keep(s, r->pid);
	struct sink_input in = { .catalog = f->catalog, .snapshot = s, .options = &o };
	struct sink_out to = { to_buf, out };
	put_window(f, r);
	if (r->what == HTTP_PROFILE_OTLP)
		o.value = NULL;
	if (!rc && r->what == HTTP_PROFILE_REPORT)
		rc = render_report(f, out, err);
	else if (!rc)
		rc = sink_find(r->what == HTTP_PROFILE_OTLP ? "otlp" : "pprof")->render(&in, &to, err);
	snapshot_free(s);
	return rc;
}

struct slow {
	struct slow *next;
	bool forgotten;
	struct http_deferred *later;
	struct buf out;
	struct err err;
	int rc;
	uint64_t ms;
};

/* Delayed profiles. */
static pthread_mutex_t slow_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slow *slow_ones;

static bool is_due(struct slow *s, uint64_t due_ns)
{
	pthread_mutex_lock(&slow_lock);
	bool due = s->forgotten || clock_ns(CLOCK_MONOTONIC) >= due_ns;
	struct slow **place = &slow_ones;
	while (*place != s)
		place = &(*place)->next;
	if (due)
		*place = s->next;
	pthread_mutex_unlock(&slow_lock);
	return due;
}

static void *answer_slowly(void *arg)
{
	struct slow *s = arg;
	uint64_t due_ns = clock_ns(CLOCK_MONOTONIC) + s->ms * 1000000;
	while (!is_due(s, due_ns))
		usleep(5000);
	http_deferred_done(s->later, s->forgotten ? -ECANCELED : s->rc, &s->out, &s->err);
	buf_free(&s->out);
	free(s);
	return NULL;
}

static void forget(void *ctx, const struct http_deferred *later)
{
	(void)ctx;
	pthread_mutex_lock(&slow_lock);
	for (struct slow *s = slow_ones; s; s = s->next)
		s->forgotten |= s->later == later;
	pthread_mutex_unlock(&slow_lock);
}

static uint64_t slow_cnt(void)
{
	uint64_t n = 0;
	pthread_mutex_lock(&slow_lock);
	for (const struct slow *s = slow_ones; s; s = s->next)
		n++;
	pthread_mutex_unlock(&slow_lock);
	return n;
}

static int profile(void *ctx, const struct http_profile_request *r, struct buf *out, struct err *err)
{
	struct fake *f = ctx;
	pthread_t thread;
	if (!f->later_ms)
		return render(f, r, out, err);
	struct slow *s = calloc(1, sizeof(*s));
	s->later = r->later;
	s->ms = f->later_ms;
	s->rc = render(f, r, &s->out, &s->err);
	pthread_mutex_lock(&slow_lock);
	s->next = slow_ones;
	slow_ones = s;
	pthread_mutex_unlock(&slow_lock);
	pthread_create(&thread, NULL, answer_slowly, s);
	pthread_detach(thread);
	return HTTP_LATER;
}

static int mark(void *ctx, uint32_t pid, uint32_t shown, struct http_mark **out, struct err *err)
{
	struct fake *f = ctx;
	if (!is_known(f, pid))
		return err_set(err, ENOENT, "process %u is not traced", pid);
	*out = calloc(1, sizeof(**out));
	(void)shown;
	(*out)->at = heap_snapshot(f->heap);
	(*out)->time_ns = clock_ns(CLOCK_MONOTONIC);
	f->marks++;
	return 0;
}

static void unmark(void *ctx, struct http_mark *m)
{
	((struct fake *)ctx)->marks--;
	snapshot_free(m->at);
	free(m);
}

static int status(void *ctx, struct http_status *out)
{
	struct fake *f = ctx;
	static struct http_count counts[] = {
		{ "hit", "malloc", "calls of malloc", 0 },           { "recorded", "alloc", "allocations", 0 },
		{ "skipped", "nested", "inside another call", 10 },  { "lost", "ring-full", "the ring was full", 4 },
		{ "note", "ring-bytes", "size of the ring", 65536 }, { "note", "answers-to-come", "profiles on their way", 0 },
	};
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	counts[1].value = f->grown + 3;
	counts[0].value = f->grown + 17;
	counts[5].value = slow_cnt();
	*out = (struct http_status){ .on = true,
				     .ready = true,
				     .interval = 1 << 20,
				     .interval_wanted = 1 << 19,
				     .processes = 2 + f->many,
				     .files = 3,
				     .memory = 20 << 20,
				     .memory_kernel = 7 << 20,
				     .memory_max = 256 << 20,
				     .notice = "sampling was halved: --max-memory <256M> is reached",
				     .counts = counts,
				     .counts_cnt = sizeof(counts) / sizeof(counts[0]) };
	out->cpu_seconds = (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6;
	return 0;
}

struct words {
	struct http_options http;
	struct push_options push;
	struct fake *fake;
};

static void parse(struct words *w, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		if (!strcmp(argv[i], "--insecure")) {
			w->http.insecure = true;
			continue;
		}
		if (!strcmp(argv[i], "--listen"))
			w->http.listen = value;
		else if (!strcmp(argv[i], "--push"))
			w->push.url = value;
		else if (!strcmp(argv[i], "--push-header"))
			*VEC_PUSH(&w->push.headers, at) = value;
		else if (!strcmp(argv[i], "--push-header-file"))
			w->push.header_file = value;
		else if (!strcmp(argv[i], "--push-user-file"))
			w->push.user_file = value;
		else if (!strcmp(argv[i], "--push-ca"))
			w->push.ca_file = value;
		else if (!strcmp(argv[i], "--every"))
			w->push.every = atof(value);
		else if (!strcmp(argv[i], "--queue"))
			w->push.queue_max = strtoull(value, NULL, 0);
		else if (!strcmp(argv[i], "--later"))
			w->fake->later_ms = strtoull(value, NULL, 0);
		else if (!strcmp(argv[i], "--many"))
			w->fake->many = (uint32_t)strtoul(value, NULL, 0);
		i++;
	}
}

static void run(struct fake *f, struct http *h, struct push *p, int signals)
{
	struct pollfd fds[] = { { signals, POLLIN, 0 }, { http_fd(h), POLLIN, 0 }, { p ? push_fd(p) : -1, POLLIN, 0 } };
	struct timespec last = { 0 }, now;
	for (;;) {
		poll(fds, 3, 50);
		if (fds[0].revents)
			return;
		if (fds[1].revents)
			http_serve_pending(h);
		if (fds[2].revents)
			push_serve_pending(p);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec * 20 + now.tv_nsec / 50000000 != last.tv_sec * 20 + last.tv_nsec / 50000000)
			grow(f);
		last = now;
	}
}

/* Serves until SIGTERM; false if it could not start. */
static bool serve(struct fake *f, struct words *w, int signals, struct err *err)
{
	struct http_source source = { f, each_process, profile, forget, mark, unmark, status };
	struct http_listener listener;
	struct push *p = w->push.url ? push_open(&w->push, &source, err) : NULL;
	w->http.metrics = p ? push_metrics : NULL;
	w->http.metrics_ctx = p;
	struct http *h = err->code || http_listen(&w->http, &listener, err) ? NULL : http_open(&w->http, &listener, &source, err);
	if (h) {
		printf("%s\n", listener.address);
		fflush(stdout);
		run(f, h, p, signals);
		http_close(h);
		http_unlisten(&listener);
	}
	push_close(p);
	return h;
}

int main(int argc, char **argv)
{
	struct fake f = { .catalog = catalog_new(), .heap = heap_new(), .begun_ns = clock_ns(CLOCK_MONOTONIC) };
	struct words w = { .http.listen = "0", .fake = &f };
	struct push_credentials credentials = { 0 };
	struct err err = { 0 };
	sigset_t ends;
	parse(&w, argc, argv);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	feed_run(script, f.catalog, to_heap, &f);
	w.push.credentials = &credentials;
	bool served = !push_credentials_read(&w.push, &credentials, &err) &&
		      serve(&f, &w, signalfd(-1, &ends, SFD_CLOEXEC), &err);
	push_credentials_free(&credentials);
	free(w.push.headers.at);
	if (served)
		printf("marks left %zu\n", f.marks);
	else
		fprintf(stderr, "webfake: %s\n", err.text);
	heap_free(f.heap);
	catalog_free(f.catalog);
	return !served;
}
