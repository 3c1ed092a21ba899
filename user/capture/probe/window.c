/* SPDX-License-Identifier: Apache-2.0 */
/* probe/window: see window.h. */
#include "probe/window.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "access/rights.h"
#include "alys.skel.h"
#include "probe/detaching.h"
#include "probe/link.h"
#include "probe/load.h"

#define PRICE_ROUNDS 15
#define PRICE_CALLS 200

/* An instruction that the kernel emulates, as where allocators are probed wherever there is one. */
void probe_window_called(void);
__asm__(".pushsection .text\n"
	".globl probe_window_called\n"
	".hidden probe_window_called\n"
	".type probe_window_called, @function\n"
	"probe_window_called:\n"
	"	push %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	".size probe_window_called, . - probe_window_called\n"
	".popsection\n");

static double calls_take(void)
{
	struct timespec from, until;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < PRICE_CALLS; i++)
		probe_window_called();
	clock_gettime(CLOCK_MONOTONIC, &until);
	return ((double)(until.tv_sec - from.tv_sec) + (double)(until.tv_nsec - from.tv_nsec) / 1e9) / PRICE_CALLS;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Somebody else's turn on the processor is no price of ours. */
static double median_call(void)
{
	double took[PRICE_ROUNDS];
	for (int i = 0; i < PRICE_ROUNDS; i++)
		took[i] = calls_take();
	qsort(took, PRICE_ROUNDS, sizeof(*took), by_size);
	return took[PRICE_ROUNDS / 2];
}

/* Where the function is in our own file; 0: not found. */
static uint64_t called_offset(void)
{
	uint64_t at = (uint64_t)(uintptr_t)probe_window_called, start, end, offset, found = 0;
	char line[4352];
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) == 3 && at >= start && at < end)
			found = at - start + offset;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* As a call that comes while no window is open: what nearly all stops are, but for those that are sampled. */
static int describe_called(const struct probe *p, uint32_t index)
{
	const struct alys_site site = { .flags = ALYS_SITE_WINDOW };
	return bpf_map_update_elem(bpf_map__fd(p->skel->maps.sites), &index, &site, BPF_ANY) ? -errno : 0;
}

static void forget_stats(const struct probe *p)
{
	int cpus = libbpf_num_possible_cpus();
	struct alys_stats *none = cpus > 0 ? calloc((size_t)cpus, sizeof(*none)) : NULL;
	uint32_t zero = 0;
	if (none)
		bpf_map_update_elem(bpf_map__fd(p->skel->maps.stats), &zero, none, BPF_ANY);
	free(none);
}

static double take_price(struct probe *p, int prog_fd, int exe, uint64_t offset, uint32_t site)
{
	uint64_t cookie = site | ALYS_COOKIE_FILTERED;
	struct rights_link l = { .prog_fd = prog_fd,
				 .file_fd = exe,
				 .attach_type = ATTACH_UPROBE_MULTI,
				 .tgid = (uint32_t)getpid(),
				 .cnt = 1,
				 .offsets = &offset,
				 .cookies = &cookie };
	double empty = median_call(), took = 0;
	int fd = describe_called(p, site) ? -1 : rights_link(&l);
	if (fd < 0)
		return 0;
	p->skel->bss->window_shut = 1;
	probe_start(p);
	took = median_call();
	probe_stop(p);
	p->skel->bss->window_shut = 0;
	close(fd);
	forget_stats(p);
	return took > empty ? took - empty : 0;
}

int probe_window_price(struct probe *p, double *seconds, struct err *err)
{
	uint64_t offset = called_offset();
	if (p->tier == PROBE_TIER_PERF)
		return err_set(err, ENOTSUP,
			       "--max-overhead wants a kernel that puts many probes in at once (6.6): `alys-bpf doctor` tells");
	int rc = program_ready(p, p->skel->progs.refill, err);
	int exe = rc ? -1 : open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	*seconds = exe < 0 || !offset ? 0
				      : take_price(p, bpf_program__fd(p->skel->progs.refill), exe, offset, ALYS_MAX_SITES - 1);
	if (exe >= 0)
		close(exe);
	if (!rc && !(*seconds > 0))
		rc = err_set(err, EIO, "what a probe costs here could not be found out: record without --max-overhead");
	return rc;
}

size_t probe_window_links(struct probe *p)
{
	size_t n = 0;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->attachments_cnt; i++)
		n += p->attachments[i].again != NULL;
	pthread_mutex_unlock(&p->lock);
	return n;
}

/* One whose process has ended stays out. */
void probe_window_in(struct probe *p)
{
	pthread_mutex_lock(&p->lock);
	p->out = false;
	for (size_t i = 0; i < p->attachments_cnt; i++) {
		struct attachment *a = &p->attachments[i];
		if (a->again && a->fd < 0)
			a->fd = rights_link(&a->again->link);
	}
	pthread_mutex_unlock(&p->lock);
}

void probe_window_open(struct probe *p, uint64_t interval)
{
	probe_set_interval(p, interval);
	__atomic_store_n(&p->skel->bss->window_shut, 0, __ATOMIC_RELEASE);
}

void probe_window_shut(struct probe *p, uint64_t interval)
{
	__atomic_store_n(&p->skel->bss->window_shut, 1, __ATOMIC_RELEASE);
	probe_set_interval(p, interval);
}

void probe_window_out(struct probe *p)
{
	pthread_mutex_lock(&p->lock);
	p->out = true;
	for (size_t i = 0; i < p->attachments_cnt; i++) {
		struct attachment *a = &p->attachments[i], gone = *a;
		if (!a->again || a->fd < 0)
			continue;
		gone.again = NULL;
		a->fd = -1;
		detaching_put(&gone, 1);
	}
	pthread_mutex_unlock(&p->lock);
	detaching_await();
}

int probe_window_spent(const struct probe *p, struct window_spent *out)
{
	struct probe_stats s;
	int rc = probe_stats(p, &s);
	*out = (struct window_spent){ s.n[ALYS_ST_TRAPS],
				      s.n[ALYS_ST_REC_ALLOC] + s.n[ALYS_ST_REC_REALLOC] + s.n[ALYS_ST_REC_FREE] };
	return rc;
}

struct again *again_new(const struct rights_link *l)
{
	struct again *a = calloc(1, sizeof(*a) + 2 * l->cnt * sizeof(uint64_t));
	if (!a)
		return NULL;
	memcpy(a->words, l->offsets, l->cnt * sizeof(uint64_t));
	memcpy(a->words + l->cnt, l->cookies, l->cnt * sizeof(uint64_t));
	a->link = *l;
	a->link.offsets = a->words;
	a->link.cookies = a->words + l->cnt;
	a->link.file_fd = fcntl(l->file_fd, F_DUPFD_CLOEXEC, 3);
	if (a->link.file_fd >= 0)
		return a;
	free(a);
	return NULL;
}

void again_free(struct again *a)
{
	if (a)
		close(a->link.file_fd);
	free(a);
}
