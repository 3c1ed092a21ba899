/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The wire format between BPF programs and the loader. Included by both, includes nothing of ours. It may change at any
 * time; the file format (user/output/trace) is independent of it. Rules: fixed-width fields, natural alignment,
 * explicit zeroed padding, no bool, enum or pointer.
 */
#ifndef ALYS_WIRE_H
#define ALYS_WIRE_H

#include <linux/types.h>

#define ALYS_MAX_FRAMES 512   /* limit of --backtrace-limit */
#define ALYS_MAX_SITES 16384  /* probe sites of all attached files */
#define ALYS_MAX_OBJECTS 1024 /* attached files */
#define ALYS_MAX_TARGETS 4096
#define ALYS_MAX_ACCOUNTS 4096 /* limit: functions whose calls are counted by name and file; 0 = all others */
#define ALYS_SEEN_SLOTS 65536  /* direct-mapped: recently sent stacks */

/* Record kinds in the ring. */
#define ALYS_EV_ALLOC 1
#define ALYS_EV_REALLOC 2
#define ALYS_EV_FREE 3
#define ALYS_EV_STACK 4
#define ALYS_EV_EXEC 5
#define ALYS_EV_EXIT 6
#define ALYS_EV_FORK 7
#define ALYS_EV_MISS 8       /* the walk met an address in no known mapping */
#define ALYS_EV_OOM 9        /* the OOM killer ends a process */
#define ALYS_EV_GC_MARKED 10 /* struct alys_ev_gc: marking is done, the world is still stopped */
#define ALYS_EV_GC_DONE 11   /* the same collection is over: its marks stay until the next one starts */
#define ALYS_EV_GC_BEGUN 12  /* never in the main ring */
#define ALYS_EV_MAPPED 13    /* the dynamic linker has mapped or unmapped libraries */
#define ALYS_EV_GONE 14      /* struct alys_ev_range: its pages left the resident set, or its mappings went */
#define ALYS_EV_MOVED 15     /* struct alys_ev_range: its pages are about to lie elsewhere, or its mappings do (mremap) */
#define ALYS_EV_NAMED 16     /* struct alys_ev_named: what an Erlang process is called */
#define ALYS_EV_USED 17      /* CPU time of a process that ends; with windows only */

/* Head of every record. */
struct alys_head {
	__u8 kind;
	__u8 flags;   /* ALYS_F_* */
	__u8 held;    /* exec, mapped: the thread waits to be stopped; its ring (struct alys_hold), 0 = it does not wait */
	__u8 subject; /* ALYS_SUBJECT_* */
	__u32 tgid;
	__u32 tid;
	__u32 gc_no; /* collector's cycle counter, low 32 bits; 0 unless ALYS_F_GC */
	__u64 time;  /* bpf_ktime_get_ns: CLOCK_MONOTONIC */
};

/* What a record is about: same numbers as enum subject in event.h, checked by static asserts in intake.c. */
#define ALYS_SUBJECT_ALLOCATIONS 0
#define ALYS_SUBJECT_PAGES 1
#define ALYS_SUBJECT_MAPPINGS 2

#define ALYS_F_ATOMIC 1      /* pointer-free block of a collector */
#define ALYS_F_GC 2          /* gc_no is set */
#define ALYS_F_WINDOW 4      /* sampled in a window */
#define ALYS_F_PLAIN 8       /* block of an allocator that is no collector */
#define ALYS_F_UNFOLLOWED 16 /* how it ends is not recorded */
#define ALYS_F_WEIGHED 32    /* sampled by the program itself: `interval` has the bytes that the block stands for */
/* What an Erlang process allocated since its last collection; `batch`, if it is sampled: hash of those before. */
#define ALYS_F_HEAPFUL 64
#define ALYS_F_IDLE 128 /* end of a collection: the mark reader was not woken, see struct alys_gc_idle */

struct alys_ev_alloc {
	struct alys_head h;
	__u64 addr;
	__u64 size;
	__u64 stack;    /* hash of the call stack; 0 = none taken */
	__u64 interval; /* bytes:N in force, 0 = exact; see ALYS_F_WEIGHED */
	__u32 batch;    /* blocks that this one stands for before sampling; 0 = only itself */
	__u32 span;     /* bytes counted for sampling; 0 = size */
};

struct alys_ev_realloc {
	struct alys_ev_alloc a; /* a.addr is the new block, 0 if realloc(p, 0) freed */
	__u64 old;
	__u64 enter; /* time of the call */
};

struct alys_ev_free {
	struct alys_head h;
	__u64 addr;
	__u64 stack;
};

/*
 * Sent once per distinct stack, before the first event that names it. n addresses (__u64) follow: [0] = the probe, [1] = the
 * caller of the probed function, ...
 */
