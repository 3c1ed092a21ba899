/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/convert: converts a trace to another format. */
#include "base/exit_status.h"
#include "sink/registry.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/outfile.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "format/sink.h"
#include "naming/symbolize.h"
#include "replay/replay.h"
#include "sink/output.h"

struct feeding {
	const struct sink_ops *sink;
	void *state;
	struct err *err;
};

static int feed(void *ctx, const struct event *e, const struct applied *a)
{
	struct feeding *f = ctx;
	return f->sink->event(f->state, e, a, f->err);
}

static int run_event_sink(struct replay *r, const struct sink_ops *sink, struct sink_input *in, struct sink_out *out,
			  struct err *err)
{
	struct feeding f = { .sink = sink, .err = err };
	in->heap = r->heap;
	int rc = sink->begin(in, out, &f.state, err);
	if (rc)
		return rc;
	rc = replay_events(r, feed, &f, err);
	int end = sink->end(f.state, rc ? NULL : err);
	return rc ? rc : end;
}

static int run_snapshot_sink(struct replay *r, const struct sink_ops *sink, struct sink_input *in, struct sink_out *out,
			     struct err *err)
{
	heap_watch(r->heap, sink->watch);
	int rc = replay_events(r, NULL, NULL, err);
	if (rc)
		return rc;
	struct snapshot *snap = heap_snapshot(r->heap);
	if (!snap)
		return err_set(err, ENOMEM, "out of memory");
	in->snapshot = snap;
	rc = sink->render(in, out, err);
	snapshot_free(snap);
	return rc;
}

static int run_sink(struct replay *r, const struct sink_ops *sink, const struct convert_options *o, int fd, const char *path,
		    struct err *err)
{
	struct sink_options so = {
		.indent = o->indent,
		.stacks_once = o->stacks == STACKS_ONCE,
		.keep_allocator_frames = o->keep_allocator_frames,
		.skip = &o->skip,
		.crystal_style = o->crystal_style,
		.no_addresses = o->no_addresses,
		.value = o->value,
		.top = o->top,
		.from_ns = r->from_ns,
		.until_ns = r->until_ns,
	};
	struct sink_input in = { .catalog = r->catalog, .options = &so };
	struct output dst = { .fd = fd, .path = path };
	struct sink_out out = output_sink(&dst);
	int rc = sink->render ? run_snapshot_sink(r, sink, &in, &out, err) : run_event_sink(r, sink, &in, &out, err);
	return output_finish(&dst, rc, err);
}

static void name_output(char *out, size_t cap, const char *input, const char *ext)
{
	size_t n = strlen(input);
	if (n > 5 && !strcmp(input + n - 5, ".alys") && strcmp(ext, ".json"))
		n -= 5;
	snprintf(out, cap, "%.*s%s", (int)n, input, ext);
}

static void free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

/* NULL = out of memory. */
static char **inferno_words(const struct convert_options *o)
{
	char **words = calloc(o->inferno_cnt + 2, sizeof(*words));
	bool whole = words && (words[0] = strdup("inferno-flamegraph"));
	for (size_t i = 0; whole && i < o->inferno_cnt; i++) {
		char *word;
		whole = asprintf(&word, "--%s", o->inferno[i]) >= 0;
		words[i + 1] = whole ? word : NULL;
	}
	if (whole)
		return words;
	free_words(words);
	return NULL;
}

/* Starts inferno-flamegraph. Returns its pid; *to is the pipe to its stdin, which takes folded stacks. */
static pid_t start_inferno(const struct convert_options *o, int out_fd, int *to, struct err *err)
{
	int pipe_fds[2];
	char **words = inferno_words(o);
	pid_t pid = !words || pipe2(pipe_fds, O_CLOEXEC) ? -1 : fork();
	if (pid == 0) {
		dup2(pipe_fds[0], STDIN_FILENO);
		dup2(out_fd, STDOUT_FILENO);
		descriptors_give_back();
		execvp(words[0], words);
		_exit(errno == ENOENT ? 127 : 126);
	}
	if (pid < 0) {
		err_set(err, errno, "cannot start inferno-flamegraph: %s", strerror(errno));
	} else {
		close(pipe_fds[0]);
		*to = pipe_fds[1];
	}
	free_words(words);
	return pid;
}

