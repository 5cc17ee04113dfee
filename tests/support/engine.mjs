/** Runs requests through build/gpuplan (one process, one request a line), or through the WebAssembly build. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import path from "node:path";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const PROGRAM = path.join(ROOT, "build/gpuplan");

/**
 * Answers texts exactly as they stand; none may hold a line feed or be blank, since a line is a request.
 * @param {(string | Buffer)[]} texts
 * @param {string[]} [options] of `gpuplan batch`
 * @returns {string[]} one report text for each
 */
export function answerTexts(texts, options = []) {
  const newline = Buffer.from("\n");
  const input = Buffer.concat(texts.flatMap((text) => [Buffer.from(text), newline]));
  const run = spawnSync(PROGRAM, ["batch", ...options], { input, maxBuffer: 2 ** 30 });
  if (run.error) throw run.error;
  if (run.signal) throw new Error(`gpuplan batch ended by ${run.signal}: ${run.stderr}`);
  const lines = run.stdout.toString("utf8").split("\n");
  if (lines.pop() !== "") throw new Error("the last report does not end in a line feed");
  if (lines.length !== texts.length) throw new Error(`${lines.length} reports for ${texts.length} requests`);
  return lines;
}

/** @param {object[]} requests */
export function answerAll(requests) {
  return answerTexts(requests.map((request) => JSON.stringify(request))).map((text) => JSON.parse(text));
}

/**
 * Plans many jobs.
 * @param {object[]} jobs
 * @param {"full" | "brief"} [detail]
 */
export function planAll(jobs, detail = "full") {
  return answerAll(jobs.map((job) => planRequest(job, detail)));
}

export function planRequest(job, detail = "full") {
  return { gpuplan: 1, op: "plan", ...(detail === "brief" ? { detail } : {}), job };
}

/** A copy of a job with one setting written by its dotted path. */
export function withSetting(job, dottedPath, value) {
  const copy = structuredClone(job);
  const keys = dottedPath.split(".");
  const last = keys.pop();
  let place = copy;
  for (const key of keys) {
    if (typeof place[key] !== "object" || place[key] === null) place[key] = {};
    place = place[key];
  }
  place[last] = value;
  return copy;
}