struct alys_ev_stack {
	struct alys_head h;
	__u64 hash;
	__u32 n;
	__u16 end;    /* ALYS_STOP_* */
	__u16 memory; /* of a page's first touch or a mapping: ALYS_MEMORY_*; of a typed block: ALYS_MEMORY_TYPED; else 0 */
};

/* How a stack walk ended: same numbers as STACK_END_LIST in catalog.h, checked by static asserts in intake.c. */
#define ALYS_STOP_COMPLETE 0
#define ALYS_STOP_UNKNOWN 1
#define ALYS_STOP_TRUNCATED 2
#define ALYS_STOP_FAULT 3
#define ALYS_STOP_NO_TABLE 4
#define ALYS_STOP_BAD_CFA 5
#define ALYS_STOP_UNSUPPORTED 6

/* Of an exit: `other` holds the wait status (wait(2)). */
#define ALYS_EXIT_STATUS (1ull << 32)

/*
 * exec (other = the new program's number, see struct alys_entered), exit (other = status), fork (tgid/tid = parent,
 * other = child's tgid), miss (other = address), oom (other = victim's tgid, whichever task is running), used (other =
 * ns of CPU time, comes before the exit).
 */
struct alys_ev_proc {
	struct alys_head h;
	__u64 other;
};

/*
 * Pages from `start` up to `end`, 0 = up to where the heap ended before; `to`: where they go (ALYS_EV_MOVED). `enter`: of mappings,
 * when the call began.
 */
struct alys_ev_range {
	struct alys_head h;
	__u64 start, end;
	__u64 to;
	__u64 enter;
};

/* With the first heap-full of a process that has a registered name, the second one of others, and when that changes. Terms of the VM. */
struct alys_ev_named {
	struct alys_head h;
	__u64 process;    /* as the address of its heap-fulls */
	__u64 registered; /* an atom; 0 = it has no such name */
	__u64 initial[3]; /* the function that it began with: module, function, both atoms, and its arity; 0 = not known */
};

/* Kinds of resident memory, as the kernel counts it. */
#define ALYS_MEMORY_ANONYMOUS 1
#define ALYS_MEMORY_HUGE 2 /* anonymous, a huge page */
#define ALYS_MEMORY_FILE 3
#define ALYS_MEMORY_SHARED 4
#define ALYS_MEMORY_RESERVED 5 /* of mappings: anonymous, without access when it was mapped */
/* The other bits: the number that the program gives to the type of the block. */
#define ALYS_MEMORY_TYPED 0x8000

/* Of one processor: faults at which the programs for pages ran, those of them that were looked at, and of these a target's. */
struct alys_faults {
	__u64 all, looked, ours;
};

#define ALYS_PAGE_SZ 4096ull
#define ALYS_HUGE_SZ (2ull << 20)

/*
 * A thread to be stopped, of a process that we launched: it continues after ALYS_HOLD_WAIT_NS unless it has been
 * stopped (ptrace) by then. Sent in two small rings, which wake the holder: ring 1 from even CPUs and ring 2 from odd
 * ones, since the holder must not need the CPU on which the thread waits. It takes some 0.1 ms, but a host may leave a virtual
 * processor out for several ms: with 2 ms, one start in seven was not held on such a machine.
 */
struct alys_hold {
	__u64 time; /* equals the time of the record in the main ring */
	__u32 tid;
	__u32 pad;
};
#define ALYS_HOLD_WAIT_NS 20000000ull

/*
 * A collection. Sent in the main ring, because its place among the allocations determines which of them it could mark;
 * and again in a small ring of its own, which wakes the mark reader.
 */
struct alys_ev_gc {
	struct alys_head h;  /* gc_no: the collection's own number */
	__u64 serial;        /* number of collections started in this process so far */
	__u64 begun, marked; /* times; 0 = its start was not seen */
	__u64 stack;         /* of the call that triggered it */
};

/*
 * A process without a sampled object that a collection could free: its mark reader need not wake until another object of any
 * process is logged, or all marks are to be read again.
 */
struct alys_gc_idle {
	__u64 logged;   /* objects in the log when it was seen to have none */
	__u64 until_ns; /* CLOCK_MONOTONIC */
};

/* What a probed address in the collector's code means. */
#define ALYS_GC_BEGINS 1
#define ALYS_GC_MARKED 2
#define ALYS_GC_ENDS 3

#define ALYS_MAX_GC_SITES 256

struct alys_gc_site {
	__u64 vaddr;       /* of the probe, in the ELF file */
	__u64 gc_no_vaddr; /* the collector's cycle counter */
	__u32 cfa_off;     /* CFA - sp, where it starts */
	__u32 phase;       /* ALYS_GC_* */
};

