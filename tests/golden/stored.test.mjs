/** Without a word about the weights, they are those that the makers publish. */
import assert from "node:assert/strict";
import test from "node:test";
import { planAll } from "../support/engine.mjs";

const serve = (model, infer = {}) => ({ task: "infer", model, hardware: { gpu: "H200", count: 1 }, infer: { context: 1024, concurrency: 1, ...infer } });
const [published, sixteen, file, scout] = planAll([
  serve("openai/gpt-oss-20b"), serve("openai/gpt-oss-20b", { weights: "bf16" }), serve("openai/gpt-oss-20b", { engine: "llama.cpp" }), serve("meta-llama/Llama-3.1-8B")]);
const weights = (report) => report.memory.stages[0].items.filter(({ id }) => id === "weights").reduce((sum, { bytes }) => sum + bytes, 0);
const said = (report) => report.assumptions.find(({ path }) => path === "infer.weights");

test("the experts of gpt-oss are packed, and nothing else: 13.8 GB, as its files are", () => {
  // huggingface.co/openai/gpt-oss-20b; llama.cpp's conversion writes 13.8 GB, too
  assert.ok(Math.abs(weights(published) / 13.8e9 - 1) < 0.005, String(weights(published)));
  assert.deepEqual(said(published), { code: "derived_value", path: "infer.weights", args: { value: "mxfp4", from: "model" } });
});

test("a stated format wins, and files of llama.cpp are another matter", () => {
  assert.ok(weights(sixteen) > 3 * 13.8e9 * 0.98 && said(sixteen) === undefined);
  assert.ok(weights(file) > 2.9 * 13.8e9);
});

/** Elements by type of Kimi K3's files: github.com/huggingface/huggingface.js packages/hub/src/lib/parse-safetensors-metadata.spec.ts. */
test("the experts of Kimi K3 are packed, and nothing else; 104.2 B are active beside the token table", () => {
  const elements = { F32: 11_122_432, BF16: 57_179_884_544, U8: 2_722_740_830_208 };
  const [{ params, warnings }] = planAll([{ ...serve("moonshotai/Kimi-K3", { tp: 16 }), hardware: { gpu: "B200", count: 16 } }]);
  assert.equal(params.experts, elements.U8);
  assert.equal(params.total - params.experts, elements.F32 + elements.BF16);
  assert.equal(((params.active - 163840 * 7168) / 1e9).toFixed(1), "104.2"); // arXiv:2607.24653, table 1
  assert.equal(params.vision - 4096 * 4096 - 4096 * 7168 - 7168, 401_214_464); // 401 M in the report, without the merger
  assert.ok(!warnings.some(({ code }) => code === "structure_incomplete"));
});

test("other models are published in 16 bit", () => assert.equal(said(scout).args.value, "bf16"));

test("all that is published packed fits where its makers say", () => {
  const jobs = [["deepseek-ai/DeepSeek-V3", "H200", 8], ["moonshotai/Kimi-K2-Instruct", "B200", 8], ["openai/gpt-oss-120b", "H100", 1], ["MiniMaxAI/MiniMax-M2", "H100", 4]];
  const reports = planAll(jobs.map(([model, gpu, count]) => ({ ...serve(model, { tp: count }), hardware: { gpu, count } })));
  reports.forEach((report, index) => assert.notEqual(report.verdict, "no", jobs[index][0]));
});

test("gpt-fast packs the output matrix as well, and leaves the token table whole", () => {
  // github.com/pytorch/ao torchao/_models/llama/benchmark_results.txt, whose sizes leave the table out
  const fast = (format, model) => ({ task: "infer", model, hardware: { gpu: "A100 SXM4 80GB", count: 1 }, infer: { engine: "gpt-fast", weights: format, prompt: 5, output: 200 } });
  const printed = [["int8", "meta-llama/Meta-Llama-3-8B", 7.004], ["int4-g64", "meta-llama/Meta-Llama-3-8B", 3.93], ["bf16", "meta-llama/Meta-Llama-3-8B", 13.979], ["int8", "meta-llama/Llama-2-7b-hf", 6.165]];
  planAll(printed.map(([format, model]) => fast(format, model))).forEach((report, index) => {
    const [format, , gib] = printed[index], table = 2 * report.model.vocab * report.model.hidden;
    assert.ok(Math.abs((weights(report) - table) / 2 ** 30 / gib - 1) < 0.005, `${format}: ${(weights(report) - table) / 2 ** 30}, printed ${gib}`);
  });
});
