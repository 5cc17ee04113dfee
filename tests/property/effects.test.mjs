/** Every field of training, set one at a time: it changes the plan, or the report says that it has no effect. */
import test from "node:test";
import assert from "node:assert/strict";
import { answerAll, planAll, withSetting } from "../support/engine.mjs";

const job = (task, model, gpu, count, train) => ({ task, model, hardware: { gpu, count }, train });
const BASES = {
  megatron: job("pretrain", "meta-llama/Llama-3.1-8B", "B200", 32,
    { framework: "megatron", tp: 2, pp: 4, seq_len: 8192, grad_accum: 16, zero: 1, recompute: "none", loss: "fused" }),
  experts: job("pretrain", "mistralai/Mixtral-8x7B-v0.1", "H100", 64,
    { framework: "megatron", tp: 2, pp: 2, ep: 4, seq_len: 4096, grad_accum: 8, zero: 1, recompute: "none" }),
  deepspeed: job("full", "meta-llama/Llama-2-7b-hf", "A100", 8,
    { framework: "deepspeed", tp: 1, zero: 2, micro_batch: 2, recompute: "none" }),
  torchtitan: job("pretrain", "meta-llama/Llama-3.1-8B", "H200", 16,
    { framework: "torchtitan", tp: 1, zero: 3, seq_len: 8192, recompute: "none" }),
  trainer: job("full", "Qwen/Qwen2.5-1.5B", "A100", 2,
    { framework: "hf-trainer", tp: 1, zero: 0, seq_len: 1024, micro_batch: 2, recompute: "none" }),
  qlora: job("qlora", "meta-llama/Llama-2-7b-hf", "RTX 4090", 1, { framework: "peft", seq_len: 1024, micro_batch: 2, recompute: "full" }),
  torchtune: job("lora", "meta-llama/Llama-3.1-8B", "A100", 1, { framework: "torchtune", micro_batch: 2, recompute: "none" }),
  fsdp: job("full", "meta-llama/Llama-2-7b-hf", "A100", 16, { framework: "fsdp", tp: 1, zero: 3, micro_batch: 2, recompute: "full" }),
};

/** Values of texts and numbers; those of other fields are their choices. */
const WORDS = {
  grad_dtype: ["bf16", "fp32", "fp32 reduce", "int3"],
  recompute_detail: ["full block 2", "recompute-ffn", "offloaded", "every other"],
  loss: ["lmhead chunks 4", "a loss of our own"],
  loss_impl: ["hf-old", "a loss of our own"],
  pp_layers: ["7,8,9,8"],
  offload: ["activation", "offload-opt-m", "experts"],
  fsdp: ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HSDP=4", "our own"],
  compile: ["true", "false"],
  dropout: [0.1],
  dropout_kernel: ["F.dropout"],
  "lora.rank": [4, 64], "lora.alpha": [32], "lora.dropout": [0.1], "lora.kind": ["IA3"], "lora.adapter_dtype": ["bf16", "ours"],
  "lora.trainable": ["norms"], "lora.trainable_params": [1000000],
};
const NUMBERS = { mtp_layers: [1], tp: [2], pp: [2], cp: [2], dp: [2], ep: [2], vpp: [2], zero: [1, 2, 3] };

const [{ fields }] = answerAll([{ op: "catalog", kind: "fields" }]);
const FIELDS = fields.filter((field) => field.path.startsWith("train.") && field.path !== "train.framework").map((field) => {
  const key = field.path.slice("train.".length);
  const numbers = field.kind === "whole" ? NUMBERS[key] ?? WORDS[key] ?? [2, 4] : [];
  const switches = field.kind === "switch" ? [true, false] : [];
  return { path: field.path, key, values: [...new Set([...(field.choices ?? []), ...switches, ...numbers, ...(WORDS[key] ?? [])])] };
});

/** What is the same by right: both types take two bytes, neither attention kernel keeps scores. */
const ALIKE = { precision: ["bf16", "fp16"], weights: ["bf16", "fp16"], attention: ["flash", "sdpa"] };

const itemsOf = (stage) => stage.items.map(({ id, bytes, phases }) => [id, bytes, phases]);
const memoryOf = ({ memory: { stages, ...memory }, parallel }) =>
  JSON.stringify([memory, stages.map((stage) => [stage.peak_bytes, itemsOf(stage)]), parallel.grad_accum]);
