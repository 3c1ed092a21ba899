/* recorder/attach: see attach.h. */
#include "recorder/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "calibrate/calibrate.h"
#include "calibrate/verdicts.h"
#include "probe/linker.h"
#include "recorder/rows.h"
#include "recorder/study.h"
#include "sites/collections.h"
#include "target/proc.h"

struct trial {
	struct probe_trial at;
	enum probe_returns returns;
};

/* What a file offers, found once. */
struct file_sites {
	struct module_id module;
	struct probe_file file;
	uint64_t unused_ns; /* no process has it mapped since then; 0 = some had at the last look */
	bool left;          /* its probes were taken away for that */
	bool pending;       /* what it offers is being found out */
	struct site_list list;
	struct site_list proof;        /* the same without cheap exits, for trials */
	struct site_list calls, plain; /* until the calibration: see struct findings */
	size_t probed;  /* functions */
	size_t counted; /* of them, in live.functions_cnt */
	bool served;    /* they were put under probes for somebody */
	bool calibrated; /* tried once, or being tried, whatever comes of it */
	bool asked;      /* the verdict is to come */
	bool unproven;   /* until it is there, or without one: the first calls are to show whether the sites are right */
	uint32_t *waiting; /* processes, for what it offers, or for the verdict */
	size_t waiting_cnt, waiting_cap;
	struct trial *trials;     /* that go on, one a process; the first verdict ends all */
	size_t trials_cnt, trials_cap;
	struct collection_sites collections; /* of a collector */
	uint64_t link_offset; /* of a dynamic linker, see probe/linker.h */
	char unwatched[300]; /* why no process' collections by it can be seen, "" = they can */
};

struct site_cache {
	struct file_sites *files;
	size_t files_cnt, files_cap;
	struct map done; /* tgid << 32 | module: attached */
	uint64_t looked_ns; /* for files that are unused */
	uint64_t examined;  /* files so far */
	struct verdicts *verdicts; /* NULL until one is asked for */
};

static uint64_t done_key(uint32_t tgid, struct module_id module)
{
	return (uint64_t)tgid << 32 | module.n;
}

int attach_families(const char *names, uint32_t *out, struct err *err)
{
	*out = 0;
	for (const char *at = names ?: ""; *at;) {
		char name[32];
		size_t n = strcspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		int family = alloc_family_by_name(name);
		if (family < 0)
			return err_set(err, EINVAL, "--allocator knows no \"%s\": choose from libc,libgc,jemalloc,tcmalloc,mimalloc,c++",
				       name);
		*out |= 1u << family;
		at += n + (at[n] == ',');
	}
	return 0;
}

/* A refill hands out this much at most: finer samples would see no single calls. */
#define REFILL_FROM ALYS_REFILL_SPAN

/* Blocks are all that a refill knows: which requests were smaller than --min-size it cannot tell. */
bool attach_wants_refill(const struct record_options *o)
{
	if (!o->interval || o->return_probes || o->sample_at == SAMPLE_AT_CALL)
		return false;
	return o->sample_at == SAMPLE_AT_REFILL || (o->interval >= REFILL_FROM && !o->min_size);
}

static size_t count_probed(const struct site_list *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->sites_cnt; i++)
		n += l->sites[i].state == SITE_PROBED;
	return n;
}

static void note_refills(struct live *l, const char *path, const struct site_list *list)
{
	l->refills_cnt += list->at == SAMPLE_AT_REFILL;
	if (l->h.o->sample_at != SAMPLE_AT_REFILL || list->at == SAMPLE_AT_REFILL)
		return;
	for (size_t i = 0; i < list->sites_cnt; i++) {
		if (list->sites[i].family != ALLOC_LIBGC)
			continue;
		log_warn("%s: no free lists of threads found in it: it is sampled at calls", path);
		return;
	}
}

/* Refills show the lists of the collector's own threads alone. */
static void note_taker(struct live *l, const char *path, const struct site_list *list)
{
	if (list->takes_lists && !l->takers_cnt++)
		snprintf(l->taker, sizeof(l->taker), "%s", path);
}

static void note_unwatched(struct live *l, const struct proc *p, const struct file_sites *f)
{
	if (f && f->unwatched[0])
		live_collections_unseen(l, p, f->unwatched, f->list.gc_no_vaddr);
}

