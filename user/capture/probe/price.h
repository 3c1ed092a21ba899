/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/price: what the kernel takes for a probe, here and now, found out with a function of our own. Before anything
 * else is attached. The programs must have been opened for windows: a hit is passed over, as nearly all are.
 */
#ifndef ALYS_PROBE_PRICE_H
#define ALYS_PROBE_PRICE_H

#include "probe/probe.h"

enum price_of {
	PRICE_EMULATED, /* on an instruction that the kernel emulates, as wherever there is one */
	PRICE_STEPPED,  /* on one that it has the processor run apart */
	PRICE_RETURN,   /* a probe at the entry, and a return probe */
};

/*
 * Seconds a call: in a loop of nothing else, and where the caches have been used since the last one, as in most programs. Servers were
 * seen to lose 1.5 to 1.8 times the warm price. The cold one is never less.
 */
struct trap_price {
	double warm_s, cold_s;
};

int probe_price(struct probe *p, enum price_of what, struct trap_price *out, struct err *err);

/* Of a stop at a function's entry, and of one at its return. The second counts as the first where it cannot be measured. */
struct stop_prices {
	struct trap_price entry, back;
	/*
	 * Seconds that a probe takes of each thread that runs in the program while it is attached, and detached again: the kernel
	 * interrupts the thread's processor, since the program's page changes. 0: too little to see, or we have one processor.
	 */
	double stall_s;
};

int probe_stop_prices(struct probe *p, struct stop_prices *out, struct err *err);

/* What it calls, and probes: in priced_*.c. The first instruction is one that the kernel emulates. */
void priced(void);
/* Its second one, which the processor has to run apart; not to be called. */
void priced_stepped(void);
/* PRICED_CNT instructions that the kernel emulates, PRICED_SZ bytes each; not to be called. */
void priced_many(void);
#define PRICED_CNT 32
#ifdef __aarch64__
#define PRICED_SZ 4
#else
#define PRICED_SZ 1
#endif

/* Seconds that a fault takes longer where pages are recorded, and it is passed over. The programs for pages are attached. */
int price_fault(struct probe *p, double *seconds, struct err *err);

#endif
