/** `gpuplan batch`: a pipe that never stops, never grows and never loses a line. */
import test from "node:test";
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROGRAM } from "../support/engine.mjs";
import { gpuplan } from "./gpuplan.mjs";

const JOB = { task: "infer", model: "meta-llama/Llama-3.1-8B", hardware: { gpu: "H100 SXM5 80GB" } };
const LINE = JSON.stringify(JOB);
const REQUEST = JSON.stringify({ gpuplan: 1, op: "plan", job: JOB });

const batch = (input, words = []) => {
  const { status, stdout, stderr } = gpuplan(["batch", ...words], { input });
  const lines = stdout.split("\n");
  assert.equal(lines.pop(), "", "the output ends in a line feed");
  return { status, stderr, lines, reports: lines.map((line) => JSON.parse(line)) };
};

test("a request, a bare job and a row that holds a job give the same report", () => {
  const row = JSON.stringify({ id: "r1", measured: { gib: 3 }, job: JOB, tags: [] });
  const { status, lines } = batch([REQUEST, LINE, row].join("\n"));
  assert.equal(status, 0);
  assert.equal(lines.length, 3);
  assert.equal(lines[1], lines[0]);
  assert.equal(lines[2], lines[0]);
});

test("other operations pass through", () => {
  const { reports } = batch('{"op":"version"}\n{"gpuplan":1,"op":"catalog","kind":"gpus","filter":"H100"}\n');
  assert.match(reports[0].version, /^\d/);
  assert.ok(reports[1].gpus.length > 0);
});

test("blank lines, CRLF and a last line without a line break", () => {
  const { status, lines } = batch(`\n${LINE}\r\n\r\n   \t\n${REQUEST}\n\n${LINE}`);
  assert.equal(status, 0);
  assert.equal(lines.length, 3);
  assert.equal(new Set(lines).size, 1);
});

test("no input gives no output", () => {
  assert.deepEqual(gpuplan(["batch"]), { status: 0, stdout: "", stderr: "" });
  assert.deepEqual(gpuplan(["batch"], { input: "\n\n" }), { status: 0, stdout: "", stderr: "" });
});

test("a faulty line gives one report with errors and stops nothing", () => {
  const faulty = ["nope", "[]", "{", '{"task":"full"}', '{"task":', "\u0000", '"\ud800"', JSON.stringify({ ...JOB, oops: 1 })];
  const { status, reports, stderr } = batch(faulty.flatMap((line) => [LINE, line]).concat(LINE).join("\n"));
  assert.equal(status, 2);
  assert.equal(stderr, "");
  assert.equal(reports.length, 2 * faulty.length + 1);
  for (const [index, report] of reports.entries()) assert.equal("errors" in report, index % 2 === 1, `line ${index}`);
  assert.equal(reports.at(-2).errors[0].path, "oops");
});

test("what the text of a job holds is told as the core tells it", () => {
  const twice = '{"task":"infer","task":"infer","model":"gpt2","hardware":{"gpu":"H100"}}';
  const endless = '{"task":"infer","model":"gpt2","hardware":{"gpu":"H100","count":1e999}}';
  const { reports } = batch(`${twice}\n${endless}\n`);
  assert.deepEqual(reports[0].errors.map(({ code, path: place }) => [code, place]), [["duplicate_key", "task"]]);
  assert.deepEqual(reports[1].errors.map(({ code, path: place }) => [code, place]), [["not_finite", "hardware.count"]]);
});

test("a line of 20 MB is refused and the next one answered", () => {
  const long = `{"x":"${"y".repeat(20e6)}"}`;
  const { status, reports } = batch(`${LINE}\n${long}\n${LINE}\n${long}`);
  assert.equal(status, 2);
  assert.equal(reports.length, 4);
  assert.deepEqual(reports[1].errors[0].code, "request_too_long");
  assert.deepEqual(reports[3].errors[0].code, "request_too_long");
  assert.deepEqual(reports[2], reports[0]);
});

test("lines around the limit and around the size of a read", () => {
  for (const length of [65535, 65536, 65537, 2 ** 20 - 1, 2 ** 20, 2 ** 20 + 1, 2 ** 20 + 2, 2 ** 20 + 65536]) {
    const padded = REQUEST + " ".repeat(length - REQUEST.length);
    const { reports } = batch(`${padded}\n${LINE}\n`);
    assert.equal(reports.length, 2, `${length}`);
    assert.equal("errors" in reports[0], length > 2 ** 20, `${length}`);
    assert.ok(!("errors" in reports[1]));
  }
});

