/* SPDX-License-Identifier: Apache-2.0 */
/* report/facts: see facts.h. */
#include "report/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "format/format.h"

static const char *const titles[] = {
	[BY_STACK] = "Context",   [BY_SITE] = "Site",       [BY_FUNCTION] = "Function",
	[BY_FILE] = "File",       [BY_LIBRARY] = "Library", [BY_TYPE] = "Type",
	[BY_SIZE] = "Size",       [BY_THREAD] = "Thread",   [BY_ERLANG_PROCESS] = "Erlang process",
	[BY_PROCESS] = "Process", [BY_SERVICE] = "Service", [BY_CONTAINER] = "Container",
};

const char *by_name(enum report_by by)
{
	static const char *const names[] = { "stack",  "site",           "function", "file",    "library",   "type", "size",
					     "thread", "erlang-process", "process",  "service", "container", "time" };
	return names[by];
}

const char *by_title(enum report_by by)
{
	return titles[by];
}

void report_notes(const struct report_input *in, struct buf *out)
{
	static const struct sink_options plain = { 0 };
	const struct sink_input of = { .catalog = in->catalog, .snapshot = in->snapshot, .options = &plain };
	format_notes(&of, out);
}

void put_left_out(const struct report_input *in, double cnt, double sz, double error, struct buf *out)
{
	uint64_t young = in->snapshot->young_ns;
	bool one = llround(cnt) == 1;
	text_count(out, (uint64_t)llround(cnt));
	buf_addf(out, " block%s with ", one ? "" : "s");
	text_count(out, (uint64_t)llround(sz));
	buf_adds(out, " bytes");
	if (in->snapshot->facts.sampled) {
		buf_adds(out, " (+- ");
		text_count(out, (uint64_t)llround(error));
		buf_u8(out, ')');
	}
	buf_addf(out, " allocated after %.3f s %s left out", young > in->start_ns ? (double)(young - in->start_ns) / 1e9 : 0.0,
		 one ? "is" : "are");
}

int report_refuse_empty(const struct report_input *in, struct err *err)
{
	static const char *const none_of[] = { [SUBJECT_ALLOCATIONS] = "no allocation",
					       [SUBJECT_PAGES] = "no page became resident",
					       [SUBJECT_MAPPINGS] = "no mapping was made" };
	double below = format_below(in->catalog, &in->snapshot->all);
	struct buf none = { 0 };
	if (!below)
		return err_set(err, ENOENT, "%s in the trace or in the requested interval",
			       none_of[catalog_subject(in->catalog)]);
	format_none_sampled(below, &none);
	err_set(err, ENOENT, "%" PRIu64 " calls were seen, %s: record with a smaller --sample, or without",
		catalog_count(in->catalog, "unsampled"), buf_str(&none));
	buf_free(&none);
	return -ENOENT;
}

void put_facts(const struct report_input *in, const char *by, const char *show, struct buf *out)
{
	const struct sink_input of = { .catalog = in->catalog, .snapshot = in->snapshot };
	buf_addf(out, "\"by\":\"%s\",\"show\":\"%s\",\"sampled\":%s,\"upper_bound\":%s,", by, show,
		 in->snapshot->facts.sampled ? "true" : "false", format_upper_bound(&of) ? "true" : "false");
	double below = format_below(in->catalog, &in->snapshot->all);
	if (below)
		buf_addf(out, "\"below\":%.0f,", below);
	const char *windows = format_windows(in->catalog);
	if (!windows)
		return;
	buf_adds(out, "\"windows\":");
	text_json(out, windows);
	buf_u8(out, ',');
}
