/* SPDX-License-Identifier: Apache-2.0 */
/* For test_sandbox_allowed.c: requests of ptrace that this machine has, by which threads change. The twin is in ../x86_64. */
#ifndef ALYS_UNIT_OWN_REQUESTS_H
#define ALYS_UNIT_OWN_REQUESTS_H

#define OWN_REQUESTS PTRACE_SYSEMU, PTRACE_SYSEMU_SINGLESTEP, PTRACE_POKEMTETAGS

#endif
