/* SPDX-License-Identifier: Apache-2.0 */
/* symbol: see symbol.h. Groups the addresses by file, and runs the inquiries of several files in parallel. */
#include "symbol/symbol.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbol/inquiry.h"

#define WORKERS_MAX 16
#define TICK_MS 200

struct symbolizer {
	struct symbolizer_config config;
	struct map files; /* module id -> struct inquiry_file * */
};

/* The addresses of one module. */
struct job {
	struct module_id module;
	struct map pcs;
};

struct run {
	struct symbolizer *s;
	struct catalog *catalog;
	struct map index; /* module id -> index in jobs + 1 */
	struct job *jobs;
	size_t jobs_cnt, jobs_cap;
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
	uint64_t total;
	struct inquiry *inquiries; /* of the jobs that have a file, most addresses first */
	size_t inquiries_cnt, inquiries_cap;
};

struct symbolizer *symbolizer_new(const struct symbolizer_config *config)
{
	struct symbolizer *s = calloc(1, sizeof(*s));
	if (s)
		s->config = *config;
	return s;
}

static void file_free(struct inquiry_file *f)
{
	if (!f)
		return;
	close(f->fd);
	free(f->path);
	free(f);
}

void symbolizer_free(struct symbolizer *s)
{
	const struct map_slot *slot;
	if (!s)
		return;
	for (size_t i = 0; (slot = map_next(&s->files, &i));)
		file_free((struct inquiry_file *)(uintptr_t)slot->value);
	map_free(&s->files);
	free(s);
}

/* Takes ownership of fd and path, also when it fails. NULL: out of memory. */
static struct inquiry_file *file_new(int fd, char *path, bool perf_map)
{
	struct inquiry_file *f = path ? calloc(1, sizeof(*f)) : NULL;
	if (!f) {
		close(fd);
		free(path);
		return NULL;
	}
	*f = (struct inquiry_file){ .fd = fd, .path = path, .perf_map = perf_map };
	return f;
}

