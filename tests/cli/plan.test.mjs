/** `gpuplan plan` and `gpuplan link`: where a job may come from, and what people read. */
import test from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROGRAM } from "../support/engine.mjs";
import { columnsOf, EXAMPLE, gpuplan, reportOf } from "./gpuplan.mjs";

const JOB = {
  task: "full", model: "meta-llama/Llama-3.1-8B", hardware: { gpu: "H100 SXM5 80GB", count: 8 },
  train: { seq_len: 4096, micro_batch: 2, zero: 3 },
};
const TEXT = JSON.stringify(JOB);
const BIG = { ...JOB, hardware: { gpu: "RTX 4090", count: 1 }, train: { seq_len: 4096 } };
const PIPELINE = {
  task: "pretrain", model: "meta-llama/Llama-3.1-70B", hardware: { gpu: "H100 SXM5 80GB", count: 64 },
  train: { tp: 8, pp: 4, micro_batch: 1, global_batch: 128, seq_len: 4096 },
};
const SERVING = { task: "infer", model: "llama-3.1-8b", hardware: { gpu: "A100-80GB" }, infer: { context: "max", concurrency: 4 } };
const TEXTBOOK = {
  task: "full", model: { params: 7e9, layers: 32, hidden: 4096 }, hardware: { gpu: "A100-80GB", count: 8 }, ledger: "textbook",
  train: { zero: 2, micro_batch: 4, grad_accum: 8 }, textbook: { effective_flops: 1e14, measured_speedup: 6.4 },
};
const JOBS = [JOB, BIG, PIPELINE, SERVING, TEXTBOOK];
const KEY = /\b(rule|knob|step|constraint|warning|assumption|cli|item|phase|verdict|cost|field)\.[a-z]/;
const planText = (job, words = [], options = {}) => gpuplan(["plan", ...words], { input: JSON.stringify(job), ...options });

test("a file, standard input, -, inline text, a full request and a row give the same report", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gpuplan-"));
  try {
    const name = path.join(folder, "job.json");
    writeFileSync(name, TEXT);
    const expected = reportOf(["plan", name]);
    assert.ok(expected.memory.peak_bytes > 0);
    assert.deepEqual(reportOf(["plan"], { input: TEXT }), expected);
    assert.deepEqual(reportOf(["plan", "-"], { input: TEXT }), expected);
    assert.deepEqual(reportOf(["plan", TEXT]), expected);
    assert.deepEqual(reportOf(["plan"], { input: JSON.stringify({ gpuplan: 1, op: "plan", job: JOB }) }), expected);
    assert.deepEqual(reportOf(["plan"], { input: JSON.stringify({ id: "row", job: JOB }) }), expected);
    assert.deepEqual(reportOf(["plan"], { input: `\n ${JSON.stringify(JOB, null, 2)}\n` }), expected);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a link in every form gives the report of its job", () => {
  const expected = reportOf(["plan", TEXT]);
  const { link } = expected;
  for (const form of [link, `#${link}`, `https://example.org/gpuplan/#${link}`, `file:///index.html#${link}`]) {
    assert.deepEqual(reportOf(["plan", form]), expected, form);
  }
});

test("settings change a job, wherever it comes from", () => {
  const changed = { ...JOB, train: { ...JOB.train, seq_len: 8192 }, hardware: { ...JOB.hardware, gpu: "H200" } };
  const expected = reportOf(["plan", JSON.stringify(changed)]);
  const settings = ["--set", "train.seq_len=8192", "--set=gpu=H200"];
  assert.deepEqual(reportOf(["plan", TEXT, ...settings]), expected);
  assert.deepEqual(reportOf(["plan", "seq_len=8192", "hardware.gpu=H200"], { input: TEXT }), expected);
  assert.deepEqual(reportOf(["plan", reportOf(["plan", TEXT]).link, ...settings]), expected);
  assert.deepEqual(reportOf(["plan", ...settings], { input: JSON.stringify({ id: 1, job: JOB }) }), expected);
});

