/*
 * probe/sites: over the allocators that Debian packages. What is claimed about a site is checked three
 * ways: against the bytes, against objdump, and by running each function under ptrace with breakpoints
 * on all sites and comparing what they show with what the calls returned.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map.h"
#include "probe/sites.h"
#include "unwind/unwind.h"

#define LIB "/usr/lib/x86_64-linux-gnu/"
#define GLIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define MUSL "/lib/ld-musl-x86_64.so.1"
#define LIBGC LIB "libgc.so.1"
#define JEMALLOC LIB "libjemalloc.so.2"
#define TCMALLOC LIB "libtcmalloc_minimal.so.4"
#define MIMALLOC LIB "libmimalloc.so.2.0"

static const char *const libraries[] = { GLIBC, MUSL, LIBGC, JEMALLOC, TCMALLOC, MIMALLOC };

struct opened {
	int fd;
	struct elf *elf;
	struct site_list list;
};

static void open_sites(struct opened *o, const char *path, const struct sites_options *opts)
{
	struct err err = { 0 };
	o->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (o->fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	o->elf = elf_open(o->fd, path, &err);
	if (!o->elf || sites_find(o->elf, path, opts, &o->list, &err))
		fail_msg("%s", err.text);
}

static void close_sites(struct opened *o)
{
	sites_free(&o->list);
	elf_close(o->elf);
	close(o->fd);
}

static const struct site *site_named(const struct site_list *l, const char *symbol)
{
	for (size_t i = 0; i < l->sites_cnt; i++)
		if (!strcmp(l->sites[i].row->symbol, symbol))
			return &l->sites[i];
	return NULL;
}

/* The kernel's rule, spelled in bytes: the finder itself asks a disassembler. */
static bool emulated_bytes(const uint8_t *b)
{
	return (b[0] & 0xf8) == 0x50 || (b[0] == 0x41 && (b[1] & 0xf8) == 0x50) || b[0] == 0xe8 ||
	       b[0] == 0xe9 || b[0] == 0xeb || (b[0] & 0xf0) == 0x70 ||
	       (b[0] == 0x0f && (b[1] & 0xf0) == 0x80) || b[0] == 0x90;
}

static void check_site(const struct opened *o, const struct site *s)
{
	uint64_t offset;
	assert_true(s->state != SITE_PROBED || s->emulated || s->why[0]);
	if (s->state != SITE_PROBED) {
		assert_true(s->why[0]);
		return;
	}
	const uint8_t *b = elf_bytes(o->elf, s->vaddr, 2);
	assert_non_null(b);
	assert_int_equal(emulated_bytes(b), s->emulated);
	assert_true(elf_offset_of(o->elf, s->vaddr, &offset));
	assert_int_equal(offset, s->offset);
	assert_true(s->vaddr >= s->func && s->vaddr - s->func < 128);
	assert_true(!s->return_probe || s->cfa_off == 8);
	assert_true(!s->return_probe || !s->row->runs_user_code);
	if (s->row->shape == ALYS_SHAPE_FREE)
		assert_int_equal(s->exits_cnt, 0);
	else
		assert_true(s->exits_cnt > 0 || s->lost > 0 || s->passed_on > 0);
	for (size_t i = 0; i < s->exits_cnt; i++)
		assert_true(s->exits[i] < o->list.exits_cnt);
}

static void check_exit(const struct opened *o, const struct site_exit *x, bool cheap)
{
	uint64_t offset;
	const uint8_t *b = elf_bytes(o->elf, x->vaddr, 2);
	assert_non_null(b);
	assert_true(elf_offset_of(o->elf, x->vaddr, &offset));
	assert_int_equal(offset, x->offset);
	if (x->emulated) {
		assert_true(cheap && emulated_bytes(b));
	} else {
		assert_true(b[0] == 0xc3 || (b[0] == 0xf3 && b[1] == 0xc3));
		assert_int_equal(x->cfa_off, 8);
		assert_int_equal(x->reg, ALYS_REG_RAX);
		assert_true(!cheap || x->why);
	}
}

