// The loader: what it asks of the module, what it does with odd requests, and how it goes on after a trap.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";

import { EngineTrap, createEngine } from "gpuplan";

const bytes = readFileSync("build/gpuplan.wasm");
const VERSION = { gpuplan: 1, op: "version" };

test("the module imports nothing, so it can reach no network, clock or file", () => {
  assert.deepEqual(WebAssembly.Module.imports(new WebAssembly.Module(bytes)), []);
});

test("the module's memory cannot grow", async () => {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  assert.throws(() => instance.exports.memory.grow(1), RangeError);
});

test("an object, its text, bytes and base64 give the same answer", async () => {
  const fromFile = await createEngine();
  const fromText = await createEngine(bytes.toString("base64"));
  const report = fromFile.answer(VERSION);
  assert.equal(report.version, JSON.parse(readFileSync("package.json", "utf8")).version);
  assert.deepEqual(fromFile.answer(JSON.stringify(VERSION)), report);
  assert.deepEqual(fromText.answer(VERSION), report);
});

test("the script for the page holds the module", () => {
  const page = {};
  runInNewContext(readFileSync("build/gpuplan.wasm.js", "utf8"), page);
  assert.deepEqual(Buffer.from(page.gpuplanWasm, "base64"), bytes);
});

test("a request that is too long is refused, and the next one is answered", async () => {
  const engine = await createEngine();
  for (const text of [" ".repeat(2 ** 20 + 1), "é".repeat(2 ** 20), "𝄞".repeat(2 ** 18 + 1)]) {
    assert.equal(engine.answer(JSON.stringify(text)).errors[0].code, "request_too_long");
  }
  assert.equal(engine.answer(VERSION).op, "version");
});

test("odd texts are answered with errors", async () => {
  const engine = await createEngine();
  for (const text of ["", "\0", "{", "null", "\ud800", `{"op":"version"}\0`, "[".repeat(2 ** 20), "0,".repeat(2 ** 19)]) {
    assert.ok(engine.answer(text).errors.length > 0, JSON.stringify(text.slice(0, 20)));
  }
});

test("many requests leave the memory as it was", async () => {
  const engine = await createEngine();
  const job = { task: "full", model: { layers: 32, hidden: 4096, heads: 32, vocab: 32000 }, hardware: { gpu: "H100" } };
  const first = engine.answerText(JSON.stringify({ gpuplan: 1, op: "plan", job }));
  for (let i = 0; i < 2000; i++) engine.answerText(JSON.stringify({ gpuplan: 1, op: "plan", job }));
  assert.equal(engine.answerText(JSON.stringify({ gpuplan: 1, op: "plan", job })), first);
});

test("a trap names its request and the engine goes on with a fresh instance", async () => {
  const engine = await createEngine(readFileSync("build/tests/trap.wasm"));
  assert.deepEqual([engine.answerText("ab"), engine.answerText("ab")], ["1", "2"]);
  assert.throws(() => engine.answerText("x"), (error) => error instanceof EngineTrap && error.request === "x");
  assert.equal(engine.answerText("ab"), "1");
});

test("the same file works in a Worker", async () => {
  const worker = new Worker(
    `import(${JSON.stringify(new URL("../../wasm/engine.js", import.meta.url).href)}).then(async ({ createEngine }) => {
      const { parentPort, workerData } = require("node:worker_threads");
      parentPort.postMessage((await createEngine(workerData)).answer({ gpuplan: 1, op: "version" }));
    })`,
    { eval: true, workerData: new Uint8Array(bytes) },
  );
  const report = await new Promise((resolve, reject) => {
    worker.on("message", resolve);
    worker.on("error", reject);
  });
  await worker.terminate();
  assert.equal(report.op, "version");
});
