/* SPDX-License-Identifier: Apache-2.0 */
/* http/sd: the traced processes in the format of Prometheus' HTTP service discovery, which Alloy and Parca support, too. */
#include <string.h>

#include "base/text.h"
#include "catalog/attributes.h"
#include "http/exchange.h"

struct sd {
	struct buf *out;
	const char *host, *between;
};

static void put_label(struct buf *out, const char *label, const char *value)
{
	buf_addf(out, ",\"%s\":", label);
	text_json(out, value);
}

/* "__param_pid" becomes ?pid= in each scrape, so that every process has its own series. */
static int put_process(void *ctx, const struct http_process *p)
{
	struct sd *sd = ctx;
	char comm[sizeof(p->comm) + 1] = "", exe[sizeof(p->exe) + 1] = "";
	struct attribute a;
	memcpy(comm, p->comm, sizeof(p->comm));
	memcpy(exe, p->exe, sizeof(p->exe));
	buf_addf(sd->out, "%s\n{\"targets\":[", sd->between);
	text_json(sd->out, sd->host);
	buf_adds(sd->out, "],\"labels\":{\"service_name\":");
	text_json(sd->out, attributes_get(p->attributes, "service.name", &a) ? a.value : comm);
	for (size_t at = 0; p->attributes && attributes_next_label(p->attributes, &at, &a);)
		put_label(sd->out, a.name, a.value);
	put_label(sd->out, "exe", exe);
	if (p->build_id && *p->build_id)
		put_label(sd->out, "build_id", p->build_id);
	buf_addf(sd->out, ",\"pid\":\"%u\",\"__param_pid\":\"%u\"}}", p->pid, p->pid);
	sd->between = ",";
	return 0;
}

int sd_write(const struct http_source *s, const char *host, struct buf *out)
{
	struct sd sd = { .out = out, .host = host, .between = "" };
	buf_adds(out, "[");
	int rc = s->each_process(s->ctx, put_process, &sd);
	buf_adds(out, "\n]\n");
	return rc;
}
