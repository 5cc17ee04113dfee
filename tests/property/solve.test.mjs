/** What the solver found is re-run with the value written out. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll, withSetting } from "../support/engine.mjs";
import { generateValidJobs } from "../generate/jobs.mjs";

const SECTION = { micro_batch: "train", seq_len: "train", context: "infer", concurrency: "infer" };
const say = (job) => JSON.stringify(job);

/** Generated jobs with one field to be maximised, with and without other open fields. */
function maximised(field, count, seed) {
  const section = SECTION[field];
  const jobs = generateValidJobs(count, seed).filter((job) => (job.task === "infer") === (section === "infer"));
  const fixed = { micro_batch: 1, seq_len: 1024, context: 4096, concurrency: 1 };
  return jobs.map((job) => {
    const others = Object.keys(SECTION).filter((name) => SECTION[name] === section && name !== field);
    const settings = { ...job[section], [field]: "max" };
    for (const other of others) if (settings[other] === "max") settings[other] = fixed[other];
    delete settings.global_batch;
    return { ...job, [section]: settings };
  });
}

for (const [index, field] of Object.keys(SECTION).entries()) {
  test(`the largest ${field} fits, and one more does not`, () => {
    const path = `${SECTION[field]}.${field}`;
    const jobs = maximised(field, 120, 30 + index);
    const answers = planAll(jobs);
    const held = jobs.map((job, number) => ({ job, report: answers[number] }));
    for (const { job, report } of held) assert.equal(report.errors, undefined, say(job));
    const found = held.filter(({ report }) => report.verdict !== "no");
    assert.ok(found.length >= 20, `only ${found.length} jobs fit`);
    const again = planAll(found.flatMap(({ job, report }) => {
      const closed = closeOthers(job, report, field);
      const value = report.solved[field];
      return [withSetting(closed, path, value), withSetting(closed, path, report.fails_at?.[field] ?? value + 1)];
    }));
    for (const [number, { job, report }] of found.entries()) {
      const [fits, over] = [again[2 * number], again[2 * number + 1]];
      assert.equal(fits.memory?.peak_bytes, report.memory.peak_bytes, say(job));
      assert.notEqual(fits.verdict, "no", say(job));
      if (report.fails_at) {
        assert.equal(report.fails_at[field], report.solved[field] + 1, say(job));
        assert.equal(over.verdict, "no", say(job));
      }
    }
    for (const { job, report } of held.filter((one) => one.report.verdict === "no")) {
      assert.equal(report.solved[field], 1, `nothing fits, so the smallest value is shown: ${say(job)}`);
    }
  });
}

/** The job with what the solver chose beside the maximised field written out. */
function closeOthers(job, report, field) {
  const section = SECTION[field];
  const others = Object.entries(report.solved ?? {}).filter(([name]) => name !== field && name !== "count");
  const settings = { ...job[section], ...Object.fromEntries(others) };
  return { ...job, [section]: settings };
}

test("what auto chose, written out, gives the same peak", () => {
  const open = { micro_batch: "auto", zero: "auto", recompute: "auto", tp: "auto", pp: 1, seq_len: 2048 };
  const jobs = generateValidJobs(200, 77).filter((job) => job.task !== "infer")
    .map((job) => ({ ...job, train: { ...job.train, ...open } }));
  const answers = planAll(jobs);
  const written = jobs.map((job, index) => ({ ...job, train: { ...job.train, ...answers[index].solved } }));
  const again = planAll(written);
  for (const [index, report] of answers.entries()) {
    assert.equal(report.errors, undefined, say(jobs[index]));
    for (const name of ["micro_batch", "zero", "recompute", "tp"]) assert.ok(name in report.solved, `${name} ${say(jobs[index])}`);
    assert.equal(again[index].memory?.peak_bytes, report.memory.peak_bytes, say(written[index]));
    assert.equal(again[index].verdict, report.verdict, say(written[index]));
  }
});

