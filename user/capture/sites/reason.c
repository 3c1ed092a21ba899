/* SPDX-License-Identifier: Apache-2.0 */
/* sites/reason: see reason.h. */
#include "sites/reason.h"

#include <inttypes.h>

#include "allocators/own.h"

static const char *const choices[ENTRY_CHOICES] = {
	[ENTRY_UNKNOWN] = "",
	[ENTRY_EMULATED] = "first emulated instruction",
	[ENTRY_BRANCH] = "first branch: a push is emulated by a write to the stack",
	[ENTRY_PAST_NULL] = "first emulated instruction behind the test for NULL",
	[ENTRY_STEPPED] = "no emulated instruction",
	[ENTRY_LATE] = "calls of it that no single exit sees whole",
	[ENTRY_REFILLED] = "in GC_malloc_kind, behind the refill",
	[ENTRY_COVERED] = "ends in",
	[ENTRY_NONE] = "no instruction that can be probed",
	[ENTRY_IFUNC] = "chosen at run time (IFUNC): which code will run is not known",
	[ENTRY_LOADER] = "the dynamic loader's own, for its start only",
	[ENTRY_NO_CODE] = "its code is not in the file",
	[ENTRY_NOTED] = "the nop of its note in .note.stapsdt",
	[ENTRY_NOTE_NOP] = "its instruction is not a plain nop, on which alone a probe is safe: build the program with "
			   "systemtap's sys/sdt.h",
	[ENTRY_NOTE_SEMAPHORE] = "its semaphore is not in the file's data",
	[ENTRY_NOTE_ARGS] = "its note does not name the block and its size, or only the block of a free",
	[ENTRY_NOTE_PLACES] = "an argument is neither a constant, nor in a general register, nor in memory at one plus an offset",
	[ENTRY_NO_LAYOUT] = "the layout of struct Process was not found in the code of erts_process_gc_info, as it is in OTP 25 "
			    "and 27",
	[ENTRY_NO_GC_INFO] =
		"the file names no function erts_process_gc_info, whose code shows the layout of struct Process: use a VM "
		"that is not stripped of its dynamic symbols",
	[ENTRY_NO_JIT] =
		"this Erlang VM has no JIT (flavor emu), so stacks of Erlang functions cannot be named: use the flavor jit",
};

static const char *const stops[STOPS] = {
	[STOP_UNDECODED] = "its code cannot be decoded",
	[STOP_JOINED] = "other code joins first",
	[STOP_FRAME] = "the distance to the frame is not certain",
	[STOP_ARGUMENT] = "an argument is overwritten first",
	[STOP_LEFT] = "it has none before it calls or leaves",
	[STOP_RESERVED] = "an atomic operation begins first",
	[STOP_SET_UP] = "the frame pointer or the return address is overwritten first",
};

static const char *const exits[EXIT_CHOICES] = {
	[EXIT_UNASKED] = "",
	[EXIT_UNPROVEN] = "",
	[EXIT_RET_ONLY] = "the result is complete only at the end, or the code is shared",
	[EXIT_NO_CHEAPER] = "no emulated instruction on every way to it has the result in a register",
	[EXIT_REFILLED] = "behind the refill of the list",
};

static const char *const doubts[] = {
	[FLOW_PROVEN] = "",
	[FLOW_STACK_DIFFERS] = "the stack differs between two ways to one place",
	[FLOW_NOT_FOLLOWED] = "its code could not be followed to the end",
	[FLOW_UNBALANCED] = "the stack is not balanced at a return",
	[FLOW_COMPUTED_JUMP] = "it has a computed jump",
	[FLOW_NO_SIZE] = "it has a computed jump and no known size",
	[FLOW_UNDECODED] = "its code cannot be decoded",
	[FLOW_TOO_LONG] = "it is too long",
};

static const char *const ways[LOST_WAYS] = {
	[LOST_BUSY] = "too busy a function to be probed",
	[LOST_CHAIN] = "too long a chain of jumps",
	[LOST_COMPUTED] = "a computed jump",
	[LOST_ELSEWHERE] = "another file's function",
	[LOST_NOWHERE] = "where to is not known",
};

bool entry_reason_ok(const struct entry_reason *r)
{
	return (unsigned int)r->choice < ENTRY_CHOICES && (unsigned int)r->stop < STOPS && allocator_at(r->by);
}

bool exit_reason_ok(const struct exit_reason *r)
{
	return (unsigned int)r->choice < EXIT_CHOICES && (unsigned int)r->doubt < sizeof(doubts) / sizeof(*doubts);
}

bool lost_reason_ok(const struct lost_reason *r)
{
	return (unsigned int)r->way < LOST_WAYS;
}

void entry_reason_text(const struct entry_reason *r, struct buf *out)
{
	buf_adds(out, choices[r->choice]);
	if (r->choice == ENTRY_STEPPED || r->choice == ENTRY_NONE)
		buf_addf(out, ": %s", stops[r->stop]);
	else if (r->choice == ENTRY_COVERED)
		buf_addf(out, " %s, which is counted", allocator_at(r->by)->symbol);
}

void exit_reason_text(const struct exit_reason *r, struct buf *out)
{
	buf_adds(out, r->choice == EXIT_UNPROVEN ? doubts[r->doubt] : exits[r->choice]);
}

void lost_reason_text(const struct lost_reason *r, struct buf *out)
{
	buf_addf(out, "0x%" PRIx64 "%s%s: %s", r->vaddr, *r->to ? " to " : "", r->to, ways[r->way]);
}
