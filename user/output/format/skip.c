/* SPDX-License-Identifier: Apache-2.0 */
/* format/skip: see skip.h. */
#include "format/skip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/call_counts.h"
#include "format/pattern.h"

static bool is_number(const char *text)
{
	text += *text == '-' || *text == '+';
	return *text && !text[strspn(text, "0123456789")];
}

static int set_frames(struct skip *s, const char *option, const char *text, struct err *err)
{
	errno = 0;
	unsigned long long n = strtoull(text, NULL, 10);
	if (errno || *text == '-' || n > UINT32_MAX)
		return err_set(err, EINVAL, "%s wants a regular expression or a number of frames, got \"%.200s\"", option, text);
	s->frames = (uint32_t)n;
	return 0;
}

int skip_add(struct skip *s, const char *option, const char *text, struct err *err)
{
	if (is_number(text))
		return set_frames(s, option, text, err);
	regex_t *r = *text ? VEC_PUSH(s, patterns) : NULL;
	if (!r)
		return err_set(err, *text ? ENOMEM : EINVAL,
			       *text ? "out of memory"
				     : "%s wants a regular expression or a "
				       "number of frames, got an empty text",
			       option);
	int rc = pattern_compile(r, option, text, err);
	s->patterns_cnt -= rc != 0;
	return rc;
}

void skip_free(struct skip *s)
{
	for (size_t i = 0; i < s->patterns_cnt; i++)
		regfree(&s->patterns[i]);
	free(s->patterns);
	*s = (struct skip){ 0 };
}

void skip_none(struct skip *s)
{
	skip_free(s);
	s->keep_known = true;
}

static bool is_asked_for(const struct skip *s, const struct sink_frame *f)
{
	struct buf name = { 0 };
	bool yes = false;
	sink_frame_name(&(struct sink_frame){ .symbol = f->symbol, .module = f->module, .rel = f->rel }, &name);
	for (size_t i = 0; i < s->patterns_cnt && !yes; i++)
		yes = pattern_matches(&s->patterns[i], f, buf_str(&name));
	buf_free(&name);
	return yes;
}

static bool is_kept(const struct skip *s, const struct sink_frame *f)
{
	struct buf name = { 0 };
	if (!s->kept)
		return false;
	sink_frame_name(f, &name);
	bool kept = calls_of(s->kept, buf_str(&name));
	buf_free(&name);
	return kept;
}

static bool is_wrapper(const struct skip *s, const struct sink_frame *f)
{
	return (!s->keep_known && skip_is_known(f)) || (s->patterns_cnt && is_asked_for(s, f));
}

bool skip_wants(const struct skip *s, const struct sink_frame *f)
{
	return is_wrapper(s, f) && !is_kept(s, f);
}
