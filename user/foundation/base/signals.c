/* SPDX-License-Identifier: Apache-2.0 */
/* base/signals: see signals.h. */
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* State before signals_open. */
static struct {
	bool taken;
	sigset_t mask, ends;
	struct sigaction file_size, pipe;
} before;

/* Reaching the file size limit or writing to a closed pipe should be errors of write(), not end the process. */
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

static void choose_ends(bool hangup)
{
	struct sigaction now;
	sigemptyset(&before.ends);
	sigaddset(&before.ends, SIGINT);
	sigaddset(&before.ends, SIGTERM);
	if (hangup || sigaction(SIGHUP, NULL, &now) || now.sa_handler != SIG_IGN)
		sigaddset(&before.ends, SIGHUP);
}

int signals_open(bool hangup, struct err *err)
{
	choose_ends(hangup);
	sigprocmask(SIG_BLOCK, &before.ends, &before.mask);
	ignore(SIGXFSZ, &before.file_size);
	ignore(SIGPIPE, &before.pipe);
	before.taken = true;
	int fd = signalfd(-1, &before.ends, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : err_set(err, errno, "signalfd: %s", strerror(errno));
}

void signals_close(int fd)
{
	struct signalfd_siginfo info;
	while (read(fd, &info, sizeof(info)) > 0)
		;
	close(fd);
	sigprocmask(SIG_UNBLOCK, &before.ends, NULL);
}

int signals_thread(pthread_t *out, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &all);
	pthread_attr_setdetachstate(&attr, out ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
	int rc = pthread_create(out ?: &thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return rc;
}
