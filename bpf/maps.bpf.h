/* SPDX-License-Identifier: GPL-2.0-only */
/* Every map of the allocation programs: writer, reader, size, and what happens when full. */
#ifndef ALYS_MAPS_BPF_H
#define ALYS_MAPS_BPF_H

#include "walk_start.bpf.h"

/* Weak, because several objects define them and the linker keeps one. */

/* Set by the loader before load; the verifier drops the code that a switch turns off. */
const volatile struct alys_config config __weak = {};
const volatile __u32 neg_ln_q32[ALYS_NEG_LN_CNT] __weak = {}; /* ALYS_NEG_LN_Q32, filled by the loader */

/* Set by the loader after all probes are attached: attaching is not part of the recording. */
int recording __weak = 0;

/* Sampling interval in force, in bytes: config.interval, or more while the reader cannot keep up. Set by the loader. */
__u64 interval __weak = 0;

/* With config.windowed: no window is open, and probes of windows do nothing. Set by the loader. */
int window_shut __weak = 0;

/* How many windows have been opened. Set by the loader. */
__u32 windows_opened __weak = 0;

/*
 * With config.windowed: probes that were hit, by site; a number that is used again counts as hit. Bytes that are written
 * only once are no matter for processors to share.
 */
__u8 sites_met[ALYS_MAX_SITES] __weak = {};

/* A call between its entry and its return. */
struct pending {
	__u64 cfa;               /* 0 = no call waits */
	__u16 account;           /* index of the function in `calls`; read by the loader */
	__u8 throws;             /* if its exit is not seen, it was left by an exception; read by the loader */
	__u8 jumps;              /* may end in a jump to another probed function */
	__u32 below;             /* number of calls seen below this one */
	struct walk_start start; /* its cfa is the same, but set at the start of the entry */
	__u64 size;
	__u64 old;
	__u64 out;   /* where the result will be stored: ALYS_SHAPE_OUTPTR's argument, or a list head */
	__u64 enter; /* time of the entry; of a sample in a recording with windows, when its work began; 0 = not read */
	__u64 stack;
	__u64 interval; /* in force when the call was sampled, 0 = exact */
	__u32 gc_no;
	__u32 batch; /* as in struct alys_ev_alloc, like span */
	__u32 span;
	__u8 flags; /* ALYS_F_* */
	__u8 shape;
	__u8 sampled;
	__u8 frees_on_zero;
	__u8 unfreed;   /* frees of the block are not probed */
	__u8 collected; /* mostly freed by a collector, which is not seen here */
	__u8 trial;     /* ALYS_SITE_TRIAL */
	__u8 predicted;
	__u32 memory;     /* as in struct alys_ev_stack */
	__u64 user;       /* of a mark: the call may run program code, whose calls are not nested */
	__u64 prediction; /* if predicted: the result, according to the site or prediction on trial */
	__u64 caller;     /* return address, of a mark or of a call that may jump */
};
_Static_assert(__builtin_offsetof(struct pending, account) == ALYS_PENDING_ACCOUNT, "wire");
_Static_assert(__builtin_offsetof(struct pending, throws) == ALYS_PENDING_THROWS, "wire");

/*
 * A thread's cache of free blocks, found once. Another thread pointer or another execution (self_exec_id) means that the
 * thread runs another program.
 */
struct thread_cache {
	__u64 fsbase;
	__u64 execution;
	__u64 pointer; /* address of the thread-local pointer to it */
	__u64 at;      /* its address, 0 = to be read */
	__u32 object;
	__u32 calls;  /* predicted */
	__u32 judged; /* the object whose prediction waits for the return */
	__u32 pad;
};

/* The last free that a thread has entered: calls that it makes itself are recognized by its frame. */
struct freeing {
	__u64 cfa;
	__u64 caller;
	__u64 addr;
	__u64 code_lo, code_hi; /* of its file, in the process */
	__u64 entry;
};

/*
 * The call of a plain allocator that a thread is in, the innermost operator new that may run the program's code, and the
 * last free.
 */
