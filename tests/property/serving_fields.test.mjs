/** No setting of a serving job is passed over in silence: it changes the plan, or the plan says that it does not. */
import test, { describe } from "node:test";
import assert from "node:assert/strict";
import { answerAll, planAll, withSetting } from "../support/engine.mjs";

const traffic = { prompt: 2000, output: 400 };
const BASES = {
  vllm: { task: "infer", model: "llama-3.1-8b", hardware: { gpu: "H100", count: 2 }, infer: { ...traffic, engine: "vllm", concurrency: 64 } },
  sglang: { task: "infer", model: "deepseek-v3", hardware: { gpu: "H200", count: 8 }, infer: { ...traffic, engine: "sglang", tp: 8, concurrency: 64 } },
  "tensorrt-llm": { task: "infer", model: "llama-3.1-70b", hardware: { gpu: "H100", count: 4 }, infer: { ...traffic, engine: "tensorrt-llm", concurrency: 64 } },
  "llama.cpp": { task: "infer", model: "gpt-oss-120b", hardware: { gpu: "RTX 3090", count: 2 }, infer: { ...traffic, engine: "llama.cpp", weights: "gguf:Q4_K_M", concurrency: 2 } },
  transformers: { task: "infer", model: "llama-3.1-8b", hardware: { gpu: "A100" }, infer: { ...traffic, engine: "transformers", concurrency: 4 } },
  exllamav2: { task: "infer", model: "llama-3.1-8b", hardware: { gpu: "RTX 4090" }, infer: { ...traffic, engine: "exllamav2", weights: "exl2:4.0", concurrency: 2 } },
  mlx: { task: "infer", model: "llama-3.1-8b", hardware: { gpu: "M2 Ultra" }, infer: { ...traffic, engine: "mlx", weights: "mlx:q4-g64", concurrency: 2 } },
  tgi: { task: "infer", model: "llama-3.1-8b", hardware: { gpu: "A100" }, infer: { ...traffic, engine: "tgi", concurrency: 16 } },
  lmdeploy: { task: "infer", model: "llama-3.1-8b", hardware: { gpu: "A100" }, infer: { ...traffic, engine: "lmdeploy", concurrency: 16 } },
  ktransformers: { task: "infer", model: "deepseek-v3", hardware: { gpu: "RTX 4090" }, infer: { ...traffic, engine: "ktransformers", weights: "gguf:Q4_K_M", concurrency: 2 } },
};

/** Values that none of the bases has by itself. */
const OTHER = {
  "infer.engine_version": ["b1500", "0.4", "4.30", "today"], "infer.weights": ["fp32", "gguf:Q2_K"], "infer.weight_bits": [2.5],
  "infer.kv": ["fp8", "fp32"], "infer.context": [32768], "infer.concurrency": [5, 300], "infer.prompt": [0, 9000], "infer.output": [0, 900],
  "infer.memory_utilization": [0.5], "infer.tp": [2, 4], "infer.pp": [4], "infer.dp": [4], "infer.ep": [0, 2, 8], "infer.attention_dp": [2], "infer.dcp": [2, 8],
  "infer.max_num_seqs": [7], "infer.max_batched_tokens": [64, 65536], "infer.ubatch": [32], "infer.batch_tokens": [32], "infer.gpu_layers": [0, 7],
  "infer.flash_attention": [false], "infer.enforce_eager": [true], "infer.sequences": [7], "infer.context_per_sequence": [300, 30000],
  "infer.kv_unified": [true], "infer.outputs_max": [3], "infer.swa_full": [true], "infer.ttft_target_s": [1], "infer.tpot_target_s": [0.03],
  "infer.prefix_hit_rate": [0.5], "infer.draft_tokens": [3], "infer.draft_acceptance": [0.5], "hardware.host_bandwidth_gb_s": [33],
  "hardware.interconnect": ["PCIe 3.0 x16", "smoke signals"],
};
OTHER["infer.experts_on_host"] = [true, false];
OTHER["infer.host_expert_layers"] = [5];
OTHER["infer.override_tensors"] = ["ffn_down_exps=CPU", "no rule", "output=CPU"];
/** What a base has by itself: an engine that is made for experts on the host puts them there. */
const OWN = { vllm: { "infer.tp": 2 }, "tensorrt-llm": { "infer.tp": 4 }, "llama.cpp": { "infer.experts_on_host": false }, ktransformers: { "infer.experts_on_host": true } };
const isOwn = (engine, path, value) => OWN[engine]?.[path] === value;