test("settings alone make a job", () => {
  const report = reportOf(["plan", ...EXAMPLE]);
  assert.notEqual(report.verdict, "no");
  assert.ok(report.solved.micro_batch > 1);
  assert.equal(report.fails_at.micro_batch, report.solved.micro_batch + 1);
});

test("exit codes: 0 fits or tight, 1 does not fit, 2 faulty", () => {
  assert.equal(planText(JOB).status, 0);
  assert.equal(planText(BIG).status, 1);
  assert.equal(planText(BIG, ["--json"]).status, 1);
  assert.equal(planText({ ...JOB, task: "none" }).status, 2);
  assert.equal(planText({ ...JOB, task: "none" }, ["--json"]).status, 2);
});

test("every error is one line with its path, range and nearest name", () => {
  const faulty = { ...JOB, modle: 1, hardware: { gpu: "H100 SMX5", count: 0 }, train: { seq_len: 0, optimizer: "adamv" } };
  const { status, stdout, stderr } = planText(faulty);
  assert.equal(status, 2);
  assert.equal(stdout, "");
  const lines = stderr.trimEnd().split("\n");
  const find = (pattern) => assert.ok(lines.some((line) => pattern.test(line)), `${pattern} in\n${stderr}`);
  find(/^gpuplan: modle: .*nearest: model/);
  find(/^gpuplan: hardware\.gpu: .*H100 SMX5.*nearest: H100/);
  find(/^gpuplan: hardware\.count: .*from 1 to 1,048,576, not 0/);
  find(/^gpuplan: train\.seq_len: .*from 1 to /);
  find(/^gpuplan: train\.optimizer: .*adamv.*[Nn]earest: adamw/);
  assert.equal(lines.length, JSON.parse(planText(faulty, ["--json"]).stdout).errors.length);
});

test("a faulty setting is told with its path, and as a report with --json", () => {
  const { status, stderr } = gpuplan(["plan", TEXT, "--set", "seq_length=5"]);
  assert.equal(status, 2);
  assert.match(stderr, /^gpuplan: seq_length: .*\n$/);
  const report = reportOf(["plan", TEXT, "--set", "seq_length=5"]);
  assert.equal(report.errors[0].code, "unknown_key");
  assert.equal(report.errors[0].path, "seq_length");
});

/** A size as the program prints it in a table: two decimals below 100, then one. */
function gib(bytes) {
  const value = bytes / 2 ** 30;
  return value > 0 && value < 0.005 ? "<0.01" : value.toFixed(value < 100 ? 2 : 1);
}

test("the numbers people read are those of the report", () => {
  for (const job of JOBS) {
    const report = JSON.parse(planText(job, ["--json"]).stdout);
    const { stdout } = planText(job);
    const stage = report.memory.stages.reduce((worst, row) => (row.peak_bytes > worst.peak_bytes ? row : worst));
    const alive = stage.items.filter((item) => item.phases.includes(stage.peak_phase));
    for (const item of alive) assert.match(stdout, new RegExp(` ${gib(item.bytes)}  `), item.id);
    assert.match(stdout, new RegExp(`peak +${gib(stage.peak_bytes)}`));
    assert.match(stdout, new RegExp(`usable +${gib(report.memory.usable_bytes)}`));
    assert.equal(stdout.match(/[█▏▎▍▌▋▊▉]/g) !== null, true);
    for (const step of report.steps) assert.match(stdout, new RegExp(`^  ${step.step}  `, "m"));
    for (const knob of report.advice) for (const set of Object.keys(knob.set)) assert.ok(stdout.includes(`${set}=`), set);
    assert.ok(stdout.includes(`#${report.link}`));
    assert.match(stdout, { fits: /^Fits/, tight: /^Tight/, no: /^Does not fit/ }[report.verdict]);
  }
});

