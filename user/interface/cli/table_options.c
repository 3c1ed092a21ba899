/* SPDX-License-Identifier: Apache-2.0 */
/* cli/table_options: see table_options.h. */
#include "cli/table_options.h"

#include <errno.h>
#include <string.h>

#include "allocators/allocators.h"
#include "base/buf.h"
#include "catalog/attributes.h"
#include "event/event.h"
#include "sink/registry.h"

int opt_skip(const struct opt *o, const char *text, void *dest, struct err *err)
{
	(void)o;
	return skip_add(dest, "--skip", text, err);
}

int opt_no_skip(const struct opt *o, const char *text, void *dest, struct err *err)
{
	(void)o, (void)text, (void)err;
	skip_none(dest);
	return 0;
}

int opt_own(const struct opt *o, const char *text, void *dest, struct err *err)
{
	enum own_kind kind = OWN_ALLOC;
	while (kind < OWN_FREE && strcmp(own_kinds[kind], o->name))
		kind++;
	return own_add(dest, kind, text, err);
}

int opt_format(const struct opt *o, const char *text, const char *more, void *dest, struct err *err)
{
	if (strcmp(text, more) && !sink_find(text))
		return err_set(err, EINVAL, "--%s wants %s or one of " SINK_NAMES ", got \"%s\"", o->name, more, text);
	*(const char **)dest = text;
	return 0;
}

int opt_allocators(const struct opt *o, const char *text, void *dest, struct err *err)
{
	uint32_t families;
	int rc = opt_text(o, text, dest, err);
	return rc ? rc : alloc_families_by_names(text, &families, err);
}

int opt_subject(const struct opt *o, const char *text, void *dest, struct err *err)
{
	uint32_t *subjects = dest;
	(void)text, (void)err;
	*subjects |= 1u << (strcmp(o->name, "rss") ? SUBJECT_MAPPINGS : SUBJECT_PAGES);
	return 0;
}

static bool is_about_allocations(const struct record_options *r)
{
	return r->min_size || r->allocators || r->return_probes || r->stop_at_gc || r->sample_at || r->no_frees || r->calls ||
	       *r->own.text;
}

int check_subjects(const struct record_options *r, struct err *err)
{
	if (r->beside && !r->subjects)
		return err_set(err, EINVAL,
			       "--beside is for --rss and --maps: without these, allocations are all that is recorded");
	if (record_has(r, SUBJECT_ALLOCATIONS))
		return 0;
	if (r->max_overhead > 0 && !record_has(r, SUBJECT_PAGES))
		return err_set(err, EINVAL, "--maps records every mapping: leave out --max-overhead");
	if (is_about_allocations(r))
		return err_set(err, EINVAL,
			       "%s, not allocations: add --beside, or leave out --min-size, --allocator, "
			       "--return-probes, --stop-at-gc, --sample-at, --profile, --calls and --alloc",
			       record_has(r, SUBJECT_PAGES) ? "--rss records pages" : "--maps records mappings");
	return 0;
}

int opt_shown(const struct opt *o, const char *text, void *dest, struct err *err)
{
	static const char *const names[SUBJECT_CNT] = { "allocations", "rss", "maps" };
	uint32_t *shown = dest;
	(void)o;
	for (*shown = 1; *shown <= SUBJECT_CNT; (*shown)++) {
		if (!strcmp(names[*shown - 1], text))
			return 0;
	}
	return err_set(err, EINVAL, "--subject wants allocations, rss or maps, got \"%.40s\"", text);
}

int opt_label(const struct opt *o, const char *text, void *dest, struct err *err)
{
	const char *equals = strchr(text, '=');
	char key[ATTRIBUTE_NAME_MAX] = "", label[ATTRIBUTE_NAME_MAX];
	char *labels = dest;
	struct attribute known;
	struct buf all = { 0 };
	(void)o;
	if (!equals || equals == text || !equals[1] || (size_t)(equals - text) >= sizeof(key) ||
	    strlen(equals + 1) >= ATTRIBUTE_VALUE_MAX)
		return err_set(err, EINVAL,
			       "--label wants KEY=VALUE of at most %d and %d bytes, such as team=pay, got \"%.300s\"",
			       ATTRIBUTE_NAME_MAX - 1, ATTRIBUTE_VALUE_MAX - 1, text);
	memcpy(key, text, (size_t)(equals - text));
	if (attributes_is_reserved(key, label))
		return err_set(err, EINVAL,
			       "--label %s: %s is a label of alys-bpf or of the server itself: choose another name "
			       "(service.name=NAME names the service)",
			       key, label);
	if (attributes_get(labels, key, &known))
		return err_set(err, EINVAL, "--label %s is given twice", key);
	buf_adds(&all, labels);
	size_t before = all.len;
	attributes_add(&all, key, equals + 1);
	bool fits = !all.failed && all.len > before;
	if (fits)
		memcpy(labels, buf_str(&all), all.len + 1);
	buf_free(&all);
	return fits ? 0 : err_set(err, E2BIG, "--label %s: all labels may take %d bytes together", key, ATTRIBUTES_MAX - 1);
}
