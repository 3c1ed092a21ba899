/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/goswitch of x86-64: see goswitch.h. Recognizes the bytes after the calls, which are the same in Go 1.4 to 1.24 (the
 * names are stripped by the linker); offsets and what is saved vary, so these are read from the code.
 */
#include "unwind/goswitch.h"

#include <string.h>

#define CODE_MAX 64 /* bytes after a call until the old stack is restored */

static const uint8_t *find(const struct go_code *c, size_t from, const void *what, size_t n)
{
	return from < c->size ? memmem(c->bytes + from, c->size - from, what, n) : NULL;
}

static bool has(const struct go_code *c, size_t at, const void *what, size_t n)
{
	return at <= c->size && n <= c->size - at && !memcmp(c->bytes + at, what, n);
}

/* Position-independent code first loads g's TLS offset: mov $off,%rcx or mov slot(%rip),%rcx. */
static size_t before_tls(const struct go_code *c, size_t at)
{
	bool fetched = at >= 7 && (has(c, at - 7, "\x48\xc7\xc1", 3) || has(c, at - 7, "\x48\x8b\x0d", 3));
	return fetched ? at - 7 : at;
}

/* Is what follows an opcode off(%rsp), with the register of modrm? */
static bool stack_operand(const struct go_code *c, size_t at, uint8_t modrm, int32_t *off, size_t *end)
{
	uint8_t long_form[] = { modrm | 0x40, 0x24 }, short_form[] = { modrm, 0x24 };
	bool disp = has(c, at, long_form, 2) && at + 2 < c->size;
	if (!disp && !has(c, at, short_form, 2))
		return false;
	*off = disp ? (int8_t)c->bytes[at + 2] : 0;
	*end = at + 2 + disp;
	return true;
}

/* mov %rsi,%rsp; mov %eax,result(%rsp); from 1.21 on pop %rbp; ret: what lies below the return address? */
static bool read_return(const struct go_code *c, size_t from, struct alys_spec *spec)
{
	const uint8_t *p = find(c, from, "\x48\x89\xf4\x89\x44\x24", 6);
	size_t at = p ? (size_t)(p - c->bytes) + 7 : c->size;
	bool pops = has(c, at, "\x5d\xc3", 2);
	if (at - from > CODE_MAX || (!pops && !has(c, at, "\xc3", 1)))
		return false;
	spec->add = pops ? 16 : 8;
	spec->ra_off = -8;
	spec->bp = pops ? ALYS_SPEC_BP_AT_CFA : ALYS_SPEC_BP_SAME;
	spec->bp_off = pops ? -16 : 0;
	return true;
}

/*
 * asmcgocall, from a goroutine: mov g(%rsp),%rdi; mov 8(%rdi),%rsi; sub depth(%rsp),%rsi. Its stack may have been moved
 * meanwhile, by a callback, so the depth below its upper end is what was saved.
 */
static bool read_cgo(const struct go_code *c, size_t at, struct go_switch *s)
{
	size_t behind;
	int32_t g;
	*s = (struct go_switch){ .ret = c->vaddr + before_tls(c, at), .spec.deref = 1 };
	if (!has(c, at, "\x48\x8b", 2) || !stack_operand(c, at + 2, 0x3c, &g, &behind) || g < 0 ||
	    !has(c, behind, "\x48\x8b\x77\x08\x48\x2b", 6) || !stack_operand(c, behind + 6, 0x34, &s->spec.off, &behind))
		return false;
	s->spec.far = (uint8_t)(ALYS_SPEC_GO + g);
	return read_return(c, behind, &s->spec);
}

/* The same, on the thread's stack already: mov depth(%rsp),%rsi is where the stack was. */
static bool read_cgo_plain(const struct go_code *c, size_t from, struct go_switch *s)
{
	for (size_t at = from; at < c->size && at - from < 2 * CODE_MAX; at++) {
		size_t behind;
		*s = (struct go_switch){ .ret = c->vaddr + at, .spec.deref = 1 };
		if (has(c, at, "\x48\x8b", 2) && stack_operand(c, at + 2, 0x34, &s->spec.off, &behind) &&
		    has(c, behind, "\x48\x89\xf4", 3))
			return read_return(c, behind, &s->spec);
	}
	return false;
}

