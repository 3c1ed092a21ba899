/* top/terminal: the screen and the keyboard, through ncurses. See top.h. */
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "top/top.h"
#include "top/view.h"

/* How long a key may wait for a new list, and the other way round. */
#define WAIT_MS 100

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static const struct {
	int curses, view;
} keys[] = {
	{ KEY_UP, VIEW_UP },       { KEY_DOWN, VIEW_DOWN },     { KEY_LEFT, VIEW_LEFT },      { KEY_RIGHT, VIEW_RIGHT },
	{ KEY_PPAGE, VIEW_PAGE_UP }, { KEY_NPAGE, VIEW_PAGE_DOWN }, { KEY_HOME, VIEW_HOME },  { KEY_END, VIEW_END },
	{ KEY_ENTER, VIEW_ENTER }, { '\n', VIEW_ENTER },        { '\r', VIEW_ENTER },         { KEY_BACKSPACE, VIEW_ERASE },
	{ 0x7f, VIEW_ERASE },      { '\b', VIEW_ERASE },        { 0x1b, VIEW_ESCAPE },        { '\t', VIEW_TAB },
};

static int key_of(int c)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].curses == c)
			return keys[i].view;
	}
	return c < 0x100 ? c : 0;
}

static attr_t attribute_of(enum look look)
{
	switch (look) {
	case LOOK_HEAD:
		return A_BOLD;
	case LOOK_CHOSEN:
		return A_REVERSE;
	case LOOK_BAD:
		return has_colors() ? A_BOLD | COLOR_PAIR(1) : A_BOLD | A_STANDOUT;
	case LOOK_SOFT:
		return has_colors() ? A_DIM : A_NORMAL;
	default:
		return A_NORMAL;
	}
}

static void show(struct view *v, struct screen *s)
{
	getmaxyx(stdscr, s->rows, s->cols);
	s->rows = s->rows > SCREEN_ROWS_MAX ? SCREEN_ROWS_MAX : s->rows;
	s->cols = s->cols > SCREEN_COLS_MAX ? SCREEN_COLS_MAX : s->cols;
	view_draw(v, s);
	erase();
	for (int i = 0; i < s->rows; i++) {
		attrset((int)attribute_of(s->look[i]));
		mvaddstr(i, 0, buf_str(&s->line[i]));
	}
	attrset(A_NORMAL);
	refresh();
}

/* Whether there is something new to show. */
static bool poll_source(const struct top_source *source, struct view *v, struct buf *text, struct err *err)
{
	struct feed f;
	if (v->ended)
		return false;
	int rc = source->poll(source->ctx, text, err);
	const char *message = source->message(source->ctx);
	bool news = message != v->message;
	v->message = message;
	if (rc > 0) {
		rc = feed_parse(&f, buf_str(text), text->len, err);
		if (!rc)
			view_take(v, &f, now_ns());
		feed_free(&f);
		news = true;
	}
	if (rc < 0) {
		v->ended = news = true;
		v->message = *err->text ? err->text : "the traced processes have ended: q quits";
	}
	return news;
}

static int open_terminal(struct err *err)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, ENOTTY, "top wants a terminal: for a file or a pipe use `alys-bpf report -p PID --every 5s`");
	setlocale(LC_CTYPE, "");
	SCREEN *s = newterm(NULL, stdout, stdin);
	if (!s)
		return err_set(err, ENOTTY, "the terminal type \"%s\" is not known: set TERM, for example to xterm",
			       getenv("TERM") ? getenv("TERM") : "");
	set_escdelay(50);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	timeout(WAIT_MS);
	if (has_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_RED, -1);
	}
	return 0;
}

int top_run(const struct top_source *source, uint32_t pid, struct err *err)
{
	struct view v;
	struct buf text = { 0 };
	struct err why = { 0 };
	int rc = open_terminal(err);
	if (rc)
		return rc;
	struct screen *s = calloc(1, sizeof(*s));
	view_begin(&v, pid);
	for (bool on = s, news = true; on;) {
		if (news)
			show(&v, s);
		int c = getch();
		news = poll_source(source, &v, &text, &why);
		if (c == ERR)
			continue;
		news = true;
		on = c == KEY_RESIZE || view_key(&v, key_of(c));
	}
	endwin();
	if (s)
		screen_free(s);
	free(s);
	view_free(&v);
	buf_free(&text);
	/* The reason is on a screen that is gone. */
	if (*why.text)
		*err = why;
	return *why.text ? -why.code : 0;
}
