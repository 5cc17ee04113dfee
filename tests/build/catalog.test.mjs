// The catalogue's generator refuses data that it cannot vouch for.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

/** Runs the generator on a copy of core/data in which `change` has edited the parsed `file`. */
function generate(file, change) {
  const folder = mkdtempSync(path.join(tmpdir(), "gpuplan-data-"));
  try {
    cpSync("core/data", folder, { recursive: true });
    const name = path.join(folder, file);
    const data = JSON.parse(readFileSync(name, "utf8"));
    change(data);
    writeFileSync(name, JSON.stringify(data));
    const output = path.join(folder, "catalog_data.c");
    const { status, stderr } = spawnSync("build/gen_catalog", [folder, output], { encoding: "utf8" });
    return { status, stderr, written: existsSync(output) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the data as it is makes a catalogue", () => {
  const { status, written } = generate("models.json", () => {});
  assert.equal(status, 0);
  assert.ok(written);
});

const refused = [
  ["a model without a source", "models.json", (rows) => delete rows[3].source, /no source/],
  ["a GPU without a source", "gpus.json", (rows) => delete rows[3].source, /no source/],
  ["visible memory without a source", "gpus.json", (rows) => delete rows.find((row) => row.memory_bytes).memory_source, /no memory_source/],
  ["a format without a source", "formats.json", (data) => delete data.weights[0].source, /no source/],
  ["the same model twice", "models.json", (rows) => rows.push(rows[0]), /also names another row/],
  ["the same GPU twice", "gpus.json", (rows) => rows.push(rows[0]), /also names another row/],
  ["an alias that is a model", "aliases.json", (aliases) => { aliases["gpt2-xl"] = "openai-community/gpt2"; }, /also names another row/],
  ["an alias of nothing", "aliases.json", (aliases) => { aliases.nothing = "nobody/nothing"; }, /an alias of no model/],
  ["an alias of a GPU that is taken", "gpus.json", (rows) => rows[0].aliases.push("H100"), /also names another row/],
  ["a count 0.2 % off", "models.json", (rows) => { rows[0].params = Math.round(rows[0].params * 1.002); }, /published are/],
  ["a config of another kind", "models.json", (rows) => { rows[0].config.model_type = "bert"; }, /unsupported_architecture/],
  ["a config that lacks its width", "models.json", (rows) => delete rows[0].config.n_embd, /incomplete_model/],
  ["an unknown confidence", "models.json", (rows) => { rows[0].confidence = "sure"; }, /confidence/],
];

for (const [name, file, change, reason] of refused) {
  test(`refused: ${name}`, () => {
    const { status, stderr, written } = generate(file, change);
    assert.equal(status, 1);
    assert.match(stderr, reason);
    assert.equal(written, false);
  });
}

/** Every text of a row that says where its numbers come from, with the row's name. */
function* sources(value, name = "") {
  if (value === null || typeof value !== "object") return;
  const label = value.id ?? value.name ?? value.type ?? name;
  for (const [key, inner] of Object.entries(value)) {
    if (key === "source" || key === "memory_source") yield [label, inner];
    else yield* sources(inner, label);
  }
}

test("every source is a citation: not empty, brackets in pairs, no working notes", () => {
  const notes = /\b(fetched|public file|published file|scraped|verified|recalled|inferred|not checked|via|todo)\b|\?|HF API|same shapes as [^;]*$|\bscripts\/build_registry/i;
  let count = 0;
  for (const file of readdirSync("core/data").filter((name) => name.endsWith(".json"))) {
    for (const [name, source] of sources(JSON.parse(readFileSync(path.join("core/data", file), "utf8")))) {
      count++;
      const where = `${file}, ${name}: ${source}`;
      assert.equal(source, source.trim(), where);
      assert.ok(source.length > 5, where);
      let depth = 0;
      for (const letter of source) {
        depth += Number(letter === "(") - Number(letter === ")");
        assert.ok(depth === 0 || depth === 1, where);
      }
      assert.equal(depth, 0, where);
      assert.doesNotMatch(source, notes, where);
      assert.doesNotMatch(source, /;\s*;|[;,(]\s*$|count: *$/, where);
      const pieces = source.split("; ");
      assert.equal(new Set(pieces).size, pieces.length, where);
    }
  }
  assert.ok(count > 500, String(count));
});
