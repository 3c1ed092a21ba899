/* SPDX-License-Identifier: Apache-2.0 */
/* top/terminal: screen and keyboard, with ncurses. See top.h. */
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "top/top.h"
#include "top/view.h"

/* Longest delay of a key while waiting for a list, and the reverse. */
#define WAIT_MS 50
#define CAPTURE_MAX 16384
/* Lists arrive every second; if none did for this time, the screen says so. */
#define LATE_NS 4000000000ull

static const struct {
	int curses, view;
} keys[] = {
	{ KEY_UP, VIEW_UP },         { KEY_DOWN, VIEW_DOWN },       { KEY_LEFT, VIEW_LEFT }, { KEY_RIGHT, VIEW_RIGHT },
	{ KEY_PPAGE, VIEW_PAGE_UP }, { KEY_NPAGE, VIEW_PAGE_DOWN }, { KEY_HOME, VIEW_HOME }, { KEY_END, VIEW_END },
	{ KEY_ENTER, VIEW_ENTER },   { '\n', VIEW_ENTER },          { '\r', VIEW_ENTER },    { KEY_BACKSPACE, VIEW_ERASE },
	{ 0x7f, VIEW_ERASE },        { '\b', VIEW_ERASE },          { 0x1b, VIEW_ESCAPE },   { '\t', VIEW_TAB },
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
	case LOOK_HEAD: return A_BOLD;
	case LOOK_CHOSEN: return A_REVERSE;
	case LOOK_BAD: return has_colors() ? A_BOLD | COLOR_PAIR(1) : A_BOLD | A_STANDOUT;
	case LOOK_SOFT: return has_colors() ? A_DIM : A_NORMAL;
	default: return A_NORMAL;
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

/* --- stderr ------------------------------------------------------------------------------------ */

/* Captures stderr, which would otherwise be written into the screen. */
struct stderr_capture {
	int real, read_end; /* -1 = stderr is not the terminal, and not captured */
	struct buf text;
};

static void capture_begin(struct stderr_capture *o)
{
	int ends[2];
	*o = (struct stderr_capture){ .real = -1, .read_end = -1 };
	if (!isatty(STDERR_FILENO) || pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return;
	o->real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	o->read_end = ends[0];
	if (o->real >= 0)
		dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
}

/* The newest line when there is one, else NULL. */
static const char *capture_read(struct stderr_capture *o)
{
	char piece[1024];
	ssize_t n;
	bool changed = false;
	while (o->read_end >= 0 && (n = read(o->read_end, piece, sizeof(piece) - 1)) > 0) {
		/* Bounded: an error may be logged over and over. */
		if (o->text.len > CAPTURE_MAX)
			buf_reset(&o->text);
		buf_add(&o->text, piece, (size_t)n);
		changed = true;
	}
	if (!changed)
		return NULL;
	const char *all = buf_str(&o->text);
	size_t end = strlen(all);
	while (end && all[end - 1] == '\n')
		end--;
	while (end && all[end - 1] != '\n')
		end--;
	return all + end;
}

static void capture_end(struct stderr_capture *o)
{
	capture_read(o);
	if (o->real >= 0) {
		dup2(o->real, STDERR_FILENO);
		close(o->real);
		if (o->text.len && write(STDERR_FILENO, o->text.data, o->text.len) < 0)
			buf_reset(&o->text); /* not writable: drop it */
	}
	if (o->read_end >= 0)
		close(o->read_end);
	buf_free(&o->text);
}

/* --- signals ----------------------------------------------------------------------------------- */

static volatile sig_atomic_t told_to_end;

static void on_signal(int signal)
{
	(void)signal;
	told_to_end = 1;
}

/* Called after initscr: ncurses' own handlers exit without detaching the probes. */
static void catch_signals(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	told_to_end = 0;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &act, NULL);
}

/* --- the loop ---------------------------------------------------------------------------------- */

/* True if the screen has to be redrawn. */
static bool poll_source(const struct top_source *source, struct view *v, struct buf *text, struct err *err)
{
	struct feed f;
	if (v->ended && !v->waiting)
		return false;
	int rc = source->poll(source->ctx, text, err);
	bool changed = false;
	if (rc > 0) {
		rc = feed_parse(&f, buf_str(text), text->len, err);
		if (!rc)
			view_take(v, &f, now_ns());
		feed_free(&f);
		changed = true;
	}
	if (!rc && changed && v->waiting) {
		v->ended = v->waiting = false;
		v->message = NULL;
		*err = (struct err){ 0 };
	}
	if (rc < 0) {
		changed = true;
		v->ended = true;
		v->waiting = rc == -EAGAIN;
		v->message = *err->text ? err->text : "the traced processes have ended: q quits";
	}
	return changed;
}

/* True if the displayed age has changed. */
static bool update_age(struct view *v)
{
	uint64_t age = v->taken_ns && !v->ended ? now_ns() - v->taken_ns : 0;
	uint32_t late_s = age >= LATE_NS ? (uint32_t)(age / 1000000000) : 0;
	bool changed = late_s != v->late_s;
	v->late_s = late_s;
	return changed;
}

int top_check(struct err *err)
{
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return 0;
	return err_set(err, ENOTTY, "top wants a terminal: for a file or a pipe use `alys-bpf report -p PID --every 5s`");
}

/* If the terminal is not our session's, there is no SIGHUP when it closes; reads then return nothing at once. */
static bool is_gone(void)
{
	struct pollfd p = { .fd = STDIN_FILENO };
	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

/* Without cursor addressing, all lines would overwrite each other. */
static bool has_screen(void)
{
	int known;
	if (setupterm(NULL, STDOUT_FILENO, &known) != OK)
		return false;
	const char *move_to = tigetstr("cup");
	return move_to && move_to != (const char *)-1;
}

static int open_terminal(struct err *err)
{
	if (top_check(err))
		return -err->code;
	setlocale(LC_CTYPE, "");
	SCREEN *s = has_screen() ? newterm(NULL, stdout, stdin) : NULL;
	if (!s)
		return err_set(
			err, ENOTTY,
			"the terminal type \"%s\" is unknown or cannot position the cursor: set TERM, for example to xterm",
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

static void loop(const struct top_source *source, struct view *v, struct screen *s, struct err *why)
{
	struct buf text = { 0 };
	struct stderr_capture capture;
	capture_begin(&capture);
	for (bool on = true, changed = true; on && !told_to_end;) {
		if (changed)
			show(v, s);
		int c = getch();
		changed = poll_source(source, v, &text, why);
		const char *said = capture_read(&capture);
		/* Any key dismisses the message, which hides the line of keys. */
		if (c != ERR && !v->ended)
			v->message = NULL;
		v->message = said ? said : v->message;
		changed |= update_age(v) || said || c != ERR;
		on = c == ERR ? !is_gone() : c == KEY_RESIZE || view_key(v, key_of(c));
	}
	/* On terminals without an alternate screen, continue at the last line. */
	move(LINES - 1, 0);
	clrtoeol();
	refresh();
	endwin();
	capture_end(&capture);
	buf_free(&text);
}

int top_run(const struct top_source *source, uint32_t pid, struct err *err)
{
	struct view v;
	struct err why = { 0 };
	struct screen *s = calloc(1, sizeof(*s));
	int rc = s ? open_terminal(err) : err_set(err, ENOMEM, "out of memory");
	if (!rc) {
		catch_signals();
		view_begin(&v, pid);
		loop(source, &v, s, &why);
		view_free(&v);
		screen_free(s);
	}
	free(s);
	/* Print the reason again: the screen that showed it is gone. */
	if (!rc && *why.text) {
		*err = why;
		rc = -why.code;
	}
	return rc;
}