/** What a plan comes to, without the texts. */
const figures = ({ verdict, memory, kv, time, parallel }) => JSON.stringify({ verdict, memory, kv, time: { ...time, why: undefined }, parallel });
const speaksOf = (report, path) => [...report.assumptions, ...report.warnings].some((row) => row.path === path && row.code !== "solved_value");

describe("a setting of serving acts, or the plan says that it has no effect", () => {
  const [{ fields }] = answerAll([{ op: "catalog", kind: "fields" }]);
  const own = fields.map((field) => field.path).filter((path) => path.startsWith("infer.") && path !== "infer.engine");
  test("every field of serving is tried", () => assert.deepEqual(own.filter((path) => !(path in OTHER)), []));
  for (const [engine, job] of Object.entries(BASES)) {
    test(engine, () => {
      const tries = Object.entries(OTHER).flatMap(([path, values]) => values.filter((value) => !isOwn(engine, path, value)).map((value) => [path, value]));
      const [plain, ...reports] = planAll([job, ...tries.map(([path, value]) => withSetting(job, path, value))]);
      assert.equal(plain.errors, undefined);
      for (const [index, [path, value]] of tries.entries()) {
        const report = reports[index], what = `${path} = ${value}`;
        if (report.errors) {
          assert.ok(report.errors.every((error) => error.path === path || error.path === "hardware.count"), `${what}: ${JSON.stringify(report.errors)}`);
          continue;
        }
        const isSaid = report.assumptions.some((row) => row.path === path && row.code === "not_modelled");
        const acts = figures(report) !== figures(plain);
        assert.ok(acts || speaksOf(report, path), `${what} is passed over`);
        assert.ok(!(acts && isSaid), `${what} is said to have no effect and has one`);
      }
    });
  }
});

test("a context for each sequence counts for llama.cpp without a number of sequences, and another context beside it is told", () => {
  const job = (engine, more) => ({ ...BASES[engine], infer: { ...BASES[engine].infer, ...more } });
  const [plain, each, both, agreeing] = planAll([
    job("llama.cpp", { context: 8192 }), job("llama.cpp", { context_per_sequence: 8192 }),
    job("llama.cpp", { context: 8192, context_per_sequence: 4096 }), job("llama.cpp", { context: 8192, context_per_sequence: 4096, sequences: 2 }),
  ]);
  assert.deepEqual(each.kv, plain.kv);
  const isNoted = (report) => report.assumptions.some((row) => row.code === "not_modelled" && row.path === "infer.context_per_sequence");
  assert.deepEqual([each, both, agreeing].map(isNoted), [false, true, false]);
});

test("every engine has a curve over more users, and tells how many keep the targets", () => {
  for (const job of Object.values(BASES)) {
    const [report, { time: wide }, { time: narrow }] = planAll([job, withSetting(withSetting(job, "infer.ttft_target_s", 3600), "infer.tpot_target_s", 60),
      withSetting(job, "infer.tpot_target_s", 0.0001)]);
    const { time: { curve }, kv } = report;
    assert.ok(curve.length >= 1, job.infer.engine);
    assert.equal(narrow.within_targets, 0, job.infer.engine);
    assert.equal(wide.within_targets, curve.at(-1).sequences, job.infer.engine);
    if (["transformers", "exllamav2", "mlx"].includes(job.infer.engine)) assert.equal(curve.at(-1).sequences, kv.max_concurrency);
    for (const [index, point] of curve.entries()) {
      for (const name of ["ttft_s", "tpot_s", "throughput_tok_s"]) assert.ok(point[`${name}_low`] < point[name] && point[name] < point[`${name}_high`], name);
      if (index > 0) assert.ok(point.sequences > curve[index - 1].sequences && point.tpot_s >= curve[index - 1].tpot_s);
    }
  }
});

