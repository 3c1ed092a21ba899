/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/compile: from a section to a table. See unwind.h. */
#include "unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>

#include "unwind/bottom.h"
#include "unwind/cfi.h"
#include "unwind/ehframe.h"
#include "unwind/goswitch.h"
#include "unwind/section.h"
#include "unwind/row_writer.h"

/* Smaller gaps between functions are padding, which is never executed: they get no row. */
#define GAP_MIN 16

/* Code without an FDE whose row is known otherwise. */
struct known {
	uint64_t lo, hi;
	uint32_t row;
};

struct fde_ctx {
	struct row_writer w;
	const struct cfi_machine *machine;
	const struct eh_frame *f;
	bool signal;
	uint64_t other_lo; /* code whose CFA counts from another register begins there, 0 = not this code */
	struct cfi_state other;
	unsigned int other_calls; /* looked into */
	const struct bottom *bottom;
	struct known known[GO_SWITCHES + 5];
	size_t known_cnt;
};

/* An entry point without an FDE is a few instructions: it sets up a stack, then calls. */
#define ENTRY_SZ 128
/* The return from a signal handler: two instructions, and the one before, by which its frame is looked up. */
#define SIGNAL_RETURN_SZ 8
#define SIGNAL_RETURN_AHEAD 4

static uint32_t spec_row(void *ctx, const struct alys_spec *spec)
{
	return row_of_spec(ctx, spec);
}

/* Hand-written code that realigns its stack is short, and such calls are few: the linker has two. The file may be anybody's. */
#define OTHER_CODE_MAX 1024
#define OTHER_CALLS_MAX 64
#define OTHER_CALLEE_MAX 4096 /* bytes of its program */

static uint32_t row_of(struct fde_ctx *x, const struct cfi_state *s)
{
	return x->machine->row(s, x->signal, spec_row, &x->w);
}

/*
 * Below a call the register from which the CFA counts is where the called function has saved it, which is known from the caller's
 * sp. False if it saves none. (glibc's _dl_runtime_resolve realigns the stack and keeps the old sp in rbx.)
 */
static bool saved_by_callee(struct fde_ctx *x, uint64_t callee, struct cfi_state *s)
{
	const struct eh_fde *fde = x->other_calls < OTHER_CALLS_MAX ? eh_fde_at(x->f, callee) : NULL;
	bool runs = fde && fde->program_sz <= OTHER_CALLEE_MAX;
	int64_t at = runs ? eh_saved_at(x->f, fde, x->other.cfa.reg) : 0;
	x->other_calls += runs;
	*s = x->other;
	s->cfa = (struct cfi_cfa){ .kind = CFI_CFA_SP, .deref = true, .off = at, .add = x->other.cfa.off };
	return at;
}

/* Return addresses in the code up to hi whose CFA counts from another register: they are looked up one byte before. */
static int write_calls(struct fde_ctx *x, uint64_t hi)
{
	uint64_t lo = x->other_lo;
	if (!lo)
		return 0;
	size_t n = hi - lo, sz = x->machine->call_sz;
	const uint8_t *code = sz && x->bottom && n <= OTHER_CODE_MAX ? elf_bytes(x->bottom->e, lo, n) : NULL;
	struct cfi_state s;
	int rc = 0;
	for (size_t i = 0; code && i + sz <= n && !rc; i++) {
		uint64_t to = x->machine->call_target(code + i, lo + i), ret = lo + i + sz;
		if (!to || !saved_by_callee(x, to, &s))
			continue;
		rc = row_write(&x->w, ret - 1, row_of(x, &s));
		if (!rc && ret < hi)
			rc = row_write(&x->w, ret, row_of(x, &x->other));
		i += sz - 1;
	}
	x->other_lo = 0;
	return rc;
}

static int emit(void *ctx, uint64_t pc, const struct cfi_state *s)
{
	struct fde_ctx *x = ctx;
	int rc = write_calls(x, pc);
	if (s->cfa.kind == CFI_CFA_ODD && s->cfa.reg) {
		x->other_lo = pc;
		x->other = *s;
	}
	return rc ? rc : row_write(&x->w, pc, row_of(x, s));
}

