// What a file of the repository may hold. The forbidden words are put together here, so that this file may stay in it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { test } from "node:test";

const files = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" }).split("\0").filter(Boolean)
  .filter((name) => lstatSync(name, { throwIfNoEntry: false })?.isFile());
const texts = files.filter((name) => !/\.(png|ico|woff2|gguf|safetensors)$/.test(name)).map((name) => ({ name, text: readFileSync(name, "utf8") }));

const word = (...parts) => new RegExp(`\\b${parts.join("")}\\b`, "i");
const host = (...labels) => new RegExp(labels.join("\\."), "i");

/** Facts about models name their makers as they are; a lock file repeats what its packages are called. */
const FACTS = /^(core\/data\/|tests\/data\/|tests\/reports\/\w+\.jsonl$|package-lock\.json$)/;

/** @type {[string, RegExp, RegExp?][]} what, pattern, files where it is allowed */
const RULES = [
  ["a path of one machine", new RegExp(["(?<![\\w.])/(?:wo", "rk|tm", "p|ro", "ot|ho", "me/\\w)/"].join(""))],
  ["a folder outside the repository", new RegExp(["\\.\\./sha", "red\\b"].join(""))],
  ["a host of a package registry", host("registry", "(?:npmjs|yarnpkg)")],
  ["a host of a package registry", host("(?:deb|ftp|security|snapshot)", "debian")],
  ["a host of a package registry", host("(?:archive|security|ports)", "ubuntu")],
  ["a host of a package registry", host("(?:pypi|files)", "(?:org|pythonhosted)")],
  ["unfinished work", new RegExp(["\\b(?:TO", "DO|FIX", "ME|X", "XX|HA", "CK)\\b"].join(""))],
  ["how the project was made", word("(?:chat", "gpt|clau", "de|anthro", "pic|copi", "lot)"), FACTS],
  ["how the project was made", word("(?<!user[- ])a", "gents?"), FACTS],
  ["how the project was made", word("(?:A", "I|LLM)[- ](?:generated|assisted|written)")],
  ["how the project was made", word("iss", "ue #?\\d+")],
];

for (const [what, pattern, allowed] of RULES) {
  test(`no file names ${what}: ${pattern.source.slice(0, 24)}`, () => {
    const found = texts.filter(({ name }) => !allowed?.test(name))
      .flatMap(({ name, text }) => (pattern.test(text) ? [`${name}: ${text.match(pattern)[0]}`] : []));
    assert.deepEqual(found, []);
  });
}

const written = texts.filter(({ name }) => !/\.(json|jsonl|svg)$/.test(name) && name !== "LICENSE");

test("no line ends in spaces, every text ends in one newline, none has a carriage return", () => {
  assert.deepEqual(written.filter(({ text }) => /[ \t]\n/.test(text)).map(({ name }) => name), []);
  assert.deepEqual(written.filter(({ text }) => text && !/[^\n]\n$/.test(text)).map(({ name }) => name), []);
  assert.deepEqual(texts.filter(({ text }) => text.includes("\r")).map(({ name }) => name), []);
});

test("a source file has fewer than 500 lines", () => {
  const sources = texts.filter(({ name }) => /\.(c|h|js|mjs|css|html|sh|mk)$/.test(name));
  assert.deepEqual(sources.filter(({ text }) => text.split("\n").length > 500).map(({ name }) => name), []);
});

test("no build product and no foreign source is in the repository", () => {
  assert.deepEqual(files.filter((name) => /^(build|dist|node_modules)\/|cJSON\.[ch]$|\.(o|a|wasm)$/.test(name)), []);
});

test("the lock file does not say where packages come from", () => {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
  assert.deepEqual(Object.values(lock.packages).filter((row) => row.resolved), []);
});
