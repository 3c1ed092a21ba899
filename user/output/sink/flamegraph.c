/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/flamegraph: a self-contained SVG, root on top. Stacks are sorted by content, so frames are opened and closed
 * while walking over them, without building a tree. The script and the style are separate files, embedded by the
 * assembler (.incbin); no recorded data gets into them.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "format/fold.h"
#include "sink/registry.h"

#define FLUSH_SZ (256 * 1024)

/* Pixels. The script adapts the layout to the window; this is what viewers without scripts show. */
#define WIDTH 1200
#define PAD 10
#define HEAD 118
#define LEGEND 6 /* libraries shown in the legend */
#define ROW 18
#define NARROWEST 0.1
#define EM 7.25 /* width of a character of the 12 px monospaced font */

#define EMBED(name, file)                                                                          \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"" file "\"\n.byte 0\n.popsection\n"); \
	extern const char name[] __attribute__((visibility("hidden")))

EMBED(flamegraph_css, "user/output/sink/flamegraph.css");
EMBED(flamegraph_js, "user/output/sink/flamegraph.js");

struct box {
	int64_t start, value; /* value: the box' width; in a comparison, the larger one of both recordings */
	int64_t after, before;
	uint32_t depth;
	uint32_t name; /* number in the fold; unused at depth 0 */
	uint32_t at;   /* number in fold.at */
};

/* Sums over the stacks visited so far. */
struct place {
	int64_t wide, after, before;
};

struct open_box {
	struct place start;
	uint32_t name, at;
};

struct flame {
	const struct sink_input *in;
	struct fold fold;
	enum value value;
	struct place sum; /* over all stacks */
	int64_t total;    /* the same, but at least 1, since widths are divided by it */
	uint32_t deepest;
	struct box *boxes;
	size_t boxes_cnt, boxes_cap;
	struct open_box *open;
	size_t open_cnt, open_cap;
};

/* Writes cleaned text as XML 1.0, in which U+FFFE and U+FFFF are not allowed. */
static void put_xml(struct buf *b, const char *text, size_t n)
{
	static const char *const entities[256] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;",
	};
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)text[i];
		if (c == 0xef && i + 2 < n && !memcmp(text + i, "\xef\xbf", 2) && (uint8_t)text[i + 2] >= 0xbe) {
			buf_addf(b, "\\xef\\xbf\\x%02x", (uint8_t)text[i + 2]);
			i += 2;
		} else if (entities[c]) {
			buf_adds(b, entities[c]);
		} else {
			buf_u8(b, c);
		}
	}
}

static void put_xml_text(struct buf *b, const char *text)
{
	struct buf clean = { 0 };
	text_clean(&clean, text, SIZE_MAX);
	put_xml(b, (const char *)clean.data, clean.len);
	b->failed |= clean.failed;
	buf_free(&clean);
}

static double pixels(const struct flame *f, int64_t value)
{
	return (double)value / (double)f->total * (WIDTH - 2 * PAD);
}

static bool close_to(struct flame *f, size_t depth, const struct place *now)
{
	while (f->open_cnt > depth) {
		const struct open_box *o = &f->open[--f->open_cnt];
		if (pixels(f, now->wide - o->start.wide) < NARROWEST)
			continue;
		struct box *box = VEC_PUSH(f, boxes);
		if (!box)
			return false;
		*box = (struct box){
			.start = o->start.wide,
			.value = now->wide - o->start.wide,
			.after = now->after - o->start.after,
			.before = now->before - o->start.before,
			.depth = (uint32_t)f->open_cnt + 1,
			.name = o->name,
			.at = o->at,
		};
		if (box->depth > f->deepest)
			f->deepest = box->depth;
	}
	return true;
}

