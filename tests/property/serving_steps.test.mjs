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

test("a checkpoint in NVFP4 has its cache in fp8 under TensorRT-LLM, unless the job says otherwise", () => {
  const job = (engine, weights, more) => ({ task: "infer", model: "llama-3.1-70b", hardware: { gpu: "B200" }, infer: { engine, weights, prompt: 1024, output: 256, ...more } });
  const token = 2 * 80 * 8 * 128;
  const bytes = planAll([job("tensorrt-llm", "nvfp4"), job("tensorrt-llm", "NVFP4", { kv: "auto" }), job("tensorrt-llm", "nvfp4", { kv: "bf16" }), job("vllm", "nvfp4"), job("tensorrt-llm", "fp8")])
    .map(({ kv }) => kv.bytes_per_token);
  assert.deepEqual(bytes, [token, token, 2 * token, 2 * token, 2 * token]);
});

test("a server that others wait for has every place taken, and its throughput no gaps", () => {
  const job = (concurrency) => ({ task: "infer", model: "llama-3.1-8b", hardware: { gpu: "A100" }, infer: { engine: "vllm", prompt: 200, output: 200, max_num_seqs: 64, concurrency } });
  const [full, queued] = planAll([job(64), job(65)]).map(({ time }) => time);
  assert.equal(full.sequences, queued.sequences);
  assert.equal(full.tpot_s, queued.tpot_s);
  assert.ok(queued.throughput_tok_s > 1.2 * full.throughput_tok_s && queued.ttft_s > full.ttft_s);
});

test("ranges of serving are wider for hundreds at once and where the job leaves facts open", () => {
  const job = (gpu, more) => ({ task: "infer", model: "llama-3.1-8b", hardware: { gpu, count: 2 }, infer: { engine: "vllm", prompt: 200, output: 200, ...more } });
  const width = (time, name) => time[`${name}_high`] / time[name];
  const [steady, crowd, open] = planAll([job("H100", { tp: 2, concurrency: 32 }), job("H100", { tp: 2, concurrency: 512 }), job("H100", { concurrency: 32 })]).map(({ time }) => width(time, "tpot_s"));
  assert.ok(Math.abs(crowd / steady - 1.4) < 1e-9 && Math.abs(open / steady - 1.4) < 1e-9);
  const one = (engine_version) => ({ task: "infer", model: "llama-2-7b", hardware: { gpu: "A100" }, infer: { engine: "transformers", prompt: 4, output: 200, ...(engine_version ? { engine_version } : {}) } });
  const [told, untold] = planAll([one("4.51"), one()]).map(({ time }) => width(time, "decode_tok_s"));
  assert.ok(Math.abs(untold / told - 1.4) < 1e-9);
});

test("what is beside the experts of gpt-oss is in 16 bits in any checkpoint of 4 bits", () => {
  const job = (model, weights) => ({ task: "infer", model, hardware: { gpu: "B200" }, infer: { engine: "tensorrt-llm", weights, prompt: 1024, output: 256 } });
  const [own, four, plain, dense, dense16] = planAll([job("gpt-oss-120b", "mxfp4"), job("gpt-oss-120b", "nvfp4"), job("gpt-oss-120b", "bf16"), job("llama-3.1-8b", "nvfp4"), job("llama-3.1-8b", "bf16")])
    .map(({ time }) => time.why.floor_s.terms.layer_s);
  assert.deepEqual([own, four], [plain, plain]);
  assert.ok(dense > dense16);
});
