// SPDX-License-Identifier: Apache-2.0
// Formatting of numbers, and DOM helpers.
import { fewVariance } from "rules.mjs";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n) {
  let unit = 0;
  while (n >= 1024 && unit < UNITS.length - 1) { n /= 1024; unit++; }
  return unit ? `${n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0)} ${UNITS[unit]}` : `${Math.round(n)} B`;
}

export const count = (n) => Math.round(n).toLocaleString("en-US");
export const amount = (n, unit) => (unit === "sz" ? bytes(n) : count(n));

// The standard error of estimated bytes.
export const plusMinus = (error) => (error > 0 ? ` ± ${bytes(error)}` : "");
// The same from what its parts add up to.
export const spread = (variance, estimate) => plusMinus(Math.sqrt(fewVariance(variance, estimate)));

export function percent(part, whole) {
  if (!whole) return "–";
  const p = 100 * part / whole;
  return p > 0 && p < 0.01 ? "<0.01 %" : `${p.toFixed(p < 10 ? 2 : 1)} %`;
}

export function seconds(s) {
  if (s < 0.9995e-3) return `${(s * 1e6).toFixed(0)} µs`;
  if (s < 0.9995) return `${(s * 1e3).toFixed(s < 0.1 ? 1 : 0)} ms`;
  if (s < 120) return `${s.toFixed(2)} s`;
  return s < 7200 ? `${(s / 60).toFixed(1)} min` : `${(s / 3600).toFixed(1)} h`;
}

export function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}
