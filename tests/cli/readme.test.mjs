/** README.md: its commands print what it shows, its links lead somewhere, its diagram names files that exist. */
import test from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { ROOT } from "../support/engine.mjs";
import { reportOf } from "./gpuplan.mjs";
import { README, refreshed } from "./readme.mjs";

const text = readFileSync(README, "utf8");

test("every command prints what is shown", () => {
  assert.ok(text.match(/^\$ build\/gpuplan/gm).length >= 4);
  assert.equal(text, refreshed(text));
});

test("every link leads to a file", () => {
  const targets = [...text.matchAll(/\]\(([^)#]+)\)/g)].map(([, target]) => target).filter((target) => !target.includes("://"));
  assert.ok(targets.length >= 4);
  assert.deepEqual(targets.filter((target) => !existsSync(path.join(ROOT, target))), []);
});

test("every file of the diagram and every folder of the layout exists", () => {
  const files = readdirSync(path.join(ROOT, "core"));
  const diagram = text.match(/^```\nrequest JSON[^]*?^```$/m)[0];
  for (const [, name] of diagram.matchAll(/([a-z_]+(?:_\*)?\.(?:c|def))/g)) {
    const pattern = new RegExp(`^${name.replace(".", "\\.").replace("*", ".*")}$`);
    assert.ok(files.some((file) => pattern.test(file)), name);
  }
  for (const [, folder] of text.matchAll(/^\| `([a-z]+)\/` \|/gm)) assert.ok(existsSync(path.join(ROOT, folder)), folder);
});

test("both commands are named, and every make target exists", () => {
  assert.match(text, /^make run /m);
  assert.match(text, /^make test /m);
  const makefiles = ["Makefile", ...["core", "native", "wasm", "web", "tests"].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder)).filter((name) => name.endsWith(".mk")).map((name) => `${folder}/${name}`))];
  const rules = makefiles.map((name) => readFileSync(path.join(ROOT, name), "utf8")).join("\n");
  for (const [, target] of text.matchAll(/\bmake ([a-z]+)\b(?=[ `])/g)) {
    if (target !== "make") assert.match(rules, new RegExp(`^${target}:`, "m"), target);
  }
});

test("the three examples are those of the page", () => {
  const examples = JSON.parse(readFileSync(path.join(ROOT, "web/examples.json"), "utf8"));
  const commands = [...text.matchAll(/^\$ build\/gpuplan (plan [^|\n]*)/gm)].map(([, words]) => words.trim().split(/ +/));
  assert.equal(examples.length, 3);
  for (const { id, variants } of examples) {
    const peaks = variants.map(({ job }) => reportOf(["plan", JSON.stringify(job)]).memory.peak_bytes);
    const shown = commands.map((words) => reportOf(words).memory.peak_bytes);
    assert.ok(shown.some((peak) => peaks.some((other) => Math.abs(peak - other) < 0.001 * other)), id);
  }
});
