/* heapview/threads: see threads.h. */
#include "heapview/threads.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"

#define GUARD_NS (FREEZE_MAX_NS + 200000000ull)
#define LOOKS 5
#define MARGIN_NS 200000000ull /* for thawing itself */

static struct root_thread *thread_of(const struct threads *t, uint32_t tid)
{
	for (size_t i = 0; i < t->list_cnt; i++) {
		if (t->list[i].tid == tid)
			return &t->list[i];
	}
	return NULL;
}

/* New ones only; their number, or -errno. */
static int list_threads(struct threads *t, uint32_t tgid, int (*take)(struct threads *t, uint32_t tid))
{
	char path[64];
	int rc = 0, added = 0;
	snprintf(path, sizeof(path), "/proc/%u/task", tgid);
	DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	for (struct dirent *e; rc >= 0 && (e = readdir(dir));) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
		if (!tid || thread_of(t, tid))
			continue;
		rc = take(t, tid);
		added += rc > 0;
	}
	closedir(dir);
	return rc < 0 ? rc : added;
}

static int add_thread(struct threads *t, uint32_t tid)
{
	struct root_thread *to = VEC_PUSH(t, list);
	if (!to)
		return -ENOMEM;
	to->tid = tid;
	return 1;
}

static bool has_ended(uint32_t tid)
{
	char path[64], line[512] = "";
	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	FILE *f = fopen(path, "re");
	if (!f)
		return true;
	size_t n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = 0;
	const char *state = strrchr(line, ')');
	return !state || strchr("ZX", state[2]);
}

/* A first thread that exited before the others has no stack any more. */
static int add_if_there(struct threads *t, uint32_t tid)
{
	return has_ended(tid) ? 0 : add_thread(t, tid);
}

/* "0 0x1 ... 0x7ffd1000 0x7f12": number, six arguments, stack pointer, instruction; or "running". */
static uint64_t look_at(uint32_t tgid, uint32_t tid)
{
	char path[64], line[256] = "";
	uint64_t sp = 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", tgid, tid);
	FILE *f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f)) {
		char *last = strrchr(line, ' ');
		if (last) {
			*last = 0;
			last = strrchr(line, ' ');
		}
		sp = last ? strtoull(last + 1, NULL, 16) : 0;
	}
	if (f)
		fclose(f);
	return sp;
}

static int no_threads(uint32_t tgid, int rc, struct err *err)
{
	if (rc == -ESRCH)
		return err_set(err, ESRCH, "process %u has ended", tgid);
	return err_set(err, -rc, "cannot list the threads of process %u: %s", tgid, strerror(-rc));
}

int threads_look(struct threads *t, uint32_t tgid, struct err *err)
{
	int rc = list_threads(t, tgid, add_if_there);
	if (rc < 0)
		return no_threads(tgid, rc, err);
	/* Who is on a processor now is often waiting a moment later. */
	for (int look = 0, unknown = 1; unknown && look < LOOKS; look++) {
		unknown = 0;
		for (size_t i = 0; i < t->list_cnt; i++) {
			struct root_thread *at = &t->list[i];
			if (!at->sp)
				at->sp = look_at(tgid, at->tid);
			unknown += !at->sp;
		}
		if (unknown && look + 1 < LOOKS)
			usleep(1000);
	}
	return 0;
}

/* Killed, we let go of everything: even when we ourselves are stopped. */
static int arm(struct threads *t, struct err *err)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec at = { .it_value = { (time_t)(GUARD_NS / 1000000000ull), (long)(GUARD_NS % 1000000000ull) } };
	if (timer_create(CLOCK_MONOTONIC, &ev, &t->guard))
		return err_set(err, errno, "cannot make the timer that guards a freeze: %s", strerror(errno));
	timer_settime(t->guard, 0, &at, NULL);
	return 0;
}

static int seize(struct threads *t, uint32_t tid)
{
	/* No options: above all not EXITKILL. */
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return errno == ESRCH || has_ended(tid) ? 0 : -errno; /* a first thread may be gone long before the others */
	int rc = add_thread(t, tid);
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && errno != ESRCH)
		return -errno;
	return rc;
}

static bool wait_stopped(struct root_thread *t, uint64_t deadline_ns)
{
	int status;
	for (;;) {
		pid_t got = waitpid((pid_t)t->tid, &status, __WALL | WNOHANG);
		if (got == (pid_t)t->tid)
			return WIFSTOPPED(status);
		if (got < 0 && errno != EINTR)
			return false;
		if (now_ns() > deadline_ns)
			return false;
		usleep(100);
	}
}

static void read_registers(struct root_thread *t)
{
	struct user_regs_struct r;
	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &r))
		return;
	const uint64_t values[] = { r.r15, r.r14, r.r13, r.r12, r.rbp, r.rbx, r.r11, r.r10,
				    r.r9,  r.r8,  r.rax, r.rcx, r.rdx, r.rsi, r.rdi };
	t->sp = r.rsp;
	t->registers_cnt = sizeof(values) / sizeof(*values);
	memcpy(t->registers, values, sizeof(values));
}

