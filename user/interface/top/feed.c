/* SPDX-License-Identifier: Apache-2.0 */
/* top/feed: see feed.h. */
#include "top/feed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"

#define FIELDS_MAX 8

/* A line cut at its tabs, in place. */
struct fields {
	char *at[FIELDS_MAX];
	size_t n;
};

static bool cut(char *line, struct fields *f)
{
	f->n = 0;
	for (char *rest = line; rest; f->n++) {
		if (f->n == FIELDS_MAX)
			return false;
		f->at[f->n] = strsep(&rest, "\t");
	}
	return true;
}

static bool number(const char *text, uint64_t *out)
{
	char *end;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

/* Four sums. */
static bool sums(char **at, double *live_sz, double *live_cnt, double *alloc_sz, double *alloc_cnt)
{
	double *const to[] = { live_sz, live_cnt, alloc_sz, alloc_cnt };
	for (size_t i = 0; i < 4; i++) {
		uint64_t n;
		if (!number(at[i], &n))
			return false;
		*to[i] = (double)n;
	}
	return true;
}

static int take_when(struct feed *f, const struct fields *line)
{
	uint64_t sampled;
	if (line->n != 5 || !number(line->at[1], &f->now_ns) || !number(line->at[2], &f->start_ns) ||
	    !number(line->at[3], &f->interval) || !number(line->at[4], &sampled))
		return -EINVAL;
	f->sampled = sampled;
	return 0;
}

static int take_subject(struct feed *f, const struct fields *line)
{
	uint64_t n;
	if (line->n != 2 || !number(line->at[1], &n) || n >= SUBJECT_CNT)
		return -EINVAL;
	f->subject = (enum subject)n;
	return 0;
}

static int take_ledger(struct feed *f, const struct fields *line)
{
	if (line->n != 5)
		return -EINVAL;
	return sums((char **)line->at + 1, &f->hits, &f->recorded, &f->skipped, &f->lost) ? 0 : -EINVAL;
}

static int take_lost(struct feed *f, const struct fields *line)
{
	uint64_t n;
	if (line->n != 3 || !number(line->at[2], &n))
		return -EINVAL;
	if (f->causes.len + strlen(line->at[1]) > FEED_CAUSES_MAX)
		return 0;
	buf_addf(&f->causes, "%s%s ", f->causes.len ? ", " : "", line->at[1]);
	text_count(&f->causes, n);
	return f->causes.failed ? -ENOMEM : 0;
}

static int take_note(struct feed *f, const struct fields *line)
{
	if (line->n != 2)
		return -EINVAL;
	if (!*f->note)
		f->note = line->at[1];
	return 0;
}

static int take_process(struct feed *f, const struct fields *line)
{
	uint64_t pid;
	if (line->n != 8 || !number(line->at[1], &pid) || pid > UINT32_MAX || f->processes_cnt == FEED_STACKS_MAX)
		return -EINVAL;
	struct feed_process *p = VEC_PUSH(f, processes);
	if (!p)
		return -ENOMEM;
	f->error_of = &p->error;
	*p = (struct feed_process){ .pid = (uint32_t)pid, .comm = line->at[2], .exe = line->at[3] };
	return sums((char **)line->at + 4, &p->live_sz, &p->live_cnt, &p->alloc_sz, &p->alloc_cnt) ? 0 : -EINVAL;
}

static int take_frame(struct feed *f, const struct fields *line)
{
	if (line->n != 3)
		return -EINVAL;
	struct feed_frame *frame = VEC_PUSH(f, frames);
	if (!frame)
		return -ENOMEM;
	*frame = (struct feed_frame){ line->at[1], line->at[2] };
	return 0;
}

static uint64_t mix(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return (hash ^ 0xff) * 0x100000001b3ull;
}

static int take_path(struct feed *f, struct feed_stack *s, char *text)
{
	s->first = (uint32_t)f->path_cnt;
	s->key = mix(0xcbf29ce484222325ull ^ s->pid, s->type);
	for (char *one; (one = strsep(&text, ","));) {
		uint64_t n;
		if (!number(one, &n) || n >= f->frames_cnt || s->frames_cnt == FEED_FRAMES_MAX)
			return -EINVAL;
		uint32_t *step = VEC_PUSH(f, path);
		if (!step)
			return -ENOMEM;
		*step = (uint32_t)n;
		s->frames_cnt++;
		s->key = mix(mix(s->key, f->frames[n].name), f->frames[n].place);
	}
	return 0;
}

/* Stacks that differ only by addresses show the same text: merge them. */
static int join_stack(struct feed *f)
{
	struct feed_stack *s = &f->stacks[f->stacks_cnt - 1];
	uint64_t *place = map_put(&f->stack_index, s->key);
	if (!place)
		return -ENOMEM;
	if (!*place) {
		*place = f->stacks_cnt;
		return 0;
	}
	struct feed_stack *same = &f->stacks[*place - 1];
	same->live_sz += s->live_sz;
	same->live_cnt += s->live_cnt;
	same->alloc_sz += s->alloc_sz;
	same->alloc_cnt += s->alloc_cnt;
	f->error_of = &same->error;
	f->path_cnt = s->first;
	f->stacks_cnt--;
	return 0;
}

static int take_stack(struct feed *f, const struct fields *line)
{
	uint64_t pid;
	if (line->n != 8 || !number(line->at[1], &pid) || pid > UINT32_MAX || f->stacks_cnt == FEED_STACKS_MAX)
		return -EINVAL;
	struct feed_stack *s = VEC_PUSH(f, stacks);
	if (!s)
		return -ENOMEM;
	f->error_of = &s->error;
	*s = (struct feed_stack){ .pid = (uint32_t)pid, .type = line->at[6] };
	if (!sums((char **)line->at + 2, &s->live_sz, &s->live_cnt, &s->alloc_sz, &s->alloc_cnt))
		return -EINVAL;
	int rc = take_path(f, s, line->at[7]);
	return rc ? rc : join_stack(f);
}

static int take_error(struct feed *f, const struct fields *line)
{
	uint64_t n;
	if (line->n != 2 || !f->error_of || !number(line->at[1], &n))
		return -EINVAL;
	*f->error_of = hypot(*f->error_of, (double)n);
	f->inexact = true;
	return 0;
}

static int take_off(struct feed *f, const struct fields *line)
{
	f->off = line->n == 1;
	return f->off ? 0 : -EINVAL;
}

static const struct {
	const char *word;
	int (*take)(struct feed *f, const struct fields *line);
} kinds[] = {
	{ "when", take_when },   { "ledger", take_ledger },   { "note", take_note },   { "process", take_process },
	{ "frame", take_frame }, { "stack", take_stack },     { "error", take_error }, { "lost", take_lost },
	{ "off", take_off },     { "subject", take_subject },
};

/* Unknown kinds of lines are skipped, for newer daemons. */
static int take_line(struct feed *f, char *text)
{
	struct fields line;
	const char *tab = strchrnul(text, '\t');
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(kinds[i].word, text, (size_t)(tab - text)) || kinds[i].word[tab - text])
			continue;
		return cut(text, &line) ? kinds[i].take(f, &line) : -EINVAL;
	}
	return 0;
}

