// Writes the texts behind the figures as a classic script: node web/reference.mjs build/gpuplan.wasm > dist/reference.js
//
// They are the same in every plan, so the page asks for plans without them and loads them once (web/texts.js).
import { readFileSync } from "node:fs";

import { createEngine } from "../wasm/engine.js";

const engine = await createEngine(readFileSync(process.argv[2]));
/** @param {string} kind @returns {{ [member: string]: string }[]} */
const rows = (kind) => engine.answer({ gpuplan: 1, op: "catalog", kind })[kind];

const formulas = Object.fromEntries(rows("formulas").map(({ id, expression, source }) => [id, [expression, source]]));
const models = Object.fromEntries(rows("models").map(({ id, source }) => [id, source]));
const gpus = Object.fromEntries(rows("gpus").map(({ name, source }) => [name, source]));
process.stdout.write(`globalThis.gpuplanReference=${JSON.stringify({ formulas, models, gpus })};\n`);