test("auto never misses a choice that fits", () => {
  const choices = [0, 1, 2, 3].flatMap((zero) => ["none", "selective", "full"].map((recompute) => ({ zero, recompute })));
  const jobs = generateValidJobs(120, 78).filter((job) => job.task !== "infer").map((job) => {
    const { tp, pp } = { tp: 1, pp: 1, ...job.train };
    return { ...job, train: { ...job.train, tp, pp, seq_len: 1024, micro_batch: 1, zero: "auto", recompute: "auto" } };
  }).slice(0, 40);
  const rank = { fits: 0, tight: 1, no: 2 };
  const answers = planAll(jobs, "brief");
  const tried = planAll(jobs.flatMap((job) => choices.map((choice) => ({ ...job, train: { ...job.train, ...choice } }))), "brief");
  for (const [index, report] of answers.entries()) {
    const all = tried.slice(index * choices.length, (index + 1) * choices.length);
    const best = Math.min(...all.map((one) => rank[one.verdict]));
    assert.equal(rank[report.verdict], best, say(jobs[index]));
  }
});

test("a batch that no micro-batch in range can make up is a contradiction, not a solution", () => {
  const job = (train) => ({ task: "lora", model: "meta-llama/Llama-3.2-1B", hardware: { gpu: "B200", count: 1 }, train });
  const giant = { seq_len: 1, global_batch: 599661108 };
  const [fixed, open] = planAll([job({ ...giant, grad_accum: 4, micro_batch: "max" }), job({ ...giant, micro_batch: "max" })]);
  assert.deepEqual(fixed.errors.map((error) => error.code), ["batch_mismatch"]);
  assert.ok(open.solved.micro_batch <= 1048576);
  assert.equal(giant.global_batch % open.solved.micro_batch, 0);
});

test("the smallest number of GPUs holds the job, and half of it does not", () => {
  const jobs = ["meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-70B", "Qwen/Qwen2.5-32B"].map((model) => ({
    task: "full", model, hardware: { gpu: "H100 SXM5 80GB", count: "auto" },
    train: { seq_len: 2048, micro_batch: 1, zero: 3, recompute: "full", tp: 1 },
  }));
  const answers = planAll(jobs);
  const withCount = (job, count) => withSetting(job, "hardware.count", count);
  const again = planAll(jobs.flatMap((job, index) => {
    const count = answers[index].solved.count;
    return [withCount(job, count), withCount(job, Math.max(1, count / 2))];
  }));
  for (const [index, report] of answers.entries()) {
    assert.equal(report.verdict, "fits", say(jobs[index]));
    assert.equal(again[2 * index].memory.peak_bytes, report.memory.peak_bytes);
    assert.notEqual(again[2 * index + 1].verdict, report.solved.count > 1 ? "fits" : "", say(jobs[index]));
  }
});

test("the largest model is a member of the family, and fits", () => {
  const jobs = ["detailed", "textbook"].flatMap((ledger) => [
    { task: "full", ledger, model: { params: "max" }, hardware: { gpu: "A100 SXM4 80GB", count: 8 },
      train: { seq_len: 2048, micro_batch: 1, zero: 3, recompute: "full", tp: 1 } },
    { task: "infer", ledger, model: { params: "max" }, hardware: { gpu: "GeForce RTX 4090" },
      infer: { weights: "int4", context: 4096 } },
  ]);
  const answers = planAll(jobs);
  const again = planAll(jobs.map((job, index) => ({ ...job, model: { params: answers[index].solved.params } })));
  for (const [index, report] of answers.entries()) {
    assert.notEqual(report.verdict, "no", say(jobs[index]));
    assert.equal(again[index].memory.peak_bytes, report.memory.peak_bytes, say(jobs[index]));
    assert.ok(report.fails_at.params > report.solved.params, say(jobs[index]));
  }
});

test("a model without a cache is bounded by the states of its sequences, at any context", () => {
  const base = { task: "infer", model: "state-spaces/mamba-2.8b-hf", hardware: { gpu: "A40" } };
  const jobs = [{ ...base, infer: { concurrency: "max" } }, { ...base, infer: { context: "max" } }];
  const [most, longest] = planAll(jobs, "brief");
  assert.ok(most.solved.concurrency > 100);
  assert.deepEqual(most.kv, { bytes_per_token: 0, bytes: 0, max_context: 2 ** 30, max_concurrency: most.solved.concurrency });
  assert.deepEqual([longest.solved.context, longest.kv.max_context], [2 ** 30, 2 ** 30]);
});
