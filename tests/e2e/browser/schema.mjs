// Speedscope's own schema over files given as arguments. Usage: schema.mjs MODULES FILE...
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const [modules, ...files] = process.argv.slice(2);
const require = createRequire(join(resolve(modules), "x.js"));
const Ajv = require("ajv");
const schema = JSON.parse(readFileSync(join(resolve(modules), "speedscope/dist/release/file-format-schema.json"), "utf8"));
const valid = new Ajv({ strict: false, allErrors: true }).compile(schema);
for (const file of files) {
  if (valid(JSON.parse(readFileSync(file, "utf8")))) continue;
  console.error(file, valid.errors);
  process.exitCode = 1;
}