static void watch_collections(struct live *l, uint32_t tgid, const struct proc *p, struct file_sites *f, int fd)
{
	struct err err = { 0 };
	note_unwatched(l, p, f);
	if (!f->collections.sites_cnt)
		return;
	int rc = live_watch_collector(l, p->tgid, &err);
	if (!rc)
		rc = probe_attach_collections(l->h.probe, tgid, fd, &f->collections, &err);
	if (!rc)
		return;
	log_warn("collections of process %" PRIu32 " will not be seen: %s", p->tgid, err.text);
	if (!tgid)
		snprintf(f->unwatched, sizeof(f->unwatched), "%.299s", err.text);
	live_collections_unseen(l, p, err.text, f->list.gc_no_vaddr);
}

static struct file_sites *known_file(const struct site_cache *c, struct module_id module)
{
	for (size_t i = 0; c && i < c->files_cnt; i++) {
		if (c->files[i].module.n == module.n)
			return &c->files[i];
	}
	return NULL;
}

/* The first reason why something is not under probes. */
static void note_failure(struct live *l, const char *path, const struct err *err)
{
	if (!err->code)
		return;
	log_info("%s: %s", path, err->text);
	if (err->code != ENOEXEC && !l->attach_err.code)
		l->attach_err = *err;
}

static struct site_list take_list(struct site_list *l)
{
	struct site_list taken = *l;
	*l = (struct site_list){ 0 };
	return taken;
}

static void take_findings(struct live *l, struct file_sites *f, struct findings *found)
{
	const char *path = catalog_module(l->h.catalog, f->module)->path;
	note_failure(l, path, found->failed.code ? &found->failed : &found->sites.err);
	f->pending = false;
	f->list = take_list(&found->sites.list);
	f->proof = take_list(&found->sites.proof);
	f->calls = take_list(&found->sites.calls);
	f->plain = take_list(&found->sites.plain);
	/* Where processes are many and others', that they have changed is known from the kernel's news only. */
	f->link_offset = l->h.select ? 0 : found->sites.link_offset;
	note_taker(l, path, &f->list);
	f->probed = f->counted = count_probed(&f->list);
	l->functions_cnt += f->counted;
	if (!f->probed || !f->list.text_lo)
		return;
	f->collections = found->sites.collections;
	found->sites.collections = (struct collection_sites){ 0 };
	if (found->sites.unwatched[0])
		log_info("%s", found->sites.unwatched);
	snprintf(f->unwatched, sizeof(f->unwatched), "%s", found->sites.unwatched);
}

/* Kernels that kill seccomp-confined processes at a return probe get exit sites there instead. */
static bool returns_safe(const struct live *l, uint32_t tgid)
{
	return !probe_returns_kill_seccomp(l->h.probe) || target_seccomp(tgid) == 0;
}

/* Which functions get their results through return probes instead of exit sites. */
static enum probe_returns returns_for(const struct live *l, uint32_t tgid)
{
	if (l->h.o->return_probes)
		return PROBE_RETURNS_ALL;
	return returns_safe(l, tgid) ? PROBE_RETURNS_PLAIN : PROBE_RETURNS_NONE;
}

#define UNUSED_LOOK_NS 500000000ull
#define UNUSED_NS 2000000000ull

/* Calls that must agree before cheap exits are believed that no helper could try. */
#define TRIAL_CALLS 1000

/* Trials of one process, or all of them (0), are over. */
static void forget_trials(struct file_sites *f, uint32_t tgid)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->trials_cnt; i++) {
		if (tgid && f->trials[i].at.tgid != tgid)
			f->trials[kept++] = f->trials[i];
	}
	f->trials_cnt = kept;
}

/* Where the proof cannot be had, calls are seen as if proven. */
static int attach_sites(struct live *l, uint32_t tgid, struct file_sites *f, int fd, enum probe_returns returns, struct err *err)
{
	/* Refills themselves are seen in one place; the calls beside them have other ways out. */
	if (!f->unproven)
		return probe_attach(l->h.probe, tgid, fd, &f->list, returns, err);
	struct trial *t = VEC_PUSH(f, trials);
	if (!t)
		return err_set(err, ENOMEM, "out of memory");
	t->returns = returns;
	int rc = probe_attach_on_trial(l->h.probe, tgid, fd, &f->list, &f->proof, returns, &t->at, err);
	f->trials_cnt -= rc || !t->at.number;
	return rc;
}

