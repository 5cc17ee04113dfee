/** The planner outside the page, to compare what the page shows with what the core says. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { createEngine } from "../../../wasm/engine.js";
import { ROOT } from "./browser.mjs";

const engine = await createEngine(readFileSync(path.join(ROOT, "build/gpuplan.wasm")));

export const plan = (job) => engine.answer({ gpuplan: 1, op: "plan", job });
export const rank = (job, kind) => engine.answer({ gpuplan: 1, op: "rank", job, kind }).rank;
export const linkOf = (job) => engine.answer({ gpuplan: 1, op: "link", job }).link;
export const read = (file) => readFileSync(path.join(ROOT, file), "utf8");
export const examples = JSON.parse(read("web/examples.json"));
export const words = Object.fromEntries(["en", "zh-Hans"].map((lang) => [lang, {
  ...JSON.parse(read(`web/i18n/${lang}/core.json`)), ...JSON.parse(read(`web/i18n/${lang}/page.json`)),
  ...JSON.parse(read(`web/i18n/${lang}/charts.json`)),
}]));

/** "10.3 GiB" as the page prints it. */
export const gib = (bytes, digits = 1) => `${new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(bytes / 2 ** 30)} GiB`;