const isNoted = (report, path) => report.assumptions.some((row) => row.code === "not_modelled" && row.path === path);

for (const [name, base] of Object.entries(BASES)) {
  const rows = FIELDS.flatMap((field) => field.values.map((value) => ({ ...field, value })));
  const [plain, ...reports] = planAll([base, ...rows.map((row) => withSetting(base, row.path, row.value))]);
  for (const [index, row] of rows.entries()) row.report = reports[index];
  const planned = rows.filter((row) => row.report.errors === undefined);
  const whole = memoryOf(plain);

  test(`${name}: a value that is noted changes nothing`, () => {
    assert.ok(planned.length > 90, `${planned.length} plans`);
    for (const row of planned) {
      if (!isNoted(row.report, row.path)) continue;
      // Set in the base: it has the effect of what stands in its place.
      if (row.key in base.train) continue;
      assert.equal(memoryOf(row.report), whole, `${row.path} = ${row.value}`);
    }
  });

  test(`${name}: a field that changes nothing is noted`, () => {
    for (const { key, path } of FIELDS) {
      const silent = planned.filter((row) => row.key === key && !isNoted(row.report, path));
      const same = silent.filter((row) => memoryOf(row.report) === whole);
      // One value of a field says what is so anyway; more are alike by right, or are said in other words.
      const stated = same.filter((row) => !(ALIKE[key] ?? []).includes(row.value));
      const differs = silent.length > same.length;
      if (!differs) assert.ok(stated.length <= 1, `${path}: ${stated.map((row) => row.value)}`);
    }
  });
}

test("free words that say nothing known are noted, known ones are not", () => {
  const say = (base, setting) => Object.entries(setting).reduce((all, [key, value]) => withSetting(all, `train.${key}`, value), BASES[base]);
  const cases = [
    ["fsdp", { recompute_detail: "full block 2" }, false], ["fsdp", { recompute_detail: "every other" }, true],
    ["fsdp", { offload: "activation" }, false], ["fsdp", { offload: "experts" }, true],
    ["fsdp", { loss: "lmhead chunks 4" }, false], ["fsdp", { loss: "our own" }, true],
    ["fsdp", { fsdp: "HSDP" }, false], ["fsdp", { fsdp: "NO_SHARD" }, true], ["fsdp", { grad_dtype: "int3" }, true],
    ["trainer", { loss_impl: "hf-old" }, false], ["fsdp", { loss_impl: "hf-old" }, true],
    ["megatron", { pp_layers: "7,8,9,8" }, false], ["fsdp", { schedule: "gpipe" }, true], ["megatron", { precision: "fp8" }, true],
    ["torchtune", { "lora.kind": "DoRA" }, true], ["torchtune", { "lora.kind": "IA3" }, false], ["torchtune", { optimizer_in_backward: true }, true], ["megatron", { dropout: 0.1 }, false], ["torchtune", { dropout: 0.1 }, true],
  ];
  const reports = planAll(cases.map(([base, setting]) => say(base, setting)));
  for (const [index, [base, setting, noted]] of cases.entries()) {
    const path = `train.${Object.keys(setting)[0]}`;
    assert.equal(reports[index].errors, undefined, JSON.stringify(reports[index].errors));
    assert.equal(isNoted(reports[index], path), noted, `${base} ${JSON.stringify(setting)}`);
  }
});

test("a step within backward takes no more than one behind it, and a schedule nothing without a pipeline", () => {
  const bases = Object.entries(BASES).filter(([name, { task }]) => name !== "megatron" && name !== "experts" && task !== "lora" && task !== "qlora");
  for (const recompute of ["none", "full"]) {
    for (const [name, base] of bases) {
      const whole = withSetting(base, "train.recompute", recompute), accumulates = withSetting(whole, "train.grad_accum", 8);
      const schedules = ["gpipe", "zb-v", "zb-h1", "dualpipe"].map((schedule) => withSetting(accumulates, "train.schedule", schedule));
      const [plain, within, several, ...scheduled] = planAll([whole, withSetting(whole, "train.optimizer_in_backward", true), accumulates, ...schedules]);
      assert.ok(within.memory.peak_bytes <= plain.memory.peak_bytes, `${name} ${recompute}`);
      for (const report of scheduled) assert.equal(memoryOf(report), memoryOf(several), `${name} ${recompute}`);
    }
  }
});