static int write_fde(struct fde_ctx *x, const struct eh_frame *f, const struct eh_fde *fde)
{
	const struct cfi_cie *cie = &f->cies[fde->cie];
	struct cfi_state state = cie->init;
	struct cfi_run run = {
		.cie = cie,
		.base = &f->base,
		.lo = fde->lo,
		.hi = fde->hi,
		.emit = emit,
		.ctx = x,
	};
	if (cie->odd)
		return row_write(&x->w, fde->lo, ALYS_ROW_SPECIAL_OF(ALYS_ROW_UNSUPPORTED, ALYS_ROW_WHY_CFA));
	x->signal = cie->signal;
	int rc = cfi_run(&run, cursor_over(fde->program, fde->program_sz), &state);
	return rc ? rc : write_calls(x, fde->hi);
}

static const uint32_t none = ALYS_ROW_SPECIAL_OF(ALYS_ROW_NONE, 0), end = ALYS_ROW_SPECIAL_OF(ALYS_ROW_END, 0),
		      signal_frame = ALYS_ROW_SPECIAL_OF(ALYS_ROW_SIGNAL, 0);

static int by_address(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* CFA = sp, and the return address is in its register. */
#define ROW_LEAF 0u

static void gather_plt(struct fde_ctx *x, const struct bottom_plt *p)
{
	const struct alys_spec pushed = { .off = 16, .ra_off = -8 };
	if (p->pushed > p->lo)
		x->known[x->known_cnt++] = (struct known){ p->lo, p->pushed, ROW_LEAF };
	if (p->stubs > p->pushed)
		x->known[x->known_cnt++] = (struct known){ p->pushed, p->stubs, row_of_spec(&x->w, &pushed) };
	if (p->hi > p->stubs)
		x->known[x->known_cnt++] = (struct known){ p->stubs, p->hi, ROW_LEAF };
}

static uint32_t row_of_switch(struct row_writer *w, const struct go_switch *s)
{
	switch (s->caller) {
	case GO_BOTTOM: return end;
	case GO_LOST: return ALYS_ROW_SPECIAL_OF(ALYS_ROW_UNSUPPORTED, ALYS_ROW_WHY_CFA);
	default: return row_of_spec(w, &s->spec);
	}
}

/* The entry point of the program has no caller. Return addresses are looked up one byte before, in the call. */
static void gather_known(struct fde_ctx *x)
{
	struct go_switch go[GO_SWITCHES];
	uint64_t entry = x->bottom->entry, from_signal = x->bottom->signal_return;
	size_t n = go_switches(x->bottom->e, go);
	x->known[x->known_cnt++] = (struct known){ entry, entry + ENTRY_SZ, end };
	if (from_signal)
		x->known[x->known_cnt++] =
			(struct known){ from_signal - SIGNAL_RETURN_AHEAD, from_signal + SIGNAL_RETURN_SZ, signal_frame };
	for (size_t i = 0; i < n; i++) {
		x->known[x->known_cnt++] = (struct known){ go[i].ret - 1, go[i].ret, row_of_switch(&x->w, &go[i]) };
	}
	gather_plt(x, &x->bottom->plt);
	qsort(x->known, x->known_cnt, sizeof(*x->known), by_address);
}

static int write_gap(struct fde_ctx *x, uint64_t lo, uint64_t hi)
{
	int rc = row_write(&x->w, lo, none);
	for (size_t i = 0; i < x->known_cnt && !rc; i++) {
		const struct known *k = &x->known[i];
		if (k->lo < lo || k->lo >= hi)
			continue;
		rc = row_write(&x->w, k->lo, k->row);
		bool ends = k->hi < hi && (i + 1 == x->known_cnt || k[1].lo >= k->hi);
		if (!rc && ends)
			rc = row_write(&x->w, k->hi, none);
	}
	return rc;
}

static bool holds_known(const struct fde_ctx *x, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < x->known_cnt; i++) {
		if (x->known[i].lo >= lo && x->known[i].lo < hi)
			return true;
	}
	return false;
}

/* Code that functions started by makecontext return to. It is looked up one byte before, as if there were a call. */
static int write_context(struct fde_ctx *x, const struct eh_frame *f, size_t i)
{
	const struct eh_fde *fde = &f->fdes[i];
	bool apart = i && f->fdes[i - 1].hi < fde->lo;
	return row_write(&x->w, fde->lo - apart, end);
}

