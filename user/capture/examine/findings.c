/* SPDX-License-Identifier: Apache-2.0 */
/* examine/findings: see findings.h. */
#include "examine/findings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf/arch.h"
#include "elf/outline.h"
#include "finder/find.h"
#include "notes/noted.h"
#include "probe/linker.h"
#include "sites/listing.h"
#include "unwind/bytes.h"

#define END 0x5a /* the last byte of a complete answer */

/* --- making -------------------------------------------------------------------------------------- */

static void put_err(struct buf *out, const struct err *err)
{
	buf_varint(out, (uint64_t)err->code);
	buf_lenstr(out, err->code ? err->text : "");
}

/* The program's own probes, if they are wanted and usable, else the functions of its allocators. */
static int find_sites(const struct elf *e, const char *path, const struct sites_options *o, struct site_list *out,
		      struct err *err)
{
	struct sites_options others = *o;
	others.families &= ~(1u << ALLOC_USDT);
	if (o->families != others.families) {
		int rc = noted_find(e, out, err);
		if (rc || !others.families || noted_serves(out))
			return rc;
		sites_free(out);
	}
	return sites_find(e, path, &others, out, err);
}

/* The other lists are made only for files with allocators, for trials and calibrations. */
static void put_others(const struct elf *e, const char *path, const struct findings_ask *ask, bool any, struct buf *out)
{
	for (int i = 1; i < 4; i++) {
		const struct sites_options o = { .families = ask->families,
						 .cheap_exits = !(i % 2),
						 .refill = i < 2 && ask->refill,
						 .at_entry = ask->at_entry };
		struct site_list list = { 0 };
		if (any)
			find_sites(e, path, &o, &list, NULL);
		sites_write(&list, out);
		sites_free(&list);
	}
}

/* True if it is a collector's file. */
static bool put_lists(const struct elf *e, const char *path, const struct findings_ask *ask, struct buf *out)
{
	const struct sites_options o = {
		.families = ask->families, .cheap_exits = true, .refill = ask->refill, .at_entry = ask->at_entry
	};
	struct site_list list = { 0 };
	struct err err = { 0 };
	find_sites(e, path, &o, &list, &err);
	bool collector = sites_collect(&list);
	put_err(out, &err);
	sites_write(&list, out);
	put_others(e, path, ask, list.sites_cnt, out);
	sites_free(&list);
	return collector;
}

/* The symbol is exported; stops after exported symbols, since others may be very many. */
static int is_start(void *ctx, const struct elf_symbol *s)
{
	*(bool *)ctx |= s->dynamic && s->defined && !strcmp(s->name, "__libc_start_main");
	return *(bool *)ctx || !s->dynamic;
}

static void put_start(const struct elf *e, struct buf *out)
{
	bool starts = false;
	elf_each_symbol(e, is_start, &starts);
	buf_u8(out, starts);
}

static void put_sites(const struct elf *e, const char *path, const struct findings_ask *ask, struct buf *out)
{
	struct collection_sites found = { 0 };
	bool collector = put_lists(e, path, ask, out);
	buf_varint(out, linker_find(e));
	enum gc_unseen why = collector ? collections_find(e, &found) : GC_SEEN;
	collections_write(&found, out);
	buf_varint(out, why);
	collections_free(&found);
}

static void put_rows(const struct elf *e, struct buf *out)
{
	struct err err = { 0 };
	struct unwind_table *t = unwind_compile(e, &err);
	put_err(out, &err);
	if (t)
		unwind_write(t, out);
	unwind_free(t);
}

static void put_functions(const struct elf *e, const char *path, const struct findings_ask *ask, struct buf *out)
{
	struct function_list found;
	out->failed |= functions_find(e, path, &ask->functions, &found) != 0;
	functions_write(&found, out);
	functions_free(&found);
}

static void put_inlined(int fd, const struct elf *e, const char *path, const struct findings_ask *ask, struct buf *out)
{
	struct inlined_list found;
	out->failed |= functions_find_inlined(fd, e, path, &ask->functions, &found) != 0;
	inlined_write(&found, out);
	inlined_free(&found);
}

