// SPDX-License-Identifier: Apache-2.0
// The page: holds the current choice (metric, unit, interval, search, shape of the tree), which all parts show.
import { decode } from "./decode.js";
import { Flame } from "./flame.js";
import { METRICS, coarseness, heapSeries, measure, pathSlices, variances } from "./measure.js";
import { Summary } from "./summary.js";
import { Timeline } from "./timeline.js";
import { buildTree, sumTree } from "./tree.js";
import { Views } from "./views.js";
import { amount, bytes, count, make, percent, plusMinus, seconds, spread } from "./text.js";

const id = (name) => document.getElementById(name);
const UNITS = [{ id: "sz", title: "Bytes" }, { id: "cnt", title: "Blocks" }];

// All that was allocated is heaps of Erlang processes, of which what is in use is not known.
const allHeapfuls = (about) => about.heapfuls > 0 && !about.other_allocations;

class Page {
  constructor(about, data) {
    Object.assign(this, { about, data });
    const heap = heapSeries(data);
    this.series = pathSlices(heap, about.slice_ns / about.heap_slice_ns);
    this.choice = { metric: about.unseen_frees || allHeapfuls(about) ? "alloc" : "live", unit: "sz", interval: null, matches: null, invert: false, merge: false, tab: "functions" };
    // Temporary allocations are those freed before the thread's next one: unknown with sampling.
    this.metrics = METRICS.filter((metric) => metric.id !== "temporary" || !about.sampled);
    this.coarse = coarseness(data);
    this.trees = new Map();
    this.views = new Views(data, this.series, about, (name) => this.searchFor(name));
    this.flame = new Flame(id("flame"), id("flame-details"), id("tip"), (n) => { id("reset").disabled = !n; this.matched(); });
    this.timeline = new Timeline(id("timeline"), id("moment"), id("tip"), heap, about, this.series.length, (interval) => this.change({ interval }));
    this.summary = new Summary(id("tiles"), data, heap, this.series, about, (s) => this.timeline.clock(s));
    id("key-gc").hidden = !about.collections?.length;
  }

  start() {
    this.heading();
    this.radios(id("metrics"), this.metrics, "metric");
    this.radios(id("units"), UNITS, "unit");
    this.tabs();
    this.listen();
    id("main").hidden = false;
    this.theme("");
    this.change({ invert: false });
  }

  heading() {
    const { about, data } = this;
    const meta = new Map(about.meta);
    const start = Number(meta.get("start_real_ns")) / 1e6;
    const name = about.title.split("/").pop();
    document.title = `${name}: heap report`;
    id("title").textContent = name;
    id("subtitle").textContent = [
      about.procs.length === 1 ? `process ${about.procs[0].pid}` : `${about.procs.length} processes`,
      start > 0 && new Date(start).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC"),
      about.partial ? this.timeline.words() : `${seconds(about.length_ns / 1e9)} recorded`,
      about.sampled ? `estimated from samples, one per ${bytes(about.interval)} on average` : "every call recorded",
      about.below ? `none sampled: below ${bytes(about.below)} with 95 % confidence` : "",
    ].filter(Boolean).join(" · ");
    if (about.partial) this.notice(`Only ${this.timeline.words()} is shown: blocks allocated before are not.`);
    if (about.min_size) this.notice(`Allocations of less than ${bytes(about.min_size)} were not recorded: what is temporary is an upper bound.`);
    const carried = data.sums.carriedCnt.reduce((a, b) => a + b, 0);
    if (carried) this.notice(`${count(carried)} block${Math.round(carried) === 1 ? " was" : "s were"} in use when the recording began: not allocated in it.`);
    if (about.lost) this.notice(`${count(about.lost)} events were lost: see “What was recorded”.`);
    if (about.lost_frees) this.notice(`In use is an upper bound: ${count(about.lost_frees)} frees were lost.`);
    if (about.bounded && !about.unseen_frees) this.notice("In use is an upper bound: not all that the garbage collector freed was seen.");
    if (about.heapfuls) this.notice(`Heaps of Erlang processes: what each allocated counts where it had filled its heap, or ended: ${count(about.heapfuls)} samples. What is in use there is not known.`);
    if (about.allocations_only) this.notice("Frees were not recorded: in use is what garbage collectors have, and nothing else.");
    else if (about.unseen_frees) this.notice("In use is an upper bound: what the garbage collector freed was not recorded.");
  }

