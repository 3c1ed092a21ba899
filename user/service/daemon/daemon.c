/* SPDX-License-Identifier: Apache-2.0 */
/* daemon: the main loop. See daemon.h. */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/signals.h"
#include "broker/broker.h"
#include "daemon/commands.h"
#include "daemon/http_adapter.h"
#include "daemon/notify.h"
#include "http/http.h"
#include "push/credentials.h"
#include "push/push.h"
#include "sandbox/priority.h"

/* The daemon needs little CPU time, but ring buffers overflow if it has to wait on a busy machine. */
#define PRIORITY (-15)
/* Internal, never a process's final exit status. NOT_BEGUN is a flag added to one: startup failed. */
#define RELOAD 32
#define NOT_BEGUN 64
#define RUN_DIR "/run/alys-bpf"

struct daemon {
	struct daemon_options o;
	struct daemon_options before; /* o before the last reload */
	bool may_go_back;             /* `before` is valid */
	struct continuous *recording;
	struct profile_store *store;
	struct server *server;
	struct http_listener listener;
	struct http *http;
	struct push *push;
	struct push_credentials credentials;
	struct http_adapter adapter;
	struct http_source source;
	struct commands commands;
	struct broker broker;
	bool split; /* a broker process exists */
	int signals;
	int profiles; /* descriptor of their directory, -1 = none */
	bool reload;
	uint64_t beat_ns, beat_every_ns;
};

const char *daemon_socket(void)
{
	return RUN_DIR "/ctl";
}

static void on_request(void *ctx, struct client *c, const struct request *r, uid_t uid, bool full)
{
	struct daemon *d = ctx;
	commands_run(&d->commands, c, r, uid, full);
}

static void on_gone(void *ctx, const struct client *c)
{
	const struct daemon *d = ctx;
	commands_client_gone(&d->commands, c);
}

static void on_ending(void *ctx, const struct continuous_process *p, enum ending why)
{
	struct daemon *d = ctx;
	if (why == ENDING_OUT_OF_MEMORY && !p->subject)
		log_warn("the kernel kills process %u (%s) for want of memory%s", p->tgid, p->comm,
			 d->store && !d->o.profile_format ? ": its last profile is written" : "");
	if (d->store)
		profile_store_on_ending(d->store, d->recording, p, why);
	if (d->http && !p->subject)
		http_process_ends(d->http, p->tgid, ending_name(why));
	if (d->push && !p->subject)
		push_process_ends(d->push, p->tgid);
}

static int open_server(struct daemon *d, struct err *err)
{
	struct server_ops ops = { .ctx = d, .request = on_request, .gone = on_gone };
	const char *path = d->o.socket ? d->o.socket : daemon_socket();
	if (!d->o.socket && geteuid() == 0 && mkdir(RUN_DIR, 0755) && errno != EEXIST)
		return err_set(err, errno, "cannot make " RUN_DIR ": %s", strerror(errno));
	d->server = server_open(path, &ops, err);
	return d->server ? 0 : -err->code;
}

static struct continuous *open_recording(struct daemon *d, struct err *err)
{
	struct continuous_ops ops = { .ctx = d, .ending = on_ending };
	if (d->o.profile_dir)
		d->profiles = profile_store_open_dir(d->o.profile_dir, d->broker.uid, d->broker.gid, err);
	return d->o.profile_dir && d->profiles < 0 ? NULL : continuous_new(&d->o.watch, &ops, err);
}

static int open_store(struct daemon *d, struct err *err)
{
	struct profile_store_options k = {
		.dir = d->o.profile_dir,
		.every = d->o.every,
		.keep = d->o.keep,
		.keep_age = d->o.keep_age,
		.keep_size = d->o.keep_size,
		.traces = d->o.profile_format,
	};
	if (k.dir)
		d->store = profile_store_new(&k, d->profiles, err);
	if (k.dir && !d->store)
		return -err->code;
	return d->store ? profile_store_begin(d->store, d->recording, err) : 0;
}

static void close_recording(struct daemon *d)
{
	if (d->recording)
		continuous_off(d->recording);
	if (d->recording && d->store)
		profile_store_end(d->store, d->recording);
	continuous_free(d->recording);
	profile_store_free(d->store);
	d->recording = NULL;
	d->store = NULL;
}

static int open_http_adapter(struct daemon *d, struct err *err)
{
	struct push_options push = d->o.push;
	struct http_options http = { .listen = d->o.listen, .insecure = d->o.listen_insecure };
	d->commands.http_address = NULL;
	d->adapter = (struct http_adapter){ .recording = &d->recording, .store = (const struct profile_store *const *)&d->store };
	d->source = http_adapter_source(&d->adapter);
	push.credentials = &d->credentials;
	if (push.url && !(d->push = push_open(&push, &d->source, err)))
		return -err->code;
	if (d->push) {
		http.metrics = push_metrics;
		http.metrics_ctx = d->push;
	}
	d->commands.push = d->push;
	if (http.listen && !(d->http = http_open(&http, &d->listener, &d->source, err)))
		return -err->code;
	if (d->http)
		d->commands.http_address = d->listener.address;
	return 0;
}

