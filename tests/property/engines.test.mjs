/** Memory of serving engines by what each does. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll } from "../support/engine.mjs";

const GIB = 2 ** 30;
const job = (engine, infer = {}, hardware = { gpu: "H100", count: 1 }, model = "meta-llama/Llama-3.1-8B") =>
  ({ task: "infer", model, hardware, infer: { engine, ...infer } });

test("eager attention of transformers keeps its scores, whose square DeepSeek's tables of memory show", () => {
  // github.com/deepseek-ai/DeepSeek-LLM, README, peaks on A100 40GB in November 2023, when 4.35 was the release of the day.
  const rows = [["7b", 1, 1, 4096, 21.25], ["7b", 1, 2, 2048, 19.82], ["7b", 1, 4, 1024, 19.04], ["7b", 1, 16, 1024, 37.28],
    ["67b", 8, 1, 2048, 20.01], ["67b", 8, 8, 1024, 25.69], ["67b", 8, 16, 1024, 34.54], ["7b", 1, 4, 4096, Infinity],
    ["7b", 1, 16, 2048, Infinity], ["67b", 8, 2, 4096, Infinity], ["67b", 8, 8, 2048, Infinity]];
  const plan = (infer) => planAll(rows.map(([size, count, concurrency, prompt]) => job("transformers",
    { prompt, concurrency, ...infer }, { gpu: "A100 PCIe 40GB", count }, `deepseek-ai/deepseek-llm-${size}-base`)));
  const [old, said, open, fused] = [{ engine_version: "4.35" }, { flash_attention: false, engine_version: "4.51" }, {}, { flash_attention: true }].map(plan);
  for (const [index, row] of rows.entries()) {
    const measured = row[4], { peak_bytes: peak } = old[index].memory, low = fused[index].memory;
    if (measured === Infinity) {
      assert.equal(old[index].verdict, "no", row.join(" "));
      assert.ok(["no", "tight"].includes(open[index].verdict), row.join(" "));
    } else assert.ok(Math.abs(peak / GIB / measured - 1) < 0.04, `${row}: ${peak / GIB}`);
    assert.ok(low.peak_bytes < said[index].memory.peak_bytes && said[index].memory.peak_bytes <= peak);
    assert.ok(open[index].memory.peak_bytes === low.peak_bytes);
    assert.ok(open[index].memory.high_bytes >= 0.97 * peak, "without a release the range reaches up to eager attention");
  }
});

test("a sum over the GPUs of a copy is told where tables print one", () => {
  // Qwen2 and Qwen2.5 speed benchmarks on two A100 80GB (qwen.readthedocs.io): sums of torch's peaks
  const rows = [["Qwen/Qwen2-57B-A14B", "bf16", "transformers 4.38.2", 6144, 117.81], ["Qwen/Qwen2-57B-A14B", "bf16", "transformers 4.38.2", 14336, 128.17],
    ["Qwen/Qwen2.5-72B", "awq", "transformers 4.46.0", 30720, 61.64], ["Qwen/Qwen2.5-72B", "gptq4", "transformers 4.46.0", 30720, 62.57]];
  const reports = planAll(rows.map(([model, weights, engine_version, prompt]) => job("transformers",
    { weights, engine_version, prompt, output: 2048 }, { gpu: "A100 SXM4 80GB", count: 2 }, model)));
  for (const [index, { memory: { meters } }] of reports.entries()) {
    const sum = meters.sum_allocated_bytes / GIB;
    assert.ok(Math.abs(sum / rows[index][4] - 1) < 0.02, `${rows[index]}: ${sum}`);
    assert.ok(meters.sum_allocated_bytes <= 2 * meters.allocated_bytes);
  }
  const [one] = planAll([job("transformers")]);
  assert.equal(one.memory.meters.sum_allocated_bytes, undefined);
});
