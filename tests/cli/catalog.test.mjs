/** `gpuplan catalog` and `gpuplan explain`. */
import test from "node:test";
import assert from "node:assert/strict";
import { columnsOf, gpuplan, reportOf } from "./gpuplan.mjs";

const FIRST_COLUMN = { models: "id", gpus: "name", fields: "path", formulas: "id" };

test("without a kind it lists the kinds with their number of rows", () => {
  const { status, stdout } = gpuplan(["catalog"]);
  assert.equal(status, 0);
  for (const kind of Object.keys(FIRST_COLUMN)) {
    assert.match(stdout, new RegExp(`^ {2}${kind} +${reportOf(["catalog", kind])[kind].length}  `, "m"));
  }
});

test("every row of the report is a row of the table, and its columns align", () => {
  for (const [kind, name] of Object.entries(FIRST_COLUMN)) {
    for (const lang of ["en", "zh-Hans"]) {
      const rows = reportOf(["catalog", kind])[kind];
      const lines = gpuplan(["catalog", kind, `--lang=${lang}`]).stdout.split("\n");
      for (const row of rows) assert.ok(lines.some((line) => line.startsWith(`  ${row[name]}`)), `${kind}: ${row[name]}`);
      const [heading] = lines;
      assert.ok(columnsOf(heading) > 20);
      if (kind === "models") {
        // The last column is flush right, hence ends where the heading ends.
        for (const line of lines.slice(1, -1)) assert.ok(columnsOf(line) <= columnsOf(heading), line);
      }
    }
  }
});

test("words narrow the list", () => {
  const { models } = reportOf(["catalog", "models", "llama", "70b"]);
  assert.ok(models.length > 0 && models.every((row) => /llama/i.test(row.id + row.family) && /70b/i.test(row.id)));
  assert.equal(gpuplan(["catalog", "models", "llama", "70b"]).stdout.trimEnd().split("\n").length, models.length + 1);
  const none = gpuplan(["catalog", "gpus", "abacus"]);
  assert.deepEqual([none.status, none.stdout], [0, "Nothing matches.\n"]);
});

test("sizes follow --unit", () => {
  assert.match(gpuplan(["catalog", "gpus", "H100"]).stdout, /\d GiB/);
  assert.match(gpuplan(["catalog", "gpus", "H100", "--unit=GB"]).stdout, /\d GB /);
});

test("explain lists every formula with its meaning", () => {
  const { formulas } = reportOf(["catalog", "formulas"]);
  const { stdout } = gpuplan(["explain"]);
  for (const { id } of formulas) assert.match(stdout, new RegExp(`^ {2}${id.replaceAll(".", "\\.")} +\\S`, "m"));
});

test("explain of a formula shows expression, every symbol and the source", () => {
  for (const { id, expression, source } of reportOf(["catalog", "formulas"]).formulas) {
    const { status, stdout } = gpuplan(["explain", id]);
    const flat = stdout.replaceAll(/\s+/g, " ");
    assert.equal(status, 0);
    assert.ok(flat.includes(expression), id);
    assert.ok(flat.includes(source.slice(0, 40)), id);
    const symbols = [...new Set(expression.match(/[A-Za-z_]\w*/g))].filter((name) => !["min", "max", "ceil", "floor"].includes(name));
    for (const symbol of symbols) assert.match(stdout, new RegExp(`^ {2}(symbols +| {10})${symbol} {2}\\S`, "m"), `${id}: ${symbol}`);
  }
});

test("explain takes the names that settings take", () => {
  const named = (id) => gpuplan(["explain", id]).stdout.split("\n").filter((text) => /^\S/.test(text));
  assert.deepEqual(["seq_len", "tp", "mb", "users", "hardware.gpu", "gpu", "targets"].map(named),
    [["train.seq_len"], ["train.tp", "infer.tp"], ["train.micro_batch"], ["infer.concurrency"], ["hardware.gpu"], ["gpu"], ["targets"]]);
});

test("explain knows items, fields, knobs and codes", () => {
  assert.match(gpuplan(["explain", "kv_cache"]).stdout, /kv_cache\.blocks[^]*textbook\.kv_cache/);
  assert.match(gpuplan(["explain", "train.seq_len"]).stdout, /1 to 16,777,216[^]*2,?048/);
  assert.match(gpuplan(["explain", "train.recompute"]).stdout, /selective/);
  assert.match(gpuplan(["explain", "out_of_range"]).stdout, /Must be from/);
  assert.match(gpuplan(["explain", "zero3_before_needed"]).stdout, /ZeRO/);
  assert.match(gpuplan(["explain", "recompute_full"]).stdout, /Recompute/);
  assert.match(gpuplan(["explain", "kv_cache", "--lang=zh-Hans"]).stdout, /KV 缓存/);
});

test("explain of a switch says what it takes", () => {
  assert.match(gpuplan(["explain", "infer.enforce_eager"]).stdout, /allowed +true, false\n/);
  assert.equal(gpuplan(["explain", "infer.enforce_eager"]).stdout.match(/allowed/g).length, 1);
});