test("--brief gives numbers only, whatever the form of the line", () => {
  const full = JSON.stringify({ gpuplan: 1, op: "plan", detail: "full", job: JOB });
  const { reports } = batch([LINE, REQUEST, full].join("\n"), ["--brief"]);
  for (const report of reports) {
    assert.ok(report.memory.peak_bytes > 0);
    for (const key of ["steps", "advice", "assumptions"]) assert.ok(!(key in report), key);
    assert.deepEqual(report, reports[0]);
  }
});

test("files, one after the other, and standard input as -", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gpuplan-"));
  try {
    const name = path.join(folder, "jobs.jsonl");
    writeFileSync(name, `${LINE}\n${LINE}`);
    assert.equal(batch(LINE, [name, "-", name]).lines.length, 5);
    const broken = batch("", [name, path.join(folder, "none.jsonl"), name]);
    assert.equal(broken.status, 2);
    assert.equal(broken.lines.length, 4);
    assert.match(broken.stderr, /none\.jsonl: No such file/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a partner that waits for each report gets it", { timeout: 20000 }, async () => {
  const child = spawn(PROGRAM, ["batch", "--brief"], { stdio: ["pipe", "pipe", "inherit"] });
  let received = "";
  const lines = (count) => new Promise((resolve) => {
    const look = () => received.split("\n").length > count && (child.stdout.off("data", look), resolve());
    child.stdout.on("data", look);
    look();
  });
  child.stdout.setEncoding("utf8").on("data", (text) => { received += text; });
  for (let count = 1; count <= 5; count++) {
    child.stdin.write(`${LINE}\n`);
    await lines(count);
    assert.equal(received.split("\n").length, count + 1);
  }
  const ended = new Promise((resolve) => { child.on("close", resolve); });
  child.stdin.end();
  assert.equal(await ended, 0);
});

test("memory does not grow with the number of lines", () => {
  // 48 MiB of address space hold the program and one long line, but not the 80 MB that go through.
  const script = `ulimit -v 49152; yes '${REQUEST}' | head -n 3000 | "$0" batch --brief | wc -l`;
  assert.equal(spawnSync("bash", ["--norc", "-c", script, PROGRAM], { encoding: "utf8" }).stdout.trim(), "3000");
  const wide = `ulimit -v 49152; for i in 1 2 3 4 5 6 7 8; do head -c 10000000 /dev/zero | tr '\\0' ' '; done | "$0" batch; echo $?`;
  assert.equal(spawnSync("bash", ["--norc", "-c", wide, PROGRAM], { encoding: "utf8" }).stdout.trim().split("\n").at(-1), "2");
});

test("a reader that leaves ends the program quietly, without half a report", () => {
  const script = `yes '${LINE}' | "$0" batch | head -n 2; echo "\${PIPESTATUS[1]}"`;
  const run = spawnSync("bash", ["--norc", "-c", script, PROGRAM], { encoding: "utf8", timeout: 20000 });
  const lines = run.stdout.trimEnd().split("\n");
  assert.equal(run.stderr, "");
  assert.equal(lines.at(-1), "0");
  for (const line of lines.slice(0, -1)) assert.ok(JSON.parse(line).verdict);
});

test("a full disk is an internal fault", () => {
  const run = spawnSync("bash", ["--norc", "-c", `echo '${LINE}' | "$0" batch > /dev/full`, PROGRAM], { encoding: "utf8" });
  assert.equal(run.status, 3);
  assert.match(run.stderr, /^gpuplan: .*\n$/);
});

test("progress shows on a terminal only", () => {
  const command = `printf '%s\\n' '${LINE}' nope | ${PROGRAM} batch > /dev/null`;
  const options = { encoding: /** @type {const} */ ("utf8"), input: "", env: { ...process.env, LC_ALL: "C" } };
  assert.match(spawnSync("script", ["-qec", command, "/dev/null"], options).stdout, /2 lines, 1 faulty/);
  assert.equal(spawnSync("bash", ["--norc", "-c", command], options).stderr, "");
});