static void test_every_library(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
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

/* Addresses of all `ret`s that objdump sees in a file. */
static void objdump_rets(const char *path, struct map *rets)
{
	char cmd[256], line[256];
	snprintf(cmd, sizeof(cmd), "objdump -d --no-show-raw-insn %s", path);
	FILE *f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char what[16] = "", more[16] = "";
		uint64_t at;
		if (sscanf(line, " %" SCNx64 ": %15s %15s", &at, what, more) >= 2 &&
		    (!strcmp(what, "ret") || !strcmp(what, "retq") || !strcmp(more, "ret")))
			*map_put(rets, at) = 1;
	}
	assert_int_equal(pclose(f), 0);
	assert_true(rets->count > 10);
}

static bool site_has_exit(const struct opened *o, const struct site *s, uint64_t vaddr)
{
	for (size_t i = 0; i < s->exits_cnt; i++)
		if (o->list.exits[s->exits[i]].vaddr == vaddr)
			return true;
	return false;
}

static void test_rets_are_objdumps(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		struct map rets = { 0 };
		struct sites_options opts = { 0 };
		struct opened o;
		size_t compared = 0;
		objdump_rets(libraries[i], &rets);
		open_sites(&o, libraries[i], &opts);
		for (size_t k = 0; k < o.list.exits_cnt; k++)
			assert_non_null(map_get(&rets, o.list.exits[k].vaddr));
		for (size_t k = 0; k < o.list.sites_cnt; k++) {
			const struct site *s = &o.list.sites[k];
			const struct map_slot *slot;
			if (s->state != SITE_PROBED || s->row->shape == ALYS_SHAPE_FREE)
				continue;
			for (size_t m = 0; (slot = map_next(&rets, &m));) {
				if (slot->key < s->func || slot->key - s->func >= s->size)
					continue;
				assert_true(site_has_exit(&o, s, slot->key));
				compared++;
			}
		}
		assert_true(compared >= 3);
		close_sites(&o);
		map_free(&rets);
	}
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
	assert_true(s && s->emulated && s->vaddr > s->func && strstr(s->why, "NULL"));
	assert_string_equal(o.list.provider, "glibc");
	assert_int_equal(o.list.text_lo, 0);
	close_sites(&o);

	open_sites(&o, LIBGC, &opts);
	s = site_named(&o.list, "GC_malloc_kind");
	assert_true(s && s->emulated && s->vaddr == s->func && !s->return_probe);
	bool emulated = false;
	for (size_t i = 0; i < s->exits_cnt; i++)
		emulated |= o.list.exits[s->exits[i]].emulated;
	assert_true(emulated);
	assert_null(site_named(&o.list, "GC_malloc"));
	s = site_named(&o.list, "GC_free");
	assert_true(s && s->emulated && s->vaddr > s->func && s->cfa_off == 8);
	s = site_named(&o.list, "GC_malloc_uncollectable");
	assert_true(s && s->state == SITE_COVERED && strstr(s->why, "GC_generic_malloc_uncollectable"));
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

static bool wrong_opinion(void *ctx, uint64_t vaddr, uint32_t *off)
{
	(void)ctx;
	(void)vaddr;
	*off = 4711;
	return true;
}

/* A table that contradicts the code takes every cheap site away, and no `ret`. */
static void test_contradicting_table(void **state)
{
	int asked = 0;
	struct sites_options opts = { .cheap_exits = true, .cfa_at = no_opinion, .cfa_ctx = &asked };
	struct opened o;
	(void)state;
	open_sites(&o, LIBGC, &opts);
	assert_true(asked > 0 && site_named(&o.list, "GC_malloc_kind")->emulated);
	close_sites(&o);
	opts.cfa_at = wrong_opinion;
	open_sites(&o, LIBGC, &opts);
	for (size_t i = 0; i < o.list.exits_cnt; i++)
		assert_false(o.list.exits[i].emulated);
	for (size_t i = 0; i < o.list.sites_cnt; i++)
		assert_int_not_equal(o.list.sites[i].state, SITE_PROBED);
	close_sites(&o);
}

struct table {
	const struct unwind_table *rows;
	size_t agreed;
};