struct thread_call {
	struct pending call;
	struct thread_cache cache;
	__u64 new_cfa; /* 0 = in none */
	__u64 new_bias;
	__u32 new_object;
	__u32 marked; /* where it is counted in thread_marks, + 1; 0 = it is not */
	struct freeing freed;
	__u64 sample_begun; /* kept here to save stack, see sample_begins */
};

/*
 * All records, in causal order per address: struct alys_ring, see ring.bpf.h. Written by all programs, read by the loader (mapped into its
 * memory), sized by --ring (probe_ring_part), and config.ring_sz says how. Full: the record is dropped and counted by kind.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, ALYS_RING_SZ(1 << 20));
} events SEC(".maps") __weak;

/* Calls of the reader of records, without content. Full: it has been called, and is late. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} event_calls SEC(".maps") __weak;

/* Counters, ALYS_ST_*. Written by all programs, read by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct alys_stats);
} stats SEC(".maps") __weak;

/*
 * What windows took, by process (ALYS_TAKEN_SLOT_OF). Written by all programs, read by the loader. One slot without
 * config.windowed.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct alys_taken);
} taken SEC(".maps") __weak;

/*
 * Losses by process (tgid). Written by programs, read by the loader, which removes entries of ended processes. Full: a
 * loss is counted in stats only.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ALYS_MAX_TARGETS);
	__type(key, __u32);
	__type(value, struct alys_losses);
} losses SEC(".maps") __weak;

/*
 * Traced processes by tgid, and excluded ones: ALYS_TRACED, ALYS_EXCLUDED. Written by the loader and, for children, by
 * the fork and exit programs. Full: the child is not traced.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ALYS_MAX_TARGETS);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps") __weak;

/* Probed addresses by attach cookie. Written by the loader before it attaches, read by programs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALYS_MAX_SITES);
	__type(key, __u32);
	__type(value, struct alys_site);
} sites SEC(".maps") __weak;

/*
 * Arguments of a program's own probes, by attach cookie. Written by the loader before it attaches, and not removed: the
 * next probe with that number overwrites it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ALYS_MAX_SITES);
	__type(key, __u32);
	__type(value, struct alys_note);
} notes SEC(".maps") __weak;

/*
 * Files with allocators, by the index in their sites. Written by the loader; programs read it and count there how a
 * trial goes.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALYS_MAX_OBJECTS);
	__type(key, __u32);
	__type(value, struct alys_object);
} objects SEC(".maps") __weak;

/*
 * The call of a plain C allocator that a thread is in. These never switch stacks, so a call is identified by its
 * thread; storage is freed with the thread. Full (no memory): the call is lost, counted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_call);
} thread_calls SEC(".maps") __weak;

/* The heap of an Erlang process: see struct alys_beam. */
struct beam_heap {
	__u64 heap, high_water, htop, stop, hend;
	__u64 heap_sz, mbuf_sz, abandoned;
	__u64 id;     /* the pid, as the VM has it */
	__u32 need;   /* words that are asked for */
	__u16 minors; /* since the last major collection */
};

/*
 * The last heap of an Erlang process, and what it allocated between its last collections: by that, samples of processes
 * that are in step with their heaps are recognized. Direct-mapped: another process may take the place, and a past of 0
 * is only less known.
 */
struct beam_past {
	__u64 process, id; /* of the struct; of what lives in it now */
	__u32 sizes;       /* of the last heap-fulls, mixed: BEAM_PAST_BITS each */
	__u32 window;      /* in which it was met last, as windows_opened */
	__u16 minors;      /* since the last major collection */
	bool stays;        /* the heap does, if its collection is put off */
	__u64 heap, hend;  /* what served as its heap then; 0 = not known */
	__u64 high_water, htop, mbuf_sz;
	__u64 counted; /* bytes, of what had been allocated in it */
	__u64 heap_sz; /* bytes, of the last heap that no collection was put off on; 0 = not known */
	__u64 named;   /* its name as it was sent, low bit set; 0 = not yet */
};

#define BEAM_PAST_SLOTS (1 << 14)
#define BEAM_PAST_BITS 10 /* three heap-fulls in a word */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BEAM_PAST_SLOTS);
	__type(key, __u32);
	__type(value, struct beam_past);
} beam_pasts SEC(".maps") __weak;

