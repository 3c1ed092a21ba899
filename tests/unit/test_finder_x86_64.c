/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites: over the allocators that Debian packages. What is claimed about a site is checked
 * against the bytes, objdump and the unwind tables; test_probe_work.c watches the sites at work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sites_checks.h"

/* The kernel's rule, spelled in bytes: the finder itself asks a disassembler. */
static bool emulated_bytes(const uint8_t *b)
{
	return (b[0] & 0xf8) == 0x50 || (b[0] == 0x41 && (b[1] & 0xf8) == 0x50) || b[0] == 0xe8 || b[0] == 0xe9 || b[0] == 0xeb ||
	       (b[0] & 0xf0) == 0x70 || (b[0] == 0x0f && (b[1] & 0xf0) == 0x80) || b[0] == 0x90;
}

static bool is_no_ret(const struct opened *o, const struct site_exit *x)
{
	(void)o;
	return x->emulated;
}

static bool is_covered_by(const struct site *s, const char *function)
{
	size_t rows;
	return s->why.choice == ENTRY_COVERED && !strcmp(allocators(&rows)[s->why.by].symbol, function);
}

static void check_site(const struct opened *o, const struct site *s)
{
	assert_true(s->state != SITE_PROBED || s->emulated || s->why.choice);
	if (s->state != SITE_PROBED) {
		assert_true(s->why.choice);
		return;
	}
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	const uint8_t *b = elf_bytes(o->elf, s->vaddr, 2), *five = elf_bytes(o->elf, s->vaddr, sizeof(nop5));
	assert_non_null(b);
	assert_true(!five || memcmp(five, nop5, sizeof(nop5)));
	assert_int_equal(emulated_bytes(b), s->emulated);
	assert_true(!s->return_probe || s->cfa_off == 8);
	assert_true(!s->return_probe || !s->row->runs_user_code);
	expect_placed(o, s);
}

static void check_exit(const struct opened *o, const struct site_exit *x, bool cheap)
{
	const uint8_t *b = elf_bytes(o->elf, x->vaddr, 2);
	assert_non_null(b);
	expect_exit_placed(o, x);
	if (x->emulated) {
		/* A jump to memset has the result, too. */
		assert_true((cheap || b[0] == 0xe9 || b[0] == 0xeb) && emulated_bytes(b));
	} else {
		assert_true(b[0] == 0xc3 || (b[0] == 0xf3 && b[1] == 0xc3));
		assert_int_equal(x->cfa_off, 8);
		assert_int_equal(x->reg, ALYS_REG_RAX);
		assert_true(!cheap || x->why.choice);
	}
}

static void test_every_library(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIBRARIES; i++) {
		for (int cheap = 0; cheap < 2; cheap++) {
			struct sites_options opts = { .cheap_exits = cheap };
			struct opened o;
			open_sites(&o, libraries[i], &opts);
			assert_true(o.list.sites_cnt >= 9);
			for (size_t k = 0; k < o.list.sites_cnt; k++)
				check_site(&o, &o.list.sites[k]);
			for (size_t k = 0; k < o.list.exits_cnt; k++) {
				check_exit(&o, &o.list.exits[k], cheap);
				for (size_t m = 0; m < k; m++)
					assert_true(o.list.exits[m].vaddr != o.list.exits[k].vaddr);
			}
			close_sites(&o);
		}
	}
}

/* A change from one to the other keeps the probes at entries. */
static void test_exits_do_not_move_entries(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIBRARIES; i++) {
		struct sites_options cheap = { .cheap_exits = true }, plain = { 0 };
		struct opened a, b;
		open_sites(&a, libraries[i], &cheap);
		open_sites(&b, libraries[i], &plain);
		assert_int_equal(a.list.sites_cnt, b.list.sites_cnt);
		for (size_t k = 0; k < a.list.sites_cnt; k++) {
			assert_int_equal(a.list.sites[k].state, b.list.sites[k].state);
			assert_int_equal(a.list.sites[k].vaddr, b.list.sites[k].vaddr);
			assert_int_equal(a.list.sites[k].cfa_off, b.list.sites[k].cfa_off);
		}
		close_sites(&a);
		close_sites(&b);
	}
}

