// The command line and the page are one program: the same request gives the same bytes natively and in WebAssembly.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { createEngine } from "gpuplan";

import { generateJobs } from "../generate/jobs.mjs";

const engine = await createEngine();
/** What the page starts with. */
const firstView = await createEngine(readFileSync("build/planner.wasm"));

/** @param {string[]} requests texts without line breaks */
function answerNatively(requests) {
  const { stdout, status } = spawnSync("build/tests/answer_lines", {
    input: requests.map((request) => `${request}\n`).join(""), maxBuffer: 2 ** 30, encoding: "utf8",
  });
  assert.equal(status, 0);
  return stdout.split("\n").slice(0, -1);
}

function assertSame(requests, asked = engine) {
  const native = answerNatively(requests);
  assert.equal(native.length, requests.length);
  requests.forEach((request, i) => {
    const answer = asked.answerText(request);
    if (answer === native[i]) return;
    let at = 0;
    while (answer[at] === native[i][at]) at++;
    const around = (text) => text.slice(Math.max(0, at - 100), at + 100);
    assert.fail(`${request.slice(0, 1000)}\nin WebAssembly: …${around(answer)}…\nnatively:       …${around(native[i])}…`);
  });
}

for (const detail of ["full", "brief"]) {
  for (const seed of [1, 2, 3]) {
    test(`200 ${detail} plans of seed ${seed}`, () => {
      assertSame(generateJobs(200, seed).map((job) => JSON.stringify({ gpuplan: 1, op: "plan", detail, job })));
    });
  }
}

test("links, of jobs and back", () => {
  const links = generateJobs(200, 4).map((job) => JSON.stringify({ gpuplan: 1, op: "link", job }));
  assertSame(links);
  assertSame(links.map((request) => JSON.stringify({ gpuplan: 1, op: "plan", link: engine.answer(request).link })));
});

test("the catalogue, the fields and the formulas", () => {
  assertSame(["models", "gpus", "fields", "formulas"].map((kind) => JSON.stringify({ gpuplan: 1, op: "catalog", kind })));
});

test("the module of the page's first view answers the same, but for files of models and packed links", () => {
  const isPlain = (job) => !/=[jz]1\./.test(engine.answer({ op: "link", job }).link);
  const plain = generateJobs(400, 6).filter(isPlain);
  assert.ok(plain.length > 200);
  assertSame(plain.map((job) => JSON.stringify({ gpuplan: 1, op: "plan", job })), firstView);
  assertSame(plain.map((job) => JSON.stringify({ gpuplan: 1, op: "link", job })), firstView);
  assertSame(["models", "gpus", "fields"].map((kind) => JSON.stringify({ gpuplan: 1, op: "catalog", kind })), firstView);
  const examples = JSON.parse(readFileSync("web/examples.json", "utf8"));
  assertSame(examples.flatMap(({ variants }) => variants).map(({ job }) => JSON.stringify({ gpuplan: 1, op: "plan", job })), firstView);
});

test("the module of the page's first view refuses what it leaves to the full one", () => {
  const job = { task: "infer", model: { config: { model_type: "llama" } }, hardware: { gpu: "H100" } };
  assert.equal(firstView.answer({ op: "plan", job }).errors[0].path, "model.config");
  assert.equal(firstView.answer({ op: "import", parts: [] }).errors[0].code, "unknown_operation");
});

test("every prefix of a request, and the largest requests", () => {
  const request = JSON.stringify({ gpuplan: 1, op: "plan", job: generateJobs(1, 5)[0] });
  assertSame([
    ...Array.from(request, (_, i) => request.slice(0, i)),
    "[".repeat(2 ** 20), "[".repeat(2 ** 20 + 1), "[" + "0,".repeat(2 ** 19 - 2) + "0]",
    `{"job":{${Array.from({ length: 60000 }, (_, i) => `"k${i}":0`).join(",")}}}`,
    `{"job":{"model":"${"é".repeat(2 ** 19 - 20)}"}}`,
  ]);
});
