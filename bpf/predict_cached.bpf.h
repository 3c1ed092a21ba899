/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What glibc's malloc will return, known at its entry: the first block in the thread's cache for this size, which nobody
 * but this thread can take. realloc returns the old block if that is large enough. Then the return need not be probed.
 *
 * Nothing else proves that a file works this way, so it is proven by its calls, and remains so: the first ones of a file, and
 * later one of CACHE_PROOF, are seen at their return all the same.
 */
#ifndef ALYS_PREDICT_CACHED_BPF_H
#define ALYS_PREDICT_CACHED_BPF_H

#define CACHED_MAX 1032 /* the largest request that the cache serves by default, of 64 classes */
#define CHUNK_MIN 32
#define CHUNK_HEAD 8
#define CHUNK_MMAPPED 2
#define CACHE_TRIAL 1000
#define CACHE_PROOF 64

static __always_inline bool cache_find(struct pt_regs *ctx, const struct alys_site *site, const struct alys_tcache *how,
				       struct thread_cache *c)
{
	struct task_struct *task = current_task();
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

static __always_inline __u64 chunk_size(__u64 size)
{
	__u64 chunk = (size + CHUNK_HEAD + GRANULE - 1) & ~(GRANULE - 1ull);
	return chunk > CHUNK_MIN ? chunk : CHUNK_MIN;
}

/* The request is at most CACHED_MAX. */
static __always_inline __u64 cache_entry(const struct alys_tcache *how, const struct thread_cache *c, __u64 size)
{
	return c->at + how->entries + (chunk_size(size) - CHUNK_MIN) / GRANULE * sizeof(__u64);
}

/* calloc: a small product may be what is left of a large one. */
static __always_inline bool may_overflow(struct pt_regs *ctx, const struct alys_site *site)
{
	return site->shape == ALYS_SHAPE_MUL && (argument(ctx, site->arg[0]) | argument(ctx, site->arg[1])) >> 32;
}

static __always_inline __u64 cached_block(struct pt_regs *ctx, const struct alys_site *site, const struct alys_object *o,
					  struct thread_call *t)
{
	__u64 block = 0;
	if (t->call.size > CACHED_MAX || may_overflow(ctx, site) || !cache_find(ctx, site, &o->tcache, &t->cache))
		return 0;
	/* An empty list: glibc may since have given the thread another cache. */
	if (!read_word(&block, cache_entry(&o->tcache, &t->cache, t->call.size)) || !block)
		t->cache.at = 0;
	return block;
}

/* realloc keeps a block whose chunk is large enough (malloc.c, _int_realloc); the word before the block has its size. */
static __always_inline __u64 kept_block(const struct pending *p)
{
	__u64 head;
	if (!p->size || !read_word(&head, p->old - CHUNK_HEAD) || head & CHUNK_MMAPPED)
		return 0;
	__u64 chunk = head & ~(GRANULE - 1ull);
	return p->size <= chunk && chunk_size(p->size) <= chunk ? p->old : 0;
}

static __always_inline struct alys_proof *proof_of(struct alys_object *o, const struct pending *p)
{
	return p->old ? &o->tcache.resized : &o->tcache.taken;
}

/* Sets p->predicted and p->prediction; p->trial: the call must be seen at its return, too. */
static __always_inline int call_predict(struct pt_regs *ctx, const struct alys_site *site, struct thread_call *t)
{
	struct alys_object *o = site->flags & ALYS_SITE_TCACHE ? object_of(site) : NULL;
	struct pending *p = &t->call;
	if (!o || !o->tcache.entries || proof_of(o, p)->wrong)
		return 0;
	p->prediction = p->old ? kept_block(p) : is_reallocation(p->shape) ? 0 : cached_block(ctx, site, o, t);
	if (!p->prediction)
		return 0;
	p->predicted = 1;
	p->trial = proof_of(o, p)->agreed < CACHE_TRIAL || t->cache.calls++ % CACHE_PROOF == 0;
	t->cache.judged = site->object;
	return 0;
}

/* A predicted call has returned. */
static __noinline int call_judge(const struct thread_call *t, __u64 result)
{
	__u32 i = t->cache.judged;
	struct alys_object *o = bpf_map_lookup_elem(&objects, &i);
	struct alys_proof *proof = o ? proof_of(o, &t->call) : NULL;
	bool right = result == t->call.prediction;
	if (proof)
		__sync_fetch_and_add(right ? &proof->agreed : &proof->wrong, 1);
	if (!right)
		count(ALYS_ST_MISPREDICTED);
	return 0;
}

#endif
