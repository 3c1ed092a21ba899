// SPDX-License-Identifier: Apache-2.0
// Translates a C header to JavaScript: `double f_g(const double *a, int n)` becomes `export function fG(a, n)`. The functions
// must use only syntax common to both languages; remaining C is an error.
const FUNCTION = /^static inline \w+ (\w+)\(([^)]*)\)$/gm;
const TYPES = /\b(?:unsigned|int|double|bool|float|char|long|size_t|u?int\d+_t|struct|const|static|sizeof)\b|->|\(\w+ ?\*\)/;

export function fromC(header) {
  const code = header.replace(/\/\*[^]*?\*\//g, "").replace(/^#.*$/gm, "");
  const script = code
    .replace(FUNCTION, (_, name, params) => `export function ${name}(${params.split(",").map((p) => p.match(/\w+$/)[0]).join(", ")})`)
    .replace(/\b(?:int|double) (?=\w+ =)/g, "let ")
    .replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  const left = script.match(TYPES);
  if (left || !script.includes("export")) throw new Error(`no JavaScript: ${left ?? "no function"}`);
  return script;
}
