/** `gpuplan score`: the figures are those of a hand. What a row is said to have measured is a known multiple of what the
 * planner says, so its error is known whatever the planner says. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import test, { after } from "node:test";
import { planAll } from "../support/engine.mjs";
import { columnsOf, gpuplan, reportOf } from "./gpuplan.mjs";

const folder = mkdtempSync(path.join(os.tmpdir(), "score-"));
after(() => rmSync(folder, { recursive: true }));
const file = (name, rows) => {
  const target = path.join(folder, name);
  writeFileSync(target, rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n"));
  return target;
};

const job = (task, micro_batch) => ({
  task, model: "meta-llama/Llama-2-7b-hf", hardware: { gpu: "A100 SXM 80GB", count: 1 }, train: { seq_len: 512, micro_batch, recompute: "full" },
});
const GIB = 2 ** 30;

/** Measured = predicted / (1 + error). */
function training(errors, meter, key) {
  return errors.map(([error, group, task, tags], index) => {
    const [report] = planAll([job(task, index + 1)]);
    const peak_gib = report.memory.meters[key] / (1 + error) / GIB;
    return { id: `row-${index}`, group, job: job(task, index + 1), measured: { peak_gib, meter_class: meter, fits: true }, ...(tags && { tags }) };
  });
}

const GOLD = ["mem_gold"];
const ROWS = [
  ...training([[0.1, "a", "full", GOLD], [-0.2, "a", "full", GOLD], [0, "b", "lora", GOLD], [0.4, "b", "qlora", GOLD],
    [0.5, "b", "qlora", ["mem_gold", "varlen"]], [0.5, "b", "qlora", []]], "reserved", "reserved_bytes"),
  ...training([[0.3, "c", "lora"]], "allocated", "allocated_bytes"),
  { id: "broken", group: "c", job: { task: "full", model: "no such model at all" }, measured: { peak_gib: 3, meter_class: "reserved" }, tags: GOLD },
  { id: "other meter", group: "c", job: job("full", 1), measured: { peak_gib: 3, meter_class: "rss" }, tags: GOLD },
  { id: "too large", group: "c", job: job("full", 4096), measured: { fits: false }, tags: [] },
];
const rows = file("rows.jsonl", ROWS);
const figures = ({ rows: count, unanswered, median, p90, bias }) => [count, unanswered, median, p90, bias];

test("medians, 90th percentile, bias and what is not answered", () => {
  const { quantities, ...rest } = reportOf(["score", rows]);
  assert.equal(quantities.length, 1);
  // Errors 0.1, -0.2, 0, 0.4, 0.3 and one row without an answer: |error| 0, 0.1, 0.2, 0.3, 0.4.
  assert.deepEqual(figures(quantities[0]), [6, 1, 0.2, 0.3, 0.1]);
  assert.deepEqual([rest.rows, rest.faulty], [ROWS.length, 1]);
  const groups = Object.fromEntries(quantities[0].groups.map((part) => [part.name, figures(part)]));
  assert.deepEqual(groups, { a: [2, 0, 0.15, 0.1, -0.05], b: [2, 0, 0.2, 0, 0.2], c: [2, 1, 0.3, 0.3, 0.3] });
  assert.deepEqual(quantities[0].methods.map((part) => [part.name, part.rows]), [["full", 3], ["lora", 2], ["qlora", 1]]);
});

test("rows that are furthest off, and verdicts of what ran and what did not", () => {
  const { quantities, verdicts } = reportOf(["score", rows, "--worst", "2"]);
  assert.deepEqual(quantities[0].worst.map(({ id, error }) => [id, error]), [["row-3", 0.4], ["row-0", 0.3]]);
  assert.equal(verdicts.training.oom.no, 1);
  assert.equal(Object.values(verdicts.training.ran).reduce((a, b) => a + b), 9);
  assert.deepEqual(verdicts.training.ran.none, 1);
  assert.equal(Object.values(verdicts.serving).flatMap(Object.values).reduce((a, b) => a + b), 0);
});

test("a measurement is inside the range or outside of it", () => {
  const exact = file("exact.jsonl", training([[0, "a", "full", GOLD], [1, "a", "full", GOLD]], "nvidia-smi", "device_bytes"));
  assert.equal(reportOf(["score", exact]).quantities[0].coverage, 0.5);
});

test("by group or by method alone, in both languages, within the width", () => {
  assert.deepEqual(Object.keys(reportOf(["score", rows, "--by", "group"]).quantities[0]).filter((key) => /groups|methods/.test(key)), ["groups"]);
  assert.deepEqual(Object.keys(reportOf(["score", rows, "--by", "method"]).quantities[0]).filter((key) => /groups|methods/.test(key)), ["methods"]);
  for (const [lang, word] of [["en", "training memory"], ["zh-Hans", "训练显存"]]) {
    const { status, stdout } = gpuplan(["score", rows, "--worst=1", `--lang=${lang}`]);
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(word));
    for (const line of stdout.split("\n")) assert.ok(columnsOf(line) <= 80, line);
  }
});

test("memory is shown as it was measured, and a faulty job says what is wrong with it", () => {
  const measured = ROWS.find((row) => row.id === "row-3").measured.peak_gib;
  const { status, stdout, stderr } = gpuplan(["score", rows, "--worst=1", "--lang=en"]);
  assert.equal(status, 0);
  assert.match(stdout, /training memory \(GiB\)/);
  const [, predicted, read] = stdout.match(/row-3 +\+40\.0 % +(\S+) +(\S+)/).map(Number);
  assert.ok(Math.abs(read / measured - 1) < 1e-3 && Math.abs(predicted / read - 1.4) < 1e-3);
  assert.match(stderr, /row broken: its job has faults[^]*no such model at all/);
  const many = file("many.jsonl", Array.from({ length: 9 }, () => ({ job: { task: "full" }, measured: {} })));
  assert.equal(gpuplan(["score", many]).stderr.match(/its job has faults/g).length, 5);
});

test("a row that names nothing has a number, its default engine, and no group", () => {
  const bare = (concurrency) => ({ job: { task: "infer", model: "gpt2", hardware: { gpu: "H100" }, infer: { concurrency } }, measured: { tpot_s: 0.01 } });
  const [quantity] = reportOf(["score", file("bare.jsonl", [bare(1), "", bare(2)]), "--worst=9"]).quantities;
  assert.deepEqual([quantity.groups, quantity.methods.map((part) => part.name)], [[], ["vllm"]]);
  assert.deepEqual(quantity.worst.map((row) => row.id).sort(), ["1", "2"]);
});

test("what is no measurement is said, and the rest is scored", () => {
  const mixed = gpuplan(["score", file("mixed.jsonl", [ROWS[0], "no JSON", "{\"job\":{}}"]), "--json"]);
  assert.equal(mixed.status, 2);
  assert.match(mixed.stderr, /mixed\.jsonl: lines that hold no job/);
  assert.equal(JSON.parse(mixed.stdout).rows, 1);
  assert.equal(gpuplan(["score"]).status, 2);
  assert.equal(gpuplan(["score", path.join(folder, "absent.jsonl")]).status, 2);
  assert.equal(gpuplan(["score", rows, "--by", "colour"]).status, 2);
  assert.equal(gpuplan(["score", rows, "--worst", "many"]).status, 2);
});
