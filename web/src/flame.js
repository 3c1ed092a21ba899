// SPDX-License-Identifier: Apache-2.0
// The flame graph, root on top, on a canvas. Only frames wide enough to be visible are visited, so that its cost depends on
// the screen and not on the recording. Navigated by mouse or keyboard.
import { amount, percent } from "./text.js";

const ROW = 20;
const NARROWEST = 0.6;
const FONT = '12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

function hashOf(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h ^ (h >>> 15)) >>> 0;
}

export class Flame {
  constructor(canvas, details, tip, onZoom) {
    Object.assign(this, { canvas, details, tip, onZoom });
    this.zoom = 0;
    this.selected = -1;
    this.hover = -1;
    this.boxes = [];
    canvas.addEventListener("mousemove", (e) => this.point(e));
    canvas.addEventListener("mouseleave", () => this.leave());
    canvas.addEventListener("click", (e) => this.click(e));
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("blur", () => { this.selected = -1; this.paint(); });
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
  }

  // Similar hues for functions of one module. Resets the zoom, which refers to a node of the old tree.
  setTree(data, tree) {
    this.data = data;
    this.tree = tree;
    this.zoom = 0;
    this.selected = this.hover = -1;
    this.byNode = null;
    this.colors = new Array(data.functions.length);
    const module = new Map(data.labels.map((l) => [l.fn, l.module]));
    this.hues = data.functions.map((name, fn) => (hashOf(module.get(fn) ?? "") + hashOf(name) % 180) % 360);
  }

  setValues(total, unit) {
    Object.assign(this, { total, unit });
    this.draw();
  }

  // matches: by function, or null.
  setSearch(matches) {
    this.matches = matches;
    this.draw();
  }

  theme() {
    const style = getComputedStyle(this.canvas);
    this.dark = style.getPropertyValue("--dark").trim() === "1";
    this.ink = style.getPropertyValue("--ink");
    this.ring = style.getPropertyValue("--ring");
    this.soft = style.getPropertyValue("--soft");
    this.rest = style.getPropertyValue("--rest");
    this.colors = new Array(this.data.functions.length);
    this.paint();
  }

  color(fn) {
    if (!this.colors[fn]) {
      const vary = hashOf(this.data.functions[fn]) % 9;
      this.colors[fn] = this.dark ? `hsl(${this.hues[fn]} 38% ${30 + vary}%)` : `hsl(${this.hues[fn]} 62% ${72 + vary}%)`;
    }
    return this.colors[fn];
  }

  // The zoomed frame and its callers above it have the full width.
  draw() {
    if (!this.total) return;
    const { tree, total } = this;
    this.width = Math.max(200, this.canvas.parentElement.clientWidth);
    this.boxes = [];
    const above = [];
    for (let n = this.zoom; n > 0; n = tree.parent[n]) above.unshift(n);
    for (const n of [0, ...above]) this.boxes.push({ n, x: 0, w: this.width, y: tree.depth[n] });
    const scale = total[this.zoom] > 0 ? this.width / total[this.zoom] : 0;
    let deepest = tree.depth[this.zoom];
    const visit = (node, x) => {
      for (let n = tree.first[node]; n; n = tree.next[n]) {
        const w = total[n] * scale;
        if (w >= NARROWEST) {
          this.boxes.push({ n, x, w, y: tree.depth[n] });
          if (tree.depth[n] > deepest) deepest = tree.depth[n];
          visit(n, x);
        }
        x += w;
      }
    };
    if (scale) visit(this.zoom, 0);
    this.byNode = new Map(this.boxes.map((box) => [box.n, box]));
    this.height = (deepest + 1) * ROW + 1;
    this.paint();
  }

