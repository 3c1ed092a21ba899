/* SPDX-License-Identifier: Apache-2.0 */
/* attach: see attach.h. */
#include "attach/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "attach/sitecache.h"
#include "attach/trials.h"
#include "base/clock.h"
#include "base/log.h"
#include "calibrate/calibrate.h"
#include "catalog/exactness.h"
#include "counting/counting.h"
#include "notes/noted.h"
#include "probe/linker.h"
#include "target/proc.h"
#include "target/target.h"

#define UNUSED_LOOK_NS 500000000ull
#define UNUSED_NS 2000000000ull

/* A held process has continued anyway by then. */
#define HELD_WAIT_MS 5000

struct attach {
	const struct handles *h;
	struct attach_ops ops;
	struct site_cache sites;
	struct trials trials;
	bool shared;
	uint64_t looked_ns; /* last look for unused files */
	struct attach_facts facts;
};

struct attach *attach_new(const struct handles *h, const struct attach_ops *ops)
{
	struct attach *a = calloc(1, sizeof(*a));
	if (a)
		*a = (struct attach){ .h = h, .ops = *ops, .trials = { .h = h } };
	return a;
}

void attach_free(struct attach *a)
{
	if (!a)
		return;
	sitecache_free(&a->sites);
	trials_free(&a->trials);
	free(a->facts.taker);
	free(a);
}

const struct attach_facts *attach_facts(const struct attach *a)
{
	return &a->facts;
}

bool attach_sample_gap(const struct attach *a)
{
	return a->facts.refills && a->facts.takers;
}

size_t attach_files(const struct attach *a)
{
	size_t n = 0;
	for (size_t i = 0; i < a->sites.files_cnt; i++)
		n += a->sites.files[i].probed && !a->sites.files[i].left;
	return n;
}

const struct byte_counter *attach_counter(const struct attach *a, struct module_id module)
{
	const struct file_sites *f = sitecache_find(&a->sites, module);
	return f && f->served && f->list.counter.known ? &f->list.counter : NULL;
}

const char *attach_block_type(const struct attach *a, struct module_id module, uint32_t number)
{
	const struct file_sites *f = sitecache_find(&a->sites, module);
	return f ? beam_type_name(&f->list.types, number) : NULL;
}

const struct beam_atoms *attach_atoms(const struct attach *a, struct module_id module)
{
	const struct file_sites *f = sitecache_find(&a->sites, module);
	return f && f->list.atoms.table ? &f->list.atoms : NULL;
}

static size_t notes_used(const struct file_sites *f)
{
	size_t used = 0;
	for (size_t i = 0; i < f->list.sites_cnt; i++)
		used += f->list.sites[i].family == ALLOC_USDT && f->list.sites[i].state == SITE_PROBED;
	return used;
}

void attach_noted_text(const struct attach *a, struct buf *out)
{
	for (size_t i = 0; i < a->sites.files_cnt; i++) {
		const struct file_sites *f = &a->sites.files[i];
		size_t used = notes_used(f);
		if (used)
			buf_addf(out, "%s%zu of %zu notes for allocations in %s", out->len ? "; " : "", used, f->list.sites_cnt,
				 catalog_module(a->h->catalog, f->module)->path);
	}
}

void attach_share(struct attach *a, bool shared)
{
	a->shared = shared;
}

bool attach_is_shared(const struct attach *a)
{
	return a->shared;
}

/* A link for all would raise the counters of its probes in processes that are no targets: their samplers would begin. */
static bool is_shareable(const struct file_sites *f)
{
	return !f || !notes_used(f);
}

static const char *path_of(const struct attach *a, const struct file_sites *f)
{
	return catalog_module(a->h->catalog, f->module)->path;
}

static void note_refills(struct attach *a, const char *path, const struct site_list *list)
{
	a->facts.refills += list->at == SAMPLE_AT_REFILL;
	if (a->h->o->sample_at != SAMPLE_AT_REFILL || list->at == SAMPLE_AT_REFILL)
		return;
	for (size_t i = 0; i < list->sites_cnt; i++) {
		if (list->sites[i].family != ALLOC_LIBGC)
			continue;
		log_warn("%s: no thread-local free lists found: sampling at calls instead of refills", path);
		return;
	}
}

