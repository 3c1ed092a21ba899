/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/dump: a table as text, to be compared by eye with readelf --debug-dump=frames-interp. */
#include <errno.h>

#include "unwind/cfi.h"
#include "unwind/unwind.h"

static void print_cfa(FILE *out, const struct cfi_machine *m, const struct alys_spec *r)
{
	const char *base = r->base_bp ? m->bp_name : m->sp_name;
	char text[64];
	if (r->deref && r->far)
		snprintf(text, sizeof(text), "g(%s%+d)-*(%s%+d)%+d", m->sp_name, r->far - ALYS_SPEC_GO, base, r->off, r->add);
	else if (!r->deref)
		snprintf(text, sizeof(text), "%s%+d", base, r->off);
	else if (r->add)
		snprintf(text, sizeof(text), "*(%s%+d)%+d", base, r->off, r->add);
	else
		snprintf(text, sizeof(text), "*(%s%+d)", base, r->off);
	fprintf(out, "%-20s ", text);
}

static void print_rule(FILE *out, const struct cfi_machine *m, const struct alys_spec *r)
{
	const char *const base[] = { "", "c", m->bp_name, m->sp_name };
	print_cfa(out, m, r);
	if (r->bp == ALYS_SPEC_BP_SAME)
		fprintf(out, "%-10s ", "u");
	else
		fprintf(out, "%s%-+9d ", base[r->bp], r->bp_off);
	if (r->ra_off)
		fprintf(out, "c%+d\n", r->ra_off);
	else
		fprintf(out, "u\n");
}

static void print_row(FILE *out, const struct cfi_machine *m, const struct unwind_row *row)
{
	static const char *const words[] = { "(none)", "(end of stack)", "(plt)", "(signal frame)", NULL };
	fprintf(out, "%016llx ", (unsigned long long)row->from);
	if (row->kind == ALYS_ROW_SPEC)
		print_rule(out, m, &row->rule);
	else if (row->kind == ALYS_ROW_UNSUPPORTED)
		fprintf(out, "(unsupported: %s)\n", unwind_why(row->aux));
	else
		fprintf(out, "%s\n", words[row->kind]);
}

static void print_counts(FILE *out, const struct unwind_table *t)
{
	const struct unwind_counts *c = &t->counts;
	fprintf(out, "%zu rows, %zu bytes; from %llu FDEs, %llu for other code left out\n", t->rows_cnt, unwind_size(t),
		(unsigned long long)c->fdes, (unsigned long long)c->outside);
	fprintf(out, "plain %llu, special %llu, none %llu, end %llu, plt %llu, signal %llu\n", (unsigned long long)c->plain,
		(unsigned long long)c->spec, (unsigned long long)c->none, (unsigned long long)c->end, (unsigned long long)c->plt,
		(unsigned long long)c->signal);
	for (uint32_t i = 0; i < ALYS_ROW_WHY_CNT; i++) {
		if (c->unsupported[i])
			fprintf(out, "unsupported, %s: %llu\n", unwind_why(i), (unsigned long long)c->unsupported[i]);
	}
}

int unwind_dump(const struct unwind_table *t, FILE *out)
{
	struct unwind_row row;
	const struct cfi_machine *m = cfi_machine_of(t->machine);
	fprintf(out, "%-16s %-20s %-10s ra\n", "   LOC", "CFA", m->bp_name);
	for (size_t p = 0; p < t->pages_cnt; p++) {
		uint64_t page = (t->page0 + p) << ALYS_PAGE_SHIFT;
		for (uint32_t i = t->pages[p]; i < t->pages[p + 1]; i++) {
			unwind_row_at(t, page | t->rows[i] >> ALYS_ROW_PC_SHIFT, &row);
			print_row(out, m, &row);
		}
	}
	print_counts(out, t);
	return ferror(out) ? -EIO : 0;
}
