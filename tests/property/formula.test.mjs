/** Every number of a ledger can be redone from its formula and terms. */
import test from "node:test";
import assert from "node:assert/strict";
import { answerAll, planAll } from "../support/engine.mjs";
import { generateValidJobs } from "../generate/jobs.mjs";
import { evaluate } from "../support/arithmetic.mjs";

const JOBS = generateValidJobs(400, 8128);
const REPORTS = planAll(JOBS);

test("the evaluator knows precedence, functions and faults", () => {
  assert.equal(evaluate("2 + 3 * 4", {}).value, 14);
  assert.equal(evaluate("(2 + 3) * 4 / 8 - 1", {}).value, 1.5);
  assert.equal(evaluate("ceil(L / p) * max(g, t, 3) - min(1, 2)", { L: 7, p: 2, g: 1, t: 5 }).value, 19);
  assert.equal(evaluate("-2.5e3 + floor(1.9)", {}).value, -2499);
  for (const wrong of ["2 +", "2 ** 3", "x", "sin(1)", "(1", "1 2", "a.b", "1;2"]) {
    assert.throws(() => evaluate(wrong, {}), SyntaxError, wrong);
  }
});

test("a formula evaluated with its terms gives the bytes", () => {
  let count = 0;
  for (const [index, report] of REPORTS.entries()) {
    for (const item of report.memory.stages.flatMap((stage) => stage.items)) {
      const { value, used } = evaluate(item.formula, item.terms);
      // Bytes are whole; a term is an IEEE double, good for 15 digits.
      const slack = 1 + item.bytes * 1e-14;
      const what = `${item.formula_id}: ${item.formula} with ${JSON.stringify(item.terms)}: ${JSON.stringify(JOBS[index])}`;
      assert.ok(Math.abs(value - item.bytes) < slack, `${value} for ${item.bytes} bytes, ${what}`);
      assert.deepEqual([...used].sort(), Object.keys(item.terms).sort(), `terms not used, ${what}`);
      count += 1;
    }
  }
  assert.ok(count > 2000, `${count} items`);
});

test("a formula of a speed evaluated with its terms gives the figure", () => {
  let count = 0;
  for (const report of REPORTS) {
    for (const [name, { value, formula, terms }] of Object.entries(report.time?.why ?? {})) {
      const redone = evaluate(formula, terms);
      assert.ok(Math.abs(redone.value / value - 1) < 1e-9, `${name}: ${redone.value} for ${value}`);
      assert.deepEqual([...redone.used].sort(), Object.keys(terms).sort(), name);
      if (report.time[name]) assert.equal(report.time[name], value, name);
      count += 1;
    }
  }
  assert.ok(count > 300, `${count} figures`);
});

test("every formula of a report is in the list of formulas, word for word", () => {
  const [{ formulas }] = answerAll([{ op: "catalog", kind: "formulas" }]);
  const known = new Map(formulas.map((row) => [row.id, row]));
  assert.equal(known.size, formulas.length);
  for (const report of REPORTS) {
    for (const item of report.memory.stages.flatMap((stage) => stage.items)) {
      assert.equal(known.get(item.formula_id)?.expression, item.formula, item.formula_id);
      assert.equal(known.get(item.formula_id).source, item.source, item.formula_id);
    }
  }
});

test("every formula has a source and can be read", () => {
  const [{ formulas }] = answerAll([{ op: "catalog", kind: "formulas" }]);
  for (const { id, expression, source } of formulas) {
    assert.ok(source.length >= 8, `${id}: source "${source}"`);
    const symbols = expression.match(/[A-Za-z_][A-Za-z0-9_]*(?!\w*\s*\()/g) ?? [];
    const ones = Object.fromEntries(symbols.map((symbol) => [symbol, 1]));
    assert.ok(Number.isFinite(evaluate(expression, ones).value), `${id}: ${expression}`);
  }
});

test("explain answers with a formula by its id, and with all formulas of an item", () => {
  const [{ formulas }] = answerAll([{ op: "catalog", kind: "formulas" }]);
  const answers = answerAll(formulas.map(({ id }) => ({ op: "explain", id })));
  for (const [index, { formulas: found }] of answers.entries()) assert.deepEqual(found, [formulas[index]]);
  const [item] = answerAll([{ op: "explain", id: "kv_cache" }]);
  assert.ok(item.formulas.length >= 1);
});
