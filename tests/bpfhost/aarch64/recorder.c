/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of aarch64 stacks (snapshot.h) become records (record.h): libdw unwinds them, with signatures stripped from
 * all that it reads, because it does not know them. Run by record in this folder. argv: snapshot, record.
 */
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alys.h"
#include "bpfhost/aarch64/snapshot.h"
#include "bpfhost/record_write.h"
#include "lib/foreign_elf.h"

#define PC_REGS 32 /* x0 to x30, sp */

struct taken {
	struct snapshot s;
	Dwfl *dwfl;
	__u64 ips[ALYS_MAX_FRAMES];
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

static struct unwind_table *rows_at(const struct record *r, uint64_t addr, uint64_t *vaddr)
{
	GElf_Addr bias = 0;
	const struct taken *t = r->ctx;
	Dwfl_Module *mod = dwfl_addrmodule(t->dwfl, addr);
	Elf *elf = mod ? dwfl_module_getelf(mod, &bias) : NULL;
	*vaddr = addr - bias;
	return elf ? foreign_rows(elf, EM_AARCH64, NULL) : NULL;
}

static bool write_record(const struct taken *t, const char *path)
{
	const struct record r = {
		.ip = t->s.ip,
		.sp = t->s.sp,
		.fp = t->s.fp,
		.cfa = t->s.sp,
		.has_link = true,
		.link = t->s.link,
		.pac_mask = t->s.pac_mask,
		.ips = t->ips,
		.n = t->n,
		.end = ALYS_STOP_COMPLETE,
		.stack = t->s.stack,
		.stack_sz = sizeof(t->s.stack),
		.rows_at = rows_at,
		.ctx = t,
	};
	return record_write(&r, path);
}

int main(int argc, char **argv)
{
	static struct taken t;
	FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
	if (!in || fread(&t.s, sizeof(t.s), 1, in) != 1)
		return 1;
	unwind(&t, in);
	printf("%s: %u frames\n", argv[2], t.n);
	return t.n < 4 || !write_record(&t, argv[2]);
}
