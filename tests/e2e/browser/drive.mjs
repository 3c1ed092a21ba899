// SPDX-License-Identifier: Apache-2.0
// Drives Chromium: a page is opened, the script given on stdin runs as the body of a function of
// (page, load, args), and what it returns is printed as JSON with the page's complaints.
// Usage: drive.mjs MODULES PROFILE URL ARGS < SCRIPT
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const [modules, profile, url, args] = process.argv.slice(2);
const { chromium } = createRequire(join(resolve(modules), "x.js"))("playwright-core");
const options = JSON.parse(args);
const context = await chromium.launchPersistentContext(profile, {
  executablePath: options.chromium,
  timeout: 120000,
  viewport: { width: 1400, height: 1000 },
  colorScheme: options.dark ? "dark" : "light",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"], // a container's may be too small for a page
});
const page = context.pages()[0] ?? await context.newPage();
page.setDefaultTimeout(100000); // nothing that works takes a second, but on machines that have much else to do
const complaints = [];
const asked = [];
page.on("console", (m) => ["error", "warning"].includes(m.type()) && complaints.push(m.text()));
page.on("pageerror", (e) => complaints.push(String(e)));
page.on("dialog", (d) => { complaints.push(`dialog: ${d.message()}`); d.dismiss(); });
page.on("request", (r) => r.url() !== url && asked.push(r.url()));
try {
  const begun = performance.now();
  await page.goto(url);
  const AsyncFunction = (async () => {}).constructor;
  const result = await new AsyncFunction("page", "begun", "args", readFileSync(0, "utf8"))(page, begun, options);
  console.log(JSON.stringify({ result, complaints, asked }));
} finally {
  await context.close();
}