static int compare_boxes(const void *a, const void *b)
{
	const struct box *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

static void advance(struct place *p, const struct fold_stack *s)
{
	p->wide = value_add(p->wide, s->value > s->before ? s->value : s->before);
	p->after = value_add(p->after, s->value);
	p->before = value_add(p->before, s->before);
}

/* Boxes in depth-first order: sorted by start, callers before callees. */
static int lay_boxes(struct flame *f)
{
	struct place now = { 0 };
	struct box *root = VEC_PUSH(f, boxes);
	if (!root)
		return -ENOMEM;
	*root = (struct box){ .value = f->total, .after = f->sum.after, .before = f->sum.before };
	for (size_t i = 0; i < f->fold.stacks_cnt; i++) {
		const struct fold_stack *s = &f->fold.stacks[i];
		const uint32_t *names = f->fold.frames + s->first, *at = f->fold.at + s->first;
		size_t same = 0;
		while (same < f->open_cnt && same < s->n && f->open[same].name == names[same])
			same++;
		if (!close_to(f, same, &now))
			return -ENOMEM;
		for (size_t k = 0; k < same; k++)
			f->open[k].at |= f->open[k].at == at[k] ? 0 : FOLD_SEVERAL;
		for (size_t k = same; k < s->n; k++) {
			struct open_box *o = VEC_PUSH(f, open);
			if (!o)
				return -ENOMEM;
			*o = (struct open_box){ now, names[k], at[k] };
		}
		advance(&now, s);
	}
	if (!close_to(f, 0, &now))
		return -ENOMEM;
	qsort(f->boxes, f->boxes_cnt, sizeof(*f->boxes), compare_boxes);
	return 0;
}

static uint32_t hash_of(const char *text)
{
	uint32_t h = 2166136261u; /* FNV-1a */
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h ^ (h >> 15);
}

static int channel(double light, double chroma, double hue, int n)
{
	/* Closed form of HSL: n is 0 for red, 8 for green, 4 for blue; hue in twelfths of the circle. */
	double k = n + hue;
	k -= k >= 12 ? 12 : 0;
	double low = k - 3 < 9 - k ? k - 3 : 9 - k;
	low = low > 1 ? 1 : low < -1 ? -1 : low;
	return (int)(255 * (light - chroma * low) + 0.5);
}

/* Hue by module, with a slight variation of lightness by function; light enough for dark text in both themes. */
static void put_colour(struct buf *b, const char *module, const char *name)
{
	double light = 0.66 + (hash_of(name) % 13) / 100.0;
	double chroma = *module ? 0.62 * (1 - light) : 0.05;
	double hue = (hash_of(module) % 48) / 4.0;
	buf_addf(b, "#%02x%02x%02x", channel(light, chroma, hue, 0), channel(light, chroma, hue, 8),
		 channel(light, chroma, hue, 4));
}

static void put_library_colour(struct buf *b, const char *module)
{
	double hue = (hash_of(module) % 48) / 4.0, light = 0.72, chroma = *module ? 0.62 * (1 - light) : 0.05;
	buf_addf(b, "#%02x%02x%02x", channel(light, chroma, hue, 0), channel(light, chroma, hue, 8),
		 channel(light, chroma, hue, 4));
}

/* Red for growth, blue for shrinkage, paler for smaller changes. */
static void put_change_colour(struct buf *b, int64_t after, int64_t before)
{
	double larger = (double)(after > before ? after : before);
	double part = larger > 0 ? ((double)after - (double)before) / larger : 0;
	double size = part < 0 ? -part : part;
	double light = 0.92 - 0.27 * size, chroma = (0.05 + 0.85 * size) * (1 - light);
	double hue = part < 0 ? 7.2 : 0.2;
	buf_addf(b, "#%02x%02x%02x", channel(light, chroma, hue, 0), channel(light, chroma, hue, 8),
		 channel(light, chroma, hue, 4));
}

/* Number of bytes of a name that fit, in whole characters. Those of 3 bytes or more may be wide. */
static size_t fitting(const char *name, size_t n, double room, bool *cut)
{
	int left = (int)(room / EM);
	size_t at = 0;
	*cut = false;
	if (left < 3)
		return 0;
	while (at < n) {
		uint8_t c = (uint8_t)name[at];
		size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		left -= len > 2 ? 2 : 1;
		*cut = left < 1 && at + len < n;
		if (*cut)
			break;
		at += len;
	}
	return at;
}

static const char *unit_text(const struct flame *f)
{
	bool counts = value_types[f->value].unit[0] == 'c', rate = f->in->options->seconds > 0;
	return counts ? (rate ? " objects/s" : " objects") : rate ? "/s" : "";
}

static void put_change(struct buf *b, const struct flame *f, const struct box *box)
{
	bool less = box->after < box->before;
	buf_adds(b, "from ");
	value_text(b, f->value, box->before);
	buf_adds(b, unit_text(f));
	buf_adds(b, " to ");
	value_text(b, f->value, box->after);
	buf_addf(b, "%s, %c", unit_text(f), less ? '-' : '+');
	value_text(b, f->value, less ? box->before - box->after : box->after - box->before);
	buf_adds(b, unit_text(f));
	buf_adds(b, "</title>");
}

static void put_tip(struct buf *b, const struct flame *f, const struct box *box, const char *name, const char *module)
{
	buf_adds(b, "<title>");
	put_xml(b, name, strlen(name));
	if (box->depth) {
		bool several;
		const char *at = fold_place(&f->fold, box->at, &several);
		if (*at) {
			buf_u8(b, '\n');
			put_xml(b, at, strlen(at));
			buf_adds(b, several ? " and other lines" : "");
		}
	}
	if (*module) {
		buf_adds(b, "\nin ");
		put_xml(b, module, strlen(module));
	}
	buf_u8(b, '\n');
	if (f->in->options->before) {
		put_change(b, f, box);
		return;
	}
	value_text(b, f->value, box->value);
	buf_addf(b, "%s, %.2f %%</title>", unit_text(f), 100 * (double)box->value / (double)f->total);
}

static void put_box(struct buf *b, const struct flame *f, const struct box *box)
{
	const char *name = box->depth ? fold_name(&f->fold, box->name) : "all";
	const char *module = box->depth ? fold_module(&f->fold, box->name) : "";
	double x = PAD + pixels(f, box->start), w = pixels(f, box->value);
	uint64_t y = HEAD + (uint64_t)box->depth * ROW;
	bool cut;
	size_t n = fitting(name, strlen(name), w - 6, &cut);
	buf_addf(b, "<g class=\"f\" data-f=\"%" PRId64 " %" PRId64 " %" PRIu32 "\">", box->start, box->value, box->depth);
	put_tip(b, f, box, name, module);
	buf_addf(b, "<rect x=\"%.2f\" y=\"%" PRIu64 "\" width=\"%.2f\" height=\"%d\" rx=\"2\" fill=\"", x, y, w > 3 ? w - 0.6 : w,
		 ROW - 1);
	if (f->in->options->before)
		put_change_colour(b, box->after, box->before);
	else
		put_colour(b, module, name);
	buf_adds(b, "\"/>");
	if (n) {
		buf_addf(b, "<text x=\"%.2f\" y=\"%" PRIu64 "\">", x + 3, y + 13);
		put_xml(b, name, n);
		buf_adds(b, cut ? "…</text>" : "</text>");
	}
	buf_adds(b, "</g>\n");
}

/* With the standard error if it is known: for bytes, but not for differences. */
static void put_estimated(struct buf *b, const struct flame *f)
{
	const struct snapshot *s = f->in->snapshot;
	double var = f->value == VALUE_ALLOC_SPACE   ? snapshot_var(s, s->n, ALLOC_SZ)
		     : f->value == VALUE_INUSE_SPACE ? snapshot_var(s, s->n, LIVE_SZ)
						     : 0;
	if (!s->facts.sampled)
		return;
	buf_adds(b, " (estimated");
	if (var > 0 && !f->in->options->before) {
		buf_adds(b, " ± ");
		text_bytes(b, sqrt(var));
	}
	buf_u8(b, ')');
}

/* The script arranges the keys in lines to fit the window; data-w is the width of a key. */
static void put_key(struct buf *b, double *x, const char *colour, const char *text)
{
	double w = (colour ? 16 : 0) + EM * (double)strlen(text) + 14;
	buf_addf(b, "<g class=\"key\" data-w=\"%.0f\" transform=\"translate(%.0f,92)\">", w, *x);
	if (colour)
		buf_addf(b, "<rect width=\"11\" height=\"11\" rx=\"2\" fill=\"%s\"/>", colour);
	buf_addf(b, "<text x=\"%d\" y=\"10\" font-size=\"12\">", colour ? 16 : 0);
	put_xml(b, text, strlen(text));
	buf_adds(b, "</text></g>\n");
	*x += w;
}

static void put_change_keys(struct buf *b, double *x)
{
	static const struct {
		const char *text;
		int64_t after, before;
	} keys[] = { { "grew", 1, 0 }, { "as before", 1, 1 }, { "shrank", 0, 1 } };
	put_key(b, x, NULL, "as wide as the larger of both:");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct buf colour = { 0 };
		put_change_colour(&colour, keys[i].after, keys[i].before);
		put_key(b, x, buf_str(&colour), keys[i].text);
		buf_free(&colour);
	}
}

