/** The request/report pairs of tests/golden/reports/: NAME.request.json is sent as it stands, NAME.report.json is the
 * whole answer, both one line. */
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { ROOT } from "../support/engine.mjs";

export const FOLDER = path.join(ROOT, "tests/golden/reports");
const ENDING = ".request.json";

export const NAMES = readdirSync(FOLDER).filter((name) => name.endsWith(ENDING)).sort()
  .map((name) => name.slice(0, -ENDING.length));

const lineOf = (file) => readFileSync(path.join(FOLDER, file), "utf8").replace(/\n$/, "");
export const requestOf = (name) => lineOf(`${name}${ENDING}`);
export const reportFile = (name) => path.join(FOLDER, `${name}.report.json`);
export const reportOf = (name) => lineOf(`${name}.report.json`);