/* sink/top_rows sends no control characters, but the peer on the socket is not trusted. */
static bool is_clean(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)text[i];
		if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f)
			return false;
	}
	return true;
}

int feed_parse(struct feed *f, const char *text, size_t len, struct err *err)
{
	*f = (struct feed){ .note = "", .text = malloc(len + 1) };
	if (!f->text)
		return err_set(err, ENOMEM, "out of memory");
	memcpy(f->text, text, len);
	f->text[len] = 0;
	int rc = is_clean(text, len) ? 0 : -EINVAL;
	char *rest = f->text, *line = strsep(&rest, "\n");
	bool ended = false;
	if (!rc && strcmp(line, "alys-feed\t1"))
		return err_set(err, EINVAL, "the daemon has another version: use the alys-bpf that belongs to it");
	while (!rc && !ended && rest) {
		line = strsep(&rest, "\n");
		ended = !strcmp(line, "end");
		rc = ended ? 0 : take_line(f, line);
	}
	if (rc == -ENOMEM)
		return err_set(err, ENOMEM, "out of memory");
	return rc || !ended ? err_set(err, EINVAL, "the list of stacks is malformed") : 0;
}

void feed_free(struct feed *f)
{
	free(f->text);
	free(f->processes);
	free(f->frames);
	free(f->path);
	free(f->stacks);
	map_free(&f->stack_index);
	buf_free(&f->causes);
	*f = (struct feed){ 0 };
}