void findings_make(int fd, const char *path, const struct findings_ask *ask, struct buf *out)
{
	struct err err = { 0 };
	struct elf *e = elf_open(fd, path, &err);
	if (!e) /* the caller names the file */
		err_set(&err, err.code, "%s", err.code == ENOEXEC ? elf_arch.whole : strerror(err.code));
	put_err(out, &err);
	if (e && ask->parts & FINDINGS_OUTLINE)
		elf_outline_write(e, out);
	if (e && ask->parts & FINDINGS_SITES)
		put_sites(e, path, ask, out);
	if (e && ask->parts & FINDINGS_ROWS)
		put_rows(e, out);
	if (e && ask->parts & FINDINGS_START)
		put_start(e, out);
	if (e && ask->parts & FINDINGS_FUNCTIONS)
		put_functions(e, path, ask, out);
	if (e && ask->parts & FINDINGS_INLINED)
		put_inlined(fd, e, path, ask, out);
	buf_lenstr(out, e ? elf_refusal(e) : NULL);
	buf_u8(out, END);
	elf_close(e);
}

/* --- reading ------------------------------------------------------------------------------------- */

static void take_err(struct cursor *c, struct err *err)
{
	char text[sizeof(err->text)];
	uint64_t code = cursor_varint(c);
	cursor_lenstr(c, text, sizeof(text));
	*err = (struct err){ 0 };
	if (code)
		err_set(err, code < 4096 ? (int)code : EIO, "%s", text);
}

static int take_sites(struct cursor *c, struct findings *f)
{
	struct site_list *lists[] = { &f->sites.list, &f->sites.proof, &f->sites.calls, &f->sites.plain };
	int rc = 0;
	take_err(c, &f->sites.err);
	for (size_t i = 0; !rc && i < sizeof(lists) / sizeof(lists[0]); i++)
		rc = sites_read(c, lists[i]);
	f->sites.link_offset = cursor_varint(c);
	if (!rc)
		rc = collections_read(c, &f->sites.collections);
	uint64_t why = cursor_varint(c);
	f->sites.unseen = (enum gc_unseen)why;
	return rc ?: why < GC_UNSEEN_CNT ? 0 : -EPROTO;
}

static int take_rows(struct cursor *c, struct findings *f)
{
	take_err(c, &f->rows.err);
	f->rows.table = f->rows.err.code ? NULL : unwind_read(c);
	return f->rows.table || f->rows.err.code ? 0 : -EPROTO;
}

static int take_parts(struct cursor *c, uint32_t parts, struct findings *f)
{
	int rc = 0;
	if (parts & FINDINGS_OUTLINE && !(f->outline = elf_outline_read(c)))
		rc = -EPROTO;
	if (!rc && parts & FINDINGS_SITES)
		rc = take_sites(c, f);
	if (!rc && parts & FINDINGS_ROWS)
		rc = take_rows(c, f);
	if (!rc && parts & FINDINGS_START)
		f->starts_programs = cursor_u8(c);
	if (!rc && parts & FINDINGS_FUNCTIONS)
		rc = functions_read(c, &f->functions);
	if (!rc && parts & FINDINGS_INLINED)
		rc = inlined_read(c, &f->inlined);
	f->parts = parts;
	return rc;
}

int findings_read(const void *bytes, size_t n, uint32_t parts, struct findings *out)
{
	struct cursor c = cursor_over(bytes, n);
	*out = (struct findings){ 0 };
	take_err(&c, &out->failed);
	int rc = out->failed.code ? 0 : take_parts(&c, parts, out);
	cursor_lenstr(&c, out->refused, sizeof(out->refused));
	if (!rc && (cursor_u8(&c) != END || c.bad || cursor_left(&c)))
		rc = -EPROTO;
	if (rc)
		findings_free(out);
	return rc;
}

void findings_free(struct findings *f)
{
	elf_close(f->outline);
	sites_free(&f->sites.list);
	sites_free(&f->sites.proof);
	sites_free(&f->sites.calls);
	sites_free(&f->sites.plain);
	collections_free(&f->sites.collections);
	unwind_free(f->rows.table);
	functions_free(&f->functions);
	inlined_free(&f->inlined);
	*f = (struct findings){ 0 };
}
