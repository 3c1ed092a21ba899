/* session/command: see command.h. */
#include "session/command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Only a failure comes back through the pipe: success closes it. */
static void run_child(char **argv, int failure)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execvp(argv[0], argv);
	int code = errno;
	ssize_t put = write(failure, &code, sizeof(code));
	_exit(put == sizeof(code) ? 127 : 126);
}

int command_spawn(struct command *c, char **argv, struct err *err)
{
	int status, failure[2], code = 0;
	fflush(NULL);
	if (pipe2(failure, O_CLOEXEC))
		return err_set(err, errno, "cannot start %s: %s", argv[0], strerror(errno));
	c->pid = fork();
	if (c->pid == 0)
		run_child(argv, failure[1]);
	int forked = c->pid < 0 ? errno : 0;
	close(failure[1]);
	if (!forked && (waitpid(c->pid, &status, 0) < 0 || !WIFSTOPPED(status))) {
		c->pid = 0;
		code = read(failure[0], &code, sizeof(code)) == sizeof(code) ? code : EIO;
	}
	close(failure[0]);
	if (forked || code)
		return err_set(err, ENOENT, "cannot start %s: %s; check its name and that it is executable",
			       argv[0], strerror(forked ? forked : code));
	ptrace(PTRACE_SETOPTIONS, c->pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	return 0;
}

/* Where the dynamic linker's own code lies; false for a static program. */
static bool linker_range(int pid, uint64_t *lo, uint64_t *hi)
{
	char path[64];
	uint64_t pair[2], base = 0;
	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	FILE *f = fopen(path, "re");
	while (f && fread(pair, sizeof(pair), 1, f) == 1) {
		if (pair[0] == AT_BASE)
			base = pair[1];
	}
	if (f)
		fclose(f);
	if (!base)
		return false;
	/* The linker is mapped in one piece from its base on: its lines follow each other. */
	uint64_t start, end;
	char line[512];
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	*lo = *hi = base;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && start == *hi)
			*hi = end;
	}
	if (f)
		fclose(f);
	return *hi > *lo;
}

/* Waits for the next stop; true when it is one of a system call, with its registers. */
static bool next_syscall(int pid, struct user_regs_struct *regs)
{
	int status, sig = 0;
	do {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)sig) || waitpid(pid, &status, 0) < 0 ||
		    !WIFSTOPPED(status))
			return false;
		sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	} while (WSTOPSIG(status) != (SIGTRAP | 0x80));
	return ptrace(PTRACE_GETREGS, pid, NULL, regs) == 0;
}

int command_release(struct command *c, void (*mapped)(void *ctx), void *ctx, struct err *err)
{
	uint64_t lo, hi;
	struct user_regs_struct regs;
	mapped(ctx);
	if (linker_range(c->pid, &lo, &hi)) {
		/* Entry and exit of a call stop alike; the maps have changed after the exit of mmap. */
		while (next_syscall(c->pid, &regs) && regs.rip >= lo && regs.rip < hi) {
			if (regs.orig_rax == SYS_mmap && (regs.rdx & 4 /* PROT_EXEC */))
				mapped(ctx);
		}
	}
	if (ptrace(PTRACE_DETACH, c->pid, NULL, NULL) && errno != ESRCH)
		return err_set(err, errno, "cannot let the program run: %s", strerror(errno));
	return 0;
}

int command_status(struct command *c)
{
	int status;
	if (!c->pid || waitpid(c->pid, &status, WNOHANG) != c->pid)
		return -1;
	c->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void command_kill(struct command *c)
{
	if (c->pid) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
		c->pid = 0;
	}
}
