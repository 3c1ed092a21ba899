/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/listing: see listing.h. Both ends are the same program, so structs are sent as they are in memory, except
 * pointers.
 */
#include "sites/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/own.h"
#include "base/vec.h"
#include "code/wire_register.h"

#define TERMINATE(text) ((text)[sizeof(text) - 1] = 0)
/* A byte that was received as a bool may be neither true nor false. */
#define SETTLE(truth)                        \
	({                                   \
		uint8_t byte_;               \
		memcpy(&byte_, &(truth), 1); \
		(truth) = byte_ != 0;        \
	})

static void put_indices(struct buf *out, const uint32_t *at, size_t n)
{
	buf_varint(out, n);
	buf_add(out, at, n * sizeof(*at));
}

static int take_indices(struct cursor *c, size_t bound, uint32_t **at, size_t *cnt, size_t *cap)
{
	size_t n = cursor_varint(c);
	if (c->bad || n > cursor_left(c) / sizeof(**at))
		return -EPROTO;
	*at = n ? malloc(n * sizeof(**at)) : NULL;
	if (n && !*at)
		return -ENOMEM;
	if (n)
		memcpy(*at, cursor_bytes(c, n * sizeof(**at)), n * sizeof(**at));
	*cnt = *cap = n;
	for (size_t i = 0; i < n; i++) {
		if ((*at)[i] >= bound)
			return -EPROTO;
	}
	return 0;
}

/* --- sites --------------------------------------------------------------------------------------- */

static void put_site(const struct site *s, struct buf *out)
{
	buf_add(out, s, sizeof(*s));
	put_indices(out, s->exits, s->exits_cnt);
	put_indices(out, s->slow_exits, s->slow_exits_cnt);
	put_indices(out, s->late.exits, s->late.exits_cnt);
}

static void settle_site(struct site *s)
{
	s->exits = s->slow_exits = s->late.exits = NULL;
	s->exits_cnt = s->exits_cap = s->slow_exits_cnt = s->slow_exits_cap = 0;
	s->late.exits_cnt = s->late.exits_cap = 0;
	SETTLE(s->emulated);
	SETTLE(s->multiplied);
	SETTLE(s->unchanged);
	SETTLE(s->return_probe);
	SETTLE(s->at_callee);
	SETTLE(s->whole);
	SETTLE(s->leaf);
	SETTLE(s->jumps);
	SETTLE(s->predicted);
	SETTLE(s->cached);
	TERMINATE(s->said);
	TERMINATE(s->lost_why.to);
}

bool note_arg_ok(const struct alys_note_arg *a)
{
	bool sized = a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8;
	return a->form == ALYS_NOTE_NONE || (a->form <= ALYS_NOTE_MEMORY && sized && a->is_signed <= 1 &&
					     (a->reg == ALYS_REG_SP || (a->reg < ALYS_REG_SP && wire_name(a->reg))));
}

/* The number of an argument, or ALYS_ARG_IN a register. */
static bool arg_ok(uint8_t arg)
{
	return arg < INSN_ARGS || (arg >= ALYS_ARG_IN(0) && wire_name((uint8_t)(arg - ALYS_ARG_IN(0))));
}

static bool place_ok(const struct site_place *p)
{
	return arg_ok(p->size_arg) && arg_ok(p->kind_arg) && p->cfa_off <= UINT16_MAX;
}

static int take_site(struct cursor *c, struct site_list *l)
{
	const void *from = cursor_bytes(c, sizeof(struct site));
	struct site *s = from ? VEC_PUSH(l, sites) : NULL;
	if (!s)
		return from ? -ENOMEM : -EPROTO;
	memcpy(s, from, sizeof(*s));
	settle_site(s);
	s->row = allocator_at(s->row_no);
	if (!s->row || (unsigned int)s->family >= ALLOC_FAMILIES || (unsigned int)s->state > SITE_REFUSED || !wire_name(s->reg) ||
	    !place_ok(&s->late.at) || s->whole || s->cfa_off > UINT16_MAX || !entry_reason_ok(&s->why) ||
	    !lost_reason_ok(&s->lost_why))
		return -EPROTO;
	for (int i = 0; i < ALYS_NOTE_ARGS; i++) {
		if (!note_arg_ok(&s->note.arg[i]))
			return -EPROTO;
	}
	int rc = take_indices(c, l->exits_cnt, &s->exits, &s->exits_cnt, &s->exits_cap);
	if (!rc)
		rc = take_indices(c, l->exits_cnt, &s->slow_exits, &s->slow_exits_cnt, &s->slow_exits_cap);
	return rc ?: take_indices(c, l->exits_cnt, &s->late.exits, &s->late.exits_cnt, &s->late.exits_cap);
}

