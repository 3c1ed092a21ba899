/* base/signals: see signals.h. */
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
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

int signals_open(struct err *err)
{
	sigset_t set = ends();
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* A file size limit and a reader that went away are errors of write(), not ends. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
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
