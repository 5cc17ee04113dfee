/** Rewrites the expected reports after a wanted change: `make bless`. No test runs this. */
import { writeFileSync } from "node:fs";
import { answerTexts } from "../support/engine.mjs";
import { NAMES, reportFile, requestOf } from "./pairs.mjs";

const reports = answerTexts(NAMES.map(requestOf));
for (const [index, name] of NAMES.entries()) writeFileSync(reportFile(name), `${reports[index]}\n`);
console.log(`${NAMES.length} reports written`);
