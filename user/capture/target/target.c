/* SPDX-License-Identifier: Apache-2.0 */
/* target: see target.h. */
#include "target/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "access/pidns.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "target/identity.h"
#include "target/jit.h"
#include "target/module.h"
#include "target/proc.h"
#include "target/reports.h"
#include "target/translator.h"

struct range {
	uint64_t start, end, bias;
	struct map_id map;
};

struct process {
	struct proc_id id;
	struct proc_id heaps[SUBJECT_CNT]; /* of subjects beside the first one */
	uint32_t tgid, generation;
	int pidfd;
	uint32_t epoch;       /* number of times that a mapping replaced another one */
	struct range *ranges; /* sorted by start */
	size_t ranges_cnt, ranges_cap;
	struct jit jit;
};

struct target_table {
	struct catalog *catalog;
	struct target_ops ops;
	struct map procs;   /* proc_id -> struct process *, since the last target_move */
	uint32_t procs_cnt; /* ever, including ended ones */
	struct map current; /* tgid -> proc_id */
	struct module_table modules;
	struct reports reports; /* of processes that are traced */
	uint64_t due_ns;        /* see target_due */
	uint32_t maps_cnt;
	uint32_t generations;
};

struct target_table *target_new(struct catalog *c, const struct target_ops *ops)
{
	struct target_table *t = calloc(1, sizeof(*t));
	if (t) {
		t->catalog = c;
		t->ops = *ops;
		t->modules.outline = ops->outline;
		t->due_ns = UINT64_MAX;
		t->modules.has_room = ops->has_room;
		t->modules.ctx = ops->ctx;
	}
	return t;
}

static void forget_descriptor(struct process *p)
{
	if (p && p->pidfd >= 0) {
		close(p->pidfd);
		p->pidfd = -1;
	}
}

static void process_free(struct process *p)
{
	if (!p)
		return;
	forget_descriptor(p);
	free(p->ranges);
	jit_close(&p->jit);
	free(p);
}

void target_free(struct target_table *t)
{
	if (!t)
		return;
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&t->procs, &i));)
		process_free((struct process *)(uintptr_t)s->value);
	map_free(&t->procs);
	map_free(&t->current);
	module_table_free(&t->modules);
	reports_free(&t->reports);
	free(t);
}

static struct process *process_of(const struct target_table *t, struct proc_id id)
{
	const uint64_t *p = map_get(&t->procs, id.n);
	return p ? (struct process *)(uintptr_t)*p : NULL;
}

/* After an exec, the process' previous entry has ended. */
static struct process *process_new(struct target_table *t, uint32_t tgid, int pidfd)
{
	struct process *p = calloc(1, sizeof(*p)), *before = process_of(t, target_find(t, tgid));
	uint64_t *current = map_put(&t->current, tgid);
	uint64_t *place = p && current ? map_put(&t->procs, t->procs_cnt + 1) : NULL;
	if (!place) {
		free(p);
		return NULL;
	}
	*place = (uintptr_t)p;
	*p = (struct process){ .id = { ++t->procs_cnt }, .tgid = tgid, .pidfd = pidfd };
	*current = p->id.n;
	forget_descriptor(before);
	return p;
}

static int publish_heap(struct target_table *t, const struct proc *p)
{
	int rc = catalog_put_proc(t->catalog, p);
	if (!rc)
		t->ops.on_proc(t->ops.ctx, p);
	return rc;
}

struct proc_id target_heap(const struct target_table *t, struct proc_id id, enum subject s)
{
	const struct process *p = process_of(t, id);
	return p && p->heaps[s].n ? p->heaps[s] : id;
}

bool target_is_current(const struct target_table *t, const struct proc *p)
{
	return target_heap(t, target_find(t, p->tgid), p->subject).n == p->id.n;
}

static int publish_proc(struct target_table *t, struct process *p, const struct proc_facts *f, struct proc_id parent)
{
	struct buf attributes = { 0 };
	identity_read(p->tgid, t->ops.labels ? t->ops.labels : "", &attributes);
	struct proc out = {
		.id = p->id,
		.parent = parent,
		.tgid = p->tgid,
		.generation = p->generation,
		.start_ns = f->start_ns,
		.comm = f->comm,
		.exe = f->exe,
		.attributes = buf_str(&attributes),
	};
	int rc = publish_heap(t, &out);
	for (enum subject s = 0; s < SUBJECT_CNT && !rc; s++) {
		if (!(t->ops.beside & 1u << s))
			continue;
		out.id = p->heaps[s] = (struct proc_id){ ++t->procs_cnt };
		out.parent = target_heap(t, parent, s);
		out.subject = (uint8_t)s;
		rc = publish_heap(t, &out);
	}
	buf_free(&attributes);
	return rc;
}