static bool is_branch(int fd, uint64_t at)
{
	unsigned char b[2];
	assert_int_equal(pread(fd, b, sizeof(b), (off_t)at), sizeof(b));
	return (b[0] & 0xf0) == 0x70 || (b[0] == 0x0f && (b[1] & 0xf0) == 0x80);
}

static void test_known_places(void **state)
{
	struct sites_options opts = { .cheap_exits = true };
	struct opened o;
	(void)state;
	open_sites(&o, GLIBC, &opts);
	const struct site *s = site_named(&o.list, "malloc");
	assert_true(s && s->emulated && s->return_probe && s->vaddr == s->func);
	s = site_named(&o.list, "free");
	assert_true(s && s->emulated && s->vaddr > s->func && s->why.choice == ENTRY_PAST_NULL);
	assert_string_equal(o.list.provider, "glibc");
	assert_false(sites_collect(&o.list));
	close_sites(&o);

	open_sites(&o, LIBGC, &opts);
	s = site_named(&o.list, "GC_malloc_kind");
	assert_true(s && s->emulated && !s->return_probe);
	assert_true(s->why.choice == ENTRY_BRANCH && s->vaddr > s->func && is_branch(o.fd, s->vaddr));
	bool emulated = false;
	for (size_t i = 0; i < s->exits_cnt; i++)
		emulated |= o.list.exits[s->exits[i]].emulated;
	assert_true(emulated);
	assert_null(site_named(&o.list, "GC_malloc"));
	s = site_named(&o.list, "GC_free");
	assert_true(s && s->emulated && s->vaddr > s->func && s->why.choice == ENTRY_PAST_NULL);
	s = site_named(&o.list, "GC_malloc_uncollectable");
	assert_true(s && s->state == SITE_COVERED && is_covered_by(s, "GC_generic_malloc_uncollectable"));
	s = site_named(&o.list, "GC_realloc");
	for (size_t i = 0; i < s->exits_cnt; i++)
		assert_true(o.list.exits[s->exits[i]].emulated);
	assert_true(o.list.gc_no_vaddr && o.list.text_lo < s->func && o.list.text_hi > s->func);
	close_sites(&o);
}

static void test_filter_and_importers(void **state)
{
	struct sites_options opts = { .families = 1u << ALLOC_CXX };
	struct opened o;
	(void)state;
	open_sites(&o, JEMALLOC, &opts);
	assert_non_null(site_named(&o.list, "_Znwm"));
	assert_null(site_named(&o.list, "malloc"));
	close_sites(&o);
	/* Plain names belong to the family of the library that serves them. */
	opts.families = 1u << ALLOC_JEMALLOC;
	open_sites(&o, JEMALLOC, &opts);
	assert_non_null(site_named(&o.list, "malloc"));
	assert_null(site_named(&o.list, "_Znwm"));
	close_sites(&o);
	opts.families = 0;
	open_sites(&o, LIB "libstdc++.so.6", &opts);
	assert_int_equal(o.list.sites_cnt, 0);
	close_sites(&o);
}

static bool no_opinion(void *ctx, uint64_t vaddr, uint32_t *off)
{
	(void)vaddr;
	(*(int *)ctx)++;
	*off = 0;
	return false;
}

/* A table that knows nothing changes nothing. */
static void test_silent_table(void **state)
{
	int asked = 0;
	struct sites_options opts = { .cheap_exits = true, .cfa_at = no_opinion, .cfa_ctx = &asked };
	struct opened o;
	(void)state;
	open_sites(&o, LIBGC, &opts);
	assert_true(asked > 0 && site_named(&o.list, "GC_malloc_kind")->emulated);
	close_sites(&o);
}

