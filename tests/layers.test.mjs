// Data flows one way through the core, and the core is a pure function: what its files include and call is checked here.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

/** @type {Map<string, number>} */
const layers = new Map();
const rows = readFileSync("tests/layers.txt", "utf8").split("\n").filter((line) => line && !line.startsWith("#")).map((line) => line.split(/ +/));
rows.forEach(([, ...names], index) => names.forEach((name) => layers.set(name, index)));

const files = readdirSync("core", { recursive: true }).filter((name) => /\.[ch]$/.test(name)).sort();

/** The layer of a file: its name, or the longest beginning of it that the table knows. */
function layerOf(file) {
  for (let stem = path.basename(file).replace(/\.\w+$/, ""); stem; stem = stem.replace(/_?[^_]*$/, "")) {
    const plural = stem.replace(/s$/, "");
    if (layers.has(stem) || layers.has(plural)) return layers.get(stem) ?? layers.get(plural);
  }
  return undefined;
}

/** The text without comments and string literals. */
const bare = (text) => text.replace(/\/\*[^]*?\*\/|\/\/.*|"(?:[^"\\\n]|\\.)*"/g, " ");

const sources = files.map((name) => ({ name, text: readFileSync(`core/${name}`, "utf8") }));

test("every file of the core has a layer", () => {
  assert.deepEqual(files.filter((name) => layerOf(name) === undefined), []);
});

test("every file stands in the folder of its layer", () => {
  assert.deepEqual(files.filter((file) => path.dirname(file) !== rows[layerOf(file)]?.[0]), []);
});

test("a folder is left before the next begins", () => {
  const folders = rows.map(([folder]) => folder).filter((folder, index, all) => folder !== all[index - 1] && folder !== ".");
  assert.deepEqual(folders, [...new Set(folders)]);
});

test("every layer has a file", () => {
  const used = new Set(files.map(layerOf));
  assert.deepEqual([...layers].filter(([, index]) => !used.has(index)), []);
});

for (const { name, text } of sources) {
  test(`core/${name} includes only what stands to its left`, () => {
    const own = [...text.matchAll(/^#include "([^"]+\.h)"/gm)].map((match) => match[1]).filter((header) => header !== "cJSON.h");
    assert.deepEqual(own.filter((header) => !(layerOf(header) <= layerOf(name))), []);
  });
}

const SYSTEM_HEADERS = ["float.h", "inttypes.h", "limits.h", "math.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h",
  "stdio.h", "stdlib.h", "string.h", "cJSON.h"];

test("the core includes no header of the operating system", () => {
  const found = sources.flatMap(({ name, text }) => [...text.matchAll(/^#include <([^>]+)>/gm)].map((match) => `${name}: ${match[1]}`));
  assert.deepEqual(found.filter((row) => !SYSTEM_HEADERS.includes(row.split(": ")[1])), []);
});

/** What would make two runs, or two machines, differ; and what writes anywhere but into the report. */
const FORBIDDEN = [
  [/\b(?:fopen|printf|fprintf|puts|putchar|fputs|fwrite|scanf|getenv|system|exit|abort|assert)\s*\(/, "input or output"],
  [/\b(?:time|clock|rand|srand|setlocale|gettimeofday)\s*\(/, "a clock, chance or locale"],
  [/\b(?:pow|exp|exp2|log|log2|log10|sin|cos|cbrt|round|lround|fma)\s*\(/, "a function that differs between C libraries"],
  [/\b(?:float|long)\b/, "a type whose size or rounding differs"],
  [/__EMSCRIPTEN__|__wasm__|_WIN32|__APPLE__|__linux__/, "a branch for one platform"],
];

for (const [pattern, what] of FORBIDDEN) {
  test(`the core does not use ${what}`, () => {
    assert.deepEqual(sources.filter(({ text }) => pattern.test(bare(text))).map(({ name, text }) => `${name}: ${bare(text).match(pattern)[0]}`), []);
  });
}

test("the core has no variable that keeps its value between calls", () => {
  const changing = sources.flatMap(({ name, text }) => [...bare(text).matchAll(/^[ \t]*static (?!inline|const\b|_Noreturn)[^({;]*[;=][^;]*/gm)]
    .filter((match) => !/\bconst\b[^*]*(?:\[|=|;)/.test(match[0])).map((match) => `${name}: ${match[0].trim().slice(0, 80)}`));
  assert.deepEqual(changing, []);
});