/* Plain sites are what the list gives way to when it was wrong; with trials they are there already. */
static void settle(struct live *l, struct file_sites *f, bool right, struct site_list *plain)
{
	struct err err = { 0 };
	for (size_t i = 0; i < f->trials_cnt; i++) {
		const struct trial *t = &f->trials[i];
		if (probe_trial_end(l->h.probe, &t->at, target_module_fd(l->h.targets, f->module),
				    right ? &f->list : plain, t->returns, &err))
			log_warn("%s: %s", catalog_module(l->h.catalog, f->module)->path, err.text);
	}
	f->unproven = false;
	if (!right) {
		sites_free(&f->list);
		f->list = *plain;
		*plain = (struct site_list){ 0 };
	}
	forget_trials(f, 0);
}

static void judge(struct live *l, struct file_sites *f, const struct probe_trial *decisive)
{
	bool right = !decisive->wrong;
	log_info("%s: %" PRIu64 " first calls agreed, %" PRIu64 " did not: results are read %s",
		 catalog_module(l->h.catalog, f->module)->path, decisive->agreed, decisive->wrong,
		 right ? "at cheap exits now" : "where functions return");
	settle(l, f, right, &f->proof);
}

/* A trial that finds a call wrong needs no other verdict; one that finds none waits for it. */
static void look(struct live *l, struct file_sites *f)
{
	for (size_t i = 0; i < f->trials_cnt; i++) {
		struct probe_trial *t = &f->trials[i].at;
		if (!probe_trial_look(l->h.probe, t) && (t->wrong || (t->agreed >= TRIAL_CALLS && !f->asked))) {
			judge(l, f, t);
			return;
		}
	}
}

/* Takes the verdict's sites over when they are wanted. */
static void accept_verdict(struct live *l, struct file_sites *f, struct verdict_on *v)
{
	if (v->said.text[0])
		log_info("%s: %s", catalog_module(l->h.catalog, f->module)->path, v->said.text);
	f->asked = false;
	/* The trial may have found the sites wrong meanwhile. */
	if (f->unproven && v->said.verdict != VERDICT_UNPROVEN) {
		bool untouched = !f->trials_cnt;
		settle(l, f, v->said.verdict == VERDICT_AGREED, &v->plain);
		/* Entries go elsewhere then: not under those that are attached. */
		if (v->said.verdict == VERDICT_AGREED && untouched)
			sites_go_direct(&f->list);
	}
	sites_free(&v->plain);
}

/*
 * When children are followed, or processes are very many, one link serves all and BPF tells them apart. So it does where
 * the first thread has exited: the kernel would look for the process' memory there.
 */
static uint32_t link_tgid(const struct live *l, uint32_t pid)
{
	return l->shared || proc_holder(pid) != pid ? 0 : pid;
}

static void listen_to_linker(struct live *l, uint32_t pid, const struct file_sites *f, int fd)
{
	struct err err;
	if (f->link_offset && linker_attach(l->h.probe, link_tgid(l, pid), fd, f->link_offset, &err))
		log_info("libraries that process %" PRIu32 " loads are not told of: %s", pid, err.text);
}

/* Not the file's fault: who ends, or becomes another program, is not probed; another process may be, or this one when it maps the file anew. */
static bool went(const struct err *err)
{
	return err->code == ESRCH || err->code == ESTALE;
}

static void note_unprobed(struct live *l, uint32_t tgid, struct file_sites *f, const struct err *err)
{
	log_at(went(err) ? LOG_VERBOSE : LOG_NORMAL, "%s: %s", catalog_module(l->h.catalog, f->module)->path, err->text);
	if (!l->attach_err.code)
		l->attach_err = *err;
	if (went(err))
		map_del(&l->sites->done, done_key(tgid, f->module));
	if (!f->served)
		l->functions_cnt -= f->counted;
	if (!f->served)
		f->counted = 0;
}

static void note_probed(struct live *l, struct file_sites *f)
{
	f->served = true;
	l->functions_cnt += f->probed - f->counted;
	f->counted = f->probed;
}