/* A statically linked collector: its code is distinguished from the program's, whose calls must not look internal. */
static void test_static_collector(void **state)
{
	char dir[] = "/tmp/alys-sites-XXXXXX", path[128];
	struct sites_options opts = { .cheap_exits = true };
	struct opened o;
	(void)state;
	assert_non_null(mkdtemp(dir));
	build(dir,
	      "#include <gc.h>\nint user(void){ return GC_REALLOC(GC_MALLOC_ATOMIC(9), 30) == GC_MALLOC(3); }\n"
	      "int main(void){ GC_INIT(); GC_FREE(GC_MALLOC(4)); return user(); }\n",
	      "gcc -O2 -o %s %s -Wl,-Bstatic -lgc -Wl,-Bdynamic -lpthread -ldl", path, sizeof(path));
	open_sites(&o, path, &opts);
	const struct site *kind = site_named(&o.list, "GC_malloc_kind");
	const struct site *grow = site_named(&o.list, "GC_realloc");
	assert_true(kind && kind->emulated && grow && grow->emulated);
	assert_true(o.list.text_lo <= kind->func && kind->func < o.list.text_hi);
	assert_true(o.list.text_lo <= grow->func && grow->func + grow->size <= o.list.text_hi);
	struct {
		uint64_t user, entry;
	} at = { 0, 0 };
	char cmd[256], line[128];
	snprintf(cmd, sizeof(cmd), "nm %s", path);
	FILE *f = popen(cmd, "r");
	while (fgets(line, sizeof(line), f)) {
		char name[64] = "", type;
		uint64_t v;
		if (sscanf(line, "%" SCNx64 " %c %63s", &v, &type, name) != 3)
			continue;
		at.user = strcmp(name, "user") ? at.user : v;
		at.entry = strcmp(name, "main") ? at.entry : v;
	}
	assert_int_equal(pclose(f), 0);
	assert_true(at.user && (at.user < o.list.text_lo || at.user >= o.list.text_hi));
	assert_true(at.entry && (at.entry < o.list.text_lo || at.entry >= o.list.text_hi));
	close_sites(&o);
	remove_build(dir);
}

/* A program's own malloc is not trusted with return probes; an IFUNC is refused. */
static bool in_wrappers(const struct site_list *l, uint64_t vaddr)
{
	bool in = false;
	for (size_t i = 0; i < ALYS_MAX_WRAPPERS; i++)
		in |= vaddr >= l->wrappers[i].lo && vaddr < l->wrappers[i].hi;
	return in;
}

/* Every large block leaves there, wherever it was asked for: a single-stepped exit would be what costs. */
static void expect_cheap_end(const struct site_list *l)
{
	size_t generic = 0;
	for (size_t i = 0; i < l->exits_cnt; i++) {
		if (strcmp(l->exits[i].in, "GC_generic_malloc"))
			continue;
		generic++;
		assert_true(l->exits[i].emulated);
	}
	assert_true(generic > 0);
}

/* Blocks off the list of all threads are seen by one probe, the others as before, from the call that gets them. */
static void expect_direct(struct site_list *l)
{
	const struct site *large = site_named(l, "GC_malloc_kind_global");
	size_t before = large->exits_cnt, whole = 0;
	assert_true(large->late.at.vaddr > large->vaddr && large->late.at.vaddr < large->func + large->size);
	sites_use_whole(l, true);
	for (size_t i = 0; i < l->exits_cnt; i++) {
		const struct site_exit *x = &l->exits[i];
		if (!x->whole_call_of)
			continue;
		whole++;
		assert_ptr_equal(&l->sites[x->whole_call_of - 1], large);
		assert_true(x->emulated && x->whole.size_arg != x->whole.kind_arg && x->whole.size_arg != ALYS_ARG_IN(x->reg) &&
			    x->whole.kind_arg != ALYS_ARG_IN(x->reg));
	}
	assert_true(large->whole && whole > 0 && whole < before);
	/* Those of GC_generic_malloc are there for others, too. */
	const uint32_t *exits;
	size_t n = sites_exits(large, true, &exits);
	assert_true(large->at_callee && n > 0);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(l->exits[exits[i]].in, "GC_generic_malloc");
	assert_int_equal(large->vaddr, large->late.at.vaddr);
}

