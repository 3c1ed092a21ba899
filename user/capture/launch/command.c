/* SPDX-License-Identifier: Apache-2.0 */
/* launch/command: see command.h. */
#include "launch/command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine/registers.h"
#include "base/descriptors.h"
#include "base/signals.h"
#include "target/module.h"
#include "target/proc.h"

/* Waits until it is traced. Only a failure is sent through the socket: a successful exec closes it. */
static void run_child(const struct command *c, char **argv, int word)
{
	char go;
	if (c->stdout_taken)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	signals_give_back();
	descriptors_give_back();
	if (read(word, &go, 1) != 1)
		_exit(126);
	execvp(argv[0], argv);
	int code = errno;
	ssize_t put = write(word, &code, sizeof(code));
	_exit(put == sizeof(code) ? 127 : 126);
}

/* Seized, not attached: if we die, the process continues from any stop. 0, or an error number. */
static int begin(int pid, int word)
{
	int status, code = 0;
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC))
		return errno;
	if (write(word, "", 1) != 1 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return read(word, &code, sizeof(code)) == sizeof(code) ? code : EIO;
	return 0;
}

int command_spawn(struct command *c, char **argv, struct err *err)
{
	int words[2];
	fflush(NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, words))
		return err_set(err, errno, "cannot start %s: %s", argv[0], strerror(errno));
	c->pid = fork();
	if (c->pid == 0) {
		close(words[0]);
		run_child(c, argv, words[1]);
	}
	close(words[1]);
	int code = c->pid < 0 ? errno : begin(c->pid, words[0]);
	close(words[0]);
	if (code) {
		c->pid = 0;
		return err_set(err, ENOENT, "cannot start %s: %s; check its name and that it is executable", argv[0],
			       strerror(code));
	}
	c->name = argv[0];
	return 0;
}

/* The dynamic linker of a process. */
struct linker {
	const struct command_ops *ops;
	uint32_t tgid;
	uint64_t base, lo, hi; /* range of its own code */
	bool apart;            /* not the C library, too; musl is both in one file, and all system calls come from there */
};

static bool is_c_library(const struct linker *l, const struct map_line *line)
{
	int fd = module_open(l->tgid, line);
	bool yes = fd >= 0 && l->ops->is_c_library(l->ops->ctx, fd, line->path);
	if (fd >= 0)
		close(fd);
	return yes;
}

/* The linker is mapped in one piece from its base on, so its lines follow one another. */
static int take_line(void *ctx, const struct map_line *line)
{
	struct linker *l = ctx;
	if (line->start != l->hi)
		return 0;
	if (line->start == l->base)
		l->apart = !is_c_library(l, line);
	l->hi = line->end;
	return 0;
}

/* False for a static program, or if the linker's end cannot be distinguished from the program's start. */
static bool find_linker(struct linker *l)
{
	char path[64];
	uint64_t pair[2];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/auxv", l->tgid);
	FILE *f = fopen(path, "re");
	while (f && fread(pair, sizeof(pair), 1, f) == 1) {
		if (pair[0] == AT_BASE)
			l->base = pair[1];
	}
	if (f)
		fclose(f);
	l->lo = l->hi = l->base;
	return l->base && !proc_each_map(l->tgid, take_line, l, NULL) && l->hi > l->lo && l->apart;
}

static void note_end(struct command *c, int status)
{
	c->pid = 0;
	c->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Waits for the next stop; true when it is one of a system call, with its registers. */
static bool next_syscall(struct command *c, struct registers *regs)
{
	int status, sig = 0;
	do {
		if (ptrace(PTRACE_SYSCALL, c->pid, NULL, (void *)(long)sig) || waitpid(c->pid, &status, 0) < 0)
			return false;
		if (!WIFSTOPPED(status)) {
			note_end(c, status);
			return false;
		}
		/* A job-control stop by somebody else: it must stay stopped. */
		if (status >> 16 == PTRACE_EVENT_STOP || registers_read((uint32_t)c->pid, regs))
			return false;
		sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	} while (WSTOPSIG(status) != (SIGTRAP | 0x80));
	return true;
}

int command_release(struct command *c, const struct command_ops *ops, struct err *err)
{
	struct linker l = { .ops = ops, .tgid = (uint32_t)c->pid };
	struct registers regs;
	ops->mapped(ops->ctx);
	if (find_linker(&l)) {
		/* Entry and exit of a system call both stop; at the exit of mmap the maps have changed. */
		while (next_syscall(c, &regs) && regs.ip >= l.lo && regs.ip < l.hi) {
			if (regs.call == SYS_mmap && (regs.args[2] & PROT_EXEC))
				ops->mapped(ops->ctx);
		}
	}
	if (!c->pid)
		return err_set(
			err, ENOENT,
			"%s exited with status %d while its libraries were being loaded: run it without alys-bpf to see why",
			c->name, c->status);
	if (ptrace(PTRACE_DETACH, c->pid, NULL, NULL) && errno != ESRCH)
		return err_set(err, errno, "cannot let the program run: %s", strerror(errno));
	return 0;
}

int command_status(struct command *c)
{
	int status;
	if (c->pid && waitpid(c->pid, &status, WNOHANG) == c->pid)
		note_end(c, status);
	return c->pid || !c->name ? -1 : c->status;
}

void command_await(const struct command *c, int signals)
{
	int ended = c->pid ? (int)syscall(SYS_pidfd_open, c->pid, 0) : -1;
	struct pollfd fds[] = { { .fd = ended, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	while (ended >= 0 && poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (ended >= 0)
		close(ended);
}

void command_kill(struct command *c)
{
	if (c->pid) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
		c->pid = 0;
	}
}