static bool pidfd_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	return poll(&p, 1, 0) > 0;
}

/* opened: when pidfd was. A process that began later is another one with the same number. */
static int check_traceable(const struct proc_facts *f, uint32_t tgid, int pidfd, const struct timespec *opened, struct err *err)
{
	if (f->kernel_thread)
		return err_set(err, EINVAL, "process %u (%s) is a kernel thread, which has no heap: choose a user process", tgid,
			       f->comm);
	if (f->ended)
		return err_set(err, ESRCH, "process %u (%s) has exited and waits for its parent (a zombie)", tgid, f->comm);
	if (f->start_ns / 1000000 > (uint64_t)opened->tv_sec * 1000 + (uint64_t)opened->tv_nsec / 1000000 &&
	    (pidfd < 0 || pidfd_ended(pidfd)))
		return err_set(err, ESRCH, "process %u ended while it was being inspected", tgid);
	if (pidns_own().ino && proc_is_nested(tgid))
		return err_set(err, ENOTSUP,
			       "process %u (%s) is in a PID namespace below this one, by which the kernel does not number it: "
			       "run alys-bpf "
			       "in that one, or in the host's",
			       tgid, f->comm);
	const char *translator = translator_of(tgid);
	return translator ? translator_refuse(tgid, translator, err) : 0;
}

struct proc_id target_add(struct target_table *t, uint32_t tgid, struct proc_id parent, struct err *err)
{
	struct proc_id none = { 0 };
	struct proc_facts f;
	struct timespec opened;
	/*
	 * The pidfd first: what is read while it has not ended is about this process, not about a later one with the
	 * same number.
	 */
	int pidfd = (int)syscall(SYS_pidfd_open, tgid, 0);
	clock_gettime(CLOCK_MONOTONIC, &opened);
	if (proc_read(tgid, &f, err) || check_traceable(&f, tgid, pidfd, &opened, err))
		goto refuse;
	struct process *p = process_new(t, tgid, pidfd);
	if (p && !publish_proc(t, p, &f, parent))
		return p->id;
	if (p)
		return none;
	err_set(err, ENOMEM, "out of memory");
refuse:
	if (pidfd >= 0)
		close(pidfd);
	return none;
}

size_t target_count(const struct target_table *t)
{
	return t->current.count;
}

size_t target_closed_files(const struct target_table *t)
{
	return t->modules.closed.cnt;
}

void target_closed_text(const struct target_table *t, struct buf *out)
{
	closed_text(&t->modules.closed, out);
}

struct proc_id target_find(const struct target_table *t, uint32_t tgid)
{
	const uint64_t *id = map_get(&t->current, tgid);
	return (struct proc_id){ id ? (uint32_t)*id : 0 };
}

static struct process *next_generation(struct target_table *t, uint32_t tgid, struct proc_id parent)
{
	struct proc_facts f = { 0 };
	struct process *old = process_of(t, target_find(t, tgid));
	uint32_t generation = old ? old->generation + 1 : 0;
	/* A short-lived process may be gone by now; its events are recorded nevertheless. */
	if (proc_read(tgid, &f, NULL))
		strcpy(f.comm, "?");
	struct process *p = process_new(t, tgid, (int)syscall(SYS_pidfd_open, tgid, 0));
	if (!p)
		return NULL;
	p->generation = generation;
	return publish_proc(t, p, &f, parent) ? NULL : p;
}

static void forget_reports(struct target_table *t, uint32_t tgid, uint64_t until_ns)
{
	reports_forget(&t->reports, tgid, until_ns);
	t->due_ns = reports_due(&t->reports);
}

struct proc_id target_exec(struct target_table *t, uint32_t tgid, uint64_t time_ns)
{
	/* These are about the previous program, or about mappings that will now be read from /proc. */
	forget_reports(t, tgid, time_ns);
	struct process *old = process_of(t, target_find(t, tgid));
	struct process *p = old ? next_generation(t, tgid, old->id) : NULL;
	return p ? p->id : (struct proc_id){ 0 };
}

static int add_range(struct target_table *t, struct process *p, const struct range *like, struct module_id module)
{
	struct range *r = VEC_PUSH(p, ranges);
	if (!r)
		return -ENOMEM;
	*r = *like;
	r->map = (struct map_id){ ++t->maps_cnt };
	struct mapping m = {
		.id = r->map,
		.proc = p->id,
		.module = module,
		.start = r->start,
		.end = r->end,
		.bias = r->bias,
	};
	int rc = catalog_put_mapping(t->catalog, &m);
	if (!rc)
		t->ops.on_mapping(t->ops.ctx, &m, catalog_module(t->catalog, module));
	return rc;
}

