/* SPDX-License-Identifier: Apache-2.0 */
/* http/metrics: current values in Prometheus' text format. The number of series is bounded; there are none per stack. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalog/attributes.h"
#include "http/exchange.h"
#include "http/process_list.h"

/* Number of processes with their own series: those with most live bytes. */
#define METRICS_PROCESSES 100

static void put_label(struct buf *out, const char *text)
{
	struct buf clean = { 0 };
	text_clean(&clean, text, SIZE_MAX);
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			buf_u8(out, '\\');
		buf_u8(out, clean.data[i]);
	}
	out->failed |= clean.failed;
	buf_free(&clean);
}

static void put_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_one(struct buf *out, const char *name, const char *type, const char *help, double value)
{
	put_head(out, name, type, help);
	buf_addf(out, "%s %.17g\n", name, value);
}

/* The ledger's counts of one class as a metric. */
struct counted {
	const char *class, *name, *label, *type, *help;
};

static void put_class(const struct http_status *st, const struct counted *m, struct buf *out)
{
	put_head(out, m->name, m->type, m->help);
	for (size_t i = 0; i < st->counts_cnt; i++) {
		const struct http_count *c = &st->counts[i];
		if (strcmp(c->class, m->class))
			continue;
		buf_addf(out, "%s{%s=\"", m->name, m->label);
		put_label(out, c->name);
		buf_addf(out, "\"} %" PRIu64 "\n", c->value);
	}
}

static void put_ledger(const struct http_status *st, struct buf *out)
{
	static const struct counted classes[] = {
		{ "hit", "alys_hits_total", "kind", "counter", "Probe hits; their sum is that of recorded, skipped and lost." },
		{ "recorded", "alys_events_recorded_total", "kind", "counter", "Hits that became events." },
		{ "skipped", "alys_events_skipped_total", "stage", "counter",
		  "Hits that are no event on purpose: nested, failed, not sampled." },
		{ "lost", "alys_events_lost_total", "stage", "counter", "Hits that should have become events." },
		{ "note", "alys_note", "name", "gauge", "Other counted facts, by name." },
	};
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		put_class(st, &classes[i], out);
}

static void put_daemon(const struct http_status *st, struct buf *out)
{
	put_head(out, "alys_build_info", "gauge", "The version that runs.");
	buf_adds(out, "alys_build_info{version=\"" ALYS_VERSION "\"} 1\n");
	put_one(out, "alys_recording", "gauge", "Whether probes are in: 1, or 0 when switched off.", st->on);
	put_one(out, "alys_sample_interval_bytes", "gauge", "Bytes between samples in force, 0 for every call.",
		(double)st->interval);
	put_one(out, "alys_sample_interval_wanted_bytes", "gauge",
		"Bytes between samples as asked for; less than in force when a limit was reached.", (double)st->interval_wanted);
	put_one(out, "alys_frees_recorded", "gauge",
		"1, or 0 with --profile allocations: what is in use is then known of collected heaps only.", !st->no_frees);
	put_one(out, "alys_targets", "gauge", "Processes traced now.", (double)st->processes);
	put_one(out, "alys_targets_exited_total", "counter", "Traced processes that are gone.", (double)st->exited);
	put_one(out, "alys_probed_files", "gauge", "Files with probes in them.", (double)st->files);
	put_one(out, "process_cpu_seconds_total", "counter", "CPU time of all processes of the daemon.", st->cpu_seconds);
	put_one(out, "process_resident_memory_bytes", "gauge", "Resident memory of all processes of the daemon.",
		(double)st->memory);
	put_one(out, "alys_kernel_memory_bytes", "gauge", "Memory of the daemon's BPF maps.", (double)st->memory_kernel);
	put_one(out, "alys_memory_max_bytes", "gauge", "The limit of --max-memory, for both together.", (double)st->memory_max);
	put_one(out, "alys_overhead_ratio", "gauge", "Share of all processors that probes and daemon take.", st->overhead);
	if (st->windowed) {
		put_one(out, "alys_windows_total", "counter", "Windows of time in which probes were in.", (double)st->windows);
		put_one(out, "alys_covered_ratio", "gauge", "Share of the time in which probes that may come and go were in.",
			st->covered);
		put_one(out, "alys_probe_cpu_ratio", "gauge", "Share of the programs' CPU time that probes took.", st->spent);
	}
	put_one(out, "alys_thinned_total", "counter", "Times that live blocks were thinned, and the others stood for them.",
		(double)st->thinned);
	put_one(out, "alys_refused_stacks_total", "counter", "Events whose stack the full tables refused.",
		(double)st->refused_stacks);
	put_one(out, "alys_refused_processes_total", "counter", "Processes that there was no room for.",
		(double)st->refused_processes);
	put_one(out, "alys_symbol_worker_restarts_total", "counter", "Symbol workers that died or hung.",
		(double)st->workers_restarted);
	put_one(out, "alys_recording_seconds_total", "counter",
		"Time for which it was switched on, since the options were read last.", st->recording_s);
	put_one(out, "alys_recording_ratio", "gauge",
		"Share of the time since the options were read last for which it was switched on.",
		st->age_s > 0 ? st->recording_s / st->age_s : 0);
	put_one(out, "alys_written_bytes_total", "counter", "Bytes of profiles and traces written to disk.",
		(double)st->bytes_written);
}

