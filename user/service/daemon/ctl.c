/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/ctl: see ctl.h. */
#include "daemon/ctl.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "access/handover.h"
#include "access/outfile.h"
#include "base/exit_status.h"
#include "daemon/daemon.h"
#include "daemon/protocol.h"
#include "daemon/server.h"
#include "format/sink.h"
#include "sink/registry.h"

static int call(const char *path, struct err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(err, ENAMETOOLONG, "--socket %s is too long for a socket's path", path);
	strcpy(a.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !connect(fd, (const struct sockaddr *)&a, sizeof(a)))
		return fd;
	int code = errno;
	if (fd >= 0)
		close(fd);
	if (code == ENOENT || code == ECONNREFUSED)
		return err_set(err, code, "no daemon answers at %s: start one with `alys-bpf daemon`, or name its --socket",
			       path);
	return err_set(err, code, "%s: %s", path, strerror(code));
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* A pidfd of the listening process, which is the daemon's last one to exit; -1 = unknown. */
static int process_behind(int fd)
{
	struct ucred peer;
	int pidfd = -1;
	socklen_t size = sizeof(pidfd);
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size))
		return pidfd;
	size = sizeof(peer);
	/* The pid is 0 if the daemon is in a PID namespace that is not visible from here. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0)
		return -1;
	return (int)syscall(SYS_pidfd_open, peer.pid, 0);
}

/* Waits for the daemon's exit, so that another can be started at once. */
static int await_end(int fd, double patience, struct err *err)
{
	int process = process_behind(fd);
	struct pollfd p = { .fd = process >= 0 ? process : fd, .events = POLLIN };
	int ready = poll(&p, 1, (int)(patience * 1000));
	if (process >= 0)
		close(process);
	return ready > 0 ? 0 : err_set(err, ETIMEDOUT, "the daemon was told to stop, but still runs after %.0f s", patience);
}

/* Bounds the memory that a daemon's answer can make us use. */
#define FETCH_MAX (64u << 20)

struct reply {
	char bytes[PROTOCOL_MAX];
	size_t n;
	int fd; /* passed along with it, -1 = none */
};

static int receive(int fd, double patience, struct reply *out, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	out->fd = -1;
	if (poll(&p, 1, (int)(patience * 1000)) <= 0)
		return err_set(err, ETIMEDOUT, "the daemon did not answer within %.0f s", patience);
	ssize_t n = handover_receive(fd, out->bytes, sizeof(out->bytes), &out->fd);
	if (n <= 0)
		return err_set(err, ECONNRESET, "the daemon closed the connection: it is stopping, or has %d clients already",
			       SERVER_CLIENTS);
	out->n = (size_t)n;
	return 0;
}

static int copy(int from, int to)
{
	char piece[65536];
	ssize_t n;
	int rc = 0;
	lseek(from, 0, SEEK_SET);
	while (!rc && (n = read(from, piece, sizeof(piece))) > 0)
		rc = outfile_write(to, piece, (size_t)n);
	return rc;
}

/* Writes a profile to the requested file, else to stdout unless that is a terminal, else to the working directory. */
static int save(const struct ctl_options *o, const struct request *r, int fd, struct err *err)
{
	char name[4096];
	const struct sink_ops *sink = sink_find(r->format[0] ? r->format : "pprof");
	struct outfile out;
	if (o->output || !isatty(STDOUT_FILENO))
		snprintf(name, sizeof(name), "%s", o->output ?: "-");
	else if (r->pid)
		snprintf(name, sizeof(name), "%u%s", r->pid, sink ? sink->ext : "");
	else
		snprintf(name, sizeof(name), "all%s", sink ? sink->ext : "");
	int rc = sink && sink->binary ? outfile_refuse_terminal(name, "a profile", err) : 0;
	if (!rc)
		rc = outfile_begin(&out, name, o->force, err);
	if (rc)
		return rc;
	rc = copy(fd, out.fd);
	rc = rc ? outfile_failed(name, -rc, err) : outfile_commit(&out, err);
	outfile_abort(&out);
	if (!rc && !outfile_is_stdout(name))
		fprintf(stderr, "alys-bpf: %s\n", name);
	return rc;
}

static int ask(int fd, const struct request *r, double patience, struct reply *reply, struct err *err)
{
	struct buf out = { 0 };
	request_write(r, &out);
	int rc = out.failed || send(fd, out.data, out.len, MSG_NOSIGNAL) < 0
			 ? err_set(err, errno, "the daemon does not listen: %s", strerror(errno))
			 : 0;
	buf_free(&out);
	return rc ? rc : receive(fd, patience, reply, err);
}

static int print(const char *text, struct err *err)
{
	return outfile_print(text, strlen(text), err);
}

static int converse(const struct ctl_options *o, const struct request *r, int fd, struct err *err)
{
	struct reply reply;
	const char *text = "";
	if (ask(fd, r, o->patience, &reply, err))
		return EXIT_ERROR;
	int status = answer_read(reply.bytes, reply.n, &text, err);
	if (status > 0)
		err_set(err, EIO, "%s", text);
	else if (!status && reply.fd >= 0)
		status = save(o, r, reply.fd, err) ? EXIT_ERROR : EXIT_OK;
	else if (!status && r->verb == REQUEST_STOP && await_end(fd, o->patience, err))
		status = EXIT_ERROR;
	else if (!status)
		status = print(text, err) ? EXIT_ERROR : EXIT_OK;
	if (reply.fd >= 0)
		close(reply.fd);
	return status < 0 ? EXIT_ERROR : status;
}

static int read_all(int fd, struct buf *out, struct err *err)
{
	ssize_t n;
	lseek(fd, 0, SEEK_SET);
	do {
		uint8_t *room = out->len < FETCH_MAX ? buf_room(out, 65536) : NULL;
		n = room ? read(fd, room, 65536) : -1;
		out->len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	return n ? err_set(err, EIO, "the daemon's answer cannot be read") : 0;
}

int ctl_fetch(const char *socket_path, const struct request *r, double patience, struct buf *out, struct err *err)
{
	struct reply reply = { .fd = -1 };
	const char *text = "";
	int fd = call(socket_path ? socket_path : daemon_socket(), err);
	if (fd < 0)
		return fd;
	int rc = ask(fd, r, patience, &reply, err);
	int status = rc ? 0 : answer_read(reply.bytes, reply.n, &text, err);
	if (status > 0)
		rc = err_set(err, EIO, "%s", text);
	else if (!rc && !status)
		rc = reply.fd >= 0 ? read_all(reply.fd, out, err) : err_set(err, EPROTO, "the daemon's answer is empty");
	else if (!rc)
		rc = status;
	if (reply.fd >= 0)
		close(reply.fd);
	close(fd);
	return rc;
}

int ctl_run(const struct ctl_options *o, struct err *err)
{
	struct request r;
	if (request_of_words(&r, o->words_cnt, o->words, err))
		return EXIT_USAGE;
	int fd = call(o->socket ? o->socket : daemon_socket(), err);
	if (fd < 0)
		return EXIT_NOTHING;
	int status = converse(o, &r, fd, err);
	close(fd);
	return status;
}
