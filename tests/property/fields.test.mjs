/** Every field of a job, wrong in every way: the right code, the right path, the right range. */
import { readFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import assert from "node:assert/strict";
import { ROOT, answerAll, answerTexts, planAll, planRequest, withSetting } from "../support/engine.mjs";

const [{ fields: FIELDS }] = answerAll([{ op: "catalog", kind: "fields" }]);
const isNumber = (field) => field.kind === "whole" || field.kind === "real";
const BASES = {
  train: { task: "qlora", model: "meta-llama/Llama-3.2-1B", hardware: { gpu: "A100 SXM4 80GB" }, train: {} },
  infer: { task: "infer", model: "meta-llama/Llama-3.2-1B", hardware: { gpu: "A100 SXM4 80GB" }, infer: {} },
};
const baseOf = (field) => BASES[field.tasks.includes("qlora") ? "train" : "infer"];

/** Answers each field with one wrong value; check gets the errors at the field's path. */
function tryAll(fields, valueOf, check) {
  assert.ok(fields.length > 0);
  const reports = planAll(fields.map((field) => withSetting(baseOf(field), field.path, valueOf(field))));
  for (const [index, field] of fields.entries()) {
    const errors = reports[index].errors ?? [];
    const what = `${field.path} = ${JSON.stringify(valueOf(field))}: ${JSON.stringify(errors)}`;
    assert.equal(errors.length, 1, what);
    assert.equal(errors[0].path, field.path, what);
    check(errors[0], field, what);
  }
}

test("the catalogue of fields is fields.def", () => {
  const text = readFileSync(path.join(ROOT, "core/request/fields.def"), "utf8");
  const rows = [...text.matchAll(/^GP_FIELD\(\w+, "([^"]+)", (\w+), ([^,]+), ([^,]+), (\w+), (\w+), "([^"]*)", "([^"]*)", "([^"]*)"/gm)];
  assert.ok(rows.length > 70);
  assert.deepEqual(FIELDS.map((field) => [field.path, field.kind]), rows.map((row) => [row[1], row[2].toLowerCase()]));
  for (const [index, [, , kind, min, max, solve, , initial, unit, choices]] of rows.entries()) {
    const field = FIELDS[index];
    if (kind === "WHOLE" || kind === "REAL") assert.deepEqual([field.min, field.max], [Number(min), Number(max)], field.path);
    assert.equal(field.auto ?? false, ["AUTO", "BOTH"].includes(solve), field.path);
    assert.equal(field.max_allowed ?? false, ["MAX", "BOTH"].includes(solve), field.path);
    assert.equal(field.unit ?? "", unit, field.path);
    assert.equal((field.choices ?? []).join("|"), choices, field.path);
    if (initial === "") assert.equal(field.default, undefined, field.path);
    else assert.equal(String(field.default), initial, field.path);
  }
});

test("the two base jobs are good, and null is the same as not given", () => {
  const jobs = [BASES.train, BASES.infer];
  const plain = planAll(jobs);
  for (const report of plain) assert.equal(report.errors, undefined);
  const named = FIELDS.filter((field) => field.path !== "task");
  const reports = answerTexts(named.map((field) => JSON.stringify(planRequest(withSetting(baseOf(field), field.path, null)))));
  const expected = new Map(jobs.map((job, index) => [job, JSON.stringify(plain[index])]));
  for (const [index, field] of named.entries()) {
    assert.equal(JSON.stringify(JSON.parse(reports[index])), expected.get(baseOf(field)), field.path);
  }
});

test("a list is of the wrong type everywhere", () => {
  tryAll(FIELDS, () => [1], (error, field, what) => {
    const names = { whole: "integer", real: "number", switch: "boolean", choice: "choice", open: "text", text: "text" };
    assert.equal(error.code, "wrong_type", what);
    assert.equal(error.args.expected, names[field.kind], what);
  });
});

test("text where a number belongs", () => {
  tryAll(FIELDS.filter(isNumber), () => "many", (error, _, what) => assert.equal(error.code, "wrong_type", what));
});

test("true where a number belongs", () => {
  tryAll(FIELDS.filter(isNumber), () => true, (error, _, what) => assert.equal(error.code, "wrong_type", what));
});

test("a number where text, a choice or a switch belongs", () => {
  tryAll(FIELDS.filter((field) => !isNumber(field)), () => 7, (error, _, what) => assert.equal(error.code, "wrong_type", what));
});

test("below the smallest value", () => {
  const value = (field) => (field.kind === "whole" ? field.min - 1 : field.min - 0.25);
  tryAll(FIELDS.filter(isNumber), value, (error, field, what) => {
    assert.equal(error.code, "out_of_range", what);
    assert.deepEqual(error.args, { value: value(field), min: field.min, max: field.max }, what);
  });
});

test("above the largest value", () => {
  const value = (field) => (field.kind === "whole" ? field.max + 1 : field.max * 1.5);
  tryAll(FIELDS.filter(isNumber), value, (error, field, what) => {
    assert.equal(error.code, "out_of_range", what);
    assert.deepEqual(error.args, { value: value(field), min: field.min, max: field.max }, what);
  });
});

test("the smallest and the largest value are inside the range", () => {
  const jobs = FIELDS.filter(isNumber).flatMap((field) => [field.min, field.max].map((value) => [field, value]));
  const reports = planAll(jobs.map(([field, value]) => withSetting(baseOf(field), field.path, value)));
  for (const [index, [field, value]] of jobs.entries()) {
    const wrong = (reports[index].errors ?? []).filter((error) => error.path === field.path && error.code === "out_of_range");
    assert.deepEqual(wrong, [], `${field.path} = ${value}`);
  }
});

test("a fraction where a whole number belongs", () => {
  const whole = FIELDS.filter((field) => field.kind === "whole");
  tryAll(whole, (field) => field.min + 0.5, (error, field, what) => {
    assert.equal(error.code, "not_a_whole_number", what);
    assert.equal(error.args.value, field.min + 0.5, what);
  });
});

test("a word that is no choice, with the choices in the answer", () => {
  const closed = FIELDS.filter((field) => field.kind === "choice" && field.path !== "task");
  tryAll(closed, () => "zeppelin", (error, field, what) => {
    assert.equal(error.code, "unknown_choice", what);
    assert.equal(error.args.value, "zeppelin", what);
    const choices = Array.isArray(error.args.choices) ? error.args.choices : error.args.choices.split("|");
    assert.deepEqual(choices, field.choices, what);
  });
});

/** A typing slip: two neighbouring letters changed over, or one doubled where that gives the same word. */
function slip(word) {
  const middle = Math.max(0, Math.floor(word.length / 2) - 1);
  const turned = word.slice(0, middle) + word[middle + 1] + word[middle] + word.slice(middle + 2);
  return turned === word || word.length < 4 ? `${word}${word.at(-1)}` : turned;
}

test("a choice with a typing error, with the nearest choice in the answer", () => {
  const closed = FIELDS.filter((field) => field.kind === "choice" && field.path !== "task");
  const longest = (field) => field.choices.reduce((best, one) => (one.length > best.length ? one : best));
  tryAll(closed, (field) => slip(longest(field)), (error, field, what) => {
    assert.equal(error.code, "unknown_choice", what);
    assert.equal(error.args.nearest, longest(field), what);
  });
});

test("auto and max where the field takes none", () => {
  for (const [word, allowed] of [["auto", "auto"], ["max", "max_allowed"]]) {
    const closed = FIELDS.filter((field) => !field[allowed] && (isNumber(field) || field.kind === "switch"));
    tryAll(closed, () => word, (error, _, what) => {
      assert.equal(error.code, "not_solvable", what);
      assert.equal(error.args.value, word, what);
    });
  }
});

test("a misspelt key, with the nearest key in the answer", () => {
  const keyOf = (field) => field.path.split(".").at(-1);
  const slipped = (field) => [...field.path.split(".").slice(0, -1), slip(keyOf(field))].join(".");
  const known = new Set(FIELDS.map((field) => field.path));
  const fields = FIELDS.filter((field) => field.path !== "task" && !known.has(slipped(field)));
  assert.ok(fields.length > 60);
  const reports = planAll(fields.map((field) => withSetting(baseOf(field), slipped(field), 1)));
  for (const [index, field] of fields.entries()) {
    const errors = reports[index].errors ?? [];
    const what = `${slipped(field)}: ${JSON.stringify(errors)}`;
    assert.equal(errors.length, 1, what);
    assert.deepEqual([errors[0].code, errors[0].path], ["unknown_key", slipped(field)], what);
    // A slip in a short key is as near to another short one: "cpp" to "cp" and "pp".
    if (keyOf(field).length > 3) assert.equal(errors[0].args.nearest, keyOf(field), what);
    else assert.ok(known.has(slipped(field).replace(/[^.]+$/, errors[0].args.nearest)), what);
  }
});

test("a key that is like no other has no nearest one", () => {
  const [report] = planAll([{ ...BASES.train, qqqqqqqqqqqq: 1 }]);
  assert.deepEqual(report.errors, [{ code: "unknown_key", path: "qqqqqqqqqqqq", args: {} }]);
});

test("all errors of a request are told at once", () => {
  const job = {
    task: "qlora", modle: "x", model: "meta-llama/Lama-3.2-1B", hardware: { gpu: "A100-81GB", count: 0, per_node: 1.5 },
    train: { precision: "bf17", seq_len: "long", micro_batch: -1, recompute: "ful", zero: 4, packed: 3, lora: { rang: 8 } },
    textbook: { held_back_gb: -1 },
  };
  const [report] = planAll([job]);
  const found = report.errors.map(({ code, path: place }) => `${place} ${code}`).sort();
  assert.deepEqual(found, [
    "hardware.count out_of_range", "hardware.gpu unknown_gpu", "hardware.per_node not_a_whole_number",
    "model unknown_model", "modle unknown_key", "textbook.held_back_gb out_of_range", "train.lora.rang unknown_key",
    "train.micro_batch out_of_range", "train.packed wrong_type", "train.precision unknown_choice",
    "train.recompute unknown_choice", "train.seq_len wrong_type", "train.zero out_of_range",
  ].sort());
});

test("every field alone is enough to find its error among forty others", () => {
  const wrong = FIELDS.filter((field) => isNumber(field) && field.tasks.includes("qlora"));
  const job = wrong.reduce((changed, field) => withSetting(changed, field.path, field.max * 2 + 1), BASES.train);
  const [report] = planAll([job]);
  assert.deepEqual(report.errors.map((error) => error.path).sort(), wrong.map((field) => field.path).sort());
});

test("what a job cannot do without is named", () => {
  const [report] = planAll([{}]);
  const found = report.errors.map(({ code, path: place }) => `${place} ${code}`).sort();
  assert.deepEqual(found, ["model missing", "task missing"]);
});

test("settings of another engine are noted and change nothing", () => {
  const llama = { sequences: 4, kv_unified: true, outputs_max: 64, swa_full: true, ubatch: 256, batch_tokens: 4096, gpu_layers: 3, flash_attention: false };
  const servers = { max_num_seqs: 16, max_batched_tokens: 4096, enforce_eager: true };
  const base = (engine, more) => ({ ...BASES.infer, infer: { engine, context: 8192, ...more } });
  const noted = (report) => report.assumptions.filter((row) => row.code === "not_modelled").map((row) => row.path.slice("infer.".length)).sort();
  const [vllm, vllmMore, cpp, cppMore, library] = planAll([base("vllm"), base("vllm", llama), base("llama.cpp"), base("llama.cpp", servers),
    base("transformers", { ...llama, ...servers })]);
  assert.deepEqual([noted(vllmMore), noted(cppMore)], [Object.keys(llama).sort(), Object.keys(servers).sort()]);
  assert.deepEqual(noted(library), Object.keys({ ...llama, ...servers }).filter((name) => name !== "flash_attention").sort());
  assert.deepEqual([vllmMore.memory, cppMore.memory], [vllm.memory, cpp.memory]);
});

test("a context for each sequence is the context, and llama.cpp's is that of all", () => {
  const job = (engine) => ({ ...BASES.infer, infer: { engine, concurrency: 4, sequences: 4, context_per_sequence: 3000 } });
  const context = ({ steps }) => steps.find((step) => step.id === "batch").numbers.context;
  assert.deepEqual(planAll([job("vllm"), job("llama.cpp")]).map(context), [3000, 12000]);
});

test("a link that is known by name sets the time of all-reduces, and has no effect where there are none", () => {
  const job = (count, interconnect) => ({ task: "infer", model: "meta-llama/Llama-3.1-70B", hardware: { gpu: "H100", count, ...(interconnect ? { interconnect } : {}) } });
  const [own, same, slow, unknown, alone] = planAll([job(8), job(8, "NVLink 4"), job(8, "PCIe 3.0 x16"), job(8, "token ring"), job(1, "NVLink 4")]);
  const isNoted = (report) => report.assumptions.some((row) => row.code === "not_modelled" && row.path === "hardware.interconnect");
  assert.deepEqual(same.time, own.time);
  assert.ok(slow.time.ttft_s > own.time.ttft_s && slow.time.tpot_s > own.time.tpot_s);
  assert.deepEqual(unknown.time, own.time);
  assert.deepEqual([same, slow, unknown, alone].map(isNoted), [false, false, true, true]);
});