static bool table_cfa(void *ctx, uint64_t vaddr, uint32_t *off)
{
	struct table *t = ctx;
	struct unwind_row row;
	if (!unwind_row_at(t->rows, vaddr, &row) || row.kind != ALYS_ROW_SPEC || row.rule.base_bp ||
	    row.rule.deref || row.rule.off < 0)
		return false;
	*off = (uint32_t)row.rule.off;
	t->agreed++;
	return true;
}

/* What the code says about the stack and what the compiler wrote into .eh_frame is the same. */
static void test_agreeing_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		struct table t = { NULL, 0 };
		struct sites_options opts = { .cheap_exits = true }, asking = opts;
		struct opened alone, both;
		struct err err = { 0 };
		open_sites(&alone, libraries[i], &opts);
		struct unwind_table *rows = unwind_compile(alone.elf, &err);
		if (!rows)
			fail_msg("%s", err.text);
		t.rows = rows;
		asking.cfa_at = table_cfa;
		asking.cfa_ctx = &t;
		open_sites(&both, libraries[i], &asking);
		assert_int_equal(alone.list.exits_cnt, both.list.exits_cnt);
		for (size_t k = 0; k < both.list.exits_cnt; k++)
			assert_int_equal(alone.list.exits[k].vaddr, both.list.exits[k].vaddr);
		for (size_t k = 0; k < both.list.sites_cnt; k++)
			assert_int_equal(alone.list.sites[k].vaddr, both.list.sites[k].vaddr);
		/* Debian's musl has rows for its PLT only. */
		assert_true(t.agreed > 10 || !strcmp(libraries[i], MUSL));
		unwind_free(rows);
		close_sites(&alone);
		close_sites(&both);
	}
}

