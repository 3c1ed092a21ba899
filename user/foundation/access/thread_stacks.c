/* SPDX-License-Identifier: Apache-2.0 */
/* access/thread_stacks: see thread_stacks.h. */
#include "access/thread_stacks.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "machine/registers.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"

#define GUARD_NS (THREAD_STACKS_STOP_NS + 200000000ull)
#define LOOKS 5
#define START_STACK 28 /* field in /proc/PID/stat, proc(5) */

static struct thread_stacks {
	struct rights_thread *list;
	size_t list_cnt, list_cap;
	bool frozen;
	uint64_t since_ns;
	timer_t guard;
} all;

static const struct rights_thread *thread_of(uint32_t tid)
{
	for (size_t i = 0; i < all.list_cnt; i++) {
		if (all.list[i].tid == tid)
			return &all.list[i];
	}
	return NULL;
}

/* Passes threads to take; returns the number of new ones, or -errno. */
static int list_threads(uint32_t tgid, int (*take)(uint32_t tgid, uint32_t tid))
{
	char path[64];
	int rc = 0, added = 0;
	snprintf(path, sizeof(path), "/proc/%u/task", tgid);
	DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	for (struct dirent *e; rc >= 0 && (e = readdir(dir));) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
		if (!tid || thread_of(tid))
			continue;
		rc = take(tgid, tid);
		added += rc > 0;
	}
	closedir(dir);
	return rc < 0 ? rc : added;
}

/* The line from field 3 on, behind the name, which may contain anything; "": there is no such thread. */
static const char *stat_of(uint32_t tid, char line[1024])
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(line, 1, 1023, f) : 0;
	if (f)
		fclose(f);
	line[n] = 0;
	const char *close = strrchr(line, ')');
	return close && close[1] == ' ' ? close + 2 : "";
}

static bool has_ended(uint32_t tid)
{
	char line[1024];
	return strchr("ZX", *stat_of(tid, line)); /* also true for an empty line */
}

uint64_t thread_stacks_main_end(uint32_t tgid)
{
	char line[1024];
	const char *at = stat_of(tgid, line);
	for (int field = 3; *at && field < START_STACK; field++)
		at = strchr(at, ' ') ? strchr(at, ' ') + 1 : "";
	return strtoull(at, NULL, 10);
}

static int add_thread(uint32_t tgid, uint32_t tid)
{
	struct rights_thread *to = VEC_PUSH(&all, list);
	if (!to)
		return -ENOMEM;
	to->tid = tid;
	to->bottom = tid == tgid ? thread_stacks_main_end(tgid) : 0;
	return 1;
}

/* A main thread that exited before the others has no stack. */
static int add_if_there(uint32_t tgid, uint32_t tid)
{
	return has_ended(tid) ? 0 : add_thread(tgid, tid);
}

/* "0 0x1 ... 0x7ffd1000 0x7f12": call number, six arguments, stack pointer, instruction pointer; or "running". */
static uint64_t sp_of(uint32_t tgid, uint32_t tid)
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

/* A running thread is often blocked a moment later, so it is tried several times. */
static int look(uint32_t tgid)
{
	all.list_cnt = 0;
	int rc = list_threads(tgid, add_if_there);
	for (int look = 0, unknown = 1; rc >= 0 && unknown && look < LOOKS; look++) {
		unknown = 0;
		for (size_t i = 0; i < all.list_cnt; i++) {
			struct rights_thread *at = &all.list[i];
			if (!at->sp)
				at->sp = sp_of(tgid, at->tid);
			unknown += !at->sp;
		}
		if (unknown && look + 1 < LOOKS)
			usleep(1000);
	}
	return rc < 0 ? rc : (int)all.list_cnt;
}

/* A timer that kills us: the kernel then resumes all threads, even if this process is stopped itself. */
static int arm(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec at = { .it_value = { (time_t)(GUARD_NS / 1000000000ull), (long)(GUARD_NS % 1000000000ull) } };
	return timer_create(CLOCK_MONOTONIC, &ev, &all.guard) || timer_settime(all.guard, 0, &at, NULL) ? -errno : 0;
}

