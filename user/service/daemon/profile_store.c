/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/profile_store: see profile_store.h. */
#include "daemon/profile_store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "access/outfile.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"

#define ENDING ".pb.gz"
#define TRACE_ENDING ".alys"
/* Patterns for the names made by name_file and name_trace. */
#define DIGITS "[0-9][0-9][0-9][0-9]"
#define STAMPS DIGITS DIGITS "T" DIGITS "[0-9][0-9]Z-[0-9]*-[0-9]*"
#define PROFILES "*-[0-9]*-" STAMPS ENDING
#define TRACES STAMPS TRACE_ENDING
#define UNFINISHED "." PROFILES ".[0-9]*.tmp" /* left by a daemon that was killed */
#define FILES_MIN 4                           /* a trace is ended when it reaches keep_size / FILES_MIN */
#define FRESH_MAX \
	100 /* final profiles written before old files are removed ahead of the interval: short-lived processes leave many */
#define SHORT_NS 1000000000ull /* processes that lived shorter leave no last profile */

struct profile_store {
	struct profile_store_options o;
	char place[32];   /* /proc/self/fd path of the directory: valid even if the real path is not accessible */
	struct map marks; /* proc -> struct heap_mark * of its last profile */
	struct profile_store_counts counts;
	char current[64];          /* name of the trace being written, "" = none */
	uint32_t traces, profiles; /* created so far, for unique names */
	uint32_t fresh;            /* profiles written since the last remove_old */
	size_t waiting;            /* profiles requested and not yet written */
	bool grown;                /* remove_old is due once none are waiting */
	uint64_t next_ns;
	bool failing;
};

/* A requested profile. */
struct wanted {
	struct profile_store *store;
	char path[4096];
};

static void name_user(uid_t uid, char *out, size_t cap)
{
	const struct passwd *p = getpwuid(uid);
	if (p)
		snprintf(out, cap, "%s", p->pw_name);
	else
		snprintf(out, cap, "%u", (unsigned int)uid);
}

/* The message names the command that fixes it. */
static int refuse_to_make(const char *dir, uid_t uid, int code, struct err *err)
{
	char user[64];
	name_user(uid, user, sizeof(user));
	if (code == ENOTDIR || code == ENAMETOOLONG || code == ELOOP)
		return err_set(err, code, "--profile-dir %s: %s: name another one", dir, strerror(code));
	return err_set(err, code, "--profile-dir %s cannot be made: %s; `install -d -m 700 -o %s %s` as root makes it", dir,
		       strerror(code), user, dir);
}

static int refuse_to_write(const char *dir, int dir_fd, int code, struct err *err)
{
	char user[64];
	struct stat st;
	bool own = !fstat(dir_fd, &st) && st.st_uid == geteuid();
	name_user(geteuid(), user, sizeof(user));
	if (code == EROFS)
		return err_set(err, code,
			       "--profile-dir %s: the file system is mounted read-only for this program: name another one, or "
			       "give the unit ReadWritePaths=%s",
			       dir, dir);
	return err_set(err, code,
		       "--profile-dir %s: user %s, which writes the profiles, cannot write there: `%s %s%s %s` as root "
		       "lets it, or name another one",
		       dir, user, own ? "chmod" : "chown", own ? "u+rwx" : user, own ? "" : ":", dir);
}

int profile_store_open_dir(const char *dir, uid_t uid, gid_t gid, struct err *err)
{
	bool fresh = !mkdir(dir, 0700);
	if (!fresh && errno != EEXIST)
		return refuse_to_make(dir, uid, errno, err);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "--profile-dir %s: %s", dir, strerror(errno));
	if (!fresh || !fchown(fd, uid, gid))
		return fd;
	int code = errno;
	close(fd);
	return err_set(err, code, "--profile-dir %s: cannot give it to user %u: %s", dir, (unsigned int)uid, strerror(code));
}

struct profile_store *profile_store_new(const struct profile_store_options *o, int dir_fd, struct err *err)
{
	if (faccessat(dir_fd, ".", W_OK | X_OK, AT_EACCESS)) {
		refuse_to_write(o->dir, dir_fd, errno, err);
		return NULL;
	}
	struct profile_store *k = calloc(1, sizeof(*k));
	if (!k) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	k->o = *o;
	snprintf(k->place, sizeof(k->place), "/proc/self/fd/%d", dir_fd);
	k->next_ns = now_ns() + (uint64_t)(o->every * 1e9);
	return k;
}