/* How a probed function uses its arguments. */
#define ALYS_SHAPE_SIZE 1       /* p = f(size) */
#define ALYS_SHAPE_MUL 2        /* p = f(count, size) */
#define ALYS_SHAPE_REALLOC 3    /* p = f(old, size) */
#define ALYS_SHAPE_OUTPTR 4     /* err = f(&p, ..., size) */
#define ALYS_SHAPE_FREE 5       /* f(p) */
#define ALYS_SHAPE_MULREALLOC 6 /* p = f(old, count, size) */
#define ALYS_SHAPE_REFILL 7     /* a thread's free list was refilled with a page of blocks; its address is in `reg` */
#define ALYS_SHAPE_BATCH 8      /* f(size, ..., &list): a list of blocks, for free lists that the program keeps itself */

/* f(process, words): an Erlang process collects its heap for the words; arg[1] = arg[0]: it asks for none, or ends. */
#define ALYS_SHAPE_HEAPFUL 9

/* The table of -ln(m) for m in [1/2, 1], in 2^-32 (gap.bpf.h). */
#define ALYS_NEG_LN_CNT 1025
#define ALYS_NEG_LN_Q32(i) ((__u32)llround(-log(0.5 + (i) / 2048.0) * 4294967296.0))

/* Bytes counted for one refill when sampling, whatever its size: libgc's HBLKSIZE, the maximum. */
#define ALYS_REFILL_SPAN 4096

/*
 * A sampled object of a collected heap, logged before its record is sent: the mark reader must know the objects to look
 * for before the main ring has been read. number: position in the log, from 1; written last, 0 while the entry is being
 * written.
 */
struct alys_sampled_object {
	__u64 number;
	__u64 addr;
	__u64 time; /* CLOCK_MONOTONIC, ns */
	__u32 tgid;
	__u32 pad;
};
#define ALYS_OBJECT_LOG_SLOTS 8192 /* a power of two */

/* How nested calls within one allocator are distinguished from the program's own calls. */
#define ALYS_NEST_THREAD 1 /* plain C allocators: a second entry before the first one returned */
#define ALYS_NEST_CALLER 2 /* collectors: the return address lies in the allocator's own code */

#define ALYS_SITE_GC_KIND 1       /* kind_arg holds GC_malloc_kind's kind: 0 = atomic */
#define ALYS_SITE_ATOMIC 2        /* the function always gives pointer-free blocks */
#define ALYS_SITE_FREES_ON_ZERO 4 /* realloc(p, 0) frees p */
#define ALYS_SITE_LISTS 8         /* results are predicted from the thread's free lists */
#define ALYS_SITE_LEAF 16         /* calls no other probed function: an unsampled call need not be followed */
#define ALYS_SITE_UNFREED 32      /* frees of its blocks are not probed */
#define ALYS_SITE_WHOLE_CALL 128  /* the call's arguments are still in registers, and its result is in `reg` */
#define ALYS_SITE_CALLEE 256      /* a call instruction: the exits are those of the called function */
#define ALYS_SITE_JUMPS 512       /* may end in a jump to another probed function, in this file or another one */
#define ALYS_SITE_USER 1024   /* may run program code, as operator new does: only the object's `inner` code counts as nested */
#define ALYS_SITE_THROWS 2048 /* if its exit is not seen, it was left by an exception */
#define ALYS_SITE_WINDOW 4096 /* its probe is attached and detached: calls count only while a window is open */
#define ALYS_SITE_DRAW_IN_WINDOW 8192 /* its probe stays attached, but calls are sampled only while a window is open */
#define ALYS_SITE_TCACHE 16384 /* glibc's: results are predicted from the thread's tcache, those of realloc from its old block */
#define ALYS_SITE_OPEN 32768   /* frees below this one are the program's */
#define ALYS_SITE_TAKES 65536  /* with WHOLE_CALL: only if that is a block, and not a count (struct alys_lists) */
#define ALYS_SITE_LATE 131072  /* an exit of calls with a late entry: one that gets no block may come here without passing it */
#define ALYS_SITE_TRIAL 64     /* results are read at `ret`; other predictions are only compared with them */

/* Where an exit finds the result: the number of a register on aarch64, below on x86-64. */
#define ALYS_REG_RAX 0
#define ALYS_REG_RBX 1
#define ALYS_REG_RCX 2
#define ALYS_REG_RDX 3
#define ALYS_REG_RSI 4
#define ALYS_REG_RDI 5
#define ALYS_REG_RBP 6
#define ALYS_REG_R8 7  /* up to r15 = 14 */
#define ALYS_REG_SP 31 /* in notes only */
/* Instead of an argument's number. */
#define ALYS_ARG_IN(reg) (64 + (reg))
#define ALYS_REG_LIST \
	32 /* no register: the head of the list that the entry stored; more: the list that register (it - 32) points to */

