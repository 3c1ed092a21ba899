/* SPDX-License-Identifier: Apache-2.0 */
/* sites/reason: why a probe is where it is, or is not there. Kept as states; `doctor` asks for the text. */
#ifndef ALYS_SITES_REASON_H
#define ALYS_SITES_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "code/flow.h"

/* How an entry was chosen, or why there is none. */
enum entry_choice {
	ENTRY_UNKNOWN,
	ENTRY_EMULATED,  /* the first emulated instruction */
	ENTRY_BRANCH,    /* a branch behind that, because that is a push */
	ENTRY_PAST_NULL, /* the same, behind the test for NULL */
	ENTRY_STEPPED,   /* none is emulated: see stop */
	ENTRY_LATE,      /* for calls that no single exit sees whole */
	ENTRY_REFILLED,  /* behind the refill in GC_malloc_kind */
	ENTRY_COVERED,   /* ends in another function that is counted: by */
	ENTRY_NONE,      /* no instruction can be probed: see stop */
	ENTRY_IFUNC,     /* the code is chosen at run time */
	ENTRY_LOADER,    /* the dynamic loader's own */
	ENTRY_NO_CODE,   /* its code is not in the file */
	/* of probes that the file defines */
	ENTRY_NOTED,
	ENTRY_NOTE_NOP,
	ENTRY_NOTE_SEMAPHORE,
	ENTRY_NOTE_ARGS,   /* too few, or malformed */
	ENTRY_NOTE_PLACES, /* in a form that is not read */
	ENTRY_NO_LAYOUT,   /* of an Erlang VM: where processes keep the bounds of their heaps is not known */
	ENTRY_NO_GC_INFO,  /* likewise, and there is no code that would tell */
	ENTRY_NO_JIT,      /* of an Erlang VM that interprets its code */
	ENTRY_CHOICES,
};

/* What ended the walk to an emulated instruction. */
enum entry_stop {
	STOP_UNDECODED,
	STOP_JOINED,   /* by other code */
	STOP_FRAME,    /* the distance to the frame is not certain */
	STOP_ARGUMENT, /* an argument is overwritten */
	STOP_LEFT,     /* calls or leaves */
	STOP_SET_UP,   /* the caller's frame pointer or the return address is overwritten */
	STOP_RESERVED, /* reserves memory, until an exception */
	STOPS,
};

struct entry_reason {
	enum entry_choice choice;
	enum entry_stop stop;
	uint16_t by; /* a row of allocators() */
};

/* Why an exit is a `ret` and nothing cheaper. */
enum exit_choice {
	EXIT_UNASKED,    /* nothing cheaper was looked for, or it is cheap */
	EXIT_UNPROVEN,   /* see doubt */
	EXIT_RET_ONLY,   /* the result is complete only at the end, or the code is shared */
	EXIT_NO_CHEAPER, /* no emulated instruction has the result on every path */
	EXIT_REFILLED,   /* not a ret: behind the refill of the list */
	EXIT_CHOICES,
};

struct exit_reason {
	enum exit_choice choice;
	enum flow_doubt doubt;
};

/* Why results leave a function unseen. */
enum lost_way {
	LOST_BUSY,      /* through a function that is too busy to be probed */
	LOST_CHAIN,     /* through too long a chain of jumps */
	LOST_COMPUTED,  /* through a computed jump */
	LOST_ELSEWHERE, /* to another file's function */
	LOST_NOWHERE,   /* where to is not known */
	LOST_WAYS,
};

/* Of the first such path. */
struct lost_reason {
	enum lost_way way;
	uint64_t vaddr;
	char to[96]; /* function, truncated; "" = unknown */
};

/* Are these values that this program writes? */
bool entry_reason_ok(const struct entry_reason *r);
bool exit_reason_ok(const struct exit_reason *r);
bool lost_reason_ok(const struct lost_reason *r);

/* For people. EXIT_UNASKED has no text. */
void entry_reason_text(const struct entry_reason *r, struct buf *out);
void exit_reason_text(const struct exit_reason *r, struct buf *out);
void lost_reason_text(const struct lost_reason *r, struct buf *out);

#endif
