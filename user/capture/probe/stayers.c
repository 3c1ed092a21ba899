/* SPDX-License-Identifier: Apache-2.0 */
/* probe/stayers: see stayers.h. */
#include "probe/stayers.h"

#include "access/rights.h"
#include "alys.skel.h"
#include "base/log.h"
#include "probe/detaching.h"

/* A link has gone that often before any of its probes stay: after the first 50 ms, and after a window. */
#define TURNS_MIN 2

static bool is_met(const uint8_t *met, uint64_t cookie)
{
	return __atomic_load_n(&met[(uint32_t)cookie % ALYS_MAX_SITES], __ATOMIC_RELAXED);
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t was = *a;
	*a = *b;
	*b = was;
}

uint32_t stayers_order(struct reattach *r, const uint8_t *met)
{
	uint64_t *offsets = r->words, *cookies = r->words + r->all;
	uint32_t hit = 0;
	for (uint32_t i = 0; i < r->all; i++) {
		if (!is_met(met, cookies[i]))
			continue;
		swap(&offsets[hit], &offsets[i]);
		swap(&cookies[hit++], &cookies[i]);
	}
	return hit;
}

/* If the rest cannot be attached apart, all come and go. */
static void stay(struct probe *p, struct attachment *a)
{
	struct reattach *r = a->reattach;
	uint32_t hit = stayers_order(r, p->skel->bss->sites_met);
	struct rights_link rest = r->link;
	rest.offsets += hit;
	rest.cookies += hit;
	rest.cnt = r->all - hit;
	a->stay_fd = rest.cnt ? rights_link(&rest) : -1;
	if (a->stay_fd < 0)
		return;
	r->link.cnt = hit;
	p->came[a->tgid != 0] += rest.cnt;
	log_dbg("%u of %u probes stay: nothing has hit them", rest.cnt, r->all);
}

void stayers_come(struct probe *p)
{
	for (size_t i = 0; i < p->attachments_cnt; i++) {
		struct attachment *a = &p->attachments[i];
		if (a->reattach && !a->lingers && a->stay_fd < 0 && ++a->reattach->turns % TURNS_MIN == 0)
			stay(p, a);
	}
}

void stayers_leave(struct attachment *a)
{
	struct attachment gone = *a;
	if (a->stay_fd < 0)
		return;
	gone.fd = a->stay_fd;
	gone.reattach = NULL;
	a->stay_fd = -1;
	a->reattach->link.cnt = a->reattach->all;
	detaching_put(&gone, 1);
}

static bool was_hit(const struct probe *p, const struct reattach *r)
{
	for (uint32_t i = r->link.cnt; i < r->all; i++) {
		if (is_met(p->skel->bss->sites_met, r->words[r->all + i]))
			return true;
	}
	return false;
}

void stayers_go(struct probe *p, bool all)
{
	for (size_t i = 0; i < p->attachments_cnt; i++) {
		struct attachment *a = &p->attachments[i];
		if (a->stay_fd < 0 || !(all || was_hit(p, a->reattach)))
			continue;
		stayers_leave(a);
		log_dbg("%u probes no longer stay%s", a->reattach->all, all ? "" : ": one was hit");
	}
}