/* Others that are refused are seen at another place, or are nobody's loss. */
static void note_unseen_heaps(const struct attach *a, const char *path, const struct site_list *list)
{
	const char *malloc_is = a->h->o->allocators ? "without --allocator, calls of malloc are recorded"
						    : "its calls of malloc are recorded";
	struct buf why = { 0 };
	for (size_t i = 0; i < list->sites_cnt && !why.len; i++) {
		const struct site *s = &list->sites[i];
		if (s->family != ALLOC_BEAM || s->state != SITE_REFUSED)
			continue;
		entry_reason_text(&s->why, &why);
		log_warn("%s: heaps of Erlang processes are not recorded: %s; %s, and mappings with --maps", path, buf_str(&why),
			 malloc_is);
	}
	buf_free(&why);
}

/* Probes at refills see only the collector's own free lists, not those that a program fills itself. */
static void note_taker(struct attach *a, const char *path, const struct site_list *list)
{
	if (list->takes_lists && !a->facts.takers++)
		a->facts.taker = strdup(path);
}

static struct unseen unseen_of(struct attach *a, const struct file_sites *f)
{
	return (struct unseen){ f->unseen, f->unseen_error, path_of(a, f) };
}

static void note_unseen(struct attach *a, const struct proc *p, const struct file_sites *f)
{
	const struct unseen u = f ? unseen_of(a, f) : (struct unseen){ 0 };
	if (u.why)
		a->ops.unseen(a->ops.ctx, p, &u, f->list.gc_no_vaddr);
}

static void log_unseen(struct attach *a, const struct file_sites *f)
{
	const struct unseen u = unseen_of(a, f);
	struct buf text = { 0 };
	unseen_text(&u, &text);
	log_info("%s", buf_str(&text));
	buf_free(&text);
}

static void watch_collections(struct attach *a, uint32_t tgid, const struct proc *p, struct file_sites *f, int fd)
{
	struct err err = { 0 };
	note_unseen(a, p, f);
	if (!f->collections.sites_cnt)
		return;
	struct unseen u = { .object = path_of(a, f) };
	if (a->ops.collector(a->ops.ctx, p->tgid, &err))
		u.why = GC_NO_READER;
	else if (probe_attach_collections(a->h->probe, tgid, fd, &f->collections, &err))
		u.why = GC_NO_PROBES;
	if (!u.why)
		return;
	u.error = err.code;
	log_warn("collections of process %" PRIu32 " cannot be observed: %s", p->tgid, err.text);
	if (!tgid) {
		f->unseen = u.why;
		f->unseen_error = u.error;
	}
	a->ops.unseen(a->ops.ctx, p, &u, f->list.gc_no_vaddr);
}

/* Keeps the first reason why something is not probed. */
static void note_failure(struct attach *a, const char *path, const struct err *err)
{
	if (!err->code)
		return;
	log_info("%s: %s", path, err->text);
	if (err->code != ENOEXEC && !a->facts.failed.code)
		a->facts.failed = *err;
}

static void take_findings(struct attach *a, struct file_sites *f, struct findings *found)
{
	const char *path = path_of(a, f);
	note_failure(a, path, found->failed.code ? &found->failed : &found->sites.err);
	if (a->h->counting)
		counting_found(a->h->counting, path, found);
	sitecache_fill(f, found);
	/* When tracing many processes of others (select), changed mappings are known from the kernel's reports only. */
	if (a->h->select)
		f->link_offset = 0;
	note_taker(a, path, &f->list);
	a->facts.own_matched |= f->list.own;
	a->facts.own_probed |= sites_own_probed(&f->list);
	f->counted = f->probed;
	a->facts.functions += f->counted;
	if (f->unseen)
		log_unseen(a, f);
}

