/** A knob says what it does, and does what it says. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll, withSetting } from "../support/engine.mjs";
import { generateValidJobs } from "../generate/jobs.mjs";

const JOBS = generateValidJobs(300, 4711);
const REPORTS = planAll(JOBS);
const KNOBS = REPORTS.flatMap((report, index) => report.advice.map((knob) => ({ job: JOBS[index], report, knob })));
const apply = (job, set) => Object.entries(set).reduce((changed, [path, value]) => withSetting(changed, path, value), job);
const say = ({ job, knob }) => `${knob.id} ${JSON.stringify(knob.set)} on ${JSON.stringify(job)}`;

test("applying a knob gives the peak and the verdict it promised", () => {
  assert.ok(KNOBS.length > 600, `${KNOBS.length} knobs`);
  const answers = planAll(KNOBS.map(({ job, knob }) => apply(job, knob.set)), "brief");
  for (const [index, one] of KNOBS.entries()) {
    const after = answers[index];
    assert.equal(after.errors, undefined, say(one));
    assert.equal(after.memory.peak_bytes, one.knob.peak_bytes_after, say(one));
    assert.equal(after.verdict, one.knob.verdict_after, say(one));
  }
});

test("so it does where the fullest stage lies between the ends", () => {
  const jobs = [
    // llama.cpp keeps the token table on the host, and files give some layers more bits.
    { task: "infer", model: "EleutherAI/pythia-6.9b", hardware: { gpu: "Arc Pro B60 24GB", count: 6 },
      infer: { engine: "ktransformers", weights: "f16", context: 16384, concurrency: 4, tp: 2, pp: 3 } },
    // Each end counts as a layer: the stages between hold one more.
    { task: "full", model: { params: 123456789, layers: 14, heads: 64, vocab: 100 }, hardware: { gpu: "H100", count: 4 },
      train: { pp: 4, vpp: 4, micro_batch: 4, schedule: "gpipe", grad_accum: 8, tp: 1, zero: 0, recompute: "none", attention: "flash" } },
  ];
  const reports = planAll(jobs);
  for (const [index, report] of reports.entries()) {
    const peaks = report.memory.stages.map((stage) => stage.peak_bytes);
    const between = Math.max(...peaks.slice(1, -1));
    assert.ok(between > peaks[0] && between > peaks.at(-1), `${peaks} of ${JSON.stringify(jobs[index])}`);
    assert.ok(report.advice.length > 0, JSON.stringify(jobs[index]));
    const after = planAll(report.advice.map((knob) => apply(jobs[index], knob.set)), "brief");
    assert.deepEqual(after.map((one) => one.memory.peak_bytes), report.advice.map((knob) => knob.peak_bytes_after), JSON.stringify(jobs[index]));
  }
});

test("what a knob saves is the peak before less the peak after", () => {
  for (const one of KNOBS) {
    assert.equal(one.knob.saves_bytes, one.report.memory.peak_bytes - one.knob.peak_bytes_after, say(one));
  }
});

test("a knob changes something, names the old values, and says what it costs", () => {
  const kinds = new Set(["none", "time", "quality", "hardware", "capacity"]);
  for (const one of KNOBS) {
    const { set, from, cost } = one.knob;
    assert.deepEqual(Object.keys(from ?? {}).filter((path) => !(path in set)), [], say(one));
    // A knob may also fix what the solver had chosen, so that the choice does not move along.
    assert.ok(Object.entries(set).some(([path, value]) => from?.[path] !== value), say(one));
    assert.ok(kinds.has(cost.kind), say(one));
    if (cost.low !== undefined) assert.ok(cost.low <= cost.high, say(one));
  }
});

test("no knob is offered twice, and most plans have three", () => {
  for (const [index, report] of REPORTS.entries()) {
    const sets = report.advice.map((knob) => JSON.stringify(knob.set));
    assert.equal(new Set(sets).size, sets.length, JSON.stringify(JOBS[index]));
  }
  const rich = REPORTS.filter((report) => report.advice.length >= 3).length;
  assert.ok(rich > REPORTS.length * 0.9, `${rich} of ${REPORTS.length} plans have three knobs`);
});

test("a plan that does not fit offers knobs that free memory", () => {
  for (const [index, report] of REPORTS.entries()) {
    if (report.verdict !== "no") continue;
    assert.ok(report.advice.some((knob) => knob.saves_bytes > 0), JSON.stringify(JOBS[index]));
  }
});
