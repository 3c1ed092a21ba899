/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/decode: one instruction of this machine as site analysis sees it: where control goes, what a probe on it costs,
 * which registers it overwrites and what it does to the stack. Knows nothing of files.
 */
#ifndef ALYS_CODE_DECODE_H
#define ALYS_CODE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_MAX_LEN 15

/* General registers by their number in the instruction encoding; sets of them are bit masks. */
typedef uint32_t insn_regs;
#define INSN_NO_REG (-1)
#define INSN_BIT(reg) (1u << (reg))
#define INSN_REGS 32
#define INSN_ARGS 6

/* What the calling convention makes of them. */
struct insn_machine {
	insn_regs data;       /* all but the stack pointer */
	insn_regs call_keeps; /* survive a call */
	int8_t args[INSN_ARGS], result;
	uint8_t readable;  /* BPF reads arguments up to this one; beyond INSN_ARGS, registers by their own numbers */
	int8_t link;       /* has the return address at a function's entry; INSN_NO_REG: the stack has it */
	int32_t entry_cfa; /* CFA - sp at a function's entry */
	int8_t sp;
	bool cheap_ret;    /* the kernel emulates `ret` */
	bool thread_known; /* the kernel always knows the thread pointer of a running thread */
};

extern const struct insn_machine insn_machine;

/* Of x86-64. */
#define INSN_RAX 0
#define INSN_RCX 1
#define INSN_RDX 2
#define INSN_RBX 3
#define INSN_RSP 4
#define INSN_RBP 5
#define INSN_RSI 6
#define INSN_RDI 7
#define INSN_R8 8
#define INSN_R9 9

enum insn_flow {
	INSN_NEXT,   /* only the following instruction */
	INSN_JUMP,   /* only target */
	INSN_BRANCH, /* target or the following one */
	INSN_CALL,   /* target (0 when it is computed), then the following one */
	INSN_RETURN,
	INSN_INDIRECT, /* a jump to a computed address */
	INSN_STOP,     /* does not continue: ud2, hlt, int3; udf, brk */
};

/* How the kernel executes the instruction under a uprobe. */
enum insn_cost {
	INSN_EMULATED, /* half a microsecond */
	INSN_STEPPED,  /* ten times that: copied out and single-stepped */
	INSN_REFUSED,  /* refused on attach, or never attempted: the 5-byte nop, loads of literals */
};

enum insn_stack { INSN_SP_KEPT, INSN_SP_ADD, INSN_SP_FROM_BP, INSN_SP_LEAVE, INSN_SP_LOST };
enum insn_frame { INSN_BP_KEPT, INSN_BP_FROM_SP, INSN_BP_LOST };
enum insn_when { INSN_IF_OTHER, INSN_IF_ZERO, INSN_IF_NONZERO };

struct insn {
	uint64_t vaddr, target;
	int32_t sp_delta, bp_delta; /* sp += d, sp = bp + d; bp = sp + d */
	int32_t record_delta;       /* with `records`: at sp + d */
	insn_regs writes;           /* registers overwritten, not counting a callee's */
	insn_regs factors;          /* two 64-bit registers, of whose product `writes` gets a half (aarch64) */
	uint8_t len;
	enum insn_flow flow;
	enum insn_cost cost;
	enum insn_stack stack;
	enum insn_frame frame;
	enum insn_when when;       /* condition of a branch */
	int8_t copy_to, copy_from; /* a 64-bit move between registers */
	int8_t low_to, low_from;   /* one of 32 bits or more */
	int8_t zeroes;             /* register set to 0 */
	int8_t tests;              /* 64-bit register compared with 0 */
	bool stores;               /* to memory, other than a push */
	bool high_half;            /* of the product of the factors */
	bool signs;                /* the return address (aarch64) */
	bool records;              /* stores frame pointer and return address side by side (aarch64) */
	bool reserves;             /* memory, until an exception or the store that belongs to it (aarch64) */
	bool padding;              /* no effect: nop, also as padding between blocks */
	bool pushes_fp;            /* the whole frame pointer, and only that (x86-64) */
};

/* Constants that reveal a function's data layout. */
struct insn_constants {
	bool compares;   /* cmp with an immediate */
	int8_t left;     /* whole register that is compared with it, INSN_NO_REG = none */
	int8_t with;     /* register that another one is compared with, INSN_NO_REG = none */
	bool multiplies; /* imul with one */
	uint64_t imm;
	bool takes_address; /* lea of a place in the file */
	uint64_t address;
};

void insn_constants(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_constants *out);

/*
 * Where a register's value comes from. Needed on aarch64, which puts an address together from several instructions; on x86-64 an
 * instruction has its address itself, and nothing becomes known.
 */
enum insn_origin {
	INSN_UNKNOWN,
	INSN_NUMBER,    /* the value, mostly an address */
	INSN_WORD_AT,   /* loaded from this address */
	INSN_THREAD,    /* the thread pointer + value */
	INSN_TLS_BY,    /* distance from the thread pointer that the TLS descriptor at this address tells */
	INSN_THREAD_BY, /* the thread pointer + that distance */
};

