// Files go into WebAssembly beside the request, and what comes out is what the command line says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createEngine } from "../../wasm/node.js";
import { importModel, textSource } from "../../web/model-files.js";
import { file, importFiles } from "../import/files.mjs";
import { llama, makeGguf } from "../import/gguf.mjs";

const engine = await createEngine();
const asPage = { import: (parts, files, name) => engine.answer({ op: "import", parts, ...(name ? { name } : {}) }, files) };

test("a GGUF header read by slices gives the command line's report", async () => {
  const { header, size } = makeGguf(llama({ vocab: 60_000 }));
  assert.ok(header.length > 500_000);
  const lengths = [];
  const source = { name: "small.gguf", size, read: async (length) => { lengths.push(length); return new Uint8Array(header.subarray(0, Math.min(length, size))); } };
  const report = await importModel(asPage, [source]);
  const native = importFiles([file("small.gguf", header, size)]);
  delete native.status;
  delete native.stderr;
  assert.deepEqual(report, native);
  assert.ok(lengths.length > 2 && lengths.at(-1) <= 2 * header.length, String(lengths));
});

test("several files, an unknown size and a failed read leave the engine usable", async () => {
  const config = textSource("config.json", JSON.stringify({ model_type: "llama", hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2, num_attention_heads: 4, vocab_size: 256 }));
  const index = textSource("model.safetensors.index.json", JSON.stringify({ metadata: { total_size: 4096 }, weight_map: { a: "b" } }));
  const report = await importModel(asPage, [config, { ...index, size: null }], "own/model");
  assert.deepEqual([report.import.kind, report.import.bytes, report.job.model.name], ["safetensors_index", 4096, "own/model"]);
  const failing = { name: "x", size: 10, read: async () => { throw new Error("gone"); } };
  await assert.rejects(importModel(asPage, [failing]), /gone/);
  assert.equal(engine.answer({ op: "version" }).grammar, 1);
});
