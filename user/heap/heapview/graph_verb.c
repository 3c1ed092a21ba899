/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/graph_verb: draws what holds objects of a type, in a live process or in a dump. */
#include "base/exit_status.h"
#include "heapview/heapview.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "heapview/dumpfile.h"
#include "heapview/objects.h"
#include "heapview/heap_process.h"
#include "sink/output.h"

enum { SHOW_GRAPH, SHOW_COUNTS, SHOW_SIZES };
enum { AS_MERMAID, AS_DOT, AS_JSON };

static void put_facts(const struct objects *o, struct buf *out)
{
	static const char *const live[] = { [GRAPH_REACHED] = "reached", [GRAPH_MARKED] = "marked", [GRAPH_IN_USE] = "in use" };
	struct buf comm = { 0 };
	buf_addf(out, "\"pid\":%u,\"command\":", o->tgid);
	text_clean(&comm, o->comm, sizeof(o->comm));
	text_json(out, buf_str(&comm));
	buf_addf(out, ",\"live\":\"%s\",\"approximate\":%s,\"frozen_ms\":%.3f,\"gc_no\":%" PRIu64 ",\"unreadable\":%" PRIu64,
		 live[o->live], o->frozen_ns ? "false" : "true", (double)o->frozen_ns / 1e6, o->gc_no, o->unreadable);
	buf_free(&comm);
}

/* An empty picture may mean that no such object lives, or that the type's name was mistyped: say which. */
static void warn_if_none(const struct objects *o, const struct picture *p)
{
	struct buf type = { 0 };
	for (size_t i = 0; i < o->graph.objects_cnt; i++) {
		if (picture_is_target(p, (uint32_t)i))
			return;
	}
	text_clean(&type, p->type, 200);
	log_warn("no object of type %s lives in process %u: --show counts lists the types of those that do", buf_str(&type),
		 o->tgid);
	buf_free(&type);
}

static int find_asked(const struct objects *o, const struct graph_options *ask, struct picture *p, uint32_t **ids,
		      struct err *err)
{
	if (ask->object) {
		p->object = graph_find(&o->graph, ask->object);
		if (p->object != GRAPH_NONE)
			return 0;
		return err_set(err, ENOENT, "no %s at 0x%" PRIx64 " in process %u",
			       o->live == GRAPH_IN_USE ? "block in use" : "live object", ask->object, o->tgid);
	}
	int rc = objects_type(o, ask->type, ids, &p->ids_cnt, err);
	p->ids = *ids;
	if (!rc)
		warn_if_none(o, p);
	return rc;
}

static int draw(const struct objects *o, const struct graph_options *ask, const struct picture *p, struct buf *out)
{
	int rc;
	if (ask->format == AS_MERMAID)
		rc = picture_mermaid(p, out);
	else if (ask->format == AS_DOT)
		rc = picture_dot(p, out);
	else {
		buf_u8(out, '{');
		put_facts(o, out);
		buf_u8(out, ',');
		rc = picture_json(p, out);
		buf_adds(out, "}\n");
	}
	return rc;
}

static int find_and_draw(const struct objects *o, const struct graph_options *ask, struct picture *p, struct buf *out,
			 struct err *err)
{
	uint32_t *ids = NULL;
	int rc = find_asked(o, ask, p, &ids, err);
	if (!rc && draw(o, ask, p, out))
		rc = err_set(err, ENOMEM, "out of memory");
	free(ids);
	return rc;
}

/* 0 for an address outside of the heap: a literal, or an object that is gone. */
static int show_size(const struct objects *o, const struct graph_options *ask, const struct picture *p, struct buf *out)
{
	uint32_t object = graph_find(&o->graph, ask->address);
	uint64_t bytes = 0;
	int rc = object == GRAPH_NONE ? 0 : picture_size(p, object, &bytes);
	buf_addf(out, "%" PRIu64 "\n", bytes);
	return rc;
}

static int answer(struct objects *o, const struct graph_options *ask, struct buf *out, struct err *err)
{
	struct picture p = {
		.graph = &o->graph,
		.types = &o->types,
		.fields = &o->fields,
		.type = ask->type ?: "",
		.object = GRAPH_NONE,
		.levels = ask->levels,
		.limit = ask->limit,
		.paths = ask->paths,
		.guesses = o->live == GRAPH_IN_USE,
		.root_name = objects_root_name,
		.ctx = o,
	};
	int rc;
	if (ask->address)
		rc = show_size(o, ask, &p, out);
	else if (ask->show == SHOW_COUNTS)
		rc = picture_counts(&p, out);
	else if (ask->show == SHOW_SIZES)
		rc = picture_sizes(&p, out);
	else
		return find_and_draw(o, ask, &p, out, err);
	return rc ? err_set(err, -rc, "out of memory") : 0;
}

static int status_of(int rc)
{
	return !rc ? EXIT_OK : rc == -ENOENT || rc == -ESRCH || rc == -ENODATA ? EXIT_NOTHING : EXIT_ERROR;
}

int graph_run(const struct graph_options *ask, objects_read_fn read, struct err *err)
{
	struct objects o;
	struct buf text = { 0 }, said = { 0 };
	struct reader reader = { 0 };
	int status = EXIT_ERROR;
	signal(SIGPIPE, SIG_IGN);
	int rc = ask->input ? 0 : objects_keep_files(&ask->heap, err);
	if (rc)
		return status_of(rc);
	if (!ask->input && reader_split(&reader, ask->heap.pid, ask->heap.freeze, &status, err))
		return status;
	rc = ask->input ? dumpfile_read(&o, ask->input, err) : read(&o, &ask->heap, err);
	if (rc)
		return status_of(rc);
	objects_describe(&o, &said);
	log_at(LOG_NORMAL, "%s", buf_str(&said));
	rc = answer(&o, ask, &text, err);
	struct output dst = { .fd = STDOUT_FILENO };
	struct sink_out out = output_sink(&dst);
	if (!rc && out.write(out.ctx, text.data, text.len))
		rc = -EIO;
	rc = output_finish(&dst, rc, err);
	buf_free(&text);
	buf_free(&said);
	objects_free(&o);
	return status_of(rc);
}