/* Kernels that kill seccomp-confined processes at a return probe get exit sites there instead. */
static bool returns_safe(const struct attach *a, uint32_t tgid)
{
	return !probe_returns_kill_seccomp(a->h->probe) || target_seccomp(tgid) == 0;
}

/* Which functions get their results through return probes instead of exit sites. */
static enum probe_returns returns_for(const struct attach *a, uint32_t tgid)
{
	if (a->h->o->return_probes)
		return PROBE_RETURNS_ALL;
	return returns_safe(a, tgid) ? PROBE_RETURNS_PLAIN : PROBE_RETURNS_NONE;
}

/*
 * 0 = one shared link for all processes, filtered in BPF: if children are followed or processes are very many. Also if
 * the main thread has exited, because the kernel would look for the process' memory there.
 */
static uint32_t link_tgid(const struct attach *a, const struct file_sites *f, uint32_t pid)
{
	return (a->shared && is_shareable(f)) || proc_holder(pid) != pid ? 0 : pid;
}

static void listen_to_linker(struct attach *a, uint32_t pid, const struct file_sites *f, int fd)
{
	struct err err;
	if (f->link_offset && linker_attach(a->h->probe, link_tgid(a, f, pid), fd, f->link_offset, &err))
		log_info("libraries that process %" PRIu32 " loads are noticed late: %s", pid, err.text);
}

/*
 * Not the file's fault: the process has ended or executed another program. Other processes can still be probed, and
 * this one when it maps the file again.
 */
static bool process_is_gone(const struct err *err)
{
	return err->code == ESRCH || err->code == ESTALE;
}

static void note_unprobed(struct attach *a, uint32_t tgid, struct file_sites *f, const struct err *err)
{
	log_at(process_is_gone(err) ? LOG_VERBOSE : LOG_NORMAL, "%s: %s", path_of(a, f), err->text);
	if (!a->facts.failed.code)
		a->facts.failed = *err;
	if (process_is_gone(err))
		sitecache_undo(&a->sites, tgid, f->module);
	if (!f->served)
		a->facts.functions -= f->counted;
	if (!f->served)
		f->counted = 0;
}

static void note_probed(struct attach *a, struct file_sites *f)
{
	f->served = true;
	a->facts.functions += f->probed - f->counted;
	f->counted = f->probed;
}

/* The process' allocators are passed over first: no block may count twice. */
static int attach_sites(struct attach *a, uint32_t tgid, const struct proc *p, struct file_sites *f, int fd, struct err *err)
{
	bool noted = noted_serves(&f->list);
	int rc = noted ? probe_leave_to_notes(a->h->probe, p->tgid, err) : 0;
	if (rc)
		return rc;
	rc = trials_attach(&a->trials, tgid, f, fd, returns_for(a, p->tgid), err);
	if (rc && noted && err->code == ESRCH)
		probe_remove_target(a->h->probe, p->tgid);
	else if (rc && noted)
		probe_take_from_notes(a->h->probe, p->tgid);
	return rc;
}

static void attach_file(struct attach *a, const struct proc *p, struct file_sites *f, int fd)
{
	const char *path = path_of(a, f);
	uint32_t tgid = link_tgid(a, f, p->tgid);
	struct err err = { 0 };
	if (attach_sites(a, tgid, p, f, fd, &err)) {
		note_unprobed(a, tgid, f, &err);
		return;
	}
	note_probed(a, f);
	a->facts.collected |= sites_collect(&f->list);
	watch_collections(a, tgid, p, f, fd);
	note_refills(a, path, &f->list);
	log_info("%s: %zu functions probed", path, f->probed);
}

/*
 * With shared links, the first process that still exists stands for all. If none does, the next process that maps the
 * file starts again.
 */
