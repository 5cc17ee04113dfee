/** Runs build/gpuplan as a person's shell would. */
import { spawnSync } from "node:child_process";
import { PROGRAM } from "../support/engine.mjs";

export const EXAMPLE = ["task=qlora", "model=llama-2-7b", "gpu=RTX 4090", "micro_batch=max"];

/**
 * @param {string[]} words of the command line
 * @param {{input?: string | Buffer, env?: Record<string, string>}} [options]
 * @returns {{status: number | null, stdout: string, stderr: string}}
 */
export function gpuplan(words, { input = "", env = {} } = {}) {
  const run = spawnSync(PROGRAM, words, {
    input, encoding: "utf8", maxBuffer: 2 ** 28, env: { PATH: process.env.PATH, LC_ALL: "C", ...env },
  });
  if (run.error) throw run.error;
  return { status: run.status, stdout: run.stdout, stderr: run.stderr };
}

/** The report of a command line with --json. */
export function reportOf(words, options) {
  return JSON.parse(gpuplan([...words, "--json"], options).stdout);
}

const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;

/** Columns a terminal gives a line: East Asian wide characters take two. */
export function columnsOf(line) {
  return Array.from(line).reduce((sum, character) => sum + (WIDE.test(character) ? 2 : 1), 0);
}
