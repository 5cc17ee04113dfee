/** docs/report.md is the contract: every path listed there exists in a report of its kind, with its type. */
import { readFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import assert from "node:assert/strict";
import { ROOT, answerAll, planAll } from "../support/engine.mjs";
import { generateJobs } from "../generate/jobs.mjs";

const bytes = (value) => Number.isSafeInteger(value) && value >= 0;
const number = (value) => Number.isFinite(value);
const text = (value) => typeof value === "string" && value !== "";
const flag = (value) => typeof value === "boolean";
const object = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const oneOf = (...choices) => (value) => choices.includes(value);
const list = (check) => (value) => Array.isArray(value) && value.length > 0 && value.every(check);
const record = (check) => (value) => object(value) && Object.values(value).every(check);
const shape = (checks) => (value) => object(value) && Object.entries(checks).every(([key, check]) => check(value[key]));
const maybe = (check) => (value) => value === undefined || check(value);

const JOBS = {
  training: {
    task: "qlora", model: "meta-llama/Llama-3.1-8B", hardware: { gpu: "A100 SXM4 80GB", count: 4, host_ram_gib: 512 },
    train: { seq_len: "max", micro_batch: 1, zero: 2, pp: 2, grad_accum: 8, lora: { rank: 16 } },
  },
  replayed: {
    task: "full", model: "gpt2", hardware: { gpu: "A100 SXM4 80GB", count: 1 },
    train: { framework: "hf-trainer", recompute: "none", attention: "eager" },
  },
  offload: {
    task: "full", model: "meta-llama/Llama-3.1-8B", hardware: { gpu: "A100 SXM4 80GB", count: 4 },
    train: { zero: 3, offload: "optimizer" },
  },
  textbook: {
    task: "full", ledger: "textbook", model: { params: 7e9, layers: 32, hidden: 4096, heads: 32 },
    hardware: { gpu: "A100 SXM4 80GB", count: 8 }, train: { pp: 2, grad_accum: 8 },
    textbook: { effective_flops: 1e14, measured_speedup: 6 },
  },
  inference: {
    task: "infer", model: "meta-llama/Llama-3.1-8B", hardware: { gpu: "GeForce RTX 4090", count: 2 },
    infer: { context: "max", concurrency: 2 },
  },
  file: {
    task: "infer", model: "google/gemma-2-2b-it", hardware: { gpu: "GeForce RTX 4090", count: 1 },
    infer: { engine: "llama.cpp", weights: "gguf:Q4_K_M", context: 8192 },
  },
  toolarge: {
    task: "full", model: "meta-llama/Llama-3.1-70B", hardware: { gpu: "T4" }, train: { micro_batch: 1 },
  },
};
const NAMES = Object.keys(JOBS);
const REPORTS = Object.fromEntries(planAll(Object.values(JOBS)).map((report, index) => [NAMES[index], report]));
const ALL = Object.values(REPORTS);

const ITEM_IDS = ("weights gradients master_weights optimizer adapter activations logits gather_buffers comm_buffers "
  + "optimizer_temp kv_cache recurrent_state workspace graphs context fragmentation").split(" ");
const PHASES = "load forward loss backward reduce optimizer prefill decode".split(" ");
const diagnostic = shape({ code: text, path: (value) => typeof value === "string", args: object });
const item = shape({
  id: oneOf(...ITEM_IDS), bytes, low_bytes: bytes, high_bytes: bytes, phases: list(oneOf(...PHASES)), formula_id: text,
  formula: text, terms: record(number), source: text,
});
const stage = shape({
  stage: bytes, stages: bytes, gpus: bytes, first_gpu: bytes, peak_phase: oneOf(...PHASES), peak_bytes: bytes,
  low_bytes: bytes, high_bytes: bytes, items: list(item),
});
const degrees = { tp: bytes, pp: bytes, dp: bytes };

/** Path in the table of docs/report.md: what its value must be, and the reports that have it. */
const PLAN = {
  verdict: [oneOf("fits", "tight", "no", "unknown"), ALL],
  binding: [shape({ item: oneOf(...ITEM_IDS), stage: bytes, phase: oneOf(...PHASES), bytes, peak_bytes: bytes, usable_bytes: bytes }), ALL],
  solved: [(value) => object(value) && Object.keys(value).length > 0, [REPORTS.training, REPORTS.inference]],
  fails_at: [record(number), [REPORTS.training, REPORTS.inference]],
  params: [shape({ total: bytes, active: bytes, trainable: bytes }), ALL],
  model: [shape({ name: maybe(text), model_type: text, layers: bytes, hidden: bytes, heads: bytes, kv_heads: bytes, head_dim: bytes,
    ffn: bytes, vocab: bytes, tied_embeddings: flag, gated_ffn: flag }), ALL],
  hardware: [shape({ gpu: text, count: bytes, per_node: bytes, capacity_bytes: bytes, usable_bytes: bytes, nominal_gb: number, source: text }), ALL],
  parallel: [shape(degrees), ALL],
  "memory.peak_bytes": [bytes, ALL],
  "memory.low_bytes": [bytes, ALL],
  "memory.high_bytes": [bytes, ALL],
  "memory.capacity_bytes": [bytes, ALL],
  "memory.usable_bytes": [bytes, ALL],
  "memory.meters": [shape({ allocated_bytes: bytes, reserved_bytes: bytes, device_bytes: bytes }), ALL],
  "memory.host_bytes": [bytes, [REPORTS.offload]],
  "memory.weights": [shape({ device_bytes: bytes }), [REPORTS.inference]],
  "memory.saved_bytes": [bytes, [REPORTS.training, REPORTS.offload]],
  "memory.saved[]": [list(shape({ operator: text, bytes })), [REPORTS.replayed]],
  "memory.phases": [record(shape({ peak_bytes: bytes })), ALL],
  "memory.stages[]": [list(stage), ALL],
  "memory.stages[].items[]": [(stages) => stages.every((one) => list(item)(one.items)), ALL],
  kv: [shape({ bytes_per_token: bytes, bytes, max_tokens: bytes, max_context: bytes, max_concurrency: bytes, pool_bytes: bytes }), [REPORTS.inference]],
  file: [shape({ bytes, tensor_bytes: bytes, bytes_by_type: record(bytes) }), [REPORTS.file]],
  time: [shape({ step_s: number, tokens_per_s: number, tokens_per_s_per_gpu: number, bubble: number, efficiency: number }), [REPORTS.textbook]],
  "time.curve": [list(shape({ sequences: number, tpot_s: number, throughput_tok_s: number })), [REPORTS.inference]],
  "time.why": [record(shape({ value: number, formula_id: text, formula: text, terms: record(number), source: text })), [REPORTS.inference]],
  waterfall: [shape({ stage: bytes, rows: list(shape({ id: text, left_bytes: bytes })), tokens: bytes, sequences: bytes }), [REPORTS.inference]],
  "steps[]": [list(shape({ step: number, id: oneOf("memory", "sharding", "model_parallel", "batch", "precision"), rule: text, numbers: record(number) })), ALL],
  "advice[]": [list(shape({ id: text, set: object, saves_bytes: Number.isSafeInteger, peak_bytes_after: bytes,
    verdict_after: oneOf("fits", "tight", "no", "unknown"), cost: shape({ kind: text }) })), ALL],
  "assumptions[]": [list(diagnostic), ALL],
  link: [(value) => text(value) && value.startsWith("v=1&"), ALL],
};
const at = (report, place) => place.split(".").reduce((value, key) => (key.endsWith("items[]") ? value : value?.[key.replace("[]", "")]), report);

/** The first column of the table under a heading of docs/report.md, as paths. */
function pathsUnder(heading) {
  const page = readFileSync(path.join(ROOT, "docs/report.md"), "utf8");
  const start = page.indexOf(heading);
  assert.ok(start >= 0, heading);
  const section = page.slice(start, page.indexOf("\n## ", start + 1));
  const cells = [...section.matchAll(/^\| (`.*?) \| /gm)].map((match) => match[1]);
  // A row may name several paths of one object: `memory.peak_bytes` `low_bytes`.
  return cells.flatMap((cell) => {
    const [first, ...more] = [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]);
    return [first, ...more.map((name) => `${first.split(".").slice(0, -1).join(".")}.${name}`)];
  });
}

test("this table and that of the page list the same paths", () => {
  assert.deepEqual(pathsUnder("## `op: plan`").sort(), Object.keys(PLAN).sort());
});

for (const [place, [check, reports]] of Object.entries(PLAN)) {
  test(`a plan has ${place}`, () => {
    for (const report of reports) {
      const value = at(report, place);
      assert.ok(check(value), `${place}: ${JSON.stringify(value)?.slice(0, 600)}`);
    }
  });
}

test("every report says what it answers", () => {
  const plans = Object.values(JOBS).map((job) => ({ op: "plan", job }));
  const reports = answerAll([...plans, { op: "version" }, { op: "catalog", kind: "models" }, { op: "plan", job: {} }]);
  for (const report of reports) {
    assert.deepEqual([report.gpuplan, text(report.op), text(report.version)], [1, true, true]);
  }
});

test("parallel of training and of inference", () => {
  const training = shape({ ...degrees, vpp: bytes, cp: bytes, ep: bytes, zero: bytes, sequence_parallel: flag,
    recompute: text, micro_batch: bytes, grad_accum: bytes, global_batch: bytes, seq_len: bytes });
  for (const name of ["training", "offload", "textbook", "toolarge"]) assert.ok(training(REPORTS[name].parallel), name);
  assert.deepEqual(Object.keys(REPORTS.inference.parallel).sort(), ["dp", "pp", "tp"]);
});

test("adapters and the stated size of the model are there where they belong", () => {
  assert.ok(bytes(REPORTS.training.params.adapter));
  assert.equal(REPORTS.training.params.trainable, REPORTS.training.params.adapter);
  assert.equal(REPORTS.textbook.params.stated, 7e9);
  assert.equal(REPORTS.inference.params.trainable, 0);
  assert.equal(REPORTS.inference.model.id, "meta-llama/Llama-3.1-8B");
});

test("items stand in the order of the contract", () => {
  for (const report of ALL) {
    for (const row of report.memory.stages) {
      const order = row.items.map((one) => ITEM_IDS.indexOf(one.id));
      assert.deepEqual(order, [...order].sort((a, b) => a - b));
    }
  }
});

test("a report with errors holds nothing else", () => {
  const reports = planAll(generateJobs(400, 12)).filter((report) => report.errors);
  assert.ok(reports.length > 20);
  for (const report of reports) {
    assert.ok(list(diagnostic)(report.errors));
    const keys = Object.keys(report).filter((key) => key !== "warnings").sort();
    assert.deepEqual(keys, ["errors", "gpuplan", "op", "version"]);
  }
});

test("a brief report holds the paths of the contract and no others", () => {
  const allowed = ["gpuplan", "op", "version", "verdict", "binding", "solved", "fails_at", "params", "parallel", "memory",
    "kv", "time", "warnings"];
  for (const report of planAll(Object.values(JOBS), "brief")) {
    for (const key of Object.keys(report)) assert.ok(allowed.includes(key), key);
    for (const row of report.memory.stages) {
      for (const one of row.items) assert.deepEqual(Object.keys(one).sort(), ["bytes", "id", "phases"]);
    }
  }
});

/** Walks all values of a report. */
function* valuesOf(value, place = "") {
  yield [place, value];
  if (value && typeof value === "object") {
    for (const [key, inner] of Object.entries(value)) yield* valuesOf(inner, `${place}.${key}`);
  }
}

test("unknown is absent: no null, no negative size, no empty name anywhere", () => {
  const reports = [...ALL, ...planAll(generateJobs(200, 13))];
  for (const report of reports) {
    for (const [place, value] of valuesOf(report)) {
      assert.notEqual(value, null, place);
      if (place.endsWith("_bytes") && !/saves|headroom|\.terms\./.test(place)) assert.ok(bytes(value), `${place} ${value}`);
    }
  }
});

test("links, catalogue, explanations and the version", () => {
  const [made, read, models, gpus, fields, formulas, explained, version] = answerAll([
    { op: "link", job: JOBS.training }, { op: "link", link: "#v=1&task=infer" }, { op: "catalog", kind: "models", filter: "llama 70" },
    { op: "catalog", kind: "gpus", filter: "" }, { op: "catalog", kind: "fields" }, { op: "catalog", kind: "formulas" },
    { op: "explain", id: "kv_cache" }, { op: "version" },
  ]);
  assert.ok(text(made.link));
  assert.ok(object(read.job) && text(read.link));
  assert.ok(list(shape({ id: text, family: text, params: bytes, layers: bytes, hidden: bytes, heads: bytes, kv_heads: bytes,
    head_dim: bytes, ffn: bytes, vocab: bytes, max_context: maybe(bytes), year: maybe(bytes), source: text, confidence: text }))(models.models));
  for (const { id, family } of models.models) assert.match(`${id} ${family}`.toLowerCase(), /llama.*70|70.*llama/);
  assert.ok(list(shape({ name: text, aliases: maybe(Array.isArray), vendor: text, architecture: text, nominal_gb: number,
    memory_bytes: maybe(bytes), bandwidth_bytes_per_s: maybe(number), bf16: flag, fp8: flag, flash_attention_2: flag,
    year: maybe(bytes), source: text, confidence: text }))(gpus.gpus));
  assert.ok(gpus.gpus.length >= 91);
  assert.ok(list(shape({ path: text, kind: text, tasks: list(text) }))(fields.fields));
  assert.ok(list(shape({ id: text, expression: text, source: text }))(formulas.formulas));
  assert.ok(list(shape({ id: text, expression: text, source: text }))(explained.formulas));
  assert.deepEqual([version.version, version.grammar, version.link].map((value) => typeof value), ["string", "number", "number"]);
});