static void serve_waiting(struct attach *a, struct file_sites *f, bool first,
			  void (*serve)(struct attach *a, const struct proc *p, struct file_sites *f, int fd))
{
	bool shared = false, served = false;
	uint32_t *waiting = f->waiting;
	size_t cnt = f->waiting_cnt;
	f->waiting = NULL;
	f->waiting_cnt = f->waiting_cap = 0;
	for (size_t i = 0; i < cnt; i++) {
		const struct proc *p = catalog_proc(a->h->catalog, target_find(a->h->targets, waiting[i]));
		bool shares = p && !link_tgid(a, f, p->tgid);
		if (p && !(shares && shared))
			serve(a, p, f, target_module_fd(a->h->targets, f->module));
		else if (p)
			note_unseen(a, p, f);
		shared |= shares;
		served |= p != NULL;
	}
	free(waiting);
	if ((first || sites_collect(&f->list)) && !served)
		sitecache_undo(&a->sites, 0, f->module);
}

/* Do its probes serve another module, too, apart from `but`? A container has another name for the same file. */
static bool is_shared(const struct attach *a, const struct file_sites *f, const struct file_sites *but)
{
	bool shared = false;
	for (size_t i = 0; i < a->sites.files_cnt; i++) {
		const struct file_sites *other = &a->sites.files[i];
		shared |= other != f && other != but && probe_file_same(f->file, other->file) && other->probed && !other->left;
	}
	return shared;
}

/* Detaches the file; it is attached again if a process comes to use it. except: does not count as a user of the probes. */
static void leave_file(struct attach *a, struct file_sites *f, const struct file_sites *except)
{
	if (!f->probed || f->left)
		return;
	sitecache_undo_all(&a->sites, f->module);
	sitecache_end_trials(f, 0);
	f->left = true;
	if (!is_shared(a, f, except))
		probe_detach_file(a->h->probe, f->file);
}

/*
 * A file that was overwritten in place is another module: shared probes are placed for its former contents. A process'
 * own probes end with the process.
 */
static void leave_outdated(struct attach *a, const struct file_sites *now)
{
	for (size_t i = 0; a->shared && i < a->sites.files_cnt; i++) {
		struct file_sites *f = &a->sites.files[i];
		if (f != now && f->file.dev == now->file.dev && f->file.ino == now->file.ino)
			leave_file(a, f, now);
	}
}

/* Modules that processes have mapped now. False: no memory. */
static bool list_used(const struct attach *a, struct map *used)
{
	const struct proc *p;
	const struct mapping *map;
	for (size_t i = 0; (p = catalog_next_proc(a->h->catalog, &i));) {
		if (!target_is_process(a->h->targets, p))
			continue;
		for (size_t k = 0; (map = target_mapping(a->h->targets, p->id, k)); k++) {
			if (!map_put(used, map->module.n))
				return false;
		}
	}
	return true;
}

/*
 * While no process maps a file, it may be overwritten in place, as cp does: remaining probes would then be put into the
 * middle of other instructions, in the next process that maps it. Only with select: recordings of single programs are
 * short and should see each process from its first call on.
 */
static void leave_unused(struct attach *a, uint64_t now)
{
	struct map used = { 0 };
	if (!a->h->select || now - a->looked_ns < UNUSED_LOOK_NS)
		return;
	a->looked_ns = now;
	bool known = list_used(a, &used);
	for (size_t i = 0; known && i < a->sites.files_cnt; i++) {
		struct file_sites *f = &a->sites.files[i];
		if (map_get(&used, f->module.n))
			f->unused_ns = 0;
		else if (!f->unused_ns)
			f->unused_ns = now;
		else if (now - f->unused_ns >= UNUSED_NS)
			leave_file(a, f, NULL);
	}
	map_free(&used);
}

void attach_update(struct attach *a)
{
	struct file_sites *judged;
	while ((judged = trials_take(&a->trials, &a->sites)))
		serve_waiting(a, judged, false, attach_file);
	for (size_t i = 0; i < a->sites.files_cnt; i++)
		trials_check(&a->trials, &a->sites.files[i]);
	trials_leave_ended(&a->trials, now_ns());
	leave_unused(a, now_ns());
}

int attach_fd(const struct attach *a)
{
	return trials_fd(&a->trials);
}

/*
 * Does the process have to wait for the file's examination? Plain calls are probed without waiting for a calibration,
 * but a collector's are not, because what its probes mean depends on the result.
 */