static int freeze_all(struct threads *t, uint32_t tgid)
{
	size_t waited = 0;
	int added;
	/* Threads that are not stopped yet may make new ones: until a look finds no more. */
	while ((added = list_threads(t, tgid, seize)) > 0) {
		for (; waited < t->list_cnt; waited++) {
			if (wait_stopped(&t->list[waited], t->since_ns + FREEZE_MAX_NS / 2))
				read_registers(&t->list[waited]);
			else if (now_ns() > t->since_ns + FREEZE_MAX_NS / 2)
				return -ETIMEDOUT;
		}
	}
	return added < 0 ? added : t->list_cnt ? 0 : -ESRCH;
}

int threads_freeze(struct threads *t, uint32_t tgid, struct err *err)
{
	int rc = arm(t, err);
	if (rc)
		return rc;
	t->frozen = true;
	t->since_ns = now_ns();
	rc = freeze_all(t, tgid);
	if (!rc)
		return 0;
	threads_thaw(t);
	if (rc == -EPERM)
		return err_set(err, EPERM, "cannot freeze process %u: a debugger holds it, or this is not root; end the debugger or go without --freeze",
			       tgid);
	if (rc == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT, "cannot freeze process %u: a thread did not stop within a second; it goes on; go without --freeze",
			       tgid);
	return no_threads(tgid, rc, err);
}

uint64_t threads_deadline(const struct threads *t)
{
	return t->frozen ? t->since_ns + FREEZE_MAX_NS - MARGIN_NS : 0;
}

/*
 * A thread that is deep in the kernel stops only when it comes out, and cannot be let go before. It
 * would stop then with nobody there: unless this process ends, for then the kernel lets go of all.
 */
static void let_go(struct threads *t, uint32_t tid)
{
	struct root_thread at = { .tid = tid };
	if (wait_stopped(&at, t->since_ns + FREEZE_MAX_NS) && !ptrace(PTRACE_DETACH, tid, NULL, 0))
		return;
	if (has_ended(tid))
		return;
	log_err("thread %u did not stop in time: ending now, so that nothing stays frozen; go without --freeze", tid);
	_exit(1);
}

uint64_t threads_thaw(struct threads *t)
{
	if (!t->frozen)
		return 0;
	for (size_t i = 0; i < t->list_cnt; i++) {
		siginfo_t info;
		uint32_t tid = t->list[i].tid;
		/* Stopped for a signal, it has one that it must not lose. */
		long signal = ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) || info.si_code >> 8 == PTRACE_EVENT_STOP ?
				      0 : info.si_signo;
		if (ptrace(PTRACE_DETACH, tid, NULL, signal) && !has_ended(tid))
			let_go(t, tid);
	}
	uint64_t took = now_ns() - t->since_ns;
	timer_delete(t->guard);
	t->frozen = false;
	return took;
}

static bool is_named_marker(uint32_t tgid, uint32_t tid)
{
	char path[64], name[32] = "";
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", tgid, tid);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	bool got = fgets(name, sizeof(name), f) != NULL;
	fclose(f);
	return got && !strncmp(name, "GC-marker-", 10);
}

/* A thread's control block lies above its stack, in the same mapping, and begins with its own address. */
static bool is_block_of(struct memory *m, uint64_t word, uint64_t sp, const struct space_region *stack)
{
	uint64_t self;
	return word > sp && word < stack->end && !(word & 7) && !memory_read(m, word, &self, sizeof(self)) && self == word;
}

/* Of its own threads the collector keeps handles among its variables; of the program's, in records on the heap. */
static bool is_kept(struct memory *m, const struct own_places *own, uint64_t sp, const struct space_region *stack)
{
	bool kept = false;
	for (size_t i = 0; i < own->variables_cnt && !kept; i++) {
		struct rights_range at = { own->variables[i].start, own->variables[i].end - own->variables[i].start };
		uint64_t *words = malloc(at.n + 8);
		/* What cannot be read is zero. */
		if (words && !memory_read_ranges(m, &at, 1, words, &(size_t){ 0 })) {
			for (size_t k = 0; k < at.n / 8 && !kept; k++)
				kept = is_block_of(m, words[k], sp, stack);
		}
		free(words);
	}
	return kept;
}

void threads_tell_markers(struct threads *t, struct memory *m, const struct space *space, const struct own_places *own)
{
	for (size_t i = 0; i < t->list_cnt; i++) {
		struct root_thread *at = &t->list[i];
		const struct space_region *stack = at->sp ? space_find(space, at->sp) : NULL;
		at->marker = is_named_marker(m->tgid, at->tid) && (!stack || is_kept(m, own, at->sp, stack));
	}
}

void threads_free(struct threads *t)
{
	threads_thaw(t);
	free(t->list);
	*t = (struct threads){ 0 };
}