/* Where an argument of a program's own probe is. */
#define ALYS_NOTE_NONE 0 /* the probe has no such argument */
#define ALYS_NOTE_CONSTANT 1
#define ALYS_NOTE_REGISTER 2
#define ALYS_NOTE_MEMORY 3 /* at the register's address plus `value` */

struct alys_note_arg {
	__s64 value;
	__u8 form; /* ALYS_NOTE_* */
	__u8 reg;  /* ALYS_REG_* */
	__u8 size; /* bytes: 1, 2, 4 or 8 */
	__u8 is_signed;
	__u32 pad;
};

/*
 * Arguments of a probe that a program defines (USDT): the block, its size, the bytes that it stands for. A free has the
 * first one only.
 */
#define ALYS_NOTE_ARGS 3
struct alys_note {
	struct alys_note_arg arg[ALYS_NOTE_ARGS];
};

/*
 * One probed address. The attach cookie is the index into the `sites` array, so a program needs no other knowledge of
 * where it runs. Addresses are those of the ELF file: the load bias is the instruction pointer minus vaddr, which no
 * exec or fork can make stale.
 */
struct alys_site {
	__u64 vaddr;   /* of this probe */
	__u32 object;  /* index into the `objects` array */
	__u16 cfa_off; /* CFA - sp at this instruction */
	__u16 fp_off;  /* CFA - where the caller's frame pointer is saved; 0 = it is in its register */
	__u16 into;    /* bytes behind the function's entry, at which the stack begins all the same; 0 = it begins here */
	__u16 row;     /* in the allocator table: for reports */
	__u8 shape;    /* ALYS_SHAPE_* */
	__u8 nest;     /* ALYS_NEST_* */
	__u8 arg[3];   /* in the order of the shape's formula: argument numbers (0..5), or ALYS_ARG_IN a register */
	__u8 kind_arg; /* with ALYS_SITE_GC_KIND, or typed */
	__u32 flags;   /* ALYS_SITE_* */
	__u8 reg;      /* ALYS_REG_* with the result at an exit, the list's address at a refill; else 0 */
	__u8 typed;    /* not 0: kind_arg holds the program's own type of the block */
	__u16 account; /* entry: index of the function in `calls` */
	__u32 pad;
};

/* Calls of one function that were followed from entry to exit. */
struct alys_calls {
	__u64 begun;
	__u64 ended; /* successful or not */
	__u64 lost;  /* of these: their exit was not seen */
};

/* Offsets in struct pending (maps.bpf.h), for the loader. */
#define ALYS_PENDING_ACCOUNT 8
#define ALYS_PENDING_THROWS 10

/* log2 of the size of frame_marks. */
#define ALYS_FRAME_MARK_BITS 12
#define ALYS_FRAME_MARK_OF(cfa, tgid) \
	((((__u64)(cfa) >> 3 ^ (__u64)(tgid) << 40) * 0x9e3779b97f4a7c15ull) >> (64 - ALYS_FRAME_MARK_BITS))

/* Code whose calls into the allocator count as the program's own, although it lies in the allocator. */
struct alys_range {
	__u64 lo, hi;
};

#define ALYS_MAX_WRAPPERS 16
#define ALYS_MAX_OWN_FREES 4
#define ALYS_MAX_INNER 16

/*
 * Thread-local free lists of libgc (thread_local_alloc.c): the word from which GC_malloc_kind takes its result is
 * lists[kind * per_kind + granules], behind a thread-local pointer. A word above `top` is the next object; 0, or above
 * `counting`, refills the list first; otherwise the call goes to the global allocator.
 */
struct alys_lists {
	__u64 tls_index_vaddr; /* of the {module id, offset} words for __tls_get_addr, or a TLS descriptor's (aarch64); 0 = static TLS */
	__s64 tls_offset;  /* static TLS: offset from the thread pointer */
	__u64 extra_vaddr; /* int: bytes added to every request */
	__u32 kinds, per_kind;
	__u32 counting, top;
};

/* Predictions compared with what was returned, counted by the programs: one wrong one ends them. */
struct alys_proof {
	__u64 agreed, wrong;
};

/*
 * The thread's cache of glibc's malloc (malloc.c, tcache_get): a word for each size class, the block that a call for it
 * will return, or 0. They lie behind a thread-local pointer.
 */
struct alys_tcache {
	__u64 slot_vaddr; /* of the word with the pointer's offset from the thread pointer; 0 = it is tls_offset */
	__s64 tls_offset;
	__u64 entries; /* offset of the words; 0 = nothing is predicted */
	struct alys_proof taken, resized;
};