static void attach_file(struct live *l, const struct proc *p, struct file_sites *f, int fd)
{
	const char *path = catalog_module(l->h.catalog, f->module)->path;
	uint32_t tgid = link_tgid(l, p->tgid);
	struct err err = { 0 };
	if (attach_sites(l, tgid, f, fd, returns_for(l, p->tgid), &err)) {
		note_unprobed(l, tgid, f, &err);
		return;
	}
	note_probed(l, f);
	l->collected |= f->list.text_lo != 0;
	watch_collections(l, tgid, p, f, fd);
	note_refills(l, path, &f->list);
	log_info("%s: %zu functions under probes", path, f->probed);
}

/*
 * One link serves all where children are followed: the first one that is still there stands for them. When none is, the
 * next one to map the file asks again.
 */
static void serve_waiting(struct live *l, struct file_sites *f, bool first,
			  void (*serve)(struct live *l, const struct proc *p, struct file_sites *f, int fd))
{
	bool shared = false, served = false;
	uint32_t *waiting = f->waiting;
	size_t cnt = f->waiting_cnt;
	f->waiting = NULL;
	f->waiting_cnt = f->waiting_cap = 0;
	for (size_t i = 0; i < cnt; i++) {
		const struct proc *p = catalog_proc(l->h.catalog, target_find(l->h.targets, waiting[i]));
		bool shares = p && !link_tgid(l, p->tgid);
		if (p && !(shares && shared))
			serve(l, p, f, target_module_fd(l->h.targets, f->module));
		else if (p)
			note_unwatched(l, p, f);
		shared |= shares;
		served |= p != NULL;
	}
	free(waiting);
	if ((first || f->list.text_lo) && !served)
		map_del(&l->sites->done, f->module.n);
}

static void take_verdicts(struct live *l)
{
	struct site_cache *c = l->sites;
	struct verdict_on v;
	while (c->verdicts && verdicts_take(c->verdicts, &v)) {
		struct file_sites *f = known_file(c, v.module);
		if (!f) { /* forgotten meanwhile */
			sites_free(&v.plain);
			continue;
		}
		accept_verdict(l, f, &v);
		serve_waiting(l, f, false, attach_file);
	}
}

/* The table must not change while it is walked; entries of one file are few. */
static void forget_done(struct site_cache *c, struct module_id module)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&c->done, &i));) {
		if ((uint32_t)s->key != module.n)
			continue;
		map_del(&c->done, s->key);
		i = 0;
	}
}

/* Its probes serve another module too, beside `but`: a container's name for the same file. */
static bool is_shared(const struct live *l, const struct file_sites *f, const struct file_sites *but)
{
	bool shared = false;
	for (size_t i = 0; i < l->sites->files_cnt; i++) {
		const struct file_sites *other = &l->sites->files[i];
		shared |= other != f && other != but && probe_file_same(f->file, other->file) && other->probed && !other->left;
	}
	return shared;
}

/* Another process may come to use it: it is attached anew then. */
static void forget_links(struct live *l, struct file_sites *f)
{
	forget_done(l->sites, f->module);
	forget_trials(f, 0);
	f->left = true;
}

/* Not for `heir`. */
static void leave_file(struct live *l, struct file_sites *f, const struct file_sites *heir)
{
	if (!f->probed || f->left)
		return;
	forget_links(l, f);
	if (!is_shared(l, f, heir))
		probe_leave_file(l->h.probe, f->file);
}

/*
 * A file that was written anew in its place is another module: shared probes were for what it has
 * been. A process' own probes go with the process.
 */
static void leave_outdated(struct live *l, const struct file_sites *now)
{
	for (size_t i = 0; l->shared && i < l->sites->files_cnt; i++) {
		struct file_sites *f = &l->sites->files[i];
		if (f != now && f->file.dev == now->file.dev && f->file.ino == now->file.ino)
			leave_file(l, f, now);
	}
}

/* Modules that processes have mapped now. False: no memory. */
static bool list_used(const struct live *l, struct map *used)
{
	const struct proc *p;
	const struct mapping *map;
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));) {
		if (target_find(l->h.targets, p->tgid).n != p->id.n)
			continue;
		for (size_t k = 0; (map = target_mapping(l->h.targets, p->id, k)); k++) {
			if (!map_put(used, map->module.n))
				return false;
		}
	}
	return true;
}

/*
 * While nobody runs a file it may be written anew in its place, as cp does: probes that are left
 * would then be put into the middle of other instructions, in the next process that maps it. A
 * recording of some programs is short, and is to see each of them from its first call on.
 */
