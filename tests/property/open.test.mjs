/** "auto" and "max" beside each other: what is said of the largest, the fewest and the cheapest holds for every choice. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll, withSetting } from "../support/engine.mjs";
import { generateValidJobs } from "../generate/jobs.mjs";

const say = (job) => JSON.stringify(job);
const RANK = { fits: 0, tight: 1, no: 2 };

/** Training jobs on whole nodes with every choice open. */
const openJobs = (count, seed, settings) => generateValidJobs(count, seed)
  .filter((job) => job.task !== "infer" && typeof job.hardware.count !== "string").map((job) => {
    const open = ["zero", "recompute", "tp", "pp", "dp", "fsdp", "micro_batch", "grad_accum", "global_batch", "sequence_parallel"];
    const train = Object.fromEntries(Object.entries(job.train ?? {}).filter(([key]) => !open.includes(key)));
    return { ...job, train: { ...train, ...settings } };
  });

for (const field of ["seq_len", "micro_batch"]) {
  test(`one ${field} more fits with no choice`, () => {
    const jobs = openJobs(120, field.length, { seq_len: 1024, [field]: "max" });
    const answers = planAll(jobs, "brief");
    const found = jobs.map((job, index) => ({ job, report: answers[index] })).filter(({ report }) => report.fails_at);
    assert.ok(found.length >= 30, `${found.length} jobs`);
    const again = planAll(found.flatMap(({ job, report }) => ["solved", "fails_at"]
      .map((part) => withSetting(job, `train.${field}`, report[part][field]))), "brief");
    for (const [index, { job, report }] of found.entries()) {
      assert.equal(again[2 * index].memory.peak_bytes, report.memory.peak_bytes, say(job));
      assert.equal(again[2 * index].verdict, report.verdict, say(job));
      assert.equal(again[2 * index + 1].verdict, "no", say(job));
    }
  });
}

test("a long sequence takes the recompute it needs", () => {
  const job = { task: "qlora", model: "meta-llama/Llama-2-7b-hf", hardware: { gpu: "RTX 4090" }, train: { seq_len: "max" } };
  const [open, full] = planAll([job, withSetting(job, "train.recompute", "full")]);
  assert.equal(open.solved.seq_len, full.solved.seq_len);
  assert.equal(open.solved.recompute, "full");
  assert.ok(open.solved.seq_len > 20000);
});

test("the largest micro-batch of a global batch is one of some split", () => {
  const job = { task: "full", model: "meta-llama/Llama-3.1-8B", hardware: { gpu: "H100", count: 8 },
    train: { seq_len: 4096, global_batch: 48, micro_batch: "max" } };
  const [report] = planAll([job]);
  const { micro_batch: most } = report.solved;
  const larger = [1, 2, 3, 4, 6, 8, 12, 16, 24, 48].filter((value) => value > most);
  const again = planAll([most, ...larger].map((value) => withSetting(job, "train.micro_batch", value)), "brief");
  assert.deepEqual(again.map(({ verdict }) => verdict), [report.verdict, ...larger.map(() => "no")]);
  assert.equal(report.fails_at.micro_batch, larger[0]);
});

/** What may stand beside "params": "max". */
const MODELS = [{}, { layers: 32 }, { hidden: 4096 }, { layers: 32, hidden: 4096 }, { kv_heads: 8 }, { heads: 20 },
  { head_dim: 64 }, { head_dim: 96 }, { ffn: 11008 }, { vocab: 128256 }, { vocab: 151936, kv_heads: 8, layers: 40 },
  { style: "gpt2" }, { tied_embeddings: true }, { attention: "MQA" }, { hidden: 100 }, { kv_heads: 20000 },
  { moe: { experts: 8, topk: 2, ffn: 4096 } }, { moe: { experts: 8, topk: 2 } }, { layers: 32, hidden: 4096, ffn: 11008 }];
const TASKS = [
  { task: "infer", infer: {} }, { task: "infer", infer: { tp: 2, weights: "awq" } }, { task: "infer", infer: { tp: 3 } },
  { task: "full", train: { tp: 8 } }, { task: "full", train: {} }, { task: "pretrain", train: { pp: 2, tp: 2 } },
  { task: "full", ledger: "textbook", train: { pp: 4 } }, { task: "qlora", train: {} },
];

test("the largest model beside anything stated, or why there is none", () => {
  const jobs = [1, 4, 8].flatMap((count) => MODELS.flatMap((model) => TASKS.map((rest) => ({
    ...rest, model: { params: "max", ...model }, hardware: { gpu: "H100", count },
  }))));
  const answers = planAll(jobs, "brief");
  const solved = jobs.map((job, index) => ({ job, report: answers[index] })).filter(({ job, report }) => {
    assert.notEqual(report.verdict === undefined, report.errors === undefined, say(job));
    assert.notEqual(report.errors?.length, 0, say(job));
    return report.verdict !== undefined;
  });
  assert.ok(solved.length > 200, `${solved.length} solved`);
  const sizes = ({ report }) => [report.solved.params, report.fails_at.params, report.solved.params * 1.1];
  const again = planAll(solved.flatMap((one) => sizes(one).map((size) => withSetting(one.job, "model.params", size))), "brief");
  for (const [index, { job, report }] of solved.entries()) {
    const [same, over, far] = again.slice(3 * index, 3 * index + 3);
    assert.equal(same.memory.peak_bytes, report.memory.peak_bytes, say(job));
    assert.equal(same.verdict, report.verdict, say(job));
    assert.equal(over.verdict, "no", say(job));
    assert.equal(far.verdict, "no", say(job));
  }
});