struct library {
	const char *name;
	int64_t value;
};

static int compare_libraries(const void *a, const void *b)
{
	const struct library *x = a, *y = b;
	return x->value != y->value ? (x->value < y->value ? 1 : -1) : strcmp(x->name, y->name);
}

/* The libraries with the largest area. */
static void put_library_keys(struct buf *b, const struct flame *f, double *x)
{
	const struct names *files = &f->fold.files;
	struct library *all = calloc(files->spans_cnt + 1, sizeof(*all));
	for (uint32_t i = 0; all && i < files->spans_cnt; i++)
		all[i].name = names_at(files, i);
	for (size_t i = 0; all && i < f->boxes_cnt; i++) {
		const struct box *box = &f->boxes[i];
		uint32_t file = box->depth ? f->fold.modules[f->fold.order[box->name]] : 0;
		if (box->depth)
			all[file].value = value_add(all[file].value, box->value);
	}
	if (all)
		qsort(all, files->spans_cnt, sizeof(*all), compare_libraries);
	b->failed |= !all;
	put_key(b, x, NULL, "coloured by library:");
	for (size_t i = 0; all && i < files->spans_cnt && i < LEGEND && all[i].value; i++) {
		struct buf colour = { 0 };
		put_library_colour(&colour, all[i].name);
		put_key(b, x, buf_str(&colour), *all[i].name ? all[i].name : "in no known file");
		buf_free(&colour);
	}
	if (all && files->spans_cnt > LEGEND && all[LEGEND].value)
		put_key(b, x, NULL, "and others");
	free(all);
}