struct insn_value {
	enum insn_origin origin;
	uint64_t value;
};

struct insn_known {
	struct insn_value of[INSN_REGS];
};

/* What is known after an instruction, from what was before. True: it made a value known, and did nothing else. */
bool insn_know(struct insn_known *k, const uint8_t *bytes, const struct insn *in);

/* Is [base + disp] at a known address? */
static inline bool insn_address(const struct insn_known *k, int base, int64_t disp, uint64_t *address)
{
	if (base < 0 || k->of[base].origin != INSN_NUMBER)
		return false;
	*address = k->of[base].value + (uint64_t)disp;
	return true;
}

/* A 64-bit load from the thread's own data. */
struct insn_tls {
	bool loads;
	int64_t offset;      /* from the thread pointer */
	uint64_t descriptor; /* address of the TLS descriptor that tells it, 0 = it is offset */
};

void insn_tls_of(const uint8_t *bytes, size_t n, const struct insn_known *k, struct insn_tls *out);

/* Effect of an instruction on a 64-bit word in memory, or on a sum in a register; anything else is INSN_OTHER. */
enum insn_word {
	INSN_OTHER,
	INSN_LOADS,  /* reg = [place] */
	INSN_STORES, /* [place] = reg */
	INSN_COUNTS, /* [place] += 1 */
	INSN_POINTS, /* reg = address of the place */
	INSN_PLUS_1, /* reg = from + 1 */
};

struct insn_use {
	enum insn_word does;
	int8_t reg, from; /* numbers of registers, INSN_NO_REG = none */
	int8_t base;      /* the place: [base + disp], or, without a base, address */
	int64_t disp;
	uint64_t address;
};

void insn_use_of(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_use *out);

/*
 * A 64-bit load from memory, or an addition of what is there: into `reg`, from [base + disp], or, without a base, from
 * address. Or reg = the sum of two registers.
 */
struct insn_load {
	bool loads, adds, sums;
	int8_t reg, base;
	int8_t of[2]; /* registers that are summed */
	int64_t disp;
	uint64_t address;
};

void insn_load_of(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_load *out);

/*
 * A move from memory into `reg`, or (bytes = 0) of an address: [base + index * scale + disp], within a thread's data
 * with `tls`.
 */
struct insn_fetch {
	uint8_t bytes; /* read */
	bool fetches, tls;
	int8_t reg, base, index; /* INSN_NO_REG = none */
	uint8_t scale;
	int64_t disp; /* without registers: the address */
};

void insn_fetch_of(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_fetch *out);

/* A 64-bit move, subtraction, addition or shift; anything else is INSN_NO_MOVE. */
enum insn_does {
	INSN_NO_MOVE,
	INSN_COPIES,    /* to = source */
	INSN_SUBTRACTS, /* to = left - source */
	INSN_ADDS,      /* to = left + source */
	INSN_SHIFTS,    /* to = left >> bits, signed */
	INSN_PUTS,      /* [base + disp] = from */
};

/* The source is the register `from`, or, without one, [base + disp]; INSN_NO_REG = none, or a place of another form. */
struct insn_move {
	enum insn_does does;
	int8_t to, left, from, base;
	int32_t disp;
	uint8_t bits;
};

/* aarch64 moves two neighbouring words at once. */
#define INSN_MOVES 2

/* How many of out are set: all of them are from registers as they were before the instruction. */
size_t insn_moves_of(const uint8_t *bytes, size_t n, struct insn_move out[INSN_MOVES]);

/* A move of a general register, whole or in part, to memory: [base + disp] = from. */
struct insn_put {
	uint8_t bytes; /* written; 0 = the instruction is none */
	int8_t from, base;
	int32_t disp;
};

void insn_put_of(const uint8_t *bytes, size_t n, struct insn_put *out);

/* What becomes of the two 64-bit words of an SSE register, by which compilers store two words at once. */
enum insn_pair_does {
	INSN_NO_PAIR,    /* concerns none */
	INSN_PAIR_LOW,   /* low word = the source; the high one = 0 */
	INSN_PAIR_HIGH,  /* high word = [base + disp] */
	INSN_PAIR_JOINS, /* high word = the low one of the SSE register `from` */
	INSN_PAIR_PUTS,  /* [base + disp] = both words of the SSE register `from` */
	INSN_PAIR_OTHER, /* both are something else */
};

/* The source is the general register `from`, or, without one, [base + disp]; `to` is an SSE register. */
struct insn_pair {
	enum insn_pair_does does;
	int8_t to, from, base;
	int32_t disp;
};

void insn_pair_of(const uint8_t *bytes, size_t n, struct insn_pair *out);

/* False if the bytes are not an instruction. */
bool insn_decode(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn *out);

#endif
