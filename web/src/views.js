// SPDX-License-Identifier: Apache-2.0
// The tables: columns, and rows for the current choice.
import { growthScore } from "rules.mjs";
import { growth, lives, measure, medianAge, pathPeak, pathSeries, variances } from "./measure.js";
import { identifyFunctions } from "./identity.js";
import { amount, bytes, count, make, percent, plusMinus, seconds, spread } from "./text.js";
import { Table } from "./table.js";

function share(value, whole, unit, variance) {
  const cell = make("span", "share");
  const bar = make("span", "share-bar");
  bar.style.inlineSize = `${whole ? Math.max(0, Math.min(100, 100 * value / whole)) : 0}%`;
  cell.append(bar, make("span", "", amount(value, unit)));
  if (unit === "sz" && variance > 0) cell.append(make("span", "soft", spread(variance, value)));
  return cell;
}

function spark(values) {
  const canvas = make("canvas", "spark");
  const [width, height] = [120, 22];
  canvas.width = width * 2;
  canvas.height = height * 2;
  const g = canvas.getContext("2d");
  g.scale(2, 2);
  const most = Math.max(1, ...values);
  g.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--live");
  values.forEach((v, i) => {
    const h = height * v / most;
    g.fillRect(i * width / values.length, height - h, Math.ceil(width / values.length), h);
  });
  canvas.setAttribute("role", "img");
  canvas.title = `in use over time, from 0 to ${bytes(most)}`;
  canvas.setAttribute("aria-label", `in use over time, at most ${bytes(most)}`);
  return canvas;
}

// Omits readings of the monotonic clock; the start is shown as a date.
function readable([key, value]) {
  if (key === "start_real_ns") return [["started", new Date(Number(value) / 1e6).toISOString()]];
  return key.endsWith("_ns") ? [] : [[key, value]];
}

const suspicion = (row) => growthScore(row.gained, row.steady);

export class Views {
  constructor(data, series, about, onFunction) {
    Object.assign(this, { data, series, about, onFunction });
    this.functions_ = identifyFunctions(data);
  }

  list() {
    return [
      { id: "functions", title: "Functions" },
      { id: "types", title: "Types" },
      { id: "stacks", title: "Stacks" },
      { id: "leaks", title: "Leaks" },
      { id: "recording", title: "What was recorded" },
    ];
  }

  show(id, box, choice) {
    this.choice = choice;
    if (id === "recording") return this.recording(box);
    const tables = { functions: () => this.functions(box), types: () => this.types_(box), stacks: () => this.stacks(box), leaks: () => this.leaks(box) };
    if (this.table?.id !== id) {
      this.table = tables[id]();
      this.table.id = id;
    }
    // Columns read the current choice themselves, so only the rows are replaced: order and length stay.
    this.table.setRows(this[`${id}Rows`]());
  }

  // True for functions that match the search, or without a search.
  wanted(fn) {
    return !this.choice.matches || this.choice.matches[fn];
  }

  pathWanted(p) {
    if (!this.choice.matches) return true;
    const { parent, label, leaf } = this.data.paths;
    for (let n = leaf[p]; n > 0; n = parent[n]) if (this.choice.matches[this.data.labels[label[n]].fn]) return true;
    return false;
  }

  link(fn) {
    const name = fn < 0 ? "[no stack]" : this.data.functions[fn];
    const button = make("button", "link", name);
    button.type = "button";
    button.title = "Search for it in the flame graph";
    button.addEventListener("click", () => this.onFunction(name));
    return button;
  }

  opener(text) {
    const button = make("button", "opens", text);
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    return button;
  }

  valueColumns(key, title) {
    return {
      title, number: true, of: (row) => row[key],
      cell: (row) => share(row[key], this.choice.sum, this.choice.unit, row[`${key}Var`]),
    };
  }

  shareColumn(key) {
    return { title: "Share", number: true, of: (row) => row[key], text: (row) => percent(row[key], this.choice.sum) };
  }

