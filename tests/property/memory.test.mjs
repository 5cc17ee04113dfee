/** What memory may and may not do, over generated jobs. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll, withSetting } from "../support/engine.mjs";
import { generateValidJobs } from "../generate/jobs.mjs";
import { itemBytes } from "../support/report.mjs";

const JOBS = generateValidJobs(400, 20240);
const REPORTS = planAll(JOBS);
const PLANS = JOBS.map((job, index) => ({ job, report: REPORTS[index] }));
const isTraining = (job) => job.task !== "infer";
const say = (job) => JSON.stringify(job);

test("generated jobs without faults are answered", () => {
  for (const { job, report } of PLANS) assert.deepEqual(report.errors ?? [], [], say(job));
});

test("what is alive at the peak sums to the peak, to the byte, on every stage", () => {
  for (const { job, report } of PLANS) {
    for (const stage of report.memory.stages) {
      const alive = stage.items.filter((item) => item.phases.includes(stage.peak_phase));
      assert.equal(alive.reduce((sum, item) => sum + item.bytes, 0), stage.peak_bytes, say(job));
    }
  }
});

test("no other phase of a stage holds more than its peak", () => {
  for (const { job, report } of PLANS) {
    for (const stage of report.memory.stages) {
      for (const phase of new Set(stage.items.flatMap((item) => item.phases))) {
        const alive = stage.items.filter((item) => item.phases.includes(phase));
        const bytes = alive.reduce((sum, item) => sum + item.bytes, 0);
        assert.ok(bytes <= stage.peak_bytes, `${phase} ${bytes} over ${stage.peak_bytes}: ${say(job)}`);
      }
    }
  }
});

test("the peak is that of the worst stage, and the stages account for every GPU", () => {
  for (const { job, report } of PLANS) {
    const { memory, hardware } = report;
    assert.equal(memory.peak_bytes, Math.max(...memory.stages.map((stage) => stage.peak_bytes)), say(job));
    const gpus = memory.stages.reduce((sum, stage) => sum + stage.gpus, 0);
    assert.equal(gpus, hardware.count, say(job));
  }
});

test("low <= peak <= high, for the whole and for each stage and item", () => {
  for (const { job, report } of PLANS) {
    const rows = [report.memory, ...report.memory.stages].map((row) => [row.low_bytes, row.peak_bytes, row.high_bytes]);
    for (const stage of report.memory.stages) {
      rows.push(...stage.items.map((item) => [item.low_bytes, item.bytes, item.high_bytes]));
    }
    for (const [low, middle, high] of rows) {
      assert.ok(0 <= low && low <= middle && middle <= high, `${low} ${middle} ${high}: ${say(job)}`);
    }
  }
});

/** The range of what is alive in a phase, its items' errors independent of each other, and more at the upper end. */
function rangeOf(stage, phase, more = 0) {
  const alive = stage.items.filter((item) => item.phases.includes(phase));
  const bytes = alive.reduce((sum, item) => sum + item.bytes, 0);
  const squares = alive.reduce((sum, item) => sum + (item.high_bytes - item.bytes) ** 2, 0);
  return { low: bytes - Math.sqrt(squares), high: bytes + Math.sqrt(squares + more ** 2) };
}

test("the range of a stage reaches as far up as that of each phase, of the fullest or not", () => {
  let further = 0;
  for (const { job, report } of PLANS.filter((one) => one.job.ledger !== "textbook")) {
    for (const stage of report.memory.stages) {
      for (const phase of new Set(stage.items.flatMap((item) => item.phases))) {
        const { low, high } = rangeOf(stage, phase);
        assert.ok(high <= stage.high_bytes + 64, `${phase} ${high} over ${stage.high_bytes}: ${say(job)}`);
        if (!isTraining(job)) assert.ok(low <= stage.low_bytes + 64, `${phase} ${low} over ${stage.low_bytes}: ${say(job)}`);
        if (phase !== stage.peak_phase && high > rangeOf(stage, stage.peak_phase).high) further++;
      }
    }
  }
  assert.ok(further > 0, "no phase but the fullest reached further up");
});

test("where attention may be eager, the range ends with its prefill, however long the context", () => {
  const job = { task: "infer", model: "Qwen/Qwen3-VL-30B-A3B-Instruct", hardware: { gpu: "B200", count: 16 },
    infer: { engine: "transformers", weights: "gptq", concurrency: 16, prompt: 1024, tp: 16 } };
  const of = (context) => ({ ...job, infer: { ...job.infer, context } });
  const [short, long] = planAll([of(4096), of(8192)]).map((report) => report.memory);
  const [stage] = short.stages;
  assert.equal(stage.peak_phase, "decode");
  const fused = stage.items.find((item) => item.id === "workspace").bytes;
  // Six blocks of scores of 2 heads in 16 bits, and three times the logits of 16 prompts in 16 bits.
  const eager = 6 * 2 * 2 * 16 * 1024 * 1024 + 3 * 2 * 16 * 1024 * 151936;
  const { high } = rangeOf(stage, "prefill", eager - fused);
  assert.ok(Math.abs(short.high_bytes - high) < 64, `${short.high_bytes}, not ${high}`);
  assert.equal(long.high_bytes, short.high_bytes);
});