/* The frames below are found by rbp only: up to 1.20 systemstack saves none, so its caller is missing. */
static const struct alys_spec by_bp = {
	.off = 16,
	.base_bp = 1,
	.bp = ALYS_SPEC_BP_AT_CFA,
	.bp_off = -16,
	.ra_off = -8,
	.far = ALYS_SPEC_FAR,
};

static size_t call_of_systemstack(const struct go_code *c, size_t at)
{
	if (at >= 9 && has(c, at - 9, "\x64\x48\x8b\x04\x25", 5))
		at -= 9;
	else if (at >= 4 && has(c, at - 4, "\x64\x48\x8b\x01", 4))
		at = before_tls(c, at - 4);
	return at >= 2 && has(c, at - 2, "\xff\xd7", 2) ? at : 0;
}

static size_t call_of_callback(const struct go_code *c, size_t at)
{
	return at >= 2 && has(c, at - 2, "\xff\xd0", 2) && has(c, at + 5, "\x48\x29\xe0", 3) ? at : 0;
}

static bool read_by_bp(const struct go_code *c, const void *what, size_t n, size_t (*call)(const struct go_code *, size_t),
		       struct go_switch *s)
{
	size_t ret = 0;
	for (const uint8_t *p = find(c, 0, what, n); p && !ret;) {
		size_t at = (size_t)(p - c->bytes);
		ret = call(c, at);
		p = find(c, at + 1, what, n);
	}
	*s = (struct go_switch){ .ret = c->vaddr + ret, .spec = by_bp };
	return ret;
}

/* call *%rdi, then g, mov 0x30(%rax),%rbx and mov curg(%rbx),%rax. */
static bool read_systemstack(const struct go_code *c, struct go_switch *s)
{
	return read_by_bp(c, "\x48\x8b\x58\x30\x48\x8b\x83", 7, call_of_systemstack, s);
}

/* call *%rax, then lea frame(%rsp),%rax and sub %rsp,%rax. */
static bool read_callback(const struct go_code *c, struct go_switch *s)
{
	return read_by_bp(c, "\x48\x8d\x44\x24", 4, call_of_callback, s);
}

/* mcall, where the scheduler begins and no goroutine runs: call *%r12; later a nop; pop %rax; jmp badmcall2. */
static bool read_mcall(const struct go_code *c, struct go_switch *s)
{
	const uint8_t *p = find(c, 0, "\x41\xff\xd4\x58\xe9", 5) ?: find(c, 0, "\x41\xff\xd4\x90\x58\xe9", 6);
	*s = (struct go_switch){ .ret = c->vaddr + (p ? (size_t)(p - c->bytes) + 3 : 0), .caller = GO_BOTTOM };
	return p;
}

/*
 * crosscall2, from 1.21 on: push %rbp; mov %rsp,%rbp; sub $saved,%rsp; ...; call cgocallback; add $arguments,%rsp. It makes rbp point to
 * what is no record. Before, it was one.
 */
static bool read_crosscall(const struct elf *e, struct go_switch *s)
{
	static const char begin[] = "\x55\x48\x89\xe5\x48\x83\xec", behind[] = "\x48\x83\xc4";
	struct go_code c = go_crosscall(e);
	const uint8_t *p = has(&c, 0, begin, 7) ? find(&c, 8, behind, 3) : NULL;
	size_t at = p ? (size_t)(p - c.bytes) : 0;
	if (!p || at + 3 >= c.size || c.bytes[at - 5] != 0xe8)
		return false;
	*s = (struct go_switch){ .ret = c.vaddr + at };
	s->spec = (struct alys_spec){
		.off = 16 + c.bytes[7] + c.bytes[at + 3], .ra_off = -8, .bp = ALYS_SPEC_BP_AT_CFA, .bp_off = -16
	};
	return true;
}

/* The end of the goroutine's stack, which is fetched behind the goroutine. */
const struct go_mark go_mark = { "\x48\x8b\x77\x08\x48\x2b", 6, 5 };

size_t go_read(const struct elf *e, const struct go_code *c, size_t at, struct go_switch out[GO_SWITCHES])
{
	size_t n = read_cgo(c, at, &out[0]);
	if (!n)
		return 0;
	n += read_cgo_plain(c, at + CODE_MAX / 4, &out[n]);
	n += read_systemstack(c, &out[n]);
	n += read_callback(c, &out[n]);
	n += read_mcall(c, &out[n]);
	n += read_crosscall(e, &out[n]);
	return n;
}
