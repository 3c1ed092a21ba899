/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of aarch64 stacks (snapshot.h) become records (record.h): libdw unwinds them, with signatures stripped from
 * all that it reads, because it does not know them. Run by record in this folder. argv: snapshot, record.
 */
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alys.h"
#include "base/buf.h"
#include "bpfhost/aarch64/snapshot.h"
#include "bpfhost/record.h"
#include "lib/foreign_elf.h"

#define PC_REGS 32 /* x0 to x30, sp */

struct taken {
	struct snapshot s;
	Dwfl *dwfl;
	uint64_t ips[ALYS_MAX_FRAMES];
	uint32_t n;
};

static int no_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base, const char *file, const char *link,
			GElf_Word crc, char **path)
{
	(void)mod, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)path;
	return -1;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = arg;
	return 1;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *word, void *arg)
{
	(void)dwfl;
	const struct taken *t = arg;
	uint64_t off = addr - t->s.sp;
	if (off > sizeof(t->s.stack) - 8)
		return false;
	memcpy(word, t->s.stack + off, 8);
	*word &= ~t->s.pac_mask;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct taken *t = arg;
	Dwarf_Word regs[PC_REGS] = { [29] = t->s.fp, [30] = t->s.link & ~t->s.pac_mask, [31] = t->s.sp };
	dwfl_thread_state_register_pc(thread, t->s.ip);
	return dwfl_thread_state_registers(thread, 0, PC_REGS, regs);
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct taken *t = arg;
	Dwarf_Addr pc;
	if (!dwfl_frame_pc(frame, &pc, NULL) || !pc || t->n == ALYS_MAX_FRAMES)
		return DWARF_CB_ABORT;
	t->ips[t->n++] = pc;
	return DWARF_CB_OK;
}

static void unwind(struct taken *t, FILE *maps)
{
	static const Dwfl_Callbacks files = { .find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = no_debuginfo };
	static const Dwfl_Thread_Callbacks threads = {
		.next_thread = next_thread,
		.memory_read = read_word,
		.set_initial_registers = set_registers,
	};
	t->dwfl = dwfl_begin(&files);
	if (!t->dwfl || dwfl_linux_proc_maps_report(t->dwfl, maps) || dwfl_report_end(t->dwfl, NULL, NULL) ||
	    !dwfl_attach_state(t->dwfl, NULL, 1, &threads, t)) {
		fprintf(stderr, "libdw: %s\n", dwfl_errmsg(-1));
		exit(1);
	}
	dwfl_getthread_frames(t->dwfl, 1, on_frame, t);
}

/* Up to the last return address. */
static uint32_t stack_needed(const struct taken *t)
{
	uint32_t needed = 0;
	for (uint32_t at = 0; at + 8 <= sizeof(t->s.stack); at += 8) {
		uint64_t word;
		memcpy(&word, t->s.stack + at, 8);
		if ((word & ~t->s.pac_mask) == t->ips[t->n - 1])
			needed = at + 8;
	}
	return needed;
}

static bool add_page(struct buf *out, const struct taken *t, uint64_t page)
{
	GElf_Addr bias = 0;
	Dwfl_Module *mod = dwfl_addrmodule(t->dwfl, page);
	Elf *elf = mod ? dwfl_module_getelf(mod, &bias) : NULL;
	struct unwind_table *rows = elf ? foreign_rows(elf, EM_AARCH64, NULL) : NULL;
	uint64_t i = rows ? ((page - bias) >> ALYS_PAGE_SHIFT) - rows->page0 : 0;
	bool found = rows && i < rows->pages_cnt;
	if (found) {
		uint32_t n = rows->pages[i + 1] - rows->pages[i];
		buf_le(out, page, 8);
		buf_le(out, n, 4);
		buf_le(out, rows->specs_cnt, 4);
		buf_add(out, rows->rows + rows->pages[i], n * sizeof(uint32_t));
		buf_add(out, rows->specs, rows->specs_cnt * sizeof(*rows->specs));
	}
	unwind_free(rows);
	return found;
}

static uint32_t add_pages(struct buf *out, const struct taken *t)
{
	uint64_t seen[ALYS_MAX_FRAMES];
	uint32_t seen_cnt = 0, added = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		uint64_t page = (i ? t->ips[i] - 1 : t->ips[0]) & ~4095ull;
		bool known = false;
		for (uint32_t k = 0; k < seen_cnt; k++)
			known |= seen[k] == page;
		if (known)
			continue;
		seen[seen_cnt++] = page;
		added += add_page(out, t, page);
	}
	return added;
}

static void write_record(const struct taken *t, FILE *f)
{
	struct buf out = { 0 }, pages = { 0 };
	uint32_t needed = stack_needed(t);
	buf_adds(&out, RECORD_MAGIC_ARM64);
	buf_le(&out, t->s.ip, 8);
	buf_le(&out, t->s.sp, 8);
	buf_le(&out, t->s.fp, 8);
	buf_le(&out, t->s.sp, 8); /* the CFA */
	buf_le(&out, t->s.link, 8);
	buf_le(&out, t->s.pac_mask, 8);
	buf_le(&out, t->n, 4);
	buf_le(&out, ALYS_STOP_COMPLETE, 4);
	buf_add(&out, t->ips, t->n * 8);
	buf_le(&out, t->s.sp, 8);
	buf_le(&out, needed, 4);
	buf_add(&out, t->s.stack, needed);
	buf_le(&out, add_pages(&pages, t), 4);
	buf_add(&out, pages.data, pages.len);
	fwrite(out.data, out.len, 1, f);
	buf_free(&out);
	buf_free(&pages);
}

int main(int argc, char **argv)
{
	static struct taken t;
	FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL, *out = in ? fopen(argv[2], "wb") : NULL;
	if (!out || fread(&t.s, sizeof(t.s), 1, in) != 1)
		return 1;
	unwind(&t, in);
	write_record(&t, out);
	printf("%s: %u frames, %u bytes of stack\n", argv[2], t.n, stack_needed(&t));
	return fclose(out) || t.n < 4;
}
