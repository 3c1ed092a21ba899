/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The collector's counter of collections, which objects are marked with. It changes only while the world is stopped, so a value that was
 * read is valid until the next collection that probes report.
 */
#ifndef ALYS_GC_NUMBER_BPF_H
#define ALYS_GC_NUMBER_BPF_H

#define GC_KNOWN_CALLS 64 /* after so many calls, a known counter is read again */
#define GC_KNOWN 16       /* counters that a processor knows. A power of two. */

/* reported: the collection's probes report each change, so it need not be read at each call. */
struct gc_known {
	__u32 version; /* odd while it is written */
	__u32 tgid;
	__u64 at;
	__u32 epoch; /* gc_epoch when it was read */
	__u32 gc_no;
	__u32 age; /* calls since */
	__u32 reported;
};

/* Direct-mapped by process. Read and written by the programs of one processor, of which one may interrupt another. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GC_KNOWN);
	__type(key, __u32);
	__type(value, struct gc_known);
} gc_known SEC(".maps") __weak;

/*
 * The entry is claimed. reported: the collection probes have reported the value read here, so they are known to work. The first change
 * that they did not report ends all caching (gc_unreported).
 */
static __always_inline void gc_known_set(struct gc_known *k, __u32 tgid, __u64 at, __u32 gc_no, __u32 epoch)
{
	bool same = k->tgid == tgid && k->at == at && k->epoch == epoch;
	if (same && k->reported && !gc_unreported && k->gc_no != gc_no) {
		count(ALYS_ST_GC_UNREPORTED);
		gc_unreported = 1;
	}
	if (!same) {
		const struct gc_state *s = gc_state_now(false);
		k->reported = s && s->gc_no == gc_no;
	}
	k->tgid = tgid;
	k->at = at;
	k->epoch = epoch;
	k->gc_no = gc_no;
	k->age = 0;
}

/* The epoch is read before the counter: a collection in between makes the value an old one. */
static __noinline bool gc_known_read(struct gc_known *k, __u64 at, __u64 *out)
{
	__u32 epoch = *(volatile __u32 *)&gc_epoch, version = word_acquire(&k->version);
	if (!read_word(out, at))
		return false;
	if (version & 1 || __sync_val_compare_and_swap(&k->version, version, version + 1) != version)
		return true;
	gc_known_set(k, current_tgid(), at, *out, epoch);
	word_publish(&k->version, version + 2);
	return true;
}

static __always_inline bool gc_number(__u64 at, __u64 *out)
{
	__u32 tgid = current_tgid(), i = tgid & (GC_KNOWN - 1);
	struct gc_known *k = bpf_map_lookup_elem(&gc_known, &i);
	if (!k)
		return read_word(out, at);
	__u32 version = word_acquire(&k->version);
	bool known = k->reported && k->tgid == tgid && k->at == at && k->epoch == gc_epoch && !gc_unreported;
	*out = k->gc_no;
	known = known && !(version & 1) && word_acquire(&k->version) == version;
	return (known && ++k->age % GC_KNOWN_CALLS) || gc_known_read(k, at, out);
}

/* cached: a known value will do. */
static __always_inline void read_gc(struct pt_regs *ctx, const struct alys_site *site, struct pending *p, bool cached)
{
	const struct alys_object *o = object_of(site);
	__u64 gc_no;
	if (!o || !o->gc_no_vaddr)
		return;
	__u64 at = o->gc_no_vaddr + bias_of(ctx, site);
	if (!(cached ? gc_number(at, &gc_no) : read_word(&gc_no, at)))
		return;
	p->gc_no = gc_no;
	p->flags |= ALYS_F_GC;
}

#endif