static void close_http_adapter(struct daemon *d)
{
	d->commands.http_address = NULL;
	d->commands.push = NULL;
	http_close(d->http);
	push_close(d->push);
	http_adapter_free(&d->adapter);
	d->http = NULL;
	d->push = NULL;
}

/* True if the daemon has to exit. */
static bool take_signals(struct daemon *d)
{
	struct signalfd_siginfo info;
	bool end = false;
	while (read(d->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			d->reload = true;
		else
			end = true;
	}
	return end;
}

/* The options as they would be after a reload. */
static int read_again(const struct daemon *d, struct daemon_options *out, struct err *err)
{
	struct push_credentials credentials;
	*out = d->o;
	int rc = d->o.reload ? d->o.reload(d->o.reload_ctx, out, err) : 0;
	if (!rc)
		rc = push_credentials_read(&out->push, &credentials, err);
	if (!rc)
		push_credentials_free(&credentials);
	return rc;
}

/*
 * True if the signal is to be forwarded to the collector. On SIGHUP, the new options are checked here because only this process
 * may read the configuration file; if they are invalid, the collector is not disturbed.
 */
static bool forwards_signal(void *ctx, int signal)
{
	struct daemon_options o;
	struct err why = { 0 };
	if (signal != SIGHUP || !read_again(ctx, &o, &why))
		return true;
	log_err("options unchanged: %s", why.text);
	return false;
}

/* systemd accepts notifications from the main process only (NotifyAccess=main), which is the broker. */
static int tells(void *ctx, int what)
{
	(void)ctx;
	if (what >= 0 && what < NOTIFY_CNT)
		notify((enum notify)what);
	return 0;
}

static void beat(struct daemon *d)
{
	uint64_t now = now_ns();
	if (!d->beat_every_ns || now - d->beat_ns < d->beat_every_ns)
		return;
	notify(NOTIFY_ALIVE);
	d->beat_ns = now;
}

static int least(int a, int b)
{
	return b < 0 || (a >= 0 && a < b) ? a : b;
}

static int wait_for_work(struct daemon *d, int ms)
{
	struct pollfd fds[4 + SERVER_FDS + CONTINUOUS_FDS];
	size_t n = server_fds(d->server, fds);
	n += continuous_fds(d->recording, fds + n);
	fds[n++] = (struct pollfd){ .fd = d->signals, .events = POLLIN };
	fds[n++] = (struct pollfd){ .fd = d->http ? http_fd(d->http) : -1, .events = POLLIN };
	fds[n++] = (struct pollfd){ .fd = d->push ? push_fd(d->push) : -1, .events = POLLIN };
	fds[n++] = (struct pollfd){ .fd = d->split ? d->broker.sock : -1 };
	return poll(fds, n, ms) < 0 && errno != EINTR ? -errno : 0;
}

/* The broker sends nothing unasked, so only a hangup can be pending here. */
static bool is_gone(int sock)
{
	struct pollfd p = { .fd = sock };
	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

/* Returns 0 to exit, RELOAD, or -errno. */
static int serve(struct daemon *d, struct err *err)
{
	for (int ms = 0;;) {
		int rc = wait_for_work(d, ms);
		if (rc)
			return err_set(err, -rc, "poll: %s", strerror(-rc));
		if (take_signals(d))
			return 0;
		if (d->split && is_gone(d->broker.sock))
			return err_set(err, EPIPE, "privileged broker exited: shutting down, all probes are detached");
		struct err broken = { 0 };
		ms = continuous_work(d->recording, &broken);
		if (broken.code)
			log_err("%s", broken.text);
		if (ms < 0)
			ms = 1000;
		server_work(d->server);
		if (d->commands.stop)
			return 0;
		if (d->http)
			http_serve_pending(d->http);
		if (d->push)
			push_serve_pending(d->push);
		if (d->store)
			ms = least(profile_store_work(d->store, d->recording), ms);
		if (d->reload && (d->split || forwards_signal(d, SIGHUP)))
			return RELOAD;
		d->reload = false;
		beat(d);
	}
}

static void report_ready(const struct daemon *d)
{
	struct continuous_status s;
	continuous_status(d->recording, &s);
	log_at(LOG_NORMAL, "daemon %d: %s, %zu process%s through %zu file%s%s%s", (int)d->commands.pid, s.on ? "tracing" : "off",
	       s.processes, s.processes == 1 ? "" : "es", s.files, s.files == 1 ? "" : "s",
	       !d->http            ? ""
	       : d->listener.local ? "; http at "
				   : "; http://",
	       d->http ? d->listener.address : "");
	notify(NOTIFY_READY);
	notify(s.on ? NOTIFY_ON : NOTIFY_OFF);
}

/* Runs in the collector, without privileges. Returns RELOAD or an exit status, with NOT_BEGUN added if startup failed. */
static int collect(struct daemon *d)
{
	struct err err = { 0 };
	int begun = NOT_BEGUN, rc = open_store(d, &err);
	if (!rc)
		rc = open_http_adapter(d, &err);
	if (!rc && !d->o.off)
		rc = continuous_on(d->recording, &err);
	if (!rc) {
		begun = 0;
		report_ready(d);
		rc = serve(d, &err);
		notify(rc == RELOAD ? NOTIFY_RELOADING : NOTIFY_STOPPING);
	}
	close_recording(d);
	close_http_adapter(d);
	if (rc < 0)
		log_err("%s", err.text);
	return rc == RELOAD ? RELOAD : !rc ? EXIT_OK : begun | (rc == -ESRCH ? EXIT_NOTHING : EXIT_ERROR);
}

static int status_of(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	log_err("the collector was killed by signal %d: all probes are detached", WTERMSIG(wait_status));
	return EXIT_ERROR;
}

static const char *fence_text(const struct daemon *d)
{
	if (!d->split)
		return "those of a broker: this kernel leaves no other way";
	if (d->broker.fenced <= 0)
		return d->broker.fenced ? "none; landlock refused to close the file system" : "none; this kernel has no landlock";
	return d->o.profile_dir ? "none; files change in --profile-dir only (landlock)"
				: "none; no file can be changed (landlock)";
}

/* Opens what requires privileges, before the split. */
static int open_all(struct daemon *d, struct err *err)
{
	struct http_options http = { .listen = d->o.listen, .insecure = d->o.listen_insecure };
	if (push_credentials_read(&d->o.push, &d->credentials, err))
		return -1;
	if (http.listen && http_listen(&http, &d->listener, err))
		return -1;
	d->recording = open_recording(d, err);
	return d->recording ? 0 : -1;
}

/* Runs split into broker and collector where the kernel allows it. Returns the result of collect. */
static int live_once(struct daemon *d, struct err *err)
{
	if (open_all(d, err))
		return NOT_BEGUN | EXIT_ERROR;
	d->split = continuous_can_split(d->recording);
	if (!d->split)
		log_warn("kernel before 6.6: BPF links cannot be passed between processes; running without privilege separation");
	d->broker.writable = d->profiles;
	d->broker.pages = d->o.watch.record.subjects;
	if (d->split ? broker_split(&d->broker, err) : broker_stay_alone(&d->broker, err))
		return EXIT_ERROR;
	if (d->split && d->broker.pid) {
		http_listener_close(&d->listener);
		int status = status_of(broker_serve(&d->broker, d->signals));
		close_recording(d);
		return status;
	}
	if (d->split)
		notify_through(broker_notify, &d->broker);
	d->commands.fence = fence_text(d);
	int status = collect(d);
	if (d->split)
		exit(status);
	return status;
}

static int live(struct daemon *d, struct err *err)
{
	int status = live_once(d, err);
	http_unlisten(&d->listener);
	push_credentials_free(&d->credentials);
	if (d->profiles >= 0)
		close(d->profiles);
	d->profiles = -1;
	return status;
}

static void reload_options(struct daemon *d)
{
	struct daemon_options o;
	struct err why = { 0 };
	d->before = d->o;
	d->may_go_back = d->o.reload && !d->o.reload(d->o.reload_ctx, &o, &why);
	if (d->may_go_back) {
		o.socket = d->o.socket;
		o.reload = d->o.reload;
		o.reload_ctx = d->o.reload_ctx;
		d->o = o;
	}
	d->reload = false;
	log_at(LOG_NORMAL, "beginning anew, with the options as they are now");
}

/*
 * Some errors in options show only in use: an unknown user, an address already taken. They must not end a daemon that was
 * running with valid options.
 */
static void restore_options(struct daemon *d, struct err *err)
{
	if (err->code)
		log_err("%s", err->text);
	*err = (struct err){ 0 };
	d->o = d->before;
	d->may_go_back = false;
	log_err("the new options cannot be used: restarting with the previous ones");
}

int daemon_run(const struct daemon_options *o, struct err *err)
{
	struct daemon *d = calloc(1, sizeof(*d));
	if (!d) {
		err_set(err, ENOMEM, "out of memory");
		return EXIT_ERROR;
	}
	d->o = *o;
	d->profiles = -1;
	d->listener = (struct http_listener)HTTP_LISTENER_NONE;
	d->commands = (struct commands){ .recording = &d->recording, .store = &d->store, .begun_ns = now_ns(), .pid = getpid() };
	d->beat_every_ns = notify_watchdog_us() * 1000 / 3;
	log_never_wait();
	descriptors_raise();
	priority_raise(PRIORITY);
	broker_choose_user(&d->broker);
	d->broker.forwards_signal = forwards_signal;
	d->broker.tells = tells;
	d->broker.ctx = d;
	d->signals = signals_open(true, err);
	int status = d->signals < 0 || open_server(d, err) ? EXIT_ERROR : RELOAD;
	while (status == RELOAD) {
		status = live(d, err);
		if (status == RELOAD) {
			reload_options(d);
		} else if (status & NOT_BEGUN && d->may_go_back) {
			restore_options(d, err);
			status = RELOAD;
		}
	}
	server_close(d->server);
	if (d->signals >= 0)
		close(d->signals);
	free(d);
	return status & ~NOT_BEGUN;
}
