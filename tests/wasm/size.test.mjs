// What a visitor waits for, compressed as a server sends it. 1 KB is 1000 bytes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { brotliCompressSync } from "node:zlib";

const compressed = (file) => brotliCompressSync(readFileSync(file)).length;

/** A third of it is data (names and shapes of the catalogue, the field table), the rest is code. */
test("the core takes at most 80 KB", (t) => {
  const bytes = compressed("dist/gpuplan.wasm.js");
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes <= 80_000, `${bytes} bytes`);
});

/** Files of the page before its first answer. */
function firstView() {
  // The icon and the print style wait until the page is shown.
  const page = readFileSync("dist/index.html", "utf8").replace(/<link[^>]*(?:rel="icon"|media="print")[^>]*>/g, "");
  const files = [...page.matchAll(/(?:src|href)="([\w.-]+\.(?:js|css|svg))"/g)].map((match) => match[1]);
  // main.js asks for the words of one language: the larger one counts.
  files.push(["words-en.js", "words-zh-Hans.js"].sort((a, b) => compressed(`dist/${b}`) - compressed(`dist/${a}`))[0]);
  assert.ok(files.includes("main.js") && files.includes("gpuplan.wasm.js") && !files.includes("chart.js"), files.join(" "));
  return ["index.html", ...files];
}

test("the first view takes at most 120 KB before the charts", (t) => {
  const files = firstView();
  const bytes = files.reduce((total, name) => total + compressed(`dist/${name}`), 0);
  t.diagnostic(`${bytes} bytes in ${files.join(", ")}`);
  assert.ok(bytes <= 120_000, `${bytes} bytes`);
});
