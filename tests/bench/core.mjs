// Prints how long the core takes for each worked example of the page and for each row of jobs.jsonl: natively, in
// WebAssembly (the full module, and the one that the page starts with), with the ratio to the first, and what of the
// targets is missed. Times are of the processor, and the least of many rounds: what else the machine does only adds.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { EngineTrap, createEngine } from "../../wasm/node.js";

const BRIEF_US = 50, FULL_US = 400, RATIO = 2, LINES_PER_S = 15000;
const ROUNDS = 40, ROUND_US = 5000, WARM = 200;
const BATCH_LINES = 7000, BATCHES = 5;

const processorUs = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Mean microseconds of `times` calls. */
function roundUs(engine, request, times) {
  const start = processorUs();
  for (let i = 0; i < times; i++) engine.answerText(request);
  return (processorUs() - start) / times;
}

/** Whether the module answers a request rather than stop, as the first view's does at what it leaves to the other. */
function answers(engine, request) {
  try {
    return engine.answerText(request) !== "";
  } catch (error) {
    if (error instanceof EngineTrap) return false;
    throw error;
  }
}

/** Least of the rounds. */
function answerUs(engine, request) {
  const count = Math.ceil(ROUND_US / Math.max(roundUs(engine, request, WARM), 1));
  return Math.min(...Array.from({ length: ROUNDS }, () => roundUs(engine, request, count)));
}

const requestOf = (job, detail) => JSON.stringify({ gpuplan: 1, op: "plan", job, detail });

/** Rows {name, job}: the worked examples, each variant once, and those of jobs.jsonl. */
function rowsOf() {
  const examples = JSON.parse(readFileSync("web/examples.json", "utf8"));
  const worked = examples.flatMap(({ id, variants }) => variants.map((variant) => ({ name: `example ${id}: ${variant.id}`, job: variant.job })));
  const others = readFileSync("tests/bench/jobs.jsonl", "utf8").trim().split("\n").map((line) => JSON.parse(line));
  return [...worked, ...others];
}

/** Times of the native program for one row, which is asked right before the modules are: what slows the one slows all. */
function nativeTimes(row, file) {
  writeFileSync(file, `${JSON.stringify(row)}\n`);
  const { stdout, stderr, status } = spawnSync("build/bench_core", [file], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  const [brief, figures, full] = stdout.trim().split(/\s+/, 3).map(Number);
  return { brief, figures, full };
}

/** Lines of `gpuplan batch --brief` for a second of the processor, the best of several runs. */
function batchRate(file) {
  const seconds = Array.from({ length: BATCHES }, () => {
    const { stdout, status } = spawnSync("sh", ["-c", 'build/gpuplan batch --brief "$0" > /dev/null && times', file], { encoding: "utf8" });
    if (status !== 0) throw new Error("gpuplan batch failed");
    const [user, system] = stdout.trim().split("\n")[1].split(" ").map((time) => Number(time.match(/m([\d.]+)s/)[1]) + 60 * Number.parseInt(time, 10));
    return user + system;
  });
  return BATCH_LINES / Math.min(...seconds);
}

const rows = rowsOf();
const folder = mkdtempSync(path.join(tmpdir(), "gpuplan-bench-"));
const rowFile = path.join(folder, "row.jsonl"), lineFile = path.join(folder, "lines.jsonl");
writeFileSync(lineFile, Array.from({ length: BATCH_LINES }, (_, i) => `${requestOf(rows[i % rows.length].job)}\n`).join(""));
/* The page shows its first figures without the texts behind them, which the first view's module cannot tell. */
const modules = [
  { engine: await createEngine(readFileSync("build/gpuplan.wasm")), details: ["brief", "full"] },
  { engine: await createEngine(readFileSync("build/planner.wasm")), details: ["brief", "figures"] },
];
/* A module is compiled once more, for speed, while it runs: what the first rows call must be by then. */
for (const { engine, details } of modules)
  for (const { job } of rows)
    for (const request of details.map((detail) => requestOf(job, detail))) if (answers(engine, request)) roundUs(engine, request, WARM);

let targets = 0, missed = 0;
/** A figure with a mark where it is beyond its target. */
function cell(value, most, width, digits = 0) {
  if (value === undefined) return "-".padStart(width);
  targets++;
  const over = value > most;
  if (over) missed++;
  return `${value.toFixed(digits)}${over ? "!" : " "}`.padStart(width);
}

/** How many times the native microseconds a module takes for a job. */
function ratioCell({ engine, details }, job, native) {
  const cells = [];
  for (const detail of details) {
    const request = requestOf(job, detail);
    const ratio = answers(engine, request) ? answerUs(engine, request) / native[detail] : undefined;
    cells.push(cell(ratio, RATIO, 7, 1));
  }
  return cells.join("");
}

console.log(`Microseconds, and how many times the native ones. Targets: brief ${BRIEF_US}, full ${FULL_US}, WebAssembly ${RATIO} times; ! = missed.`);
console.log("     native      full module    first view");
console.log(" brief  full   brief   full   brief figures");
for (const row of rows) {
  const native = nativeTimes(row, rowFile);
  const ratios = modules.map((module) => ratioCell(module, row.job, native));
  console.log(`${cell(native.brief, BRIEF_US, 6)}${cell(native.full, FULL_US, 6)}  ${ratios.join("  ")}   ${row.name}`);
}
const rate = Math.round(batchRate(lineFile));
targets++;
if (rate < LINES_PER_S) missed++;
console.log(`batch --brief: ${rate}${rate < LINES_PER_S ? "!" : ""} of these jobs for a second of one processor (target ${LINES_PER_S})`);
// Comparing all pairs of keys would take minutes.
const manyKeys = `{"job":{${Array.from({ length: 60_000 }, (_, i) => `"k${i}":0`).join(",")}}}`;
console.log(`60,000 unknown keys: ${(roundUs(await createEngine(), manyKeys, 3) / 1000).toFixed(0)} ms`);
console.log(`${targets - missed} of ${targets} targets are met`);
rmSync(folder, { recursive: true });
