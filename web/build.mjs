// Bundles the page's script and style and cuts the page in two where the recording goes:
// OUT/head.html and OUT/tail.html, which user/sink/html.c takes in. Usage: build.mjs MODULES OUT
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
const source = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const { buildSync } = createRequire(join(modules, "x.js"))("esbuild");

const bundle = (entry) => buildSync({
  entryPoints: [join(source, "src", entry)],
  nodePaths: [modules],
  bundle: true,
  minify: true,
  write: false,
  charset: "utf8",
  format: "iife",
  target: ["chrome103", "firefox113", "safari16.4"],
  legalComments: "none",
}).outputFiles[0].text.trimEnd();

const page = readFileSync(join(source, "src/page.html"), "utf8");
const fill = (text, mark, value) => text.replace(mark, () => value);
const [head, tail] = page.split("<!--recording-->\n");
writeFileSync(join(out, "head.html"), fill(head, "/*style*/", bundle("style.css")));
writeFileSync(join(out, "tail.html"), fill(tail, "/*script*/", bundle("main.js")));
