/** What llama.cpp v0.4.0 printed when it created contexts on synthetic GGUF files (real headers, zero weights; CPU back
 * end), and sizes of published files. */
import { readFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import assert from "node:assert/strict";
import { ROOT, answerAll, planAll } from "../support/engine.mjs";

const MIB = 2 ** 20;
const ROWS = readFileSync(path.join(ROOT, "tests/data/llama_cpp_sample.jsonl"), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const REPORTS = planAll(ROWS.map(({ job }) => job));

const bytesOf = (report, id) => report.memory.stages.flatMap((stage) => stage.items)
  .filter((item) => item.id === id).reduce((sum, item) => sum + item.bytes, 0);
/** The log rounds to a hundredth of a MiB, each of its lines by itself. */
const printed = (bytes, mib, what) => assert.ok(Math.abs(bytes / MIB - mib) <= 0.011, `${what}: ${bytes / MIB}, printed ${mib}`);

for (const [index, { id, measured }] of ROWS.entries()) {
  test(`${id}: parameters, types, cache and state are the engine's`, () => {
    const report = REPORTS[index];
    assert.equal(report.errors, undefined, JSON.stringify(report.errors));
    assert.equal(report.params.total, measured.params);
    assert.deepEqual(report.file.bytes_by_type, { ...report.file.bytes_by_type, ...measured.tensor_bytes_by_type });
    assert.equal(report.file.tensor_bytes, Object.values(measured.tensor_bytes_by_type).reduce((a, b) => a + b, 0));
    assert.equal(bytesOf(report, "weights"), report.file.tensor_bytes);
    printed(bytesOf(report, "kv_cache"), measured.kv_mib, "KV cache");
    printed(bytesOf(report, "recurrent_state"), measured.recurrent_mib, "recurrent state");
  });
}

test("the compute buffer is within 1 % for half of the rows and within 4 % for nine of ten", () => {
  const errors = ROWS.map(({ measured }, index) => Math.abs(bytesOf(REPORTS[index], "workspace") / MIB / measured.compute_buffer_mib - 1))
    .sort((a, b) => a - b);
  assert.ok(errors[Math.floor(errors.length / 2)] <= 0.01, `median ${errors[Math.floor(errors.length / 2)]}`);
  assert.ok(errors[Math.floor(errors.length * 0.9)] <= 0.04, `nine of ten ${errors[Math.floor(errors.length * 0.9)]}`);
});

const { files } = JSON.parse(readFileSync(path.join(ROOT, "tests/data/gguf_sizes.json"), "utf8"));
const fileJob = ({ model, mix }) => ({
  task: "infer", model, hardware: { gpu: "cpu", count: 1 }, infer: { engine: "llama.cpp", weights: `gguf:${mix}`, context: 2048 },
});
for (const file of files) {
  test(`${file.model} ${file.mix}: the published file's size`, () => {
    const [report] = answerAll([{ gpuplan: 1, op: "plan", job: fileJob(file) }]);
    const error = report.file.bytes / file.bytes - 1;
    assert.ok(Math.abs(error) <= 0.005, `${report.file.bytes} of ${file.bytes}: ${(100 * error).toFixed(3)} %`);
  });
}

/** Average bits of files listed in llama.cpp tools/quantize/README.md (Llama-3.1-8B) and examples/quantize (Llama 2). */
const AVERAGES = {
  "meta-llama/Llama-3.1-8B": {
    IQ1_S: 2.0042, IQ1_M: 2.146, IQ2_XXS: 2.3824, IQ2_XS: 2.5882, IQ2_S: 2.7403, IQ2_M: 2.9294, IQ3_XXS: 3.2548, IQ3_XS: 3.4977, IQ3_S: 3.6606,
    IQ3_M: 3.7628, IQ4_XS: 4.4597, IQ4_NL: 4.6818, Q2_K_S: 2.9697, Q2_K: 3.1593, Q3_K_S: 3.6429, Q3_K_L: 4.2979, Q4_K_S: 4.6672, Q4_K_M: 4.8944,
    Q5_K_S: 5.5704, Q5_K_M: 5.7036, Q6_K: 6.5633, Q8_0: 8.5008, F16: 16.0005,
  },
  "meta-llama/Llama-2-70b-hf": { Q3_K_S: 3.47, Q3_K_M: 3.85, Q3_K_L: 4.19, Q4_K_M: 4.8, Q5_K_S: 5.5, Q5_K_M: 5.65, Q6_K: 6.56 },
};
for (const [model, mixes] of Object.entries(AVERAGES)) {
  test(`${model}: average bits of every mix`, () => {
    const reports = planAll(Object.keys(mixes).map((mix) => fileJob({ model, mix })));
    for (const [index, [mix, bits]] of Object.entries(mixes).entries()) {
      const found = (8 * reports[index].file.tensor_bytes) / reports[index].params.total;
      assert.ok(Math.abs(found / bits - 1) <= 0.003, `${mix}: ${found}, listed ${bits}`);
    }
  });
}

test("servers of builds since June 2026 reserve logits of one token a sequence", () => {
  // github.com/ggml-org/llama.cpp, pull request 23861: for each sequence, and its guesses, where the build is known
  const serve = (infer) => ({ task: "infer", model: "google/gemma-3-12b-it", hardware: { gpu: "RTX 4090", count: 1 },
    infer: { engine: "llama.cpp", weights: "gguf:Q4_K_M", context: 8192, ubatch: 512, ...infer } });
  const [library, before, since, one, guesses, four] = planAll([{}, { engine_version: "b9272" }, { engine_version: "b9500" }, { outputs_max: 1 },
    { engine_version: "b9500", draft_tokens: 3 }, { outputs_max: 4 }].map(serve));
  const buffer = ({ memory }) => memory.stages[0].items.find(({ id }) => id === "workspace").bytes;
  const logits = (report, tokens) => 4 * tokens * report.model.vocab;
  assert.equal(buffer(before), buffer(library));
  assert.ok(buffer(before) > logits(before, 512) && buffer(since) < buffer(before) - logits(before, 300));
  assert.deepEqual([buffer(since), buffer(guesses)], [buffer(one), buffer(four)]);
});

test("buffers that builds of 2023 and 2024 print", () => {
  // github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference: logs of Llama 7B (December 2023) and Llama 3 8B (May 2024)
  const serve = (model, gpu, infer) => ({ task: "infer", model, hardware: { gpu, count: 1 }, infer: { engine: "llama.cpp", flash_attention: false, ...infer } });
  const old = { weights: "gguf:Q4_0", context: 512, batch_tokens: 512 };
  const reports = planAll([
    serve("huggyllama/llama-7b", "A100 SXM4 80GB", { ...old, engine_version: "b1680" }), serve("huggyllama/llama-7b", "Apple M3", { ...old, engine_version: "b1620" }),
    serve("meta-llama/Meta-Llama-3-8B", "RTX 3090", { weights: "gguf:Q4_K_M", context: 8192, engine_version: "b2833" })]);
  [70.5, 73.57, 560].forEach((mib, index) => printed(reports[index].memory.stages[0].items.find(({ id }) => id === "workspace").bytes, mib, `row ${index}`));
});