test("a line of the staircase starts where the one before ends, and the last ends at the peak", () => {
  const lines = planText(JOB).stdout.split("\n");
  const bars = lines.map((line) => line.match(/^ {2}(?! )(.*?) +(<?[\d.]+) {2}( *)([█▏▎▍▌▋▊▉]+)$/)).filter(Boolean);
  assert.ok(bars.length >= 3);
  let end = 0;
  for (const [, , , blanks, bar] of bars) {
    assert.ok(Math.abs(blanks.length - end) <= 1, `${blanks.length} after ${end}`);
    end = blanks.length + bar.length;
  }
});

test("no line passes 80 columns, in either language, and no key or placeholder shows", () => {
  for (const job of JOBS) {
    for (const lang of ["en", "zh-Hans"]) {
      for (const words of [[], ["--verbose"]]) {
        const { stdout } = planText(job, [...words, `--lang=${lang}`]);
        // The link is one word, to be copied.
        for (const line of stdout.split("\n").filter((one) => !one.startsWith("  #v="))) {
          assert.ok(columnsOf(line) <= 80, `${columnsOf(line)}: ${line}`);
          assert.doesNotMatch(line, / $/, JSON.stringify(line));
        }
        assert.doesNotMatch(stdout, KEY);
        assert.doesNotMatch(stdout, /\{\w+\}|\?(?=\W|$)|NaN|null/m);
      }
    }
  }
});

test("Chinese output is Chinese", () => {
  for (const job of JOBS) {
    const { stdout } = planText(job, ["--lang=zh-Hans"]);
    assert.match(stdout, /^(放得下|勉强放下|放不下)：/);
    assert.doesNotMatch(stdout, /\b(the|and|of|fits|needed|peak|usable)\b/);
  }
});

test("--verbose shows each formula with its numbers, its source, and every assumption", () => {
  const report = JSON.parse(planText(JOB, ["--json"]).stdout);
  const { stdout } = planText(JOB, ["--verbose"]);
  const flat = stdout.replaceAll(/\s+/g, " ");
  const [item] = report.memory.stages[0].items;
  assert.ok(flat.includes(item.formula.replaceAll(/\s+/g, " ")));
  for (const [symbol, value] of Object.entries(item.terms)) assert.ok(flat.includes(`${symbol} = ${value}`), symbol);
  assert.ok(flat.includes(item.source.slice(0, 30)));
  assert.ok(stdout.length > planText(JOB).stdout.length);
});

test("--unit GB shows decimal units only", () => {
  const { stdout } = planText(JOB, ["--unit", "GB"]);
  assert.match(stdout, / GB/);
  assert.doesNotMatch(stdout, /GiB|MiB/);
  const report = JSON.parse(planText(JOB, ["--json"]).stdout);
  assert.match(stdout, new RegExp(`peak +${(report.memory.peak_bytes / 1e9).toFixed(2)}`));
});

