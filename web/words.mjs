// Writes the words of one language as a classic script: node web/words.mjs web/i18n/en > dist/words-en.js
// With "more": those of what a press opens, which come after the first view.
//
// One language is a third of the page, so the page loads the reader's alone (web/i18n.js).
import { readFileSync } from "node:fs";
import path from "node:path";

/** Keys of core.json that the page has no place for: it says where a value comes from in words of its own. */
const UNUSED = /^(?:origin|cost)\./;

/** Keys of what web/details.js shows, of faults, which no worked example has, and of the help beside the settings. */
const MORE = /^(?:error|warning|expected|formula|symbol|looks|damage|kind|hub)\.|^import\.(?!open$)|^why\.(?!peak$)|\.help$/;

const folder = process.argv[2], isMore = process.argv[3] === "more";
/** @param {string} name @returns {Record<string, string>} */
const read = (name) => JSON.parse(readFileSync(path.join(folder, name), "utf8"));
const all = Object.entries({ ...read("core.json"), ...read("page.json") });
const words = JSON.stringify(Object.fromEntries(all.filter(([key]) => !UNUSED.test(key) && MORE.test(key) === isMore)));
const place = `[${JSON.stringify(path.basename(folder))}]`;
process.stdout.write(isMore ? `Object.assign(globalThis.gpuplanWords${place},${words});\n`
  : `(globalThis.gpuplanWords??={})${place}=${words};\n`);
