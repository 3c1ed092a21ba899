/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/programs: see programs.h. */
#include "kernel/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alys.h"
#include "alys.skel.h"
#include "base/log.h"
#include "base/signals.h"

#define PROGRAMS_MAX 16
#define LOG_SZ (1u << 20)

enum state { WAITING, BEGUN, DONE };

/* A program as libbpf would have loaded it. */
struct prepared {
	struct bpf_program *prog;
	struct bpf_insn *insns;
	size_t insns_cnt;
	struct bpf_prog_load_opts opts;
	enum state state;
	int rc; /* when done */
};

struct programs {
	struct prepared list[PROGRAMS_MAX];
	size_t cnt;
	size_t first;         /* programs at the start of `list`, which the thread loads */
	pthread_mutex_t lock; /* protects states and closing */
	pthread_cond_t done;
	pthread_t thread;
	bool threaded, closing;
};

/* libbpf passes no context to its hook, but calls it in the thread that loads. */
static __thread struct programs *collecting;

static int prepare(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	struct bpf_insn stub[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct programs *ps = collecting;
	size_t n = bpf_program__insn_cnt(prog);
	(void)cookie;
	if (!ps)
		return 0;
	struct bpf_insn *insns = ps->cnt < PROGRAMS_MAX ? calloc(n, sizeof(*insns)) : NULL;
	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	struct prepared *p = &ps->list[ps->cnt++];
	*p = (struct prepared){ .prog = prog, .insns = insns, .insns_cnt = n, .opts = *opts };
	p->opts.expected_attach_type = bpf_program__get_expected_attach_type(prog);
	p->opts.fd_array = NULL; /* for functions of kernel modules; invalid once libbpf is done */
	opts->func_info_cnt = 0;
	opts->line_info_cnt = 0;
	return bpf_program__set_insns(prog, stub, sizeof(stub) / sizeof(stub[0]));
}

static void register_once(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = prepare);
	libbpf_register_prog_handler("uprobe", BPF_PROG_TYPE_KPROBE, 0, &opts);
}

void programs_register(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, register_once);
}

/* Prints the verifier's log of a refused program, with -v. */
static void print_refusal(struct prepared *p, int rc)
{
	char *text = log_get_level() >= LOG_VERBOSE ? calloc(1, LOG_SZ) : NULL;
	struct bpf_prog_load_opts opts = p->opts;
	if (!text)
		return;
	opts.log_level = 1;
	opts.log_buf = text;
	opts.log_size = LOG_SZ;
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, bpf_program__name(p->prog), "GPL", p->insns, p->insns_cnt, &opts);
	if (fd >= 0)
		close(fd);
	fprintf(stderr, "program %s: %s\n%s\n", bpf_program__name(p->prog), strerror(-rc), text);
	free(text);
}

static int load_now(struct prepared *p)
{
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, bpf_program__name(p->prog), "GPL", p->insns, p->insns_cnt, &p->opts);
	int rc = fd < 0 ? -errno : 0;
	if (rc) {
		print_refusal(p, rc);
		return rc;
	}
	if (dup3(fd, bpf_program__fd(p->prog), O_CLOEXEC) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* The lock is held, except while the program is loaded. */
static void load_program(struct programs *ps, struct prepared *p)
{
	p->state = BEGUN;
	pthread_mutex_unlock(&ps->lock);
	int rc = load_now(p);
	pthread_mutex_lock(&ps->lock);
	p->rc = rc;
	p->state = DONE;
	pthread_cond_broadcast(&ps->done);
}

static void *load_first(void *ctx)
{
	struct programs *ps = ctx;
	pthread_mutex_lock(&ps->lock);
	for (size_t i = 0; i < ps->first && !ps->closing; i++) {
		if (ps->list[i].state == WAITING)
			load_program(ps, &ps->list[i]);
	}
	pthread_mutex_unlock(&ps->lock);
	return NULL;
}

/* Without a thread, programs are loaded when they are awaited. */
static void start(struct programs *ps)
{
	ps->threaded = !signals_thread(&ps->thread, load_first, ps);
}

static struct prepared *find(struct programs *ps, const struct bpf_program *prog)
{
	for (size_t i = 0; i < ps->cnt; i++) {
		if (ps->list[i].prog == prog)
			return &ps->list[i];
	}
	return NULL;
}

static void put_first(struct programs *ps, struct bpf_program *const *first, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct prepared *p = find(ps, first[i]);
		if (!p)
			continue;
		struct prepared swap = ps->list[ps->first];
		ps->list[ps->first++] = *p;
		*p = swap;
	}
}

struct programs *programs_load(struct alys_bpf *skel, struct bpf_program *const *first, size_t n, int *rc)
{
	struct programs *ps = calloc(1, sizeof(*ps));
	*rc = -ENOMEM;
	if (!ps)
		return NULL;
	pthread_mutex_init(&ps->lock, NULL);
	pthread_cond_init(&ps->done, NULL);
	collecting = ps;
	*rc = alys_bpf__load(skel);
	collecting = NULL;
	if (*rc) {
		programs_close(ps);
		return NULL;
	}
	put_first(ps, first, n);
	start(ps);
	return ps;
}

int programs_await(struct programs *ps, const struct bpf_program *prog)
{
	struct prepared *p = ps ? find(ps, prog) : NULL;
	if (!p)
		return 0;
	pthread_mutex_lock(&ps->lock);
	if (p->state == WAITING)
		load_program(ps, p); /* without waiting for the thread to get there */
	while (p->state != DONE)
		pthread_cond_wait(&ps->done, &ps->lock);
	int rc = p->rc;
	pthread_mutex_unlock(&ps->lock);
	return rc;
}

/* The last one first: the thread begins with the others. */
static int await_some(struct programs *ps, size_t n)
{
	int rc = 0;
	for (size_t i = n; i-- && !rc;)
		rc = programs_await(ps, ps->list[i].prog);
	/* The thread has nothing left to do: a process forked from now on copies no lock or half-done work. */
	if (ps->threaded)
		pthread_join(ps->thread, NULL);
	ps->threaded = false;
	return rc;
}

int programs_await_first(struct programs *ps)
{
	return await_some(ps, ps->first);
}

int programs_await_all(struct programs *ps)
{
	return await_some(ps, ps->cnt);
}

void programs_close(struct programs *ps)
{
	if (!ps)
		return;
	pthread_mutex_lock(&ps->lock);
	ps->closing = true;
	pthread_mutex_unlock(&ps->lock);
	if (ps->threaded)
		pthread_join(ps->thread, NULL);
	for (size_t i = 0; i < ps->cnt; i++)
		free(ps->list[i].insns);
	pthread_cond_destroy(&ps->done);
	pthread_mutex_destroy(&ps->lock);
	free(ps);
}
