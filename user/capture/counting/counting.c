/* SPDX-License-Identifier: Apache-2.0 */
/* counting: see counting.h. */
#include "counting/counting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "functions/patterns.h"
#include "probe/entered.h"

/* The chosen functions of one file; their numbers begin at `first`. */
struct counted_file {
	struct module_id module;
	char *path;
	struct function_list functions;
	struct inlined_list inlined;
	uint32_t first;
	bool too_many; /* none of them is counted */
};

struct counting {
	const struct handles *h;
	struct counted_file *files;
	size_t files_cnt, files_cap;
	struct map attached; /* tgid << 32 | module */
	uint32_t counted;    /* functions with a number */
	uint64_t matched;
	uint64_t used, used_inlined; /* bit i: pattern i matches some function, some inlined copy */
	char *stripped;              /* a file without a symbol table */
};

struct counting *counting_new(const struct handles *h)
{
	struct counting *c = calloc(1, sizeof(*c));
	if (c)
		c->h = h;
	return c;
}

void counting_free(struct counting *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->files_cnt; i++) {
		functions_free(&c->files[i].functions);
		inlined_free(&c->files[i].inlined);
		free(c->files[i].path);
	}
	free(c->files);
	free(c->stripped);
	map_free(&c->attached);
	free(c);
}

uint32_t counting_parts(const struct counting *c, const char *path)
{
	return c && patterns_concern(c->h->o->calls, path) ? FINDINGS_FUNCTIONS : 0;
}

static struct counted_file *file_of(const struct counting *c, struct module_id module)
{
	for (size_t i = 0; i < c->files_cnt; i++) {
		if (c->files[i].module.n == module.n)
			return &c->files[i];
	}
	return NULL;
}

/* Before the recording, too many functions are an error, see counting_check. */
static void say_found(const struct counting *c, const struct counted_file *f)
{
	size_t emulated = 0;
	for (size_t i = 0; i < f->functions.at_cnt; i++)
		emulated += f->functions.at[i].emulated;
	if (f->too_many && c->h->flowing)
		log_warn("--calls: %" PRIu64 " functions of %s match, %" PRIu64 " with those before, more than %" PRIu32
			 ": none of this file is counted; narrow the patterns, or give "
			 "--calls-limit %" PRIu64,
			 f->functions.matched, f->path, c->matched, c->h->o->calls_limit, c->matched);
	else if (!f->too_many)
		log_info("%s: calls of %zu functions are counted, %zu at cheap probes", f->path, f->functions.at_cnt, emulated);
	if (f->functions.unplaceable)
		log_warn(
			"--calls: calls of %s in %s%s are not counted: the beginning of its code is the beginning of a loop, too",
			f->functions.first_unplaced, f->path, f->functions.unplaceable > 1 ? " and of others like it" : "");
}

/* A file that was not read to the end has no functions; the reason is told with those of its other parts. */
void counting_found(struct counting *c, const char *path, struct findings *found)
{
	if (!(found->parts & FINDINGS_FUNCTIONS) || file_of(c, found->module))
		return;
	struct counted_file *f = VEC_PUSH(c, files);
	if (!f)
		return;
	*f = (struct counted_file){
		.module = found->module, .path = strdup(path), .functions = found->functions, .first = c->counted
	};
	found->functions = (struct function_list){ 0 };
	if (f->functions.stripped && !c->stripped && patterns_concern(c->h->o->calls, path))
		c->stripped = strdup(path);
	c->used |= f->functions.used;
	c->matched += f->functions.matched;
	f->too_many = c->matched > c->h->o->calls_limit;
	if (!f->too_many)
		c->counted += (uint32_t)f->functions.at_cnt;
	if (f->functions.matched)
		say_found(c, f);
}

bool counting_wants_inlined(const struct counting *c, struct module_id module)
{
	const struct counted_file *f = file_of(c, module);
	return f && f->functions.has_debug && patterns_concern(c->h->o->calls, f->path);
}

void counting_found_inlined(struct counting *c, struct findings *found)
{
	struct counted_file *f = file_of(c, found->module);
	if (!f || f->inlined.at_cnt)
		return;
	f->inlined = found->inlined;
	found->inlined = (struct inlined_list){ 0 };
	c->used_inlined |= f->inlined.used;
	if (found->failed.code)
		log_warn("--calls: %s: inlined copies, whose calls are not counted, are not known: %s", f->path,
			 found->failed.text);
}

static int attach(const struct counting *c, uint32_t tgid, const struct counted_file *f, int fd, struct err *err)
{
	size_t n = f->functions.at_cnt;
	uint64_t *offsets = calloc(n, sizeof(*offsets));
	uint32_t *numbers = calloc(n, sizeof(*numbers));
	const struct probe_entries e = { tgid, fd, offsets, numbers, n };
	for (size_t i = 0; offsets && numbers && i < n; i++) {
		offsets[i] = f->functions.at[i].offset;
		numbers[i] = f->first + (uint32_t)i;
	}
	int rc = offsets && numbers ? probe_attach_entries(c->h->probe, &e, err) : err_set(err, ENOMEM, "out of memory");
	free(offsets);
	free(numbers);
	return rc;
}

