/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verifier's results for each BPF program in each mode of walking stacks, and with windows, as lines
 * "MODE PROGRAM INSTRUCTIONS STACK+STACK+... own|-" for scripts/check-insns: own if it keeps its own stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>

#include "alys.h"
#include "alys.skel.h"

#define LOG_STATS 4
#define ATTACH_UPROBE_SESSION 57 /* BPF_TRACE_UPROBE_SESSION, newer than libbpf 1.1 */

static const struct mode {
	const char *name;
	uint8_t walk;
	bool windowed; /* and sampled */
} modes[] = {
	{ "kernel", ALYS_WALK_KERNEL, false },
	{ "tables", ALYS_WALK_TABLES, false },
	{ "sleep", ALYS_WALK_SLEEP, false },
	{ "windows", ALYS_WALK_SLEEP, true },
};

static char log_text[1 << 20];

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level, (void)fmt, (void)ap;
	return 0;
}

/* Programs at tracepoints of pages and system calls walk with tables only. Whole calls are seen in exact recordings only. */
static bool is_judged(const struct bpf_program *p, const struct mode *m)
{
	const char *section = bpf_program__section_name(p);
	bool anywhere = !strcmp(section, "raw_tp/rss_stat") || !strcmp(section, "raw_tp/page_fault_user") ||
			!strcmp(section, "raw_tp/sys_exit");
	if (m->windowed && !strncmp(bpf_program__name(p), "whole_", 6))
		return false;
	return !strncmp(section, "uprobe", 6) || (anywhere && m->walk == ALYS_WALK_TABLES);
}

static bool is_tail_call(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL) && !i->src_reg && i->imm == BPF_FUNC_tail_call;
}

/* See keep_own_stack. */
static bool keeps_own_stack(const struct bpf_program *p)
{
	const struct bpf_insn *insns = bpf_program__insns(p);
	for (size_t i = 0; i < bpf_program__insn_cnt(p); i++) {
		if (is_tail_call(&insns[i]))
			return true;
	}
	return false;
}

/* Known of x86-64 only: since 6.13. */
static bool gives_private_stacks(void)
{
	struct utsname u;
	int major, minor;
	return !uname(&u) && !strcmp(u.machine, "x86_64") && sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 13));
}

static void drop_tail_call(struct bpf_program *p)
{
	size_t n = bpf_program__insn_cnt(p);
	struct bpf_insn *insns = calloc(n, sizeof(*insns));
	if (!insns)
		exit(2);
	memcpy(insns, bpf_program__insns(p), n * sizeof(*insns));
	for (size_t i = 0; i < n; i++) {
		if (is_tail_call(&insns[i]))
			insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 };
	}
	if (bpf_program__set_insns(p, insns, n))
		exit(2);
	free(insns);
}

/* What the program says that is run before each recording. */
static bool is_on_own_stack(bool has_tail_call)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct alys_bpf *s = alys_bpf__open();
	struct bpf_program *p;
	if (!s)
		exit(2);
	bpf_object__for_each_program(p, s->obj) {
		bpf_program__set_autoload(p, p == s->progs.is_on_own_stack);
	}
	if (!has_tail_call)
		drop_tail_call(s->progs.is_on_own_stack);
	if (alys_bpf__load(s) || bpf_prog_test_run_opts(bpf_program__fd(s->progs.is_on_own_stack), &opts))
		exit(2);
	alys_bpf__destroy(s);
	return opts.retval;
}

static void say(const char *mode, const char *name, bool own, int rc)
{
	const char *insns = strstr(log_text, "processed "), *stack = strstr(log_text, "stack depth ");
	unsigned int n;
	char depths[256];
	if (rc || !insns || !stack || sscanf(insns, "processed %u", &n) != 1 || sscanf(stack, "stack depth %255s", depths) != 1)
		printf("%s %s refused %d\n", mode, name, rc);
	else
		printf("%s %s %u %s %s\n", mode, name, n, depths, own ? "own" : "-");
}

/* One program at a time: the log is the last loaded program's. */
static void verify(const struct mode *m, const char *name)
{
	struct alys_bpf *s = alys_bpf__open();
	struct bpf_program *p;
	bool own = false;
	if (!s)
		exit(2);
	s->rodata->config.walk = m->walk;
	s->rodata->config.recall = ALYS_RECALL_ALIKE;
	s->rodata->config.known_stacks = bpf_map__max_entries(s->maps.known_stacks);
	s->rodata->config.walk_slots = bpf_map__max_entries(s->maps.walk_slots);
	s->rodata->config.windowed = m->windowed;
	s->rodata->config.interval = m->windowed;
	s->rodata->config.preempt_off = 1;
	s->rodata->config.hit_context = 1;
	s->rodata->config.ring_sz = 1 << 20; /* as the map is, see maps.bpf.h */
	s->rodata->config.max_frames = 256;
	s->rodata->config.free_stacks = 1;
	bpf_object__for_each_program(p, s->obj) {
		bool wanted = !strcmp(bpf_program__name(p), name);
		bpf_program__set_autoload(p, wanted);
		if (!wanted)
			continue;
		own = keeps_own_stack(p);
		if (strstr(name, "_session"))
			bpf_program__set_expected_attach_type(p, (enum bpf_attach_type)ATTACH_UPROBE_SESSION);
		if (m->walk == ALYS_WALK_SLEEP)
			bpf_program__set_flags(p, BPF_F_SLEEPABLE);
		bpf_program__set_log_level(p, LOG_STATS);
		bpf_program__set_log_buf(p, log_text, sizeof(log_text));
	}
	log_text[0] = 0;
	int rc = alys_bpf__load(s);
	say(m->name, name, own, rc);
	alys_bpf__destroy(s);
}

int main(void)
{
	libbpf_set_print(quiet);
	struct alys_bpf *s = alys_bpf__open();
	struct bpf_program *p;
	if (!s)
		return 2;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		bpf_object__for_each_program(p, s->obj) {
			if (is_judged(p, &modes[i]))
				verify(&modes[i], bpf_program__name(p));
		}
	}
	alys_bpf__destroy(s);
	if (is_on_own_stack(true) && !(gives_private_stacks() && is_on_own_stack(false)))
		return 0;
	fprintf(stderr, "insns: the tail call does not decide which stack a program has\n");
	return 1;
}