static void drop_mark(struct profile_store *k, uint32_t proc)
{
	uint64_t *mark = map_get(&k->marks, proc);
	if (mark)
		heap_mark_free((struct heap_mark *)(uintptr_t)*mark);
	map_del(&k->marks, proc);
}

void profile_store_free(struct profile_store *k)
{
	const struct map_slot *s;
	if (!k)
		return;
	for (size_t i = 0; (s = map_next(&k->marks, &i));)
		heap_mark_free((struct heap_mark *)(uintptr_t)s->value);
	map_free(&k->marks);
	free(k);
}

const struct profile_store_counts *profile_store_counts(const struct profile_store *k)
{
	return &k->counts;
}

/* Replaces characters that need quoting in shells or are invalid in some file systems. */
static void put_name(char *out, size_t cap, const char *comm)
{
	size_t n = 0;
	for (; *comm && n + 1 < cap; comm++)
		out[n++] = isalnum((unsigned char)*comm) || strchr("._-", *comm) ? *comm : '_';
	if (!n || out[0] == '.')
		out[0] = '_';
	out[n ? n : 1] = 0;
}

static void name_file(struct profile_store *k, const struct continuous_process *p, const char *why, char *out, size_t cap)
{
	static const char *const beside[SUBJECT_CNT] = { "", "-rss", "-maps" };
	char name[32], stamp[32];
	time_t now = time(NULL);
	struct tm tm;
	put_name(name, sizeof(name), p->comm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	/* Generation and counter keep names unique within a second: an exec ends one generation and begins the next. */
	snprintf(out, cap, "%s/%s-%u-%s-%u-%u%s%s%s" ENDING, k->place, name, p->tgid, stamp, p->proc.n, ++k->profiles,
		 beside[p->subject], why ? "-" : "", why ?: "");
}

static void fail(struct profile_store *k, const struct err *err)
{
	k->counts.failed++;
	snprintf(k->counts.last_error, sizeof(k->counts.last_error), "%.250s", err->text);
	/* Logged once per series of failures. */
	if (!k->failing)
		log_warn("profiles cannot be written: %s; later failures are only counted", err->text);
	k->failing = true;
}

static void on_profile(void *ctx, int rc, struct buf *bytes, const struct err *why)
{
	struct wanted *w = ctx;
	struct err err = { 0 };
	struct outfile f;
	w->store->waiting--;
	if (rc) {
		if (rc != -ECANCELED)
			fail(w->store, why);
		free(w);
		return;
	}
	rc = outfile_begin(&f, w->path, true, &err);
	if (!rc) {
		rc = outfile_write(f.fd, bytes->data, bytes->len);
		rc = rc ? rc : outfile_commit(&f, &err);
		outfile_abort(&f);
	}
	if (rc) {
		/* With the directory as the user named it, not /proc/self/fd/N. */
		err_set(&err, -rc, "%s%s: %s", w->store->o.dir, strrchr(w->path, '/'), strerror(-rc));
		fail(w->store, &err);
	} else {
		w->store->counts.written++;
		w->store->fresh++;
		w->store->counts.bytes += bytes->len;
		w->store->counts.files++;
		w->store->counts.stored += bytes->len;
		w->store->failing = false;
	}
	free(w);
}

/* A trace being written. */
struct kept_trace {
	struct profile_store *store;
	char name[64];
};

static void trace_path(const struct profile_store *k, const char *name, char *out, size_t cap)
{
	snprintf(out, cap, "%s/%s", k->place, name);
}

static void on_trace_end(void *ctx, int rc, const struct err *why)
{
	struct kept_trace *t = ctx;
	struct profile_store *k = t->store;
	struct err err;
	char path[128];
	struct stat st;
	trace_path(k, t->name, path, sizeof(path));
	if (!stat(path, &st)) {
		k->counts.bytes += (uint64_t)st.st_size;
		k->counts.files++;
		k->counts.stored += (uint64_t)st.st_size;
	}
	if (rc) {
		err_set(&err, -rc, "%s/%s is incomplete, but readable up to there: %s", k->o.dir, t->name, why->text);
		fail(k, &err);
	} else {
		k->counts.written++;
		k->failing = false;
	}
	free(t);
}

static void name_trace(struct profile_store *k, char *out, size_t cap)
{
	char stamp[32];
	time_t now = time(NULL);
	struct tm tm;
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	/* Pid and counter keep names unique within a second. */
	snprintf(out, cap, "%s-%d-%u" TRACE_ENDING, stamp, (int)getpid(), ++k->traces);
}

/* Starts a new trace. On failure, the current one, if any, continues. */
static int turn(struct profile_store *k, struct continuous *c, struct err *err)
{
	char path[128];
	struct kept_trace *t = calloc(1, sizeof(*t));
	struct trace_end end = { .done = on_trace_end, .ctx = t };
	if (!t)
		return err_set(err, ENOMEM, "out of memory");
	t->store = k;
	name_trace(k, t->name, sizeof(t->name));
	trace_path(k, t->name, path, sizeof(path));
	int fd = outfile_create(path, false, err);
	int rc = fd < 0 ? fd : continuous_record(c, fd, &end, err);
	if (!rc) {
		strcpy(k->current, t->name);
		return 0;
	}
	if (fd >= 0)
		unlink(path);
	/* With the directory as the user named it, as above. */
	err_set(err, -rc, "%s/%s: %s", k->o.dir, t->name, strerror(-rc));
	free(t);
	return rc;
}

static void ask(struct profile_store *k, struct continuous *c, const struct continuous_process *p, const char *why)
{
	struct wanted *w = calloc(1, sizeof(*w));
	struct err err = { 0 };
	uint64_t *mark = map_get(&k->marks, p->proc.n);
	if (!w)
		return;
	w->store = k;
	name_file(k, p, why, w->path, sizeof(w->path));
	struct profile_request r = {
		.format = "pprof",
		.proc = p->proc,
		.cause = why,
		.patient = true,
		.done = on_profile,
		.ctx = w,
		.since = mark ? (const struct heap_mark *)(uintptr_t)*mark : NULL,
	};
	k->waiting++;
	if (!continuous_profile(c, &r, &err))
		return;
	k->waiting--;
	fail(k, &err);
	free(w);
}

struct asking {
	struct profile_store *store;
	struct continuous *c;
	struct continuous_process *list;
	size_t list_cnt, list_cap;
};

static int gather(void *ctx, const struct continuous_process *p)
{
	struct asking *a = ctx;
	struct continuous_process *place = p->events ? VEC_PUSH(a, list) : NULL;
	if (place)
		*place = *p;
	return 0;
}

/* Allocations in the process's next profile are counted from here. */
static void set_mark(struct profile_store *k, struct continuous *c, struct proc_id proc)
{
	struct heap_mark *m = continuous_mark(c, &(struct heap_choice){ .proc = proc });
	drop_mark(k, proc.n);
	uint64_t *place = m ? map_put(&k->marks, proc.n) : NULL;
	if (place)
		*place = (uintptr_t)m;
	else
		heap_mark_free(m);
}

struct old_file {
	char name[NAME_MAX + 1];
	time_t time;
	uint64_t size;
};

struct old_files {
	struct old_file *at;
	size_t at_cnt, at_cap;
	uint64_t size;
};

static int youngest_first(const void *a, const void *b)
{
	const struct old_file *x = a, *y = b;
	return x->time != y->time ? (x->time > y->time ? -1 : 1) : strcmp(y->name, x->name);
}

/* Other files in the directory must not be removed. */
static bool is_ours(const struct profile_store *k, const char *name)
{
	return k->o.traces ? !fnmatch(TRACES, name, 0)
			   : !fnmatch(PROFILES, name, FNM_PERIOD) || !fnmatch(UNFINISHED, name, FNM_PERIOD);
}

static void list_files(const struct profile_store *k, DIR *dir, struct old_files *out)
{
	const struct dirent *e;
	while ((e = readdir(dir))) {
		struct stat st;
		if (!is_ours(k, e->d_name) || fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		struct old_file *f = VEC_PUSH(out, at);
		if (!f)
			return;
		strcpy(f->name, e->d_name);
		f->time = st.st_mtime;
		f->size = (uint64_t)st.st_size;
	}
}

/* Files left by earlier daemons count, too. */
static void count_files(struct profile_store *k)
{
	struct old_files files = { 0 };
	DIR *dir = opendir(k->place);
	if (!dir)
		return;
	list_files(k, dir, &files);
	for (size_t i = 0; i < files.at_cnt; i++)
		k->counts.stored += files.at[i].size;
	k->counts.files = files.at_cnt;
	closedir(dir);
	free(files.at);
}

int profile_store_begin(struct profile_store *k, struct continuous *c, struct err *err)
{
	count_files(k);
	return k->o.traces ? turn(k, c, err) : 0;
}

static void remove_old(struct profile_store *k)
{
	struct old_files files = { 0 };
	uint64_t size = 0;
	DIR *dir = opendir(k->place);
	k->grown = false;
	k->fresh = 0;
	if (!dir)
		return;
	list_files(k, dir, &files);
	k->counts.files = k->counts.stored = 0;
	if (files.at_cnt)
		qsort(files.at, files.at_cnt, sizeof(files.at[0]), youngest_first);
	time_t now = time(NULL);
	for (size_t i = 0; i < files.at_cnt; i++) {
		const struct old_file *f = &files.at[i];
		size += f->size;
		bool over = (k->o.keep && i >= k->o.keep) || (k->o.keep_size && size > k->o.keep_size) ||
			    (k->o.keep_age > 0 && (double)(now - f->time) > k->o.keep_age);
		if (over && strcmp(f->name, k->current) && !unlinkat(dirfd(dir), f->name, 0)) {
			k->counts.removed++;
		} else if (strcmp(f->name, k->current)) {
			k->counts.files++;
			k->counts.stored += f->size;
		}
	}
	closedir(dir);
	free(files.at);
}

/* An empty trace is not ended: the next interval continues it. */
static void turn_used(struct profile_store *k, struct continuous *c)
{
	struct err err = { 0 };
	uint64_t bytes;
	if (continuous_recorded(c, &bytes) && turn(k, c, &err))
		fail(k, &err);
}

static void ask_for_all(struct profile_store *k, struct continuous *c)
{
	struct asking a = { .store = k, .c = c };
	continuous_each(c, true, gather, &a);
	for (size_t i = 0; i < a.list_cnt; i++) {
		ask(k, c, &a.list[i], NULL);
		set_mark(k, c, a.list[i].proc);
	}
	free(a.list);
}

void profile_store_write_all(struct profile_store *k, struct continuous *c)
{
	/* If processes exit all the time, `waiting` may never reach 0. */
	if (k->grown)
		remove_old(k);
	if (k->o.traces)
		turn_used(k, c);
	else
		ask_for_all(k, c);
	k->grown = true;
}

void profile_store_end(struct profile_store *k, struct continuous *c)
{
	struct err err = { 0 };
	if (!k->o.traces)
		ask_for_all(k, c);
	else if (continuous_record(c, -1, NULL, &err))
		fail(k, &err);
	continuous_flush(c);
	k->current[0] = 0;
	remove_old(k);
}

static bool is_large(const struct profile_store *k, const struct continuous *c)
{
	uint64_t bytes;
	return k->o.traces && k->o.keep_size && !k->failing && continuous_recorded(c, &bytes) &&
	       bytes > k->o.keep_size / FILES_MIN;
}

int profile_store_work(struct profile_store *k, struct continuous *c)
{
	uint64_t now = now_ns(), every = (uint64_t)(k->o.every * 1e9);
	if (now >= k->next_ns || is_large(k, c)) {
		profile_store_write_all(k, c);
		while (k->next_ns <= now)
			k->next_ns += every;
	}
	if ((k->grown && !k->waiting) || k->fresh >= FRESH_MAX)
		remove_old(k);
	return (int)((k->next_ns - now) / 1000000) + 1;
}

void profile_store_on_ending(struct profile_store *k, struct continuous *c, const struct continuous_process *p, enum ending why)
{
	if (k->o.traces)
		return;
	bool lived = p->start_ns && now_ns() - p->start_ns >= SHORT_NS;
	bool asked = p->events && (lived || (why != ENDING_EXIT && why != ENDING_EXEC));
	if (asked)
		ask(k, c, p, ending_name(why));
	k->counts.too_short += p->events && !asked;
	drop_mark(k, p->proc.n);
}