test("a packed model grows past every change of heads", () => {
  const job = { task: "infer", model: { params: "max", vocab: 32000 }, hardware: { gpu: "H100", count: 4 }, infer: { weights: "awq" } };
  const [report] = planAll([job]);
  assert.ok(report.memory.peak_bytes > 0.99 * report.memory.usable_bytes);
});

test("an engine's stages are as few as fit", () => {
  const jobs = ["meta-llama/Llama-3.1-405B", "meta-llama/Llama-3.1-70B"].flatMap((model) => [1, 2, 4, 8, 12, 16, 24].map((count) =>
    ({ task: "infer", model, hardware: { gpu: "H100", count }, infer: { tp: "auto", pp: "auto" } })));
  const answers = planAll(jobs, "brief");
  for (const [index, job] of jobs.entries()) {
    const divisors = [1, 2, 3, 4, 6, 8, 12, 16, 24].filter((pp) => job.hardware.count % pp === 0);
    const each = planAll(divisors.map((pp) => withSetting(job, "infer.pp", pp)), "brief");
    const best = Math.min(...each.map(({ verdict }) => RANK[verdict]));
    assert.equal(RANK[answers[index].verdict], best, say(job));
    const fewest = divisors[each.findIndex(({ verdict }) => RANK[verdict] === best)];
    if (best < RANK.no) assert.equal(answers[index].solved.pp, fewest, say(job));
  }
  const [fewest] = planAll([withSetting(jobs[0], "hardware.count", "auto")], "brief");
  assert.deepEqual([fewest.verdict, fewest.solved.count, fewest.solved.pp], ["fits", 16, 2]);
});

test("no count that is tried and smaller fits", () => {
  const full = (model, train = {}) => ({ task: "full", model, hardware: { gpu: "H100", count: "auto" }, train });
  const jobs = [
    full("meta-llama/Llama-3.1-70B"), full("meta-llama/Llama-3.1-8B"), full("Qwen/Qwen2.5-32B", { zero: 3, recompute: "full" }),
    full("Qwen/Qwen2.5-32B", { tp: 4 }), full("meta-llama/Llama-2-13b-hf", { seq_len: 8192 }),
    { task: "infer", model: "meta-llama/Llama-3.1-8B", hardware: { gpu: "L4", count: "auto" }, infer: { context: 8192, concurrency: 40 } },
    { task: "infer", model: "meta-llama/Llama-3.1-70B", hardware: { gpu: "L40S", count: "auto" }, infer: {} },
  ];
  const answers = planAll(jobs, "brief");
  for (const [index, job] of jobs.entries()) {
    const { count } = answers[index].solved;
    assert.equal(answers[index].verdict, "fits", say(job));
    assert.ok(count <= 8 || count % 8 === 0, say(job));
    const smaller = Array.from({ length: count - 1 }, (_, i) => i + 1).filter((n) => n <= 8 || n % 8 === 0);
    for (const report of planAll(smaller.map((n) => withSetting(job, "hardware.count", n)), "brief")) {
      assert.ok(report.errors ?? report.verdict !== "fits", say(job));
    }
  }
  assert.equal(answers[0].solved.count, 24);
});

test("a count serves the global batch", () => {
  const job = { task: "full", model: "meta-llama/Llama-3.1-70B", hardware: { gpu: "H100", count: "auto" }, train: { global_batch: 7 } };
  const [report] = planAll([job]);
  assert.deepEqual([report.verdict, report.solved.count, report.parallel.global_batch], ["fits", 56, 7]);
});

test("what follows from other fields is the same job when it is written out", () => {
  const fields = ["framework", "precision", "weights", "master_weights", "attention", "grad_dtype"];
  const jobs = openJobs(80, 5, { framework: "auto", recompute: "full", zero: 2, tp: 1 });
  const answers = planAll(jobs);
  const written = jobs.map((job, index) => {
    const derived = answers[index].assumptions.filter((row) => row.code === "derived_value" && fields.includes(row.path.slice("train.".length)));
    const value = (text) => text === "true" || (text === "false" ? false : text);
    return derived.reduce((done, { path, args }) => withSetting(done, path, value(args.value)), job);
  });
  const again = planAll(written);
  for (const [index, report] of answers.entries()) {
    assert.equal(report.errors, undefined, say(jobs[index]));
    assert.equal(again[index].memory?.peak_bytes, report.memory.peak_bytes, say(written[index]));
  }
});
