/** A link is the job: it comes back whole, and a broken one gives what can be read and says what is wrong. */
import test from "node:test";
import assert from "node:assert/strict";
import { answerAll, answerTexts, planRequest, withSetting } from "../support/engine.mjs";
import { generateJobs, generateValidJobs } from "../generate/jobs.mjs";

const JOBS = generateValidJobs(300, 99);
const LINKS = answerAll(JOBS.map((job) => ({ op: "link", job }))).map((report) => report.link);
const planLink = (link) => JSON.stringify({ gpuplan: 1, op: "plan", link });

test("a plan made from the link is the plan of the job the link decodes to, to the byte", () => {
  const decoded = answerAll(LINKS.map((link) => ({ op: "link", link }))).map((report) => report.job);
  const fromJobs = answerTexts(decoded.map((job) => JSON.stringify(planRequest(job))));
  const fromLinks = answerTexts(LINKS.map(planLink));
  for (const [index, link] of LINKS.entries()) assert.equal(fromLinks[index], fromJobs[index], link);
});

test("a plan made from the link is that of the job it was made of; only defaults written out are forgotten", () => {
  const [{ fields }] = answerAll([{ op: "catalog", kind: "fields" }]);
  const initial = new Map(fields.map((field) => [field.path, String(field.default)]));
  const fromJobs = answerAll(JOBS.map((job) => planRequest(job)));
  const fromLinks = answerTexts(LINKS.map(planLink)).map((text) => JSON.parse(text));
  for (const [index, job] of JOBS.entries()) {
    const { assumptions: before, ...direct } = fromJobs[index];
    const { assumptions: after, ...linked } = fromLinks[index];
    assert.deepEqual(linked, direct, JSON.stringify(job));
    const lines = (rows) => new Set(rows.map((row) => JSON.stringify(row)));
    const differ = [...before.filter((row) => !lines(after).has(JSON.stringify(row))),
      ...after.filter((row) => !lines(before).has(JSON.stringify(row)))];
    for (const row of differ) assert.equal(initial.get(row.path), row.args.value, `${JSON.stringify(row)} ${JSON.stringify(job)}`);
  }
});

test("what says something by being given stays in the link", () => {
  const base = { model: "meta-llama/Llama-3.2-1B", hardware: { gpu: "GeForce RTX 3090" } };
  const packed = { task: "lora", ...base, train: { quant: "nf4-dq" } };
  const contradiction = { task: "full", ...base, hardware: { ...base.hardware, count: 1 }, train: { tp: 2 } };
  const spread = { task: "infer", model: "Qwen/Qwen2.5-72B-Instruct", hardware: { gpu: "H100", count: 16 }, infer: { context: 4096, tp: 16 } };
  const jobs = [packed, contradiction, spread, withSetting(spread, "hardware.per_node", 8)];
  const direct = answerAll(jobs.map((job) => planRequest(job)));
  const linked = answerTexts(answerAll(jobs.map((job) => ({ op: "link", job }))).map((report) => planLink(report.link)));
  assert.equal(JSON.parse(linked[0]).memory.peak_bytes, direct[0].memory.peak_bytes);
  assert.deepEqual(JSON.parse(linked[1]).errors, direct[1].errors);
  // Tensor parallelism over more GPUs than a stated machine has goes over the network.
  const [near, far] = direct.slice(2).map((report) => report.time.tpot_s);
  assert.ok(far > near, `${far} s over the network, ${near} s where no machine is stated`);
  assert.equal(JSON.parse(linked[3]).time.tpot_s, far);
});

test("a default written out stays in the link wherever it changes the plan", () => {
  const [{ fields }] = answerAll([{ op: "catalog", kind: "fields" }]);
  const hardware = { gpu: "H100", count: 8 };
  const bases = ["pretrain", "full", "lora", "qlora"].map((task) => ({ task, model: "meta-llama/Llama-3.2-1B", hardware }))
    .concat(["openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V3", "gpt2"].map((model) => ({ task: "infer", model, hardware, infer: { context: 512 } })));
  const jobs = bases.flatMap((job) => fields.filter((field) => field.default !== undefined && field.tasks.includes(job.task))
    .map((field) => withSetting(job, field.path, field.default)));
  const direct = answerAll(jobs.map((job) => planRequest(job)));
  const linked = answerTexts(direct.map((report) => planLink(report.link))).map((text) => JSON.parse(text));
  for (const [index, report] of direct.entries()) {
    const [from, to] = [report, linked[index]].map((one) => ({ ...one, assumptions: undefined }));
    assert.deepEqual(to, from, JSON.stringify(jobs[index]));
  }
});

test("the report carries the link of its job", () => {
  const reports = answerAll(JOBS.map((job) => planRequest(job)));
  for (const [index, report] of reports.entries()) assert.equal(report.link, LINKS[index]);
});

test("a link read and written again is the same link", () => {
  const read = answerAll(LINKS.map((link) => ({ op: "link", link: `#${link}` })));
  for (const [index, report] of read.entries()) assert.equal(report.link, LINKS[index]);
  const again = answerAll(read.map(({ job }) => ({ op: "link", job })));
  for (const [index, report] of again.entries()) assert.equal(report.link, LINKS[index]);
});

test("a link is short text that a URL can hold", () => {
  for (const link of LINKS) {
    assert.match(link, /^v=1&[A-Za-z0-9\-._~!$&'()*+,;=:@/?%|]*$/);
    assert.ok(link.length < 1000, link);
  }
});

test("a link may stand in a whole URL", () => {
  const url = `https://example.org/gpuplan/index.html?lang=en#${LINKS[0]}`;
  assert.equal(answerAll([{ op: "link", link: url }])[0].link, LINKS[0]);
});

test("every prefix of a link is answered: a plan, or errors with a code", () => {
  const links = LINKS.slice(0, 12);
  const prefixes = links.flatMap((link) => Array.from(link, (_, length) => link.slice(0, length)));
  const reports = answerTexts(prefixes.map(planLink)).map((text) => JSON.parse(text));
  for (const [index, report] of reports.entries()) {
    assert.ok(report.verdict || report.errors.length >= 1, prefixes[index]);
    for (const error of report.errors ?? []) assert.match(error.code, /^[a-z_]+[0-9]?[a-z_0-9]*$/, prefixes[index]);
  }
});

test("an escape cut in half is an error of the link, and the rest is kept", () => {
  const [report] = answerAll([{ op: "link", link: "#v=1&task=infer&gpu=A100%2" }]);
  assert.ok(report.errors.some((error) => error.code === "link_incomplete"), JSON.stringify(report));
  assert.equal(report.job.task, "infer");
});

test("a link of a newer version is read as far as it is known", () => {
  const newer = LINKS[0].replace("v=1", "v=2");
  const [report] = answerAll([{ op: "link", link: `#${newer}&zeppelin=3` }]);
  assert.deepEqual((report.warnings ?? []).map((warning) => warning.code).sort(), ["link_key_kept", "link_newer"]);
  assert.equal(report.job.task, JOBS[0].task);
});

test("jobs with faults have links too, and give the same errors", () => {
  // A key that no field has cannot stand in a link.
  const faulty = generateJobs(300, 5).filter((job) => !("modle" in job));
  const links = answerAll(faulty.map((job) => ({ op: "link", job })));
  const direct = answerAll(faulty.map((job) => planRequest(job)));
  const linked = answerTexts(links.map((report) => planLink(report.link))).map((text) => JSON.parse(text));
  for (const [index, report] of direct.entries()) {
    assert.deepEqual(linked[index].errors, report.errors, JSON.stringify(faulty[index]));
  }
});
