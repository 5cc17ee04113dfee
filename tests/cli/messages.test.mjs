/** Every word in both languages: no key missing, no placeholder lost, no English left in Chinese. */
import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { ROOT } from "../support/engine.mjs";
import { reportOf } from "./gpuplan.mjs";

const read = (name) => readFileSync(path.join(ROOT, name), "utf8");
const catalogue = (language, name) => JSON.parse(read(`web/i18n/${language}/${name}.json`));
const placeholders = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
const NAMES = ["core", "cli", "page", "charts"];
const core = catalogue("en", "core");

/** Keys that the macro rows of a .def file stand for. */
function defined(file, pattern, key) {
  const found = [...read(file).matchAll(pattern)].map(key);
  assert.ok(found.length > 4, `${file}: ${found.length} rows read`);
  return found;
}

const missing = (keys) => keys.filter((key) => !(key in core));

for (const name of NAMES) {
  const english = catalogue("en", name), chinese = catalogue("zh-Hans", name);

  test(`${name}: the same keys in both languages`, () => {
    assert.deepEqual(Object.keys(chinese).sort(), Object.keys(english).sort());
  });

  test(`${name}: the same placeholders in both languages`, () => {
    for (const [key, text] of Object.entries(english)) assert.deepEqual(placeholders(chinese[key]), placeholders(text), key);
  });

  test(`${name}: no key stands twice`, () => {
    for (const language of ["en", "zh-Hans"]) {
      const keys = [...read(`web/i18n/${language}/${name}.json`).matchAll(/^\s*"([^"]+)":/gm)].map(([, key]) => key);
      assert.equal(new Set(keys).size, keys.length);
      assert.equal(keys.length, Object.keys(catalogue(language, name)).length);
    }
  });

  test(`${name}: Chinese is Chinese`, () => {
    const product = /gpuplan( [a-z-]+)*|`[^`]*`|GB10[0-9]?|FLOP\/s/g;
    for (const [key, text] of Object.entries(chinese)) {
      const words = text.replace(product, "").replace(/\{\w+\}/g, "·").match(/[A-Za-z][A-Za-z'’]*( [A-Za-z][A-Za-z'’]*)*/g) ?? [];
      const sentence = words.find((run) => run.split(" ").filter((word) => /^[a-z]{2,}$/.test(word)).length > 2);
      assert.equal(sentence, undefined, `${key}: ${text}`);
      // A text with words but without Chinese is a name or a unit, hence the same in English, or short.
      if (!/\p{Script=Han}/u.test(text) && /[a-z]{3}/.test(text.replace(product, "").replace(/\{\w+\}/g, ""))) {
        assert.ok(text === english[key] || text.length <= 24, `${key}: ${text}`);
      }
    }
  });

  test(`${name}: no exclamation, no double blanks, no blank before Chinese punctuation`, () => {
    for (const text of [...Object.values(english), ...Object.values(chinese)]) assert.doesNotMatch(text, /[!！]| {2}| [，。：；]/, text);
  });
}

test("no key belongs to two catalogues", () => {
  const keys = NAMES.flatMap((name) => Object.keys(catalogue("en", name)));
  assert.deepEqual(keys.filter((key, index) => keys.indexOf(key) !== index), []);
});

test("every diagnostic has words, with no argument that it does not carry", () => {
  const rows = defined("core/base/diagnostics.def", /^GP_DIAGNOSTIC\((\w+), (\w+)[^)]*\)[ \t]*(?:\/\*(.*?)\*\/)?/gm,
    ([, code, severity, args]) => ({ key: `${severity.toLowerCase()}.${code.toLowerCase()}`, args: (args ?? "").split(":")[0] }));
  assert.deepEqual(missing(rows.map((row) => row.key)), []);
  for (const { key, args } of rows) {
    for (const name of placeholders(core[key])) assert.match(args, new RegExp(`\\b${name}\\b`), `${key}: {${name}}`);
    if (/\bnearest\b/.test(args)) assert.ok(`${key}.nearest` in core, `${key}.nearest`);
  }
});

test("every other key of the core has words, with no argument that it does not carry", () => {
  const rows = defined("core/base/messages.def", /^GP_MESSAGE\((\w+), (\w+), "([^"]*)"\)/gm,
    ([, group, key, args]) => ({ key: `${group.toLowerCase()}.${key}`, args: args.split(" ") }));
  assert.deepEqual(missing(rows.map((row) => row.key)), []);
  for (const { key, args } of rows) {
    for (const name of placeholders(core[key])) assert.ok(args.includes(name), `${key}: {${name}}`);
  }
});

test("every field has a label and a help, every unit and every closed choice a word", () => {
  const { fields } = reportOf(["catalog", "fields"]);
  assert.ok(fields.length > 60);
  assert.deepEqual(missing(fields.flatMap(({ path: field }) => [`field.${field}`, `field.${field}.help`])), []);
  assert.deepEqual(missing(fields.filter((field) => field.unit).map((field) => `unit.${field.unit}`)), []);
  for (const field of ["task", "ledger", "train.recompute"]) {
    const { choices } = fields.find((row) => row.path === field);
    assert.deepEqual(missing(choices.map((choice) => `choice.${field}.${choice}`)), []);
  }
});

test("every word of a choice names a choice that exists", () => {
  const { fields } = reportOf(["catalog", "fields"]);
  const choicesOf = (field) => [...(field.choices ?? []), ...(field.auto ? ["auto"] : [])];
  const known = new Set(fields.flatMap((field) => choicesOf(field).map((choice) => `choice.${field.path}.${choice}`)));
  assert.deepEqual(Object.keys(core).filter((key) => key.startsWith("choice.") && !known.has(key)), []);
});

test("every formula has a meaning and every symbol a name", () => {
  const { formulas } = reportOf(["catalog", "formulas"]);
  assert.ok(formulas.length > 20);
  assert.deepEqual(missing(formulas.map(({ id }) => `formula.${id}`)), []);
  const symbols = formulas.flatMap(({ expression }) => expression.match(/[A-Za-z_]\w*/g) ?? [])
    .filter((symbol) => !["min", "max", "ceil", "floor"].includes(symbol));
  assert.deepEqual([...new Set(missing(symbols.map((symbol) => `symbol.${symbol}`)))], []);
  const ids = new Set(formulas.map(({ id }) => id));
  assert.deepEqual(Object.keys(core).filter((key) => key.startsWith("formula.") && !ids.has(key.slice(8))), []);
});

test("the command line uses every one of its words and no other", () => {
  const files = readdirSync(path.join(ROOT, "native/cli")).filter((name) => name.endsWith(".c"));
  const sources = files.map((name) => read(`native/cli/${name}`)).join("\n");
  const used = [...sources.matchAll(/"(cli\.[a-z_.]+)"/g)].map(([, key]) => key);
  const words = Object.keys(catalogue("en", "cli"));
  const families = used.filter((key) => !words.includes(key));
  for (const family of families) assert.ok(words.some((key) => key.startsWith(`${family}.`)), family);
  const prefixes = [...sources.matchAll(/"(cli\.[a-z_.]+\.)%/g)].map(([, prefix]) => prefix).concat(families.map((family) => `${family}.`));
  const isUsed = (key) => used.includes(key.replace(/\.nearest$/, "")) || prefixes.some((prefix) => key.startsWith(prefix));
  assert.deepEqual(words.filter((key) => !isUsed(key)), []);
});