/* One mapping for all generated code of a process, so that a busy JIT compiler does not fill the catalog. */
static int add_jit(struct target_table *t, struct process *p, const struct map_line *line)
{
	struct jit *j = &p->jit;
	if (!jit_grow(j, line))
		return 0;
	if (!j->map.n) {
		const struct open_module *o = module_made(&t->modules, t->catalog, p->tgid, p->id.n);
		if (!o)
			return -ENOMEM;
		j->module = o->id;
		j->map = (struct map_id){ ++t->maps_cnt };
		jit_find_names(j, p->tgid);
	}
	struct mapping m = { .id = j->map, .proc = p->id, .module = j->module, .start = j->start, .end = j->end };
	int rc = catalog_put_mapping(t->catalog, &m);
	if (!rc)
		t->ops.on_mapping(t->ops.ctx, &m, catalog_module(t->catalog, j->module));
	return rc;
}

struct proc_id target_fork(struct target_table *t, uint32_t parent, uint32_t child)
{
	struct process *from = process_of(t, target_find(t, parent));
	struct process *p = from ? next_generation(t, child, from->id) : NULL;
	if (!p)
		return (struct proc_id){ 0 };
	for (size_t i = 0; i < from->ranges_cnt; i++) {
		const struct mapping *m = catalog_mapping(t->catalog, from->ranges[i].map);
		if (!m || add_range(t, p, &from->ranges[i], m->module))
			break;
	}
	const struct map_line made = { .start = from->jit.start, .end = from->jit.end };
	if (from->jit.map.n && !add_jit(t, p, &made))
		jit_inherit(&p->jit, &from->jit);
	t->ops.on_maps(t->ops.ctx, catalog_proc(t->catalog, p->id));
	return p->id;
}

void target_gone(struct target_table *t, uint32_t tgid)
{
	forget_descriptor(process_of(t, target_find(t, tgid)));
	forget_reports(t, tgid, UINT64_MAX);
	map_del(&t->current, tgid);
}

/* Moves the others into a new table, so that iteration does not cover all processes that ever existed. */
static int drop_ended(struct target_table *t)
{
	struct map kept = { 0 };
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&t->current, &i));) {
		const uint64_t *p = map_get(&t->procs, s->value);
		uint64_t *place = p ? map_put(&kept, s->value) : NULL;
		if (place)
			*place = *p;
		else if (p) {
			map_free(&kept);
			return -ENOMEM;
		}
	}
	for (size_t i = 0; (s = map_next(&t->procs, &i));) {
		if (!map_get(&kept, s->key))
			process_free((struct process *)(uintptr_t)s->value);
	}
	map_free(&t->procs);
	t->procs = kept;
	return 0;
}

int target_move(struct target_table *t, struct catalog *c)
{
	uint8_t *used = calloc(t->modules.modules_cnt + 1, 1);
	if (!used || drop_ended(t)) {
		free(used);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t->modules.modules_cnt; i++)
		used[i] = catalog_module(c, t->modules.modules[i].id) != NULL;
	module_table_prune(&t->modules, used);
	free(used);
	t->catalog = c;
	return 0;
}

bool target_alive(const struct target_table *t, struct proc_id id)
{
	const struct process *p = process_of(t, id);
	return p && p->pidfd >= 0 && !pidfd_ended(p->pidfd);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

static const struct range *find_range(const struct process *p, uint64_t ip)
{
	size_t lo = SORTED_UNTIL(p->ranges_cnt, i, p->ranges[i].end <= ip);
	return lo < p->ranges_cnt && p->ranges[lo].start <= ip ? &p->ranges[lo] : NULL;
}

struct maps_reading {
	struct target_table *t;
	struct process *p;
	struct process fresh; /* ranges only */
	uint64_t until_ns;    /* as of when */
	bool added;           /* some range is new */
	bool replaced;        /* some range replaced another one */
};

static bool overlaps(const struct process *p, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < p->ranges_cnt; i++) {
		if (p->ranges[i].start < end && start < p->ranges[i].end)
			return true;
	}
	return false;
}

/* Did it replace something at that address only after until_ns? Then its report will be applied at its own time. */
static bool is_early(const struct maps_reading *m, uint64_t start, uint64_t end)
{
	size_t later = reports_overlapping(&m->t->reports, m->p->tgid, m->until_ns, start, end);
	return later > 1 || (later && overlaps(m->p, start, end));
}

