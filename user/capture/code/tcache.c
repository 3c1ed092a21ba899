/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/tcache: see tcache.h. The code is that of glibc's malloc.c, __libc_malloc and tcache_get:
 *
 *	if (tcache != NULL && tcache->counts[i] > 0) { e = tcache->entries[i]; ... return e; }
 *
 *	mov r12, [rip + ...]		      -- or tcache's offset is a constant
 *	mov rdx, fs:[r12]
 *	movzx ecx, word ptr [rdx + rbp * 2]   -- counts, one for each of 64 lists
 *	lea rdi, [rbp + 16]		      -- or in the next instruction: rdx + rbp * 8 + 128
 *	mov rax, [rdx + rdi * 8]	      -- entries
 */
#include "code/tcache.h"

#include "code/flow.h"

#define LISTS 64
#define AFTER_COUNT 8 /* instructions from the count to the entry */

static struct insn_fetch fetch_of(const struct flow *w, const struct flow_node *n)
{
	struct insn_fetch f = { .reg = INSN_NO_REG };
	const uint8_t *bytes = elf_bytes(w->funcs->elf, n->in.vaddr, n->in.len);
	if (bytes)
		insn_fetch_of(bytes, n->in.len, n->in.vaddr, &f);
	return f;
}

/* Through a pointer: a hook, which may return any block. */
static bool calls_unknown(const struct flow *w)
{
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		const struct insn *in = &w->nodes[i].in;
		if (in->flow == INSN_INDIRECT || (in->flow == INSN_CALL && !in->target && !w->nodes[i].to))
			return true;
	}
	return false;
}

static bool is_count(const struct insn_fetch *f)
{
	return f->fetches && f->bytes == 2 && f->scale == 2 && !f->disp && f->base >= 0 && f->index >= 0;
}

/* The entries' offset, by the load that follows the count's; 0 = none. */
static uint32_t entries_behind(const struct flow *w, const struct flow_node *n, const struct insn_fetch *count)
{
	struct insn_fetch sum = { .reg = INSN_NO_REG };
	for (int steps = 0; steps < AFTER_COUNT && n->next >= 0; steps++) {
		n = &w->nodes[n->next];
		struct insn_fetch f = fetch_of(w, n);
		if (f.fetches && !f.bytes && f.base == count->index && f.index < 0)
			sum = f;
		if (!f.fetches || f.bytes != 8 || f.scale != 8 || f.base != count->base)
			continue;
		int64_t at = f.disp + (f.index == sum.reg ? sum.disp * 8 : 0);
		bool same = f.index == count->index || f.index == sum.reg;
		return same && at == LISTS * 2 ? (uint32_t)at : 0;
	}
	return 0;
}

/* The only address from which this register is loaded; 0 = none, or several. */
static uint64_t slot_in(const struct flow *w, int reg)
{
	uint64_t slot = 0;
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		struct insn_fetch f = fetch_of(w, &w->nodes[i]);
		if (!f.fetches || f.reg != reg || f.bytes != 8 || f.tls || f.base >= 0 || f.index >= 0)
			continue;
		if (slot && slot != (uint64_t)f.disp)
			return 0;
		slot = (uint64_t)f.disp;
	}
	return slot;
}

/* How the register that the lists hang from gets the thread's pointer: always in the same way. */
static bool find_pointer(const struct flow *w, int reg, struct tcache_place *out)
{
	struct tcache_place found = *out;
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		struct insn_fetch f = fetch_of(w, &w->nodes[i]);
		if (!f.fetches || !f.tls || f.reg != reg || f.bytes != 8)
			continue;
		out->slot_vaddr = f.base >= 0 ? slot_in(w, f.base) : 0;
		out->tls_offset = f.disp;
		bool constant = f.base < 0 && f.index < 0, slot = out->slot_vaddr && !f.disp;
		bool again = !found.known || (found.slot_vaddr == out->slot_vaddr && found.tls_offset == out->tls_offset);
		if (!(constant || slot) || !again)
			return false;
		found = *out;
		found.known = true;
	}
	*out = found;
	return found.known;
}

struct tcache_place tcache_find(const struct flow *w)
{
	struct tcache_place out = { 0 };
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		struct insn_fetch count = fetch_of(w, &w->nodes[i]);
		if (!is_count(&count))
			continue;
		out.entries = entries_behind(w, &w->nodes[i], &count);
		if (out.entries && !calls_unknown(w) && find_pointer(w, count.base, &out))
			return out;
		break;
	}
	return (struct tcache_place){ 0 };
}
