// The loader: what it asks of the module, what it does with odd requests, and how it goes on after a trap.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";

import { EngineTrap, createEngine } from "gpuplan";

const bytes = readFileSync("build/gpuplan.wasm");
const VERSION = { gpuplan: 1, op: "version" };

test("the modules import nothing, so they can reach no network, clock or file", () => {
  for (const module of [bytes, readFileSync("build/planner.wasm")]) assert.deepEqual(WebAssembly.Module.imports(new WebAssembly.Module(module)), []);
});

test("the module's memory cannot grow", async () => {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  assert.throws(() => instance.exports.memory.grow(1), RangeError);
});

test("an object and its text give the same answer", async () => {
  const engine = await createEngine();
  const report = engine.answer(VERSION);
  assert.equal(report.version, JSON.parse(readFileSync("package.json", "utf8")).version);
  assert.deepEqual(engine.answer(JSON.stringify(VERSION)), report);
});

test("the script for the page holds the module", async () => {
  const page = {};
  runInNewContext(readFileSync("build/gpuplan.wasm.js", "utf8"), page);
  assert.equal((await createEngine(page.gpuplanWasm)).answerText("{}"), (await createEngine(bytes)).answerText("{}"));
});

test("every byte survives the way through the script", async () => {
  const compiled = [];
  const { compile } = WebAssembly;
  WebAssembly.compile = async (source) => {
    compiled.push(...source);
    return compile(bytes);
  };
  try {
    const all = Array.from({ length: 256 }, (_, byte) => byte);
    writeFileSync("build/tests/all_bytes", Buffer.from(all));
    const page = {};
    runInNewContext(execFileSync(process.execPath, ["wasm/embed.mjs", "build/tests/all_bytes"], { encoding: "utf8" }), page);
    await createEngine(page.gpuplanWasm);
    assert.deepEqual(compiled, all);
  } finally {
    WebAssembly.compile = compile;
  }
});

/** A module of one memory with the given data section and count of its pieces. */
const moduleOf = (data, count) => Buffer.from([0, 97, 115, 109, 1, 0, 0, 0, 5, 3, 1, 0, 2, 7, 5, 1, 1, 109, 2, 0,
  ...(count === undefined ? [] : [12, 1, count]), 11, data.length, ...data]);
const PIECES = [
  ["two pieces in any order", [2, 0, 0x41, 0xc8, 0x01, 0x0b, 2, 7, 8, 0, 0x41, 0xc0, 0x00, 0x0b, 1, 9], 1],
  ["one piece", [1, 0, 0x41, 0x10, 0x0b, 3, 1, 2, 3], 1],
  ["a piece that is placed later", [2, 0, 0x41, 0x10, 0x0b, 1, 5, 1, 1, 6], 2],
];
for (const [name, data, count] of PIECES) {
  test(`joined data fills the memory as it did: ${name}`, () => {
    for (const given of [undefined, data[0]]) {
      writeFileSync("build/tests/pieces.wasm", moduleOf(data, given));
      execFileSync(process.execPath, ["wasm/join_data.mjs", "build/tests/pieces.wasm"]);
      const after = readFileSync("build/tests/pieces.wasm");
      const memoryOf = (module) => new Uint8Array(new WebAssembly.Instance(new WebAssembly.Module(module)).exports.m.buffer);
      assert.deepEqual(memoryOf(after), memoryOf(moduleOf(data, given)));
      assert.equal(after.includes(Buffer.from([12, 1, count])), given !== undefined);
    }
  });
}

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