static bool waits(struct file_sites *f, uint32_t pid)
{
	return (f->pending || (f->asked && sites_collect(&f->list))) && sitecache_wait(f, pid);
}

/* The file's shared probes are attached, or will be for another process. As that may end before, this one waits, too. */
static void wait_for_shared(struct attach *a, const struct proc *p, struct file_sites *f)
{
	note_unseen(a, p, f);
	if (f && (f->pending || f->asked) && !link_tgid(a, f, p->tgid))
		waits(f, p->tgid);
}

/* The kernel's own walk needs the caller's frame pointer in its register, as at an entry. */
static bool may_use_whole(const struct attach *a, const struct file_sites *f, enum probe_returns returns)
{
	return returns != PROBE_RETURNS_ALL && a->h->o->walk != ALYS_WALK_KERNEL &&
	       sites_have_whole(&f->list, !a->h->o->interval);
}

static void calibrate_file(struct attach *a, struct file_sites *f, enum probe_returns returns, int fd)
{
	bool exits = calibrate_wanted(&f->list, returns), whole = may_use_whole(a, f, returns);
	if (!f->calibrated && (exits || whole))
		trials_calibrate(&a->trials, f, fd, exits, whole);
}

/* The file has been examined. */
static void begin_file(struct attach *a, const struct proc *p, struct file_sites *f, int fd)
{
	uint32_t tgid = link_tgid(a, f, p->tgid);
	sitecache_do(&a->sites, tgid, f->module); /* it may have waited as one of all */
	listen_to_linker(a, p->tgid, f, fd);
	if (a->h->counting)
		counting_attach(a->h->counting, tgid, f->module, fd);
	if (!f->probed)
		return;
	f->left = false;
	f->unused_ns = 0;
	calibrate_file(a, f, returns_for(a, p->tgid), fd);
	if (!waits(f, p->tgid))
		attach_file(a, p, f, fd);
}

/* Requests the file's examination if nobody has; for a held process again, because that waits for the result. */
static struct file_sites *file_of(struct attach *a, const struct module *m, int fd)
{
	struct file_sites *f = sitecache_find(&a->sites, m->id);
	bool known = f;
	if (!known) {
		f = sitecache_add(&a->sites, m->id, fd);
		if (!f)
			return NULL;
		a->facts.examined++;
		leave_outdated(a, f);
	}
	if (!known || (f->pending && a->h->held))
		a->ops.wanted(a->ops.ctx, m, fd);
	return f;
}

void attach_exec(struct attach *a, uint32_t tgid)
{
	if (record_takes_notes(a->h->o))
		probe_take_from_notes(a->h->probe, tgid);
}

/* Links of a process outlast its program. */
static void leave_again(struct attach *a, const struct proc *p, const struct file_sites *f)
{
	struct err err;
	if (f && f->served && noted_serves(&f->list) && probe_leave_to_notes(a->h->probe, p->tgid, &err))
		log_info("process %" PRIu32 ": blocks may count twice: %s", p->tgid, err.text);
}

void attach_module(struct attach *a, const struct proc *p, const struct module *m, int fd)
{
	struct file_sites *f = sitecache_find(&a->sites, m->id);
	if (!sitecache_do(&a->sites, link_tgid(a, f, p->tgid), m->id)) {
		leave_again(a, p, f);
		wait_for_shared(a, p, f);
		return;
	}
	f = file_of(a, m, fd);
	if (f && !waits(f, p->tgid))
		begin_file(a, p, f, fd);
}

void attach_found(struct attach *a, struct findings *found)
{
	struct file_sites *f = sitecache_find(&a->sites, found->module);
	if (!f || !f->pending)
		return;
	take_findings(a, f, found);
	note_unseen_heaps(a, path_of(a, f), &f->list);
	if (f->waiting_cnt)
		serve_waiting(a, f, true, begin_file);
}

