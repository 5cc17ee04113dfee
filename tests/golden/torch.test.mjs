/** Steps of small whole models measured with PyTorch 1.13 on CPU, every block of its allocator counted: what forward keeps
 * for backward, to the byte, and the peak of each phase of the second step. torch_steps.jsonl has a row for each way of
 * computing a step, with shapes in which one part after the other is the largest; "accumulated" is the second of two
 * micro-batches. */
import { readFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import assert from "node:assert/strict";
import { ROOT, planAll } from "../support/engine.mjs";

const ROWS = readFileSync(path.join(ROOT, "tests/reports/torch.jsonl"), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const STEPS = readFileSync(path.join(ROOT, "tests/golden/torch_steps.jsonl"), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const STEP_REPORTS = planAll(STEPS.map(({ job }) => job));
const REPORTS = planAll(ROWS.map(({ job }) => job));
/** Scalars, padded labels and the profiler's handle are not told one by one. */
const CLOSE = 0.003;
/** Of steps so small that a router's uneven choice of experts shows. */
const SMALL = 0.01;

/** @param {any} memory of a report @param {{ saved_bytes: number, peak_by_phase: Record<string, number> }} measured */
function checkStep(memory, measured, close) {
  assert.equal(memory.saved_bytes, measured.saved_bytes, "kept for backward");
  assert.equal(memory.saved.reduce((sum, { bytes }) => sum + bytes, 0), measured.saved_bytes, "by operator");
  for (const [phase, bytes] of Object.entries(measured.peak_by_phase)) {
    const planned = memory.phases[phase].peak_bytes, error = planned / bytes - 1;
    assert.ok(Math.abs(error) <= close, `${phase}: ${planned} for ${bytes}, ${(100 * error).toFixed(2)} %`);
  }
}

for (const [index, { id, measured }] of STEPS.entries())
  test(`${id}, a small step`, () => checkStep(STEP_REPORTS[index].memory, measured, SMALL));

for (const [index, { id, measured }] of ROWS.entries()) {
  test(id, () => {
    const { memory } = REPORTS[index];
    checkStep(memory, measured, CLOSE);
    const whole = memory.meters.allocated_bytes / measured.peak_live_bytes - 1;
    assert.ok(Math.abs(whole) <= CLOSE, `peak: ${(100 * whole).toFixed(2)} %`);
  });
}

test("rows of every family, type, adapter and optimizer are there", () => {
  const seen = (value) => new Set(ROWS.map(({ job }) => value(job)));
  assert.deepEqual([...seen((job) => job.model.style)].sort(), ["gpt2", "llama", "mixtral", "qwen2", "qwen3"]);
  assert.ok(seen((job) => `${job.train.weights} ${job.train.autocast}`).size === 4);
  assert.ok(seen((job) => job.train.optimizer).size === 3);
  assert.ok(ROWS.some(({ job }) => job.train.lora) && ROWS.some(({ job }) => job.train.recompute === "full"));
});
