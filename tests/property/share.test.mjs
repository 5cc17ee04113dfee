/** The share of memory that a serving engine takes bounds all that is said of the job. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll } from "../support/engine.mjs";

const job = (engine, infer = {}, more = {}) => ({
  task: "infer", model: "meta-llama/Llama-3.1-8B", hardware: { gpu: "L4", count: 1 },
  infer: { engine, context: 4096, ...infer }, ...more,
});
/** SGLang, of the 23,034 MiB of an L4: 512 MiB, 1.5 for each of 2,048 tokens, 2 for each of 24 sequences, an eighth of 1,024. */
const DEFAULTS = { vllm: 0.9, sglang: 0.837, "tensorrt-llm": 0.9, tgi: 1, lmdeploy: 0.8 };
const NONE = ["llama.cpp", "transformers", "exllamav2", "mlx"];
const ofShare = (report) => report.assumptions.filter((row) => row.path === "infer.memory_utilization");

/** What the driver leaves of the device. */
const whole = () => planAll([job("transformers")])[0].memory.usable_bytes;
/** vLLM counts 130 of the 400 MiB of the CUDA context, TGI no graphs: 18 MiB for each of 32 layers. SGLang's share begins
 * after the context and holds neither graphs nor what its passes work with, logits of 256 sequences. */
const MIB = 2 ** 20;
const BESIDE = { vllm: 270 * MIB, tgi: 32 * 18 * MIB, sglang: (1 - 0.837) * 400 * MIB + 32 * 18 * MIB + 256 * 128256 * 40 };
const TAKES = { tgi: 0.9 };
/** Engines whose share is of what is free after loading: the cache is limited, not the device. */
const OF_REST = ["tensorrt-llm", "lmdeploy"];

test("an engine's own share is what a job may use", () => {
  for (const [engine, share] of Object.entries(DEFAULTS)) {
    const [report] = planAll([job(engine)]);
    const limit = OF_REST.includes(engine) ? whole() : Math.floor(share * (TAKES[engine] ?? 1) * whole() + (BESIDE[engine] ?? 0));
    assert.equal(report.memory.usable_bytes, limit, engine);
    assert.equal(report.hardware.usable_bytes, report.memory.usable_bytes, engine);
    assert.deepEqual(ofShare(report).map(({ code, args }) => [code, args.value, args.from]),
      [["derived_value", String(share), "infer.engine"]]);
  }
  const [host] = planAll([job("vllm", {}, { hardware: { gpu: "cpu", host_ram_gib: 64 } })]);
  assert.equal(host.memory.usable_bytes, 64 * 2 ** 30);
});

test("other engines take what they need", () => {
  for (const engine of NONE) {
    const [open, half] = planAll([job(engine), job(engine, { memory_utilization: 0.5 })]);
    assert.equal(open.memory.usable_bytes, whole(), engine);
    assert.deepEqual(ofShare(open), [], engine);
    assert.equal(half.memory.usable_bytes, whole(), engine);
    assert.deepEqual(ofShare(half).map((row) => row.code), ["not_modelled"], engine);
  }
});

test("vLLM's graphs lie beside its share before release 0.21", () => {
  const [old, recent] = planAll(["0.20.0", "0.21.0"].map((engine_version) => job("vllm", { engine_version })));
  assert.equal(old.memory.usable_bytes - recent.memory.usable_bytes, 32 * 18 * 2 ** 20);
});

test("verdict, maxima and pool go by the share", () => {
  const shares = [0.5, 0.7, 0.72, 0.8, 0.9, 1];
  const fixed = planAll(shares.map((share) => job("vllm", { memory_utilization: share })));
  const longest = planAll(shares.map((share) => job("vllm", { memory_utilization: share, context: "max" })));
  assert.deepEqual([fixed[0].verdict, fixed.at(-1).verdict], ["no", "fits"]);
  for (const [index, report] of fixed.entries()) {
    const { peak_bytes: peak, usable_bytes: usable } = report.memory;
    assert.equal(report.verdict === "no", peak > usable);
    assert.ok(report.kv.max_context <= report.kv.max_tokens, `share ${shares[index]}`);
    assert.ok(report.kv.pool_bytes < usable);
    if (longest[index].verdict !== "no") assert.equal(longest[index].solved.context, report.kv.max_context);
    if (index > 0) assert.ok(report.kv.pool_bytes >= fixed[index - 1].kv.pool_bytes);
  }
});

test("the textbook ledger knows no share", () => {
  const [plain, half] = planAll([{}, { memory_utilization: 0.5 }].map((infer) => job("vllm", infer, { ledger: "textbook" })));
  assert.equal(half.memory.usable_bytes, plain.memory.usable_bytes);
});
