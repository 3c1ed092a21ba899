/* SPDX-License-Identifier: Apache-2.0 */
/* probe/balance: see balance.h. */
#include "probe/balance.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alys.h"
#include "alys.skel.h"
#include "base/vec.h"

/* "FUNCTION@FILE", without spaces or control characters. */
static void name_of(const char *function, int file_fd, char out[PROBE_FUNCTION_LEN])
{
	static const char gone[] = " (deleted)";
	char link[32], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file_fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	size_t tail = strlen(gone), len = strlen(path);
	if (len > tail && !strcmp(path + len - tail, gone))
		path[len - tail] = '\0';
	const char *base = strrchr(path, '/');
	snprintf(out, PROBE_FUNCTION_LEN, "%.*s@%.48s", PROBE_FUNCTION_LEN - 64, function, base ? base + 1 : path);
	for (char *c = out; *c; c++)
		*c = (unsigned char)*c <= ' ' || *c == 0x7f ? '_' : *c;
}

static int add(struct counted_list *l, const char *name)
{
	struct counted *f = VEC_PUSH(l, functions);
	if (!f)
		return -ENOMEM;
	*f = (struct counted){ .name = strdup(name) };
	l->functions_cnt -= !f->name;
	return f->name ? 0 : -ENOMEM;
}

uint16_t calls_number(struct probe *p, const char *function, int file_fd)
{
	struct counted_list *l = &p->counted;
	char name[PROBE_FUNCTION_LEN];
	name_of(function, file_fd, name);
	if (!l->functions_cnt && add(l, "others"))
		return 0;
	for (size_t i = 1; i < l->functions_cnt; i++) {
		if (!strcmp(l->functions[i].name, name))
			return (uint16_t)i;
	}
	if (l->functions_cnt >= bpf_map__max_entries(p->skel->maps.calls) || add(l, name))
		return 0;
	return (uint16_t)(l->functions_cnt - 1);
}

void calls_free(struct counted_list *l)
{
	for (size_t i = 0; i < l->functions_cnt; i++)
		free(l->functions[i].name);
	free(l->functions);
	*l = (struct counted_list){ 0 };
}

const char *probe_function(const struct probe *p, uint64_t number)
{
	return number < p->counted.functions_cnt ? p->counted.functions[number].name : NULL;
}

/* All functions in one call, per CPU: the ledger is updated often, and functions are many. */
static int read_accounts(const struct probe *p, uint32_t n, struct alys_calls *each)
{
	uint32_t *numbers = calloc(n, sizeof(*numbers)), next;
	int rc = numbers ? bpf_map_lookup_batch(bpf_map__fd(p->skel->maps.calls), NULL, &next, numbers, each, &n, NULL) : -ENOMEM;
	free(numbers);
	return rc == -ENOENT ? 0 : rc; /* end of the table */
}

static struct probe_calls sum_of(const struct counted *f, const struct alys_calls *each, int cpus)
{
	struct probe_calls sum = { .function = f->name, .ended = f->settled + f->thrown, .lost = f->settled };
	for (int c = 0; c < cpus; c++) {
		sum.begun += each[c].begun;
		sum.ended += each[c].ended;
		sum.lost += each[c].lost;
	}
	return sum;
}

int probe_calls(const struct probe *p, struct probe_calls **out, size_t *n)
{
	const struct counted_list *l = &p->counted;
	int cpus = libbpf_num_possible_cpus();
	*out = NULL;
	*n = 0;
	if (cpus < 0 || !l->functions_cnt)
		return cpus < 0 ? cpus : 0;
	struct alys_calls *each = calloc(l->functions_cnt * (size_t)cpus, sizeof(*each));
	struct probe_calls *calls = calloc(l->functions_cnt, sizeof(*calls));
	int rc = each && calls ? read_accounts(p, (uint32_t)l->functions_cnt, each) : -ENOMEM;
	for (size_t i = 0; !rc && i < l->functions_cnt; i++)
		calls[i] = sum_of(&l->functions[i], each + i * (size_t)cpus, cpus);
	free(each);
	if (rc) {
		free(calls);
		return rc;
	}
	*out = calls;
	*n = l->functions_cnt;
	return 0;
}

/* As in bpf/maps.bpf.h. */
struct call_key {
	uint64_t cfa, tgid;
};

static void forget(struct probe *p, const struct call_key *key, const uint8_t *call)
{
	uint16_t number;
	memcpy(&number, call + ALYS_PENDING_ACCOUNT, sizeof(number));
	if (bpf_map_delete_elem(bpf_map__fd(p->skel->maps.frame_calls), key))
		return;
	__atomic_fetch_sub(&p->skel->bss->frame_marks[ALYS_FRAME_MARK_OF(key->cfa, key->tgid)], 1, __ATOMIC_RELAXED);
	if (number >= p->counted.functions_cnt)
		return;
	if (call[ALYS_PENDING_THROWS])
		p->counted.functions[number].thrown++;
	else
		p->counted.functions[number].settled++;
}

typedef bool (*unwanted_fn)(void *ctx, uint32_t tgid);

/* In batches: going from key to key would start again whenever the current key is deleted meanwhile. */
static void forget_calls(struct probe *p, unwanted_fn unwanted, void *ctx)
{
	static struct call_key keys[1024];
	uint32_t at = 0, n;
	struct bpf_map *calls = p->skel->maps.frame_calls;
	size_t size = bpf_map__value_size(calls);
	uint8_t *values = malloc(sizeof(keys) / sizeof(keys[0]) * size);
	int rc = values ? 0 : -ENOMEM;
	for (bool first = true; !rc; first = false) {
		n = sizeof(keys) / sizeof(keys[0]);
		rc = bpf_map_lookup_batch(bpf_map__fd(calls), first ? NULL : &at, &at, keys, values, &n, NULL);
		for (uint32_t i = 0; (!rc || rc == -ENOENT) && i < n; i++) {
			if (unwanted(ctx, (uint32_t)keys[i].tgid))
				forget(p, &keys[i], values + i * size);
		}
	}
	free(values);
}

static bool is_ended(void *ctx, uint32_t tgid)
{
	return map_get(ctx, tgid) != NULL;
}

void probe_forget_calls_of(struct probe *p, const struct map *ended)
{
	forget_calls(p, is_ended, (void *)ended);
}

static uint64_t count_threads(uint32_t tgid)
{
	char path[32];
	uint64_t n = 0;
	snprintf(path, sizeof(path), "/proc/%u/task", tgid);
	DIR *d = opendir(path);
	for (const struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* More calls than the process has threads? ctx: tgid -> number of threads that may still be in a call. */
static bool is_too_much(void *ctx, uint32_t tgid)
{
	bool known = map_get(ctx, tgid) != NULL;
	uint64_t *left = map_put(ctx, tgid);
	if (!left)
		return false;
	if (!known)
		*left = count_threads(tgid);
	if (!*left)
		return true;
	--*left;
	return false;
}

void probe_settle_calls(struct probe *p)
{
	struct map left = { 0 };
	forget_calls(p, is_too_much, &left);
	map_free(&left);
}