/* At refills: where lists are filled and where large blocks come from, instead of every call. */
static void test_refills(void **state)
{
	struct sites_options at_calls = { .cheap_exits = true };
	struct sites_options opts = { .cheap_exits = true, .refill = true };
	struct opened calls, o, plain;
	(void)state;
	open_sites(&calls, LIBGC, &at_calls);
	open_sites(&o, LIBGC, &opts);
	assert_int_equal(calls.list.at, SAMPLE_AT_CALL);
	assert_int_equal(o.list.at, SAMPLE_AT_REFILL);
	const struct site *kind = site_named(&calls.list, "GC_malloc_kind");
	const struct site *grow = site_named(&calls.list, "GC_realloc");
	const struct site *fill = site_named(&o.list, "GC_malloc_kind");
	const struct site *large = site_named(&o.list, "GC_malloc_kind_global");
	assert_true(kind && grow && fill && large && fill->emulated && large->emulated);
	assert_int_equal(site_named(&calls.list, "GC_generic_malloc_many")->row->shape, ALYS_SHAPE_BATCH);
	assert_null(site_named(&o.list, "GC_generic_malloc_many"));
	assert_int_equal(fill->row->shape, ALYS_SHAPE_REFILL);
	assert_null(site_named(&o.list, "GC_realloc"));
	assert_null(site_named(&o.list, "GC_free"));
	assert_int_equal(fill->exits_cnt, 0);
	assert_true(fill->vaddr > kind->func && fill->vaddr < kind->func + kind->size);
	assert_true(fill->cfa_off > 8);
	/* What the lists hang from survives the call that fills one: rbx, rbp, r12 to r15. */
	static const uint8_t kept[] = { ALYS_REG_RBX, ALYS_REG_RBP, 11, 12, 13, 14 };
	assert_non_null(memchr(kept, fill->reg, sizeof(kept)));
	assert_true(in_wrappers(&o.list, grow->func) && !in_wrappers(&calls.list, grow->func));
	expect_cheap_end(&o.list);
	expect_direct(&o.list);
	close_sites(&o);
	open_sites(&o, LIBGC, &opts);
	/* What such a file is tried against: the same probes, and ways out of the large blocks' function only. */
	opts.cheap_exits = false;
	open_sites(&plain, LIBGC, &opts);
	assert_int_equal(plain.list.at, SAMPLE_AT_REFILL);
	assert_int_equal(plain.list.sites_cnt, o.list.sites_cnt);
	for (size_t i = 0; i < o.list.sites_cnt; i++)
		assert_int_equal(plain.list.sites[i].vaddr, o.list.sites[i].vaddr);
	for (size_t i = 0; i < plain.list.exits_cnt; i++)
		assert_true(plain.list.exits[i].vaddr - kind->func >= kind->size);
	opts.cheap_exits = true;
	close_sites(&plain);
	close_sites(&o);
	close_sites(&calls);

	open_sites(&o, GLIBC, &opts);
	assert_int_equal(o.list.at, SAMPLE_AT_CALL);
	assert_non_null(site_named(&o.list, "malloc"));
	close_sites(&o);
}