test("the verdict follows from peak, high end and usable memory", () => {
  for (const { job, report } of PLANS) {
    const { peak_bytes: peak, high_bytes: high, usable_bytes: usable } = report.memory;
    const expected = peak > usable ? "no" : high > usable ? "tight" : "fits";
    assert.equal(report.verdict, expected, say(job));
    const { over_bytes: over, spare_bytes: spare } = report.binding;
    if (expected === "no") assert.deepEqual([over, spare], [peak - usable, undefined], say(job));
    else assert.deepEqual([over, spare], [undefined, usable - peak], say(job));
  }
});

test("a host of unknown memory has a peak and no verdict, room or maximum", () => {
  const training = { task: "full", model: "gpt2", hardware: { gpu: "cpu" }, train: { framework: "hf-trainer", seq_len: 512 } };
  const serving = { task: "infer", model: "gpt2", hardware: { gpu: "cpu" }, infer: { engine: "llama.cpp", context: 512 } };
  for (const job of [training, serving]) {
    const [unknown, known] = planAll([job, { ...job, hardware: { gpu: "cpu", host_ram_gib: 64 } }]);
    assert.equal(unknown.verdict, "unknown", say(job));
    assert.equal(known.verdict, "fits", say(job));
    assert.equal(unknown.memory.peak_bytes, known.memory.peak_bytes, say(job));
    const sizes = [unknown.hardware, unknown.memory, unknown.binding].flatMap((part) => Object.keys(part))
      .filter((key) => ["capacity_bytes", "usable_bytes", "nominal_gb", "spare_bytes", "over_bytes"].includes(key));
    assert.deepEqual(sizes, [], say(job));
    assert.ok(unknown.advice.every((knob) => knob.verdict_after === "unknown" && knob.saves_bytes > 0), say(job));
    assert.equal(known.memory.usable_bytes, 64 * 2 ** 30, say(job));
  }
  assert.deepEqual(Object.keys(planAll([serving])[0].kv), ["bytes_per_token", "bytes"]);
  for (const open of [{ ...training, train: { seq_len: "max" } }, { ...serving, infer: { concurrency: "max" } }, { ...serving, model: { params: "max" } }]) {
    const [report] = planAll([open]);
    assert.deepEqual(report.errors.map(({ code, path }) => [code, path]), [["unknown_memory", "hardware.host_ram_gib"]], say(open));
  }
});

test("what torch and nvidia-smi would print is in order: allocated <= reserved <= device", () => {
  for (const { job, report } of PLANS) {
    const { allocated_bytes: allocated, reserved_bytes: reserved, device_bytes: device } = report.memory.meters;
    assert.ok(allocated <= reserved && reserved <= device, say(job));
  }
});

test("a brief report says the same as a full one", () => {
  const briefs = planAll(JOBS, "brief");
  for (const [index, brief] of briefs.entries()) {
    const full = REPORTS[index];
    if (full.time) full.time = Object.fromEntries(Object.entries(full.time).filter(([name]) => name !== "why" && name !== "curve"));
    for (const key of ["verdict", "binding", "solved", "fails_at", "params", "parallel", "kv", "time"]) {
      assert.deepEqual(brief[key], full[key], `${key}: ${say(JOBS[index])}`);
    }
    assert.equal(brief.memory.peak_bytes, full.memory.peak_bytes);
    assert.equal(brief.advice, undefined);
  }
});

/** Jobs with every open field closed, so that one change stays one change. */
function closed(job, report) {
  const parallel = report.parallel;
  if (!isTraining(job)) {
    const { infer, ...rest } = job;
    const context = report.solved?.context ?? infer.context ?? (infer.prompt ?? 1024) + (infer.output ?? 256);
    const concurrency = report.solved?.concurrency ?? infer.concurrency ?? 1;
    return { ...rest, infer: { ...infer, context, concurrency, tp: parallel.tp, pp: parallel.pp, dp: parallel.dp } };
  }
  const names = ["tp", "pp", "cp", "dp", "zero", "sequence_parallel", "recompute", "micro_batch", "grad_accum", "seq_len"];
  const known = Object.fromEntries(names.map((name) => [name, parallel[name]]));
  return { ...job, train: { ...job.train, ...known } };
}
const CLOSED = PLANS.filter(({ report }) => !report.errors).map(({ job, report }) => closed(job, report));