static int on_map_line(void *ctx, const struct map_line *line)
{
	struct maps_reading *m = ctx;
	if (jit_is(line))
		return add_jit(m->t, m->p, line);
	bool vdso = !strcmp(line->path, "[vdso]");
	if (!line->exec || (!line->ino && !vdso))
		return 0;
	const struct open_module *o = module_of(&m->t->modules, m->t->catalog, m->p->tgid, line);
	if (!o)
		return -ENOMEM;
	const struct elf_mapped part = { .offset = line->offset, .size = line->end - line->start, .exec = true };
	uint64_t vaddr = line->offset;
	if (o->elf)
		elf_mapped_vaddr(o->elf, &part, &vaddr);
	struct range r = { .start = line->start, .end = line->end, .bias = line->start - vaddr };
	const struct range *old = find_range(m->p, r.start);
	if (old && old->start == r.start && old->end == r.end && old->bias == r.bias &&
	    catalog_mapping(m->t->catalog, old->map)->module.n == o->id.n) {
		struct range *kept = VEC_PUSH(&m->fresh, ranges);
		if (kept)
			*kept = *old;
		return kept ? 0 : -ENOMEM;
	}
	m->fresh.id = m->p->id;
	m->added = true;
	int rc = add_range(m->t, &m->fresh, &r, o->id);
	if (!rc && o->fd >= 0)
		m->t->ops.on_module(m->t->ops.ctx, catalog_proc(m->t->catalog, m->p->id), catalog_module(m->t->catalog, o->id),
				    o->fd);
	return rc;
}

/* Not if only the extent differs: the linker may map a file larger at first than it leaves it. */
static bool is_other(const struct target_table *t, const struct range *a, const struct range *b)
{
	return a->bias != b->bias ||
	       catalog_mapping(t->catalog, a->map)->module.n != catalog_mapping(t->catalog, b->map)->module.n;
}

/*
 * Unmapped ranges are kept until something else is mapped there: stacks taken before a library was closed, or before
 * exec, are resolved later.
 */
static int keep_vanished(struct maps_reading *m)
{
	struct process *fresh = &m->fresh;
	size_t now = fresh->ranges_cnt;
	for (size_t i = 0; i < m->p->ranges_cnt; i++) {
		const struct range *old = &m->p->ranges[i];
		bool taken = false;
		for (size_t k = 0; k < now && !taken; k++) {
			taken = fresh->ranges[k].start < old->end && old->start < fresh->ranges[k].end;
			m->replaced |= taken && is_other(m->t, &fresh->ranges[k], old);
		}
		struct range *kept = taken ? NULL : VEC_PUSH(fresh, ranges);
		if (kept)
			*kept = *old;
		else if (!taken)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Called after reading first the maps and then the reports, so that all mappings in question have been reported. Those
 * left out are known from an earlier report, or were found earlier and are still kept.
 */
static void leave_out_early(struct maps_reading *m)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->fresh.ranges_cnt; i++) {
		const struct range r = m->fresh.ranges[i];
		if (!is_early(m, r.start, r.end))
			m->fresh.ranges[kept++] = r;
	}
	m->fresh.ranges_cnt = kept;
}

/* The ranges that were read become those of the process. */
static int take_over(struct maps_reading *m)
{
	struct process *p = m->p;
	int rc = keep_vanished(m);
	bool changed = m->added || m->fresh.ranges_cnt != p->ranges_cnt;
	free(p->ranges);
	p->ranges = m->fresh.ranges;
	p->ranges_cnt = m->fresh.ranges_cnt;
	p->ranges_cap = m->fresh.ranges_cap;
	p->epoch += m->replaced;
	qsort(p->ranges, p->ranges_cnt, sizeof(*p->ranges), compare_ranges);
	if (changed)
		m->t->ops.on_maps(m->t->ops.ctx, catalog_proc(m->t->catalog, p->id));
	return rc;
}

static void apply_report(struct target_table *t, const struct report *report)
{
	struct process *p = process_of(t, target_find(t, report->tgid));
	struct maps_reading m = { .t = t, .p = p, .until_ns = UINT64_MAX };
	if (p && !on_map_line(&m, &report->line) && m.fresh.ranges_cnt)
		take_over(&m);
	else
		free(m.fresh.ranges);
	reports_drop(&t->reports, report);
}

static void apply_until(struct target_table *t, uint32_t tgid, uint64_t until_ns)
{
	const struct report *report;
	while ((report = reports_first(&t->reports, tgid, until_ns)))
		apply_report(t, report);
	t->due_ns = reports_due(&t->reports);
}