static void test_own_malloc(void **state)
{
	char dir[] = "/tmp/alys-sites-XXXXXX", path[128];
	struct sites_options opts = { 0 };
	struct opened o;
	(void)state;
	assert_non_null(mkdtemp(dir));
	build(dir,
	      "#include <stddef.h>\nstatic char pool[4096]; static size_t used; void (*hook)(void);\n"
	      "__attribute__((noinline)) void *malloc(size_t n){ if (hook) hook(); void *p = pool + used; used += n; return p; "
	      "}\n"
	      "void *operator_new(size_t n) __asm__(\"_Znwm\"); void *operator_new(size_t n){ return malloc(n ? n : 1); }\n"
	      "static void *one(size_t n){ return malloc(n); } static void *pick(void){ return one; }\n"
	      "void *valloc(size_t n) __attribute__((ifunc(\"pick\")));\nint main(void){ return !operator_new(3); }\n",
	      "gcc -O2 -fno-builtin -fno-optimize-sibling-calls -o %s %s", path, sizeof(path));
	open_sites(&o, path, &opts);
	const struct site *s = site_named(&o.list, "malloc");
	assert_true(s && s->state == SITE_PROBED && !s->return_probe && s->exits_cnt == 1);
	assert_null(o.list.provider);
	s = site_named(&o.list, "_Znwm");
	assert_true(s && s->state == SITE_COVERED && is_covered_by(s, "malloc"));
	s = site_named(&o.list, "valloc");
	assert_true(s && s->state == SITE_REFUSED && s->why.choice == ENTRY_IFUNC);
	close_sites(&o);
	remove_build(dir);
}

/* Functions made for it: where the result is and may be seen, and where it only seems so. */
static const char crafted[] = ".macro fn name\n.globl \\name\n.type \\name,@function\n\\name:\n.endm\n"
			      "fn helper\n ret\n.size helper,.-helper\n"
			      /* rcx does not survive the call */
			      "fn GC_malloc_kind\n call helper\n mov %rax,%rcx\n jmp 1f\n1: call helper\n mov %rcx,%rax\n ret\n"
			      ".size GC_malloc_kind,.-GC_malloc_kind\n"
			      /* rbx does */
			      "fn GC_realloc\n push %rbx\n call helper\n mov %rax,%rbx\n jmp 1f\n1: call helper\n mov %rbx,%rax\n"
			      " pop %rbx\n ret\n.size GC_realloc,.-GC_realloc\n"
			      /* but nested calls of a plain allocator would not be distinguished from outer ones */
			      "fn malloc\n push %rbx\n call helper\n mov %rax,%rbx\n jmp 1f\n1: call helper\n mov %rbx,%rax\n"
			      " pop %rbx\n ret\n.size malloc,.-malloc\n"
			      /* seen once per turn of the loop */
			      "fn GC_malloc_explicitly_typed\n push %rbx\n call helper\n mov %rax,%rbx\n1: dec %rcx\n jne 1b\n"
			      " mov %rbx,%rax\n pop %rbx\n ret\n.size GC_malloc_explicitly_typed,.-GC_malloc_explicitly_typed\n"
			      /* each way has it elsewhere: seen at neither jump alone, and behind their meeting it is too late */
			      "fn GC_memalign\n call helper\n test %rax,%rax\n je 2f\n mov %rax,%r8\n mov %rdi,%r9\n jmp 3f\n"
			      "2: mov %rsi,%r8\n3: mov %r8,%rax\n ret\n.size GC_memalign,.-GC_memalign\n"
			      /* a jump table: unknown ways lead to its end */
			      "fn calloc\n push %rbx\n mov %rdi,%rax\n jmp *%rsi\n mov %rdx,%rax\n jmp 1f\n1: pop %rbx\n ret\n"
			      ".size calloc,.-calloc\n";

static void expect_exit(const struct opened *o, const char *symbol, bool emulated, unsigned int reg)
{
	const struct site *s = site_named(&o->list, symbol);
	assert_true(s && s->state == SITE_PROBED);
	if (s->exits_cnt != 1)
		fail_msg("%s: %zu exits", symbol, s->exits_cnt);
	const struct site_exit *x = &o->list.exits[s->exits[0]];
	if (x->emulated != emulated || x->reg != reg)
		fail_msg("%s: %semulated, register %u", symbol, x->emulated ? "" : "not ", x->reg);
}