static void build(const char *dir, const char *source, const char *how, char *out, size_t cap)
{
	char path[128], cmd[512];
	snprintf(path, sizeof(path), "%s/a.c", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	snprintf(out, cap, "%s/a.out", dir);
	snprintf(cmd, sizeof(cmd), how, out, path);
	assert_int_equal(system(cmd), 0);
}

static void remove_build(const char *dir)
{
	char path[128];
	static const char *const names[] = { "a.c", "a.out" };
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

/* The collector linked in: its text is told from the program's, whose calls must not look internal. */
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
static void test_own_malloc(void **state)
{
	char dir[] = "/tmp/alys-sites-XXXXXX", path[128];
	struct sites_options opts = { 0 };
	struct opened o;
	(void)state;
	assert_non_null(mkdtemp(dir));
	build(dir,
	      "#include <stddef.h>\nstatic char pool[4096]; static size_t used; void (*hook)(void);\n"
	      "__attribute__((noinline)) void *malloc(size_t n){ if (hook) hook(); void *p = pool + used; used += n; return p; }\n"
	      "void *operator_new(size_t n) __asm__(\"_Znwm\"); void *operator_new(size_t n){ return malloc(n ? n : 1); }\n"
	      "static void *one(size_t n){ return malloc(n); } static void *pick(void){ return one; }\n"
	      "void *valloc(size_t n) __attribute__((ifunc(\"pick\")));\nint main(void){ return !operator_new(3); }\n",
	      "gcc -O2 -fno-builtin -fno-optimize-sibling-calls -o %s %s", path, sizeof(path));
	open_sites(&o, path, &opts);
	const struct site *s = site_named(&o.list, "malloc");
	assert_true(s && s->state == SITE_PROBED && !s->return_probe && s->exits_cnt == 1);
	assert_null(o.list.provider);
	s = site_named(&o.list, "_Znwm");
	assert_true(s && s->state == SITE_COVERED && strstr(s->why, "malloc"));
	s = site_named(&o.list, "valloc");
	assert_true(s && s->state == SITE_REFUSED && strstr(s->why, "IFUNC"));
	close_sites(&o);
	remove_build(dir);
}

/* Functions made for it: where the result is and may be seen, and where it only seems so. */
static const char crafted[] =
	".macro fn name\n.globl \\name\n.type \\name,@function\n\\name:\n.endm\n"
	"fn helper\n ret\n.size helper,.-helper\n"
	/* rcx does not survive the call */
	"fn GC_malloc_kind\n call helper\n mov %rax,%rcx\n jmp 1f\n1: call helper\n mov %rcx,%rax\n ret\n"
	".size GC_malloc_kind,.-GC_malloc_kind\n"
	/* rbx does */
	"fn GC_realloc\n push %rbx\n call helper\n mov %rax,%rbx\n jmp 1f\n1: call helper\n mov %rbx,%rax\n"
	" pop %rbx\n ret\n.size GC_realloc,.-GC_realloc\n"
	/* but nested calls of a plain allocator would not be told from outer ones */
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
	assert_non_null(strstr(text, "entry +0: CFA sp+8, emulated"));
	assert_non_null(strstr(text, "single-stepped ret: "));
	assert_non_null(strstr(text, "not probed: ends in "));
	struct alys_site wire;
	const struct site *s = site_named(&o.list, "GC_malloc_kind");
	sites_fill_entry(&o.list, s, &wire);
	assert_true(wire.vaddr == s->vaddr && wire.cfa_off == s->cfa_off && wire.kind_arg == 1 &&
		    wire.text_lo == o.list.text_lo && wire.gc_no_vaddr == o.list.gc_no_vaddr &&
		    (wire.flags & ALYS_SITE_GC_KIND) && wire.nest == ALYS_NEST_CALLER);
	buf_free(&b);
	close_sites(&o);
}

/* ---- the same libraries at work -------------------------------------------------------------- */

#define SZ (-1)   /* the size */
#define PREV (-2) /* what the call before returned */
#define OUT (-3)  /* where to put the pointer */

struct call {
	const char *symbol;
	long arg[4];
};

/* Each is made with several sizes; what it returns goes to PREV. */
static const struct call calls[] = {
	{ "malloc", { SZ } },
	{ "realloc", { PREV, SZ } },
	{ "free", { PREV } },
	{ "calloc", { 3, SZ } },
	{ "realloc", { 0, SZ } },
	{ "reallocarray", { PREV, 2, SZ } },
	{ "memalign", { 64, SZ } },
	{ "aligned_alloc", { 256, SZ } },
	{ "posix_memalign", { OUT, 64, SZ } },
	{ "free", { PREV } },
	{ "valloc", { SZ } },
	{ "mallocx", { SZ, 0 } },
	{ "rallocx", { PREV, SZ, 0 } },
	{ "_Znwm", { SZ } },
	{ "_ZdlPv", { PREV } },
	{ "_ZnwmSt11align_val_t", { SZ, 128 } },
	{ "_ZdlPvSt11align_val_t", { PREV, 128 } },
	{ "mi_zalloc", { SZ } },
	{ "mi_malloc_aligned", { SZ, 64 } },
	{ "mi_realloc", { PREV, SZ } },
	{ "GC_malloc", { SZ } },
	{ "GC_realloc", { PREV, SZ } },
	{ "GC_malloc_atomic", { SZ } },
	{ "GC_realloc", { 0, SZ } },
	{ "GC_free", { PREV } },
	{ "GC_malloc_uncollectable", { SZ } },
	{ "GC_malloc_atomic_uncollectable", { SZ } },
	{ "GC_malloc_ignore_off_page", { SZ } },
	{ "GC_malloc_explicitly_typed", { SZ, 0 } },
	{ "GC_malloc_explicitly_typed_ignore_off_page", { SZ, 0 } },
	{ "GC_calloc_explicitly_typed", { 3, SZ, 0 } },
	{ "GC_memalign", { 512, SZ } },
	{ "GC_memalign", { 8, SZ } },
	{ "GC_posix_memalign", { OUT, 64, SZ } },
};
static const size_t sizes[] = { 1, 24, 24, 100, 1000, 5000, 70000, 300000 };
#define CALLS (sizeof(calls) / sizeof(*calls))
#define SIZES (sizeof(sizes) / sizeof(*sizes))
#define ROUNDS (CALLS * SIZES)

/* Between the child that calls and the parent that watches. */
struct shared {
	volatile size_t now; /* number of the call under way + 1, 0 = none */
	volatile uint64_t result[ROUNDS], first[ROUNDS];
	volatile bool made[ROUNDS];
};

#define SHARED_FD 200

static int child(const char *library)
{
	struct shared *sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (sh == MAP_FAILED || !lib)
		return 2;
	void (*gc_init)(void) = (void (*)(void))dlsym(lib, "GC_init");
	if (gc_init)
		gc_init();
	struct link_map *self;
	void *fn[CALLS];
	dlinfo(lib, RTLD_DI_LINKMAP, &self);
	for (size_t i = 0; i < CALLS; i++) {
		Dl_info where = { 0 };
		fn[i] = dlsym(lib, calls[i].symbol);
		/* Not what it takes from others. */
		if (fn[i] && (!dladdr(fn[i], &where) || (uint64_t)where.dli_fbase != self->l_addr))
			fn[i] = NULL;
	}
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	void *prev = NULL, *out;
	for (size_t i = 0; i < ROUNDS; i++) {
		const struct call *c = &calls[i % CALLS];
		uint64_t a[4];
		if (!fn[i % CALLS])
			continue;
		for (int k = 0; k < 4; k++)
			a[k] = c->arg[k] == SZ   ? sizes[i / CALLS] :
			       c->arg[k] == PREV ? (uint64_t)prev :
			       c->arg[k] == OUT  ? (uint64_t)&out :
						   (uint64_t)c->arg[k];
		uint64_t (*f)(uint64_t, uint64_t, uint64_t, uint64_t) =
			(uint64_t(*)(uint64_t, uint64_t, uint64_t, uint64_t))fn[i % CALLS];
		sh->first[i] = a[0];
		sh->now = i + 1;
		uint64_t r = f(a[0], a[1], a[2], a[3]);
		sh->now = 0;
		prev = c->arg[0] == OUT ? out : (void *)r;
		sh->result[i] = r;
		sh->made[i] = true;
	}
	return 0;
}

struct pending {
	const struct site *site;
	uint64_t cfa;
};

struct watch {
	pid_t pid;
	uint64_t bias;
	struct opened o;
	struct map entries, exits; /* address in the child -> index + 1 */
	struct map bytes;          /* address -> the byte under the breakpoint */
	struct shared *sh;
	size_t call;               /* the one that pending belongs to */
	struct pending wait;
	unsigned int entered[ROUNDS], left[ROUNDS];
	uint64_t seen[ROUNDS];
	unsigned int cheap_hits;
	uint64_t done_cfa; /* of the call that has been seen to end */
};

static void poke(struct watch *w, uint64_t addr, uint8_t byte)
{
	uint64_t at = addr & ~7ull;
	long word = ptrace(PTRACE_PEEKTEXT, w->pid, at, NULL);
	((uint8_t *)&word)[addr - at] = byte;
	assert_int_equal(ptrace(PTRACE_POKETEXT, w->pid, at, word), 0);
}

static void plant(struct watch *w, uint64_t vaddr, struct map *kind, size_t index)
{
	uint64_t addr = w->bias + vaddr;
	if (!map_get(&w->bytes, addr)) {
		*map_put(&w->bytes, addr) = *elf_bytes(w->o.elf, vaddr, 1);
		poke(w, addr, 0xcc);
	}
	*map_put(kind, addr) = index + 1;
}

static uint64_t bias_of(pid_t pid, const char *library)
{
	char path[64], line[512], real[PATH_MAX] = "";
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "r");
	uint64_t bias = 0;
	assert_non_null(f);
	assert_non_null(realpath(library, real));
	while (!bias && fgets(line, sizeof(line), f))
		if (strstr(line, real))
			bias = strtoull(line, NULL, 16);
	fclose(f);
	assert_true(bias);
	return bias;
}