static int write_all(struct fde_ctx *x, const struct eh_frame *f, struct err *err)
{
	int rc = write_gap(x, x->w.t->page0 << ALYS_PAGE_SHIFT, f->fdes_cnt ? f->fdes[0].lo : x->w.pages_end);
	for (size_t i = 0; !rc && i < f->fdes_cnt; i++) {
		const struct eh_fde *fde = &f->fdes[i];
		bool context = x->bottom && bottom_is_context(x->bottom, fde->lo, fde->hi);
		rc = context ? write_context(x, f, i) : write_fde(x, f, fde);
		if (rc == -EBADMSG)
			return err_set(err, EBADMSG, ".eh_frame: damaged program for the code at %#llx",
				       (unsigned long long)fde->lo);
		uint64_t next = i + 1 == f->fdes_cnt ? x->w.pages_end : f->fdes[i + 1].lo;
		bool gap = i + 1 == f->fdes_cnt || next - fde->hi >= GAP_MIN || (next > fde->hi && holds_known(x, fde->hi, next));
		if (!rc && gap && fde->hi < x->w.pages_end)
			rc = write_gap(x, fde->hi, next);
	}
	return rc ? err_set(err, -rc, ".eh_frame: out of memory") : 0;
}

/* What is described, with the PLT, which is beside it. */
static void narrow(const struct eh_frame *f, const struct bottom *b, uint64_t *lo, uint64_t *hi)
{
	uint64_t text_lo = *lo, text_hi = *hi;
	if (!f->fdes_cnt)
		return;
	*lo = f->fdes[0].lo;
	*hi = f->fdes[f->fdes_cnt - 1].hi;
	if (!b || !b->plt.hi || b->plt.lo < text_lo || b->plt.hi > text_hi)
		return;
	if (b->plt.lo < *lo)
		*lo = b->plt.lo;
	if (b->plt.hi > *hi)
		*hi = b->plt.hi;
}

/* lo, hi: the code. */
static int compile(struct unwind_table *t, const struct eh_frame *f, const struct bottom *b, uint64_t lo, uint64_t hi,
		   struct err *err)
{
	struct fde_ctx x = { .machine = f->machine, .f = f, .bottom = b };
	narrow(f, b, &lo, &hi);
	int rc = row_writer_open(&x.w, t, lo, hi);
	if (rc)
		return err_set(err, -rc, ".eh_frame: out of memory");
	if (b)
		gather_known(&x);
	t->machine = f->machine->elf;
	t->counts.fdes = f->fdes_cnt;
	t->counts.outside = f->outside;
	rc = write_all(&x, f, err);
	int closed = row_writer_close(&x.w);
	return rc ? rc : closed ? err_set(err, -closed, ".eh_frame: out of memory") : 0;
}

static struct unwind_table *compile_section(const struct unwind_section *s, const struct bottom *b, struct err *err)
{
	struct eh_frame f;
	struct unwind_table *t = NULL;
	if (s->text_hi < s->text_lo || s->text_hi - s->text_lo > SECTION_TEXT_MAX) {
		err_set(err, EFBIG, "more than a gigabyte of code");
		return NULL;
	}
	int rc = eh_frame_read(&f, s, err);
	if (!rc && !f.fdes_cnt && !(b && b->signal_return))
		rc = err_set(err, ENODATA, ".eh_frame: describes no code");
	if (!rc && !(t = calloc(1, sizeof(*t))))
		rc = err_set(err, ENOMEM, ".eh_frame: out of memory");
	if (!rc)
		rc = compile(t, &f, b, s->text_lo, s->text_hi, err);
	eh_frame_free(&f);
	if (!rc)
		return t;
	unwind_free(t);
	return NULL;
}

struct unwind_table *unwind_compile_section(const struct unwind_section *s, struct err *err)
{
	return compile_section(s, NULL, err);
}

struct unwind_table *unwind_compile(const struct elf *e, struct err *err)
{
	struct unwind_section s;
	struct bottom b;
	bottom_find(e, &b);
	struct err why = { 0 };
	int rc = section_find(e, &s, &why);
	/* aarch64's vdso has no unwind information, but handlers return there. */
	if (!rc || (rc == -ENODATA && b.signal_return))
		return compile_section(&s, &b, err);
	err_set(err, why.code, "%s", why.text);
	return NULL;
}