static void test_crafted(void **state)
{
	char dir[] = "/tmp/alys-sites-XXXXXX", path[128];
	struct sites_options opts = { .cheap_exits = true };
	struct opened o;
	(void)state;
	assert_non_null(mkdtemp(dir));
	build(dir, crafted, "gcc -shared -nostdlib -o %s -x assembler %s", path, sizeof(path));
	open_sites(&o, path, &opts);
	expect_exit(&o, "GC_malloc_kind", false, ALYS_REG_RAX);
	expect_exit(&o, "GC_realloc", true, ALYS_REG_RBX);
	expect_exit(&o, "malloc", false, ALYS_REG_RAX);
	expect_exit(&o, "GC_malloc_explicitly_typed", false, ALYS_REG_RAX);
	expect_exit(&o, "GC_memalign", false, ALYS_REG_RAX);
	expect_exit(&o, "calloc", false, ALYS_REG_RAX);
	close_sites(&o);
	remove_build(dir);
}

/* A function that begins with the nop that the kernel would make a call of, and has nothing that it emulates. */
static const char nops[] = ".text\n.globl malloc\n.type malloc,@function\nmalloc:\n.byte 0x0f,0x1f,0x44,0x00,0x00\n"
			   " lea 8(%rdi),%rax\n ret\n.size malloc,.-malloc\n";

static void test_no_probe_on_a_long_nop(void **state)
{
	char dir[] = "/tmp/alys-sites-XXXXXX", path[128];
	struct sites_options opts = { .cheap_exits = true };
	struct opened o;
	(void)state;
	assert_non_null(mkdtemp(dir));
	build(dir, nops, "gcc -shared -nostdlib -o %s -x assembler %s", path, sizeof(path));
	open_sites(&o, path, &opts);
	const struct site *s = site_named(&o.list, "malloc");
	assert_true(s && s->state == SITE_PROBED);
	assert_int_equal(s->vaddr - s->func, 5);
	close_sites(&o);
	remove_build(dir);
}

/* How operator new begins, and where it is probed: at a branch, unless rbp is lost before, or memory is set. */
static const struct {
	const char *begins;
	unsigned int at;
} prologues[] = {
	{ "push %rbx\n mov %rdi,%rbx\n test %rdi,%rdi\n je 1f\n pop %rbx\n ret\n", 7 },
	{ "push %rbx\n push %r12\n mov %rdi,%rbx\n test %rdi,%rdi\n je 2f\n pop %r12\n pop %rbx\n ret\n", 9 },
	{ "push %rbp\n mov %rsp,%rbp\n test %rdi,%rdi\n je 1f\n pop %rbp\n ret\n", 7 },
	{ "push %rbx\n xor %ebp,%ebp\n test %rdi,%rdi\n je 1f\n pop %rbx\n ret\n", 0 },
	{ "push %rbx\n lock incl (%rsi)\n je 1f\n pop %rbx\n ret\n", 0 },
	{ "push %rbx\n xor %edi,%edi\n test %rsi,%rsi\n je 1f\n pop %rbx\n ret\n", 0 },
};

static void test_branch_rather_than_push(void **state)
{
	struct sites_options opts = { .cheap_exits = true };
	(void)state;
	for (size_t i = 0; i < sizeof(prologues) / sizeof(*prologues); i++) {
		char dir[] = "/tmp/alys-sites-XXXXXX", path[128], source[512];
		struct opened o;
		assert_non_null(mkdtemp(dir));
		snprintf(source, sizeof(source),
			 ".text\n.globl _Znwm\n.type _Znwm,@function\n_Znwm:\n %s2: pop %%r12\n1: pop %%rbx\n mov %%rsi,%%rax\n"
			 " ret\n.size _Znwm,.-_Znwm\n",
			 prologues[i].begins);
		build(dir, source, "gcc -shared -nostdlib -o %s -x assembler %s", path, sizeof(path));
		open_sites(&o, path, &opts);
		const struct site *s = site_named(&o.list, "_Znwm");
		assert_true(s && s->state == SITE_PROBED && s->emulated);
		assert_int_equal(s->vaddr - s->func, prologues[i].at);
		close_sites(&o);
		remove_build(dir);
	}
}