static void put_profiles(const struct http_status *st, struct buf *out)
{
	if (!st->keeps)
		return;
	put_head(out, "alys_profiles_total", "counter",
		 "Profiles and traces for --profile-dir: written, failed, removed because they were old, "
		 "or none because the process lived too short.");
	buf_addf(out, "alys_profiles_total{result=\"written\"} %" PRIu64 "\n", st->profiles_written);
	buf_addf(out, "alys_profiles_total{result=\"failed\"} %" PRIu64 "\n", st->profiles_failed);
	buf_addf(out, "alys_profiles_total{result=\"removed\"} %" PRIu64 "\n", st->profiles_removed);
	buf_addf(out, "alys_profiles_total{result=\"too-short\"} %" PRIu64 "\n", st->profiles_short);
	put_one(out, "alys_profile_files", "gauge", "Profiles and traces that are in --profile-dir.",
		(double)st->profiles_stored);
	put_one(out, "alys_profile_files_bytes", "gauge", "Bytes of those.", (double)st->bytes_stored);
}

static void put_server(struct http *h, struct buf *out)
{
	static const unsigned int known[] = {
#define X(n) n,
		HTTP_STATUSES(X)
#undef X
	};
	put_head(out, "alys_http_responses_total", "counter", "Answers to HTTP requests by status.");
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < STATUS_PLACES; i++)
		buf_addf(out, "alys_http_responses_total{code=\"%u\"} %" PRIu64 "\n", known[i], h->sent[i]);
	uint64_t timed_out = h->timed_out, gave_way = h->gave_way;
	pthread_mutex_unlock(&h->lock);
	put_one(out, "alys_http_evictions_total", "counter",
		"HTTP clients sent away when all places were taken, of the user who had most of them.", (double)gave_way);
	put_one(out, "alys_http_timeouts_total", "counter", "HTTP clients sent away for being slow.", (double)timed_out);
}

static double live_of(const struct process_list_entry *p)
{
	return p->live_bytes;
}

static double error_of(const struct process_list_entry *p)
{
	return p->live_error;
}

static double below_of(const struct process_list_entry *p)
{
	return p->live_below;
}

static double rate_of(const struct process_list_entry *p)
{
	return p->alloc_rate;
}

static double hits_of(const struct process_list_entry *p)
{
	return (double)(p->recorded + p->lost);
}

static double recorded_of(const struct process_list_entry *p)
{
	return (double)p->recorded;
}

static double lost_of(const struct process_list_entry *p)
{
	return (double)p->lost;
}

static const struct {
	const char *name, *type, *help;
	double (*value)(const struct process_list_entry *p);
} of_process[] = {
	{ "alys_target_live_bytes", "gauge", "Live heap of a traced process (the 100 largest have series).", live_of },
	{ "alys_target_live_error_bytes", "gauge", "Standard error of alys_target_live_bytes, which is estimated from samples.",
	  error_of },
	{ "alys_target_live_below_bytes", "gauge",
	  "Where nothing live was sampled: what the live heap is below with 95 % confidence; else 0.", below_of },
	{ "alys_target_allocation_rate_bytes", "gauge", "Bytes that a traced process allocates a second.", rate_of },
	{ "alys_target_hits_total", "counter",
	  "Hits of a traced process that were to be recorded: those recorded and those lost.", hits_of },
	{ "alys_target_recorded_total", "counter", "Recorded events of a traced process.", recorded_of },
	{ "alys_target_lost_total", "counter",
	  "Hits of a traced process that its probes lost; alys_events_lost_total holds all losses by stage.", lost_of },
};

static void put_processes(const struct process_list *r, struct buf *out)
{
	size_t n = r->at_cnt < METRICS_PROCESSES ? r->at_cnt : METRICS_PROCESSES;
	for (size_t k = 0; k < sizeof(of_process) / sizeof(of_process[0]); k++) {
		put_head(out, of_process[k].name, of_process[k].type, of_process[k].help);
		for (size_t i = 0; i < n; i++) {
			buf_addf(out, "%s{pid=\"%u\",comm=\"", of_process[k].name, r->at[i].pid);
			put_label(out, r->at[i].comm);
			buf_addf(out, "\"} %.17g\n", of_process[k].value(&r->at[i]));
		}
	}
}

/* As an info metric, so that a label more does not make more series: join it on pid. */
static void put_identities(const struct process_list *r, struct buf *out)
{
	put_head(out, "alys_target_info", "gauge",
		 "What a traced process is known by: service, container, pod, unit and labels.");
	for (size_t i = 0; i < r->at_cnt && i < METRICS_PROCESSES; i++) {
		const struct process_list_entry *e = &r->at[i];
		struct attribute a;
		buf_addf(out, "alys_target_info{pid=\"%u\",comm=\"", e->pid);
		put_label(out, e->comm);
		buf_adds(out, "\",exe=\"");
		put_label(out, e->exe);
		buf_addf(out, "\",build_id=\"%s\",service_name=\"", e->build_id);
		put_label(out, attributes_get(e->attributes, "service.name", &a) ? a.value : e->comm);
		for (size_t at = 0; e->attributes && attributes_next_label(e->attributes, &at, &a);) {
			buf_addf(out, "\",%s=\"", a.name);
			put_label(out, a.value);
		}
		buf_adds(out, "\"} 1\n");
	}
}

int metrics_write(struct http *h, uint32_t pid, struct buf *out)
{
	struct http_status st = { 0 };
	struct process_list r = { .pid = pid };
	int rc = process_list_read(&r, h->source);
	if (!rc && pid && !r.at_cnt)
		rc = -ENOENT;
	if (!rc && !pid)
		rc = h->source->status(h->source->ctx, &st);
	if (!rc && !pid) {
		put_daemon(&st, out);
		put_ledger(&st, out);
		put_profiles(&st, out);
		put_server(h, out);
		if (h->metrics)
			h->metrics(h->metrics_ctx, out);
	}
	if (!rc) {
		put_processes(&r, out);
		put_identities(&r, out);
	}
	process_list_free(&r);
	return rc;
}