test("a step tells how many experts it uses, what its layers take at least, and how long its GPUs take to add up", () => {
  const at = (concurrency, count, model, more = {}) => ({ task: "infer", model, hardware: { gpu: "H100", count }, infer: { engine: "vllm", prompt: 1024, output: 256, concurrency, ...more } });
  const [one, eight, guessed, dense, two] = planAll([at(1, 2, "mixtral-8x7b"), at(8, 2, "mixtral-8x7b"), at(8, 2, "mixtral-8x7b", { draft_tokens: 1 }),
    at(8, 1, "llama-3.1-8b"), at(8, 2, "llama-3.1-8b")]).map(({ time }) => time);
  // 2 of 8 experts for each token: 8 tokens miss 0.75^8 of them, 16 tokens (8 and 8 guesses) 0.75^16.
  assert.equal(one.experts_touched, 2);
  assert.ok(Math.abs(eight.experts_touched - 8 * (1 - 0.75 ** 8)) < 1e-12 && Math.abs(guessed.experts_touched - 8 * (1 - 0.75 ** 16)) < 1e-12);
  assert.deepEqual([dense.experts_touched, dense.reduce_s, two.experts_touched], [undefined, undefined, undefined]);
  // Two all-reduces in each of 32 layers; a ring of two moves 2 (2 - 1) / 2 of 8 rows of 4096 values of 2 bytes.
  const { reduces, moved_bytes, passes } = two.why.reduce_s.terms;
  assert.deepEqual({ reduces, moved_bytes, passes }, { reduces: 64, moved_bytes: 8 * 4096 * 2, passes: 1 });
  assert.equal(two.why.step_s.terms.reduce_s, two.reduce_s);
  assert.equal(two.why.floor_s.terms.layers, 32);
  for (const time of [one, eight, dense, two]) assert.ok(time.floor_s > 0 && time.floor_s <= time.why.step_s.terms.latency_s);
});

test("the cache of layers that llama.cpp leaves to the host lies there, and the rest has the room", () => {
  const at = (gpu_layers) => ({ task: "infer", model: "llama-3.1-8b", hardware: { gpu: "RTX 4090" }, infer: { engine: "llama.cpp", weights: "gguf:Q4_K_M", context: 8192, gpu_layers } });
  const [none, some, all] = planAll([0, 8, 33].map(at));
  const token = 2 * 32 * 8 * 128 * 2, item = ({ memory }) => memory.stages[0].items.filter(({ id }) => id === "kv_cache").reduce((sum, { bytes }) => sum + bytes, 0);
  for (const report of [none, some, all]) assert.equal(report.kv.bytes, 8192 * token);
  assert.deepEqual([none, some, all].map(item), [0, 8192 * token / 4, 8192 * token]);
  assert.equal(none.memory.host_bytes - none.memory.weights.host_bytes, 8192 * token);
  assert.equal(some.memory.host_bytes - some.memory.weights.host_bytes, 8192 * token * 3 / 4);
  assert.deepEqual([none.kv.max_tokens, none.kv.pool_bytes, none.memory.weights.device_bytes], [undefined, undefined, undefined]);
  assert.ok(Math.abs(some.kv.max_tokens - some.kv.pool_bytes / (token / 4)) <= 1);
});

test("without captured graphs a step of a small model waits for the host, under every server that captures them", () => {
  for (const engine of ["vllm", "sglang", "tgi"]) {
    const at = (infer) => ({ task: "infer", model: "llama-3.1-8b", hardware: { gpu: "H100" }, infer: { ...traffic, engine, concurrency: 1, ...infer } });
    const [graphs, eager] = planAll([at({}), at({ enforce_eager: true })]);
    // 32 layers of at least 0.34 ms
    assert.ok(eager.time.tpot_s >= 32 * 340e-6 && eager.time.tpot_s > graphs.time.tpot_s, engine);
    assert.ok(eager.kv.pool_bytes >= graphs.kv.pool_bytes, engine);
  }
});
