/* SPDX-License-Identifier: Apache-2.0 */
/* machine/syscalls of aarch64: see syscalls.h. */
#ifndef ALYS_MACHINE_SYSCALLS_AARCH64_H
#define ALYS_MACHINE_SYSCALLS_AARCH64_H

#define SYSCALLS_ARCH AUDIT_ARCH_AARCH64
#define SYSCALLS_ARGUMENT(c, n) ((c)->uc_mcontext.regs[n])
#define SYSCALLS_RESULT(c) ((c)->uc_mcontext.regs[0])

/* Older than the architecture, which has only what replaced them. No call has this number. */
#define SYSCALLS_NONE 0xffffffffu
#define __NR_access SYSCALLS_NONE
#define __NR_alarm SYSCALLS_NONE
#define __NR_arch_prctl SYSCALLS_NONE
#define __NR_chmod SYSCALLS_NONE
#define __NR_chown SYSCALLS_NONE
#define __NR_creat SYSCALLS_NONE
#define __NR_dup2 SYSCALLS_NONE
#define __NR_epoll_create SYSCALLS_NONE
#define __NR_epoll_wait SYSCALLS_NONE
#define __NR_eventfd SYSCALLS_NONE
#define __NR_fork SYSCALLS_NONE
#define __NR_getdents SYSCALLS_NONE
#define __NR_getpgrp SYSCALLS_NONE
#define __NR_inotify_init SYSCALLS_NONE
#define __NR_lchown SYSCALLS_NONE
#define __NR_link SYSCALLS_NONE
#define __NR_lstat SYSCALLS_NONE
#define __NR_mkdir SYSCALLS_NONE
#define __NR_mknod SYSCALLS_NONE
#define __NR_open SYSCALLS_NONE
#define __NR_pause SYSCALLS_NONE
#define __NR_pipe SYSCALLS_NONE
#define __NR_poll SYSCALLS_NONE
#define __NR_readlink SYSCALLS_NONE
#define __NR_rename SYSCALLS_NONE
#define __NR_rmdir SYSCALLS_NONE
#define __NR_select SYSCALLS_NONE
#define __NR_signalfd SYSCALLS_NONE
#define __NR_stat SYSCALLS_NONE
#define __NR_symlink SYSCALLS_NONE
#define __NR_time SYSCALLS_NONE
#define __NR_unlink SYSCALLS_NONE
#define __NR_utime SYSCALLS_NONE
#define __NR_utimes SYSCALLS_NONE
#define __NR_vfork SYSCALLS_NONE

#endif
