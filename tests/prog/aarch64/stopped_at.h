/* SPDX-License-Identifier: Apache-2.0 */
/* Where a stopped thread goes on; regs: its struct user_regs_struct. */
#define STOPPED_AT(regs) ((regs)->pc)
