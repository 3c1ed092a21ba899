"use strict";
(function () {
	const graph = document.getElementById("alys-graph");
	const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
	const PAD = 10, LEGEND_Y = 92, LEAST_WIDTH = 280, TOOLS_WIDTH = 400, LEAST_FRAME = 0.1, EM = 7.25;
	const details = document.getElementById("details");
	const matched = document.getElementById("matched");
	const head = document.getElementById("head"), back = document.getElementById("back");
	const tall = Number(graph.getAttribute("height")), headHeight = Number(back.getAttribute("height"));
	const idle = details.textContent;
	const frames = Array.from(graph.querySelectorAll(".f"), read);
	let zoom = frames[0], pattern = "", width = 0;
	let narrow = false; /* the title and the tools have no room in one line */
	let input, clear, reset;

	/* The numbers are exact in the data attributes; x and width in the file are rounded. */
	function read(g, index) {
		const [start, value, depth] = g.getAttribute("data-f").split(" ").map(Number);
		const tip = g.querySelector("title").textContent;
		const cut = tip.indexOf("\n");
		g.setAttribute("tabindex", "0");
		g.setAttribute("role", "button");
		return { g, index, start, value, depth, name: tip.slice(0, cut), tip,
			rect: g.querySelector("rect"), text: g.querySelector("text"), hit: false };
	}

	/* Two columns for the wide scripts, one for all else: the font is monospaced. */
	function columns(c) {
		return c.codePointAt(0) >= 0x1100 ? 2 : 1;
	}

	function fit(name, room) {
		let left = Math.floor(room / EM), out = "";
		if (left < 3)
			return "";
		for (const c of name) {
			left -= columns(c);
			if (left < 1 && out.length + c.length < name.length)
				return out + "…";
			out += c;
		}
		return out;
	}

	function label(f, x, w) {
		const shown = fit(f.name, w - 6);
		if (!f.text) {
			if (!shown)
				return;
			f.text = document.createElementNS(SVG, "text");
			f.text.setAttribute("y", Number(f.rect.getAttribute("y")) + 13);
			f.g.appendChild(f.text);
		}
		f.text.setAttribute("x", x + 3);
		f.text.textContent = shown;
	}

	function place(f, scale) {
		const inside = f.depth >= zoom.depth && f.start >= zoom.start &&
			f.start + f.value <= zoom.start + zoom.value;
		const above = f.depth < zoom.depth && f.start <= zoom.start &&
			f.start + f.value >= zoom.start + zoom.value;
		const w = above ? width - 2 * PAD : f.value * scale;
		const shown = above || (inside && w >= LEAST_FRAME);
		f.g.style.display = shown ? "" : "none";
		f.g.classList.toggle("above", above);
		if (!shown)
			return;
		const x = above ? PAD : PAD + (f.start - zoom.start) * scale;
		f.rect.setAttribute("x", x);
		/* A gap between neighbours, but none where it would wash the colour out. */
		f.rect.setAttribute("width", w > 3 ? w - 0.6 : w);
		label(f, x, w);
	}

	/* The keys of the legend, in as many lines as they need below `top`; how much higher the head gets by that. */
	function layLegend(top) {
		let x = PAD, y = top;
		for (const key of head.querySelectorAll(".key")) {
			const w = Number(key.getAttribute("data-w"));
			if (x > PAD && x + w > width - PAD) {
				x = PAD;
				y += 18;
			}
			key.setAttribute("transform", "translate(" + x + "," + y + ")");
			x += w;
		}
		return y - LEGEND_Y;
	}

	/* Where there is no room for all, the tools are in a line of their own, and what the search found is in that of the sum. */
	function layHead() {
		narrow = head.querySelector(".title").getComputedTextLength() + TOOLS_WIDTH + 3 * PAD > width;
		const more = layLegend(narrow ? LEGEND_Y + 34 : LEGEND_Y);
		tools.setAttribute("x", narrow ? PAD : width - PAD - TOOLS_WIDTH);
		tools.setAttribute("y", narrow ? LEGEND_Y : 12);
		tools.setAttribute("width", narrow ? width - 2 * PAD : TOOLS_WIDTH);
		tools.firstChild.classList.toggle("left", narrow);
		matched.setAttribute("x", width - PAD);
		matched.setAttribute("y", narrow ? 55 : 79);
		back.setAttribute("height", headHeight + more);
		document.getElementById("frames").setAttribute("transform", "translate(0," + more + ")");
		for (const line of graph.querySelectorAll(".rule")) {
			line.setAttribute("x2", width);
			line.setAttribute("transform", "translate(0," + more + ")");
		}
		return more;
	}

	function layout() {
		const bar = tall > window.innerHeight ? 16 : 0;
		width = Math.max(LEAST_WIDTH, (window.innerWidth || 1200) - bar);
		const height = tall + layHead();
		graph.setAttribute("width", width);
		graph.setAttribute("height", height);
		graph.setAttribute("viewBox", "0 0 " + width + " " + height);
		for (const f of frames)
			place(f, (width - 2 * PAD) / zoom.value);
		for (const wide of graph.querySelectorAll(".wide"))
			wide.setAttribute("width", width);
		graph.querySelector(".paper").setAttribute("height", height);
		reset.disabled = zoom === frames[0];
		show(frameOf(document.activeElement));
	}

	function compile(text) {
		try {
			return new RegExp(text, "i");
		} catch (e) {
			return null;
		}
	}

	/* Frames stand in depth-first order, so nested matches lie within the end of the one before. */
	function search(text) {
		const regexp = text ? compile(text) : null;
		let sum = 0, end = -1, count = 0;
		pattern = text;
		for (const f of frames) {
			f.hit = Boolean(regexp) && f.index > 0 && regexp.test(f.name);
			f.g.classList.toggle("hit", f.hit);
			count += f.hit;
			if (f.hit && f.start >= end) {
				sum += f.value;
				end = f.start + f.value;
			}
		}
		input.classList.toggle("bad", Boolean(text) && !regexp);
		clear.disabled = !text;
		if (!text)
			matched.textContent = "";
		else if (!regexp)
			matched.textContent = "not a regular expression";
		else
			matched.textContent = "matched " + (100 * sum / frames[0].value).toFixed(2) + " % in " +
				count + (count === 1 ? " frame" : " frames");
	}

	function zoomTo(f) {
		zoom = f;
		layout();
		remember();
	}

	/* #s=PATTERN&z=NUMBER, so that a view can be passed on as an address. */
	function remember() {
		const parts = [];
		if (pattern)
			parts.push("s=" + encodeURIComponent(pattern));
		if (zoom.index)
			parts.push("z=" + zoom.index);
		try {
			history.replaceState(null, "", "#" + parts.join("&"));
		} catch (e) {
			/* Some browsers forbid it for local files; the view works without. */
		}
	}

	function recall() {
		const given = new URLSearchParams(location.hash.slice(1));
		zoom = frames[Number(given.get("z"))] || frames[0];
		input.value = given.get("s") || "";
		search(input.value);
		layout();
	}

	function element(name, attributes, parent) {
		const e = document.createElementNS(HTML, name);
		for (const key of Object.keys(attributes))
			e.setAttribute(key, attributes[key]);
		parent.appendChild(e);
		return e;
	}

	function makeTools() {
		const box = document.createElementNS(SVG, "foreignObject");
		box.setAttribute("y", 12);
		box.setAttribute("width", TOOLS_WIDTH);
		box.setAttribute("height", 32);
		head.appendChild(box);
		const bar = element("div", { class: "bar" }, box);
		reset = element("button", { class: "tool", type: "button", id: "reset" }, bar);
		reset.textContent = "Reset zoom";
		input = element("input", { class: "tool", type: "text", id: "search", size: "24",
			placeholder: "Search (Ctrl-F), regex", "aria-label": "Search frames by regular expression" }, bar);
		clear = element("button", { class: "tool", type: "button", "aria-label": "Clear the search" }, bar);
		clear.textContent = "×";
		reset.addEventListener("click", () => zoomTo(frames[0]));
		clear.addEventListener("click", clearSearch);
		input.addEventListener("input", () => {
			search(input.value);
			remember();
		});
		return box;
	}

	function clearSearch() {
		input.value = "";
		search("");
		remember();
		input.focus();
	}

	function frameOf(target) {
		const g = target && target.closest ? target.closest(".f") : null;
		return g ? frames.find((f) => f.g === g) : null;
	}

	function show(f) {
		details.textContent = fit(f ? f.tip.replaceAll("\n", "  ") : idle, width - 2 * PAD - (narrow ? 0 : 240));
	}

	function visible(f) {
		return f.g.style.display !== "none";
	}

	/* The frame that an arrow key leads to from f. */
	function neighbour(f, key) {
		const from = frames.slice(f.index + 1), before = frames.slice(0, f.index).reverse();
		if (key === "ArrowDown")
			return from.find((c) => c.depth === f.depth + 1 && c.start >= f.start &&
				c.start < f.start + f.value && visible(c));
		if (key === "ArrowUp")
			return before.find((p) => p.depth === f.depth - 1);
		if (key === "ArrowRight")
			return from.find((s) => s.depth === f.depth && visible(s));
		if (key === "ArrowLeft")
			return before.find((s) => s.depth === f.depth && visible(s));
		return null;
	}

	function escape() {
		if (pattern || input.value)
			clearSearch();
		else if (zoom.index)
			zoomTo(frames[0]);
		if (document.activeElement === input)
			input.blur();
	}

	function keydown(e) {
		const f = frameOf(document.activeElement);
		const next = f ? neighbour(f, e.key) : null;
		if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "f" || e.key === "/" && !typing()) {
			input.focus();
			input.select();
		} else if (e.key === "Escape") {
			escape();
		} else if (f && (e.key === "Enter" || e.key === " ")) {
			zoomTo(f);
		} else if (next) {
			next.g.focus();
		} else {
			return;
		}
		e.preventDefault();
	}

	function typing() {
		return document.activeElement === input;
	}

	/* The header stays in sight above a deep graph. */
	function follow() {
		head.setAttribute("transform", "translate(0," + (window.scrollY || 0) + ")");
	}

	const tools = makeTools();
	graph.addEventListener("click", (e) => {
		const f = frameOf(e.target);
		if (f)
			zoomTo(f);
	});
	graph.addEventListener("mouseover", (e) => show(frameOf(e.target)));
	graph.addEventListener("focusin", (e) => show(frameOf(e.target)));
	window.addEventListener("keydown", keydown);
	window.addEventListener("resize", layout);
	window.addEventListener("scroll", follow);
	window.addEventListener("hashchange", recall);
	recall();
})();
