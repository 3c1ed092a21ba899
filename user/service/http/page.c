/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/page: the HTML index of traced processes with links to their profiles. No scripts; text from targets is cleaned,
 * then escaped.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "http/exchange.h"
#include "http/process_list.h"

#define PAGE_PROCESSES 500
#define PAGE_LOSERS 10
#define SPARK_W 120
#define SPARK_H 24

const char page_style[] =
	":root{color-scheme:light dark;--ink:#1a1d21;--soft:#5c6570;--paper:#f6f7f9;--card:#fff;--line:#dde1e7;"
	"--live:#3b76d6;--ring:#0b57d0;--bad:#b3261e}\n"
	"@media(prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#9aa5b1;--paper:#121417;--card:#1a1d22;"
	"--line:#2e343c;--live:#5b93ea;--ring:#8ab4f8;--bad:#ff9a92}}\n"
	"body{margin:0 auto;max-width:1280px;padding:18px 24px;background:var(--paper);color:var(--ink);"
	"font:14px/1.45 system-ui,sans-serif}\n"
	"h1{font-size:22px;margin:0 0 8px}p{margin:4px 0;color:var(--soft)}a{color:var(--live)}\n"
	":focus-visible{outline:2px solid var(--ring);outline-offset:1px}\n"
	".bad{color:var(--bad)}\n"
	"table{border-collapse:collapse;width:100%;margin-top:14px;background:var(--card)}\n"
	"th,td{padding:5px 10px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap;"
	"font-variant-numeric:tabular-nums}\n"
	"th:first-child,td:first-child{text-align:left}td:first-child{white-space:normal;overflow-wrap:anywhere;min-width:200px}"
	"\n"
	/* What is widest breaks, so that the page need not be scrolled sideways. */
	"td[data-label^=live]{white-space:normal}td[data-label=live] small{white-space:nowrap}\n"
	"th,th a{color:var(--soft);text-decoration:none}th a:hover{text-decoration:underline}\n"
	"th[aria-sort=ascending] a,th[aria-sort=descending] a{color:var(--ink)}\n"
	"th[aria-sort=descending] a::after{content:\" \\2193\"}th[aria-sort=ascending] a::after{content:\" \\2191\"}\n"
	"small{color:var(--soft)}svg{vertical-align:middle}polyline{fill:none;stroke:var(--live);stroke-width:1.5}\n"
	/* On narrow screens a row becomes a card: the program, then each number with its column's name. */
	"@media(max-width:700px){body{padding:12px}table,tbody,thead{display:block}"
	"tr{display:flex;flex-wrap:wrap;gap:2px 14px;padding:8px 10px;border-bottom:1px solid var(--line)}"
	"th,td{border:0;padding:0;text-align:left}th:not([aria-sort]),td:empty{display:none}th "
	"a{display:inline-block;padding:4px 0}"
	"td:first-child{flex:1 0 100%}td[data-label]::before{content:attr(data-label) \" \";color:var(--soft);font-size:11px}}\n";

static void put_text(struct buf *out, const char *text)
{
	static const char *const escapes[256] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;",
	};
	struct buf clean = { 0 };
	text_clean(&clean, text, SIZE_MAX);
	for (size_t i = 0; i < clean.len; i++) {
		if (escapes[clean.data[i]])
			buf_adds(out, escapes[clean.data[i]]);
		else
			buf_u8(out, clean.data[i]);
	}
	out->failed |= clean.failed;
	buf_free(&clean);
}

static void put_head(struct buf *out, const char *title, bool refresh)
{
	buf_addf(out,
		 "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n%s"
		 "<link rel=\"stylesheet\" href=\"/style.css\">\n<title>%s</title>\n</head>\n<body>\n<h1>%s</h1>\n",
		 refresh ? "<meta http-equiv=\"refresh\" content=\"10\">\n" : "", title, title);
}

static uint64_t sum_of(const struct http_status *st, const char *class)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < st->counts_cnt; i++)
		sum += strcmp(st->counts[i].class, class) ? 0 : st->counts[i].value;
	return sum;
}

/* Each stage of loss with its count and description. */
static void put_stages(const struct http_status *st, struct buf *out)
{
	for (size_t i = 0; i < st->counts_cnt; i++) {
		const struct http_count *c = &st->counts[i];
		if (strcmp(c->class, "lost") || !c->value)
			continue;
		buf_adds(out, "<li>");
		text_count(out, c->value);
		buf_adds(out, " ");
		put_text(out, c->name);
		buf_adds(out, "<small>: ");
		put_text(out, c->help);
		buf_adds(out, "</small></li>\n");
	}
}

