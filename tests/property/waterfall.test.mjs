/** From the size in a card's name to the cache: every step takes what it says, and what is left is what the pool has. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll } from "../support/engine.mjs";
import { generateValidJobs } from "../generate/jobs.mjs";

const ENGINES = ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "lmdeploy", "mlx"];
const FIXED = ENGINES.flatMap((engine) => ["H100", "RTX 4090", "Apple M2 Ultra"].map((gpu) => (
  { task: "infer", model: "meta-llama/Llama-3.1-8B", hardware: { gpu }, infer: { engine, context: 4096 } })));
const HOST = ["vllm", "llama.cpp"].map((engine) => (
  { task: "infer", model: "Qwen/Qwen1.5-4B", hardware: { gpu: "cpu", host_ram_gib: 64 }, infer: { engine, context: 4096 } }));
const JOBS = [...FIXED, ...HOST, ...generateValidJobs(200, 77).filter((job) => job.task === "infer")];
const FALLS = planAll(JOBS).map((report) => ({ report, fall: report.waterfall })).filter(({ fall }) => fall);

test("each step leaves what the one before left, less what it takes", () => {
  assert.ok(FALLS.length >= 30, `${FALLS.length} reports`);
  for (const { fall } of FALLS) {
    fall.rows.forEach((row, index) => {
      // Bytes are cut to whole ones, one by one; levels take nothing.
      if (row.bytes) assert.ok(Math.abs(Math.max(0, fall.rows[index - 1].left_bytes - row.bytes) - row.left_bytes) <= 2, JSON.stringify(row));
    });
    assert.ok(Math.abs(fall.rows.at(-2).left_bytes - fall.rows.at(-1).left_bytes) <= 2);
  }
});

test("nothing stands between a program and the memory of a host", () => {
  const falls = FALLS.filter(({ report }) => report.hardware.gpu === "cpu");
  assert.ok(falls.length >= HOST.length, `${falls.length} reports`);
  for (const { report, fall } of falls) {
    assert.equal(fall.rows.find((row) => row.id === "visible").left_bytes, report.memory.usable_bytes);
    assert.ok(fall.rows.every((row) => row.id !== "driver" && row.id !== "macos"), JSON.stringify(fall.rows));
  }
});

test("the steps are those of the device and of the ledger", () => {
  for (const { report, fall } of FALLS) {
    const stage = report.memory.stages.find((one) => one.stage <= fall.stage && fall.stage < one.stage + one.stages);
    const of = (id) => fall.rows.find((row) => row.id === id);
    const kept = of("driver") ?? of("macos") ?? { bytes: 0, left_bytes: of("visible").left_bytes };
    assert.equal(kept.left_bytes + kept.bytes, report.memory.capacity_bytes);
    for (const id of ["weights", "workspace", "graphs", "context", "comm_buffers", "recurrent_state"]) {
      const items = stage.items.filter((item) => item.id === id && item.phases.includes("prefill"));
      const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
      assert.equal(of(id)?.bytes ?? 0, bytes, id);
    }
  }
});

test("what is left for the cache is the pool of one GPU, and the tokens are those of the report", () => {
  for (const { report, fall } of FALLS) {
    assert.equal(fall.tokens, Math.floor(report.kv.max_tokens / report.parallel.dp));
    if (report.memory.stages.length === 1 && report.memory.stages[0].stages === 1) {
      const gpus = report.memory.stages[0].gpus;
      assert.ok(Math.abs(fall.rows.at(-1).left_bytes * gpus - report.kv.pool_bytes) <= gpus + 1);
    }
  }
});