static int seize(uint32_t tgid, uint32_t tid)
{
	/* No options, above all not PTRACE_O_EXITKILL. */
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return errno == ESRCH || has_ended(tid) ? 0 : -errno; /* a main thread may have exited long before the others */
	int rc = add_thread(tgid, tid);
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && errno != ESRCH)
		return -errno;
	return rc;
}

static bool wait_stopped(uint32_t tid, uint64_t deadline_ns)
{
	int status;
	for (;;) {
		pid_t got = waitpid((pid_t)tid, &status, __WALL | WNOHANG);
		if (got == (pid_t)tid)
			return WIFSTOPPED(status);
		if (got < 0 && errno != EINTR)
			return false;
		if (now_ns() > deadline_ns)
			return false;
		usleep(100);
	}
}

static void read_registers(struct rights_thread *t)
{
	struct registers r;
	if (registers_read(t->tid, &r))
		return;
	t->sp = r.sp;
	t->registers_cnt = r.data_cnt;
	memcpy(t->registers, r.data, r.data_cnt * sizeof(*r.data));
}

static int freeze_all(uint32_t tgid)
{
	size_t waited = 0;
	int added;
	/* Threads that are not stopped yet may create new ones: repeat until none are added. */
	while ((added = list_threads(tgid, seize)) > 0) {
		for (; waited < all.list_cnt; waited++) {
			if (wait_stopped(all.list[waited].tid, all.since_ns + THREAD_STACKS_STOP_NS / 2))
				read_registers(&all.list[waited]);
			else if (now_ns() > all.since_ns + THREAD_STACKS_STOP_NS / 2)
				return -ETIMEDOUT;
		}
	}
	return added < 0 ? added : all.list_cnt ? (int)all.list_cnt : -ESRCH;
}

static int begin(uint32_t tgid)
{
	thread_stacks_resume();
	int rc = arm();
	if (rc)
		return rc;
	all.list_cnt = 0;
	all.frozen = true;
	all.since_ns = now_ns();
	rc = freeze_all(tgid);
	if (rc < 0)
		thread_stacks_resume();
	return rc;
}

/*
 * A thread deep in the kernel stops only when it returns, and cannot be detached before. It would then stay stopped,
 * unless this process exits: then the kernel detaches all threads.
 */
static void detach_or_exit(uint32_t tid)
{
	if (wait_stopped(tid, all.since_ns + THREAD_STACKS_STOP_NS) && !ptrace(PTRACE_DETACH, tid, NULL, 0))
		return;
	if (has_ended(tid))
		return;
	log_err("thread %u did not stop in time: exiting, so that the process is resumed; try without --freeze", tid);
	_exit(1);
}

int thread_stacks_resume(void)
{
	if (!all.frozen)
		return 0;
	for (size_t i = 0; i < all.list_cnt; i++) {
		siginfo_t info;
		uint32_t tid = all.list[i].tid;
		/* A thread stopped by a signal must receive it when it is resumed. */
		long signal =
			ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) || info.si_code >> 8 == PTRACE_EVENT_STOP ? 0 : info.si_signo;
		if (ptrace(PTRACE_DETACH, tid, NULL, signal) && !has_ended(tid))
			detach_or_exit(tid);
	}
	uint64_t took = now_ns() - all.since_ns;
	timer_delete(all.guard);
	all.frozen = false;
	return (int)(took / 1000);
}

int thread_stacks_left_ms(void)
{
	uint64_t took = all.frozen ? now_ns() - all.since_ns : 0;
	return !all.frozen ? -1 : took < THREAD_STACKS_STOP_NS ? (int)((THREAD_STACKS_STOP_NS - took) / 1000000) : 0;
}

static int list(uint32_t from, struct rights_thread *out, size_t cap)
{
	size_t left = from < all.list_cnt ? all.list_cnt - from : 0, n = left < cap ? left : cap;
	if (n)
		memcpy(out, all.list + from, n * sizeof(*out));
	return (int)n;
}

int thread_stacks_do(uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap)
{
	switch (how) {
	case THREADS_LOOK: return look(tgid);
	case THREADS_FREEZE: return begin(tgid);
	case THREADS_LIST: return list(from, out, cap);
	default: return thread_stacks_resume();
	}
}
