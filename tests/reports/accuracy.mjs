/** docs/accuracy.md and the table of README.md, made of `gpuplan score`: `node tests/reports/accuracy.mjs` writes both. */
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { PROGRAM, ROOT } from "../support/engine.mjs";

export const PAGE = path.join(ROOT, "docs/accuracy.md"), README = path.join(ROOT, "README.md");
const FOLDER = path.join(ROOT, "tests/reports");
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith(".jsonl")).sort();
const WORDS = JSON.parse(readFileSync(path.join(ROOT, "web/i18n/en/cli.json"), "utf8"));
const NOTES = JSON.parse(readFileSync(path.join(FOLDER, "notes.json"), "utf8"));

/** @returns {object} the scores of all files, or of those named */
export function scores(names = FILES) {
  const words = ["score", ...names.map((name) => path.join(FOLDER, name)), "--json", "--worst", "5"];
  const run = spawnSync(PROGRAM, words, { encoding: "utf8", maxBuffer: 2 ** 28 });
  if (run.status !== 0) throw new Error(`gpuplan ${words.join(" ")}: ${run.stderr || run.error}`);
  return JSON.parse(run.stdout);
}

const percent = (share, sign = "") => (share === undefined ? "" : `${sign && share >= 0 ? sign : ""}${(100 * share).toFixed(1)} %`);
const nameOf = (quantity) => WORDS[`cli.quantity.${quantity.id}`];
const row = (cells) => `| ${cells.join(" | ")} |`;
const head = (names) => [row(names), row(names.map((_, index) => (index ? "--:" : "---")))];
const figures = (label, part) => row([label, part.rows, part.unanswered, percent(part.median), percent(part.p90), percent(part.bias, "+"), percent(part.coverage)]);
const COLUMNS = ["rows", "unanswered", "median", "p90", "bias", "in range"];

/** Quantities of which something is answered; a prediction that does not exist yet has no figures. */
const answered = (all) => all.quantities.filter((quantity) => quantity.median !== undefined);

/** @param {object} all @returns {string[]} lines of the short table */
function summary(all) {
  return [...head(["", ...COLUMNS]), ...answered(all).map((quantity) => figures(nameOf(quantity), quantity))];
}

function verdicts({ training, serving }) {
  const said = ({ fits, tight, no, none }) => [fits, tight, no, none];
  return [
    ...head(["", "said fits", "tight", "no", "nothing"]),
    row(["training, ran", ...said(training.ran)]), row(["training, out of memory", ...said(training.oom)]),
    row(["serving, ran", ...said(serving.ran)]), row(["serving, out of memory", ...said(serving.oom)]),
  ];
}

function details(quantity) {
  return [
    `## ${nameOf(quantity)[0].toUpperCase()}${nameOf(quantity).slice(1)}`, "",
    ...head(["group", ...COLUMNS]), ...quantity.groups.map((part) => figures(part.name, part)), "",
    ...head(["method", ...COLUMNS]), ...quantity.methods.map((part) => figures(part.name, part)), "",
    "Furthest off:", "",
    ...head(["row", "error", "predicted", "measured"]),
    ...quantity.worst.map((each) => row([each.id, percent(each.error, "+"), each.predicted.toPrecision(4), each.measured.toPrecision(4)])), "",
  ];
}

/** @param {object} all @returns {string} docs/accuracy.md */
export function pageOf(all) {
  return [
    "# How far off the predictions are", "",
    "Made by `make accuracy`, which runs `gpuplan score` on the measurements in `tests/reports/`; each row names its public",
    "source. No number of the planner is made for one row or one source: what is fitted depends on framework, method,",
    "architecture and hardware, as a user states them. Errors are absolute and relative to what was measured; bias is the",
    "median with its sign; the range is the one in which nine of ten measurements should lie. Sizes below are in bytes.", "",
    ...summary(all), "",
    `Rows read: ${all.rows}; of these ${all.faulty} have a job that contradicts itself or leaves out what a plan needs.`, "",
    "## Does it fit", "", ...verdicts(all.verdicts), "",
    ...answered(all).flatMap(details),
    "## Where a source and the planner disagree", "",
    ...NOTES.flatMap(({ about, note }) => [`- **${about}**: ${note}`]), "",
  ].join("\n");
}

const START = "<!-- accuracy -->", END = "<!-- /accuracy -->";

/** README.md with the short table between its marks. */
export function readmeOf(text, all) {
  const from = text.indexOf(START), to = text.indexOf(END);
  if (from < 0 || to < from) throw new Error(`README.md lacks ${START} or ${END}`);
  return `${text.slice(0, from + START.length)}\n${summary(all).join("\n")}\n${text.slice(to)}`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const all = scores();
  writeFileSync(PAGE, pageOf(all));
  writeFileSync(README, readmeOf(readFileSync(README, "utf8"), all));
}