#define ALYS_BEAM_OWN_TYPES 4
#define ALYS_HEAP_TIME_SHIFT 8 /* of the times that are squared */

/* Where an Erlang VM keeps the bounds of a process' heap: offsets of words in its struct Process. htop 0: not known. */
struct alys_beam {
	__u16 heap, high_water, htop, stop, hend;
	__u16 heap_sz;   /* in words */
	__u16 mbuf_sz;   /* words in heap fragments */
	__u16 abandoned; /* the heap that waits to be collected while a fragment serves in its place, 0 = none */
	__u16 counted;   /* no offset: not 0 if it is known where the VM counts what it collects */
	__u16 pid_bits;  /* no offset: bits of a pid's number, 0 = the form of pids is not known */
	__u32 pid_table; /* ELF address of how the VM permutes these bits, see struct beam_table; 0 = not at all */
	__u16 gen_gcs;   /* 16 bits: minor collections since the last major one; 0 = not known */
	__u16 registered, registered_name;    /* [process + registered] has a name at registered_name; 0 = not known */
	__u16 initial;                        /* three words: module, function, arity; 0 = not known */
	__u16 own_types[ALYS_BEAM_OWN_TYPES]; /* of blocks that hold what heap-fulls count; 0 = none */
};

/*
 * A pid as the address of a heap-full, whatever the VM's own form of it: <0.NUMBER.SERIAL>. Addresses of processes, which are
 * sent where that form is not known, have other low bits.
 */
#define ALYS_PID_TAG 3
#define ALYS_PID_TAG_BITS 4
#define ALYS_PID_NUMBER_BITS 28

/* One file that contains allocators. */
struct alys_object {
	__u64 text_lo, text_hi; /* the allocator's own code, for ALYS_NEST_CALLER */
	__u64 gc_no_vaddr;      /* the collector's cycle counter, 0 = none */
	struct alys_lists lists;
	struct alys_tcache tcache;
	struct alys_range wrappers[ALYS_MAX_WRAPPERS]; /* lo = 0 ends the list */
	struct alys_range code;                        /* all code of the file */
	__u64 own_frees[ALYS_MAX_OWN_FREES];     /* return addresses of the allocator's own calls of free; 0 ends the list */
	struct alys_range inner[ALYS_MAX_INNER]; /* code below ALYS_SITE_USER that calls probed functions for its own purposes */
	struct alys_beam beam;
	__u64 agreed, wrong; /* with ALYS_SITE_TRIAL: compared calls, counted by the programs */
};

/* Set in attach cookies of links that are filtered to one process. */
#define ALYS_COOKIE_FILTERED (1ull << 32)

/* Values of the map `targets`; bits from ALYS_TRACED on. */
#define ALYS_EXCLUDED 0 /* never traced, nor its children: the tracer itself */
#define ALYS_TRACED 1
#define ALYS_OURS 2  /* traced and launched by the tracer: may be stopped */
#define ALYS_NOTED 4 /* its own probes (USDT) report its blocks: its allocator's calls are passed over */

/*
 * log2 of the size of sampled_marks: one page of words per MiB of address space, one word per KiB, because programs
 * free near where they freed before. Spread over the whole table, each free would be a cache miss.
 */
#define ALYS_MARK_BITS 16
#define ALYS_MARK_PAGE_BITS 10
#define ALYS_MARK_PAGE(addr, tgid) \
	((((__u64)(addr) >> 20 ^ (__u64)(tgid) << 40) * 0x9e3779b97f4a7c15ull) >> (64 - ALYS_MARK_BITS + ALYS_MARK_PAGE_BITS))
#define ALYS_MARK_OF(addr, tgid) \
	(ALYS_MARK_PAGE(addr, tgid) << ALYS_MARK_PAGE_BITS | ((__u64)(addr) >> 10 & ((1 << ALYS_MARK_PAGE_BITS) - 1)))

/* How stacks are walked. */
#define ALYS_WALK_KERNEL 0 /* bpf_get_stack: by frame pointers */
#define ALYS_WALK_TABLES 1 /* by unwind rows */
#define ALYS_WALK_SLEEP 2  /* the same, faulting pages in: sleepable programs */

/* Use of known stacks and of remembered walks. */
#define ALYS_RECALL_NEVER 0
#define ALYS_RECALL_ALIKE 1 /* known stacks are not walked again, nor frames of the last walk */
#define ALYS_RECALL_CHECK 2 /* they are walked again and compared */

/*
 * Key of `entered`: a function chosen by --calls, in one program of a process: `program` is the kernel's own count of
 * executions (self_exec_id), which an exec record has as its `other`.
 */