  notice(text) {
    id("notices").append(make("p", "notice", text));
  }

  // The standard error of estimated bytes over the whole recording.
  error(metric) {
    const of = this.about.errors[metric === "kept" ? "live" : metric];
    return this.about.sampled && of !== undefined ? plusMinus(of) : "";
  }

  // The standard error of the current choice's sum.
  errorOfSum() {
    const { metric, unit, interval, weights } = this.choice;
    if (unit !== "sz") return "";
    return interval ? spread(variances(this.data, weights).reduce((a, b) => a + b, 0), this.choice.sum) : this.error(metric);
  }

  radios(box, options, key) {
    options.forEach((option, i) => {
      const button = make("button", "", option.title);
      button.type = "button";
      button.dataset.id = option.id;
      button.setAttribute("role", "radio");
      if (option.help) button.title = option.help;
      button.addEventListener("click", () => this.change({ [key]: option.id }));
      button.addEventListener("keydown", (e) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
        if (!step) return;
        e.preventDefault();
        const next = options[(i + step + options.length) % options.length];
        this.change({ [key]: next.id });
        box.querySelector(`[data-id="${next.id}"]`).focus();
      });
      box.append(button);
    });
  }

  tabs() {
    const list = this.views.list();
    list.forEach(({ id: tab, title }, i) => {
      const button = make("button", "", title);
      button.type = "button";
      button.id = `tab-${tab}`;
      button.setAttribute("role", "tab");
      button.setAttribute("aria-controls", "table");
      button.addEventListener("click", () => this.change({ tab }));
      button.addEventListener("keydown", (e) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
        if (!step) return;
        const next = list[(i + step + list.length) % list.length].id;
        this.change({ tab: next });
        id(`tab-${next}`).focus();
      });
      id("tabs").append(button);
    });
  }

  listen() {
    id("search").addEventListener("input", () => this.search());
    id("invert").addEventListener("click", () => this.change({ invert: !this.choice.invert }));
    id("merge").addEventListener("click", () => this.change({ merge: !this.choice.merge }));
    id("reset").addEventListener("click", () => this.flame.zoomTo(0));
    id("whole").addEventListener("click", () => this.timeline.choose(null));
    id("theme").addEventListener("change", (e) => this.theme(e.target.value));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.flame.theme());
    document.addEventListener("keydown", (e) => this.key(e));
  }

  theme(name) {
    document.documentElement.dataset.theme = name;
    if (this.flame.data) this.flame.theme();
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (event.key === "Escape") return this.clear();
    if (event.target.matches("input, select")) return;
    const acts = {
      "/": () => id("search").select(),
      b: () => this.change({ unit: this.choice.unit === "sz" ? "cnt" : "sz" }),
      i: () => this.change({ invert: !this.choice.invert }),
      r: () => this.change({ merge: !this.choice.merge }),
      0: () => this.flame.zoomTo(0),
    };
    this.metrics.forEach((metric, i) => { acts[i + 1] = () => this.change({ metric: metric.id }); });
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  clear() {
    if (id("search").value) {
      id("search").value = "";
      this.search();
    }
  }

  searchFor(name) {
    const exact = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    id("search").value = `^${exact}$`;
    this.search();
    id("toolbar").scrollIntoView({ block: "nearest" });
  }

  search() {
    const text = id("search").value;
    let pattern = null;
    try {
      pattern = text ? new RegExp(text, "i") : null;
      id("search").setCustomValidity("");
    } catch {
      id("search").setCustomValidity("not a regular expression");
    }
    const matches = pattern && Uint8Array.from(this.data.functions, (name) => pattern.test(name));
    if (id("search").validity.valid) this.change({ matches });
    else id("matched").textContent = "not a regular expression";
  }

  // Redraws once per animation frame, however many changes there are (dragging the brush).
  change(by) {
    Object.assign(this.choice, by);
    this.due ??= requestAnimationFrame(() => {
      this.due = undefined;
      this.show();
    });
  }

  tree() {
    const { invert, merge } = this.choice;
    const key = `${invert} ${merge}`;
    if (!this.trees.has(key)) this.trees.set(key, buildTree(this.data, { invert, merge }));
    return this.trees.get(key);
  }

  show() {
    const { choice } = this;
    choice.weights = measure(this.data, this.series, choice.metric, choice.unit, choice.interval);
    choice.sum = choice.weights.reduce((a, b) => a + b, 0);
    const tree = this.tree();
    if (this.flame.tree !== tree) {
      this.flame.setTree(this.data, tree);
      this.flame.theme();
      id("reset").disabled = true;
    }
    this.flame.matches = choice.matches;
    this.flame.setValues(sumTree(tree, choice.weights), choice.unit);
    this.state();
    this.matched();
    this.showSummary();
    this.showTable();
    document.documentElement.dataset.shown = String(Number(document.documentElement.dataset.shown || 0) + 1);
  }

  showSummary() {
    if (this.summed === this.choice.interval) return;
    this.summed = this.choice.interval;
    this.summary.show(this.summed);
  }

  // Not redrawn if only the tree's shape changed, so that open rows stay open.
  showTable() {
    const { metric, unit, interval, matches, tab } = this.choice;
    const now = [metric, unit, interval, matches, tab];
    if (this.tabled?.every((value, i) => value === now[i])) return;
    this.tabled = now;
    this.views.show(tab, id("table"), this.choice);
  }

  state() {
    const { choice } = this;
    for (const [box, now] of [["metrics", choice.metric], ["units", choice.unit]]) {
      for (const button of id(box).children) {
        button.setAttribute("aria-checked", String(button.dataset.id === now));
        button.tabIndex = button.dataset.id === now ? 0 : -1;
      }
    }
    for (const tab of id("tabs").children) {
      tab.setAttribute("aria-selected", String(tab.id === `tab-${choice.tab}`));
      tab.tabIndex = tab.id === `tab-${choice.tab}` ? 0 : -1;
    }
    id("table").setAttribute("aria-labelledby", `tab-${choice.tab}`);
    id("invert").setAttribute("aria-pressed", String(choice.invert));
    id("merge").setAttribute("aria-pressed", String(choice.merge));
    id("interval").textContent = this.timeline.words() + (choice.interval ? this.blur() : "");
    id("whole").hidden = !choice.interval;
    const { title, help } = METRICS.find((m) => m.id === choice.metric);
    id("flame-sum").textContent = `${title}: ${amount(choice.sum, choice.unit)}${choice.unit === "cnt" ? " blocks" : ""}${this.errorOfSum()}. ${help}.`;
  }

  // The note on the limited time resolution of intervals.
  blur() {
    const { part, widest } = this.coarse;
    if (widest < 2) return "";
    return `; of stacks with little (${percent(part, 1)} of all bytes) it takes its share of steps of up to ${seconds(widest * this.about.slice_ns / 1e9)}`;
  }

  // The sum of matching paths; each is counted once, however many of its frames match.
  matched() {
    const { matches, weights, sum } = this.choice;
    if (!matches) { id("matched").textContent = ""; return; }
    let found = 0;
    weights.forEach((w, p) => { if (w && this.views.pathWanted(p)) found += w; });
    const functions = matches.reduce((a, b) => a + b, 0);
    id("matched").textContent = `${percent(found, sum)} in ${count(functions)} function${functions === 1 ? "" : "s"}`;
  }
}

async function open() {
  const about = JSON.parse(id("about").textContent);
  const data = await decode(id("data").textContent);
  id("data").remove();
  new Page(about, data).start();
}

open().catch((error) => {
  id("subtitle").textContent = `This page could not be read: ${error.message}. It needs Chrome 103, Firefox 113, Safari 16.4 or newer.`;
});