static void leave_unused(struct live *l, uint64_t now)
{
	struct site_cache *c = l->sites;
	struct map used = { 0 };
	if (!l->h.select || now - c->looked_ns < UNUSED_LOOK_NS)
		return;
	c->looked_ns = now;
	bool known = list_used(l, &used);
	for (size_t i = 0; known && i < c->files_cnt; i++) {
		struct file_sites *f = &c->files[i];
		if (map_get(&used, f->module.n))
			f->unused_ns = 0;
		else if (!f->unused_ns)
			f->unused_ns = now;
		else if (now - f->unused_ns >= UNUSED_NS)
			leave_file(l, f, NULL);
	}
	map_free(&used);
}

void attach_look(struct live *l)
{
	if (!l->sites)
		return;
	take_verdicts(l);
	for (size_t i = 0; i < l->sites->files_cnt; i++)
		look(l, &l->sites->files[i]);
	leave_unused(l, now_ns());
}

int attach_fd(const struct live *l)
{
	return l->sites && l->sites->verdicts ? verdicts_fd(l->sites->verdicts) : -1;
}

/* While nothing else goes on, or the process is held, the verdict is waited for: then no call is ever seen another way. */
static void calibrate_file(struct live *l, struct file_sites *f, const struct module *m, int fd)
{
	struct site_cache *c = l->sites;
	struct verdict_order o = { .module = m->id, .fd = fd, .calls = take_list(&f->calls), .plain = take_list(&f->plain) };
	struct verdict_on v;
	f->calibrated = f->unproven = true;
	bool waiting = !l->flowing || l->held;
	if (!waiting && !c->verdicts)
		c->verdicts = verdicts_new();
	f->asked = !waiting && c->verdicts && !verdicts_ask(c->verdicts, &o);
	if (f->asked)
		return;
	/* Not beside the thread, either: programs are tried one after the other. Trials say what can be said. */
	if (!c->verdicts) {
		verdict_now(&o, &v);
		accept_verdict(l, f, &v);
	}
	verdict_order_free(&o);
}

/*
 * What a file offers must be known first. Plain calls can be seen safely before the verdict is there; what is seen of a
 * collector is another matter with it.
 */
static bool waits(struct file_sites *f, uint32_t pid)
{
	bool due = f->pending || (f->asked && f->list.text_lo);
	for (size_t i = 0; due && i < f->waiting_cnt; i++) {
		if (f->waiting[i] == pid)
			return true;
	}
	uint32_t *place = due ? VEC_PUSH(f, waiting) : NULL;
	if (place)
		*place = pid;
	return place;
}

/* The file's probes are there, or are to come with another process: which may end before. */
static void share(struct live *l, const struct proc *p, struct file_sites *f)
{
	note_unwatched(l, p, f);
	if (f && (f->pending || f->asked) && !link_tgid(l, p->tgid))
		waits(f, p->tgid);
}

/* What it offers is known. */
static void begin_file(struct live *l, const struct proc *p, struct file_sites *f, int fd)
{
	listen_to_linker(l, p->tgid, f, fd);
	if (!f->probed)
		return;
	f->left = false;
	f->unused_ns = 0;
	if (!f->calibrated && calibrate_wanted(&f->list, returns_for(l, p->tgid)))
		calibrate_file(l, f, catalog_module(l->h.catalog, f->module), fd);
	if (!waits(f, p->tgid))
		attach_file(l, p, f, fd);
}

/* What it offers is asked for when nobody did yet, and waited for by a process that is held. */
static struct file_sites *file_of(struct live *l, const struct module *m, int fd)
{
	struct site_cache *c = l->sites;
	struct file_sites *f = known_file(c, m->id);
	bool known = f;
	if (!known) {
		f = VEC_PUSH(c, files);
		if (!f)
			return NULL;
		c->examined++;
		*f = (struct file_sites){ .module = m->id, .file = probe_file_of(fd), .pending = true };
		leave_outdated(l, f);
	}
	if (!known || (f->pending && l->held))
		study_file(l, m, fd, FINDINGS_SITES | rows_wanted(l, m));
	return f;
}