static uint64_t argument(const struct user_regs_struct *r, unsigned int n)
{
	const unsigned long long args[] = { r->rdi, r->rsi, r->rdx, r->rcx, r->r8, r->r9 };
	return args[n];
}

static uint64_t result_in(const struct user_regs_struct *r, unsigned int reg)
{
	const unsigned long long regs[] = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->r8,
					    r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };
	return regs[reg];
}

static void at_entry(struct watch *w, const struct site *s, const struct user_regs_struct *r)
{
	size_t i = w->sh->now - 1;
	uint64_t cfa = r->rsp + s->cfa_off;
	uint64_t caller = (uint64_t)ptrace(PTRACE_PEEKDATA, w->pid, cfa - 8, NULL) - w->bias;
	if (s->row->nest == ALYS_NEST_CALLER && caller >= w->o.list.text_lo && caller < w->o.list.text_hi)
		return;
	bool again = w->wait.site && w->call == i;
	if (again && (s->row->nest != ALYS_NEST_THREAD || cfa < w->wait.cfa) && cfa != w->wait.cfa)
		return;
	const struct call *c = &calls[i % CALLS];
	bool is_free = s->row->shape == ALYS_SHAPE_FREE;
	if (is_free != !!(strstr(c->symbol, "free") || !strncmp(c->symbol, "_Zd", 3)))
		return;
	w->entered[i] += again ? 0 : 1;
	w->done_cfa = 0;
	w->call = i;
	w->wait = (struct pending){ s, cfa };
	if (is_free) {
		assert_int_equal(argument(r, s->arg[0]), w->sh->first[i]);
		w->wait.site = NULL;
		return;
	}
	unsigned int size_arg = s->row->shape == ALYS_SHAPE_MULREALLOC ? 2 : s->row->shape == ALYS_SHAPE_SIZE ? 0 : 1;
	assert_true(argument(r, s->arg[size_arg]) >= sizes[i / CALLS]);
	if (!strcmp(c->symbol, s->row->symbol))
		assert_int_equal(argument(r, s->arg[size_arg]), sizes[i / CALLS]);
}

