/* SPDX-License-Identifier: Apache-2.0 */
/* top/screen: screen lines, measured in columns. See view.h. */
#include <ctype.h>
#include <string.h>
#include <wchar.h>

#include "top/view.h"

struct buf *screen_line(struct screen *s, int row, enum look look)
{
	if (row < 0 || row >= s->rows || row >= SCREEN_ROWS_MAX)
		return NULL;
	buf_reset(&s->line[row]);
	s->look[row] = look;
	return &s->line[row];
}

/*
 * Takes one character of the text. Unprintable and zero-width characters are shown as "?". Returns its bytes in the text;
 * *cols is 1 or 2.
 */
static size_t take_char(const char *text, const char **shown, size_t *shown_sz, int *cols)
{
	mbstate_t state = { 0 };
	wchar_t c;
	size_t n = mbrtowc(&c, text, strlen(text), &state);
	*shown = text;
	*shown_sz = n;
	bool valid = n != (size_t)-1 && n != (size_t)-2;
	*cols = valid ? wcwidth(c) : -1;
	if (*cols > 0)
		return n;
	*shown = "?";
	*shown_sz = 1;
	*cols = 1;
	if (valid)
		return n;
	/* In a locale without UTF-8, one "?" for each character and not for each byte. */
	n = 1;
	while ((text[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static int width_of(const char *text)
{
	int all = 0, cols;
	const char *shown;
	size_t n;
	for (; *text; all += cols)
		text += take_char(text, &shown, &n, &cols);
	return all;
}

static void pad(struct buf *line, int n)
{
	while (n-- > 0)
		buf_u8(line, ' ');
}

void screen_put(struct buf *line, const char *text, int cols, bool right)
{
	int width = width_of(text), used = 0, one;
	bool cut = width > cols;
	const char *shown;
	size_t n;
	if (right && !cut)
		pad(line, cols - width);
	while (*text) {
		size_t step = take_char(text, &shown, &n, &one);
		if (used + one > cols - cut)
			break;
		buf_add(line, shown, n);
		used += one;
		text += step;
	}
	if (cut && cols > 0) {
		buf_u8(line, '~');
		used++;
	}
	if (!right || cut)
		pad(line, cols - used);
}

/* The end of a text, to fit cols: the most specific part of a path. */
static const char *tail(const char *text, int cols)
{
	int width = width_of(text), one;
	const char *shown;
	size_t n;
	while (*text && width > cols) {
		text += take_char(text, &shown, &n, &one);
		width -= one;
	}
	return text;
}

/* --- shortening of names ----------------------------------------------------------------------- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '>';
}

/* The bracket that closes the one at `at`, or NULL. */
static const char *closing(const char *at)
{
	char open = *at, close = open == '<' ? '>' : ')';
	for (int depth = 0; *at; at++) {
		depth += (*at == open) - (*at == close && at[-1] != '-');
		if (!depth)
			return at;
	}
	return NULL;
}

/* Adds the bracket at `at`, collapsed. Returns the closing one, NULL if it was cut off. */
static const char *collapse_bracket(const char *at, bool arguments, struct buf *out)
{
	const char *end = closing(at);
	if (*at == '<')
		buf_adds(out, end ? "<>" : "<...");
	else if (!arguments && end)
		buf_add(out, at, (size_t)(end - at) + 1); /* (anonymous namespace) */
	return end;
}

/* Removes return type and contents of brackets: "void a::B<int>::c(long) const" becomes "a::B<>::c". */
static void collapse(const char *name, struct buf *out)
{
	size_t result = 0;
	for (const char *c = name; *c && strcmp(c, " const"); c++) {
		if (*c == '<' || *c == '(') {
			c = collapse_bracket(c, c != name && is_word(c[-1]), out);
			if (!c)
				break;
			continue;
		}
		buf_u8(out, (uint8_t)*c);
		if (*c == ' ' && is_word(c[1]))
			result = out->len;
	}
	if (result && !out->failed)
		memmove(out->data, out->data + result, out->len -= result);
}

/* The next part of a qualified name, NULL if there is none. */
static const char *next_part(const char *name)
{
	int depth = 0;
	for (const char *c = name; *c; c++) {
		depth += (strchr("<({", *c) != NULL) - (strchr(">)}", *c) != NULL);
		if (!depth && c[0] == ':' && c[1] == ':')
			return c + 2;
	}
	return NULL;
}

/* Shortens to cols, keeping the end of a qualified name, its most specific part. */
static void shorten(const char *name, int cols, struct buf *out)
{
	struct buf plain = { 0 };
	if (width_of(name) > cols && !strstr(name, "operator"))
		collapse(name, &plain);
	const char *rest = plain.len ? buf_str(&plain) : name, *next;
	bool cut = false;
	while (width_of(rest) + cut > cols && (next = next_part(rest))) {
		rest = next;
		cut = true;
	}
	if (cut)
		buf_u8(out, '~');
	buf_adds(out, rest);
	buf_free(&plain);
}

void screen_put_place(struct buf *line, const char *name, const char *place, int cols)
{
	int place_cols = width_of(place), room = cols - 2;
	struct buf text = { 0 };
	if (!*place || room < 8) {
		shorten(name, cols, &text);
		screen_put(line, buf_str(&text), cols, false);
		buf_free(&text);
		return;
	}
	/* The name has priority, but a third of the space is kept for the place. */
	int least = place_cols < room / 3 ? place_cols : room / 3;
	shorten(name, room - least, &text);
	int name_cols = width_of(buf_str(&text));
	name_cols = name_cols < room - least ? name_cols : room - least;
	screen_put(line, buf_str(&text), name_cols, false);
	buf_free(&text);
	buf_adds(line, "  ");
	place_cols = place_cols < room - name_cols ? place_cols : room - name_cols;
	bool cut = width_of(place) > place_cols;
	if (cut)
		buf_u8(line, '~');
	screen_put(line, tail(place, place_cols - cut), cols - name_cols - 2 - cut, false);
}

void screen_free(struct screen *s)
{
	for (size_t i = 0; i < SCREEN_ROWS_MAX; i++)
		buf_free(&s->line[i]);
}
