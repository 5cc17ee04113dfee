// What a visitor waits for, compressed as a server sends it.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { brotliCompressSync } from "node:zlib";

const compressed = (file) => brotliCompressSync(readFileSync(file)).length;

test("the core takes at most 40 KB", (t) => {
  const bytes = compressed("dist/gpuplan.wasm.js");
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes <= 40_000, `${bytes} bytes`);
});

test("the first view takes at most 120 KB before the charts", (t) => {
  const files = readdirSync("dist").filter((name) => /\.css$/.test(name)).concat("index.html", "main.js", "gpuplan.wasm.js");
  const bytes = files.reduce((total, name) => total + compressed(`dist/${name}`), 0);
  t.diagnostic(`${bytes} bytes in ${files.join(", ")}`);
  assert.ok(bytes <= 120_000, `${bytes} bytes`);
});
