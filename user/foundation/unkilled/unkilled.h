/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unkilled: system calls that are not cut short when this process is killed. To put a breakpoint into a program, or to
 * take it out, the kernel writes to the program's pages on behalf of whoever attaches or detaches; with a SIGKILL
 * pending there it gives up (EINTR), and breakpoints stay that no probe belongs to. What a process that has been killed
 * closes at its end is not concerned: its signal is consumed by then.
 *
 * So these calls are made by a child in a session of its own, which shares memory and descriptors with this process and
 * ends with them: nothing is left to be stopped. What kills the child as well (the OOM killer, the end of a control
 * group or of a PID namespace) can still cut a call short.
 */
#ifndef ALYS_UNKILLED_H
#define ALYS_UNKILLED_H

/*
 * Returns what work returns; the thread waits for it. The work makes system calls and nothing else: it takes no lock and
 * no memory, as whoever had the lock may have been killed. If there can be no child, this thread does it.
 */
int unkilled_do(int (*work)(void *ctx), void *ctx);
/* Closes a link. Its last descriptor detaches the probes. */
void unkilled_close(int fd);

#endif
