/** Public measurements of dense models: `batch` takes the rows as they are, and weights and KV cache agree. */
import { readFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import assert from "node:assert/strict";
import { ROOT, answerTexts } from "../support/engine.mjs";

const GIB = 2 ** 30;
const LINES = readFileSync(path.join(ROOT, "tests/data/measured_sample.jsonl"), "utf8").trimEnd().split("\n");
const REPORTS = answerTexts(LINES).map((text) => JSON.parse(text));
const ROWS = LINES.map((line, index) => ({ ...JSON.parse(line), report: REPORTS[index] }));

/** Bytes of an item on the GPU that holds most of it, or over all GPUs. */
function bytesOf(report, id, over) {
  const sums = report.memory.stages.map((stage) => {
    const bytes = stage.items.filter((item) => item.id === id).reduce((sum, item) => sum + item.bytes, 0);
    return over === "all" ? bytes * stage.gpus : bytes;
  });
  return over === "all" ? sums.reduce((a, b) => a + b, 0) : Math.max(...sums);
}

const near = (found, measured, limit, what) =>
  assert.ok(Math.abs(found / measured - 1) <= limit, `${what}: ${found}, measured ${measured}`);

test("every row has a source and is answered without errors", () => {
  assert.ok(ROWS.length >= 40);
  for (const { id, source, report } of ROWS) {
    assert.ok(source.length > 20, id);
    assert.equal(report.errors, undefined, `${id}: ${JSON.stringify(report.errors)}`);
  }
});

for (const { id, job, measured, report } of ROWS) {
  test(`${id}: ${job.model} ${job.infer.weights} on ${job.hardware.count} x ${job.hardware.gpu}`, () => {
    // llama.cpp states the whole file; vLLM each GPU.
    const over = job.infer.engine === "llama.cpp" ? "all" : "one";
    if (measured.weights_gib) near(bytesOf(report, "weights", over), measured.weights_gib * GIB, 0.01, "weights");
    if (measured.kv_gib) near(bytesOf(report, "kv_cache", over), measured.kv_gib * GIB, 0.005, "KV cache");
    if (measured.kv_bytes_per_token) assert.equal(report.kv.bytes_per_token, measured.kv_bytes_per_token);
  });
}