void attach_module(struct live *l, const struct proc *p, const struct module *m, int fd)
{
	if (!l->sites)
		l->sites = calloc(1, sizeof(*l->sites));
	uint64_t key = done_key(link_tgid(l, p->tgid), m->id);
	uint64_t *done = l->sites ? map_put(&l->sites->done, key) : NULL;
	if (done && *done)
		share(l, p, known_file(l->sites, m->id));
	if (!done || *done)
		return;
	*done = 1;
	struct file_sites *f = file_of(l, m, fd);
	if (f && !waits(f, p->tgid))
		begin_file(l, p, f, fd);
}

void attach_found(struct live *l, struct findings *found)
{
	struct file_sites *f = known_file(l->sites, found->module);
	if (!f || !f->pending)
		return;
	take_findings(l, f, found);
	if (f->waiting_cnt)
		serve_waiting(l, f, true, begin_file);
}

static void forget_waiting(struct file_sites *f, uint32_t pid)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->waiting_cnt; i++) {
		if (f->waiting[i] != pid)
			f->waiting[kept++] = f->waiting[i];
	}
	f->waiting_cnt = kept;
}

static void attach_mapped(struct live *l, const struct proc *p)
{
	const struct mapping *map;
	for (size_t i = 0; (map = target_mapping(l->h.targets, p->id, i)); i++) {
		const struct module *m = catalog_module(l->h.catalog, map->module);
		int fd = m ? target_module_fd(l->h.targets, m->id) : -1;
		if (fd >= 0)
			attach_module(l, p, m, fd);
	}
}

void attach_split(struct live *l)
{
	const struct proc *p;
	probe_detach(l->h.probe, 0);
	attach_reset(l);
	l->shared = false;
	l->renewals++;
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));) {
		if (target_find(l->h.targets, p->tgid).n == p->id.n)
			attach_mapped(l, p);
	}
}

void attach_child(struct live *l, const struct proc *p)
{
	const struct mapping *map;
	if (p && !l->shared)
		attach_mapped(l, p);
	for (size_t i = 0; p && l->shared && (map = target_mapping(l->h.targets, p->id, i)); i++)
		share(l, p, known_file(l->sites, map->module));
}

void attach_forget(struct live *l, uint32_t tgid)
{
	const struct module *m;
	probe_detach(l->h.probe, tgid);
	for (size_t i = 0; l->sites && i < l->sites->files_cnt; i++) {
		forget_trials(&l->sites->files[i], tgid);
		forget_waiting(&l->sites->files[i], tgid);
	}
	/*
	 * Where links are shared, none is this one's: to ask of each file at thousands of ends a
	 * second would cost more than all else.
	 */
	for (size_t i = 0; l->sites && !l->shared && (m = catalog_next_module(l->h.catalog, &i));)
		map_del(&l->sites->done, done_key(tgid, m->id));
}

void attach_reset(struct live *l)
{
	if (!l->sites)
		return;
	map_free(&l->sites->done);
	for (size_t i = 0; i < l->sites->files_cnt; i++) {
		forget_trials(&l->sites->files[i], 0);
		l->sites->files[i].waiting_cnt = 0;
	}
}

static void file_free(struct file_sites *f)
{
	sites_free(&f->list);
	sites_free(&f->proof);
	sites_free(&f->calls);
	sites_free(&f->plain);
	free(f->trials);
	free(f->waiting);
	collections_free(&f->collections);
}

void attach_prune(struct live *l, const struct catalog *kept)
{
	size_t n = 0;
	for (size_t i = 0; l->sites && i < l->sites->files_cnt; i++) {
		struct file_sites *f = &l->sites->files[i];
		if (catalog_module(kept, f->module)) {
			l->sites->files[n++] = *f;
			continue;
		}
		leave_file(l, f, NULL);
		file_free(f);
	}
	if (l->sites)
		l->sites->files_cnt = n;
}

size_t attach_files(const struct live *l)
{
	size_t n = 0;
	for (size_t i = 0; l->sites && i < l->sites->files_cnt; i++)
		n += l->sites->files[i].probed && !l->sites->files[i].left;
	return n;
}

uint64_t attach_examined(const struct live *l)
{
	return l->sites ? l->sites->examined : 0;
}

void attach_free(struct live *l)
{
	if (!l->sites)
		return;
	for (size_t i = 0; i < l->sites->files_cnt; i++)
		file_free(&l->sites->files[i]);
	verdicts_free(l->sites->verdicts);
	free(l->sites->files);
	map_free(&l->sites->done);
	free(l->sites);
	l->sites = NULL;
}