test("a locale without UTF-8 gets plain bars", () => {
  const { stdout } = planText(JOB, [], { env: { LC_ALL: "en_US.ISO-8859-1" } });
  assert.match(stdout, /###/);
  assert.doesNotMatch(stdout, /[█░▏]/);
});

test("names from outside cannot steer the terminal", () => {
  const model = { name: "\u001b[2Jevil\u202e\u0007", params: 7e9, layers: 32, hidden: 4096 };
  const { stdout, stderr } = planText({ ...JOB, model }, ["--verbose"]);
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  assert.doesNotMatch(stdout + stderr, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  const faulty = planText({ ...JOB, model: "\u001b[31mred" });
  assert.equal(faulty.status, 2);
  assert.ok(!faulty.stderr.includes("\u001b"));
});

test("a reader that leaves is no fault", () => {
  const script = `"$0" plan '${TEXT}' | head -n 1; echo "\${PIPESTATUS[0]}"`;
  const run = spawnSync("bash", ["--norc", "-c", script, PROGRAM], { encoding: "utf8" });
  assert.equal(run.stderr, "");
  assert.match(run.stdout, /\n0\n$/);
});

test("link turns a job into a link and back, and the plan stays the same", () => {
  for (const job of JOBS) {
    const input = JSON.stringify(job);
    const { status, stdout } = gpuplan(["link"], { input });
    assert.equal(status, 0);
    assert.match(stdout, /^v=1&\S+\n$/);
    const back = gpuplan(["link", stdout.trim()]);
    assert.equal(back.status, 0);
    // A link leaves out what is the default anyway, which the report then lists as assumed.
    const withoutAssumptions = (report) => ({ ...report, assumptions: [] });
    assert.deepEqual(withoutAssumptions(reportOf(["plan", back.stdout])), withoutAssumptions(reportOf(["plan", input])));
    assert.equal(gpuplan(["link", back.stdout]).stdout, stdout);
  }
});

test("a damaged link says where, keeps what could be read, and exits with 2", () => {
  const { status, stdout, stderr } = gpuplan(["link", "#v=1&task=qlora&gpu=H100&seq=2%"]);
  assert.equal(status, 2);
  assert.match(stderr, /^gpuplan: .*character \d+/);
  assert.equal(JSON.parse(stdout).task, "qlora");
  assert.equal(gpuplan(["plan", "#v=1&task=qlora&gpu=H100&seq=2%"]).status, 2);
});

test("an empty input is answered with errors, on both outputs", () => {
  for (const [words, input] of [[["-"], ""], [["-"], " \n"], [[], ""]]) {
    const run = gpuplan(["plan", ...words, "--json"], { input });
    assert.equal(run.status, 2);
    assert.notEqual(run.stderr, "");
    assert.equal(JSON.parse(run.stdout).errors.length, 1, JSON.stringify(words));
  }
});

test("what to write instead is said: of a word that is no file, and of auto where only max is taken", () => {
  assert.match(gpuplan(["plan", "llama-3.1-8b"]).stderr, /no such file; .*`model=llama-3\.1-8b`/);
  assert.match(gpuplan(["plan", "absent.json"]).stderr, /absent\.json: No such file or directory\n$/);
  const serve = (infer) => gpuplan(["plan", "--lang=en", JSON.stringify({ task: "infer", model: "gpt2", hardware: { gpu: "T4" }, infer })]).stderr;
  assert.match(serve({ concurrency: "auto" }), /give a value or “max”\./);
  assert.match(serve({ tp: "max" }), /give a value or “auto”\./);
  assert.match(serve({ prompt: "max" }), /give a value\.\n$/);
});

test("where nothing fits, no value is said to be the largest, and nothing is left for the cache", () => {
  const job = { task: "infer", model: "meta-llama/Llama-2-13b-hf", hardware: { gpu: "RTX 4090" }, infer: { context: "max", ttft_target_s: 0.001 } };
  for (const [lang, patterns] of [["en", [/context 1 \(not even that fits\)/, /room +none: nothing is left/, /targets +not kept even by one alone/]],
    ["zh-Hans", [/连这个值也放不下/, /没有留给缓存的显存/, /只有一条时也达不到/]]]) {
    const { status, stdout } = gpuplan(["plan", "--brief", JSON.stringify(job), `--lang=${lang}`]);
    assert.equal(status, 1);
    for (const pattern of patterns) assert.match(stdout, pattern);
    assert.match(gpuplan(["plan", JSON.stringify(job), `--lang=${lang}`]).stdout, /if it did fit|假如放得下/);
    assert.doesNotMatch(stdout, /\(1 does not fit\)|1 放不下/);
  }
  const room = gpuplan(["plan", "--brief", JSON.stringify({ ...job, infer: { weights: "awq", context: "max", ttft_target_s: 60 } }), "--lang=en"]).stdout;
  assert.match(room, /context [\d,]+ \([\d,]+ does not fit\)/);
  assert.match(room, /targets +kept with up to [\d,]+ at once/);
});