  // By function, with its callees; a function that calls itself counts once.
  inclusive(weights) {
    const { parent, label, leaf } = this.data.paths;
    const { of, fn } = this.functions_;
    const total = new Float64Array(fn.length);
    const seen = new Int32Array(fn.length).fill(-1);
    weights.forEach((weight, p) => {
      for (let n = weight ? leaf[p] : 0; n > 0; n = parent[n]) {
        const f = of[label[n]];
        if (seen[f] !== p) total[f] += weight;
        seen[f] = p;
      }
    });
    return total;
  }

  // Calls of the functions that --calls chose, counted over the whole recording.
  callColumns() {
    const { calls, calls_note: note, partial } = this.about;
    if (!calls || partial) return [];
    const of = new Map(calls);
    const allocated = this.inclusive(measure(this.data, this.series, "alloc", "sz", null));
    const made = (row) => of.get(this.data.functions[row.fn]);
    const per = (row) => (made(row) ? allocated[row.key] / made(row) : 0);
    return [
      { title: "Calls", number: true, help: `Entries of the functions that --calls chose, in the whole recording. ${note}`.trim(), of: (row) => made(row) ?? 0, text: (row) => (made(row) === undefined ? "-" : count(made(row))) },
      { title: "Per call", number: true, help: "Bytes that a call and its callees allocated, in the whole recording", of: per, text: (row) => (made(row) ? bytes(per(row)) : "-") },
    ];
  }

  functions(box) {
    return new Table(box, [
      this.valueColumns("own", "Own"),
      this.shareColumn("own"),
      this.valueColumns("total", "With callees"),
      ...this.callColumns(),
      { title: "Function", of: (row) => this.data.functions[row.fn], cell: (row) => this.placed(row) },
    ], { sort: 0, then: 2, caption: "By function", all: () => this.choice.matches });
  }

  placed({ key, fn }) {
    const cell = make("span");
    cell.append(this.link(fn));
    if (this.functions_.place[key]) cell.append(make("span", "soft place", ` ${this.functions_.place[key]}`));
    return cell;
  }

  functionsRows() {
    const { weights } = this.choice;
    const { parent, label, leaf } = this.data.paths;
    const { of, fn } = this.functions_;
    const [own, total] = [new Float64Array(fn.length), new Float64Array(fn.length)];
    const [ownVar, totalVar, vars] = [own.slice(), own.slice(), variances(this.data, weights)];
    const seen = new Int32Array(fn.length).fill(-1);
    for (let p = 0; p < weights.length; p++) {
      if (!weights[p]) continue;
      if (leaf[p]) {
        own[of[label[leaf[p]]]] += weights[p];
        ownVar[of[label[leaf[p]]]] += vars[p];
      }
      for (let n = leaf[p]; n > 0; n = parent[n]) {
        const f = of[label[n]];
        if (seen[f] === p) continue;
        total[f] += weights[p];
        totalVar[f] += vars[p];
        seen[f] = p;
      }
    }
    const rows = [];
    total.forEach((value, f) => value > 0 && this.wanted(fn[f]) && rows.push({ key: f, fn: fn[f], own: own[f], ownVar: ownVar[f], total: value, totalVar: totalVar[f] }));
    return rows;
  }

  types_(box) {
    return new Table(box, [
      this.valueColumns("own", "Size"),
      this.shareColumn("own"),
      { title: "Blocks allocated", number: true, of: (row) => row.blocks, text: (row) => count(row.blocks) },
      { title: "Stacks", number: true, of: (row) => row.stacks, text: (row) => count(row.stacks) },
      { title: "Type", of: (row) => this.data.types[row.key], cell: (row) => make("span", row.key ? "mono" : "soft", this.data.types[row.key]) },
    ], { sort: 0, caption: "By type" });
  }

  typesRows() {
    const rows = this.data.types.map((_, key) => ({ key, own: 0, ownVar: 0, blocks: 0, stacks: 0 }));
    const vars = variances(this.data, this.choice.weights);
    const blocks = measure(this.data, this.series, "alloc", "cnt", this.choice.interval);
    this.choice.weights.forEach((value, p) => {
      const row = rows[this.data.paths.type[p]];
      if (!value || !this.pathWanted(p)) return;
      row.own += value;
      row.ownVar += vars[p];
      row.blocks += blocks[p];
      row.stacks++;
    });
    return rows.filter((row) => row.own > 0);
  }

