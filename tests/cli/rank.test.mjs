/** `gpuplan rank`: every row is the plan it claims to be, with the fewest GPUs that hold it, in the promised order. */
import assert from "node:assert/strict";
import test from "node:test";
import { planAll } from "../support/engine.mjs";
import { columnsOf, gpuplan, reportOf } from "./gpuplan.mjs";

const SERVE = { task: "infer", model: "meta-llama/Llama-3.1-70B", infer: { context: 8192, concurrency: 8 } };
const TUNE = { task: "lora", model: "meta-llama/Llama-2-7b-hf", train: { seq_len: 4096, micro_batch: 1, precision: "bf16" } };
const STANDING = ["fits", "tight", "no", undefined];
const rank = (kind, job, ...words) => reportOf(["rank", kind, JSON.stringify(job), ...words]).rank;

const placed = (job, set, count) => ({ ...job, hardware: { gpu: set["hardware.gpu"], count, ...(set["hardware.per_node"] && { per_node: set["hardware.per_node"] }) } });

for (const [name, job] of [["serving", SERVE], ["tuning", TUNE]]) {
  for (const kind of ["gpus", "instances"]) {
    test(`${name}, ${kind}: each row is a plan, and fewer do not hold it`, () => {
      const rows = rank(kind, job).filter((row) => row.verdict);
      assert.ok(rows.length > 40);
      const plans = planAll(rows.map(({ set }) => placed(job, set, set["hardware.count"])));
      rows.forEach((row, index) => {
        assert.equal(plans[index].memory.peak_bytes, row.peak_bytes, row.gpu);
        assert.equal(plans[index].verdict, row.verdict, row.gpu);
        assert.equal(row.count, row.set["hardware.count"]);
        assert.equal(plans[index].kv?.max_concurrency, row.max_concurrency);
      });
      const fewer = rows.filter((row) => row.verdict !== "no" && (row.instances ?? row.count) > 1);
      const halves = planAll(fewer.map((row) => placed(job, row.set, row.count / (row.instances ? 2 : 1) - (row.instances ? 0 : 1))));
      halves.forEach((half, index) => assert.ok(half.errors || half.verdict === "no" || (kind === "gpus" && fewer[index].verdict === "fits" && half.verdict === "tight"), `${fewer[index].gpu} ${fewer[index].count}`));
    });
  }
}

for (const [job, price] of [[SERVE, "usd_per_million_tokens"], [TUNE, "usd_per_hour"]]) test(`what fits comes first, the cheapest of it at the top: ${job.task}`, () => {
  const rows = rank("instances", job);
  rows.slice(1).forEach((row, index) => {
    const before = rows[index];
    const difference = STANDING.indexOf(row.verdict) - STANDING.indexOf(before.verdict);
    assert.ok(difference >= 0);
    if (difference === 0 && row.verdict) assert.ok((row[price] ?? Infinity) >= (before[price] ?? Infinity), row.type);
  });
  const listed = reportOf(["catalog", "instances"]).instances;
  for (const { type, provider, instances, usd_per_hour, date } of rows.filter((row) => row.verdict)) {
    const source = listed.find((row) => row.type === type && row.provider === provider && row.date === date && (!row.usd_per_hour || Math.abs(row.usd_per_hour * instances - usd_per_hour) < 1e-9));
    assert.ok(source, `${provider} ${type}`);
  }
  for (const row of rows) if (row.usd_per_million_tokens) assert.ok(Math.abs(row.usd_per_hour / 3600 / row.tokens_per_s * 1e6 / row.usd_per_million_tokens - 1) < 1e-9);
  const gpus = rank("gpus", job);
  gpus.slice(1).forEach((row, index) => { if (row.verdict && row.verdict === gpus[index].verdict) assert.ok(row.count >= gpus[index].count); });
});

test("a job that asks for the most that fits is tight nearly everywhere: the price alone orders what holds it", () => {
  const job = { ...SERVE, infer: { ...SERVE.infer, weights: "fp8", concurrency: "max" } };
  const rows = rank("instances", job).filter((row) => row.verdict === "fits" || row.verdict === "tight");
  assert.deepEqual([...new Set(rows.map((row) => row.verdict))].sort(), ["fits", "tight"]);
  rows.slice(1).forEach((row, index) => assert.ok(row.usd_per_million_tokens >= rows[index].usd_per_million_tokens || !row.usd_per_million_tokens, row.type));
});

test("hardware is offered where the job's program has kernels for it", () => {
  const vendors = (engine) => new Set(rank("gpus", { ...SERVE, infer: { ...SERVE.infer, engine } }).map(({ gpu }) => gpu.replace(/ .*/, "")));
  for (const [engine, apple, amd] of [["vllm", false, true], ["mlx", true, true], ["llama.cpp", true, true], ["tensorrt-llm", false, false]]) {
    assert.deepEqual([vendors(engine).has("Apple"), vendors(engine).has("Instinct")], [apple, amd], engine);
  }
  const tuned = (framework) => rank("gpus", { ...TUNE, train: { ...TUNE.train, framework } }, "--filter", "apple").length;
  assert.deepEqual([tuned("auto"), tuned("deepspeed"), tuned("peft") > 10], [0, 0, true]);
});

test("an instance is named with who rents it out", () => {
  assert.match(gpuplan(["rank", "instances", JSON.stringify(TUNE), "--filter", "lambda"]).stdout, /Lambda 1 × gpu_1x_/);
});

