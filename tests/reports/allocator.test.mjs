/** What torchtitan's runs reserved, against a replay of their steps with nothing fitted. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { reserved } from "./allocator.mjs";

const rows = new Map(readFileSync(new URL("./train.jsonl", import.meta.url), "utf8").trim().split("\n").map((line) => [JSON.parse(line).id, JSON.parse(line)]));
const llama3 = { layers: 32, hidden: 4096, keys: 1024, inner: 14336, vocab: 128256, length: 8192, recompute: "operators" };
const llama2 = { layers: 32, hidden: 4096, keys: 4096, inner: 11008, vocab: 32000, length: 2048, recompute: "operators" };

/** Row → its settings, and those that it does not state: whether the loss is compiled, how segments grow. */
const REPLAYED = {
  "titan-8b-ce-baseline": { ...llama3, ranks: 8, sequences: 1, compiled: false },
  "titan-8b-ce-chunked": { ...llama3, ranks: 8, sequences: 1, compiled: false, eagerLoss: false },
  "titan-8b-bf16-compile": { ...llama3, ranks: 8, sequences: 1, compiled: true },
  "torchao-8b-mi300x-none": { ...llama3, ranks: 8, sequences: 1, compiled: true, eagerLoss: false },
  "titan-8b-fsdp2-2511": { ...llama3, ranks: 8, sequences: 1, compiled: false, expandable: true },
  "titan-8b-x8-e-bf16": { ...llama3, ranks: 8, sequences: 2, compiled: false },
  "titan-8b-x8-c-bf16": { ...llama3, ranks: 8, sequences: 2, compiled: true },
  "titan-8b-x128-e-bf16": { ...llama3, ranks: 128, sequences: 2, compiled: false },
  "titan-8b-x128-c-bf16": { ...llama3, ranks: 128, sequences: 2, compiled: true },
  "titan-llama7b-compile-sac": { ...llama2, ranks: 8, sequences: 8, compiled: true },
};

for (const [id, settings] of Object.entries(REPLAYED))
  test(`${id}: replayed within 3 % of what was reserved`, () => {
    const { peak_gib: measured } = rows.get(id).measured, found = reserved(settings);
    assert.ok(Math.abs(found / measured - 1) <= 0.03, `${found.toFixed(1)}, measured ${measured}`);
  });

test("a replay depends on what jobs leave out", () => {
  const job = { ...llama3, ranks: 8, sequences: 1, compiled: true };
  const figures = [{}, { expandable: true }, { eagerLoss: false }, { eagerLoss: false, expandable: true }].map((more) => reserved({ ...job, ...more }));
  for (const figure of figures) assert.ok(figure > 30 && figure < 50, `${figures}`);
  assert.ok(figures[0] - figures[3] > 8, `${figures}`);
});
