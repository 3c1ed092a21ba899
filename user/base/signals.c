/* base/signals: see signals.h. */
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t ends(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

/* As signals_open found them. */
static struct {
	bool taken;
	sigset_t mask;
	struct sigaction file_size, pipe;
} before;

/* A file size limit and a reader that went away are errors of write(), not ends. */
static void ignore(int signum, struct sigaction *was)
{
	struct sigaction none = { .sa_handler = SIG_IGN };
	sigaction(signum, &none, was);
}

void signals_give_back(void)
{
	if (!before.taken)
		return;
	sigaction(SIGXFSZ, &before.file_size, NULL);
	sigaction(SIGPIPE, &before.pipe, NULL);
	sigprocmask(SIG_SETMASK, &before.mask, NULL);
}

int signals_open(struct err *err)
{
	sigset_t set = ends();
	sigprocmask(SIG_BLOCK, &set, &before.mask);
	ignore(SIGXFSZ, &before.file_size);
	ignore(SIGPIPE, &before.pipe);
	before.taken = true;
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : err_set(err, errno, "signalfd: %s", strerror(errno));
}

void signals_close(int fd)
{
	struct signalfd_siginfo info;
	sigset_t set = ends();
	while (read(fd, &info, sizeof(info)) > 0)
		;
	close(fd);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