/** Plans `before` and `after` of each pair and calls check with both reports. */
function comparePairs(pairs, check) {
  assert.ok(pairs.length >= 20, `only ${pairs.length} jobs to compare`);
  const answers = planAll(pairs.flat());
  for (const [index, [before, after]] of pairs.entries()) {
    const [first, second] = [answers[2 * index], answers[2 * index + 1]];
    assert.deepEqual([first.errors, second.errors], [undefined, undefined], `${say(before)} ${say(after)}`);
    check(first, second, `${say(before)} -> ${say(after)}`);
  }
}

test("closing every open field with the values of the report changes nothing", () => {
  const pairs = PLANS.map(({ job, report }) => [job, closed(job, report)]);
  comparePairs(pairs, (open, shut, what) => assert.equal(shut.memory.peak_bytes, open.memory.peak_bytes, what));
});

for (const [field, factor] of [["train.seq_len", 2], ["train.micro_batch", 3]]) {
  test(`a larger ${field} never lowers the peak`, () => {
    const name = field.split(".")[1];
    const pairs = CLOSED.filter(isTraining).map((job) => [job, withSetting(job, field, job.train[name] * factor)]);
    comparePairs(pairs, (small, large, what) => {
      assert.ok(large.memory.peak_bytes >= small.memory.peak_bytes, what);
      assert.ok(itemBytes(large, "activations") >= itemBytes(small, "activations"), what);
    });
  });
}

for (const field of ["infer.context", "infer.concurrency"]) {
  test(`a larger ${field} never lowers the KV cache or the peak`, () => {
    const name = field.split(".")[1];
    const pairs = CLOSED.filter((job) => !isTraining(job))
      .map((job) => [job, withSetting(job, field, job.infer[name] * 2 + 1)]);
    comparePairs(pairs, (small, large, what) => {
      assert.ok(large.kv.bytes >= small.kv.bytes, what);
      assert.ok(large.memory.peak_bytes >= small.memory.peak_bytes, what);
      assert.equal(large.kv.bytes_per_token, small.kv.bytes_per_token, what);
    });
  });
}

for (const ledger of ["detailed", "textbook"]) {
  test(`more GPUs never raise the bytes per GPU under ZeRO-3 (${ledger})`, () => {
    const shared = CLOSED.filter(isTraining).map((job) => {
      const { tp, pp, cp, dp } = job.train;
      const train = { ...job.train, zero: 3, dp: Math.max(dp, 2) };
      const count = tp * pp * cp * train.dp;
      return { ...job, ledger, hardware: { ...job.hardware, count }, train };
    });
    const doubled = (job) => ({
      ...job,
      hardware: { ...job.hardware, count: job.hardware.count * 2 },
      train: { ...job.train, dp: job.train.dp * 2 },
    });
    comparePairs(shared.map((job) => [job, doubled(job)]), (few, many, what) => {
      assert.ok(many.memory.peak_bytes <= few.memory.peak_bytes, what);
    });
  });
}

test("each ZeRO stage holds no more state than the one before", () => {
  const stages = (job) => [0, 1, 2, 3].map((zero) => withSetting(job, "train.zero", zero));
  const jobs = CLOSED.filter((job) => job.task === "full" || job.task === "pretrain").slice(0, 60);
  const answers = planAll(jobs.flatMap(stages));
  for (const [index, job] of jobs.entries()) {
    const bytes = answers.slice(4 * index, 4 * index + 4).map((report) => {
      const ids = ["weights", "gradients", "master_weights", "optimizer"];
      return ids.reduce((sum, id) => sum + itemBytes(report, id), 0);
    });
    for (let zero = 1; zero < 4; zero++) assert.ok(bytes[zero] <= bytes[zero - 1], `ZeRO-${zero}: ${bytes} ${say(job)}`);
  }
});

test("weights in host memory are fetched into the GPU, and shared out as ZeRO-3 has it", () => {
  const job = (count, zero) => ({ task: "full", model: "meta-llama/Llama-2-7b-hf", hardware: { gpu: "RTX 4090", count },
    train: { offload: "params+optimizer", recompute: "full", tp: 1, ...(zero === undefined ? {} : { zero }) } });
  const [one, four, stated, none] = planAll([job(1), job(4), job(4, 3), job(4, 0)]);
  // Two of its layers at least, in 16 bits, are on the GPU while one is computed.
  for (const report of [one, four, none]) assert.ok(itemBytes(report, "gather_buffers") > 2 * 2 * 202e6);
  assert.deepEqual([one.parallel.zero, four.parallel.zero], [3, 3]);
  assert.equal(four.memory.peak_bytes, stated.memory.peak_bytes);
  assert.ok(four.memory.host_bytes <= one.memory.host_bytes * 1.01, "the host holds the model once");
  assert.deepEqual(four.assumptions.find((row) => row.path === "train.zero").args, { value: "3", from: "train.offload" });
});