  stacks(box) {
    const mean = (row) => row.allocated / row.blocks || 0;
    const life = (row) => row.lived / (row.blocks + row.carried) / 1e6 || 0;
    const peak = (row) => this.ownPeak(row);
    return new Table(box, [
      this.valueColumns("own", "Size"),
      this.shareColumn("own"),
      { title: "Blocks", number: true, help: "Allocated in the interval", of: (row) => row.blocks, text: (row) => count(row.blocks) },
      { title: "Mean size", number: true, help: "Of the blocks allocated in the interval", of: mean, text: (row) => bytes(mean(row)) },
      { title: "Mean life", number: true, help: "Of the blocks allocated in the interval: from allocation to free or to the end of the recording", of: life, text: (row) => seconds(life(row)) },
      { title: "Own peak", number: true, help: "The most bytes of this stack in use at one moment of the interval", of: peak, text: (row) => bytes(peak(row)) },
      { title: "Stack", of: (row) => this.pathTitle(row.key), cell: (row) => this.opener(this.pathTitle(row.key)) },
    ], { sort: 0, caption: "By stack", open: (row) => this.frames(row.key) });
  }

  pathTitle(p) {
    const { parent, label, leaf } = this.data.paths;
    const names = [];
    for (let n = leaf[p]; n > 0 && names.length < 3; n = parent[n]) {
      const name = this.data.functions[this.data.labels[label[n]].fn];
      if (name !== names[names.length - 1]) names.push(name);
    }
    return names.join(" ← ") || "[no stack]";
  }

  frames(p) {
    const { parent, label, leaf } = this.data.paths;
    const list = make("ol", "frames");
    for (let n = leaf[p]; n > 0; n = parent[n]) {
      const { fn, file, line, module } = this.data.labels[label[n]];
      const item = make("li");
      item.append(this.link(fn), make("span", "soft", file ? ` ${file}:${line}` : ` ${module}`));
      list.append(item);
    }
    return list;
  }

  stacksRows() {
    const { weights, interval } = this.choice;
    const { data, series } = this;
    const rows = [];
    const vars = variances(data, weights);
    const [blocks, allocated] = ["cnt", "sz"].map((unit) => measure(data, series, "alloc", unit, interval));
    const lived = lives(data, series, interval);
    weights.forEach((own, key) => {
      if (own > 0 && this.pathWanted(key))
        rows.push({ key, own, ownVar: vars[key], blocks: blocks[key], allocated: allocated[key], lived: lived[key], carried: interval ? 0 : data.sums.carriedCnt[key] });
    });
    return rows;
  }

  ownPeak(row) {
    const { interval } = this.choice;
    row.peak ??= interval ? pathPeak(this.data, row.key, interval.from, interval.to, this.series.length) : this.data.sums.maxSz[row.key];
    return row.peak;
  }

  leaks(box) {
    return new Table(box, [
      { title: "Steady growth", number: true, help: "Bytes more in use at the end of the interval than at its begin, and how steadily they came: sorted by the product, as what grows steadily is suspect before what is merely large. As `report --show leaked` measures it.", of: suspicion, text: (row) => `+${bytes(row.gained)}${plusMinus(Math.sqrt(row.gainedVar))}, ${Math.round(100 * row.steady)} %` },
      { title: "Never freed", number: true, of: (row) => row.sz, cell: (row) => share(row.sz, this.leakSum, "sz", row.szVar) },
      { title: "Blocks", number: true, of: (row) => row.cnt, text: (row) => count(row.cnt) },
      { title: "Of its allocations", number: true, of: (row) => row.cnt / row.made || 0, text: (row) => percent(row.cnt, row.made) },
      { title: "Median age", number: true, help: "At the end of the recording, half of these bytes are older", of: (row) => row.age, text: (row) => seconds(row.age * this.about.slice_ns / 1e9) },
      { title: "In use over time", number: true, of: (row) => row.sz, cell: (row) => spark(this.seriesOf(row.key)) },
      { title: "Stack", of: (row) => this.pathTitle(row.key), cell: (row) => this.opener(this.pathTitle(row.key)) },
    ], { sort: 0, then: 1, caption: "What grew and was never freed, by stack", open: (row) => this.frames(row.key), remark: () => this.growthRemark() });
  }

