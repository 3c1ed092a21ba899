// SPDX-License-Identifier: Apache-2.0
// Bytes in use as an area; bytes allocated and freed per slice as bars under it. The brush chooses an interval of whole
// slices of paths, which can be wider than the drawn slices.
import { axisBottom, axisLeft } from "d3-axis";
import { brushX } from "d3-brush";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { area, curveStepAfter } from "d3-shape";
import { Readout } from "./readout.js";
import { bytes, seconds } from "./text.js";

const HEIGHT = 182;
const SPLIT = 124; /* y between the area and the bars */
const MARGIN = { left: 76, right: 24, top: 20, bottom: 24 };

export class Timeline {
  constructor(box, readout, tip, series, about, slices, onInterval) {
    Object.assign(this, { box, series, slices, onInterval, peak: about.peak, collections: about.collections, partial: about.partial, start: about.from_ns / 1e9 });
    this.drawn = about.heap_slice_ns / 1e9;
    this.slice = about.slice_ns / 1e9;
    this.end = Math.max(about.length_ns / 1e9, this.drawn / 1e6);
    this.interval = null;
    this.svg = select(box).append("svg").attr("height", HEIGHT).attr("aria-hidden", "true");
    this.readout = new Readout(this, readout, tip);
    box.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  draw() {
    const width = Math.max(300, this.box.clientWidth);
    const { series, svg } = this;
    svg.attr("width", width).selectAll("*").remove();
    this.x = scaleLinear([0, this.end], [MARGIN.left, width - MARGIN.right]);
    const top = Math.max(1, ...series.top);
    const rate = Math.max(1, ...series.alloc, ...series.freed);
    // Powers of two, as the units are KiB and MiB.
    const step = 2 ** Math.ceil(Math.log2(top / 3));
    const ticks = Array.from({ length: Math.ceil(top / step) + 1 }, (_, i) => i * step);
    const y = scaleLinear([0, ticks[ticks.length - 1]], [SPLIT, MARGIN.top]);
    const bar = scaleLinear([0, rate], [0, HEIGHT - MARGIN.bottom - SPLIT - 6]);
    this.drawBars(bar);
    this.drawArea(y);
    this.drawCollections();
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${HEIGHT - MARGIN.bottom})`)
      .call(axisBottom(this.x.copy().domain([this.start, this.start + this.end])).ticks(Math.max(3, Math.floor(width / 110))).tickFormat((s) => (s ? seconds(s) : "0")).tickSizeOuter(0));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${MARGIN.left},0)`)
      .call(axisLeft(y).tickValues(ticks).tickFormat(bytes).tickSizeOuter(0));
    this.drawBrush(width);
    this.rule = svg.append("line").attr("class", "rule").attr("y1", MARGIN.top - 8).attr("y2", HEIGHT - MARGIN.bottom).attr("visibility", "hidden");
  }

  drawBars(bar) {
    const { series, x } = this;
    const half = Math.max(0.5, (x(this.drawn) - x(0)) / 2 - 0.25);
    for (const [name, shift] of [["alloc", 0], ["freed", half]]) {
      const path = [];
      for (let s = 0; s < series.length; s++) {
        const h = bar(series[name][s]);
        if (h > 0) path.push(`M${(x(s * this.drawn) + shift).toFixed(1)},${HEIGHT - MARGIN.bottom}v${(-Math.max(0.7, h)).toFixed(1)}h${half.toFixed(2)}V${HEIGHT - MARGIN.bottom}z`);
      }
      this.svg.append("path").attr("class", `bar-${name}`).attr("d", path.join(""));
    }
  }

  drawArea(y) {
    const { series, x } = this;
    const at = (s) => x(Math.min(this.end, s * this.drawn));
    const points = Array.from({ length: series.length + 1 }, (_, s) => s);
    const shape = (values) => area().curve(curveStepAfter).x(at).y0(y(0)).y1((s) => y(values[Math.min(s, series.length - 1)]))(points);
    this.svg.append("path").attr("class", "area-top").attr("d", shape(series.top));
    this.svg.append("path").attr("class", "area-live").attr("d", shape(series.live));
    if (!(this.peak.bytes > 0)) return;
    const px = x(Math.min(this.end, this.peak.ns / 1e9));
    this.svg.append("line").attr("class", "peak").attr("x1", px).attr("x2", px).attr("y1", 6).attr("y2", SPLIT);
    this.svg.append("text").attr("class", "peak").attr("y", 14)
      .attr("x", px + (px > this.box.clientWidth / 2 ? -6 : 6)).attr("text-anchor", px > this.box.clientWidth / 2 ? "end" : "start")
      .text(`peak ${bytes(this.peak.bytes)}`);
  }

  // A tick for each garbage collection, between area and bars.
  drawCollections() {
    const ticks = this.svg.append("g").attr("class", "gc");
    for (const [ns, pause, reclaimed] of this.collections ?? []) {
      const px = this.x(Math.min(this.end, ns / 1e9)).toFixed(1);
      ticks.append("line").attr("x1", px).attr("x2", px).attr("y1", SPLIT - 5).attr("y2", SPLIT + 3)
        .append("title").text(`collection at ${this.clock(ns / 1e9)}: ${bytes(reclaimed)} reclaimed, paused ${seconds(pause / 1e9)}`);
    }
  }

  drawBrush(width) {
    this.brush = brushX().extent([[MARGIN.left, MARGIN.top], [width - MARGIN.right, HEIGHT - MARGIN.bottom]])
      .on("brush end", (event) => event.sourceEvent && this.brushed(event));
    this.brushBox = this.svg.append("g").attr("class", "brush").call(this.brush);
    this.showBrush();
  }

  brushed({ selection, type }) {
    if (!selection) return this.choose(null);
    const [from, to] = selection.map((px) => this.x.invert(px) / this.slice);
    const last = this.slices - 1;
    const first = Math.min(last, Math.floor(from + 1e-6));
    this.choose({ from: first, to: Math.max(first, Math.min(last, Math.ceil(to - 1e-6) - 1)) }, type !== "end");
  }

  // The brush is snapped to whole slices only after dragging: moving it earlier would end the drag.
  choose(interval, dragging = false) {
    const same = JSON.stringify(interval) === JSON.stringify(this.interval);
    this.interval = interval;
    this.readout.show();
    if (!dragging) this.showBrush();
    if (!same) this.onInterval(interval);
  }

  showBrush() {
    const at = (s) => this.x(Math.min(this.end, s * this.slice));
    this.brushBox?.call(this.brush.move, this.interval && [at(this.interval.from), at(this.interval.to + 1)]);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") return this.choose(null);
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const last = this.slices - 1;
    const jump = step * Math.max(1, Math.round(this.slices / 64));
    const now = this.interval ?? { from: 0, to: Math.max(0, Math.round(last / 4) - jump) };
    const within = (s, low) => Math.max(low, Math.min(last, s));
    if (event.shiftKey) return this.choose({ from: now.from, to: within(now.to + jump, now.from) });
    const from = within(Math.min(now.from + jump, last - (now.to - now.from)), 0);
    this.choose({ from, to: from + now.to - now.from });
  }

  // Time since the start of the recording, of which the page may show a part.
  clock(s) {
    return s + this.start ? seconds(s + this.start) : "0";
  }

  words() {
    const { from, to } = this.interval ?? { from: 0, to: this.slices - 1 };
    const end = Math.min(this.end, (to + 1) * this.slice);
    const span = `${this.clock(from * this.slice)} to ${this.clock(end)}`;
    if (this.interval) return `${span} (${seconds(end - from * this.slice)})`;
    return this.partial ? `${span} of the recording` : `whole recording, ${seconds(this.end)}`;
  }
}
