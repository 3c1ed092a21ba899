/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libbpf's bpf_helpers.h and its like when BPF source is compiled for the host: maps are memory, helpers are
 * functions of the test, the target's memory is what the test says it is.
 */
#ifndef ALYS_TESTS_BPFHOST_HELPERS_H
#define ALYS_TESTS_BPFHOST_HELPERS_H

#define SEC(name)
#define __weak __attribute__((weak))
#define __ksym
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define barrier_var(var) asm volatile("" : "+r"(var))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]

void *bpf_map_lookup_elem(const void *map, const void *key);
long bpf_map_update_elem(const void *map, const void *key, const void *value, __u64 flags);
long bpf_map_delete_elem(const void *map, const void *key);
long bpf_probe_read_user(void *dst, __u32 n, const void *addr);
long bpf_copy_from_user(void *dst, __u32 n, const void *addr);
long bpf_get_ns_current_pid_tgid(__u64 dev, __u64 ino, struct bpf_pidns_info *out, __u32 n);
__u64 bpf_get_current_task(void);
struct task_struct *current_task(void);
__u32 bpf_get_smp_processor_id(void);

/* The kernel's memory of the host is the test's own. */
#define HOST_READ_1(src, a) ((src)->a)
#define HOST_READ_2(src, a, b) ((src)->a->b)
#define HOST_READ_OF(_1, _2, name, ...) name
#define BPF_CORE_READ(src, ...) HOST_READ_OF(__VA_ARGS__, HOST_READ_2, HOST_READ_1)(src, __VA_ARGS__)

#endif