static int put(struct symbolizer *s, struct module_id m, struct inquiry_file *f)
{
	struct stat st;
	if (fstat(f->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	uint64_t *slot = map_put(&s->files, m.n);
	if (!slot)
		return -ENOMEM;
	file_free((struct inquiry_file *)(uintptr_t)*slot);
	*slot = (uint64_t)(uintptr_t)f;
	return 0;
}

static int add(struct symbolizer *s, struct module_id m, struct inquiry_file *f, const char *path, struct err *err)
{
	int rc = f ? put(s, m, f) : -ENOMEM;
	if (rc)
		file_free(f);
	return rc ? err_set(err, -rc, "%s: %s", path, rc == -EINVAL ? "no regular file" : strerror(-rc)) : 0;
}

int symbolizer_add_file(struct symbolizer *s, struct module_id m, int fd, const char *path, struct err *err)
{
	return add(s, m, file_new(fd, strdup(path), false), path, err);
}

int symbolizer_add_perf_map(struct symbolizer *s, struct module_id m, int fd, const char *path, struct err *err)
{
	return add(s, m, file_new(fd, strdup(path), true), path, err);
}

static struct job *job_of(struct run *r, struct module_id m)
{
	uint64_t *number = map_put(&r->index, m.n);
	if (!number)
		return NULL;
	if (!*number) {
		struct job *new = VEC_PUSH(r, jobs);
		if (!new)
			return NULL;
		new->module = m;
		*number = r->jobs_cnt;
	}
	return &r->jobs[*number - 1];
}

static bool is_wanted(const struct run *r, struct module_id m, uint64_t pc)
{
	const struct symbolizer_config *cfg = &r->s->config;
	const struct symbols *known = catalog_symbols(r->catalog, m, pc);
	if (!known || !known->n || cfg->replace)
		return true;
	return cfg->improve && known->at[known->n - 1].quality < SYMBOL_EXACT;
}

static int ask(struct run *r, struct module_id m, uint64_t pc)
{
	if (!is_wanted(r, m, pc))
		return 0;
	struct job *j = job_of(r, m);
	uint64_t *seen = j ? map_put(&j->pcs, pc) : NULL;
	if (!seen)
		return -ENOMEM;
	r->total += !*seen;
	*seen = 1;
	return 0;
}

static int collect(struct run *r)
{
	const struct stack *st;
	int rc = 0;
	for (size_t i = 0; !rc && (st = catalog_next_stack(r->catalog, &i));)
		for (uint32_t k = 0; !rc && k < st->n; k++) {
			const struct mapping *map = catalog_mapping(r->catalog, st->frames[k].map);
			if (map)
				rc = ask(r, map->module, frame_pc(&st->frames[k], k));
		}
	return rc;
}

static int by_address(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return a < b ? -1 : a > b;
}

/* Sorted, because neighbouring addresses need the same parts of the file. */
static uint64_t *sorted(const struct map *pcs)
{
	uint64_t *out = calloc(pcs->count + 1, sizeof(*out));
	const struct map_slot *slot;
	size_t n = 0;
	for (size_t i = 0; out && (slot = map_next(pcs, &i));)
		out[n++] = slot->key;
	if (out)
		qsort(out, n, sizeof(*out), by_address);
	return out;
}

static const struct inquiry_file *file_of(const struct run *r, struct module_id m)
{
	const uint64_t *slot = map_get(&r->s->files, m.n);
	return slot ? (const struct inquiry_file *)(uintptr_t)*slot : NULL;
}

static int say_no_file(struct run *r, const struct job *j)
{
	const struct map_slot *slot;
	struct symbol none = { .quality = SYMBOL_MODULE };
	int rc = 0;
	inquiry_note_owners(r->catalog, j->module, &none, 1);
	for (size_t i = 0; !rc && (slot = map_next(&j->pcs, &i));)
		if (!catalog_symbols(r->catalog, j->module, slot->key))
			rc = catalog_put_symbols(r->catalog, j->module, slot->key, &(struct symbols){ .n = 1, .at = &none });
	return rc;
}

static int plan_job(struct run *r, const struct job *j)
{
	const struct inquiry_file *file = file_of(r, j->module);
	if (!file)
		return say_no_file(r, j);
	struct inquiry *q = VEC_PUSH(r, inquiries);
	if (!q)
		return -ENOMEM;
	*q = (struct inquiry){ .config = &r->s->config,
			       .file = file,
			       .catalog = r->catalog,
			       .module = j->module,
			       .pcs_cnt = j->pcs.count,
			       .pcs = sorted(&j->pcs) };
	return q->pcs ? 0 : -ENOMEM;
}

static int by_work(const void *pa, const void *pb)
{
	const struct inquiry *a = pa, *b = pb;
	if (a->pcs_cnt != b->pcs_cnt)
		return a->pcs_cnt > b->pcs_cnt ? -1 : 1;
	return a->module.n < b->module.n ? -1 : a->module.n > b->module.n;
}

static int plan(struct run *r)
{
	int rc = collect(r);
	for (size_t i = 0; !rc && i < r->jobs_cnt; i++)
		rc = plan_job(r, &r->jobs[i]);
	if (!rc && r->inquiries_cnt)
		qsort(r->inquiries, r->inquiries_cnt, sizeof(*r->inquiries), by_work);
	return rc;
}

static size_t workers_wanted(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	return cpus < 1 ? 1 : cpus > WORKERS_MAX ? WORKERS_MAX : (size_t)cpus;
}

static void say_progress(const struct run *r)
{
	uint64_t done = 0;
	for (size_t i = 0; i < r->inquiries_cnt; i++)
		done += r->inquiries[i].answered;
	if (r->progress && r->total)
		r->progress(r->ctx, done, r->total);
}

/* Answering a worker may include a download, which must not count against the other workers' time limits. */
static int receive(struct inquiry **active, size_t n, size_t i)
{
	uint64_t from = now_ns();
	int rc = inquiry_receive(active[i]);
	uint64_t took = now_ns() - from;
	for (size_t k = 0; k < n; k++)
		if (k != i)
			inquiry_extend_deadline(active[k], took);
	return rc;
}

static int wait_and_receive(struct inquiry **active, size_t n)
{
	struct pollfd fds[WORKERS_MAX];
	int rc = 0;
	for (size_t i = 0; i < n; i++)
		fds[i] = (struct pollfd){ .fd = active[i]->worker.sock, .events = POLLIN };
	if (poll(fds, n, TICK_MS) < 0 && errno != EINTR)
		return -errno;
	for (size_t i = 0; !rc && i < n; i++)
		rc = fds[i].revents ? receive(active, n, i) : inquiry_check_time(active[i]);
	return rc;
}

/* Runs as many workers in parallel as there are CPUs, each for one file. */
static int work(struct run *r)
{
	struct inquiry *active[WORKERS_MAX];
	size_t n = 0, next = 0, most = r->s->config.memory ? 1 : workers_wanted();
	int rc = 0;
	while (!rc) {
		for (size_t i = n; i-- > 0;)
			if (active[i]->over)
				active[i] = active[--n];
		while (!rc && n < most && next < r->inquiries_cnt) {
			struct inquiry *q = &r->inquiries[next++];
			rc = inquiry_begin(q);
			if (!q->over)
				active[n++] = q;
		}
		if (!n)
			break;
		if (!rc)
			rc = wait_and_receive(active, n);
		say_progress(r);
	}
	return rc;
}

static int report_troubles(struct run *r)
{
	static const char *const names[][2] = {
		[INQUIRY_DIED] = { "symbols-worker-died", "times that reading a file's names ended a worker" },
		[INQUIRY_SILENT] = { "symbols-worker-silent", "times that it took a worker too long" },
		[INQUIRY_LIED] = { "symbols-worker-lied", "times that a worker's answers were impossible" },
		[INQUIRY_LARGE] = { "symbols-too-large", "times that debug information was too large to be unpacked" },
		[INQUIRY_UNANSWERED] = { "symbols-unanswered", "addresses without a name because of that" },
	};
	int rc = 0;
	for (size_t t = 0; !rc && t < INQUIRY_TROUBLE_CNT; t++) {
		struct count c = { .name = names[t][0], .help = names[t][1], .class = COUNT_NOTE };
		for (size_t i = 0; i < r->inquiries_cnt; i++)
			c.value += r->inquiries[i].troubles[t];
		rc = c.value ? catalog_put_count(r->catalog, &c) : 0;
	}
	return rc;
}

static void run_free(struct run *r)
{
	for (size_t i = 0; i < r->inquiries_cnt; i++) {
		inquiry_end(&r->inquiries[i]);
		free(r->inquiries[i].pcs);
	}
	free(r->inquiries);
	for (size_t i = 0; i < r->jobs_cnt; i++)
		map_free(&r->jobs[i].pcs);
	free(r->jobs);
	map_free(&r->index);
}

int symbolizer_run(struct symbolizer *s, struct catalog *c, void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
		   struct err *err)
{
	struct run r = { .s = s, .catalog = c, .progress = progress, .ctx = ctx };
	int rc = plan(&r);
	if (!rc)
		rc = work(&r);
	if (!rc)
		rc = report_troubles(&r);
	run_free(&r);
	return rc ? err_set(err, -rc, "symbols: %s", strerror(-rc)) : 0;
}