  seriesOf(p) {
    const { from, to } = this.choice.interval ?? { from: 0, to: this.series.length - 1 };
    return pathSeries(this.data, p, this.series.length).slice(from, to + 1);
  }

  growthRemark() {
    const { cnt, sz, grew } = this.still;
    const rest = `${count(cnt)} stack${cnt === 1 ? "" : "s"} with ${bytes(sz)} never freed did not grow`;
    if (grew) return cnt ? `${rest}, and ${cnt === 1 ? "is" : "are"} not listed: “Never freed” under “Stacks” has all.` : "";
    return cnt ? `Nothing grew: ${rest}, so none is a suspect.` : "";
  }

  leaksRows() {
    const { interval } = this.choice;
    const sz = measure(this.data, this.series, "kept", "sz", interval);
    const cnt = measure(this.data, this.series, "kept", "cnt", interval);
    const made = measure(this.data, this.series, "alloc", "cnt", interval);
    const { from, to } = interval ?? { from: 0, to: this.series.length - 1 };
    const vars = variances(this.data, sz);
    this.leakSum = sz.reduce((a, b) => a + b, 0);
    this.still = { cnt: 0, sz: 0, grew: false };
    const rows = [];
    sz.forEach((value, key) => {
      if (!(value > 0) || !this.pathWanted(key)) return;
      const row = { key, sz: value, szVar: vars[key], cnt: cnt[key], made: made[key] + (from ? 0 : this.data.sums.carriedCnt[key]), ...growth(this.data, key, interval, this.series.length, this.about.moments) };
      if (suspicion(row) > 0) return rows.push({ ...row, age: medianAge(this.data, key, from, to, this.series.length - 1) });
      this.still.cnt++;
      this.still.sz += value;
    });
    this.still.grew = rows.length > 0;
    return rows;
  }

  recording(box) {
    this.table = null;
    const { about } = this;
    const facts = [["program", about.title], ...about.procs.map((p) => [`process ${p.pid}`, `${p.comm} ${p.exe}${p.exec ? `, after exec ${p.exec}` : ""}`]), ...about.meta.flatMap(readable)];
    const heads = ["", "what", "number", "meaning"];
    const counts = about.counts.map(([kind, name, value, help]) => [kind, name, count(value), help]);
    const [some, none] = [counts.filter((row) => row[2] !== "0"), counts.filter((row) => row[2] === "0")];
    box.replaceChildren(make("p", "law", about.ledger));
    if (this.choice.interval) box.append(make("p", "remark", "These are of the whole recording, whatever the interval: what was counted has no time."));
    box.append(this.plain("The account of every call", heads, some, 2));
    if (none.length) box.append(this.folded(`${count(none.length)} more that never happened`, this.plain("", heads, none, 2)));
    box.append(this.plain("The recording", ["", ""], facts, -1));
  }

  folded(title, content) {
    const box = make("details", "folded");
    box.append(make("summary", "", title), content);
    return box;
  }

  plain(title, heads, rows, number) {
    const section = make("section");
    const table = make("table", "plain");
    const head = make("tr");
    if (heads.some(Boolean)) heads.forEach((text, i) => head.append(make("th", i === number ? "number" : "", text)));
    const thead = make("thead");
    thead.append(head);
    const body = make("tbody");
    for (const cells of rows) {
      const row = make("tr", cells[number] === "0" ? "soft" : cells[0] === "lost" ? "lost" : "");
      cells.forEach((text, i) => row.append(make("td", i === number ? "number" : "", text)));
      body.append(row);
    }
    table.append(thead, body);
    const scroll = make("div", "scroll");
    scroll.append(table);
    if (title) section.append(make("h3", "", title));
    section.append(scroll);
    return section;
  }
}
