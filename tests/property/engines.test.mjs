/** Memory of serving engines by what each does. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll } from "../support/engine.mjs";

const GIB = 2 ** 30;
const job = (engine, infer = {}, hardware = { gpu: "H100", count: 1 }, model = "meta-llama/Llama-3.1-8B") =>
  ({ task: "infer", model, hardware, infer: { engine, ...infer } });

test("eager attention of transformers keeps its scores, whose square DeepSeek's tables of memory show", () => {
  // github.com/deepseek-ai/DeepSeek-LLM, README, peaks on A100 40GB in November 2023, when 4.35 was the release of the day.
  const rows = [["7b", 1, 1, 4096, 21.25], ["7b", 1, 2, 2048, 19.82], ["7b", 1, 4, 1024, 19.04], ["7b", 1, 16, 1024, 37.28],
    ["67b", 8, 1, 2048, 20.01], ["67b", 8, 8, 1024, 25.69], ["67b", 8, 16, 1024, 34.54], ["7b", 1, 4, 4096, Infinity],
    ["7b", 1, 16, 2048, Infinity], ["67b", 8, 2, 4096, Infinity], ["67b", 8, 8, 2048, Infinity]];
  const plan = (infer) => planAll(rows.map(([size, count, concurrency, prompt]) => job("transformers",
    { prompt, concurrency, ...infer }, { gpu: "A100 PCIe 40GB", count }, `deepseek-ai/deepseek-llm-${size}-base`)));
  const [old, said, open, fused] = [{ engine_version: "4.35" }, { flash_attention: false, engine_version: "4.51" }, {}, { flash_attention: true }].map(plan);
  for (const [index, row] of rows.entries()) {
    const measured = row[4], { peak_bytes: peak } = old[index].memory, low = fused[index].memory;
    if (measured === Infinity) {
      assert.equal(old[index].verdict, "no", row.join(" "));
      assert.ok(["no", "tight"].includes(open[index].verdict), row.join(" "));
    } else assert.ok(Math.abs(peak / GIB / measured - 1) < 0.04, `${row}: ${peak / GIB}`);
    assert.ok(low.peak_bytes < said[index].memory.peak_bytes && said[index].memory.peak_bytes <= peak);
    assert.ok(open[index].memory.peak_bytes === low.peak_bytes);
    assert.ok(open[index].memory.high_bytes >= 0.97 * peak, "without a release the range reaches up to eager attention");
  }
});

test("a sum over the GPUs of a copy is told where tables print one", () => {
  // Qwen2 and Qwen2.5 speed benchmarks on two A100 80GB (qwen.readthedocs.io): sums of torch's peaks
  const rows = [["Qwen/Qwen2-57B-A14B", "bf16", "transformers 4.38.2", 6144, 117.81], ["Qwen/Qwen2-57B-A14B", "bf16", "transformers 4.38.2", 14336, 128.17],
    ["Qwen/Qwen2.5-72B", "awq", "transformers 4.46.0", 30720, 61.64], ["Qwen/Qwen2.5-72B", "gptq4", "transformers 4.46.0", 30720, 62.57]];
  const reports = planAll(rows.map(([model, weights, engine_version, prompt]) => job("transformers",
    { weights, engine_version, prompt, output: 2048 }, { gpu: "A100 SXM4 80GB", count: 2 }, model)));
  for (const [index, { memory: { meters } }] of reports.entries()) {
    const sum = meters.sum_allocated_bytes / GIB;
    assert.ok(Math.abs(sum / rows[index][4] - 1) < 0.02, `${rows[index]}: ${sum}`);
    assert.ok(meters.sum_allocated_bytes <= 2 * meters.allocated_bytes);
  }
  const [one] = planAll([job("transformers")]);
  assert.equal(one.memory.meters.sum_allocated_bytes, undefined);
  // Beyond 2^53 bytes a sum would not be exact: it is absent, while each GPU's are there.
  const crowd = { task: "infer", model: "moonshotai/Kimi-K3", hardware: { gpu: "H100", count: 8 },
    infer: { engine: "vllm", tp: 8, context: 16, concurrency: 16777216 } };
  const { meters: beyond } = planAll([crowd])[0].memory;
  assert.ok(Number.isSafeInteger(beyond.allocated_bytes) && beyond.allocated_bytes > 2 ** 53 / 8, `${beyond.allocated_bytes}`);
  assert.equal(beyond.sum_allocated_bytes, undefined);
});

const itemsOf = ({ memory }, id) => memory.stages[0].items.filter((item) => item.id === id).reduce((sum, { bytes }) => sum + bytes, 0);
const fallOf = ({ waterfall }, id) => waterfall.rows.find((row) => row.id === id);

test("SGLang's share holds weights and cache; passes and graphs take of what it sets aside", () => {
  // github.com/vllm-project/vllm/issues/21348: Qwen3-235B-A22B in fp8 on four H100, --mem-fraction-static 0.93, 367,404 tokens:
  // what NCCL takes on four GPUs before the weights is a gigabyte more than is counted
  const [stated] = planAll([job("sglang", { weights: "fp8", tp: 4, memory_utilization: 0.93, context: 4096 }, { gpu: "H100", count: 4 }, "Qwen/Qwen3-235B-A22B")]);
  assert.ok(Math.abs(stated.kv.max_tokens / 367404 - 1) < 0.09, String(stated.kv.max_tokens));
  // By size of the device, as its server_args.py has it; 0.88 before release 0.5.
  const shares = { "RTX 4090": 0.847, "H100": 0.836, "H200": 0.907, "L40S": 0.851 };
  for (const [gpu, share] of Object.entries(shares)) {
    const [today, old] = planAll([{}, { engine_version: "0.4.6" }].map((more) => job("sglang", more, { gpu, count: 1 })));
    const said = ({ assumptions }) => Number(assumptions.find(({ path }) => path === "infer.memory_utilization").args.value);
    assert.ok(Math.abs(said(today) - share) <= 0.0021, `${gpu}: ${said(today)}`);
    assert.equal(said(old), 0.88);
  }
});

test("macOS leaves a GPU two thirds of little memory and three quarters of much", () => {
  // recommendedMaxWorkingSetSize as llama.cpp prints it, in MiB: 10922 of 16 GB, 16384 of 24, 27648 of 36, 49152 of 64
  for (const [gib, mib] of [[16, 10922], [24, 16384], [32, 21845], [36, 27648], [64, 49152], [192, 147456]]) {
    const [report] = planAll([job("mlx", { weights: "mlx:q4-g64" }, { gpu: { name: "Mac", memory_gib: gib, like: "Apple M2" }, count: 1 }, "Qwen/Qwen3-0.6B")]);
    assert.equal(Math.floor(report.memory.usable_bytes / 2 ** 20), mib, `${gib} GB`);
    assert.equal(fallOf(report, "driver"), undefined);
    assert.equal(fallOf(report, "macos").bytes + report.memory.usable_bytes, gib * GIB);
    assert.equal(itemsOf(report, "context"), 0, "Metal has no CUDA context");
  }
});

test("LMDeploy's cache is four fifths of what loading leaves, without graphs; TGI takes nine tenths of the device", () => {
  const [lmdeploy, tgi, vllm] = planAll(["lmdeploy", "tgi", "vllm"].map((engine) => job(engine, { context: 4000 }, { gpu: "A100", count: 1 })));
  assert.equal(itemsOf(lmdeploy, "graphs"), 0);
  const pool = fallOf(lmdeploy, "pool").left_bytes, free = pool + fallOf(lmdeploy, "kept_free").bytes;
  assert.ok(Math.abs(pool / free - 0.8) < 1e-9);
  assert.equal(itemsOf(lmdeploy, "kv_cache"), 131072 * 64 * Math.ceil(4000 / 64), "blocks of 64 tokens");
  const whole = tgi.memory.capacity_bytes - fallOf(tgi, "driver").bytes;
  assert.ok(Math.abs((tgi.memory.usable_bytes - itemsOf(tgi, "graphs")) / whole - 0.9) < 1e-6);
  assert.ok(vllm.kv.max_tokens > 0.95 * tgi.kv.max_tokens && vllm.kv.max_tokens < 1.05 * tgi.kv.max_tokens);
});

test("libraries that read prompts in pieces need no more for long ones", () => {
  const work = (engine, prompt) => itemsOf(planAll([job(engine, { prompt, weights: "fp16" }, { gpu: "A100", count: 1 })])[0], "workspace");
  for (const engine of ["exllamav2", "mlx"]) assert.equal(work(engine, 32768), work(engine, 2048), engine);
  assert.ok(work("gpt-fast", 32768) > 10 * work("gpt-fast", 2048));
});

test("latents that an indexer chooses from take 656 bytes in 8 bits, which is what vLLM keeps unless told otherwise", () => {
  const serve = (engine, kv) => job(engine, { tp: 8, context: 65536, ...kv }, { gpu: "H200", count: 8 }, "deepseek-ai/DeepSeek-V3.2");
  const [open, packed, whole, sglang, packing] = planAll([serve("vllm"), serve("vllm", { kv: "fp8" }), serve("vllm", { kv: "bf16" }),
    serve("sglang"), serve("sglang", { kv: "fp8" })]);
  const layers = 61, index = 128 + 4;
  for (const { kv } of [open, packed, packing]) assert.equal(kv.bytes_per_token, layers * (512 + 4 * 4 + 2 * 64 + index));
  for (const { kv } of [whole, sglang]) assert.equal(kv.bytes_per_token, layers * (2 * 576 + index));
  assert.equal(itemsOf(open, "kv_cache"), 65536 * open.kv.bytes_per_token, "whole on every GPU");
  assert.equal(open.assumptions.find(({ path }) => path === "infer.kv").args.value, "fp8");
  const [dense] = planAll([{ ...serve("vllm"), model: "deepseek-ai/DeepSeek-V3" }]);
  assert.equal(dense.kv.bytes_per_token, layers * 2 * 576);
});

test("under vLLM the tokens of a pass have places in layers with a window until it is done", () => {
  // Gemma 3 27B: 52 of 62 layers see 1,024 tokens, 16 KV heads of 128; passes of 2,048 tokens
  const serve = (infer) => job("vllm", { max_batched_tokens: 2048, max_num_seqs: 16, ...infer }, { gpu: "H200", count: 1 }, "google/gemma-3-27b-it");
  const [long, short, within, sglang] = planAll([serve({ context: 32768 }), serve({ context: 2048 }), serve({ context: 1024 }),
    { ...serve({ context: 32768 }), infer: { engine: "sglang", context: 32768 } }]);
  const pass = ({ memory }) => memory.stages[0].items.find((item) => item.formula_id === "workspace.window_pass")?.bytes;
  const each = 52 * 2 * 16 * 128 * 2;
  assert.deepEqual([long, short, within, sglang].map(pass), [2048 * each, 1024 * each, undefined, undefined]);
});
