/* SPDX-License-Identifier: Apache-2.0 */
/* catalog/attributes: see attributes.h. */
#include "catalog/attributes.h"

#include <stdio.h>
#include <string.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: too long for its place, or with a byte that no text has. */
static bool decode(const char *from, size_t n, char *to, size_t cap)
{
	size_t len = 0;
	for (size_t i = 0; i < n; i++) {
		int high = from[i] == '%' && i + 2 < n ? digit_of(from[i + 1]) : -1;
		int low = high >= 0 ? digit_of(from[i + 2]) : -1;
		if (len + 1 >= cap)
			return false;
		to[len] = low >= 0 ? (char)(high << 4 | low) : from[i];
		if (!to[len++])
			return false;
		i += low >= 0 ? 2 : 0;
	}
	to[len] = '\0';
	return len > 0;
}

/* Spaces around names and values do not belong to them. */
static bool decode_trimmed(const char *from, const char *end, char *to, size_t cap)
{
	while (from < end && *from == ' ')
		from++;
	while (end > from && end[-1] == ' ')
		end--;
	return decode(from, (size_t)(end - from), to, cap);
}

bool attributes_next(const char *text, size_t *at, struct attribute *out)
{
	while (text[*at]) {
		const char *from = text + *at, *end = from + strcspn(from, ","),
			   *equals = memchr(from, '=', (size_t)(end - from));
		*at += (size_t)(end - from) + (*end == ',');
		if (equals && decode_trimmed(from, equals, out->name, sizeof(out->name)) &&
		    decode_trimmed(equals + 1, end, out->value, sizeof(out->value)))
			return true;
	}
	return false;
}

bool attributes_get(const char *text, const char *name, struct attribute *out)
{
	for (size_t at = 0; text && attributes_next(text, &at, out);) {
		if (!strcmp(out->name, name))
			return true;
	}
	*out = (struct attribute){ 0 };
	return false;
}

static bool is_reserved(const char *label)
{
	static const char *const ours[] = { "service_name", "pid", "comm", "exe", "build_id" };
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
		if (!strcmp(label, ours[i]))
			return true;
	}
	return !strncmp(label, "__", 2); /* of Prometheus and Pyroscope */
}

/* Prometheus' rule for label names, by which OpenTelemetry's exporters go, too. */
static void make_label(char name[ATTRIBUTE_NAME_MAX])
{
	for (char *c = name; *c; c++) {
		bool letter = (*c | 0x20) >= 'a' && (*c | 0x20) <= 'z';
		bool digit = *c >= '0' && *c <= '9';
		if (!letter && !(digit && c > name))
			*c = '_';
	}
}

bool attributes_is_reserved(const char *name, char label[ATTRIBUTE_NAME_MAX])
{
	snprintf(label, ATTRIBUTE_NAME_MAX, "%s", name);
	make_label(label);
	return is_reserved(label) && strcmp(name, "service.name") != 0;
}

static bool is_label_before(const char *text, size_t end, const char *label)
{
	struct attribute a;
	for (size_t at = 0; attributes_next(text, &at, &a) && at < end;) {
		make_label(a.name);
		if (!strcmp(a.name, label))
			return true;
	}
	return false;
}

bool attributes_next_label(const char *text, size_t *at, struct attribute *out)
{
	while (attributes_next(text, at, out)) {
		make_label(out->name);
		if (!is_reserved(out->name) && !is_label_before(text, *at, out->name))
			return true;
	}
	return false;
}

static void encode(struct buf *to, const char *from)
{
	for (const unsigned char *c = (const unsigned char *)from; *c; c++) {
		if (*c <= ' ' || *c == ',' || *c == '=' || *c == '%' || *c == 0x7f)
			buf_addf(to, "%%%02X", *c);
		else
			buf_u8(to, *c);
	}
}

void attributes_add(struct buf *text, const char *name, const char *value)
{
	struct attribute known;
	struct buf one = { 0 };
	if (!*name || !*value || strlen(name) >= ATTRIBUTE_NAME_MAX || strlen(value) >= ATTRIBUTE_VALUE_MAX ||
	    attributes_get(buf_str(text), name, &known))
		return;
	if (text->len)
		buf_u8(&one, ',');
	encode(&one, name);
	buf_u8(&one, '=');
	encode(&one, value);
	text->failed |= one.failed;
	if (text->len + one.len < ATTRIBUTES_MAX)
		buf_add(text, one.data, one.len);
	buf_free(&one);
}

void attributes_add_all(struct buf *text, const char *more)
{
	struct attribute a;
	for (size_t at = 0; attributes_next(more, &at, &a);)
		attributes_add(text, a.name, a.value);
}
