// The command line and the page are one program: the same request gives the same bytes natively and in WebAssembly.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInThisContext } from "node:vm";

import { EngineTrap, createEngine } from "gpuplan";

import { explainedAnswer } from "../../web/texts.js";
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

for (const detail of ["full", "figures", "brief"]) {
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

/** Of these requests, those that the first view's module answers; it stops at all others. */
function answered(requests) {
  return requests.filter((request) => {
    try {
      return firstView.answerText(request) !== "";
    } catch (error) {
      assert.ok(error instanceof EngineTrap);
      return false;
    }
  });
}

const isTraining = (job) => job.task !== "infer";
/** As the page asks: without the texts that it loads apart. */
const request = (op, job) => JSON.stringify({ gpuplan: 1, op, job, ...(op === "plan" ? { detail: "figures" } : {}) });

test("what the module of the page's first view answers, it answers the same: training, and links of every task", () => {
  const jobs = generateJobs(400, 6);
  const training = jobs.filter(isTraining);
  for (const [op, asked, least] of [["plan", training, 0.8], ["link", jobs, 0.8]]) {
    const taken = answered(asked.map((job) => request(op, job)));
    assert.ok(taken.length > least * asked.length && asked.length > 100, `${op}: ${taken.length} of ${asked.length}`);
    assertSame(taken, firstView);
  }
  assertSame(["models", "gpus", "fields"].map((kind) => JSON.stringify({ gpuplan: 1, op: "catalog", kind, detail: "figures" })), firstView);
});

test("the module of the page's first view answers the worked examples of training in both ledgers", () => {
  const jobs = JSON.parse(readFileSync("web/examples.json", "utf8")).flatMap(({ variants }) => variants.map(({ job }) => job));
  assert.ok(isTraining(jobs[0]), "the page opens on the first");
  const ledgers = (job) => ["detailed", "textbook"].map((ledger) => request("plan", { ...job, ledger }));
  assertSame(jobs.filter(isTraining).flatMap(ledgers), firstView);
});

test("the module of the page's first view stops at what it leaves to the full one, and goes on", () => {
  const job = { task: "full", model: "llama-3.1-8b", hardware: { gpu: "H100", count: 8 } };
  const config = { ...job, model: { config: { model_type: "llama", hidden_size: 64 } } };
  const figures = (asked) => ({ op: "plan", job: asked, detail: "figures" });
  const left = [{ op: "plan", job }, { op: "catalog", kind: "gpus" }, figures({ ...job, task: "infer" }), figures({ ...job, task: "infer", ledger: "textbook" }),
    figures(config), { op: "import", parts: [] }, { op: "rank", job, kind: "gpus" }, { op: "catalog", kind: "instances" },
    { op: "explain", id: "kv_cache" }, { op: "link", link: engine.answer({ op: "link", job: config }).link }];
  for (const asked of left) assert.throws(() => firstView.answer(asked), EngineTrap, JSON.stringify(asked));
  assert.equal(firstView.answer(figures(job)).verdict, "fits");
});

test("every prefix of a request, and the largest requests", () => {
  const whole = request("plan", generateJobs(1, 5)[0]);
  assertSame([
    ...Array.from(whole, (_, i) => whole.slice(0, i)),
    "[".repeat(2 ** 20), "[".repeat(2 ** 20 + 1), "[" + "0,".repeat(2 ** 19 - 2) + "0]",
    `{"job":{${Array.from({ length: 60000 }, (_, i) => `"k${i}":0`).join(",")}}}`,
    `{"job":{"model":"${"é".repeat(2 ** 19 - 20)}"}}`,
  ]);
});

test("figures with the texts that the page loads are the full report", () => {
  runInThisContext(readFileSync("dist/reference.js", "utf8"));
  let explained = 0;
  for (const job of generateJobs(300, 7)) {
    const figures = engine.answer({ gpuplan: 1, op: "plan", job, detail: "figures" });
    const full = engine.answerText(JSON.stringify({ gpuplan: 1, op: "plan", job }));
    if (!figures.errors) explained++;
    const { report, other } = figures.errors ? { report: figures, other: null } : explainedAnswer({ report: figures, other: figures });
    assert.equal(JSON.stringify(report), JSON.stringify(JSON.parse(full)));
    if (other) assert.deepEqual(other, report);
  }
  assert.ok(explained > 150, `${explained}`);
});

test("the module of the page's first view carries none of the texts that the page loads apart", () => {
  const bytes = readFileSync("build/planner.wasm");
  const { formulas } = engine.answer({ gpuplan: 1, op: "catalog", kind: "formulas" });
  const { models } = engine.answer({ gpuplan: 1, op: "catalog", kind: "models" });
  assert.ok(formulas.every(({ source }) => readFileSync("build/gpuplan.wasm").includes(source.slice(0, 30))), "the full one has them");
  for (const { id, source } of [...formulas, ...models]) assert.ok(!bytes.includes(source), id);
});