/* The processes with most losses. Losses outside of the BPF programs cannot be attributed. */
static void put_losers(uint64_t lost, struct process_list *r, struct buf *out)
{
	uint64_t rest = lost;
	process_list_sort(r, SORT_LOST, false);
	for (size_t i = 0; i < r->at_cnt && i < PAGE_LOSERS && r->at[i].lost; i++) {
		const struct process_list_entry *p = &r->at[i];
		buf_addf(out, "<li>%u ", p->pid);
		put_text(out, p->comm);
		buf_adds(out, ": ");
		text_count(out, p->lost);
		buf_adds(out, " <small>");
		put_text(out, p->lost_by);
		buf_adds(out, "</small></li>\n");
		rest -= p->lost < rest ? p->lost : rest;
	}
	if (!rest)
		return;
	buf_adds(out, "<li>");
	text_count(out, rest);
	buf_adds(out, " of others, of processes that ended, or of nobody who is known</li>\n");
}

/* <details> opens without a script. */
static void put_losses(const struct http_status *st, struct process_list *r, struct buf *out)
{
	uint64_t lost = sum_of(st, "lost");
	if (!lost)
		return;
	buf_adds(out, "<details id=\"losses\"><summary>what was lost, where and by whom</summary>\n<ul>\n");
	put_stages(st, out);
	buf_adds(out, "</ul>\n<ul>\n");
	put_losers(lost, r, out);
	buf_adds(out, "</ul></details>\n");
}

static void put_state(const struct http_status *st, const struct process_list *r, struct buf *out)
{
	uint64_t lost = sum_of(st, "lost");
	buf_addf(out, "<p id=\"state\">%s", st->on ? "Recording " : "<b class=\"bad\">Switched off</b>; ");
	text_count(out, st->processes);
	buf_adds(out, " processes, ");
	text_bytes(out, r->live_bytes);
	buf_adds(out, " live; ");
	if (st->interval) {
		buf_adds(out, "one sample every ");
		text_bytes(out, (double)st->interval);
	} else {
		buf_adds(out, "every allocation");
	}
	if (st->no_frees)
		buf_adds(out, "; frees are not recorded");
	buf_addf(out, "; %.1f s of CPU, ", st->cpu_seconds);
	text_bytes(out, (double)(st->memory + st->memory_kernel));
	buf_adds(out, " of at most ");
	text_bytes(out, (double)st->memory_max);
	buf_adds(out, " of memory.</p>\n<p id=\"ledger\">hits ");
	text_count(out, sum_of(st, "hit"));
	buf_adds(out, " = recorded ");
	text_count(out, sum_of(st, "recorded"));
	buf_adds(out, " + skipped ");
	text_count(out, sum_of(st, "skipped"));
	buf_adds(out, lost ? " + <b class=\"bad\">lost " : " + lost ");
	text_count(out, lost);
	buf_adds(out, lost ? "</b></p>\n" : "</p>\n");
	if (st->notice) {
		buf_adds(out, "<p id=\"notice\" class=\"bad\">");
		put_text(out, st->notice);
		buf_adds(out, "</p>\n");
	}
}

static void put_duration(struct buf *out, double seconds)
{
	if (seconds < 120)
		buf_addf(out, "%.0f s", seconds);
	else if (seconds < 7200)
		buf_addf(out, "%.0f min", seconds / 60);
	else if (seconds < 2 * 86400)
		buf_addf(out, "%.0f h", seconds / 3600);
	else
		buf_addf(out, "%.0f days", seconds / 86400);
}

/* Scaled from 0 to the process's own maximum, which is printed beside it: heap sizes differ by orders of magnitude. */
static void put_spark(struct buf *out, const struct process_list_entry *p)
{
	double top = 1;
	for (size_t i = 0; i < p->history_cnt; i++)
		top = p->history[i] > top ? p->history[i] : top;
	if (p->history_cnt < 2)
		return;
	buf_addf(out,
		 "<svg width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"live bytes over time\">"
		 "<polyline points=\"",
		 SPARK_W, SPARK_H);
	for (size_t i = 0; i < p->history_cnt; i++) {
		double v = p->history[i] > 0 ? p->history[i] : 0;
		buf_addf(out, "%.1f,%.1f ", 1 + (SPARK_W - 2.0) * (double)i / (double)(p->history_cnt - 1),
			 SPARK_H - 2 - (SPARK_H - 4) * v / top);
	}
	buf_adds(out, "\"/></svg> <small>0 to ");
	text_bytes(out, top);
	if (p->history_step_s > 0) {
		buf_adds(out, ", last ");
		put_duration(out, p->history_step_s * (double)(p->history_cnt - 1));
	}
	buf_adds(out, "</small>");
}

static void put_live(struct buf *out, const struct process_list_entry *p)
{
	if (p->live_below > 0) {
		buf_adds(out, "<span title=\"none sampled: below this with 95 % confidence\">&lt; ");
		text_bytes(out, p->live_below);
		buf_adds(out, "</span>");
		return;
	}
	text_bytes(out, p->live_bytes);
	if (p->live_error > 0) {
		buf_adds(out, " <small>± ");
		text_bytes(out, p->live_error);
		buf_adds(out, "</small>");
	}
}