static int take_exit(struct cursor *c, size_t sites, struct site_list *l)
{
	const void *from = cursor_bytes(c, sizeof(struct site_exit));
	struct site_exit *x = from ? VEC_PUSH(l, exits) : NULL;
	if (!x)
		return from ? -ENOMEM : -EPROTO;
	memcpy(x, from, sizeof(*x));
	SETTLE(x->emulated);
	SETTLE(x->plain);
	SETTLE(x->takes);
	TERMINATE(x->in);
	return !exit_reason_ok(&x->why) || !wire_name(x->reg) || !place_ok(&x->whole) || x->cfa_off > UINT16_MAX ||
			       x->whole_call_of > sites
		       ? -EPROTO
		       : 0;
}

void sites_write(const struct site_list *l, struct buf *out)
{
	buf_add(out, l, sizeof(*l));
	buf_lenstr(out, l->provider);
	buf_varint(out, l->sites_cnt);
	buf_varint(out, l->exits_cnt);
	buf_add(out, l->exits, l->exits_cnt * sizeof(*l->exits));
	for (size_t i = 0; i < l->sites_cnt; i++)
		put_site(&l->sites[i], out);
	buf_varint(out, l->types.at_cnt);
	buf_add(out, l->types.at, l->types.at_cnt * sizeof(*l->types.at));
}

static bool take_head(struct cursor *c, struct site_list *out)
{
	char provider[32];
	const void *from = cursor_bytes(c, sizeof(*out));
	*out = (struct site_list){ 0 };
	if (!from)
		return false;
	memcpy(out, from, sizeof(*out));
	out->sites = NULL;
	out->exits = NULL;
	out->types = (struct beam_types){ 0 };
	out->sites_cnt = out->sites_cap = out->exits_cnt = out->exits_cap = 0;
	SETTLE(out->takes_lists);
	SETTLE(out->program);
	SETTLE(out->tcache.known);
	for (size_t i = 0; i < BEAM_ATOMS; i++)
		TERMINATE(out->atoms.names[i]);
	cursor_lenstr(c, provider, sizeof(provider));
	out->provider = alloc_provider_known(provider);
	return !c->bad && (unsigned int)out->at <= SAMPLE_AT_REFILL;
}

static int take_type(struct cursor *c, struct beam_types *out)
{
	const void *from = cursor_bytes(c, sizeof(*out->at));
	struct beam_type *t = from ? VEC_PUSH(out, at) : NULL;
	if (!t)
		return from ? -ENOMEM : -EPROTO;
	memcpy(t, from, sizeof(*t));
	TERMINATE(t->name);
	return 0;
}

int sites_read(struct cursor *c, struct site_list *out)
{
	int rc = take_head(c, out) ? 0 : -EPROTO;
	size_t sites = rc ? 0 : cursor_varint(c), exits = rc ? 0 : cursor_varint(c);
	for (size_t i = 0; !rc && i < exits; i++)
		rc = take_exit(c, sites, out);
	for (size_t i = 0; !rc && i < sites; i++)
		rc = take_site(c, out);
	size_t types = rc ? 0 : cursor_varint(c);
	for (size_t i = 0; !rc && i < types; i++)
		rc = take_type(c, &out->types);
	if (rc)
		sites_free(out);
	return rc;
}

/* --- collections --------------------------------------------------------------------------------- */

void collections_write(const struct collection_sites *s, struct buf *out)
{
	buf_varint(out, s->sites_cnt);
	buf_add(out, s->sites, s->sites_cnt * sizeof(*s->sites));
}

int collections_read(struct cursor *c, struct collection_sites *out)
{
	size_t n = cursor_varint(c);
	*out = (struct collection_sites){ 0 };
	const void *from = !c->bad && n <= ALYS_MAX_GC_SITES ? cursor_bytes(c, n * sizeof(*out->sites)) : NULL;
	if (!from)
		return -EPROTO;
	out->sites = malloc(n * sizeof(*out->sites) + 1);
	if (!out->sites)
		return -ENOMEM;
	memcpy(out->sites, from, n * sizeof(*out->sites));
	out->sites_cnt = out->sites_cap = n;
	return 0;
}