static void at_exit_site(struct watch *w, const struct site_exit *x, const struct user_regs_struct *r)
{
	size_t i = w->sh->now - 1;
	if (!w->wait.site && w->call == i && r->rsp + x->cfa_off == w->done_cfa)
		fail_msg("%s(%zu): seen to end twice", calls[i % CALLS].symbol, sizes[i / CALLS]);
	if (!w->wait.site || w->call != i || r->rsp + x->cfa_off != w->wait.cfa)
		return;
	w->seen[i] = result_in(r, x->reg);
	w->left[i]++;
	w->cheap_hits += x->emulated;
	w->done_cfa = w->wait.cfa;
	w->wait.site = NULL;
}

/* One breakpoint: look, then let the real instruction run and put the breakpoint back. */
static int at_breakpoint(struct watch *w)
{
	struct user_regs_struct r;
	int status;
	assert_int_equal(ptrace(PTRACE_GETREGS, w->pid, NULL, &r), 0);
	uint64_t addr = r.rip - 1;
	const uint64_t *byte = map_get(&w->bytes, addr), *k;
	assert_non_null(byte);
	r.rip = addr;
	if (w->sh->now && (k = map_get(&w->exits, addr)))
		at_exit_site(w, &w->o.list.exits[*k - 1], &r);
	if (w->sh->now && (k = map_get(&w->entries, addr)))
		at_entry(w, &w->o.list.sites[*k - 1], &r);
	assert_int_equal(ptrace(PTRACE_SETREGS, w->pid, NULL, &r), 0);
	poke(w, addr, (uint8_t)*byte);
	assert_int_equal(ptrace(PTRACE_SINGLESTEP, w->pid, NULL, NULL), 0);
	waitpid(w->pid, &status, 0);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	poke(w, addr, 0xcc);
	return 0;
}

static void start_child(struct watch *w, const char *library)
{
	int fd = memfd_create("shared", 0), status;
	assert_int_equal(ftruncate(fd, sizeof(*w->sh)), 0);
	w->sh = mmap(NULL, sizeof(*w->sh), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(w->sh != MAP_FAILED);
	w->pid = fork();
	if (!w->pid) {
		dup2(fd, SHARED_FD);
		/* Preloaded: most of them want thread-local storage that dlopen cannot give later. */
		if (strcmp(library, GLIBC) && strcmp(library, LIBGC))
			setenv("LD_PRELOAD", library, 1);
		setenv("GC_MARKERS", "1", 1);
		execl("/proc/self/exe", "child", library, NULL);
		_exit(3);
	}
	close(fd);
	/* A stop before exec's own: TRACEME comes after it. */
	assert_int_equal(waitpid(w->pid, &status, WUNTRACED), w->pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	/* A failing assertion leaves it half way: it must not live on with our breakpoints. */
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, w->pid, NULL, PTRACE_O_EXITKILL), 0);
	w->bias = bias_of(w->pid, library);
}

