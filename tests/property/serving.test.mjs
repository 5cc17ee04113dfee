/** Speeds of serving move the way they must. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll } from "../support/engine.mjs";

const ENGINES = ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "gpt-fast", "mlx", "lmdeploy"];
const job = (engine, infer = {}, hardware = { gpu: "H100", count: 1 }, model = "meta-llama/Llama-3.1-8B") =>
  ({ task: "infer", model, hardware, infer: { engine, prompt: 1024, output: 256, concurrency: 1, ...infer } });
const FIGURES = ["ttft_s", "tpot_s", "prefill_tok_s", "decode_tok_s", "throughput_tok_s"];

test("each figure lies in its range", () => {
  for (const { time } of planAll(ENGINES.map((engine) => job(engine)))) {
    for (const name of FIGURES) assert.ok(time[`${name}_low`] < time[name] && time[name] < time[`${name}_high`], name);
  }
});

test("without room for a cache no crowd is served", () => {
  const [full, roomy] = planAll([1, 2].map((count) => job("vllm", { concurrency: undefined, tp: count }, { gpu: "A100 SXM4 40GB", count }, "Qwen/Qwen2.5-32B")));
  assert.deepEqual([full.verdict, full.kv.max_tokens, full.time.sequences], ["no", 0, 1]);
  assert.equal(roomy.verdict, "fits");
  assert.ok(roomy.time.sequences > 1 && roomy.time.tpot_s > full.time.tpot_s / 2, `${roomy.time.sequences}`);
});

test("groups of data-parallel attention read their prompts at the same time", () => {
  const served = (attention_dp) => job("sglang", { concurrency: undefined, context: 8192, prompt: undefined, weights: "fp8", tp: 8, attention_dp }, { gpu: "H200", count: 8 }, "deepseek-ai/DeepSeek-V3");
  const [split, groups] = planAll([1, 8].map(served));
  assert.ok(groups.time.sequences > 4 * split.time.sequences, "a latent is whole on each rank, so groups hold more of them");
  assert.ok(groups.time.throughput_tok_s > split.time.throughput_tok_s, `${groups.time.throughput_tok_s} ${split.time.throughput_tok_s}`);
  assert.ok(groups.time.throughput_tok_s < 8 * split.time.throughput_tok_s);
});

test("where a job is a little too large for vLLM's share, a larger one is the first knob", () => {
  const served = (memory_utilization, engine = "vllm") => job(engine, { tp: 2, memory_utilization }, { gpu: "H100 SXM5 80GB", count: 2 }, "meta-llama/Llama-3.1-70B");
  const [short, wide, other] = planAll([served(undefined), served(0.95), served(undefined, "tensorrt-llm")]);
  assert.equal(short.verdict, "no");
  assert.deepEqual([short.advice[0].id, short.advice[0].set, short.advice[0].saves_bytes], ["memory_share", { "infer.memory_utilization": 0.95 }, 0]);
  assert.equal(short.advice[0].verdict_after, wide.verdict);
  for (const { advice } of [wide, other]) assert.ok(!advice.some(({ id }) => id === "memory_share"));
});

test("more bandwidth makes no engine slower, fewer bits mostly faster", () => {
  for (const engine of ENGINES) {
    const gpu = (bandwidth) => ({ gpu: { name: "x", memory_gib: 80, bandwidth_gb_s: bandwidth, like: "H100 SXM5 80GB" }, count: 1 });
    const [slow, fast] = planAll([job(engine, {}, gpu(1000)), job(engine, {}, gpu(2000))]);
    assert.ok(fast.time.decode_tok_s >= slow.time.decode_tok_s, engine);
  }
  const [whole, packed] = planAll([job("vllm"), job("vllm", { weights: "awq" })]);
  assert.ok(packed.time.decode_tok_s > whole.time.decode_tok_s);
});

test("a longer context makes each token slower, a longer prompt the first one later", () => {
  for (const engine of ENGINES) {
    const [short, long] = planAll([job(engine), job(engine, { prompt: 8192 })]);
    assert.ok(long.time.decode_tok_s < short.time.decode_tok_s || engine === "transformers", engine);
    assert.ok(long.time.ttft_s > short.time.ttft_s, engine);
  }
});

test("along the curve throughput does not fall and a token comes no sooner", () => {
  for (const engine of ["vllm", "sglang", "tensorrt-llm"]) {
    for (const model of ["meta-llama/Llama-3.1-8B", "openai/gpt-oss-20b"]) {
      const [{ time }] = planAll([job(engine, {}, { gpu: "H100", count: 1 }, model)]);
      assert.ok(time.curve.length > 4);
      time.curve.slice(1).forEach((point, index) => {
        assert.ok(point.tpot_s >= time.curve[index].tpot_s, `${engine} ${model} ${point.sequences}`);
        assert.ok(point.throughput_tok_s >= 0.95 * time.curve[index].throughput_tok_s, `${engine} ${model} ${point.sequences}`);
      });
    }
  }
});

test("the most sequences within a target keep it, and one more does not", () => {
  const target = 0.02;
  const [{ time }] = planAll([job("vllm", { tpot_target_s: target })]);
  const [at, above] = planAll([0, 1].map((more) => job("vllm", { concurrency: time.within_targets + more })));
  assert.ok(at.time.tpot_s <= target && above.time.tpot_s > target, JSON.stringify(time));
  const [none] = planAll([job("vllm", { tpot_target_s: 0.0001 })]);
  assert.equal(none.time.within_targets, 0);
});

test("experts in host memory leave the device, and cost time", () => {
  const here = { gpu: "RTX 4090", count: 1 };
  const [device, host, fast] = planAll([false, true, true].map((experts_on_host, index) => job("llama.cpp",
    { weights: "gguf:Q4_K_M", context: 4096, experts_on_host },
    { ...here, ...(index === 2 ? { host_bandwidth_gb_s: 400 } : {}) }, "Qwen/Qwen3-30B-A3B")));
  const weights = ({ memory }) => memory.stages[0].items.filter(({ id, phases }) => id === "weights" && phases.length > 0)
    .reduce((sum, item) => sum + item.bytes, 0);
  assert.ok(weights(host) < 0.2 * weights(device));
  assert.ok(Math.abs(host.memory.host_bytes + weights(host) - device.memory.host_bytes - weights(device)) < 1000);
  assert.ok(host.time.decode_tok_s < fast.time.decode_tok_s && fast.time.decode_tok_s < device.time.decode_tok_s);
});

test("ik_llama.cpp moves experts to the host only when the devices do not hold them", () => {
  const plans = planAll([1, 16].map((count) => job("ik_llama.cpp", { weights: "gguf:IQ1_S", context: 4096 }, { gpu: "RTX 3090", count }, "deepseek-ai/DeepSeek-V3")));
  assert.ok(plans[0].memory.host_bytes > 50e9 && plans[1].memory.host_bytes < 5e9 * 16, JSON.stringify(plans.map(({ memory }) => memory.host_bytes)));
  assert.equal(plans[0].verdict !== "no", true);
});

test("guessed tokens help when they are right and cost when they are wrong; a cached prefix need not be read", () => {
  const [plain, right, wrong, hit] = planAll([{}, { draft_tokens: 3, draft_acceptance: 0.9 }, { draft_tokens: 3, draft_acceptance: 0 },
    { prefix_hit_rate: 0.75 }].map((infer) => job("vllm", { ...infer, prompt: 8192 })));
  assert.ok(right.time.decode_tok_s > 2 * plain.time.decode_tok_s);
  assert.ok(wrong.time.decode_tok_s < plain.time.decode_tok_s);
  assert.ok(hit.time.ttft_s < 0.5 * plain.time.ttft_s && hit.time.decode_tok_s === plain.time.decode_tok_s);
});

test("a window bounds what a token reads", () => {
  for (const engine of ["vllm", "transformers", "llama.cpp"]) {
    const jobs = ["mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-v0.3"].flatMap((model) =>
      [2048, 8192, 131072].map((context) => job(engine, { prompt: undefined, output: 64, context }, { gpu: "A100 SXM4 80GB" }, model)));
    const speeds = planAll(jobs, "brief").map((report) => report.time.decode_tok_s);
    assert.ok(Math.abs(speeds[0] / speeds[3] - 1) < 0.01, `${engine}: no token is outside of the window yet`);
    assert.ok(speeds[2] > 0.95 * speeds[1], `${engine}: ${speeds}`);
    assert.ok(speeds[5] < 0.8 * speeds[4], `${engine}: ${speeds}`);
  }
});

// github.com/ggml-org/llama.cpp, tools/llama-bench/README.md of August 2023: Llama 2 7B in Q4_0, sent layer by layer.
test("layers, their cache and the output matrix that stay on the host cost what llama-bench measured", () => {
  const measured = { 10: 13.45, 20: 21.36, 30: 40.04, 33: 60.62, 35: 131.66 };
  const jobs = Object.keys(measured).map((gpu_layers) => job("llama.cpp", {
    weights: "gguf:Q4_0", prompt: 512, output: 128, gpu_layers: Number(gpu_layers), engine_version: "2023-08",
  }, { gpu: "RTX 3090 Ti", count: 1 }, "meta-llama/Llama-2-7b-hf"));
  Object.values(measured).forEach((tokens, index) => {
    const { time } = planAll(jobs)[index];
    assert.ok(time.decode_tok_s_low < tokens && tokens < time.decode_tok_s_high, `${tokens}: ${time.decode_tok_s}`);
  });
  // Builds since December 2023 keep a layer's cache where the layer is: 33 layers send all of it.
  const [all, more] = planAll([33, 35].map((gpu_layers) =>
    job("llama.cpp", { weights: "gguf:Q4_0", gpu_layers }, { gpu: "RTX 3090 Ti", count: 1 }, "meta-llama/Llama-2-7b-hf")));
  assert.equal(all.time.decode_tok_s, more.time.decode_tok_s);
});

test("steps that no graph holds wait for the host, in small models only", () => {
  const at = (engine_version, prompt, model, more = {}) =>
    job("vllm", { engine_version, prompt, output: 2048, ...more }, { gpu: "A100", count: 1 }, model);
  const small = "Qwen/Qwen2-0.5B", large = "Qwen/Qwen2.5-14B";
  const rates = planAll([
    at("vllm 0.4.2", 6144, small), at("vllm 0.4.2", 14336, small), at("vllm 0.6.3", 14336, small),
    at("vllm 0.6.3", 14336, small, { enforce_eager: true }), at("vllm 0.6.3", 6144, large),
    at("vllm 0.6.3", 6144, large, { enforce_eager: true }),
  ]).map(({ time }) => time.decode_tok_s);
  assert.ok(rates[1] < 0.6 * rates[0], "beyond 8192 tokens 0.4.2 launches kernel by kernel");
  assert.ok(rates[2] > 0.9 * rates[0], "0.6.3 does not");
  assert.equal(rates[3], rates[1]);
  assert.equal(rates[5], rates[4], "the device is the limit of a large model");
});

test("transformers got faster with its releases, and slower over several devices", () => {
  const [old, later, now, spread] = planAll(["2023", "transformers 4.46.0", "transformers 4.51.3", "transformers 4.51.3"].map(
    (engine_version, index) => job("transformers", { engine_version }, { gpu: "A100", count: index === 3 ? 2 : 1 })));
  const rates = [old, later, now, spread].map(({ time }) => time.decode_tok_s);
  assert.ok(rates[0] < rates[1] && rates[1] < rates[2] && rates[3] < rates[2], rates.join(" "));
});

// github.com/ikawrakow/ik_llama.cpp logs: 17.3 GiB on the device, whichever type the experts on the host have.
test("types repacked for the host are those of the experts alone", () => {
  const onDevice = ({ memory }) => memory.stages[0].items.filter(({ id, phases }) => id === "weights" && phases.length > 0)
    .reduce((sum, { bytes }) => sum + bytes, 0);
  const bytes = planAll([["IQ2_K_R4", 2.375], ["IQ4_K_R4", 4.5]].map(([gguf, bits]) =>
    job("ik_llama.cpp", { weights: { gguf, bits }, context: 4096 }, { gpu: "RTX 4090", count: 1 }, "deepseek-ai/DeepSeek-V3"))).map(onDevice);
  assert.equal(bytes[0], bytes[1]);
  assert.ok(Math.abs(bytes[0] / (17.328 * 2 ** 30) - 1) < 0.08, `${bytes[0]}`);
});

test("a prompt longer than the window is read sooner than one of which all is seen", () => {
  for (const engine of ["vllm", "llama.cpp", "transformers"]) {
    const [short, windowed, whole] = planAll([["v0.1", 4096], ["v0.1", 32768], ["v0.3", 32768]].map(([version, prompt]) =>
      job(engine, { prompt, output: 64 }, { gpu: "H100", count: 1 }, `mistralai/Mistral-7B-${version}`)));
    assert.ok(windowed.time.prefill_tok_s > 1.05 * whole.time.prefill_tok_s, engine);
    assert.ok(windowed.time.prefill_tok_s < 1.5 * short.time.prefill_tok_s, engine);
  }
});

test("tensor parallelism over several machines is slower than within one", () => {
  const [one, two, eight] = planAll([8, 4, 1].map((per_node) =>
    job("vllm", { tp: 8 }, { gpu: "H100", count: 8, per_node }, "meta-llama/Llama-3.1-70B")));
  assert.ok(two.time.decode_tok_s < 0.8 * one.time.decode_tok_s, `${two.time.decode_tok_s} ${one.time.decode_tok_s}`);
  assert.ok(eight.time.decode_tok_s <= two.time.decode_tok_s);
});

test("groups of data-parallel attention keep no copies of a latent: each has a cache of its own", () => {
  const serve = (engine, infer) => job(engine, { weights: "fp8", output: 1024, concurrency: 64, ...infer },
    { gpu: "H200", count: 8 }, "deepseek-ai/DeepSeek-V3");
  const [together, within, named, replicas] = planAll([serve("sglang", { tp: 8 }), serve("sglang", { tp: 8, attention_dp: 8 }),
    serve("sglang", { tp: 8, dp: 8 }), serve("vllm", { tp: 1, attention_dp: 8 })]);
  const cache = ({ memory }) => memory.stages[0].items.filter(({ id }) => id === "kv_cache").reduce((sum, { bytes }) => sum + bytes, 0);
  for (const apart of [within, replicas]) {
    assert.equal(cache(together), 8 * cache(apart));
    assert.equal(apart.kv.bytes, together.kv.bytes);
    assert.equal(apart.kv.max_tokens, 8 * apart.waterfall.tokens);
    assert.ok(apart.kv.max_concurrency > 4 * together.kv.max_concurrency);
    assert.deepEqual([apart.parallel.attention_dp, apart.parallel.attention_tp], [8, 1]);
  }
  assert.deepEqual(named.kv, within.kv);
  assert.deepEqual(named.memory, within.memory);
});

test("where ranks hold copies of a cache, data-parallel attention is proposed, and a job with it is as planned", () => {
  for (const [engine, set] of [["sglang", { attention_dp: 8 }], ["tensorrt-llm", { attention_dp: 8 }], ["vllm", { tp: 1, attention_dp: 8 }]]) {
    const serve = (infer) => job(engine, { weights: "fp8", prompt: 8192, concurrency: 512, tp: 8, ...infer }, { gpu: "H200", count: 8 },
      "deepseek-ai/DeepSeek-V3");
    const [before, after] = planAll([serve({}), serve(set)]);
    const knob = before.advice.find(({ id }) => id === "attention_dp");
    assert.deepEqual(knob.set, Object.fromEntries(Object.entries(set).map(([name, value]) => [`infer.${name}`, value])), engine);
    assert.equal(knob.peak_bytes_after, after.memory.peak_bytes);
    assert.ok(!after.advice.some(({ id }) => id === "attention_dp"));
  }
  const [dense] = planAll([job("sglang", { tp: 8, concurrency: 512 }, { gpu: "H100", count: 8 }, "meta-llama/Llama-3.1-70B")]);
  assert.ok(!dense.advice.some(({ id }) => id === "attention_dp"));
});

test("decode context parallelism shares a cache out over the ranks that would hold copies of it", () => {
  const cases = [["deepseek-ai/DeepSeek-V3", "vllm", 8], ["deepseek-ai/DeepSeek-V3", "sglang", 8], ["Qwen/Qwen3-235B-A22B", "vllm", 2]];
  for (const [model, engine, dcp] of cases) {
    const serve = (infer) => job(engine, { weights: "fp8", tp: 8, concurrency: 64, context: 16384, ...infer }, { gpu: "H200", count: 8 }, model);
    const [whole, shared, crowded] = planAll([serve({}), serve({ dcp }), serve({ concurrency: 512 })]);
    const cache = ({ memory }) => memory.stages[0].items.find(({ id }) => id === "kv_cache").bytes;
    assert.equal(cache(whole), dcp * cache(shared), model);
    assert.equal(shared.kv.bytes, whole.kv.bytes);
    assert.equal(shared.kv.bytes_per_token, whole.kv.bytes_per_token);
    assert.ok(Math.abs(shared.kv.max_tokens / whole.kv.max_tokens - dcp) < 1e-4);
    assert.equal(shared.parallel.dcp, dcp);
    assert.ok(shared.time.decode_tok_s < whole.time.decode_tok_s, "one short sequence pays for the collectives");
    assert.ok(shared.assumptions.some(({ code }) => code === "dcp_not_measured"));
    const knob = crowded.advice.find(({ id }) => id === "dcp");
    assert.deepEqual(knob.set, { "infer.dcp": dcp });
    assert.ok(!shared.advice.some(({ id }) => id === "dcp"));
  }
  const [sparse, shared] = planAll([{}, { dcp: 8 }].map((infer) =>
    job("sglang", { tp: 8, context: 16384, ...infer }, { gpu: "H200", count: 8 }, "deepseek-ai/DeepSeek-V3.2")));
  const bytes = ({ memory }, formula) => memory.stages[0].items.find((item) => item.formula_id.startsWith(formula)).bytes;
  assert.equal(bytes(sparse, "kv_cache.latent"), 8 * bytes(shared, "kv_cache.latent"));
  assert.equal(bytes(sparse, "kv_cache.index"), bytes(shared, "kv_cache.index"), "SGLang keeps the indexer's keys on every GPU");
});

test("a device more hands a step on; prompts are read as builds of their time read them", () => {
  const l3 = (count, infer) => job("llama.cpp", { weights: "gguf:Q4_K_M", ...infer }, { gpu: "RTX 3090", count });
  const [one, six, old, early] = planAll([l3(1), l3(6), l3(1, { engine_version: "b1680" }), l3(1, { engine_version: "b2833" })]);
  const hops_s = 1 / six.time.decode_tok_s - 1 / one.time.decode_tok_s;
  assert.ok(Math.abs(hops_s - 5 * 200e-6) < 1e-7, String(hops_s));
  assert.ok(old.time.prefill_tok_s < early.time.prefill_tok_s && early.time.prefill_tok_s < one.time.prefill_tok_s);
});

test("on Apple's devices unpacking limits packed weights, not whole ones", () => {
  // github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference: 34.5 and 18.4 tokens/s of Llama 3 8B on M1 Max, 4.1 of 70B
  const mac = (weights, model) => job("llama.cpp", { weights }, { gpu: "Apple M1 Max", count: 1 }, model);
  const [packed, whole, large] = planAll([mac("gguf:Q4_K_M"), mac("gguf:F16"), mac("gguf:Q4_K_M", "meta-llama/Meta-Llama-3-70B")]);
  for (const [report, measured] of [[packed, 34.49], [whole, 18.43], [large, 4.09]])
    assert.ok(Math.abs(report.time.decode_tok_s / measured - 1) < 0.2, `${report.time.decode_tok_s}, measured ${measured}`);
});

test("of a host of which nothing is said a plan is less sure", () => {
  const [open, stated] = planAll([{}, { host_bandwidth_gb_s: 75 }].map((host) => job("llama.cpp",
    { weights: "gguf:Q4_K_M", context: 4096, experts_on_host: true }, { gpu: "RTX 3090", count: 1, ...host }, "Qwen/Qwen3-30B-A3B")));
  const width = ({ time }, name) => time[`${name}_high`] / time[`${name}_low`];
  for (const name of ["decode_tok_s", "tpot_s", "throughput_tok_s"]) assert.ok(width(open, name) > 2 * width(stated, name), name);
});

test("a library reads the prompts of its batch at once, and its tokens wait for none of them", () => {
  const [one, eight, long] = planAll([[1, 256], [8, 256], [8, 1024]].map(([concurrency, prompt]) => job("transformers", { concurrency, prompt })));
  assert.ok(eight.time.ttft_s > 1.2 * one.time.ttft_s && eight.time.prefill_tok_s > one.time.prefill_tok_s);
  const step = ({ time }) => time.why.step_s.value;
  for (const report of [eight, long]) assert.ok(Math.abs(report.time.tpot_s / step(report) - 1) < 1e-9);
  const { throughput_tok_s: found, why } = eight.time;
  assert.ok(Math.abs(found - 8 * 256 / (256 * why.step_s.value + why.prompt_s.value)) < 1e-6 * found);
});

test("a static cache is read once for every query head", () => {
  // github.com/pytorch-labs/gpt-fast: 104.9 tokens/s of Llama 2 7B, whose heads all have keys of their own, on an A100;
  // github.com/pytorch/ao: 1.95 of Llama 3.1 8B with a cache of 131,072 places
  const a100 = { gpu: "A100 SXM4 80GB", count: 1 };
  const [mha, gqa] = planAll([job("gpt-fast", { prompt: 5, output: 200 }, a100, "meta-llama/Llama-2-7b-hf"), job("gpt-fast", { prompt: 5, output: 200, context: 131072 }, a100)]);
  assert.ok(Math.abs(mha.time.decode_tok_s / 104.9 - 1) < 0.15, String(mha.time.decode_tok_s));
  assert.ok(Math.abs(gqa.time.decode_tok_s / 1.95 - 1) < 0.15, String(gqa.time.decode_tok_s));
});

test("states bound the sequences at once: the pool holds the cache and the states of so many and of no more", () => {
  for (const engine of ["vllm", "sglang"]) {
    const serve = (infer) => job(engine, { weights: "fp8", context: 4096, ...infer }, { gpu: "H100", count: 1 }, "Qwen/Qwen3.5-27B");
    const [one, long] = planAll([serve({}), serve({ context: 65536 })]);
    const { max_concurrency: most, max_tokens: tokens } = one.kv;
    assert.ok(most > 1 && most < 0.9 * tokens / 4096, `${engine}: ${most} sequences, tokens for ${tokens / 4096}`);
    assert.equal(Math.floor(one.waterfall.sequences), most, engine);
    assert.ok(long.kv.max_concurrency > most / 16, `${engine}: states do not grow with the context`);
    const [full, over] = planAll([serve({ concurrency: most }), serve({ concurrency: most + 1 })]);
    assert.deepEqual([full.verdict === "no", over.verdict], [false, "no"], engine);
  }
  const [starts, refuses] = planAll([{ max_num_seqs: 64 }, {}].map((infer) =>
    job("vllm", { weights: "fp8", ...infer }, { gpu: "H100", count: 1 }, "Qwen/Qwen3.5-27B")));
  const warned = ({ warnings }) => warnings.find(({ code }) => code === "states_not_enough");
  assert.ok(warned(refuses).args.pages < 1024 && warned(refuses).args.max_num_seqs === 1024);
  assert.equal(warned(starts), undefined);
});