struct alys_entered {
	__u32 tgid;
	__u32 function; /* the attach cookie's low half */
	__u64 program;
};
#define ALYS_MAX_ENTERED 16384 /* functions by processes that run at once */

#define ALYS_RECORD_MAX (sizeof(struct alys_ev_stack) + 8 * ALYS_MAX_FRAMES)
/* Bytes of a record of n bytes in the ring: first its size, in a word. */
#define ALYS_RING_ENTRY(n) (8 + (((n) + 7ul) & ~7ul))

/*
 * The ring of records. Positions count the bytes since its start; what is at p begins at bytes[p & (size - 1)], and is in one piece: there is
 * room for the longest entry behind the end. The size of a record is written last. Before, the word is 0, for the reader
 * clears what it has read.
 */
struct alys_ring {
	__u64 written;                            /* by the programs: up to here there are entries, or will be */
	__u64 read __attribute__((aligned(128))); /* by the reader; both are on cache lines of their own */
	__u8 bytes[] __attribute__((aligned(128)));
};
#define ALYS_RING_MORE 16384 /* behind the end; half of it is more than any entry */
/* size: a power of two */
#define ALYS_RING_SZ(size) (sizeof(struct alys_ring) + (size) + ALYS_RING_MORE)

/* Set before load (rodata). */
struct alys_config {
	__u64 interval;      /* bytes:N, 0 = exact */
	__u64 page_interval; /* the same of pages */
	__u64 min_size;
	__u64 pidns_dev, pidns_ino; /* of the loader's PID namespace; 0 = the first one */
	__u64 pac_mask;             /* bits of a return address that are its signature: 0 on x86-64 */
	__u64 known_secret;         /* random: no program can aim at another's known stacks */
	__u32 max_frames;           /* 0 = no stacks */
	__u32 ring_sz;              /* bytes of the ring, a power of two */
	__u32 wake_bytes;           /* wake the reader when that much is unread */
	__u8 follow;                /* trace forked children, too */
	__u8 free_stacks;
	__u8 walk;          /* ALYS_WALK_* */
	__u8 all;           /* every process is a target unless excluded in `targets` */
	__u8 report_all;    /* report start and end of processes that are not targets, too */
	__u8 stop_at_gc;    /* stop the process at the end of each collection, see gc_stop_until */
	__u8 windowed;      /* some probes are attached during windows only, see `window_shut` */
	__u8 recall;        /* ALYS_RECALL_* */
	__u32 walk_slots;   /* entries of walk_slots, a power of two */
	__u32 known_stacks; /* of known_stacks, a power of two */
	__u32 rss_batch;    /* pages that a processor counts for itself: percpu_counter_batch */
	__u8 no_frees;      /* of plain allocators only allocations are recorded */
	__u8 noted;         /* some processes report their blocks themselves: ALYS_NOTED */
	__u8 preempt_off;   /* the kernel has functions for that: see call_reserve */
	__u8 hit_context;   /* of multi links, in a struct that is known: see hit.bpf.h */
	__u8 page_windows;  /* pages are seen in windows only, see `window_shut` */
};

/*
 * One X-list of all counters: (number, NAME, class, text name, help). Classes: HIT a probe fired; REC an event was
 * sent; SKIPPED deliberately no event; LOST an event is missing; NOTE outside the sum. Invariant: HIT = REC + SKIPPED +
 * LOST + (WAIT_BEGIN - WAIT_END, the calls in flight).
 */
