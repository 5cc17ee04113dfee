/** Steps of small whole models measured with PyTorch 1.13 on CPU, every block of its allocator counted: what forward keeps
 * for backward, to the byte, and the peak of each phase of the second step. torch_steps.jsonl has a row for each way of
 * computing a step, with shapes in which one part after the other is the largest; "accumulated" is the second of two
 * micro-batches. Of Gemma's three generations and of the other families that transformers writes otherwise than Llama's
 * it has a sample of 714 steps of random shapes, of which saved bytes were equal in all, and phases within 1 % in 94 of 100. */
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

test("layers whose code is not known say so, and name no operators", () => {
  const job = (style) => ({ task: "full", hardware: { gpu: "H100", count: 1 }, train: { framework: "hf-trainer", attention: "eager", recompute: "none" },
    model: { layers: 4, hidden: 512, heads: 8, kv_heads: 8, head_dim: 64, ffn: 2048, vocab: 1000, style } });
  const [known, assumed] = planAll([job("gemma2"), job("gptj")]);
  const told = (report) => report.assumptions.filter(({ code }) => code === "layers_assumed").map(({ args }) => args.value);
  assert.deepEqual([told(known), told(assumed)], [[], ["gptj"]]);
  assert.ok(known.memory.saved.some(({ operator }) => operator === "tanh"));
  assert.equal(assumed.memory.saved, undefined);
  const width = (report) => {
    const { bytes, low_bytes, high_bytes } = report.memory.stages[0].items.find(({ id }) => id === "activations");
    return (high_bytes - low_bytes) / bytes;
  };
  assert.ok(width(assumed) > 1.9 * width(known), "twice as wide a range");
});

test("a config's caps decide, and null is none", () => {
  const config = { model_type: "gemma2", num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 4, num_key_value_heads: 2, head_dim: 16,
    intermediate_size: 128, vocab_size: 500 };
  const train = { framework: "hf-trainer", precision: "bf16", weights: "bf16", autocast: false, attention: "eager", micro_batch: 1, seq_len: 32, recompute: "none" };
  const caps = [{}, { attn_logit_softcapping: null }, { final_logit_softcapping: null }, { attn_logit_softcapping: null, final_logit_softcapping: null }];
  const [both, logits, scores, none] = planAll(caps.map((keys) => ({ task: "full", hardware: { gpu: "cpu", count: 1 }, train, model: { config: { ...config, ...keys } } })))
    .map(({ memory }) => memory.saved_bytes);
  // tanh of 2 layers' scores of 4 heads, of the logits; two numbers each, of 8 bytes.
  assert.equal(both - logits, 2 * (2 * 4 * 32 * 32 + 16));
  assert.equal(both - scores, 2 * 32 * 500 + 16);
  assert.equal(both - none, both - logits + (both - scores));
});

test("rows of every family, type, adapter and optimizer are there", () => {
  const seen = (value) => new Set(ROWS.map(({ job }) => value(job)));
  assert.deepEqual([...seen((job) => job.model.style)].sort(), ["gpt2", "llama", "mixtral", "qwen2", "qwen3"]);
  assert.ok(seen((job) => `${job.train.weights} ${job.train.autocast}`).size === 4);
  assert.ok(seen((job) => job.train.optimizer).size === 3);
  assert.ok(ROWS.some(({ job }) => job.train.lora) && ROWS.some(({ job }) => job.train.recompute === "full"));
});