/*
 * A thread's scratch memory for the call at hand, and the address of its free lists, found once. A changed fsbase means
 * that the thread has executed another program.
 */
struct call_room {
	__u64 fsbase;
	__u64 lists;
	__u64 execution; /* self_exec_id when the lists were found */
	__u64 told;      /* what would pair the last call, if its result was told at its entry; else 0 */
	/* Used with THREAD_POINTER_LATE. */
	__u64 stale;    /* thread pointer of the program before */
	__u64 asked;    /* CFA of a call whose lists were not known, 0 = none */
	__u64 asked_at; /* where its list lies in them */
	__u32 extra;
	__u32 object;
	__u64 result;          /* with PREDICT_RESULT */
	__u64 prediction_kind; /* enum prediction */
	__u64 pair;            /* CFA that the exit will see */
	__s32 slot;            /* of the walk begun; negative: none */
	__u32 pad;
	struct pending now;
	struct beam_heap beam;
	__u64 collecting; /* time when a call that is timed began; 0 = none */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_room);
} call_rooms SEC(".maps") __weak;

static __always_inline struct call_room *thread_room(void)
{
	return bpf_task_storage_get(&call_rooms, current_task(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

#define THREAD_MARK_BITS 12

/* Counts the threads in a plain call that waits, or in a marked one, by their number; 0 = none. A thread that was killed there stays. */
__u32 thread_marks[1 << THREAD_MARK_BITS] __weak = {};

/* Several functions of plain allocators free, so that one may call another. Set by the loader. */
int frees_nest __weak = 0;

struct call_key {
	__u64 cfa;
	__u64 tgid;
};

/*
 * Calls that may run program code, by process and frame: a fiber may return on another thread. Full: the call is lost,
 * counted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct call_key);
	__type(value, struct pending);
} frame_calls SEC(".maps") __weak;

/* Counts the entries of frame_calls by hash of the frame; 0 = no call waits there. Decremented by the loader, too. */
__u32 frame_marks[1 << ALYS_FRAME_MARK_BITS] __weak = {};

/*
 * The last unsampled collector call in a frame that may end in a jump to another function. One per hash slot: another
 * frame may overwrite it.
 */
struct unsampled_call {
	__u64 cfa; /* 0 = none, or it has returned */
	__u32 tgid;
	__u32 size; /* requested, to look into the lists */
	__u16 account;
	__u8 kind;
	__u8 lists; /* its exit with a block from a list is not probed */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << ALYS_FRAME_MARK_BITS);
	__type(key, __u32);
	__type(value, struct unsampled_call);
} unsampled_calls SEC(".maps") __weak;

/*
 * Calls that were followed to their exit, by function (index: the site's account). Written by programs, read by the
 * loader.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ALYS_MAX_ACCOUNTS);
	__type(key, __u32);
	__type(value, struct alys_calls);
} calls SEC(".maps") __weak;

struct block_key {
	__u64 addr;
	__u64 tgid;
};

/*
 * Live sampled blocks and the time of their allocation: frees of all others are dropped. Plain hash, never LRU: with an
 * evicted entry its block would seem to leak. Sized by the loader. Full: the allocation is dropped and counted, not its
 * free.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct block_key);
	__type(value, __u64);
} sampled SEC(".maps") __weak;

/*
 * Counts the entries of `sampled` by hash of the address; 0 = the address is not among them. May be too high.
 * Decremented by the loader, too, for ended processes and when it clears the table.
 */
__u32 sampled_marks[1 << ALYS_MARK_BITS] __weak = {};

/* Bytes until the next sample. */
struct countdown {
	__u64 left;
	__u64 interval; /* that `left` was drawn for */
};

/* One per CPU: the exponential distribution is memoryless, so it does not matter which thread counts it down. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct countdown);
} countdowns SEC(".maps") __weak;

/* Changed by the loader when it discards stacks. */
__u64 seen_generation __weak = 0;

/* Hash ^ generation of stacks that the loader has. Direct-mapped: a collision only sends a stack again. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALYS_SEEN_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps") __weak;

#endif