static void test_print(void **state)
{
	struct sites_options opts = { .cheap_exits = true };
	struct opened o;
	struct buf b = { 0 };
	(void)state;
	open_sites(&o, LIBGC, &opts);
	sites_print(&o.list, &b);
	const char *text = buf_str(&b);
	assert_non_null(strstr(text, "GC_malloc_kind (libgc) at 0x"));
	assert_non_null(strstr(text, "emulated: first branch: "));
	assert_non_null(strstr(text, "emulated: first emulated instruction"));
	assert_non_null(strstr(text, "single-stepped ret: "));
	assert_non_null(strstr(text, "not probed: ends in "));
	buf_free(&b);
	close_sites(&o);
}

/* The part of a listing that is about one function, which must be there. */
static char *paragraph(const char *text, const char *function)
{
	const char *at = strstr(text, function), *end = at;
	assert_non_null(at);
	do
		end = strchr(end, '\n') + 1;
	while (*end == ' ');
	return strndup(at, (size_t)(end - at));
}

static void expect_words(const char *text, const char *function, const char *const *words, size_t n)
{
	char *of = paragraph(text, function);
	for (size_t i = 0; i < n; i++)
		assert_non_null(strstr(of, words[i]));
	free(of);
}

/* Only what is not as at calls, and where it goes. */
static void test_print_refills(void **state)
{
	static const char *const fill[] = {
		"seen once a refill",
		"in GC_malloc_kind, behind the refill",
		"the list in r",
	};
	static const char *const large[] = {
		"the whole call, size in r",
		"that no single exit sees whole",
		"exit  GC_generic_malloc+",
	};
	struct sites_options at_calls = { .cheap_exits = true };
	struct sites_options at_refills = { .cheap_exits = true, .refill = true };
	struct opened calls, refills;
	struct buf b = { 0 };
	(void)state;
	open_sites(&calls, LIBGC, &at_calls);
	open_sites(&refills, LIBGC, &at_refills);
	sites_use_whole(&refills.list, true);
	sites_print_refills(&calls.list, &refills.list, &b);
	const char *text = buf_str(&b);
	assert_ptr_equal(strstr(text, "with --sample-at refill instead of GC_malloc_kind, "), text);
	assert_non_null(strstr(text, ", GC_free:\n"));
	expect_words(text, "GC_malloc_kind (libgc) at 0x", fill, 3);
	expect_words(text, "GC_malloc_kind_global (libgc) at 0x", large, 3);
	assert_null(strstr(text, "GC_malloc_explicitly_typed (libgc)"));
	buf_free(&b);
	sites_print_refills(&calls.list, &calls.list, &b);
	assert_string_equal(buf_str(&b), "with --sample-at refill: the same, "
					 "no free lists of threads were found in it\n");
	buf_free(&b);
	close_sites(&refills);
	close_sites(&calls);

	open_sites(&calls, GLIBC, &at_calls);
	sites_print_refills(&calls.list, &calls.list, &b);
	assert_int_equal(b.len, 0);
	close_sites(&calls);
}

static void test_wire(void **state)
{
	struct sites_options opts = { .cheap_exits = true };
	struct opened o;
	struct alys_site wire;
	struct alys_object object;
	(void)state;
	open_sites(&o, LIBGC, &opts);
	const struct site *s = site_named(&o.list, "GC_malloc_kind");
	sites_fill_entry(s, 7, &wire);
	assert_true(wire.vaddr == s->vaddr && wire.cfa_off == s->cfa_off && wire.kind_arg == 1 && wire.object == 7 &&
		    (wire.flags & ALYS_SITE_GC_KIND) && (wire.flags & ALYS_SITE_LEAF) && wire.nest == ALYS_NEST_CALLER);
	sites_fill_object(&o.list, &object);
	assert_true(object.text_lo == o.list.text_lo && object.gc_no_vaddr == o.list.gc_no_vaddr);
	close_sites(&o);
}