#define ALYS_STAT_LIST(X)                                                                                                        \
	X(0, HIT_ALLOC, HIT, "hits-alloc", "calls that allocate")                                                                \
	X(1, HIT_REALLOC, HIT, "hits-realloc", "calls that reallocate")                                                          \
	X(2, HIT_FREE, HIT, "hits-free", "calls that free")                                                                      \
	X(3, REC_ALLOC, REC, "recorded-alloc", "allocations sent")                                                               \
	X(4, REC_REALLOC, REC, "recorded-realloc", "reallocations sent")                                                         \
	X(5, REC_FREE, REC, "recorded-free", "frees sent")                                                                       \
	X(6, NESTED, SKIPPED, "nested", "calls of an allocator into itself: the outermost one counts")                           \
	X(7, FAILED, SKIPPED, "failed", "calls that returned NULL or an error")                                                  \
	X(8, FREE_NULL, SKIPPED, "free-null", "free(NULL)")                                                                      \
	X(9, UNSAMPLED, SKIPPED, "unsampled", "calls the sampler or --min-size passed over, and their frees")                    \
	X(10, LOST_RING_ALLOC, LOST, "ring-full-alloc", "allocations that found the ring buffer full")                           \
	X(11, LOST_RING_REALLOC, LOST, "ring-full-realloc", "reallocations that found the ring buffer full")                     \
	X(12, LOST_RING_FREE, LOST, "ring-full-free", "frees that found the ring buffer full")                                   \
	X(13, LOST_PENDING, LOST, "pending-full", "calls that found no room to wait for their return")                           \
	X(14, LOST_NO_RETURN, LOST, "no-return", "calls left by an exception, longjmp or thread exit")                           \
	X(15, LOST_READ, LOST, "unreadable", "results that could not be read from the target's memory")                          \
	X(16, LOST_SAMPLED_FULL, LOST, "sampled-full", "sampled blocks that found no room in the address table")                 \
	X(17, LOST_STACK, NOTE, "stacks-lost", "stack records that found the ring buffer full")                                  \
	X(18, NO_SLOT, NOTE, "stacks-no-slot", "stack walks that found no free slot")                                            \
	X(19, EXIT_UNPAIRED, NOTE, "exits-unpaired", "exit sites hit without a waiting call")                                    \
	X(20, LOST_PROC, NOTE, "process-events-lost", "exec, exit or fork records that found the ring full")                     \
	X(21, WAIT_BEGIN, NOTE, "calls-begun", "calls that waited for their return")                                             \
	X(22, WAIT_END, NOTE, "calls-ended", "calls that waited and were ended, well or not")                                    \
	X(23, LOST_GC, NOTE, "collections-lost", "collection records that found the ring full")                                  \
	X(24, HALF_REALLOC, NOTE, "reallocations-halved",                                                                        \
	  "of which only the free of the old block was sent: no room for the new address")                                       \
	X(25, GC_NO_ROOM, NOTE, "collections-no-room", "collections of processes that found no room to be followed")             \
	X(26, BATCHES, NOTE, "batches", "lists of blocks that a program took for free lists of its own")                         \
	X(27, BATCHED, NOTE, "batched", "blocks in them: each counts from when the list was taken, used or not")                 \
	X(28, UNHELD, NOTE, "not-held",                                                                                          \
	  "times that a process started here began a program or loaded libraries and could not be held: its first calls may be " \
	  "missing")                                                                                                             \
	X(29, THREAD_CACHE, SKIPPED, "thread-cache",                                                                             \
	  "blocks freed before, which the C library frees from a thread's cache when it ends")                                   \
	X(30, TRAPS, NOTE, "traps", "times that probes stopped a thread, with --max-overhead")                                   \
	X(31, OUTSIDE, NOTE, "outside-windows", "calls that met a probe while it came or went: no hits")                         \
	X(32, WALKS_COMPARED, NOTE, "walks-compared", "known or remembered stacks that were walked once more (--check-stacks)")  \
	X(33, WALKS_DIFFER, NOTE, "walks-differ", "of these, those that were found to be others: a fault in this program")       \
	X(34, GC_UNREPORTED, NOTE, "collections-unreported",                                                                     \
	  "1: a collector's counter was not what its probes had reported; up to 63 blocks of a thread may have the number "      \
	  "before")                                                                                                              \
	X(35, TRAPS_KEPT, NOTE, "traps-kept", "of the traps, those at probes that stay attached between windows")                \
	X(36, HIT_PAGE, HIT, "hits-page", "times that pages were seen to become resident (--rss)")                               \
	X(37, HIT_GONE, HIT, "hits-gone", "times that pages left or moved, by a call of the program (--rss)")                    \
	X(38, NO_PLACE, SKIPPED, "no-place", "times that pages came or left, by the kernel's doing, without an address (--rss)") \
	X(39, PAGES, NOTE, "pages", "pages that were seen to become resident (--rss)")                                           \
	X(40, PAGES_NO_PLACE, NOTE, "pages-no-place", "of these, pages without an address: in no row (--rss)")                   \
	X(41, PAGES_GUESSED, NOTE, "pages-guessed",                                                                              \
	  "touches of which the number of pages was not certain: the least that fits (--rss)")                                   \
	X(42, ENTERED_NO_ROOM, NOTE, "calls-uncounted",                                                                          \
	  "calls of functions chosen by --calls that found no room in the table of their counts")                                \
	X(43, PREDICTED, NOTE, "predicted", "results known at the entry from the thread's cache: their returns were not probed") \
	X(44, MISPREDICTED, NOTE, "mispredicted",                                                                                \
	  "results that were not the block, or not of the list, that their entry told: after glibc's all its returns are "       \
	  "probed")                                                                                                              \
	X(45, HEAP_COLLECTED, NOTE, "heap-collections", "collections of Erlang processes whose outcome was seen")                \
	X(46, HEAP_KEPT, NOTE, "heap-survivors", "bytes of survivors that they left on young heaps")                             \
	X(47, HEAP_GREW, NOTE, "heap-grown", "of these, collections that gave their process a larger heap")                      \
	X(48, HIT_MAPPING, HIT, "hits-mapping", "times that a call of the program made a mapping, or a larger one (--maps)")     \
	X(49, HIT_UNMAPPED, HIT, "hits-unmapped", "times that a call took a mapping away, or a part, or moved it (--maps)")      \
	X(50, HEAP_MAJOR, NOTE, "heap-major", "of the collections of Erlang processes, those of the whole heap")                 \
	X(51, HEAP_MINOR, NOTE, "heap-minor", "of these, those of the young heap alone; where neither is known, both are 0")     \
	X(52, LEFT_TO_NOTES, NOTE, "left-to-own-probes",                                                                         \
	  "calls of allocators in processes whose own probes report their blocks: no hits")                                      \
	X(53, HEAP_TIMED, NOTE, "heap-timed",                                                                                    \
	  "calls in which Erlang processes collected their heaps and that were timed, about one in 16")                          \
	X(54, HEAP_TIME, NOTE, "heap-time", "nanoseconds that these took")                                                       \
	X(55, HEAP_TIME_SQUARES, NOTE, "heap-time-squares", "sum of the squares of these, in units of (256 ns)^2")               \
	X(56, SAMPLE_TIME, NOTE, "sample-time",                                                                                  \
	  "nanoseconds that samples took, with stack and record, beside traps (--max-overhead)")                                 \
	X(57, TRAPS_RETURN, NOTE, "traps-return", "of the traps, those of return probes")                                        \
	X(58, TRAPS_GC, NOTE, "traps-collections",                                                                               \
	  "of the traps, those at collections: attached until no sampled object is left")                                        \
	X(59, GC_TIME, NOTE, "collection-time", "nanoseconds that probes at collections took beside traps (--max-overhead)")

