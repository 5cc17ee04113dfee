/**
 * The numbers of the course notes, worked out by hand. Each case states arithmetic beside a job; the report must give
 * the same. In a case:
 *   numbers   path: expression, exact (times and ratios to 12 digits)     is      path: value
 *   within    path: [low, high]    above, below    path: expression      oneOf   path: values
 *   moreThan  path: case whose value there is smaller                     warns, errors, absent
 * An expression may name the same path of another case: case(ID).
 */
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import test, { describe } from "node:test";
import assert from "node:assert/strict";
import { ROOT, planAll } from "../support/engine.mjs";
import { evaluate } from "../support/arithmetic.mjs";
import { at, codesOf } from "../support/report.mjs";

const FOLDER = path.join(ROOT, "tests/golden/notes");
const read = (name) => JSON.parse(readFileSync(path.join(FOLDER, name), "utf8"));
const files = readdirSync(FOLDER).filter((name) => name !== "coverage.json").sort();
const cases = files.flatMap((name) => read(name).cases);
const reports = new Map(planAll(cases.map((one) => one.job)).map((report, index) => [cases[index].id, report]));

function valueOf(expression, place) {
  const terms = {};
  const arithmetic = expression.replace(/case\(([^)]+)\)/g, (_, id) => {
    const name = `other_${Object.keys(terms).length}`;
    terms[name] = at(reports.get(id), place);
    return name;
  });
  return evaluate(arithmetic, terms).value;
}

function checkNumbers(one, report) {
  for (const [place, expression] of Object.entries(one.numbers ?? {})) {
    const expected = valueOf(expression, place);
    const found = at(report, place);
    const digits = Number.isInteger(found) ? 0 : Math.abs(expected) * 1e-12;
    assert.ok(Math.abs(found - expected) <= digits, `${place}: ${found}, by hand ${expression} = ${expected}`);
  }
}

function checkBounds(one, report) {
  const between = (place, low, high) => {
    const found = at(report, place);
    assert.ok(found > low && found < high, `${place}: ${found}, expected between ${low} and ${high}`);
  };
  for (const [place, low] of Object.entries(one.above ?? {})) between(place, valueOf(low, place), Infinity);
  for (const [place, high] of Object.entries(one.below ?? {})) between(place, -Infinity, valueOf(high, place));
  for (const [place, [low, high]] of Object.entries(one.within ?? {})) {
    between(place, valueOf(low, place), valueOf(high, place));
  }
  for (const [place, other] of Object.entries(one.moreThan ?? {})) between(place, at(reports.get(other), place), Infinity);
}

function checkValues(one, report) {
  for (const [place, value] of Object.entries(one.is ?? {})) assert.equal(at(report, place), value, place);
  for (const [place, values] of Object.entries(one.oneOf ?? {})) {
    assert.ok(values.includes(at(report, place)), `${place}: ${at(report, place)}, expected one of ${values}`);
  }
  for (const place of one.absent ?? []) assert.equal(at(report, place), undefined, place);
  for (const code of one.warns ?? []) assert.ok(codesOf(report.warnings).includes(code), `no warning ${code}`);
}

for (const name of files) {
  describe(name, () => {
    for (const one of read(name).cases) {
      test(`${one.id} (${one.ledger})`, () => {
        const report = reports.get(one.id);
        const faults = (report.errors ?? []).map(({ code, path: place }) => [code, place]);
        assert.deepEqual(faults, one.errors ?? []);
        checkNumbers(one, report);
        checkBounds(one, report);
        checkValues(one, report);
      });
    }
  });
}

test("every case says what it is, and no two share an id", () => {
  assert.equal(new Set(cases.map((one) => one.id)).size, cases.length);
  for (const one of cases) {
    assert.ok(one.id.startsWith(one.row) && one.why, one.id);
    assert.equal(one.job.ledger ?? "detailed", one.ledger, one.id);
  }
});

test("every row of the notes has a case, or a reason why not", () => {
  const { rows, notCovered } = read("coverage.json");
  const told = new Set([...cases, ...notCovered].map((one) => one.row));
  assert.deepEqual(rows.filter((row) => !told.has(row)), []);
});
