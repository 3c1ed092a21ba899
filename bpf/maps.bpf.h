/* SPDX-License-Identifier: GPL-2.0-only */
/* Every map of the allocation programs: writer, reader, size, and what happens when full. */
#ifndef ALYS_MAPS_BPF_H
#define ALYS_MAPS_BPF_H

/* Weak, because several objects define them and the linker keeps one. */

/* Set by the loader before load; the verifier drops the code that a switch turns off. */
const volatile struct alys_config config __weak = {};

/* Set by the loader after all probes are attached: attaching is not part of the recording. */
int recording __weak = 0;

/* Bytes between samples in force: config.interval, or more while the reader cannot keep up. Set by the loader. */
__u64 interval __weak = 0;

/* With config.windowed, while no window is open: probes for windows do nothing. Set by the loader. */
int window_shut __weak = 0;

/* A call between its entry and its return. */
struct pending {
	__u64 cfa;     /* 0 = no call waits */
	__u16 account; /* of the function, in `calls`; the loader looks for it here */
	__u8 throws;   /* left by an exception when by none of its ways out; the loader looks at it, too */
	__u8 jumps;    /* may end in a jump to another probed function */
	__u32 below;   /* calls seen below this one */
	__u64 frame;   /* the same, from the begin of the entry on */
	__u64 size;
	__u64 old;
	__u64 out; /* where the result will be stored: ALYS_SHAPE_OUTPTR's argument, or a list head */
	__u64 enter;
	__u64 stack;
	__u64 interval; /* in force when the call was sampled, 0 = exact */
	__u32 gc_no;
	__u32 batch; /* as in struct alys_ev_alloc, like span */
	__u32 span;
	__u8 flags; /* ALYS_F_* */
	__u8 shape;
	__u8 sampled;
	__u8 frees_on_zero;
	__u8 unfreed;   /* no free will ask for the block */
	__u8 collected; /* mostly freed by a collector, which nobody tells here */
	__u8 trial;     /* ALYS_SITE_TRIAL */
	__u8 predicted;
	__u64 user;       /* of a mark: the call may run the program's code, whose calls are its own */
	__u64 prediction; /* when predicted: the result, as the site or prediction on trial says */
	__u64 caller;     /* its return address: of a mark, and of a call that may jump */
};
_Static_assert(__builtin_offsetof(struct pending, account) == ALYS_PENDING_ACCOUNT, "wire");
_Static_assert(__builtin_offsetof(struct pending, throws) == ALYS_PENDING_THROWS, "wire");

/* The call of a plain allocator that a thread is in, and the innermost operator new that may run the program's code. */
struct thread_call {
	struct pending call;
	__u64 new_cfa; /* 0 = in none */
	__u64 new_bias;
	__u32 new_object;
	__u32 pad;
};

/* All records, in causal order per address. Written by all programs, read by the loader, sized by
 * --ring. Full: the record is dropped and counted by kind. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} events SEC(".maps") __weak;

/* Counters, ALYS_ST_*. Written by all programs, read by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct alys_stats);
} stats SEC(".maps") __weak;

/* The losses of each process that has some, by tgid. Written by programs, read by the loader, which takes a process
 * out when it has ended. Full: a loss is counted in stats only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ALYS_MAX_TARGETS);
	__type(key, __u32);
	__type(value, struct alys_losses);
} losses SEC(".maps") __weak;

/* Traced processes by tgid, and excluded ones: ALYS_TRACED, ALYS_EXCLUDED. Written by the loader and, for
 * children, by the fork and exit programs. Full: the child is not traced; counted by the loader, which
 * never hears of it. */
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

/* Files with allocators, by the index in their sites. Written by the loader, read by programs; these count in it
 * how a trial goes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALYS_MAX_OBJECTS);
	__type(key, __u32);
	__type(value, struct alys_object);
} objects SEC(".maps") __weak;

/* The call of a plain C allocator that a thread is in. These never switch stacks, so the thread
 * names the call; storage goes away with the thread. Full (no memory): the call is lost, counted. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_call);
} thread_calls SEC(".maps") __weak;

/* The free that a thread was seen to enter last. Who it is for is found by its frame. */
struct freeing {
	__u64 cfa;
	__u64 caller;
	__u64 addr;
	__u64 code_lo, code_hi; /* of its file, in the process */
	__u64 entry;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct freeing);
} thread_frees SEC(".maps") __weak;

/* What a collector's counter held, and whether its probes tell of each change: then it need not be read at each call. */
struct gc_known {
	__u64 at;
	__u32 epoch; /* gc_epoch when it was read */
	__u32 gc_no;
	__u32 age; /* calls since */
	__u32 told;
};

/* A thread's room for the call whose entry is being looked at, and where its free lists are: found once,
 * then one read a call. fsbase tells a thread that became another program. */
struct call_room {
	__u64 fsbase;
	__u64 lists;
	__u32 extra;
	__u32 object;
	__u64 result;   /* with PREDICT_RESULT */
	__u64 foreseen; /* enum prediction */
	__u64 pair;     /* CFA that the exit will see */
	__s32 slot;     /* of the walk that has begun; negative: none */
	__u32 pad;
	struct gc_known gc;
	struct pending now;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_room);
} call_rooms SEC(".maps") __weak;

struct call_key {
	__u64 cfa;
	__u64 tgid;
};

/* Calls that may run user code, by process and frame: a fiber may come back on another thread.
 * Full: the call is lost, counted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct call_key);
	__type(value, struct pending);
} frame_calls SEC(".maps") __weak;

/* How many of them share a slot of the frame's hash; 0 = none waits there. Taken back by the loader, too. */
__u32 frame_marks[1 << ALYS_FRAME_MARK_BITS] __weak = {};

/* The collector's last call in a frame that nobody asks for and that may jump to another. A frame with the same slot takes it. */
struct passed_call {
	__u64 cfa; /* 0 = none: it has come back */
	__u32 tgid;
	__u32 size; /* what it asked for, to look into the lists */
	__u16 account;
	__u8 kind;
	__u8 lists; /* its way out with a block from a list is not probed */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << ALYS_FRAME_MARK_BITS);
	__type(key, __u32);
	__type(value, struct passed_call);
} passed_calls SEC(".maps") __weak;

/* Calls that waited for their way out, by function: the number is in the site. Written by programs, read by the loader. */
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

/* Live sampled blocks and the time of their allocation, so that other frees die here. Plain hash,
 * never LRU: an entry pushed out would turn its block's free into a leak. Sized by the loader.
 * Full: the allocation is dropped and counted, not its free. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct block_key);
	__type(value, __u64);
} sampled SEC(".maps") __weak;

/* How many of them share a slot of the address' hash; 0 = the address is none of them. May be too many. Taken back
 * by the loader, too, with entries of processes that have ended and with the whole table. */
__u32 sampled_marks[1 << ALYS_MARK_BITS] __weak = {};

/* Bytes until the next sample. */
struct countdown {
	__u64 left;
	__u64 interval; /* that `left` was drawn for */
};

/* One per CPU: the exponential distribution has no memory, so it does not matter which thread counts it down. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct countdown);
} countdowns SEC(".maps") __weak;

/* Hashes of stacks that the loader has. Direct-mapped: a collision only sends a stack again. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALYS_SEEN_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps") __weak;

#endif