/* The ways in which GC_malloc_kind takes from a thread's lists, read from its code. */
static void test_predictions(void **state)
{
	struct sites_options opts = { .cheap_exits = true };
	struct opened o;
	const uint32_t *exits;
	(void)state;
	open_sites(&o, LIBGC, &opts);
	const struct site *s = site_named(&o.list, "GC_malloc_kind");
	assert_true(s->predicted);
	assert_true(o.list.lists.kinds >= 2 && o.list.lists.per_kind > 8);
	assert_int_equal(o.list.lists.top, o.list.lists.counting + o.list.lists.per_kind + 1);
	assert_true(o.list.lists.tls_index_vaddr && o.list.lists.extra_vaddr);
	size_t slow = sites_exits(s, true, &exits), refills = 0;
	for (size_t i = 0; i < slow; i++)
		refills += o.list.exits[exits[i]].reg > ALYS_REG_LIST;
	assert_int_equal(refills, 1);
	/* Functions that allocate for the program's sake lie in the collector, but GC_realloc does not count. */
	const struct site *grow = site_named(&o.list, "GC_realloc");
	assert_true(o.list.wrappers[0].lo);
	for (size_t i = 0; i < ALYS_MAX_WRAPPERS && o.list.wrappers[i].lo; i++)
		assert_true(grow->func + grow->size <= o.list.wrappers[i].lo || grow->func >= o.list.wrappers[i].hi);
	/* Without cheap exits nothing is predicted: every result is seen at its `ret`. */
	opts.cheap_exits = false;
	close_sites(&o);
	open_sites(&o, LIBGC, &opts);
	assert_false(site_named(&o.list, "GC_malloc_kind")->predicted);
	close_sites(&o);
}

/* Where glibc's malloc finds the thread's cache; calloc takes from it in later versions only. realloc keeps large blocks. */
static void test_cached(void **state)
{
	struct sites_options opts = { .cheap_exits = true };
	struct alys_object object;
	struct opened o;
	(void)state;
	open_sites(&o, GLIBC, &opts);
	assert_true(site_named(&o.list, "malloc")->cached);
	assert_true(site_named(&o.list, "realloc")->cached);
	assert_false(site_named(&o.list, "memalign")->cached || site_named(&o.list, "free")->cached);
	assert_true(o.list.tcache.known && o.list.tcache.slot_vaddr && o.list.tcache.entries == 128);
	sites_fill_object(&o.list, &object);
	assert_true(object.tcache.slot_vaddr == o.list.tcache.slot_vaddr && object.tcache.entries == 128 &&
		    !object.tcache.taken.wrong);
	close_sites(&o);
	open_sites(&o, JEMALLOC, &opts);
	assert_false(site_named(&o.list, "malloc")->cached || site_named(&o.list, "realloc")->cached || o.list.tcache.known);
	sites_fill_object(&o.list, &object);
	assert_int_equal(object.tcache.entries, 0);
	close_sites(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_library),
		cmocka_unit_test(test_exits_do_not_move_entries),
		cmocka_unit_test(test_rets_are_objdumps),
		cmocka_unit_test(test_known_places),
		cmocka_unit_test(test_filter_and_importers),
		cmocka_unit_test(test_silent_table),
		cmocka_unit_test(test_contradicting_table),
		cmocka_unit_test(test_agreeing_tables),
		cmocka_unit_test(test_static_collector),
		cmocka_unit_test(test_refills),
		cmocka_unit_test(test_cached),
		cmocka_unit_test(test_own_malloc),
		cmocka_unit_test(test_crafted),
		cmocka_unit_test(test_no_probe_on_a_long_nop),
		cmocka_unit_test(test_branch_rather_than_push),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_print_refills),
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_predictions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
