// Writes the words of one language as a classic script: node web/words.mjs web/i18n/en > dist/words-en.js
//
// One language is a third of the page, so the page loads the reader's alone (web/i18n.js).
import { readFileSync } from "node:fs";
import path from "node:path";

/** Keys of core.json that the page has no place for: it says where a value comes from in words of its own. */
const UNUSED = /^(?:origin|cost)\./;

const folder = process.argv[2];
/** @param {string} name @returns {Record<string, string>} */
const read = (name) => JSON.parse(readFileSync(path.join(folder, name), "utf8"));
const core = Object.entries(read("core.json")).filter(([key]) => !UNUSED.test(key));
const words = { ...Object.fromEntries(core), ...read("page.json") };
const lang = path.basename(folder);
process.stdout.write(`(globalThis.gpuplanWords??={})[${JSON.stringify(lang)}]=${JSON.stringify(words)};\n`);
