/** Reports stay what they were, to the byte, natively and in WebAssembly; `make bless` takes a wanted change over. */
import test from "node:test";
import assert from "node:assert/strict";
import { createEngine } from "gpuplan";
import { answerTexts } from "../support/engine.mjs";
import { NAMES, reportOf, requestOf } from "./pairs.mjs";

const engine = await createEngine();
const native = answerTexts(NAMES.map(requestOf));

test("there are pairs for plans, errors, links and the catalogue", () => {
  assert.ok(NAMES.length >= 25);
  for (const kind of ["plan", "error", "link", "catalog"]) {
    assert.ok(NAMES.some((name) => name.startsWith(`${kind}-`)), kind);
  }
});

for (const [index, name] of NAMES.entries()) {
  test(`${name}, natively`, () => {
    assert.deepEqual(JSON.parse(native[index]), JSON.parse(reportOf(name)));
    assert.equal(native[index], reportOf(name));
  });
  test(`${name}, in WebAssembly`, () => assert.equal(engine.answerText(requestOf(name)), reportOf(name)));
}