static void attach_mapped(struct attach *a, const struct proc *p)
{
	const struct mapping *map;
	for (size_t i = 0; (map = target_mapping(a->h->targets, p->id, i)); i++) {
		const struct module *m = catalog_module(a->h->catalog, map->module);
		int fd = m ? target_module_fd(a->h->targets, m->id) : -1;
		if (fd >= 0)
			attach_module(a, p, m, fd);
	}
}

void attach_split(struct attach *a)
{
	const struct proc *p;
	probe_detach(a->h->probe, 0);
	attach_reset(a);
	a->shared = false;
	a->facts.renewals++;
	for (size_t i = 0; (p = catalog_next_proc(a->h->catalog, &i));) {
		if (target_is_process(a->h->targets, p))
			attach_mapped(a, p);
	}
}

void attach_child(struct attach *a, const struct proc *p)
{
	if (p)
		attach_mapped(a, p);
}

/* Is a collector of the process still being calibrated, and therefore not attached yet? */
static bool awaits_calibration(const struct attach *a, const struct proc *p)
{
	const struct mapping *map;
	bool owed = false;
	for (size_t i = 0; (map = target_mapping(a->h->targets, p->id, i)); i++) {
		const struct file_sites *f = sitecache_find(&a->sites, map->module);
		owed |= f && f->asked && sites_collect(&f->list);
	}
	return owed;
}

/*
 * The kernel reported the process' mappings while its dynamic linker was still working, and their examination was
 * requested without waiting.
 */
void attach_settle(struct attach *a, const struct proc *p)
{
	const struct mapping *map;
	for (size_t i = 0; p && (map = target_mapping(a->h->targets, p->id, i)); i++) {
		const struct file_sites *f = sitecache_find(&a->sites, map->module);
		const struct module *m = f && f->pending ? catalog_module(a->h->catalog, map->module) : NULL;
		int fd = m ? target_module_fd(a->h->targets, m->id) : -1;
		if (fd >= 0)
			a->ops.wanted(a->ops.ctx, m, fd);
	}
	struct pollfd done = { .fd = attach_fd(a), .events = POLLIN };
	while (p && awaits_calibration(a, p) && poll(&done, 1, HELD_WAIT_MS) > 0)
		attach_update(a);
}

void attach_forget(struct attach *a, uint32_t tgid)
{
	const struct module *m;
	probe_detach(a->h->probe, tgid);
	if (a->h->counting && tgid)
		counting_forget(a->h->counting, tgid);
	for (size_t i = 0; i < a->sites.files_cnt; i++) {
		struct file_sites *f = &a->sites.files[i];
		sitecache_end_trials(f, tgid);
		/* It waited on behalf of all; now the next process that maps the file will. */
		if (sitecache_stop_waiting(f, tgid) && a->shared)
			sitecache_undo(&a->sites, 0, f->module);
	}
	/*
	 * With shared links, hardly any is this process' own: visiting each file at thousands of exits per second would cost
	 * more than everything else.
	 */
	bool has_own = !a->shared || record_takes_notes(a->h->o);
	for (size_t i = 0; has_own && (m = catalog_next_module(a->h->catalog, &i));)
		sitecache_undo(&a->sites, tgid, m->id);
}

void attach_reset(struct attach *a)
{
	if (a->h->counting)
		counting_forget(a->h->counting, 0);
	map_free(&a->sites.done);
	for (size_t i = 0; i < a->sites.files_cnt; i++) {
		sitecache_end_trials(&a->sites.files[i], 0);
		a->sites.files[i].waiting_cnt = 0;
	}
}

struct pruning {
	struct attach *attach;
	const struct catalog *kept;
};

static bool is_kept(void *ctx, struct module_id module)
{
	return catalog_module(((const struct pruning *)ctx)->kept, module);
}

static void leave_pruned(void *ctx, struct file_sites *f)
{
	leave_file(((const struct pruning *)ctx)->attach, f, NULL);
}

void attach_prune(struct attach *a, const struct catalog *kept)
{
	struct pruning p = { a, kept };
	sitecache_prune(&a->sites, is_kept, leave_pruned, &p);
}