#define X(n, id, class, name, help) ALYS_ST_##id = n,
enum alys_stat { ALYS_STAT_LIST(X) ALYS_ST_CNT };
#undef X

struct alys_stats {
	__u64 n[ALYS_ST_CNT];
};

/* What windows took of a process. */
struct alys_taken {
	__u64 traps;     /* number of times that probes stopped a thread, but for return probes */
	__u64 returns;   /* the same by return probes */
	__u64 sample_ns; /* time of samples, with stack and record, beside these */
};

/* With config.windowed: slot of a tgid. Processes whose numbers share a slot share its counts. */
#define ALYS_TAKEN_SLOTS 8192
#define ALYS_TAKEN_SLOT_OF(tgid) ((tgid) & (ALYS_TAKEN_SLOTS - 1))
/* A sample takes a few microseconds of CPU time. If more has passed, its thread was asleep, or had no processor; it counts as this. */
#define ALYS_SAMPLE_NS_MAX 20000

/* Counters of class LOST are kept per process, too. */
#define ALYS_LOSS_FIRST ALYS_ST_LOST_RING_ALLOC
#define ALYS_LOSS_CNT 7

/* Lost returns by function: at most so many functions per process. */
#define ALYS_LOST_FUNCTIONS 4

struct alys_losses {
	__u64 n[ALYS_LOSS_CNT]; /* from ALYS_LOSS_FIRST on */
	struct {
		__u64 account; /* index in `calls`; 0 = unused */
		__u64 n;
	} left[ALYS_LOST_FUNCTIONS];
};

_Static_assert(ALYS_LOSS_FIRST + ALYS_LOSS_CNT - 1 == ALYS_ST_LOST_SAMPLED_FULL, "wire");
_Static_assert(sizeof(struct alys_head) == 24, "wire");
_Static_assert(sizeof(struct alys_ev_alloc) == 64, "wire");
_Static_assert(sizeof(struct alys_ev_realloc) == 80, "wire");
_Static_assert(sizeof(struct alys_ev_free) == 40, "wire");
_Static_assert(ALYS_RING_ENTRY(ALYS_RECORD_MAX) < ALYS_RING_MORE / 2, "wire");
_Static_assert(sizeof(struct alys_ev_stack) == 40, "wire");
_Static_assert(sizeof(struct alys_site) == 40, "wire");
_Static_assert(sizeof(struct alys_note) == 48, "wire");
_Static_assert(sizeof(struct alys_ev_gc) == 56, "wire");
_Static_assert(sizeof(struct alys_gc_site) == 24, "wire");
_Static_assert(sizeof(struct alys_hold) == 16, "wire");
_Static_assert(sizeof(struct alys_ev_range) == 56, "wire");
_Static_assert(sizeof(struct alys_ev_named) == 64, "wire");
_Static_assert(sizeof(struct alys_entered) == 16, "wire");

#endif