static void plant_all(struct watch *w)
{
	for (size_t i = 0; i < w->o.list.sites_cnt; i++)
		if (w->o.list.sites[i].state == SITE_PROBED)
			plant(w, w->o.list.sites[i].vaddr, &w->entries, i);
	for (size_t i = 0; i < w->o.list.exits_cnt; i++)
		plant(w, w->o.list.exits[i].vaddr, &w->exits, i);
}

static void run_child(struct watch *w)
{
	int status, sig = 0;
	for (;;) {
		assert_int_equal(ptrace(PTRACE_CONT, w->pid, NULL, sig), 0);
		assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
		if (WIFEXITED(status))
			break;
		assert_true(WIFSTOPPED(status));
		sig = WSTOPSIG(status) == SIGTRAP ? at_breakpoint(w) : WSTOPSIG(status);
		assert_int_not_equal(sig, SIGSEGV);
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Every call was seen to begin once, and to end with what it returned: or its way out was named. */
static void check_calls(const struct watch *w, unsigned int *made)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		const char *symbol = calls[i % CALLS].symbol;
		if (!w->sh->made[i])
			continue;
		(*made)++;
		if (w->entered[i] != 1)
			fail_msg("%s(%zu): seen to begin %u times", symbol, sizes[i / CALLS], w->entered[i]);
		if (strstr(symbol, "free") || !strncmp(symbol, "_Zd", 3))
			continue;
		const struct site *s = site_named(&w->o.list, symbol);
		if (!w->left[i] && s && s->lost)
			continue;
		if (w->left[i] != 1 || w->seen[i] != w->sh->result[i])
			fail_msg("%s(%zu): %u exits, %" PRIx64 " instead of %" PRIx64, symbol, sizes[i / CALLS],
				 w->left[i], w->seen[i], w->sh->result[i]);
	}
}

static unsigned int watch_library(const char *library, bool cheap)
{
	struct sites_options opts = { .cheap_exits = cheap };
	struct watch *w = calloc(1, sizeof(*w));
	unsigned int made = 0, cheap_hits;
	open_sites(&w->o, library, &opts);
	start_child(w, library);
	plant_all(w);
	run_child(w);
	check_calls(w, &made);
	if (made < 40)
		fail_msg("%s: only %u calls made", library, made);
	cheap_hits = w->cheap_hits;
	munmap(w->sh, sizeof(*w->sh));
	map_free(&w->entries);
	map_free(&w->exits);
	map_free(&w->bytes);
	close_sites(&w->o);
	free(w);
	return cheap_hits;
}

static void test_sites_at_work(void **state)
{
	static const char *const at_work[] = { GLIBC, LIBGC, JEMALLOC, TCMALLOC, MIMALLOC };
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* the sanitizer brings its own malloc */
#endif
	for (size_t i = 0; i < sizeof(at_work) / sizeof(*at_work); i++) {
		assert_int_equal(watch_library(at_work[i], false), 0);
		unsigned int cheap = watch_library(at_work[i], true);
		if (strcmp(at_work[i], GLIBC))
			assert_true(cheap > 20);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[0], "child"))
		return child(argv[1]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_library),
		cmocka_unit_test(test_rets_are_objdumps),
		cmocka_unit_test(test_known_places),
		cmocka_unit_test(test_filter_and_importers),
		cmocka_unit_test(test_contradicting_table),
		cmocka_unit_test(test_agreeing_tables),
		cmocka_unit_test(test_static_collector),
		cmocka_unit_test(test_own_malloc),
		cmocka_unit_test(test_crafted),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_sites_at_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
