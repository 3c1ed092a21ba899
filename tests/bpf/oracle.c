/* SPDX-License-Identifier: Apache-2.0 */
/* See oracle.h. */
#include "oracle.h"

#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/pac.h"

struct oracle {
	Dwfl *dwfl;
	const struct snap *snap;
	uint64_t regs[SNAP_REGS]; /* where libdw begins */
	uint32_t begun_at;        /* the frame that has them */
	struct oracle_stack *out;
	uint64_t vdso_lo, vdso_hi;
	uint64_t signal_sp; /* of the frame in the vdso at which it came to a signal frame; 0 = to none */
};

static int no_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)mod, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)path;
	return -1;
}

static const Dwfl_Callbacks files = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = no_debuginfo,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	struct oracle *o = arg;
	if (*thread)
		return 0;
	*thread = o;
	return (pid_t)o->snap->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl, (void)tid;
	*thread = arg;
	return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *word, void *arg)
{
	(void)dwfl;
	struct oracle *o = arg;
	uint64_t off = addr - o->snap->stack_at;
	if (off > sizeof(o->snap->stack) || off + 8 > o->snap->pages * 4096ull) {
		o->out->cut = true;
		return false;
	}
	memcpy(word, (const uint8_t *)o->snap->stack + off, 8);
	*word &= ~pac_mask(); /* libdw of Debian 12 does not know of signatures */
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct oracle *o = arg;
	Dwarf_Word regs[SNAP_REGS];
	for (int i = 0; i < SNAP_REGS; i++)
		regs[i] = o->regs[i];
	dwfl_thread_state_register_pc(thread, regs[SNAP_IP]);
	return dwfl_thread_state_registers(thread, 0, SNAP_IP, regs);
}

static const Dwfl_Thread_Callbacks threads = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

struct oracle *oracle_new(uint32_t tgid, const char *maps)
{
	struct oracle *o = calloc(1, sizeof(*o));
	FILE *f = fmemopen((void *)maps, strlen(maps), "r");
	if (!o || !f || !(o->dwfl = dwfl_begin(&files)))
		abort();
	bool ok = dwfl_linux_proc_maps_report(o->dwfl, f) == 0 && dwfl_report_end(o->dwfl, NULL, NULL) == 0 &&
		  dwfl_attach_state(o->dwfl, NULL, (pid_t)tgid, &threads, o);
	fclose(f);
	const char *line = strstr(maps, "[vdso]");
	while (line && line > maps && line[-1] != '\n')
		line--;
	if (line)
		sscanf(line, "%lx-%lx", &o->vdso_lo, &o->vdso_hi);
	if (ok)
		return o;
	fprintf(stderr, "libdw: %s\n", dwfl_errmsg(-1));
	oracle_free(o);
	return NULL;
}

void oracle_free(struct oracle *o)
{
	if (o)
		dwfl_end(o->dwfl);
	free(o);
}

/* Handlers return there; nothing is called there, but its functions are interrupted. */
static bool is_signal_frame(const struct oracle *o, uint64_t pc)
{
	return SNAP_SIGNAL_REGS && o->out->n > o->begun_at + 1 && pc >= o->vdso_lo && pc < o->vdso_hi;
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct oracle *o = arg;
	struct oracle_stack *out = o->out;
	Dwarf_Addr pc;
	bool activation;
	/* Behind what it could not read libdw guesses: on aarch64 it takes x30 for the return address. */
	if (out->cut)
		return DWARF_CB_ABORT;
	if (!dwfl_frame_pc(frame, &pc, &activation) || out->n == ALYS_MAX_FRAMES)
		return DWARF_CB_ABORT;
	/* The return address 0 of a fiber's outermost frame is not a frame. */
	if (!pc)
		return DWARF_CB_ABORT;
	out->at[out->n].pc = pc;
	out->at[out->n++].interrupted = activation;
	if (!is_signal_frame(o, pc))
		return DWARF_CB_OK;
	dwfl_frame_reg(frame, SNAP_SP, &o->signal_sp);
	return DWARF_CB_ABORT;
}

static bool has_table(struct oracle *o, uint64_t pc)
{
	Dwarf_Addr bias = 0;
	Dwarf_Frame *frame = NULL;
	Dwfl_Module *mod = dwfl_addrmodule(o->dwfl, pc);
	Dwarf_CFI *cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;
	bool has = cfi && !dwarf_cfi_addrframe(cfi, pc - bias, &frame);
	free(frame);
	return has;
}

/* The interrupted registers, from the kernel's frame. In a PLT or the vdso libdw would guess again. */
static bool leave_signal_frame(struct oracle *o)
{
	uint64_t at = o->signal_sp + SNAP_SIGNAL_REGS;
	for (int i = 0; i < SNAP_REGS; i++) {
		if (!read_word(NULL, at + 8ul * i, &o->regs[i], o))
			return false;
	}
	o->out->cut = !has_table(o, o->regs[SNAP_IP]);
	return !o->out->cut;
}

void oracle_unwind(struct oracle *o, const struct snap *s, struct oracle_stack *out)
{
	o->snap = s;
	o->out = out;
	out->n = 0;
	out->cut = false;
	memcpy(o->regs, s->regs, sizeof(o->regs));
	do {
		uint32_t n = o->begun_at = out->n;
		o->signal_sp = 0;
		dwfl_getthread_frames(o->dwfl, (pid_t)s->tid, on_frame, o);
		out->at[n].interrupted |= n > 0;
	} while (o->signal_sp && leave_signal_frame(o));
}

/* The walk reports the frame interrupted by a signal as pc + 1, so that pc - 1 can be looked up for all callers. */
static bool same_frame(const struct oracle_stack *truth, const struct snap *s, uint32_t i)
{
	uint64_t pc = truth->at[i].pc;
	return s->ips[i] == pc || (i && truth->at[i].interrupted && s->ips[i] == pc + 1);
}

enum calibration_outcome oracle_compare(const struct oracle_stack *truth, const struct snap *s)
{
	uint32_t n = truth->n < s->n ? truth->n : s->n;
	for (uint32_t i = 0; i < n; i++) {
		if (!same_frame(truth, s, i))
			return CALIBRATION_DIFFERS;
	}
	if (truth->n == s->n || (s->end == ALYS_STOP_TRUNCATED && s->n < truth->n))
		return CALIBRATION_EQUAL;
	return truth->cut && truth->n < s->n ? CALIBRATION_CUT : CALIBRATION_DIFFERS;
}
