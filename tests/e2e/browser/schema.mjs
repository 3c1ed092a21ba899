// SPDX-License-Identifier: Apache-2.0
// Files by a schema. Usage: schema.mjs MODULES SCHEMA FILE...; of .jsonl each line is an event or a line of the schema's.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const [modules, path, ...files] = process.argv.slice(2);
const require = createRequire(join(resolve(modules), "x.js"));
const Ajv = require("ajv");
const schema = JSON.parse(readFileSync(resolve(modules, path), "utf8"));
const ajv = new Ajv({ strict: false, allErrors: true });
const whole = ajv.addSchema(schema, "it").getSchema("it");
const line = schema.definitions?.line &&
  ajv.compile({ anyOf: ["event", "numbered", "line"].map((name) => ({ $ref: `it#/definitions/${name}` })) });
for (const file of files) {
  const text = readFileSync(file, "utf8");
  const [valid, parts] = file.endsWith(".jsonl") ? [line, text.split("\n").slice(0, -1)] : [whole, [text]];
  for (const part of parts) {
    if (valid(JSON.parse(part))) continue;
    console.error(file, valid.errors);
    process.exitCode = 1;
  }
}
