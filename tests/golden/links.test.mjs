/** A link works forever: one link of every version decodes to its job, and its job to the same peak. */
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import assert from "node:assert/strict";
import { ROOT, answerAll } from "../support/engine.mjs";

const FOLDER = path.join(ROOT, "tests/golden/links");
const FILES = readdirSync(FOLDER).sort();

test("every version has its file, the newest too", () => {
  const [{ link: newest }] = answerAll([{ op: "version" }]);
  assert.deepEqual(FILES, Array.from({ length: newest }, (_, index) => `v${index + 1}.json`));
});

for (const file of FILES) {
  for (const { link, job } of JSON.parse(readFileSync(path.join(FOLDER, file), "utf8"))) {
    test(`${file}: ${link}`, () => {
      const [read, fromLink, fromJob] = answerAll([{ op: "link", link }, { op: "plan", link }, { op: "plan", job }]);
      assert.equal(read.errors, undefined);
      assert.deepEqual(read.job, job);
      assert.equal(fromLink.errors, undefined);
      assert.deepEqual(fromLink, fromJob);
    });
  }
}
