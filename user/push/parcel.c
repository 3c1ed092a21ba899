/* push/parcel: see parcel.h. */
#include "push/parcel.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

static void put_base64(struct buf *out, const struct buf *in)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t *at = buf_room(out, (in->len + 2) / 3 * 4);
	if (!at)
		return;
	for (size_t i = 0; i < in->len; i += 3) {
		uint32_t v = (uint32_t)in->data[i] << 16;
		v |= i + 1 < in->len ? (uint32_t)in->data[i + 1] << 8 : 0;
		v |= i + 2 < in->len ? in->data[i + 2] : 0;
		*at++ = (uint8_t)digits[v >> 18];
		*at++ = (uint8_t)digits[v >> 12 & 63];
		*at++ = i + 1 < in->len ? (uint8_t)digits[v >> 6 & 63] : '=';
		*at++ = i + 2 < in->len ? (uint8_t)digits[v & 63] : '=';
	}
	out->len += (in->len + 2) / 3 * 4;
}

static void put_label(struct buf *out, const char *name, const char *value, const char *between)
{
	buf_addf(out, "%s{\"name\":\"%s\",\"value\":", between, name);
	text_json(out, value);
	buf_adds(out, "}");
}

static void put_labels(struct buf *out, const struct parcel_who *who)
{
	char pid[16];
	snprintf(pid, sizeof(pid), "%u", who->pid);
	put_label(out, "__name__", "memory", "");
	put_label(out, "service_name", *who->comm ? who->comm : "unknown", ",");
	put_label(out, "pid", pid, ",");
}

struct parcel *parcel_new(enum push_kind kind, const struct parcel_who *who, const struct buf *pprof)
{
	struct parcel *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	buf_adds(&p->body, kind == PUSH_PARCA ? "{\"series\":[{\"labels\":{\"labels\":[" : "{\"series\":[{\"labels\":[");
	put_labels(&p->body, who);
	buf_adds(&p->body, kind == PUSH_PARCA ? "]},\"samples\":[{\"rawProfile\":\"" : "],\"samples\":[{\"rawProfile\":\"");
	put_base64(&p->body, pprof);
	buf_adds(&p->body, "\"}]}]}");
	if (!p->body.failed)
		return p;
	parcel_free(p);
	return NULL;
}

void parcel_free(struct parcel *p)
{
	if (p)
		buf_free(&p->body);
	free(p);
}
