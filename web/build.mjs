// SPDX-License-Identifier: Apache-2.0
// Bundles the page's script and style and splits the page at the place of the recording into OUT/head.html and
// OUT/tail.html, which user/output/sink/html.c embeds. Rules shared with the C code are generated from it (rule.mjs).
// OUT/measure.mjs is for tests. Usage: build.mjs MODULES OUT
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fromC } from "./rule.mjs";

const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
const source = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const { buildSync } = createRequire(join(modules, "x.js"))("esbuild");

const rules = join(out, "rules");
mkdirSync(rules, { recursive: true });
writeFileSync(join(rules, "rules.mjs"), fromC(readFileSync(join(source, "../user/output/model/rules.h"), "utf8")));

const bundle = (entry, format = "iife") => buildSync({
  entryPoints: [join(source, "src", entry)],
  nodePaths: [modules, rules],
  bundle: true,
  minify: true,
  write: false,
  charset: "utf8",
  format,
  target: ["chrome103", "firefox113", "safari16.4"],
  legalComments: "none",
}).outputFiles[0].text.trimEnd();

const page = readFileSync(join(source, "src/page.html"), "utf8");
const fill = (text, mark, value) => text.replace(mark, () => value);
const [head, tail] = page.split("<!--recording-->\n");
// The policy allows only the script with this hash, so that text in a recording cannot inject another.
const script = fill(tail.match(/<script>([^]*)<\/script>/)[1], "/*script*/", bundle("main.js"));
const hash = `sha256-${createHash("sha256").update(script).digest("base64")}`;
writeFileSync(join(out, "measure.mjs"), bundle("measure.js", "esm"));
writeFileSync(join(out, "head.html"), fill(fill(head, "/*style*/", bundle("style.css")), "/*script-hash*/", hash));
writeFileSync(join(out, "tail.html"), tail.replace(/(?<=<script>)[^]*(?=<\/script>)/, () => script));