test("every model takes the place of the job's, so the job need name none", () => {
  const bare = { task: "infer", hardware: { gpu: "RTX 4090" }, infer: { context: 4096 } };
  const named = rank("models", { ...bare, model: "gpt2" });
  assert.deepEqual(rank("models", bare), named);
  const { status, stderr } = gpuplan(["rank", "gpus", JSON.stringify(bare)]);
  assert.deepEqual([status, /model: Missing/.test(stderr)], [2, true]);
});

test("a context that no memory bounds is told as any, not as the largest number there is", () => {
  const { stdout } = gpuplan(["rank", "models", "task=infer", "gpu=4090", "weights=fp8", "context=8192", "--filter", "starcoder2-15b", "--lang=en"]);
  assert.match(stdout, /starcoder2-15b +fits +any /);
});

test("a card that cannot run the job says why", () => {
  const [row] = rank("gpus", TUNE, "--filter", "v100");
  assert.equal(row.verdict, undefined);
  assert.ok(row.errors[0].code.length > 0 && row.errors[0].path.startsWith("train."));
  assert.match(gpuplan(["rank", JSON.stringify(TUNE), "--filter", "v100"]).stdout, /cannot run it/);
});

test("a filter narrows, and what nothing matches is said", () => {
  assert.deepEqual([...new Set(rank("instances", TUNE, "--filter", "lambda").map((row) => row.provider))], ["Lambda"]);
  assert.match(gpuplan(["rank", JSON.stringify(TUNE), "--filter", "zzz"]).stdout, /Nothing matches/);
});

test("the exit code says whether anything holds the job", () => {
  const huge = { task: "pretrain", model: { params: 1e14 }, train: { seq_len: 2048, micro_batch: 1 } };
  assert.equal(gpuplan(["rank", JSON.stringify(SERVE)]).status, 0);
  assert.equal(gpuplan(["rank", JSON.stringify(huge), "--filter", "rtx"]).status, 1);
  assert.equal(gpuplan(["rank", "{\"task\":\"full\"}"]).status, 2);
  assert.equal(gpuplan(["rank", "gpus", "--kind"]).status, 2);
});

test("lines stay within a terminal's width in both languages", () => {
  for (const lang of ["en", "zh-Hans"]) {
    const { stdout } = gpuplan(["rank", JSON.stringify(SERVE), `--lang=${lang}`]);
    const lines = stdout.trimEnd().split("\n");
    assert.equal(lines.length, 22);
    for (const line of lines) assert.ok(columnsOf(line) <= 80, line);
  }
});

test("models of the catalogue on the stated hardware: each row is a plan, the largest that fits at the top", () => {
  const job = { task: "infer", model: "meta-llama/Llama-2-7b-hf", hardware: { gpu: "RTX 4090", count: 1 }, infer: { weights: "awq", context: 4096 } };
  const rows = rank("models", job), answered = rows.filter((row) => row.verdict);
  const { models } = reportOf(["catalog", "models"]);
  assert.deepEqual(rows.map((row) => row.model).sort(), models.map((row) => row.id).sort());
  const plans = planAll(answered.map(({ set }) => ({ ...job, ...set })));
  answered.forEach((row, index) => {
    const { verdict, memory, params, kv, time, model } = plans[index];
    assert.deepEqual([row.model, row.verdict, row.peak_bytes, row.params, row.max_context, row.tokens_per_s, row.trained_context],
      [row.set.model, verdict, memory.peak_bytes, params.total, kv.max_context, time.throughput_tok_s, model.max_context], row.model);
  });
  rows.slice(1).forEach((row, index) => {
    const before = rows[index];
    assert.ok(STANDING.indexOf(row.verdict) >= STANDING.indexOf(before.verdict), row.model);
    if (row.verdict === "fits" && before.verdict === "fits") assert.ok(row.params <= before.params, row.model);
    if (row.verdict === "no" && before.verdict === "no") assert.ok(row.params >= before.params, row.model);
  });
  const { stdout } = gpuplan(["rank", "models", JSON.stringify(job)]);
  for (const line of stdout.trimEnd().split("\n")) assert.ok(columnsOf(line) <= 80, line);
  assert.deepEqual(rank("models", job, "--filter", "Llama-2").map((row) => row.model.includes("Llama-2")), [true, true, true]);
});

test("prices: of an hour, of a million tokens with its range, and of a user, who may have targets", () => {
  const plain = rank("instances", SERVE, "--filter", "h100");
  const kept = rank("instances", { ...SERVE, infer: { ...SERVE.infer, tpot_target_s: 0.05 } }, "--filter", "h100");
  assert.ok(plain.length > 3);
  for (const row of plain.filter(({ verdict, usd_per_hour }) => verdict && usd_per_hour)) {
    const of = (rate) => row.usd_per_hour / 3600 / rate * 1e6;
    assert.ok(Math.abs(of(row.tokens_per_s_low) / row.usd_per_million_tokens_high - 1) < 1e-9 && Math.abs(of(row.tokens_per_s_high) / row.usd_per_million_tokens_low - 1) < 1e-9);
    assert.ok(Math.abs(row.usd_per_hour / row.sequences / row.usd_per_user_hour - 1) < 1e-9 && row.sequences === 8);
    const with_targets = kept.find(({ provider, type, set }) => provider === row.provider && type === row.type && set["hardware.count"] === row.set["hardware.count"]);
    if (with_targets?.within_targets > 0) assert.ok(Math.abs(row.usd_per_hour / with_targets.within_targets / with_targets.usd_per_user_hour - 1) < 1e-9);
  }
  assert.match(gpuplan(["rank", "instances", JSON.stringify(SERVE), "--filter", "h100", "--verbose"]).stdout, /USD\/user\/hour.*price of/);
});
