/** Capacities that serving engines measured at their start. */
import { readFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import assert from "node:assert/strict";
import { ROOT, answerTexts } from "../support/engine.mjs";

/** github.com/ai-dynamo/aiconfigurator tests/integration/test_trtllm_kv_cache_capacity.py: how many sequences of the
 * given length TensorRT-LLM had room for. One sequence more or less is no error of the size. */
const LINES = readFileSync(path.join(ROOT, "tests/data/tensorrt_llm_capacity.jsonl"), "utf8").trimEnd().split("\n");
const ROWS = LINES.map((line) => JSON.parse(line));
const REPORTS = answerTexts(ROWS.map(({ job }) => JSON.stringify({ op: "plan", job }))).map((text) => JSON.parse(text));

test("TensorRT-LLM: 40 measured capacities, each within 3 %", () => {
  assert.equal(ROWS.length, 40);
  ROWS.forEach(({ id, max_sequences: measured }, index) => {
    const found = REPORTS[index].kv.max_concurrency;
    assert.ok(Math.abs(found / measured - 1) <= 0.03, `${id}: ${found}, measured ${measured}`);
  });
});

test("what TensorRT-LLM keeps free is a share of what is left after loading", () => {
  ROWS.forEach(({ id, job }, index) => {
    const items = REPORTS[index].memory.stages[0].items;
    const bytes = (name) => items.find((item) => item.id === name).bytes;
    const share = bytes("kv_cache") / (bytes("kv_cache") + bytes("fragmentation"));
    assert.ok(Math.abs(share - job.infer.memory_utilization) < 1e-6, id);
  });
});
