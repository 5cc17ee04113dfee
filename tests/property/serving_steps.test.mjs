/** What servers take for a step under data-parallel attention, for formats that a card unpacks, and for the prompts of others. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll } from "../support/engine.mjs";

test("experts that groups of data-parallel attention share see the tokens of all, and tokens go to them and back", () => {
  const job = (attention_dp, concurrency) => ({ task: "infer", model: "deepseek-ai/DeepSeek-V3", hardware: { gpu: "H200", count: 8 },
    infer: { engine: "vllm", weights: "fp8", prompt: 1024, output: 256, tp: attention_dp > 1 ? 1 : 8, ep: 8, attention_dp, concurrency } });
  const [split, groups, alone] = planAll([job(1, 64), job(8, 64), job(8, 8)]).map(({ time }) => time);
  // 64 tokens of a step choose 8 of 256 experts each, whether one group holds them or eight.
  for (const time of [split, groups]) assert.ok(Math.abs(time.experts_touched - 256 * (1 - (1 - 8 / 256) ** 64)) < 1e-9);
  assert.equal(split.exchange_s, undefined);
  assert.equal(groups.reduce_s, undefined);
  // Each of 8 ranks has 8 tokens; a token goes to 8 (1 - (7/8)^8) ranks, seven in eight of them others, 2 bytes a value each way.
  const rows = 8 * 8 * (1 - (7 / 8) ** 8) * (7 / 8);
  const { expert_layers, passes, sent_bytes } = groups.why.exchange_s.terms;
  assert.deepEqual({ expert_layers, passes }, { expert_layers: 58, passes: 1 });
  assert.ok(Math.abs(sent_bytes / (rows * 7168 * 4) - 1) < 1e-12);
  assert.equal(groups.why.step_s.terms.exchange_s, groups.exchange_s);
  assert.ok(alone.exchange_s > 0 && alone.exchange_s < groups.exchange_s);
  // A rank reads all that is not an expert's, and an eighth of the experts in use.
  const bytes = ({ why }) => why.step_s.terms;
  assert.ok(bytes(groups).dense_bytes > 6 * bytes(split).dense_bytes && Math.abs(bytes(groups).expert_bytes / bytes(split).expert_bytes - 1) < 1e-12);
});

test("a card without units for a format unpacks it: fp8 on an A100 multiplies at the rate of 16 bits", () => {
  const job = (gpu, weights) => ({ task: "infer", model: "llama-3.1-8b", hardware: { gpu, count: 1 }, infer: { engine: "vllm", weights, prompt: 1024, output: 256, concurrency: 64 } });
  const [a100, h100, plain] = planAll([job("A100", "fp8"), job("H100", "fp8"), job("A100", "bf16")]).map(({ time }) => time.why.step_s.terms);
  assert.ok(a100.flops <= plain.flops && h100.flops > 2 * a100.flops);
  assert.equal(a100.dense_bytes < plain.dense_bytes, true);
});

test("SGLang reads prompts that wait before it goes on, vLLM between its steps", () => {
  const job = (engine) => ({ task: "infer", model: "llama-3.1-8b", hardware: { gpu: "H100", count: 1 }, infer: { engine, prompt: 4000, output: 100, concurrency: 64 } });
  const [vllm, sglang] = planAll([job("vllm"), job("sglang")]).map(({ time }) => time);
  const wait = ({ why }) => why.tpot_s.terms.shared_prompt_s;
  assert.ok(wait(vllm) < vllm.why.prompt_s.value && wait(sglang) > 0.5 * 63 * sglang.why.prompt_s.value / 100);
});
