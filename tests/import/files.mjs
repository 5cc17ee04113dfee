/** Files of models in a folder of their own, and what `gpuplan import` says of them. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROGRAM } from "../support/engine.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "gpuplan-import-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Writes a file whose bytes after `content` are a hole; returns its path. */
export function file(name, content, size) {
  const place = path.join(folder, name);
  writeFileSync(place, content);
  if (size !== undefined) truncateSync(place, size);
  return place;
}

export function importFiles(places, { input } = {}) {
  const run = spawnSync(PROGRAM, ["import", ...places, "--json"], { input, encoding: "utf8", maxBuffer: 2 ** 26 });
  // What follows the header stays in the pipe.
  if (run.error && run.error.code !== "EPIPE") throw run.error;
  if (run.signal) throw new Error(`ended by ${run.signal}`);
  return { ...JSON.parse(run.stdout), status: run.status, stderr: run.stderr };
}

/** The plan of a job with that file as its model. */
export function planFile(place) {
  const run = spawnSync(PROGRAM, ["plan", "--model", place, "--json", "task=infer", "gpu=H100"], { encoding: "utf8", maxBuffer: 2 ** 26 });
  if (run.signal) throw new Error(`ended by ${run.signal}`);
  return { ...JSON.parse(run.stdout), status: run.status, stderr: run.stderr };
}

/** What a hostile file is allowed: 64 MiB of memory, unless more is given, and 100 ms of the processor. */
export function importBounded(place, kibibytes = 2 ** 16) {
  const command = 'ulimit -v "$2"; ulimit -t 1; "$0" import "$1" --json; status=$?; times >&2; exit $status';
  const run = spawnSync("sh", ["-c", command, PROGRAM, place, String(kibibytes)], { encoding: "utf8", maxBuffer: 2 ** 26 });
  if (run.signal || !run.stdout) throw new Error(`${place}: ${run.signal} ${run.stderr}`);
  const [, user, system] = /(\d+m[\d.]+)s (\d+m[\d.]+)s\s*$/.exec(run.stderr) ?? [];
  const seconds = [user, system].map((text) => Number(text.split("m")[0]) * 60 + Number(text.split("m")[1])).reduce((a, b) => a + b);
  return { ...JSON.parse(run.stdout), seconds };
}

export const codes = (report) => report.errors.map(({ code, args }) => [code, args.damage ?? args.looks].filter(Boolean).join(" "));