static int run_inferno(struct replay *r, const struct convert_options *o, int fd, struct err *err)
{
	int to = -1, status = 0;
	pid_t pid = start_inferno(o, fd, &to, err);
	if (pid < 0)
		return -err->code;
	int rc = run_sink(r, sink_find("folded-stacks"), o, to, "to inferno-flamegraph", err);
	close(to);
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(err, ENOENT,
			       "inferno-flamegraph is not installed: get it with `cargo install inferno`, "
			       "or use -f flamegraph, which needs no other program");
	if (status)
		return err_set(err, EINVAL, "inferno-flamegraph failed: see its output above, and --inferno-opt");
	return rc;
}

static int write_file(struct replay *r, const struct convert_options *o, const struct sink_ops *sink, const char *path,
		      struct err *err)
{
	struct outfile out;
	int rc = sink && sink->binary ? outfile_refuse_terminal(path, "this format", err) : 0;
	if (!rc)
		rc = outfile_begin(&out, path, o->force, err);
	if (rc)
		return rc;
	rc = sink ? run_sink(r, sink, o, out.fd, path, err) : run_inferno(r, o, out.fd, err);
	if (rc)
		outfile_abort(&out);
	else
		rc = outfile_commit(&out, err);
	if (!rc && o->size)
		*o->size = out.size;
	else if (!rc)
		output_say(path, out.size, NULL);
	return rc;
}

static void say_facts(const struct replay *r, const struct convert_options *o)
{
	struct buf line = { 0 };
	if (replay_damage(r, &line))
		log_warn("%s", buf_str(&line));
	buf_reset(&line);
	catalog_ledger_text(r->catalog, &line);
	if (line.len && !o->size)
		log_at(LOG_NORMAL, "%s", buf_str(&line));
	buf_free(&line);
}

/* Labels come first, so that they win over what was recorded. */
static int label_processes(struct catalog *c, const char *labels, struct err *err)
{
	const struct proc *p;
	int rc = 0;
	for (size_t i = 0; !rc && *labels && (p = catalog_next_proc(c, &i));) {
		struct buf all = { 0 };
		struct proc labelled = *p;
		attributes_add_all(&all, labels);
		attributes_add_all(&all, p->attributes);
		labelled.attributes = buf_str(&all);
		if (all.failed || catalog_put_proc(c, &labelled))
			rc = err_set(err, ENOMEM, "out of memory for labels");
		buf_free(&all);
	}
	return rc;
}

static int convert(const struct convert_options *o, struct err *err)
{
	const char *format = o->format ?: "json";
	bool inferno = !strcmp(format, "inferno-flamegraph");
	const struct sink_ops *sink = inferno ? NULL : sink_find(format);
	struct replay r;
	int rc = replay_open(&r, o->input, err);
	if (rc)
		return rc;
	say_facts(&r, o);
	replay_limit(&r, o->from, o->until);
	rc = replay_show(&r, o->shown, err) ?: symbolize_trace(r.catalog, &o->names, err);
	if (!rc)
		rc = label_processes(r.catalog, o->labels, err);
	char named[4096];
	name_output(named, sizeof(named), o->input, sink ? sink->ext : ".svg");
	if (!rc)
		rc = write_file(&r, o, sink, o->output ?: named, err);
	replay_close(&r);
	return rc;
}

int run_convert(const struct convert_options *o, struct err *err)
{
	signal(SIGPIPE, SIG_IGN);
	int rc = convert(o, err);
	return !rc ? EXIT_OK : rc == -ENOENT ? EXIT_NOTHING : EXIT_ERROR;
}
