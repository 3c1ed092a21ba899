/* top/screen: lines of a screen, measured in columns. See view.h. */
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
 * One character of the text, as it is to be shown: what the terminal cannot show, or would not advance
 * for, is "?". Returns its bytes in the text; *cols is 1 or 2.
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

void screen_free(struct screen *s)
{
	for (size_t i = 0; i < SCREEN_ROWS_MAX; i++)
		buf_free(&s->line[i]);
}