void target_report(struct target_table *t, const struct report *report)
{
	const struct process *p = process_of(t, target_find(t, report->tgid));
	const struct map_line *line = &report->line;
	if (!p || !line->ino)
		return;
	struct report kept = *report;
	kept.replaces = overlaps(p, line->start, line->end) ||
			reports_overlapping(&t->reports, report->tgid, 0, line->start, line->end);
	if (!reports_put(&t->reports, &kept))
		t->due_ns = reports_due(&t->reports);
}

uint64_t target_due(const struct target_table *t)
{
	return t->due_ns;
}

void target_settle(struct target_table *t, uint64_t until_ns)
{
	const struct report *first;
	while ((first = reports_first_replacing(&t->reports)) && first->time_ns <= until_ns)
		apply_until(t, first->tgid, first->time_ns);
}

void target_settle_one(struct target_table *t, struct proc_id id, uint64_t until_ns)
{
	const struct process *p = t->reports.list_cnt ? process_of(t, id) : NULL;
	if (p)
		apply_until(t, p->tgid, until_ns);
}

uint32_t target_epoch(const struct target_table *t, struct proc_id id)
{
	const struct process *p = process_of(t, id);
	return p ? p->epoch : 0;
}

/* What was unmapped before it could be read from /proc is known from its report only. */
static void apply_unseen(struct target_table *t, struct process *p, uint64_t until_ns)
{
	const struct report *report;
	while ((report = reports_first(&t->reports, p->tgid, until_ns))) {
		if (overlaps(p, report->line.start, report->line.end))
			reports_drop(&t->reports, report);
		else
			apply_report(t, report);
	}
	t->due_ns = reports_due(&t->reports);
}

/* Mappings that replaced one another must be applied in order. */
static void apply_replacing(struct target_table *t, const struct process *p, uint64_t until_ns)
{
	bool replacing = false;
	for (size_t i = 0; i < t->reports.list_cnt && !replacing; i++)
		replacing = t->reports.list[i].replaces && t->reports.list[i].tgid == p->tgid;
	if (replacing)
		apply_until(t, p->tgid, until_ns);
}

int target_read_maps(struct target_table *t, struct proc_id id, uint64_t until_ns, struct err *err)
{
	struct process *p = process_of(t, id);
	if (!p)
		return err_set(err, ESRCH, "no such process");
	const char *translator = translator_of(p->tgid);
	if (translator) {
		t->ops.on_translated(t->ops.ctx, catalog_proc(t->catalog, id), translator);
		return translator_refuse(p->tgid, translator, err);
	}
	struct maps_reading m = { .t = t, .p = p, .until_ns = until_ns };
	int rc = proc_each_map(p->tgid, on_map_line, &m, err);
	/* A process that is ending has no maps: what was known is still right for its last events. */
	if (rc || !m.fresh.ranges_cnt) {
		free(m.fresh.ranges);
		return rc;
	}
	if (t->ops.read_reports)
		t->ops.read_reports(t->ops.ctx);
	apply_replacing(t, p, until_ns);
	leave_out_early(&m);
	rc = take_over(&m);
	apply_unseen(t, p, until_ns);
	return rc ? err_set(err, ENOMEM, "out of memory") : 0;
}

const struct mapping *target_mapping(const struct target_table *t, struct proc_id id, size_t i)
{
	const struct process *p = process_of(t, id);
	return p && i < p->ranges_cnt ? catalog_mapping(t->catalog, p->ranges[i].map) : NULL;
}

bool target_resolve(struct target_table *t, struct proc_id id, uint64_t ip, struct frame *out)
{
	*out = (struct frame){ .rel = ip };
	const struct process *p = process_of(t, id);
	const struct range *r = p ? find_range(p, ip) : NULL;
	if (r)
		*out = (struct frame){ .map = r->map, .rel = ip - r->bias };
	else if (p && ip >= p->jit.start && ip < p->jit.end)
		out->map = p->jit.map;
	return out->map.n;
}

int target_module_fd(const struct target_table *t, struct module_id id)
{
	const struct open_module *o = module_by_id(&t->modules, id);
	return o ? o->fd : -1;
}

int target_open_perf_map(const struct target_table *t, struct module_id id)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&t->procs, &i));) {
		const struct jit *j = &((const struct process *)(uintptr_t)s->value)->jit;
		if (j->map.n && j->module.n == id.n)
			return jit_open(j);
	}
	return -1;
}

int target_seccomp(uint32_t tgid)
{
	long mode = proc_status_value(tgid, "Seccomp");
	return mode < 0 ? 0 : (int)mode;
}
