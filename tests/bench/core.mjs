// Prints how long the core takes for each request of jobs.jsonl: natively, in WebAssembly (the full module, and the one
// that the page starts with, which stops at what is not its own and tells figures in place of all), and the ratio to the first.
// Times are of the processor, so that what else the machine does counts little.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

import { EngineTrap, createEngine } from "../../wasm/node.js";

const JOBS = "tests/bench/jobs.jsonl";
const ROUNDS = 21;
const ROUND_US = 20000;
const BATCH_LINES = 20000;

const processorUs = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Mean microseconds of `answers` calls. */
function roundUs(engine, request, answers) {
  const start = processorUs();
  for (let i = 0; i < answers; i++) engine.answerText(request);
  return (processorUs() - start) / answers;
}

/** Median over the rounds; not a number where the module stops. */
function answerUs(engine, request) {
  try {
    engine.answerText(request);
  } catch (error) {
    if (!(error instanceof EngineTrap)) throw error;
    return NaN;
  }
  const answers = Math.ceil(ROUND_US / Math.max(roundUs(engine, request, 200), 1));
  const rounds = Array.from({ length: ROUNDS }, () => roundUs(engine, request, answers));
  return rounds.sort((a, b) => a - b)[ROUNDS >> 1];
}

/** Rows of the native program: [[row, brief, full, brief bytes, full bytes], …]. */
function nativeRows() {
  const { stdout, status } = spawnSync("build/bench_core", [JOBS], { encoding: "utf8" });
  if (status !== 0) throw new Error("build/bench_core failed");
  return stdout.trim().split("\n").slice(1).map((line) => line.trim().split(/\s+/).map(Number));
}

/** Lines a second of `gpuplan batch --brief`, by the clock on the wall. */
function batchRate(lines) {
  const input = Array.from({ length: BATCH_LINES }, (_, i) => lines[i % lines.length]).join("\n");
  const start = process.hrtime.bigint();
  const { status } = spawnSync("build/gpuplan", ["batch", "--brief"], { input, maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error("gpuplan batch failed");
  return BATCH_LINES / (Number(process.hrtime.bigint() - start) / 1e9);
}

const lines = readFileSync(JOBS, "utf8").trim().split("\n");
const modules = [{ engine: await createEngine(), most: "full" }, { engine: await createEngine(readFileSync("build/planner.wasm")), most: "figures" }];
const engines = modules.map(({ engine }) => engine);
const cell = (value, width = 9) => (Number.isNaN(value) ? "–" : value.toFixed(1)).padStart(width);

console.log("          native, us         full module, us    ratio        first view, us    ratio");
console.log(" row    brief     full      brief      full  brief  full      brief      full  brief  full");
nativeRows().forEach(([row, brief, full], index) => {
  const request = JSON.parse(lines[index]);
  const cells = modules.map(({ engine, most }) => {
    const [wasmBrief, wasmFull] = ["brief", most].map((detail) => answerUs(engine, JSON.stringify({ ...request, detail })));
    return [cell(wasmBrief, 11), cell(wasmFull), cell(wasmBrief / brief, 6), cell(wasmFull / full, 5)].join(" ");
  });
  console.log(String(row).padStart(4), cell(brief), cell(full), ...cells);
});
// Comparing all pairs of keys would take minutes.
const manyKeys = `{"job":{${Array.from({ length: 60_000 }, (_, i) => `"k${i}":0`).join(",")}}}`;
console.log(`60,000 unknown keys: ${engines.map((engine) => (roundUs(engine, manyKeys, 3) / 1000).toFixed(0)).join(" and ")} ms`);
console.log(`batch --brief: ${Math.round(batchRate(lines))} lines/s`);
