// Runs every suite and adds up what each of them counts: node tests/run.mjs [part of a name …]
// A suite that crashes, runs too long or counts nothing has failed. The last line is "N passed, N failed".
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";

const LOGS = "build/logs";
const LIMIT_S = 1200;
/** Suites that take longest start first; those that measure time run alone, after all others. */
const FIRST = ["lint", "web", "property", "reproducible", "fuzz"];
const ALONE = ["bench"];

/** @typedef {{passed: number, failed: number, skipped: number}} Counts */
/** @typedef {{name: string, command: string[], count: (output: string) => Counts}} Suite */

/** The sum of the numbers that `pattern` finds. */
function sum(output, pattern) {
  return [...output.matchAll(pattern)].reduce((total, match) => total + Number(match[1]), 0);
}

/** cmocka prints a summary for each group of tests. */
function countCmocka(output) {
  return {
    passed: sum(output, /^\[ {2}PASSED {2}\] (\d+) test/gm),
    failed: sum(output, /^\[ {2}FAILED {2}\] (\d+) test/gm),
    skipped: sum(output, /^\[ {2}SKIPPED \] (\d+) test/gm),
  };
}

/** node's test runner ends its TAP output with the counts; a cancelled test has failed. */
function countTap(output) {
  const summary = output.slice(output.lastIndexOf("\n# tests "));
  return {
    passed: sum(summary, /^# pass (\d+)$/gm),
    failed: sum(summary, /^# (?:fail|cancelled) (\d+)$/gm),
    skipped: sum(summary, /^# (?:skipped|todo) (\d+)$/gm),
  };
}

/** Shell tests end like this runner. */
function countLine(output) {
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  const [, passed, failed] = last.match(/^(\d+) passed, (\d+) failed$/) ?? [0, 0, 0];
  return { passed: Number(passed), failed: Number(failed), skipped: 0 };
}

/** Files under `folder` whose name ends in `suffix`, in a fixed order. */
function filesUnder(folder, suffix) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const name = path.join(folder, entry.name);
      if (entry.isDirectory()) return filesUnder(name, suffix);
      return entry.name.endsWith(suffix) ? [name] : [];
    })
    .sort();
}

/** One suite for each C program, natively and under the sanitizers. */
function unitSuites() {
  const names = filesUnder("tests/unit", ".c").map((file) => path.basename(file, ".c")).filter((name) => name.startsWith("test_"));
  return names.flatMap((name) => [
    { name: `unit/${name}`, command: [`build/tests/unit/${name}`], count: countCmocka },
    { name: `sanitized/${name}`, command: [`build/sanitized/tests/unit/${name}`], count: countCmocka },
  ]);
}

/** One suite for each folder of tests for node. */
function nodeSuites() {
  const folders = new Map();
  for (const file of filesUnder("tests", ".test.mjs")) {
    const folder = path.relative("tests", path.dirname(file)).split(path.sep)[0] || "project";
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  return [...folders].map(([name, files]) => ({
    name, command: [process.execPath, "--test", "--test-reporter=tap", ...files], count: countTap,
  }));
}

function shellSuites() {
  const tests = filesUnder("tests", ".test.sh").map((file) => ({
    name: path.relative("tests", file).replace(/\.test\.sh$/, ""), command: ["sh", file], count: countLine,
  }));
  const tools = ["lint", "fuzz"].map((name) => ({ name, command: ["sh", `tests/${name}/run.sh`], count: countLine }));
  return [...tests, ...tools];
}

/** The failed tests of node's runner; of others, the end of what they print. */
function excerpt(output) {
  const failed = output.match(/^ *not ok [^]*?^ *\.\.\.$/gm) ?? [];
  const lines = failed.length ? failed.join("\n").split("\n").slice(0, 200) : output.split("\n").slice(-60);
  return lines.map((line) => (line.length > 400 ? `${line.slice(0, 400)}…` : line)).join("\n");
}

/** @returns {Promise<{output: string, fault: string}>} `fault` is empty when the suite ended by itself with status 0 */
function execute(command) {
  return new Promise((resolve) => {
    const child = spawn(command[0], command.slice(1), { stdio: ["ignore", "pipe", "pipe"], detached: true });
    const chunks = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    // The whole group goes, so that no browser or server of a suite stays behind.
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), LIMIT_S * 1000);
    const end = (fault) => {
      clearTimeout(timer);
      resolve({ output: Buffer.concat(chunks).toString(), fault });
    };
    child.on("error", (error) => end(error.message));
    child.on("close", (status, signal) => end(signal ? `ended by ${signal}` : status === 0 ? "" : `exit status ${status}`));
  });
}

/** @param {Suite} suite @returns {Promise<Counts>} */
async function run(suite) {
  const start = process.hrtime.bigint();
  const { output, fault } = await execute(suite.command);
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const counts = suite.count(output);
  let note = "";
  if (counts.failed === 0 && (fault || counts.passed === 0)) {
    counts.failed = 1;
    note = ` (${fault || "counted nothing"})`;
  }
  const log = path.join(LOGS, `${suite.name.replaceAll("/", "-")}.log`);
  writeFileSync(log, output);
  const mark = counts.failed ? "FAILED" : "ok    ";
  console.log(`${mark} ${suite.name.padEnd(30)} ${String(counts.passed).padStart(6)} passed ${seconds.toFixed(1).padStart(6)} s`
    + (counts.failed ? `  ${counts.failed} failed${note}, see ${log}` : ""));
  if (counts.failed) console.log(excerpt(output));
  return counts;
}

/** As many suites at a time as there are processors. */
async function runAll(suites, width) {
  const waiting = [...suites];
  const results = [];
  const worker = async () => {
    for (let suite = waiting.shift(); suite; suite = waiting.shift()) results.push(await run(suite));
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

const wanted = process.argv.slice(2);
const rank = (suite) => (FIRST.includes(suite.name) ? FIRST.indexOf(suite.name) : FIRST.length);
const suites = [...shellSuites(), ...nodeSuites(), ...unitSuites()]
  .filter((suite) => wanted.length === 0 || wanted.some((part) => suite.name.includes(part)))
  .sort((a, b) => rank(a) - rank(b));

mkdirSync(LOGS, { recursive: true });
// A suite that calls make must not take itself for a part of this one.
for (const name of ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"]) delete process.env[name];
const alone = suites.filter((suite) => ALONE.includes(suite.name));
const results = [
  ...(await runAll(suites.filter((suite) => !alone.includes(suite)), availableParallelism())),
  ...(await runAll(alone, 1)),
];
const total = (key) => results.reduce((value, counts) => value + counts[key], 0);
const failed = total("failed") + (results.length === 0 ? 1 : 0);
if (total("skipped")) console.log(`${total("skipped")} skipped`);
console.log(`${total("passed")} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