static void put_legend(struct buf *b, const struct flame *f)
{
	double x = PAD;
	buf_adds(b, "<g id=\"legend\">\n");
	if (f->in->options->before)
		put_change_keys(b, &x);
	else
		put_library_keys(b, f, &x);
	put_key(b, &x, "#7b2ff2", "found by the search");
	buf_adds(b, "</g>\n");
}

static void put_head(struct buf *b, const struct flame *f)
{
	const char *title = f->in->options->title ? f->in->options->title : value_types[f->value].title;
	buf_addf(b,
		 "<g id=\"head\"><rect class=\"paper wide\" id=\"back\" fill=\"#fff\" width=\"%d\" "
		 "height=\"%d\"/>\n",
		 WIDTH, HEAD - 4);
	buf_addf(b, "<text class=\"title\" x=\"%d\" y=\"31\" font-size=\"17\">", PAD);
	put_xml_text(b, title);
	buf_addf(b, "</text>\n<text class=\"note\" x=\"%d\" y=\"55\" font-size=\"12\">%s: ", PAD, value_types[f->value].name);
	value_text(b, f->value, f->sum.after);
	buf_adds(b, unit_text(f));
	if (f->in->options->before) {
		buf_adds(b, ", before ");
		value_text(b, f->value, f->sum.before);
		buf_adds(b, unit_text(f));
	}
	put_estimated(b, f);
	if ((f->value == VALUE_INUSE_SPACE || f->value == VALUE_INUSE_OBJECTS) && format_upper_bound(f->in))
		buf_adds(b, " (an upper bound)");
	buf_addf(b,
		 "</text>\n<text id=\"details\" x=\"%d\" y=\"79\" font-size=\"12\">"
		 "Click or Enter zooms into a frame, Escape goes back.</text>\n"
		 "<text id=\"matched\" x=\"%d\" y=\"79\" font-size=\"12\"></text>\n",
		 PAD, WIDTH - PAD);
	put_legend(b, f);
	buf_addf(b, "<line class=\"rule\" x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/></g>\n", WIDTH, HEAD - 6, HEAD - 6);
}

