/*
 * Calibrates the sites of one library, as found or spoiled on purpose: calibrate_case FILE HOW. Prints
 * the verdict, the time it took and the words of it. With a PID the sites are put on trial in that process instead:
 * says "on trial", and at the next line of input how many of its calls agreed and how many did not. With the word
 * "end" behind it the trial is ended at the first wrong call or the thousandth; then calls, events and losses follow.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "finder/find.h"
#include "calibrate/calibrate.h"
#include "helper/children.h"
#include "base/clock.h"

static struct site *named(struct site_list *l, const char *name)
{
	for (size_t i = 0; i < l->sites_cnt; i++) {
		if (!strcmp(l->sites[i].row->symbol, name))
			return &l->sites[i];
	}
	return NULL;
}

/* An exit of this function that is no `ret`. */
static struct site_exit *cheap_exit(struct site_list *l, const char *name)
{
	struct site *s = named(l, name);
	for (size_t i = 0; s && i < s->exits_cnt; i++) {
		if (l->exits[s->exits[i]].emulated)
			return &l->exits[s->exits[i]];
	}
	return NULL;
}

static bool spoil(struct site_list *l, const char *how)
{
	struct site *kind = named(l, "GC_malloc_kind");
	struct site_exit *x = cheap_exit(l, "GC_realloc");
	if (!strcmp(how, "good") || !strcmp(how, "ret"))
		return true;
	if (!kind || !x)
		return false;
	if (!strcmp(how, "register"))
		x->reg = x->reg == ALYS_REG_RBX ? ALYS_REG_RBP : ALYS_REG_RBX;
	else if (!strcmp(how, "address")) /* where another function begins: never a piece of an instruction */
		x->vaddr = kind->vaddr, x->offset = kind->offset;
	else if (!strcmp(how, "frame"))
		x->cfa_off += 8;
	else if (!strcmp(how, "lists"))
		l->lists.per_kind++;
	else if (!strcmp(how, "slow"))
		kind->slow_exits_cnt = 0;
	else if (!strcmp(how, "argument"))
		kind->arg[0] = 1;
	else
		return false;
	return true;
}

/* As a recording does it. */
static int end_trial(struct probe *p, struct probe_trial *t, struct probe_order o, struct err *err)
{
	int rc;
	while (!(rc = probe_trial_read(p, t)) && !t->wrong && t->agreed < 1000)
		usleep(500);
	if (t->wrong)
		o.sites = o.proof;
	o.proof = NULL;
	return rc ? rc : probe_trial_end(p, t, &o, err);
}

static int print_sums(const struct probe *p)
{
	struct probe_stats s;
	int rc = probe_stats(p, &s);
	uint64_t lost = s.misses + s.n[ALYS_ST_LOST_RING_ALLOC] + s.n[ALYS_ST_LOST_PENDING] + s.n[ALYS_ST_LOST_NO_RETURN];
	uint64_t waiting = s.n[ALYS_ST_WAIT_BEGIN] - s.n[ALYS_ST_WAIT_END];
	if (!rc)
		printf("%llu %llu %llu\n", (unsigned long long)s.n[ALYS_ST_HIT_ALLOC], (unsigned long long)s.n[ALYS_ST_REC_ALLOC],
		       (unsigned long long)(lost + waiting));
	return rc;
}

/* How the same file's calls look without cheap exits. */
static int try_in(uint32_t pid, int fd, struct elf *e, const char *path, const struct site_list *list, bool end, struct err *err)
{
	struct probe_config cfg = { .ring_sz = 16 << 20, .subjects = 1u << ALYS_SUBJECT_ALLOCATIONS };
	struct sites_options plain = { 0 };
	struct site_list proof = { 0 };
	struct probe_trial t;
	const struct probe_order o = {
		.tgid = pid, .file_fd = fd, .sites = list, .proof = &proof, .returns = PROBE_RETURNS_PLAIN
	};
	char line[8];
	int rc = sites_find(e, path, &plain, &proof, err);
	struct probe *p = rc ? NULL : probe_open(&cfg, err);
	rc = p ? probe_add_target(p, pid, err) : -1;
	if (!rc)
		rc = probe_attach_on_trial(p, &o, &t, err);
	if (!rc) {
		probe_start(p);
		puts("on trial");
		fflush(stdout);
		rc = end ? end_trial(p, &t, o, err) : 0;
	}
	if (!rc)
		rc = !fgets(line, sizeof(line), stdin) ? -1 : end ? 0 : probe_trial_read(p, &t);
	if (!rc)
		printf("%llu %llu\n", (unsigned long long)t.agreed, (unsigned long long)t.wrong);
	if (!rc && end)
		rc = print_sums(p);
	probe_close(p);
	sites_free(&proof);
	return rc;
}

int main(int argc, char **argv)
{
	static const char *const verdicts[] = { "none", "agreed", "wrong", "unproven" };
	struct site_list list = { 0 };
	struct calibration c;
	struct err err = { 0 };
	if (argc == 2 && helper_child(argv[1]) >= 0)
		return 0;
	if (argc < 3 || argc > 5)
		return 2;
	struct sites_options o = { .cheap_exits = strcmp(argv[2], "ret") != 0 };
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	struct elf *e = fd >= 0 ? elf_open(fd, argv[1], &err) : NULL;
	if (!e || sites_find(e, argv[1], &o, &list, &err) || !spoil(&list, argv[2])) {
		fprintf(stderr, "%s: nothing to spoil: %s\n", argv[1], err.text);
		return 1;
	}
	if (argc > 3) {
		int rc = try_in((uint32_t)atoi(argv[3]), fd, e, argv[1], &list, argc == 5, &err);
		fprintf(stderr, "%s\n", err.text);
		return rc != 0;
	}
	uint64_t from = now_ns();
	calibrate(&list, fd, &c);
	double took = (double)(now_ns() - from) / 1e6;
	struct buf text = { 0 };
	calibration_text(&c, &text);
	printf("%s %.1f %s\n", verdicts[c.outcome], took, buf_str(&text));
	buf_free(&text);
	elf_close(e);
	sites_free(&list);
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