static uint64_t attached_key(uint32_t tgid, struct module_id module)
{
	return (uint64_t)tgid << 32 | module.n;
}

void counting_attach(struct counting *c, uint32_t tgid, struct module_id module, int fd)
{
	const struct counted_file *f = file_of(c, module);
	struct err err;
	if (!f || f->too_many || !f->functions.at_cnt || map_get(&c->attached, attached_key(tgid, module)))
		return;
	if (attach(c, tgid, f, fd, &err))
		log_warn("calls of functions in %s are not counted: %s", f->path, err.text);
	else
		map_put(&c->attached, attached_key(tgid, module));
}

void counting_forget(struct counting *c, uint32_t tgid)
{
	for (size_t i = 0; tgid && i < c->files_cnt; i++)
		map_del(&c->attached, attached_key(tgid, c->files[i].module));
	if (!tgid)
		map_free(&c->attached);
}

bool counting_function(const struct counting *c, uint32_t number, struct module_id *module, uint64_t *vaddr)
{
	for (size_t i = 0; i < c->files_cnt; i++) {
		const struct counted_file *f = &c->files[i];
		if (f->too_many || number < f->first || number - f->first >= f->functions.at_cnt)
			continue;
		*module = f->module;
		*vaddr = f->functions.at[number - f->first].vaddr;
		return true;
	}
	return false;
}

void counting_inlined_text(const struct counting *c, struct buf *out)
{
	for (size_t i = 0; i < c->files_cnt; i++) {
		const struct inlined_list *l = &c->files[i].inlined;
		for (size_t k = 0; k < l->at_cnt; k++)
			buf_addf(out, "%s\t%" PRIu64 "\n", l->at[k].name, l->at[k].copies);
	}
}

/* Pattern i of the text. */
static void pattern_at(const struct counting *c, uint32_t i, char *out, size_t cap)
{
	const char *at = c->h->o->calls;
	while (i--)
		at += strcspn(at, "\n") + 1;
	snprintf(out, cap, "%.*s", (int)strcspn(at, "\n"), at);
}

static uint32_t patterns_cnt(const struct counting *c)
{
	uint32_t n = 1;
	for (const char *at = c->h->o->calls; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

/* Is a file mapped that the pattern is about? */
static const struct counted_file *concerned(const struct counting *c, const char *pattern)
{
	for (size_t i = 0; i < c->files_cnt; i++) {
		if (patterns_concern(pattern, c->files[i].path))
			return &c->files[i];
	}
	return NULL;
}

/* Why the pattern matches nothing. */
static void explain(const struct counting *c, uint32_t i, struct buf *out)
{
	char pattern[PATTERNS_TEXT_MAX];
	pattern_at(c, i, pattern, sizeof(pattern));
	const struct counted_file *f = concerned(c, pattern);
	buf_addf(out, "--calls \"%s\": ", pattern);
	if (c->used_inlined & 1ull << i)
		buf_adds(out, "all copies are inlined into their callers, so there are no calls to count: compile it with "
			      "__attribute__((noinline)), or @[NoInline] in Crystal");
	else if (!f)
		buf_adds(out, "no file of that name is mapped");
	else if (f->functions.stripped && !strstr(pattern, "*:"))
		buf_addf(out,
			 "no function of that name: %s is stripped, so only its exported functions have names; trace the binary "
			 "before it is stripped",
			 f->path);
	else
		buf_addf(out,
			 "no function of that name in %s%s: `nm -C` lists a program's functions; for a library that is loaded "
			 "later give FILE:NAME",
			 f->path, c->files_cnt > 1 ? " and the other mapped files" : "");
}

int counting_check(const struct counting *c, bool complete, struct err *err)
{
	if (c->matched > c->h->o->calls_limit)
		return err_set(err, EINVAL,
			       "--calls: %" PRIu64 " functions match, more than %" PRIu32
			       ": narrow the patterns, or give --calls-limit %" PRIu64,
			       c->matched, c->h->o->calls_limit, c->matched);
	for (uint32_t i = 0; complete && i < patterns_cnt(c); i++) {
		char pattern[PATTERNS_TEXT_MAX];
		struct buf why = { 0 };
		pattern_at(c, i, pattern, sizeof(pattern));
		if ((c->used & 1ull << i) || !concerned(c, pattern))
			continue;
		explain(c, i, &why);
		err_set(err, ENOENT, "%s", buf_str(&why));
		buf_free(&why);
		return -ENOENT;
	}
	return 0;
}

void counting_warn(const struct counting *c)
{
	for (uint32_t i = 0; i < patterns_cnt(c); i++) {
		struct buf why = { 0 };
		if (c->used & 1ull << i)
			continue;
		explain(c, i, &why);
		log_warn("%s", buf_str(&why));
		buf_free(&why);
	}
}