  paint() {
    if (!this.byNode) return;
    const ratio = window.devicePixelRatio || 1;
    const { canvas } = this;
    if (canvas.width !== Math.round(this.width * ratio) || canvas.height !== Math.round(this.height * ratio)) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
      canvas.style.height = `${this.height}px`;
    }
    const g = canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, this.width, this.height);
    g.font = FONT;
    g.textBaseline = "middle";
    this.em = g.measureText("m").width;
    for (const box of this.boxes) this.paintBox(g, box);
    this.paintRing(g, this.hover, this.ink, 1.5);
    this.paintRing(g, this.selected, this.ring, 3);
  }

  paintBox(g, { n, x, w, y }) {
    const fn = this.tree.fn[n];
    const hit = this.matches?.[fn];
    const outer = this.tree.depth[n] < this.tree.depth[this.zoom];
    g.globalAlpha = outer ? 0.55 : this.matches && !hit && n ? 0.35 : 1;
    g.fillStyle = !n ? this.rest : hit ? (this.dark ? "#b48bff" : "#6d28d9") : this.color(fn);
    g.fillRect(x, y * ROW, Math.max(0.5, w - (w > 3 ? 1 : 0)), ROW - 1);
    const room = Math.floor((w - 8) / this.em);
    if (room >= 2) {
      const name = this.name(n);
      g.globalAlpha = outer ? 0.8 : this.matches && !hit && n ? 0.6 : 1;
      g.fillStyle = !n ? this.ink : hit ? (this.dark ? "#17131f" : "#fff") : this.dark ? "#f2f4f8" : "#17181a";
      g.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, x + 4, y * ROW + ROW / 2);
    }
    g.globalAlpha = 1;
  }

  paintRing(g, n, color, width) {
    const box = this.byNode.get(n);
    if (!box) return;
    g.strokeStyle = color;
    g.lineWidth = width;
    g.strokeRect(box.x + width / 2, box.y * ROW + width / 2, Math.max(1, box.w - 1 - width), ROW - 1 - width);
  }

  name(n) {
    return n ? this.data.functions[this.tree.fn[n]] : "all";
  }

  describe(n) {
    const of = n ? `, ${percent(this.total[n], this.total[0])} of all` : "";
    const zoomed = this.zoom && this.tree.depth[n] > this.tree.depth[this.zoom] ? `, ${percent(this.total[n], this.total[this.zoom])} of what is zoomed to` : "";
    return `${amount(this.total[n], this.unit)}${this.unit === "cnt" ? " blocks" : ""}${of}${zoomed}`;
  }

  place(n) {
    const label = n ? this.data.labels[this.tree.label[n]] : null;
    return label ? [label.file && `${label.file}:${label.line}`, label.module].filter(Boolean).join(" · ") : "";
  }

  at(event) {
    const area = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - area.left, Math.floor((event.clientY - area.top) / ROW)];
    return this.boxes.find((b) => b.y === y && x >= b.x && x < b.x + b.w)?.n ?? -1;
  }

  point(event) {
    const n = this.at(event);
    if (n !== this.hover) {
      this.hover = n;
      this.canvas.style.cursor = n >= 0 ? "pointer" : "";
      this.paint();
    }
    if (n < 0) { this.tip.hidden = true; return; }
    this.tip.replaceChildren(...[this.name(n), this.describe(n), this.place(n)].filter(Boolean).map((line) => {
      const row = document.createElement("div");
      row.textContent = line;
      return row;
    }));
    this.tip.hidden = false;
    const { width, height } = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    this.tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
  }

  leave() {
    this.hover = -1;
    this.tip.hidden = true;
    this.paint();
  }

  click(event) {
    const n = this.at(event);
    if (n >= 0) this.zoomTo(n);
  }

  zoomTo(n) {
    this.zoom = n;
    this.tip.hidden = true;
    this.draw();
    this.say(n);
    this.onZoom(n);
  }

  say(n) {
    this.details.textContent = `${this.name(n)}: ${this.describe(n)}${this.place(n) ? ` · ${this.place(n)}` : ""}`;
  }

  select(n) {
    if (n === undefined || !this.byNode.has(n)) return;
    this.selected = n;
    this.say(n);
    this.paint();
    const box = this.canvas.parentElement;
    const top = this.byNode.get(n).y * ROW;
    if (top < box.scrollTop || top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
  }

  // The widest frame under this one, the caller above it, the neighbours beside it.
  neighbour(n, way) {
    const { tree } = this;
    const shown = [];
    const of = way === "down" ? n : tree.parent[n];
    for (let k = of < 0 ? 0 : tree.first[of]; k; k = tree.next[k]) if (this.byNode.has(k)) shown.push(k);
    if (way === "down") return shown.sort((a, b) => this.total[b] - this.total[a])[0];
    return shown[shown.indexOf(n) + (way === "left" ? -1 : 1)];
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const n = this.selected < 0 ? this.zoom : this.selected;
    const acts = {
      ArrowDown: () => this.select(this.selected < 0 ? n : this.neighbour(n, "down")),
      ArrowUp: () => n > 0 && this.select(this.tree.parent[n]),
      ArrowLeft: () => n > 0 && this.select(this.neighbour(n, "left")),
      ArrowRight: () => n > 0 && this.select(this.neighbour(n, "right")),
      Home: () => this.select(0),
      Enter: () => this.zoomTo(n),
      Backspace: () => this.zoom > 0 && this.zoomTo(this.tree.parent[this.zoom]),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }
}