static void put_row(struct buf *out, const struct process_list_entry *p)
{
	buf_adds(out, "<tr><td>");
	put_text(out, p->comm);
	buf_adds(out, " <small>");
	put_text(out, p->exe);
	buf_addf(out, "</small></td><td data-label=\"PID\">%u</td><td data-label=\"live\">", p->pid);
	put_live(out, p);
	buf_adds(out, "</td><td data-label=\"RSS\">");
	if (p->resident_bytes > 0)
		text_bytes(out, p->resident_bytes);
	else
		buf_adds(out, "–");
	buf_adds(out, "</td><td data-label=\"allocates\">");
	text_bytes(out, p->alloc_rate);
	buf_adds(out, "/s</td><td data-label=\"live, lately\">");
	put_spark(out, p);
	buf_adds(out, "</td><td data-label=\"counted for\">");
	if (p->traced_s > 0)
		put_duration(out, p->traced_s);
	buf_adds(out, "</td><td data-label=\"recorded\">");
	text_count(out, p->recorded);
	buf_addf(out, "</td><td data-label=\"lost\"%s title=\"", p->lost ? " class=\"bad\"" : "");
	put_text(out, p->lost_by);
	buf_adds(out, "\">");
	text_count(out, p->lost);
	buf_addf(out, "</td><td><a href=\"/report?pid=%u\">report</a> <a href=\"/debug/pprof/heap?pid=%u\">pprof</a></td></tr>\n",
		 p->pid, p->pid);
}

/* Sorting without a script: the column's head links to the page in that order. */
static void put_column(struct buf *out, const struct request *r, enum request_sort by, const char *title, const char *help)
{
	bool rises = by == SORT_PROGRAM || by == SORT_PID, now = r->sort == by;
	const char *name = request_sort_name(by);
	buf_addf(out, "<th scope=\"col\" id=\"%s\" aria-sort=\"%s\"><a href=\"/?sort=%s%s#%s\" title=\"%s\">%s</a></th>", name,
		 !now                 ? "none"
		 : rises != r->turned ? "ascending"
				      : "descending",
		 now && !r->turned ? "-" : "", name, name, help, title);
}

static void put_columns(struct buf *out, const struct request *r)
{
	buf_adds(out, "<table>\n<thead><tr>");
	put_column(out, r, SORT_PROGRAM, "program", "its name and its file");
	put_column(out, r, SORT_PID, "PID", "the process");
	put_column(out, r, SORT_LIVE, "live", "allocated since counting began and not freed");
	put_column(out, r, SORT_RSS, "RSS", "all memory that the process has resident, its heap and the rest");
	put_column(out, r, SORT_RATE, "allocates", "bytes allocated a second, over the last seconds");
	buf_adds(out, "<th scope=\"col\">live, lately</th>");
	put_column(out, r, SORT_SINCE, "counted for", "how long ago counting began: what is older is not in live");
	put_column(out, r, SORT_RECORDED, "recorded", "events recorded");
	put_column(out, r, SORT_LOST, "lost", "events lost: numbers are incomplete");
	buf_adds(out, "<th></th></tr></thead>\n<tbody>\n");
}

int page_write(const struct http_source *s, const struct request *rq, struct buf *out)
{
	struct http_status st = { 0 };
	struct process_list r = { 0 };
	int rc = process_list_read(&r, s);
	if (!rc)
		rc = s->status(s->ctx, &st);
	if (!rc) {
		put_head(out, "alys-bpf: live heaps", true);
		put_state(&st, &r, out);
		put_losses(&st, &r, out);
		process_list_sort(&r, rq->sort, rq->turned);
		put_columns(out, rq);
		for (size_t i = 0; i < r.at_cnt && i < PAGE_PROCESSES; i++)
			put_row(out, &r.at[i]);
		buf_adds(out, "</tbody>\n</table>\n");
		if (r.at_cnt > PAGE_PROCESSES)
			buf_addf(out, "<p>and %zu more: see <a href=\"/sd\">/sd</a></p>\n", r.at_cnt - PAGE_PROCESSES);
		buf_adds(out,
			 "<p><a href=\"/debug/pprof/\">profiles</a> <a href=\"/metrics\">metrics</a></p>\n</body>\n</html>\n");
	}
	process_list_free(&r);
	return rc;
}

void page_index(struct buf *out)
{
	put_head(out, "/debug/pprof/", false);
	buf_adds(out, "<table>\n<thead><tr><th></th><th>profile</th></tr></thead>\n<tbody>\n"
		      "<tr><td><a href=\"/debug/pprof/heap\">heap</a></td><td>what is live now, by call stack</td></tr>\n"
		      "<tr><td><a href=\"/debug/pprof/allocs\">allocs</a></td><td>all that was allocated</td></tr>\n"
		      "<tr><td><a href=\"/debug/pprof/delta_heap\">delta_heap</a></td><td>what was allocated since the last such "
		      "request</td></tr>\n"
		      "</tbody>\n</table>\n"
		      "<p>?pid=N: one process, as listed at <a href=\"/\">/</a>. ?seconds=N: only what is allocated in the next "
		      "N seconds, "
		      "at most 300. ?samples=N: at most N stacks, 0 for all (16000).</p>\n"
		      "<p>go tool pprof http://HOST/debug/pprof/heap?pid=N</p>\n</body>\n</html>\n");
}
