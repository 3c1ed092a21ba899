/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What glibc's malloc will return, known at its entry: the first block in the thread's cache for this size, which nobody
 * but this thread can take. Then the return need not be probed.
 *
 * Nothing else proves that a file works this way, so it is proven by its calls, and remains so: the first ones of a file, and
 * later one of CACHE_PROOF, are seen at their return all the same.
 */
#ifndef ALYS_PREDICT_CACHED_BPF_H
#define ALYS_PREDICT_CACHED_BPF_H

#define CACHED_MAX 1032 /* the largest request that the cache serves by default, of 64 classes */
#define CHUNK_MIN 32
#define CHUNK_HEAD 8
#define CACHE_TRIAL 1000
#define CACHE_PROOF 64

static __always_inline bool cache_find(struct pt_regs *ctx, const struct alys_site *site, const struct alys_tcache *how,
				       struct thread_cache *c)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 fsbase = THREAD_POINTER(task), offset = how->tls_offset;
	if (c->fsbase != fsbase || c->execution != task->self_exec_id || c->object != site->object || !c->pointer) {
		c->at = 0;
		c->pointer = 0;
		if (how->slot_vaddr && !read_word(&offset, how->slot_vaddr + bias_of(ctx, site)))
			return false;
		c->fsbase = fsbase;
		c->execution = task->self_exec_id;
		c->object = site->object;
		c->pointer = fsbase + offset;
	}
	return c->at || (read_word(&c->at, c->pointer) && c->at);
}

/* The request is at most CACHED_MAX. */
static __always_inline __u64 cache_entry(const struct alys_tcache *how, const struct thread_cache *c, __u64 size)
{
	__u64 chunk = (size + CHUNK_HEAD + GRANULE - 1) & ~(GRANULE - 1ull);
	return c->at + how->entries + (chunk > CHUNK_MIN ? chunk - CHUNK_MIN : 0) / GRANULE * sizeof(__u64);
}

/* calloc: a small product may be what is left of a large one. */
static __always_inline bool may_overflow(struct pt_regs *ctx, const struct alys_site *site)
{
	return site->shape == ALYS_SHAPE_MUL && (argument(ctx, site->arg[0]) | argument(ctx, site->arg[1])) >> 32;
}

/* Sets p->predicted and p->prediction; p->trial: the call must be seen at its return, too. */
static __noinline int cache_predict(struct pt_regs *ctx, const struct alys_site *site, struct thread_call *t)
{
	const struct alys_object *o = site->flags & ALYS_SITE_TCACHE ? object_of(site) : NULL;
	struct pending *p = &t->call;
	struct thread_cache *c = &t->cache;
	__u64 block = 0;
	bool small = p->size <= CACHED_MAX && !may_overflow(ctx, site);
	if (!o || !small || !o->tcache.entries || o->tcache.wrong || !cache_find(ctx, site, &o->tcache, c))
		return 0;
	/* An empty list: glibc may since have given the thread another cache. */
	if (!read_word(&block, cache_entry(&o->tcache, c, p->size)) || !block) {
		c->at = 0;
		return 0;
	}
	p->prediction = block;
	p->predicted = 1;
	p->trial = o->tcache.agreed < CACHE_TRIAL || c->calls++ % CACHE_PROOF == 0;
	return 0;
}

/* A predicted call has returned. */
static __noinline int cache_judge(const struct thread_call *t, __u64 result)
{
	__u32 i = t->cache.object;
	struct alys_object *o = bpf_map_lookup_elem(&objects, &i);
	bool right = result == t->call.prediction;
	if (o)
		__sync_fetch_and_add(right ? &o->tcache.agreed : &o->tcache.wrong, 1);
	if (!right)
		count(ALYS_ST_MISPREDICTED);
	return 0;
}

#endif