static void put_start(struct buf *b, const struct flame *f)
{
	struct buf notes = { 0 };
	uint64_t height = HEAD + (f->deepest + 1ull) * ROW + PAD;
	format_notes(f->in, &notes);
	format_errors(f->in, &notes);
	buf_addf(b,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"alys-graph\" width=\"%d\" "
		 "height=\"%" PRIu64 "\" viewBox=\"0 0 %d %" PRIu64 "\" font-family=\"monospace\" font-size=\"12\">\n<desc>",
		 WIDTH, height, WIDTH, height);
	put_xml(b, buf_str(&notes), notes.len);
	b->failed |= notes.failed;
	buf_free(&notes);
	buf_adds(b, "</desc>\n<style><![CDATA[\n");
	buf_adds(b, flamegraph_css);
	buf_addf(b,
		 "]]></style>\n<rect class=\"paper wide\" fill=\"#fff\" width=\"%d\" "
		 "height=\"%" PRIu64 "\"/>\n<g id=\"frames\">\n",
		 WIDTH, height);
}

static int write_page(const struct flame *f, struct sink_out *out, struct err *err)
{
	struct buf b = { 0 };
	int rc = 0;
	put_start(&b, f);
	for (size_t i = 0; !rc && i < f->boxes_cnt; i++) {
		put_box(&b, f, &f->boxes[i]);
		if (b.len >= FLUSH_SZ)
			rc = format_flush(out, &b, err);
	}
	buf_adds(&b, "</g>\n");
	/* Written after the frames, to be drawn above them when scrolled. */
	put_head(&b, f);
	buf_adds(&b, "<script><![CDATA[\n");
	buf_adds(&b, flamegraph_js);
	buf_adds(&b, "]]></script>\n</svg>\n");
	if (!rc)
		rc = format_flush(out, &b, err);
	buf_free(&b);
	return rc;
}

static int flamegraph_render(const struct sink_input *in, struct sink_out *out, struct err *err)
{
	struct flame f = { .in = in, .fold.placed = true };
	int rc = value_choose(in->options, VALUE_ALLOC_SPACE, &f.value, err);
	if (!rc && fold_fill(&f.fold, in, f.value))
		rc = err_set(err, ENOMEM, "out of memory for the stacks");
	if (!rc) {
		fold_merge(&f.fold);
		for (size_t i = 0; i < f.fold.stacks_cnt; i++)
			advance(&f.sum, &f.fold.stacks[i]);
		f.total = f.sum.wide ? f.sum.wide : 1;
		rc = lay_boxes(&f) ? err_set(err, ENOMEM, "out of memory for the frames") : 0;
	}
	if (!rc)
		rc = write_page(&f, out, err);
	fold_free(&f.fold);
	free(f.boxes);
	free(f.open);
	return rc;
}

const struct sink_ops sink_flamegraph = {
	.name = "flamegraph",
	.ext = ".svg",
	.mime = "image/svg+xml",
	.render = flamegraph_render,
};
