/** llama.cpp itself loads small GGUF files of many architectures; the planner, which reads the same files, must come to
 * the same tensors, parameters, caches and states, and @huggingface/gguf to the same metadata. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { ROOT, SECOND_READER } from "./engine.mjs";
import { TYPES, tensorBytes, writeGguf } from "./gguf.mjs";
import { MODELS, fileOf } from "./models.mjs";
import { PROGRAM, planAll } from "../support/engine.mjs";

const SUPPORTED = process.platform === "linux" && process.arch === "x64";
const skip = SUPPORTED ? false : `the engine's package is for linux-x64, this is ${process.platform}-${process.arch}`;

const MIB = 2 ** 20;
const folder = mkdtempSync(path.join(tmpdir(), "gpuplan-engine-"));
after(() => rmSync(folder, { recursive: true }));

/** Experts whose widths and number order the compute buffer in their own ways: those chosen for a token together narrower
 * than the stream, each narrower than half of it, wider. */
const EXPERTS = [["few", 2, 256, 32], ["many", 8, 192, 128], ["wide", 6, 768, 64]].map(([name, topk, width, head]) => {
  const model = MODELS.find((one) => one.name === "qwen3_moe");
  return { name: `qwen3_moe-${name}`, config: { ...model.config, num_experts_per_tok: topk, moe_intermediate_size: width, head_dim: head } };
});
/** Matrices in f16, and one file of a quantised type. */
const FILES = [...[...MODELS, ...EXPERTS].map((model) => ({ ...model, type: "f16" })), { ...MODELS[0], name: "llama-q8_0", type: "q8_0" }]
  .map((model) => ({ ...model, path: path.join(folder, `${model.name}.gguf`), content: fileOf(model.config, model.type) }));

function probe() {
  for (const { path: file, content } of FILES) writeGguf(file, content);
  const run = spawnSync(process.execPath, [path.join(ROOT, "tests/engine/probe.mjs"), ...FILES.map((file) => file.path)],
    { encoding: "utf8", maxBuffer: 2 ** 26, timeout: 240_000 });
  assert.equal(run.status, 0, `the engine ended with ${run.status ?? run.signal}: ${run.stderr.slice(-2000)}`);
  return JSON.parse(run.stdout.trimEnd().split("\n").at(-1));
}
const probed = SUPPORTED ? probe() : [];

const elements = ({ shape }) => shape.reduce((product, size) => product * size, 1);
const total = (rows, value) => rows.reduce((sum, row) => sum + value(row), 0);

const cli = (...words) => JSON.parse(execFileSync(PROGRAM, [...words, "--json"], { encoding: "utf8" }));
const bytesOf = (report, id) => total(report.memory.stages.flatMap((stage) => stage.items).filter((item) => item.id === id), (item) => item.bytes);
/** The log rounds each of its lines to a hundredth of a MiB. */
const printed = (bytes, mib, what) => assert.ok(Math.abs(bytes / MIB - mib) <= 0.011, `${what}: ${bytes / MIB} MiB, the engine has ${mib}`);

/** "13.11 M", as the engine prints parameters. */
function rounded(params) {
  const [divisor, unit] = params >= 1e9 ? [1e9, "B"] : [1e6, "M"];
  return `${(params / divisor).toFixed(2)} ${unit}`;
}

/** The context the engine made, as settings of a job. */
const settings = (context) => ({
  engine: "llama.cpp", context: context.n_ctx, sequences: context.n_seq_max, ubatch: context.n_ubatch, batch_tokens: context.n_batch,
  kv_unified: context.unified, flash_attention: context.flash,
});
const CPU = { gpu: "cpu", count: 1 };

/** @type {{name: string, error: number}[]} */
const computeErrors = [];

for (const [index, { name, path: file, config, type, content }] of FILES.entries()) {
  const bytes = total(content.tensors, tensorBytes), params = total(content.tensors, elements);

  test(`${name}: the engine, the importer and the second reader see the same tensors`, { skip }, async () => {
    const engine = probed[index];
    assert.equal(engine.error, undefined);
    assert.equal(engine.bytes, bytes);
    assert.equal(engine.params_text, rounded(params));
    const { import: read, errors, warnings } = cli("import", file);
    assert.deepEqual([errors, warnings], [[], []]);
    assert.equal(read.bytes, bytes);
    assert.equal(read.params, params);
    const { gguf } = await import(SECOND_READER);
    const second = await gguf(file, { allowLocalFile: true });
    assert.equal(second.tensorInfos.length, read.tensors);
    assert.equal(second.metadata["general.architecture"], read.architecture);
    for (const [key, value] of Object.entries(content.metadata)) {
      if (typeof value === "number" || typeof value === "string") assert.equal(second.metadata[key], value, key);
    }
    const wide = second.tensorInfos.filter((tensor) => tensor.dtype === TYPES[type][0]);
    assert.equal(wide.length, content.tensors.filter((tensor) => tensor.type === type).length);
  });

  test(`${name}: weights, cache and state of the imported file are the engine's`, { skip }, () => {
    const { job } = cli("import", file);
    const contexts = probed[index].contexts;
    const jobs = contexts.map((context) => ({ task: "infer", ...job, hardware: CPU, infer: { ...job.infer, ...settings(context) } }));
    for (const [i, report] of planAll(jobs).entries()) {
      assert.equal(report.errors, undefined, JSON.stringify(report.errors));
      assert.equal(report.params.total, params);
      assert.equal(bytesOf(report, "weights"), bytes);
      printed(bytesOf(report, "kv_cache"), contexts[i].kv_mib, "KV cache");
      printed(bytesOf(report, "recurrent_state"), contexts[i].recurrent_mib, "recurrent state");
      const error = bytesOf(report, "workspace") / MIB / contexts[i].compute_mib - 1;
      computeErrors.push({ name, error });
    }
  });

  test(`${name}: so are those that follow from its config.json`, { skip }, () => {
    const contexts = probed[index].contexts;
    const weights = `gguf:${type.toUpperCase()}`;
    const jobs = contexts.map((context) => ({ task: "infer", model: { config }, hardware: CPU, infer: { ...settings(context), weights } }));
    for (const [i, report] of planAll(jobs).entries()) {
      assert.equal(report.errors, undefined, JSON.stringify(report.errors));
      assert.equal(report.params.total, params);
      if (type === "f16") assert.equal(report.file.tensor_bytes, bytes);
      printed(bytesOf(report, "kv_cache"), contexts[i].kv_mib, "KV cache");
      printed(bytesOf(report, "recurrent_state"), contexts[i].recurrent_mib, "recurrent state");
    }
  });
}

/** Widths of these models are small and their vocabulary smaller, so that the allocator's gaps weigh more than in real
 * ones. */
test("half of the compute buffers are within 1 %, nine of ten within 10 %, those with experts alone within 3 %", { skip }, (t) => {
  const sorted = computeErrors.map(({ error }) => Math.abs(error)).sort((a, b) => a - b);
  for (const { name, error } of computeErrors) t.diagnostic(`${name}: ${(100 * error).toFixed(2)} %`);
  assert.ok(sorted[Math.floor(sorted.length / 2)] <= 0.01);
  assert.ok(sorted[Math.floor(sorted.length * 0.9)] <= 0.1);
  for (const { name, error } of computeErrors.filter((row) => /^(mixtral|qwen3_moe)/.test(row.name))) assert.ok(Math.abs(error) <= 0.03, name);
});
